/*
 * truth_wall.c: laws against tunnelling; see truth.h. Closed boxes with walls of 2 cm fall, are
 * thrown, rotate and are shaken with balls and boxes inside; bullets hit moving bodies; crowds
 * created in one place separate at a bounded cost.
 */
#include "shared/geometry/geometry.h"
#include "shared/math/trig.h"
#include "tests/support/rigid_kit.h"
#include "tests/support/truth.h"

#include <stdio.h>
#include <stdlib.h>

#define WALL_M 0.02f

enum {
    INSIDE_MAX = 24
};

/* ---- closed boxes ---- */

typedef enum Carriage {
    CARRIED_FALLS,    /* onto the ground */
    CARRIED_THROWN,   /* against the ground, a wall, a post */
    CARRIED_TUMBLES,  /* kinematic, rotating at ≤ 10 rad/s about any axis */
    CARRIED_SHAKEN,   /* kinematic, back and forth */
    CARRIED_FREE,     /* dynamic, rotating at ≤ 10 rad/s without gravity */
    CARRIED_BY_A_HAND /* which shakes and rotates it */
} Carriage;

static const char *const carriage_names[] = {"falls",  "thrown", "tumbles",
                                             "shaken", "free",   "by a hand"};

typedef struct Container {
    Rigid *rigid;
    Geometry *geometry; /* of the compound; NULL: six joined boxes */
    Carriage carriage;
    Vec3 half; /* m, of the room inside */
    u32 walls[6], inside[INSIDE_MAX], inside_count;
    f32 tick_s, time_s;
    Vec3 velocity, angular_velocity, swing; /* of the driving motion */
    f32 rate;                               /* rad/s of the shaking */
    i32 grab;
} Container;

