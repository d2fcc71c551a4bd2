/* truth_contact.c: laws of contact between rigid bodies; see truth.h. */
#include "tests/support/rigid_kit.h"
#include "tests/support/truth.h"

#include "shared/geometry/geometry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A world with the case's own tick rate and substeps, without sleep. */
typedef struct Trial {
    Rigid *rigid;
    f32 hz;
    f32 gravity; /* m/s², downwards */
} Trial;

static Trial trial_at(TruthCase *c, u32 bodies, f32 hz, u32 substeps, f32 gravity)
{
    truth_say(c, "%g Hz x %u", (double)hz, substeps);
    Trial trial = {.hz = hz, .gravity = gravity};
    trial.rigid = rigid_create(&(RigidDef){.body_capacity = bodies,
                                           .tick_s = 1.0f / hz,
                                           .substeps = substeps,
                                           .gravity = {0.0f, -gravity, 0.0f},
                                           .no_sleep = true});
    if (trial.rigid == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return trial;
}

static Trial trial_of(TruthCase *c, u32 bodies, f32 gravity)
{
    static const f32 rates[] = {30.0f, 60.0f, 60.0f, 60.0f, 120.0f, 240.0f};
    f32 hz = rates[truth_pick(c, PL_COUNT(rates))];
    return trial_at(c, bodies, hz, 1u << (1 + truth_pick(c, 4)), gravity);
}

static u32 ticks_in(const Trial *trial, f32 seconds)
{
    return (u32)(seconds * trial->hz + 0.5f);
}

/* Kinetic energy and m g y of all bodies, J. */
static f64 energy_of(const Trial *trial)
{
    f64 energy = kit_motion(trial->rigid).energy;
    for (u32 i = 0; i < rigid_slots(trial->rigid); i++) {
        energy += (f64)rigid_mass(trial->rigid, i) * (f64)trial->gravity *
                  (f64)rigid_centre(trial->rigid, i).y;
    }
    return energy;
}

/* ---- energy ---- */

/* A body of any kind that can tumble, of the given size (m, about half its length). */
static BodyDef tumbler(TruthCase *c, f32 size)
{
    BodyDef def = kit_box(vec3_zero(), vec3(size, size, size));
    f32 a = truth_range(c, 0.2f, 1.0f), b = truth_range(c, 0.2f, 1.0f);
    const char *name = "cube";
    switch (truth_pick(c, 6)) {
    case 0:
        break;
    case 1:
        def.shape.half = vec3(size, size * a, size * b);
        name = "box";
        break;
    case 2:
        def.shape = (Shape){.kind = SHAPE_CAPSULE, .radius = size * a, .half_height = size * b};
        name = "capsule";
        break;
    case 3:
        def.shape = (Shape){.kind = SHAPE_CYLINDER, .radius = size * a, .half_height = size * b};
        name = "cylinder";
        break;
    case 4:
        def.shape = (Shape){.kind = SHAPE_CONE, .radius = size * a, .half_height = size * b};
        name = "cone";
        break;
    default:
        def.shape = kit_ball_shape(size);
        name = "ball";
        break;
    }
    def.mass_kg = 1000.0f * shape_volume(&def.shape);
    truth_say(c, " %s %.3g m", name, (double)size);
    return def;
}

/* Ground of the case's kind: a plane, a box, a mesh, a terrain. Returns its geometry or NULL. */
static Geometry *add_ground(TruthCase *c, Rigid *rigid, f32 cell)
{
    BodyDef def = kit_plane(quat_identity());
    Geometry *geometry = NULL;
    static const char *const names[] = {"plane", "box", "mesh", "terrain"};
    u32 kind = truth_pick(c, 4);
    truth_say(c, " on %s", names[kind]);
    if (kind == 1) {
        def = kit_ground();
    } else if (kind == 2) {
        geometry = kit_field(64, cell);
        def.shape = (Shape){.kind = SHAPE_MESH, .geometry = geometry};
    } else if (kind == 3) {
        f32 *heights = calloc(65 * 65, sizeof *heights);
        ErrorText error;
        geometry = heights == NULL ? NULL : geometry_terrain(heights, 65, 65, cell, &error);
        free(heights);
        if (geometry == NULL) {
            fprintf(stderr, "no terrain\n");
            exit(1);
        }
        def.shape = (Shape){.kind = SHAPE_TERRAIN, .geometry = geometry};
    }
    kit_add(rigid, &def);
    return geometry;
}

/* The largest rise of the energy above its previous level, as a fraction of the initial energy.
 * Elastic compression of contacts (up to 5 mm and 1 % of the size) is not counted. */
static f64 energy_of_a_throw(TruthCase *c)
{
    Trial trial = trial_of(c, 2, KIT_GRAVITY_M_S2);
    f32 size = truth_log_range(c, 0.02f, 2.0f);
    Geometry *ground = add_ground(c, trial.rigid, 4.0f);
    BodyDef def = tumbler(c, size);
    f32 speed = truth_range(c, 0.0f, 20.0f), angular_velocity = truth_range(c, 0.0f, 30.0f);
    def.position = vec3(0.0f, 2.0f * size + truth_range(c, 0.0f, 2.0f), 0.0f);
    def.orientation = truth_rotation(c);
    def.velocity = vec3_scale(truth_direction(c), speed);
    def.velocity.y = -fabsf(def.velocity.y);
    def.angular_velocity = vec3_scale(truth_direction(c), angular_velocity);
    def.friction = truth_range(c, 0.0f, 1.0f);
    def.restitution = truth_pick(c, 2) == 0 ? 0.0f : truth_range(c, 0.0f, 1.0f);
    u32 slot = kit_add(trial.rigid, &def);
    truth_say(c, " %.3g m/s %.3g rad/s mu %.2g e %.2g", (double)speed, (double)angular_velocity,
              (double)def.friction, (double)def.restitution);
    f64 first = energy_of(&trial), least = first, rise = 0.0;
    f64 spring =
        (f64)rigid_mass(trial.rigid, slot) * (f64)trial.gravity * (0.005 + 0.01 * (f64)size);
    u32 ticks = ticks_in(&trial, 4.0f);
    for (u32 i = 0; i < ticks; i++) {
        kit_tick(trial.rigid);
        f64 now = energy_of(&trial);
        rise = fmax(rise, now - least - spring);
        least = fmin(least, now);
    }
    rigid_destroy(trial.rigid);
    geometry_destroy(ground);
    return rise / first;
}

/* A cylinder or a capsule that rolls without slip keeps its speed. */
static f64 rolling_goes_on(TruthCase *c)
{
    Trial trial = trial_of(c, 2, KIT_GRAVITY_M_S2);
    f32 radius = truth_log_range(c, 0.02f, 1.0f), speed = truth_log_range(c, 0.005f, 3.0f);
    bool capsule = truth_pick(c, 2) == 1;
    truth_say(c, " %s r %.3g m %.3g m/s", capsule ? "capsule" : "cylinder", (double)radius,
              (double)speed);
    Geometry *ground = add_ground(c, trial.rigid, 4.0f);
    BodyDef def = kit_ball(vec3(0.0f, radius, 0.0f), radius);
    def.shape = (Shape){.kind = capsule ? SHAPE_CAPSULE : SHAPE_CYLINDER,
                        .radius = radius,
                        .half_height = radius * truth_range(c, 0.5f, 2.0f)};
    def.mass_kg = 1000.0f * shape_volume(&def.shape);
    def.orientation = kit_rotation(vec3(1.0f, 0.0f, 0.0f), 90.0);
    def.velocity = vec3(speed, 0.0f, 0.0f);
    def.angular_velocity = vec3(0.0f, 0.0f, -speed / radius);
    u32 slot = kit_add(trial.rigid, &def);
    f64 worst = 0.0;
    u32 ticks = ticks_in(&trial, 5.0f);
    for (u32 i = 0; i < ticks; i++) {
        kit_tick(trial.rigid);
        worst = fmax(worst, fabs((f64)(rigid_velocity(trial.rigid, slot).x / speed) - 1.0));
    }
    rigid_destroy(trial.rigid);
    geometry_destroy(ground);
    return worst;
}

/* ---- independence ---- */

enum {
    CROWD = 60
};

/* Bodies of one family, which never touch each other, each thrown at the ground independently. */
static void add_crowd(TruthCase *c, Rigid *rigid, u32 only)
{
    BodyDef ground = kit_ground();
    kit_add(rigid, &ground);
    for (u32 i = 0; i < CROWD; i++) {
        f32 size = truth_log_range(c, 0.05f, 1.0f);
        TruthCase silent = *c;
        BodyDef def = tumbler(&silent, size);
        c->counter = silent.counter;
        def.position = vec3(truth_range(c, -2.0f, 2.0f), truth_range(c, 0.5f, 3.0f),
                            truth_range(c, -2.0f, 2.0f));
        def.orientation = truth_rotation(c);
        def.velocity = vec3_scale(truth_direction(c), 5.0f);
        def.angular_velocity = vec3_scale(truth_direction(c), truth_range(c, 0.0f, 20.0f));
        def.restitution = truth_pick(c, 2) == 0 ? 0.0f : 0.5f;
        def.family = 1;
        if (only == CROWD || only == i) {
            kit_add(rigid, &def);
        }
    }
}

/* The number of bodies whose final state differs from the one they reach alone, in any bit. */
static f64 strangers_matter(TruthCase *c)
{
    Trial together = trial_of(c, CROWD + 1, KIT_GRAVITY_M_S2);
    u32 ticks = ticks_in(&together, 2.0f), substeps = rigid_substeps(together.rigid), moved = 0;
    TruthCase draws = *c;
    add_crowd(&draws, together.rigid, CROWD);
    for (u32 i = 0; i < ticks; i++) {
        kit_tick(together.rigid);
    }
    for (u32 only = 0; only < CROWD; only++) {
        TruthCase again = *c;
        Trial alone = trial_at(&again, 2, together.hz, substeps, KIT_GRAVITY_M_S2);
        add_crowd(&again, alone.rigid, only);
        for (u32 i = 0; i < ticks; i++) {
            kit_tick(alone.rigid);
        }
        Vec3 at = rigid_position(alone.rigid, 1), there = rigid_position(together.rigid, 1 + only);
        Quat q = rigid_orientation(alone.rigid, 1);
        Quat p = rigid_orientation(together.rigid, 1 + only);
        moved += memcmp(&at, &there, sizeof at) != 0 || memcmp(&q, &p, sizeof q) != 0;
        rigid_destroy(alone.rigid);
    }
    rigid_destroy(together.rigid);
    return moved;
}

enum {
    ARMS = 16,
    ARM_LINKS = 6
};

/* Arms of one shape, some of whose joints have limits, each falls on the ground with the spins of
 * its parts. The solver takes them together, eight at a time. */
static void add_arms(TruthCase *c, Rigid *rigid, u32 only)
{
    BodyDef ground = kit_ground();
    kit_add(rigid, &ground);
    u32 links = 2 + truth_pick(c, ARM_LINKS - 1), hinges = truth_pick(c, 1u << ARM_LINKS);
    f32 half = truth_log_range(c, 0.05f, 0.3f);
    for (u32 i = 0; i < ARMS * links; i++) {
        u32 part = i % links, arm = i / links;
        bool added = only == ARMS || only == arm, hinge = (hinges >> part & 1u) != 0;
        BodyDef def = kit_box(vec3((f32)(2 * part) * half, 1.0f, 0.0f),
                              vec3(half, half * truth_range(c, 0.1f, 0.6f), 0.3f * half));
        def.angular_velocity = vec3_scale(truth_direction(c), truth_range(c, 0.0f, 12.0f));
        def.family = 1;
        JointDef joint = joint_def_default(hinge ? JOINT_HINGE : JOINT_CONE_TWIST);
        u32 limits = truth_pick(c, 4) == 0 ? 0 : JOINT_LIMITS;
        joint.flags = (joint.flags & ~(u32)JOINT_LIMITS) | limits;
        joint.swing = truth_log_range(c, 0.01f, 1.5f);
        joint.lower = -truth_log_range(c, 0.01f, 1.0f);
        joint.upper = truth_log_range(c, 0.01f, 1.0f);
        u32 slot = added ? kit_add(rigid, &def) : 0;
        if (added && part > 0) {
            joint.a = rigid_at(rigid, slot - 1);
            joint.b = rigid_at(rigid, slot);
            joint.anchor_a = vec3(half, 0.0f, 0.0f);
            joint.anchor_b = vec3(-half, 0.0f, 0.0f);
            kit_join(rigid, &joint);
        }
    }
}

/* The number of arms of which a part ends otherwise than if the arm were alone, in any bit. */
static f64 arms_matter(TruthCase *c)
{
    Vec3 gravity = {0.0f, -truth_range(c, 1.0f, 20.0f), 0.0f};
    u32 substeps = 1 + truth_pick(c, 8), moved = 0;
    Rigid *together = kit_joint_world(gravity, substeps, ARMS * ARM_LINKS + 1);
    TruthCase draws = *c;
    add_arms(&draws, together, ARMS);
    u32 links = (rigid_slots(together) - 1) / ARMS;
    truth_say(c, "%u substeps, arms of %u", substeps, links);
    for (u32 tick = 0; tick < 90; tick++) {
        kit_tick_awake(together);
    }
    for (u32 only = 0; only < ARMS; only++) {
        Rigid *alone = kit_joint_world(gravity, substeps, ARM_LINKS + 1);
        TruthCase again = *c;
        add_arms(&again, alone, only);
        bool differs = false;
        for (u32 tick = 0; tick < 90; tick++) {
            kit_tick_awake(alone);
        }
        for (u32 i = 1; i <= links; i++) {
            Vec3 at = rigid_position(alone, i), there = rigid_position(together, only * links + i);
            differs = differs || memcmp(&at, &there, sizeof at) != 0;
        }
        moved += differs;
        rigid_destroy(alone);
    }
    rigid_destroy(together);
    return moved;
}

/* ---- impacts ---- */

/* A ball with spin strikes the ground obliquely: compares with Coulomb's law at impact. */
static f64 slanting_blow(TruthCase *c)
{
    Trial trial = trial_of(c, 2, 0.0f);
    BodyDef ground = truth_pick(c, 2) == 0 ? kit_ground() : kit_plane(quat_identity());
    f32 r = truth_log_range(c, 0.03f, 0.5f), e = truth_range(c, 0.0f, 1.0f);
    f32 mu = truth_range(c, 0.0f, 1.0f);
    e = truth_pick(c, 4) == 0 ? 0.0f : e;
    BodyDef def = kit_ball(vec3(0.0f, r + truth_range(c, 0.1f, 0.4f), 0.0f), r);
    f32 vx = truth_range(c, -10.0f, 10.0f), vy = truth_range(c, -10.0f, -1.0f);
    f32 wz = truth_range(c, -30.0f, 30.0f);
    truth_say(c, " r %.3g m e %.2g mu %.2g v %.3g %.3g m/s w %.3g rad/s", (double)r, (double)e,
              (double)mu, (double)vx, (double)vy, (double)wz);
    def.velocity = vec3(vx, vy, 0.0f);
    def.angular_velocity = vec3(0.0f, 0.0f, wz);
    def.friction = ground.friction = mu;
    def.restitution = e;
    def.linear_damping = def.angular_damping = 0.0f;
    kit_add(trial.rigid, &ground);
    u32 ball = kit_add(trial.rigid, &def);
    f32 slip = vx + wz * r, grab = -slip * (2.0f / 7.0f), most = mu * (1.0f + e) * -vy;
    f32 push = f32_clamp(grab, -most, most);
    Vec3 v = vec3(vx + push, -e * vy, 0.0f);
    f32 w = wz + push * r / (0.4f * r * r);
    u32 ticks = ticks_in(&trial, 0.6f);
    for (u32 i = 0; i < ticks; i++) {
        kit_tick(trial.rigid);
    }
    Vec3 after = rigid_velocity(trial.rigid, ball),
         angular_velocity = rigid_angular_velocity(trial.rigid, ball);
    f32 scale = sqrtf(vx * vx + vy * vy) + fabsf(wz) * r;
    f64 error = (f64)(vec3_distance(after, v) + r * fabsf(angular_velocity.z - w)) / (f64)scale;
    rigid_destroy(trial.rigid);
    return error;
}

/* A level box that is dropped bounces to e² of each height, and stays level: the worst of five. */
static f64 level_bounces(TruthCase *c)
{
    Trial trial = trial_of(c, 2, KIT_GRAVITY_M_S2);
    BodyDef ground = kit_ground();
    f32 size = truth_log_range(c, 0.1f, 1.0f), e = truth_range(c, 0.5f, 1.0f);
    f32 high = truth_range(c, 1.0f, 4.0f);
    Vec3 half = vec3(size * truth_range(c, 0.5f, 1.0f), size * truth_range(c, 0.5f, 1.0f), size);
    truth_say(c, " half %.3g m e %.2g h %.3g m", (double)size, (double)e, (double)high);
    kit_add(trial.rigid, &ground);
    BodyDef def = kit_box(vec3(0.0f, half.y + high, 0.0f), half);
    def.restitution = e;
    u32 box = kit_add(trial.rigid, &def), bounces = 0;
    f64 worst = 0.0, expected = (f64)high, top = 0.0;
    bool rises = false;
    u32 ticks = ticks_in(&trial, 12.0f);
    for (u32 i = 0; i < ticks && bounces < 5 && expected > 0.05; i++) {
        kit_tick(trial.rigid);
        f64 y = (f64)rigid_position(trial.rigid, box).y - (f64)half.y;
        f64 vy = (f64)rigid_velocity(trial.rigid, box).y;
        if (rises && vy <= 0.0) { /* the apex between two ticks */
            expected *= (f64)e * (f64)e;
            f64 summit = fmax(top, y + 0.5 * vy * vy / (f64)trial.gravity);
            worst = fmax(worst, fabs(summit - expected) / expected);
            bounces++;
        }
        rises = vy > 0.0;
        top = rises ? y + 0.5 * vy * vy / (f64)trial.gravity : 0.0;
        Vec3 up = quat_rotate(rigid_orientation(trial.rigid, box), vec3(0.0f, 1.0f, 0.0f));
        worst = fmax(worst, 10.0 * (1.0 - (f64)up.y));
    }
    rigid_destroy(trial.rigid);
    return worst;
}

/* Six walls about the origin. */
static void add_chamber(Rigid *rigid, f32 half)
{
    for (u32 i = 0; i < 6; i++) {
        f32 side = i % 2 == 0 ? 1.0f : -1.0f, at = side * (half + 0.5f);
        Vec3 wide = vec3(half + 1.0f, half + 1.0f, half + 1.0f), centre = vec3_zero();
        if (i / 2 == 0) {
            wide.x = 0.5f;
            centre.x = at;
        } else if (i / 2 == 1) {
            wide.y = 0.5f;
            centre.y = at;
        } else {
            wide.z = 0.5f;
            centre.z = at;
        }
        BodyDef wall = kit_box(centre, wide);
        wall.motion = BODY_STATIC;
        wall.friction = 0.0f;
        wall.restitution = 1.0f;
        kit_add(rigid, &wall);
    }
}

/* A gas of elastic bodies keeps its energy. */
static f64 elastic_gas(TruthCase *c)
{
    Trial trial = trial_of(c, 40, 0.0f);
    f32 half = 2.0f;
    add_chamber(trial.rigid, half);
    u32 kind = truth_pick(c, 3);
    static const char *const names[] = {"cubes", "capsules", "balls"};
    truth_say(c, " %s", names[kind]);
    for (u32 i = 0; i < 27; i++) {
        Vec3 at = vec3(((f32)(i % 3) - 1.0f) * 1.2f, ((f32)(i / 3 % 3) - 1.0f) * 1.2f,
                       ((f32)(i / 9) - 1.0f) * 1.2f);
        f32 size = truth_range(c, 0.1f, 0.25f);
        BodyDef def = kit_box(at, vec3(size, size, size));
        if (kind != 0) {
            def.shape = (Shape){.kind = kind == 1 ? SHAPE_CAPSULE : SHAPE_SPHERE,
                                .radius = size,
                                .half_height = kind == 1 ? size : 0.0f};
            def.mass_kg = 1000.0f * shape_volume(&def.shape);
        }
        def.orientation = truth_rotation(c);
        def.velocity = vec3_scale(truth_direction(c), truth_range(c, 0.0f, 6.0f));
        def.angular_velocity = vec3_scale(truth_direction(c), truth_range(c, 0.0f, 6.0f));
        def.linear_damping = def.angular_damping = 0.0f;
        def.friction = 0.0f;
        def.restitution = 1.0f;
        kit_add(trial.rigid, &def);
    }
    f64 first = energy_of(&trial), worst = 0.0;
    u32 ticks = ticks_in(&trial, 30.0f);
    for (u32 i = 0; i < ticks; i++) {
        kit_tick(trial.rigid);
        worst = fmax(worst, fabs(energy_of(&trial) / first - 1.0));
    }
    rigid_destroy(trial.rigid);
    return worst;
}

/* ---- standing ---- */

/* Largest horizontal displacement of any body after the time, in units of the size. */
static f64 lean_after(const Trial *trial, f32 seconds, f32 size, const Vec3 *began)
{
    u32 ticks = ticks_in(trial, seconds);
    for (u32 i = 0; i < ticks; i++) {
        kit_tick(trial->rigid);
    }
    f64 worst = 0.0;
    for (u32 i = 0; i < rigid_slots(trial->rigid); i++) {
        Vec3 off = vec3_sub(rigid_position(trial->rigid, i), began[i]);
        worst = fmax(worst, (f64)sqrtf(off.x * off.x + off.z * off.z) / (f64)size);
    }
    return worst;
}

/* A column of boxes at 4 substeps; the top one may be heavier. */
static f64 column_leans(TruthCase *c, u32 boxes, f32 size, f32 heavier, f32 seconds)
{
    Vec3 began[40];
    Trial trial = trial_at(c, 40, 60.0f, 4, KIT_GRAVITY_M_S2);
    f32 at = 0.0f;
    truth_say(c, " %u boxes of %.4g m, the top %.3g times", boxes, (double)size, (double)heavier);
    Geometry *ground = add_ground(c, trial.rigid, 4.0f);
    began[0] = rigid_position(trial.rigid, 0);
    for (u32 i = 0; i < boxes; i++) {
        BodyDef def = kit_box(vec3_zero(), vec3(0.5f * size, 0.5f * size, 0.5f * size));
        def.position.y = at + 0.5f * size;
        at += size;
        def.mass_kg *= i + 1 == boxes ? heavier : 1.0f;
        began[kit_add(trial.rigid, &def)] = def.position;
    }
    f64 worst = lean_after(&trial, seconds, size, began);
    rigid_destroy(trial.rigid);
    geometry_destroy(ground);
    return worst;
}

static f64 stack_stands(TruthCase *c)
{
    f32 size = truth_log_range(c, 0.1f, 2.0f);
    return column_leans(c, 10 + truth_pick(c, 21), size, 1.0f, 60.0f);
}

static f64 tower_stands(TruthCase *c)
{
    f32 size = truth_log_range(c, 0.1f, 2.0f);
    u32 boxes = 2 + truth_pick(c, 7);
    f32 heavier = truth_log_range(c, 10.0f, boxes > 6 ? 40.0f : 100.0f);
    return column_leans(c, boxes, size, heavier, 60.0f);
}

static f64 cubes_stand(TruthCase *c)
{
    return column_leans(c, 10, truth_log_range(c, 0.004f, 0.01f), 1.0f, 20.0f);
}

/* A flat face spinning on the ground: its spin falls by mu m g (mean distance) / I. */
static f64 twist_slows(TruthCase *c)
{
    static const f32 rates[] = {30.0f, 60.0f, 120.0f, 240.0f};
    f32 rate_hz = rates[truth_pick(c, PL_COUNT(rates))];
    Trial trial = trial_at(c, 2, rate_hz, 1 + truth_pick(c, 16), KIT_GRAVITY_M_S2);
    BodyDef ground = kit_ground();
    f32 friction = truth_range(c, 0.2f, 0.8f), lasts_s = truth_range(c, 0.5f, 1.5f);
    f32 x = truth_log_range(c, 0.1f, 0.5f), height = 0.2f * x;
    f32 z = x * truth_range(c, 0.2f, 1.0f);
    bool round = truth_pick(c, 2) == 0;
    BodyDef def = kit_box(vec3(0.0f, height, 0.0f), vec3(x, height, z));
    if (round) {
        def.shape = (Shape){.kind = SHAPE_CYLINDER, .radius = x, .half_height = height};
    }
    /* The mean distance over the face, sampled at cell centres. */
    enum {
        GRID = 200
    };
    f64 sum = 0.0, square = 0.0;
    for (u32 i = 0; i < GRID * GRID; i++) {
        f64 u = (i % GRID + 0.5) / GRID, v = (i / GRID + 0.5) / GRID;
        f64 distance = round ? (f64)x * sqrt(u * u + v * v) : sqrt(u * u * x * x + v * v * z * z);
        if (!round || distance < (f64)x) {
            sum += distance;
            square += distance * distance;
        }
    }
    f64 slows = (f64)friction * 9.81 * sum / square;
    def.friction = ground.friction = friction;
    def.angular_velocity = vec3(0.0f, lasts_s * (f32)slows, 0.0f);
    kit_add(trial.rigid, &ground);
    u32 slot = kit_add(trial.rigid, &def);
    truth_say(c, " %s %.3g x %.3g m mu %.2f", round ? "disc" : "plate", (double)x, (double)z,
              (double)friction);
    for (u32 i = ticks_in(&trial, 0.2f * lasts_s); i > 0; i--) {
        kit_tick(trial.rigid);
    }
    f32 from = rigid_angular_velocity(trial.rigid, slot).y;
    u32 ticks = ticks_in(&trial, 0.4f * lasts_s);
    for (u32 i = 0; i < ticks; i++) {
        kit_tick(trial.rigid);
    }
    f64 slowed = (f64)(from - rigid_angular_velocity(trial.rigid, slot).y) * (f64)rate_hz / ticks;
    rigid_destroy(trial.rigid);
    return fabs(slowed / slows - 1.0);
}

/* A wall (rows offset by half a box) or a square pyramid of boxes: the fraction that has fallen. */
static f64 pile_falls(TruthCase *c, bool wall, u32 rows, f32 least_m, f32 seconds)
{
    u32 most = wall ? rows * (rows + 1) / 2 : rows * (rows + 1) * (2 * rows + 1) / 6;
    Trial trial = trial_at(c, most + 1, 60.0f, 4, KIT_GRAVITY_M_S2);
    f32 size = truth_log_range(c, least_m, 2.0f), step = wall ? 1.0f : 1.05f;
    truth_say(c, " %s of %u rows, boxes of %.4g m", wall ? "wall" : "pyramid", rows, (double)size);
    Vec3 *began = malloc((most + 1) * sizeof *began);
    BodyDef ground = kit_ground();
    kit_add(trial.rigid, &ground);
    for (u32 i = 0; i < rows; i++) {
        u32 across = rows - i, deep = wall ? 1 : across;
        for (u32 j = 0; j < across * deep; j++) {
            Vec3 at = vec3(step * ((f32)(j % across) - 0.5f * (f32)(across - 1)), (f32)i + 0.5f,
                           step * ((f32)(j / across) - 0.5f * (f32)(deep - 1)));
            BodyDef def =
                kit_box(vec3_scale(at, size), vec3(0.5f * size, 0.5f * size, 0.5f * size));
            u32 slot = kit_add(trial.rigid, &def);
            if (began != NULL) {
                began[slot] = def.position;
            }
        }
    }
    u32 ticks = ticks_in(&trial, seconds), fallen = 0;
    for (u32 i = 0; i < ticks; i++) {
        kit_tick(trial.rigid);
    }
    for (u32 i = 1; i <= most && began != NULL; i++) {
        fallen += !(vec3_distance(rigid_position(trial.rigid, i), began[i]) < 0.5f * size);
    }
    free(began);
    rigid_destroy(trial.rigid);
    return (f64)fallen / most;
}

static f64 wall_falls(TruthCase *c)
{
    return pile_falls(c, true, 20 + truth_pick(c, 41), 0.3f, 60.0f);
}

static f64 high_wall_falls(TruthCase *c)
{
    /* Smaller boxes are compressed by more of their size until the load has propagated through
     * all rows. */
    return pile_falls(c, true, 100, 0.9f, 60.0f);
}

static f64 pyramid_falls(TruthCase *c)
{
    return pile_falls(c, false, 8 + truth_pick(c, 8), 0.3f, 60.0f);
}

/* How far the top of a column sinks in 20 s under many times the mass of a box, or the largest
 * horizontal displacement of a box, in box sizes. */
static f64 top_crushes(TruthCase *c)
{
    static const f32 rates[] = {30.0f, 60.0f, 120.0f, 240.0f};
    f32 rate_hz = rates[truth_pick(c, PL_COUNT(rates))];
    Trial trial = trial_at(c, 40, rate_hz, 2u << truth_pick(c, 4), KIT_GRAVITY_M_S2);
    f32 size = truth_log_range(c, 0.02f, 2.0f), heavier = truth_log_range(c, 50.0f, 1000.0f);
    u32 boxes = 2 + truth_pick(c, 9);
    truth_say(c, " %u boxes of %.4g m, the top %.3g times", boxes, (double)size, (double)heavier);
    BodyDef ground = kit_ground();
    kit_add(trial.rigid, &ground);
    for (u32 i = 0; i < boxes; i++) {
        BodyDef def = kit_box(vec3_zero(), vec3(0.5f * size, 0.5f * size, 0.5f * size));
        def.position.y = ((f32)i + 0.5f) * size;
        def.mass_kg *= i + 1 == boxes ? heavier : 1.0f;
        kit_add(trial.rigid, &def);
    }
    f32 from = rigid_position(trial.rigid, boxes).y;
    for (u32 i = ticks_in(&trial, 20.0f); i > 0; i--) {
        kit_tick(trial.rigid);
    }
    f64 worst = (f64)(from - rigid_position(trial.rigid, boxes).y) / (f64)size;
    for (u32 i = 1; i <= boxes; i++) {
        Vec3 at = rigid_position(trial.rigid, i);
        worst = fmax(worst, (f64)sqrtf(at.x * at.x + at.z * at.z) / (f64)size);
    }
    rigid_destroy(trial.rigid);
    return worst;
}

/* The deepest penetration of any box of a column into its support after 10 s, in box sizes; all
 * masses differ, or those of the upper part are half of the others'. */
static f64 mixed_sinks(TruthCase *c)
{
    static const f32 rates[] = {30.0f, 60.0f, 60.0f, 120.0f, 240.0f};
    f32 rate_hz = rates[truth_pick(c, PL_COUNT(rates))];
    Trial trial = trial_at(c, 40, rate_hz, 2u << truth_pick(c, 4), KIT_GRAVITY_M_S2);
    f32 size = truth_log_range(c, 0.05f, 2.0f);
    u32 boxes = 2 + truth_pick(c, 20), kind = truth_pick(c, 2), from = truth_pick(c, boxes);
    truth_say(c, " %u boxes of %.4g m, masses %s", boxes, (double)size,
              kind == 0 ? "of 0.5 to 1" : "halved above");
    BodyDef ground = kit_ground();
    kit_add(trial.rigid, &ground);
    for (u32 i = 0; i < boxes; i++) {
        BodyDef def = kit_box(vec3_zero(), vec3(0.5f * size, 0.5f * size, 0.5f * size));
        def.position.y = ((f32)i + 0.5f) * size;
        f32 drawn = truth_range(c, 0.5f, 1.0f);
        def.mass_kg *= kind == 0 ? drawn : i >= from ? 0.5f : 1.0f;
        kit_add(trial.rigid, &def);
    }
    for (u32 i = ticks_in(&trial, 10.0f); i > 0; i--) {
        kit_tick(trial.rigid);
    }
    f64 worst = 0.0, below = 0.0;
    for (u32 i = 1; i <= boxes; i++) {
        f64 top = (f64)rigid_position(trial.rigid, i).y + 0.5 * (f64)size;
        worst = fmax(worst, (f64)size - (top - below));
        below = top;
    }
    rigid_destroy(trial.rigid);
    return worst / (f64)size;
}

/* ---- heaps ---- */

/* An open bin and bodies of all kinds that fall into it, of up to the size (m). */
static u32 fill_heap(TruthCase *c, Rigid *rigid, f32 size)
{
    BodyDef ground = kit_ground();
    f32 side = 4.0f * size;
    kit_add(rigid, &ground);
    for (u32 i = 0; i < 4; i++) {
        Quat rotation = kit_rotation(vec3(0.0f, 1.0f, 0.0f), 90.0 * i);
        BodyDef wall = kit_box(quat_rotate(rotation, vec3(side + size, 2.0f * side, 0.0f)),
                               vec3(size, 2.0f * side, 2.0f * side));
        wall.motion = BODY_STATIC;
        wall.orientation = rotation;
        kit_add(rigid, &wall);
    }
    u32 count = 2 + truth_pick(c, 23);
    f32 friction = truth_range(c, 0.0f, 1.0f);
    truth_say(c, " %u of %.3g m, mu %.2g", count, (double)size, (double)friction);
    for (u32 i = 0; i < count; i++) {
        TruthCase silent = *c;
        BodyDef def = tumbler(&silent, truth_log_range(&silent, 0.5f * size, size));
        c->counter = silent.counter;
        def.position = vec3(truth_range(c, -2.0f, 2.0f) * size, (2.5f + 2.5f * (f32)i) * size,
                            truth_range(c, -2.0f, 2.0f) * size);
        def.orientation = truth_rotation(c);
        def.velocity = vec3_scale(truth_direction(c), truth_range(c, 0.0f, 5.0f));
        def.angular_velocity = vec3_scale(truth_direction(c), truth_range(c, 0.0f, 20.0f));
        def.friction = friction;
        kit_add(rigid, &def);
    }
    return count;
}

/* The largest rise of the energy in a tick, in units of lifting a mean body by the size. */
static f64 heap_gains(TruthCase *c)
{
    Trial trial = trial_of(c, 32, KIT_GRAVITY_M_S2);
    f32 size = truth_log_range(c, 0.03f, 0.5f);
    u32 count = fill_heap(c, trial.rigid, size);
    f64 weight = 0.0, worst = 0.0, before = energy_of(&trial);
    for (u32 i = 0; i < rigid_slots(trial.rigid); i++) {
        weight += (f64)rigid_mass(trial.rigid, i) * (f64)trial.gravity / count;
    }
    u32 ticks = ticks_in(&trial, 6.0f);
    for (u32 i = 0; i < ticks; i++) {
        kit_tick(trial.rigid);
        f64 now = energy_of(&trial);
        worst = fmax(worst, now - before);
        before = now;
    }
    rigid_destroy(trial.rigid);
    return worst / (weight * (f64)size);
}

const TruthLaw truth_contact[] = {
    {"contact/energy",
     "rise of the energy of a thrown body above its previous level, share (goal: 0)", "", 0.01, 60,
     2000, energy_of_a_throw},
    {"contact/heap",
     "rise in a tick of the energy of a heap in a bin, in m g size of a body (goal: 0)", "", 0.5, 4,
     400, heap_gains},
    {"contact/roll", "speed of rolling bodies, over 5 s, share", "", 0.02, 40, 1000,
     rolling_goes_on},
    {"contact/independence", "of 60 bodies without mutual contact, how many move differently alone",
     "", 0.0, 2, 40, strangers_matter},
    {"contact/independent_arms", "of 16 arms of limited joints, how many move differently alone",
     "", 0.0, 6, 200, arms_matter},
    {"contact/blow", "oblique impact of a ball against Coulomb's law, share of its speed", "", 0.02,
     100, 4000, slanting_blow},
    {"contact/bounce", "level box: heights of five bounces against e^2, share", "", 0.01, 40, 400,
     level_bounces},
    {"contact/gas", "energy of an elastic gas over 30 s, share", "", 0.01, 2, 60, elastic_gas},
    {"contact/stack", "lean of 10 to 30 boxes after 60 s awake at 4 substeps, share of a box", "",
     0.05, 3, 60, stack_stands},
    {"contact/tower", "the same, the top up to 100 times heavier", "", 0.05, 3, 60, tower_stands},
    {"contact/cubes", "lean of ten cubes of 4 to 10 mm after 20 s, share of a cube", "", 0.05, 2,
     60, cubes_stand},
    {"contact/twist", "deceleration of a spinning plate, error against uniform pressure", "", 0.1,
     10, 200, twist_slows},
    {"contact/wall", "share of a wall of 20 to 60 rows that falls in 60 s", "", 0.0, 0, 12,
     wall_falls},
    {"contact/wall100", "share of a wall of 100 rows of boxes of 0.9 to 2 m that falls in 60 s", "",
     0.1, 0, 2, high_wall_falls},
    {"contact/pyramid", "share of a pyramid of 8 to 15 rows that falls in 60 s", "", 0.0, 0, 8,
     pyramid_falls},
    {"contact/crush",
     "sinking or lean of a column under a top 50 to 1000 times as heavy, share of a box", "", 0.1,
     4, 200, top_crushes},
    {"contact/mixed", "penetration in a column of boxes of different masses after 10 s, share", "",
     0.06, 4, 200, mixed_sinks},
    {.name = NULL},
};