static f32 along(Vec3 v, u32 axis)
{
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

static Vec3 on_axis(u32 axis, f32 x)
{
    return vec3(axis == 0 ? x : 0.0f, axis == 1 ? x : 0.0f, axis == 2 ? x : 0.0f);
}

/* Half extents and centre of one of the six walls; they overlap at the edges. */
static Vec3 wall_half(const Container *c, u32 wall)
{
    Vec3 outer = vec3_add(c->half, vec3(WALL_M, WALL_M, WALL_M));
    u32 axis = wall / 2;
    return vec3_add(vec3_sub(outer, on_axis(axis, along(outer, axis))),
                    on_axis(axis, 0.5f * WALL_M));
}

static Vec3 wall_middle(const Container *c, u32 wall)
{
    u32 axis = wall / 2;
    f32 out = along(c->half, axis) + 0.5f * WALL_M;
    return on_axis(axis, wall % 2 ? out : -out);
}

static void add_compound(Container *c, const BodyDef *pose, f32 mass)
{
    CompoundChild children[6];
    for (u32 w = 0; w < 6; w++) {
        children[w] = (CompoundChild){.shape = {.kind = SHAPE_BOX, .half = wall_half(c, w)},
                                      .position = wall_middle(c, w),
                                      .orientation = quat_identity()};
    }
    ErrorText error;
    c->geometry = geometry_compound(children, 6, &error);
    BodyDef def = *pose;
    def.shape = (Shape){.kind = SHAPE_COMPOUND, .geometry = c->geometry};
    def.mass_kg = mass;
    c->walls[0] = kit_add(c->rigid, &def);
}

static void add_six(Container *c, const BodyDef *pose, f32 mass)
{
    for (u32 w = 0; w < 6; w++) {
        BodyDef def = *pose;
        Vec3 arm = quat_rotate(pose->orientation, wall_middle(c, w));
        def.shape = (Shape){.kind = SHAPE_BOX, .half = wall_half(c, w)};
        def.position = vec3_add(pose->position, arm);
        def.velocity = vec3_add(pose->velocity, vec3_cross(pose->angular_velocity, arm));
        def.mass_kg = mass / 6.0f;
        c->walls[w] = kit_add(c->rigid, &def);
    }
    for (u32 w = 0; w < 6; w++) {
        for (u32 o = 0; o < w; o++) {
            if (o / 2 != w / 2) { /* neighbours, joined at the centre of their edge */
                JointDef def = joint_def_default(JOINT_FIXED);
                Vec3 edge = vec3_add(wall_middle(c, w), wall_middle(c, o));
                def.a = rigid_at(c->rigid, c->walls[w]);
                def.b = rigid_at(c->rigid, c->walls[o]);
                def.anchor_a = vec3_sub(edge, wall_middle(c, w));
                def.anchor_b = vec3_sub(edge, wall_middle(c, o));
                kit_join(c->rigid, &def);
            }
        }
    }
    for (u32 axis = 0; axis < 3; axis++) { /* opposite walls never touch anyway */
        JointDef def = joint_def_default(JOINT_FIXED);
        def.a = rigid_at(c->rigid, c->walls[2 * axis]);
        def.b = rigid_at(c->rigid, c->walls[2 * axis + 1]);
        def.anchor_a = vec3_neg(wall_middle(c, 2 * axis));
        def.anchor_b = vec3_neg(wall_middle(c, 2 * axis + 1));
        kit_join(c->rigid, &def);
    }
}

/* Balls and boxes of 2 to 10 cm, as far apart as a grid allows. */
static void add_inside(TruthCase *t, Container *c, const BodyDef *pose, f32 fastest)
{
    u32 wanted = 1 + truth_pick(t, INSIDE_MAX);
    f32 largest = 0.45f * f32_min(c->half.x, f32_min(c->half.y, c->half.z)) / 1.7321f;
    largest = f32_min(largest, 0.05f);
    f32 pitch = 2.0f * 1.7321f * largest;
    u32 counts[3];
    for (u32 k = 0; k < 3; k++) {
        counts[k] = (u32)(2.0f * along(c->half, k) / pitch);
    }
    u32 capacity = counts[0] * counts[1] * counts[2];
    wanted = u32_min(wanted, capacity);
    truth_say(t, " %u inside up to %.3f m, %.0f m/s", wanted, (double)largest, (double)fastest);
    for (u32 i = 0; i < wanted; i++) {
        u32 at = i * (capacity / wanted);
        Vec3 p = vec3(((f32)(at % counts[0]) + 0.5f) * pitch - c->half.x,
                      ((f32)(at / counts[0] % counts[1]) + 0.5f) * pitch - c->half.y,
                      ((f32)(at / counts[0] / counts[1]) + 0.5f) * pitch - c->half.z);
        p = quat_rotate(pose->orientation, p);
        f32 size = truth_log_range(t, 0.01f, largest);
        Vec3 place = vec3_add(pose->position, p);
        BodyDef def = truth_pick(t, 2) ? kit_ball(place, size)
                                       : kit_box(place, vec3(size, truth_range(t, 0.01f, size),
                                                             truth_range(t, 0.01f, size)));
        def.orientation = truth_rotation(t);
        def.restitution = truth_pick(t, 2) ? truth_range(t, 0.0f, 0.9f) : 0.0f;
        def.friction = truth_range(t, 0.0f, 1.0f);
        Vec3 ride = vec3_add(pose->velocity, vec3_cross(pose->angular_velocity, p));
        def.velocity = vec3_add_scaled(ride, truth_range(t, 0.0f, fastest), truth_direction(t));
        def.angular_velocity = vec3_scale(truth_direction(t), truth_range(t, 0.0f, 30.0f));
        c->inside[c->inside_count++] = kit_add(c->rigid, &def);
    }
}

static void add_surroundings(Container *c)
{
    BodyDef ground = kit_ground();
    kit_add(c->rigid, &ground);
    if (c->carriage == CARRIED_THROWN) {
        BodyDef wall = kit_box(vec3(6.0f, 3.0f, 0.0f), vec3(0.1f, 3.0f, 6.0f));
        wall.motion = BODY_STATIC;
        kit_add(c->rigid, &wall);
        BodyDef post = kit_box(vec3(3.0f, 1.0f, 0.2f), vec3(0.1f, 1.0f, 0.1f));
        post.mass_kg = 20.0f;
        kit_add(c->rigid, &post);
    }
}

static Container container_make(TruthCase *t, bool compound, Carriage carriage)
{
    static const f32 rates[] = {30.0f, 60.0f, 60.0f, 120.0f, 240.0f};
    f32 rate = rates[truth_pick(t, PL_COUNT(rates))];
    Container c = {.carriage = carriage, .tick_s = 1.0f / rate, .grab = -1};
    /* Joints need substeps to be stiff. */
    u32 substeps = 1u << (compound ? truth_pick(t, 4) : 2 + truth_pick(t, 3));
    bool weightless = carriage == CARRIED_FREE;
    c.rigid = rigid_create(&(RigidDef){.body_capacity = 64,
                                       .tick_s = c.tick_s,
                                       .substeps = substeps,
                                       .gravity = {0.0f, weightless ? 0.0f : -9.81f, 0.0f},
                                       .joint_capacity = 32});
    c.half = vec3(truth_log_range(t, 0.1f, 1.0f), truth_log_range(t, 0.1f, 1.0f),
                  truth_log_range(t, 0.1f, 1.0f));
    f32 reach = vec3_length(c.half) + 0.05f, mass = truth_log_range(t, 0.5f, 200.0f);
    truth_say(t, "%s %.2f x %.2f x %.2f m, %.3g kg, %g Hz, %u substeps,", carriage_names[carriage],
              (double)c.half.x, (double)c.half.y, (double)c.half.z, (double)mass, (double)rate,
              substeps);
    BodyDef pose = body_def_default();
    pose.orientation = truth_rotation(t);
    pose.friction = truth_range(t, 0.0f, 1.0f);
    pose.position = vec3(0.0f, reach + truth_range(t, 0.0f, 4.0f), 0.0f);
    Vec3 turning = vec3_scale(truth_direction(t), truth_range(t, 0.0f, 10.0f));
    f32 fastest = truth_pick(t, 3) ? truth_range(t, 0.0f, 50.0f) : 0.0f;
    if (carriage == CARRIED_THROWN) {
        pose.velocity = vec3(truth_range(t, 2.0f, 30.0f), truth_range(t, -8.0f, 5.0f), 0.0f);
    }
    if (carriage != CARRIED_FALLS) {
        pose.angular_velocity = turning;
    }
    if (carriage == CARRIED_TUMBLES || carriage == CARRIED_SHAKEN) {
        pose.motion = BODY_KINEMATIC;
    }
    add_surroundings(&c);
    if (compound) {
        add_compound(&c, &pose, mass);
    } else {
        add_six(&c, &pose, mass);
    }
    add_inside(t, &c, &pose, fastest);
    c.velocity = pose.position;
    c.angular_velocity = turning;
    c.swing = vec3_scale(truth_direction(t), truth_range(t, 0.1f, 0.5f));
    c.rate = truth_range(t, 2.0f, 15.0f);
    if (carriage == CARRIED_BY_A_HAND) {
        RigidGrab grab = {.body = rigid_at(c.rigid, c.walls[0]),
                          .local = compound ? vec3_scale(c.half, truth_range(t, -1.0f, 1.0f))
                                            : vec3_zero(),
                          .target = pose.position,
                          .frequency = 8.0f,
                          .damping = 1.0f,
                          .force_max = 1e4f * mass};
        c.grab = rigid_grab_add(c.rigid, &grab);
    }
    return c;
}

static void container_drive(Container *c)
{
    f64 sine, cosine;
    trig_sincos((f64)(c->rate * c->time_s), &sine, &cosine);
    if (c->grab >= 0) {
        Vec3 swing = vec3_add_scaled(c->velocity, (f32)sine, c->swing);
        rigid_grab(c->rigid, (u32)c->grab)->target = swing;
    }
    if (c->carriage == CARRIED_SHAKEN) {
        rigid_set_velocity(c->rigid, c->walls[0], vec3_scale(c->swing, c->rate * (f32)cosine),
                           vec3_zero());
    }
    c->time_s += c->tick_s;
}

static void container_tick(Container *c)
{
    container_drive(c);
    kit_tick(c->rigid);
}

/* Counts bodies with their centre more than `slack` outside the walls. */
static u32 count_outside(const Container *c, f32 slack)
{
    Vec3 at = rigid_position(c->rigid, c->walls[0]);
    Quat rotation = rigid_orientation(c->rigid, c->walls[0]);
    Vec3 middle = c->geometry != NULL ? vec3_zero() : wall_middle(c, 0);
    u32 outside = 0;
    for (u32 i = 0; i < c->inside_count; i++) {
        Vec3 p = vec3_sub(rigid_position(c->rigid, c->inside[i]), at);
        p = vec3_abs(vec3_add(quat_rotate_inverse(rotation, p), middle));
        f32 out = WALL_M + slack;
        outside += !(p.x < c->half.x + out && p.y < c->half.y + out && p.z < c->half.z + out);
    }
    return outside;
}

static f64 most_outside(TruthCase *t, bool compound, Carriage carriage, f32 slack)
{
    Container c = container_make(t, compound, carriage);
    u32 most = 0;
    for (f32 at = 0.0f; at < 2.0f; at += c.tick_s) {
        container_tick(&c);
        most = u32_max(most, count_outside(&c, slack));
    }
    rigid_destroy(c.rigid);
    geometry_destroy(c.geometry);
    return (f64)most;
}

static f64 measure_falls(TruthCase *t)
{
    return most_outside(t, true, CARRIED_FALLS, 0.0f);
}
static f64 measure_thrown(TruthCase *t)
{
    return most_outside(t, true, CARRIED_THROWN, 0.0f);
}
static f64 measure_tumbles(TruthCase *t)
{
    return most_outside(t, true, CARRIED_TUMBLES, 0.0f);
}
static f64 measure_shaken(TruthCase *t)
{
    return most_outside(t, true, CARRIED_SHAKEN, 0.0f);
}
static f64 measure_free(TruthCase *t)
{
    return most_outside(t, true, CARRIED_FREE, 0.0f);
}
static f64 measure_hand(TruthCase *t)
{
    return most_outside(t, true, CARRIED_BY_A_HAND, 0.0f);
}

/* Joints are slightly compliant: a body 5 cm beyond the wall is outside. */
static f64 measure_six(TruthCase *t)
{
    static const Carriage carriages[] = {CARRIED_FALLS, CARRIED_THROWN, CARRIED_FREE,
                                         CARRIED_BY_A_HAND};
    return most_outside(t, false, carriages[truth_pick(t, PL_COUNT(carriages))], 0.05f);
}

/* ---- bullets ---- */

/* Position of a body in the frame of a plate. */
static Vec3 seen_from(const Rigid *rigid, u32 plate, u32 slot)
{
    Vec3 d = vec3_sub(rigid_position(rigid, slot), rigid_position(rigid, plate));
    return quat_rotate_inverse(rigid_orientation(rigid, plate), d);
}

/* A rotating and moving plate, kinematic or dynamic, and a bullet on course to hit it. */
static f64 measure_bullet(TruthCase *t)
{
    f32 tick_s = 1.0f / truth_range(t, 30.0f, 240.0f);
    Rigid *rigid = rigid_create(
        &(RigidDef){.body_capacity = 4, .tick_s = tick_s, .substeps = 1u << truth_pick(t, 4)});
    f32 thick = truth_log_range(t, 0.01f, 0.05f);
    BodyDef def = kit_box(vec3_zero(), vec3(1.0f, 1.0f, thick));
    def.motion = truth_pick(t, 2) ? BODY_KINEMATIC : BODY_DYNAMIC;
    def.mass_kg = truth_log_range(t, 1.0f, 100.0f);
    def.orientation = truth_rotation(t);
    def.angular_velocity = vec3_scale(truth_direction(t), truth_range(t, 0.0f, 10.0f));
    def.velocity = vec3_scale(truth_direction(t), truth_range(t, 0.0f, 20.0f));
    u32 plate = kit_add(rigid, &def);
    f32 size = truth_log_range(t, 0.01f, 0.05f), meet_s = truth_range(t, 0.05f, 0.3f);
    BodyDef bullet = truth_pick(t, 2) ? kit_ball(vec3_zero(), size)
                                      : kit_box(vec3_zero(), vec3(size, size, size));
    bullet.velocity = vec3_scale(truth_direction(t), truth_log_range(t, 1.0f, 400.0f));
    bullet.orientation = truth_rotation(t);
    bullet.position = vec3_scale(vec3_sub(bullet.velocity, def.velocity), -meet_s);
    u32 slot = kit_add(rigid, &bullet);
    truth_say(t, "%s plate of %.3f m, bullet of %.3f m, %.0f m/s",
              def.motion == BODY_KINEMATIC ? "kinematic" : "dynamic", (double)thick, (double)size,
              (double)vec3_length(bullet.velocity));
    u32 passed = 0;
    Vec3 before = seen_from(rigid, plate, slot);
    for (f32 at = 0.0f; at < 2.0f * meet_s; at += tick_s) {
        Vec3 was = rigid_velocity(rigid, slot);
        kit_tick(rigid);
        Vec3 now = seen_from(rigid, plate, slot), p = vec3_abs(now);
        bool unhurt = vec3_distance(was, rigid_velocity(rigid, slot)) < 0.1f;
        f32 share = before.z / (before.z - now.z);
        Vec3 cross = vec3_abs(vec3_lerp(before, now, share));
        /* Not around an edge, to which it may have been deflected. */
        passed += before.z * now.z < 0.0f && cross.x < 0.7f && cross.y < 0.7f &&
                  (unhurt || (p.x < 0.9f && p.y < 0.9f));
        before = now;
    }
    rigid_destroy(rigid);
    return passed;
}

/* ---- crowds in one place ---- */

typedef struct Crowd {
    Rigid *rigid;
    u32 count;
    f32 size;
} Crowd;

static Crowd crowd_make(TruthCase *t)
{
    Crowd crowd = {.count = 50 + truth_pick(t, 751), .size = truth_log_range(t, 0.02f, 0.5f)};
    crowd.rigid = kit_world(crowd.count + 1, 4, KIT_GRAVITY_M_S2);
    u32 kind = truth_pick(t, 3);
    f32 spread = truth_pick(t, 2) ? 0.0f : truth_range(t, 0.0f, crowd.size);
    BodyDef ground = kit_ground();
    kit_add(crowd.rigid, &ground);
    f32 half = 0.8f * crowd.size, height = truth_range(t, 1.0f, 4.0f) * crowd.size;
    truth_say(t, "%u %s of %.3f m within %.3f m", crowd.count,
              kind == 0   ? "balls"
              : kind == 1 ? "boxes"
                          : "of both",
              (double)crowd.size, (double)spread);
    for (u32 i = 0; i < crowd.count; i++) {
        Vec3 p = vec3_scale(truth_direction(t), truth_range(t, 0.0f, spread));
        p.y += height + spread;
        bool ball = kind == 0 || (kind == 2 && i % 2 == 0);
        BodyDef def = ball ? kit_ball(p, crowd.size) : kit_box(p, vec3(half, half, half));
        kit_add(crowd.rigid, &def);
    }
    return crowd;
}

/* Largest number of contacts per body. */
static f64 measure_crowd_contacts(TruthCase *t)
{
    Crowd crowd = crowd_make(t);
    f64 most = 0.0;
    for (u32 i = 0; i < 10; i++) {
        kit_tick(crowd.rigid);
        RigidStats stats;
        rigid_stats(crowd.rigid, &stats);
        most = fmax(most, (f64)stats.contacts / crowd.count);
    }
    rigid_destroy(crowd.rigid);
    return most;
}

/* Memory per body, kB. */
static f64 measure_crowd_memory(TruthCase *t)
{
    Crowd crowd = crowd_make(t);
    kit_tick(crowd.rigid);
    kit_tick(crowd.rigid);
    RigidStats stats;
    rigid_stats(crowd.rigid, &stats);
    rigid_destroy(crowd.rigid);
    return (f64)stats.memory_bytes / 1000.0 / crowd.count;
}

/* Largest speed within a second, m/s. */
static f64 measure_crowd_speed(TruthCase *t)
{
    Crowd crowd = crowd_make(t);
    f32 fastest = 0.0f;
    for (u32 i = 0; i < 60; i++) {
        kit_tick(crowd.rigid);
        for (u32 k = 1; k <= crowd.count; k++) {
            fastest = f32_max(fastest, vec3_length(rigid_velocity(crowd.rigid, k)));
        }
    }
    rigid_destroy(crowd.rigid);
    return (f64)fastest;
}

const TruthLaw truth_wall[] = {
    {.name = "wall/falls",
     .about = "bodies outside a closed box (compound, walls of 2 cm) that falls",
     .unit = "bodies",
     .bound = 0.0,
     .few = 6,
     .many = 400,
     .measure = measure_falls},
    {.name = "wall/thrown",
     .about = "the same, thrown at <= 30 m/s against ground, wall and post, rotating",
     .unit = "bodies",
     .bound = 0.0,
     .few = 6,
     .many = 400,
     .measure = measure_thrown},
    {.name = "wall/tumbles",
     .about = "the same, kinematic, rotating at <= 10 rad/s",
     .unit = "bodies",
     .bound = 0.0,
     .few = 6,
     .many = 400,
     .measure = measure_tumbles},
    {.name = "wall/shaken",
     .about = "the same, kinematic, back and forth at <= 7.5 m/s",
     .unit = "bodies",
     .bound = 0.0,
     .few = 6,
     .many = 400,
     .measure = measure_shaken},
    {.name = "wall/free",
     .about = "the same, dynamic without gravity, rotating at <= 10 rad/s",
     .unit = "bodies",
     .bound = 0.0,
     .few = 6,
     .many = 400,
     .measure = measure_free},
    {.name = "wall/hand",
     .about = "the same, dragged and shaken by a hand",
     .unit = "bodies",
     .bound = 0.0,
     .few = 6,
     .many = 400,
     .measure = measure_hand},
    {.name = "wall/six",
     .about = "bodies 5 cm outside six joined boxes, 4 to 16 substeps",
     .unit = "bodies",
     .bound = 0.0,
     .few = 6,
     .many = 400,
     .measure = measure_six},
    {.name = "wall/bullet",
     .about = "bullets of <= 400 m/s that pass a plate that flies and rotates",
     .unit = "times",
     .bound = 0.0,
     .few = 200,
     .many = 10000,
     .measure = measure_bullet},
    {.name = "wall/crowd_contacts",
     .about = "contacts of bodies made in one place, for each of them",
     .unit = "contacts",
     .bound = 32.0,
     .few = 3,
     .many = 40,
     .measure = measure_crowd_contacts},
    {.name = "wall/crowd_memory",
     .about = "memory of a world of them, for each",
     .unit = "kB",
     .bound = 100.0,
     .few = 3,
     .many = 40,
     .measure = measure_crowd_memory},
    {.name = "wall/crowd_speed",
     .about = "the fastest of them within a second",
     .unit = "m/s",
     .bound = 12.0,
     .few = 1,
     .many = 20,
     .measure = measure_crowd_speed},
    {.name = NULL},
};
