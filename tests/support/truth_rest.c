/* truth_rest.c: laws of rest and sleep; see truth.h. Sleep is enabled: slow motion continues as
 * without sleep, and resting bodies sleep. */
#include "server/author/scene_load.h"
#include "server/world/matter_rigid.h"
#include "server/world/matter_soft.h"
#include "server/world/world_internal.h"
#include "shared/math/trig.h"
#include "tests/support/rigid_kit.h"
#include "tests/support/truth.h"

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const f32 pi = 3.14159265f;
static const f32 degree = 3.14159265f / 180.0f;

typedef struct Stage {
    Rigid *rigid;
    f32 tick_s, gravity;
    u32 substeps;
} Stage;

static Stage stage_of(const Stage *like, u32 bodies, bool sleeps)
{
    Stage stage = *like;
    stage.rigid = rigid_create(&(RigidDef){.body_capacity = bodies,
                                           .tick_s = stage.tick_s,
                                           .substeps = stage.substeps,
                                           .gravity = {0.0f, -stage.gravity, 0.0f},
                                           .joint_capacity = bodies,
                                           .no_sleep = !sleeps});
    if (stage.rigid == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return stage;
}

/* A world with sleep, at a random rate with a random number of substeps within [least, most]. */
static Stage stage_draw(TruthCase *c, u32 bodies, u32 least, u32 most, f32 gravity_m_s2)
{
    static const u32 rates[] = {30, 60, 120, 240};
    u32 rate = rates[truth_pick(c, PL_COUNT(rates))];
    Stage stage = {.tick_s = 1.0f / (f32)rate,
                   .gravity = gravity_m_s2,
                   .substeps = least + truth_pick(c, most - least + 1)};
    truth_say(c, "%u Hz x %u", rate, stage.substeps);
    return stage_of(&stage, bodies, true);
}

/* Runs for about the given time and returns the exact time. */
static f32 run(const Stage *stage, f32 seconds)
{
    u32 ticks = (u32)(seconds / stage->tick_s + 0.5f);
    for (u32 i = 0; i < ticks; i++) {
        kit_tick(stage->rigid);
    }
    return (f32)ticks * stage->tick_s;
}

static Shape shape_draw(TruthCase *c, f32 least, f32 most)
{
    f32 size = truth_log_range(c, least, most);
    f32 x = truth_range(c, 0.4f, 1.0f), y = truth_range(c, 0.4f, 1.0f);
    switch (truth_pick(c, 4)) {
    case 0:
        return kit_ball_shape(size);
    case 1:
        return (Shape){.kind = SHAPE_CAPSULE, .radius = x * size, .half_height = y * size};
    case 2:
        return (Shape){.kind = SHAPE_CYLINDER, .radius = x * size, .half_height = y * size};
    default:
        return (Shape){.kind = SHAPE_BOX, .half = {size, x * size, y * size}};
    }
}

static BodyDef solid(Shape shape, Vec3 position)
{
    BodyDef def = kit_ball(position, 1.0f);
    def.shape = shape;
    def.mass_kg = 1000.0f * shape_volume(&shape);
    return def;
}

/* Relative error. */
static f64 miss(f64 value, f64 wanted)
{
    return fabs(value / wanted - 1.0);
}

/* ---- motion that must continue ---- */

/* A body falls in weak gravity, past a wall without touching it. */
static f64 falls(TruthCase *c)
{
    f32 g = truth_log_range(c, 0.001f, 0.05f);
    Stage stage = stage_draw(c, 4, 1, 16, g);
    BodyDef body = solid(shape_draw(c, 0.05f, 1.0f), vec3_zero());
    body.orientation = truth_rotation(c);
    f32 reach = shape_reach(&body.shape);
    BodyDef wall = kit_box(vec3(reach + 1.01f, 0.0f, 0.0f), vec3(1.0f, 9.0f, 9.0f));
    wall.motion = BODY_STATIC;
    kit_add(stage.rigid, &wall);
    u32 slot = kit_add(stage.rigid, &body);
    f32 t = run(&stage, 5.0f);
    truth_say(c, ", g %g m/s^2", (f64)g);
    f64 fallen = -(f64)rigid_centre(stage.rigid, slot).y;
    rigid_destroy(stage.rigid);
    return miss(fallen, 0.5 * (f64)g * (f64)t * (f64)t);
}

/* Time between the first and the fifth zero crossing: two periods. */
static f64 two_periods(const Stage *stage, u32 slot, f32 most_s)
{
    f64 first = 0.0, before = (f64)rigid_centre(stage->rigid, slot).x;
    u32 passed = 0;
    for (u32 i = 1; (f32)i * stage->tick_s < most_s; i++) {
        kit_tick(stage->rigid);
        f64 x = (f64)rigid_centre(stage->rigid, slot).x;
        if ((x < 0.0) != (before < 0.0)) {
            f64 at = (i - before / (before - x)) * (f64)stage->tick_s;
            first = passed == 0 ? at : first;
            if (++passed == 5) {
                return at - first;
            }
        }
        before = x;
    }
    return 0.0;
}

static f64 swings(TruthCase *c)
{
    Stage stage = stage_draw(c, 4, 2, 16, KIT_GRAVITY_M_S2);
    f32 length = truth_log_range(c, 0.1f, 10.0f), angle = truth_range(c, 0.05f, 0.5f);
    f32 radius = length * truth_range(c, 0.05f, 0.3f);
    Quat rotation = kit_rotation(vec3(0.0f, 0.0f, 1.0f), (f64)angle);
    BodyDef bob = kit_ball(quat_rotate(rotation, vec3(0.0f, -length, 0.0f)), radius);
    bob.orientation = rotation;
    JointDef joint = joint_def_default(truth_pick(c, 2) ? JOINT_BALL : JOINT_HINGE);
    joint.frame_a = joint.frame_b = kit_rotation(vec3(0.0f, 1.0f, 0.0f), -90.0); /* x along z */
    u32 slot = kit_add(stage.rigid, &bob);
    joint.b = rigid_at(stage.rigid, slot);
    joint.anchor_b = vec3(0.0f, length, 0.0f);
    kit_join(stage.rigid, &joint);
    f64 arm2 = (f64)length * (f64)length + 0.4 * (f64)radius * (f64)radius;
    f64 period = 2.0 * (f64)pi * sqrt(arm2 / ((f64)length * (f64)stage.gravity));
    f64 two = two_periods(&stage, slot, (f32)(3.0 * period));
    truth_say(c, ", %g m, %g deg", (f64)length, (f64)angle);
    rigid_destroy(stage.rigid);
    return miss(two, 2.0 * period);
}

/* A belt carries a body lying on it. */
static f64 carries(TruthCase *c)
{
    Stage stage = stage_draw(c, 4, 1, 16, KIT_GRAVITY_M_S2);
    f32 speed = truth_range(c, 0.002f, 0.02f);
    BodyDef belt = kit_ground();
    belt.surface_velocity = vec3(speed, 0.0f, 0.0f);
    kit_add(stage.rigid, &belt);
    f32 half = truth_log_range(c, 0.05f, 1.0f);
    BodyDef box = kit_box(vec3(0.0f, 0.5f * half, 0.0f), vec3(half, 0.5f * half, half));
    u32 slot = kit_add(stage.rigid, &box);
    f32 t = run(&stage, 5.0f);
    truth_say(c, ", %g mm/s, %g m", 1e3 * (f64)speed, (f64)half);
    f64 went = (f64)rigid_centre(stage.rigid, slot).x;
    rigid_destroy(stage.rigid);
    return miss(went, (f64)speed * (f64)t);
}

/* A box on a slope of this angle (degrees) above the angle of friction. */
static u32 lay_on_slope(TruthCase *c, const Stage *stage, f32 over, Vec3 *down)
{
    f32 friction = truth_range(c, 0.1f, 0.9f), half = truth_log_range(c, 0.05f, 1.0f);
    f64 angle = (f64)trig_atan2_f32(friction, 1.0f) / (f64)degree + (f64)over;
    Quat rotation = kit_rotation(vec3(0.0f, 0.0f, 1.0f), -angle);
    truth_say(c, ", friction %g, %g m, %+.2f deg", (f64)friction, (f64)half, (f64)over);
    BodyDef plane = kit_plane(rotation);
    plane.friction = friction;
    kit_add(stage->rigid, &plane);
    BodyDef box = kit_box(quat_rotate(rotation, vec3(0.0f, 0.25f * half, 0.0f)),
                          vec3(half, 0.25f * half, half * truth_range(c, 0.5f, 1.0f)));
    box.orientation = rotation;
    box.friction = friction;
    *down = quat_rotate(rotation, vec3(1.0f, 0.0f, 0.0f));
    return kit_add(stage->rigid, &box);
}

/* Error of the slope angle inferred from the motion, degrees; 90 if the box stays. */
static f64 slides(TruthCase *c)
{
    Stage stage = stage_draw(c, 4, 1, 16, KIT_GRAVITY_M_S2);
    f32 over = truth_range(c, 0.05f, 0.5f);
    Vec3 down;
    u32 slot = lay_on_slope(c, &stage, over, &down);
    Vec3 from = rigid_centre(stage.rigid, slot);
    f32 t = run(&stage, 3.0f);
    f32 way = vec3_dot(vec3_sub(rigid_centre(stage.rigid, slot), from), down);
    rigid_destroy(stage.rigid);
    /* The slope of angle a goes down with g (sin a − µ cos a) = g sin(over) / cos(atan µ). */
    f32 pull = 2.0f * way / (t * t) / stage.gravity;
    f32 seems = trig_atan2_f32(pull * down.x, 1.0f) / degree;
    return seems < 0.01f ? 90.0 : fabs((f64)seems - (f64)over);
}

/* Displacement in mm from 1 s to 6 s below the angle of friction; 1 m if it does not sleep. */
static f64 holds(TruthCase *c)
{
    Stage stage = stage_draw(c, 4, 1, 16, KIT_GRAVITY_M_S2);
    Vec3 down;
    u32 slot = lay_on_slope(c, &stage, -0.5f, &down);
    run(&stage, 1.0f); /* until it presses with its full weight */
    Vec3 from = rigid_centre(stage.rigid, slot);
    run(&stage, 5.0f);
    f32 way = vec3_distance(rigid_centre(stage.rigid, slot), from);
    bool awake = rigid_awake(stage.rigid, slot);
    rigid_destroy(stage.rigid);
    return awake ? 1000.0 : 1e3 * (f64)way;
}

/* A block is released on its edge, just beyond balance: 1 if it does not fall. */
static f64 tips(TruthCase *c)
{
    Stage stage = stage_draw(c, 4, 2, 16, KIT_GRAVITY_M_S2);
    f32 beyond = truth_range(c, 0.05f, 0.5f) * degree;
    f32 half = truth_log_range(c, 0.05f, 2.0f), wide = half * truth_range(c, 0.2f, 0.8f);
    f32 balance = trig_atan2_f32(wide, half), reach = sqrtf(wide * wide + half * half);
    BodyDef ground = kit_ground();
    kit_add(stage.rigid, &ground);
    Quat rotation = kit_rotation_z(-(balance + beyond));
    BodyDef block = kit_box(quat_rotate(rotation, vec3(-wide, half, 0.0f)), vec3(wide, half, half));
    block.orientation = rotation;
    u32 slot = kit_add(stage.rigid, &block);
    f32 rate = sqrtf(0.75f * stage.gravity / reach);
    run(&stage, 2.0f + 2.0f * (f32)acosh(0.5 / (f64)beyond) / rate);
    truth_say(c, ", %g m, %g deg beyond", (f64)reach, (f64)(beyond / degree));
    Vec3 up = quat_rotate(rigid_orientation(stage.rigid, slot), vec3(0.0f, 1.0f, 0.0f));
    rigid_destroy(stage.rigid);
    return up.x > trig_sin_f32(balance + 0.1f) || up.y < 0.1f ? 0.0 : 1.0;
}

/* A platform that rotates or moves slowly carries bodies standing on it. */
static f64 takes_along(TruthCase *c)
{
    Stage stage = stage_draw(c, 4, 1, 16, KIT_GRAVITY_M_S2);
    bool turns = truth_pick(c, 2) != 0;
    f32 angular_velocity = turns ? truth_range(c, 0.2f, 5.0f) * degree : 0.0f;
    f32 speed = turns ? 0.0f : truth_range(c, 0.001f, 0.01f);
    BodyDef table = kit_ground();
    table.motion = BODY_KINEMATIC;
    table.angular_velocity = vec3(0.0f, angular_velocity, 0.0f);
    table.velocity = vec3(speed, 0.0f, 0.0f);
    kit_add(stage.rigid, &table);
    f32 half = truth_log_range(c, 0.05f, 0.5f);
    BodyDef box = kit_box(vec3(truth_range(c, 0.0f, 1.0f), half, 0.0f), vec3(half, half, half));
    u32 slot = kit_add(stage.rigid, &box);
    f32 from = box.position.x, t = run(&stage, 10.0f);
    truth_say(c, turns ? ", %g deg/s" : ", %g mm/s",
              turns ? (f64)(angular_velocity / degree) : 1e3 * (f64)speed);
    Quat q = rigid_orientation(stage.rigid, slot);
    f32 angle = 2.0f * trig_atan2_f32(q.y, q.w);
    f32 way = rigid_centre(stage.rigid, slot).x - from;
    rigid_destroy(stage.rigid);
    return turns ? miss((f64)angle, (f64)(angular_velocity * t)) : miss((f64)way, (f64)(speed * t));
}

static f64 rolls(TruthCase *c)
{
    Stage stage = stage_draw(c, 4, 1, 16, KIT_GRAVITY_M_S2);
    f32 speed = truth_range(c, 0.002f, 0.01f), radius = truth_log_range(c, 0.05f, 1.0f);
    BodyDef ground = kit_ground(), ball = kit_ball(vec3(0.0f, radius, 0.0f), radius);
    kit_add(stage.rigid, &ground);
    ball.velocity = vec3(speed, 0.0f, 0.0f);
    ball.angular_velocity = vec3(0.0f, 0.0f, -speed / radius);
    u32 slot = kit_add(stage.rigid, &ball);
    f32 t = run(&stage, 5.0f);
    truth_say(c, ", %g mm/s, %g m", 1e3 * (f64)speed, (f64)radius);
    f64 went = (f64)rigid_centre(stage.rigid, slot).x;
    rigid_destroy(stage.rigid);
    return miss(went, (f64)speed * (f64)t);
}

/* ---- motion that must come to rest ---- */

/* An open box, and shapes with some rolling friction above it. */
static u32 fill_bin(TruthCase *c, const Stage *stage)
{
    BodyDef ground = kit_ground();
    kit_add(stage->rigid, &ground);
    f32 size = truth_log_range(c, 0.05f, 0.5f), side = 4.0f * size;
    for (u32 i = 0; i < 4; i++) {
        Quat rotation = kit_rotation(vec3(0.0f, 1.0f, 0.0f), 90.0 * i);
        BodyDef wall = kit_box(quat_rotate(rotation, vec3(side + size, 2.0f * side, 0.0f)),
                               vec3(size, 2.0f * side, 2.0f * side));
        wall.motion = BODY_STATIC;
        wall.orientation = rotation;
        kit_add(stage->rigid, &wall);
    }
    u32 count = 1 + truth_pick(c, 16);
    truth_say(c, ", %u of %g m", count, (f64)size);
    for (u32 i = 0; i < count; i++) {
        f32 x = truth_range(c, -0.4f, 0.4f) * side, z = truth_range(c, -0.4f, 0.4f) * side;
        Shape shape = shape_draw(c, 0.5f * size, size);
        BodyDef body = solid(shape, vec3(x, (2.5f + 2.5f * (f32)i) * size, z));
        body.orientation = truth_rotation(c);
        body.rolling = 0.04f * size;
        kit_add(stage->rigid, &body);
    }
    return count;
}

static u32 awake_count(const Stage *stage)
{
    RigidStats stats;
    rigid_stats(stage->rigid, &stats);
    return stats.awake;
}

/* s until all are asleep. */
static f64 falls_asleep(TruthCase *c)
{
    Stage stage = stage_draw(c, 32, 4, 8, KIT_GRAVITY_M_S2);
    fill_bin(c, &stage);
    f32 t = 0.0f;
    while (t < 20.0f && (t < 0.1f || awake_count(&stage) > 0)) {
        t += run(&stage, 0.25f);
    }
    rigid_destroy(stage.rigid);
    return (f64)t;
}

/* mm that a sleeping heap would still move in 10 s awake. */
static f64 stays(TruthCase *c)
{
    Stage stage = stage_draw(c, 32, 4, 8, KIT_GRAVITY_M_S2);
    fill_bin(c, &stage);
    f32 t = 0.0f;
    while (t < 20.0f && (t < 0.1f || awake_count(&stage) > 0)) {
        t += run(&stage, 0.25f);
    }
    size_t bytes;
    u8 *image = kit_save(stage.rigid, &bytes);
    Stage awake = stage_of(&stage, 32, false);
    f32 most = kit_load(awake.rigid, image, bytes) ? 0.0f : INFINITY;
    rigid_wake_all(awake.rigid);
    run(&awake, 10.0f);
    for (u32 i = 0; i < rigid_slots(stage.rigid); i++) {
        if (!rigid_awake(stage.rigid, i)) {
            most = f32_max(
                most, vec3_distance(rigid_centre(stage.rigid, i), rigid_centre(awake.rigid, i)));
        }
    }
    free(image);
    rigid_destroy(stage.rigid);
    rigid_destroy(awake.rigid);
    return 1e3 * (f64)most;
}

/* ---- worlds ---- */

static World *world_of(Scene *scene, ErrorText *error)
{
    World *world = scene != NULL ? world_create(scene, NULL, error) : NULL;
    if (world == NULL) {
        fprintf(stderr, "%s\n", error->text);
        exit(1);
    }
    return world;
}

static u32 world_awake(World *world)
{
    RigidStats stats;
    rigid_stats(world_rigid(world), &stats);
    return stats.awake;
}

/* s until a limp figure that falls in any pose is asleep. */
static f64 figure_sleeps(TruthCase *c)
{
    char text[1024];
    u32 substeps = 4 + truth_pick(c, 5);
    f32 size = truth_log_range(c, 0.5f, 2.0f);
    snprintf(
        text, sizeof text,
        "{\"name\":\"figure\",\"substeps\":%u,\"bodies\":[{\"name\":\"floor\",\"shape\":{"
        "\"kind\":\"plane\"},\"motion\":\"static\"}],\"ragdolls\":[{\"name\":\"f\",\"size\":%g,"
        "\"position\":[0,%g,0],\"rotation\":[%g,%g,%g]}]}",
        substeps, (f64)size, (f64)truth_range(c, 1.5f, 4.0f), (f64)truth_range(c, -180.0f, 180.0f),
        (f64)truth_range(c, -180.0f, 180.0f), (f64)truth_range(c, -180.0f, 180.0f));
    truth_say(c, "%u substeps, %g m", substeps, (f64)size);
    ErrorText error;
    Scene *scene = scene_parse(text, strlen(text), "figure", &error);
    World *world = world_of(scene, &error);
    u32 ticks = 0;
    while (ticks < 1200 && (ticks < 60 || world_awake(world) > 0)) {
        world_tick(world, NULL, 0);
        ticks++;
    }
    world_destroy(world);
    scene_destroy(scene);
    return ticks / 60.0;
}

/* Path of the i-th shipped scene, cyclic. */
static void scene_path(u64 i, char *path, size_t bytes)
{
    glob_t found;
    if (glob("shared/scenes/*.json", 0, NULL, &found) != 0) {
        fprintf(stderr, "no scenes in shared/scenes\n");
        exit(1);
    }
    snprintf(path, bytes, "%s", found.gl_pathv[i % found.gl_pathc]);
    globfree(&found);
}

/* Copies the world's current state into one without sleep. */
static World *wide_awake(const World *world, Scene *scene)
{
    ErrorText error;
    u8 *image;
    size_t bytes;
    bool sleep = scene->sleep;
    scene->sleep = false;
    World *awake = world_of(scene, &error);
    scene->sleep = sleep;
    if (world_save(world, &image, &bytes) != 0 || world_load(awake, image, bytes, &error) != 0) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    free(image);
    rigid_wake_all(world_rigid(awake));
    soft_wake_all(world_soft(awake));
    return awake;
}

/* Largest distance (m) between the points of two worlds, of soft bodies asleep in the first. */
static f32 soft_apart(const World *one, const World *other)
{
    f32 most = 0.0f;
    for (u32 b = 0; b < world_scene(one)->soft_count; b++) {
        SoftRange range = world_matter_soft(one)->soft_bodies[b];
        for (u32 i = 0; i < range.count && !soft_awake(world_soft(one), range.body); i++) {
            most = f32_max(most, vec3_distance(soft_position(world_soft(one), range.first + i),
                                               soft_position(world_soft(other), range.first + i)));
        }
    }
    return most;
}

static bool has_fluid(const Scene *scene)
{
    return scene->liquid_count + scene->water_count + scene->smoke_count +
               scene->particle_system_count >
           0;
}

/* The first shipped scene from the i-th on, cyclic, that has liquids, grids or particles, or has
 * none. */
static Scene *shipped_scene(u64 i, bool fluid)
{
    for (;; i++) {
        char path[256];
        ErrorText error;
        scene_path(i, path, sizeof path);
        Scene *scene = scene_load(path, &error);
        if (scene == NULL) {
            fprintf(stderr, "%s\n", error.text);
            exit(1);
        }
        if (has_fluid(scene) == fluid) {
            return scene;
        }
        scene_destroy(scene);
    }
}

/* mm by which sleeping bodies of a settled shipped scene differ 10 s later from a copy kept
 * awake. */
static f64 scene_stays(TruthCase *c, bool fluid)
{
    ErrorText error;
    Scene *scene = shipped_scene(c->seed, fluid);
    World *world = world_of(scene, &error);
    /* A heap of a thousand bodies takes half a minute; cloth may flutter indefinitely. */
    u32 most_s = scene->soft_count == 0 && !fluid ? 40 : 12;
    for (u32 i = 0; i < most_s * scene->tick_rate && (i < 60 || world_awake(world) > 0); i++) {
        world_tick(world, NULL, 0);
    }
    World *awake = wide_awake(world, scene);
    for (u32 i = 0; i < 10 * scene->tick_rate; i++) {
        world_tick(world, NULL, 0);
        world_tick(awake, NULL, 0);
    }
    f32 most = soft_apart(world, awake);
    u32 asleep = 0;
    for (u32 i = 0; i < rigid_slots(world_rigid(world)); i++) {
        if (rigid_mass(world_rigid(world), i) > 0.0f && !rigid_awake(world_rigid(world), i)) {
            asleep++;
            most = f32_max(most, vec3_distance(rigid_centre(world_rigid(world), i),
                                               rigid_centre(world_rigid(awake), i)));
        }
    }
    truth_say(c, "%s, %u sleep", scene->name, asleep);
    world_destroy(awake);
    world_destroy(world);
    scene_destroy(scene);
    return 1e3 * (f64)most;
}

static f64 solid_scene_stays(TruthCase *c)
{
    return scene_stays(c, false);
}

static f64 fluid_scene_stays(TruthCase *c)
{
    return scene_stays(c, true);
}

/* ---- soft bodies ---- */

/* A soft body of a random kind, or a rope of such bodies, by its name. */
static const char *soft_draw(TruthCase *c, char *text, size_t bytes, f32 height)
{
    static const char *const names[] = {"cloth", "rope", "foam", "balloon"};
    u32 kind = truth_pick(c, PL_COUNT(names));
    f64 size = (f64)truth_range(c, 0.3f, 0.8f), mass = (f64)truth_log_range(c, 0.2f, 2.0f);
    char shape[256];
    switch (kind) {
    case 0:
        snprintf(shape, sizeof shape,
                 "\"shape\":{\"kind\":\"grid\",\"points\":[9,9],\"size\":[%g,%g]},"
                 "\"mass\":%g,\"rotation\":[-90,0,0]",
                 size, size, mass);
        break;
    case 1:
        snprintf(shape, sizeof shape,
                 "\"shape\":{\"kind\":\"rope\",\"points\":[12],\"length\":%g},\"mass\":%g", size,
                 mass);
        break;
    case 2:
        snprintf(shape, sizeof shape,
                 "\"shape\":{\"kind\":\"box\",\"size\":[%g,%g,%g],\"cells\":[2,2,2],"
                 "\"solid\":true},\"mass\":%g,\"young\":100000,\"poisson\":0.3,"
                 "\"stretch_compliance\":-1",
                 size, 0.5 * size, size, 10.0 * mass);
        break;
    default:
        snprintf(shape, sizeof shape,
                 "\"shape\":{\"kind\":\"sphere\",\"radius\":%g,\"level\":1},\"mass\":%g,"
                 "\"pressure\":2",
                 0.5 * size, mass);
        break;
    }
    snprintf(text, bytes,
             "{\"name\":\"%s\",%s,\"position\":[0,%g,0],\"damping\":%g,\"friction\":0.6,"
             "\"thickness\":0.01}",
             names[kind], shape, (f64)height, height > 0.0f ? 1.0 : 0.0);
    truth_say(c, "%s, %.2g m, %.2g kg", names[kind], size, mass);
    return names[kind];
}

static Scene *soft_scene(const char *soft, f32 gravity, bool floor)
{
    char text[2048];
    ErrorText error;
    snprintf(
        text, sizeof text,
        "{\"name\":\"soft\",\"gravity\":[0,%g,0],\"substeps\":4,\"bodies\":[%s],\"soft_bodies\":"
        "[%s]}",
        -(f64)gravity,
        floor ? "{\"name\":\"floor\",\"shape\":{\"kind\":\"plane\"},\"motion\":\"static\"}" : "",
        soft);
    Scene *scene = scene_parse(text, strlen(text), "soft", &error);
    if (scene == NULL) {
        fprintf(stderr, "%s\n%s\n", error.text, text);
        exit(1);
    }
    return scene;
}

static f64 mean_height(const World *world)
{
    f64 sum = 0.0;
    u32 count = soft_particles(world_soft(world));
    for (u32 i = 0; i < count; i++) {
        sum += (f64)soft_position(world_soft(world), i).y / count;
    }
    return sum;
}

/* A soft body falls in weak gravity without air. */
static f64 soft_falls(TruthCase *c)
{
    char soft[512];
    f32 g = truth_log_range(c, 0.001f, 0.05f);
    soft_draw(c, soft, sizeof soft, 0.0f);
    truth_say(c, ", g %g m/s^2", (f64)g);
    Scene *scene = soft_scene(soft, g, false);
    ErrorText error;
    World *world = world_of(scene, &error);
    f32 air[4] = {0.0f};
    tune_set(world, WORLD_AIR, air);
    world_tick(world, NULL, 0); /* a balloon reaches its equilibrium size */
    f64 from = mean_height(world), speed = (f64)g / 60.0;
    for (u32 i = 0; i < 300; i++) {
        world_tick(world, NULL, 0);
    }
    f64 fallen = from - mean_height(world);
    world_destroy(world);
    scene_destroy(scene);
    return miss(fallen, 0.5 * (f64)g * 25.0 + 5.0 * speed);
}

/* s until a soft body that fell on the floor is asleep. */
static f64 soft_sleeps_after(TruthCase *c)
{
    char soft[512];
    soft_draw(c, soft, sizeof soft, truth_range(c, 0.5f, 1.0f));
    Scene *scene = soft_scene(soft, KIT_GRAVITY_M_S2, true);
    ErrorText error;
    World *world = world_of(scene, &error);
    u32 ticks = 0;
    while (ticks < 1200 && soft_awake(world_soft(world), 0)) {
        world_tick(world, NULL, 0);
        ticks++;
    }
    world_destroy(world);
    scene_destroy(scene);
    return ticks / 60.0;
}

/* A rope swings at a small angle in its slowest mode (J0 of the root of the length): 1.2024
 * times as fast as a ball on a thread of the same length. */
static f64 rope_swings(TruthCase *c)
{
    f32 length = truth_log_range(c, 0.3f, 3.0f), angle = truth_range(c, 0.1f, 0.5f);
    truth_say(c, "%g m, %g deg", (f64)length, (f64)angle);
    char soft[512];
    snprintf(soft, sizeof soft,
             "{\"name\":\"r\",\"shape\":{\"kind\":\"rope\",\"points\":[17],\"length\":%g},"
             "\"position\":[0,0,0],\"rotation\":[0,0,%g],\"mass\":1,\"damping\":0,"
             "\"stretch_compliance\":1e-8,\"bend\":\"none\",\"pins\":[{\"point\":[0]}]}",
             (f64)length, -90.0 + (f64)angle);
    Scene *scene = soft_scene(soft, KIT_GRAVITY_M_S2, false);
    ErrorText error;
    World *world = world_of(scene, &error);
    f64 period = 2.0 * (f64)pi * sqrt((f64)length / (f64)KIT_GRAVITY_M_S2) / 1.2024;
    f64 before = (f64)soft_position(world_soft(world), 16).x, first = 0.0, last = 0.0;
    u32 passed = 0;
    for (u32 i = 1; i < (u32)(180.0 * period) && passed < 5; i++) {
        world_tick(world, NULL, 0);
        f64 x = (f64)soft_position(world_soft(world), 16).x;
        if ((x < 0.0) != (before < 0.0)) {
            last = (i - before / (before - x)) / 60.0;
            first = passed++ == 0 ? last : first;
        }
        before = x;
    }
    bool awake = soft_awake(world_soft(world), 0);
    world_destroy(world);
    scene_destroy(scene);
    return passed == 5 && awake ? miss(last - first, 2.0 * period) : 1.0;
}

const TruthLaw truth_rest[] = {
    {.name = "rest/falls",
     .about = "a free fall of 5 s in 0.001 to 0.05 m/s^2 beside a wall misses g t^2 / 2 by",
     .unit = "of it",
     .bound = 0.01,
     .few = 20,
     .many = 1000,
     .measure = falls},
    {.name = "rest/swings",
     .about = "a pendulum of 0.05 to 0.5 deg, 0.1 to 10 m: its period is off by",
     .unit = "of it",
     .bound = 0.05,
     .few = 12,
     .many = 400,
     .measure = swings},
    {.name = "rest/carries",
     .about = "the path of a box on a belt of 2 to 20 mm/s is off by",
     .unit = "of it",
     .bound = 0.05,
     .few = 12,
     .many = 400,
     .measure = carries},
    {.name = "rest/slides",
     .about = "a box on a slope 0.05 to 0.5 deg too steep slides as on one that is wrong by",
     .unit = "deg",
     .bound = 0.25,
     .few = 20,
     .many = 800,
     .measure = slides},
    {.name = "rest/holds",
     .about = "a box on a slope 0.5 deg too flat to slide creeps in 5 s (1000: does not sleep)",
     .unit = "mm",
     .bound = 1.0,
     .few = 12,
     .many = 400,
     .measure = holds},
    {.name = "rest/tips",
     .about = "a block on its edge 0.05 to 0.5 deg beyond balance: 1 if it does not fall",
     .unit = "",
     .bound = 0.0,
     .few = 12,
     .many = 400,
     .measure = tips},
    {.name = "rest/takes_along",
     .about = "the path of a box on a platform of 1 to 10 mm/s or 0.2 to 5 deg/s is off by",
     .unit = "of it",
     .bound = 0.05,
     .few = 12,
     .many = 400,
     .measure = takes_along},
    {.name = "rest/rolls",
     .about = "the path of a ball that rolls at 2 to 10 mm/s for 5 s is off by",
     .unit = "of it",
     .bound = 0.05,
     .few = 12,
     .many = 400,
     .measure = rolls},
    {.name = "rest/sleeps",
     .about = "up to 16 shapes of all kinds in a bin are asleep after",
     .unit = "s",
     .bound = 10.0,
     .few = 6,
     .many = 150,
     .measure = falls_asleep},
    {.name = "rest/figures",
     .about = "a limp figure that falls in any pose sleeps after",
     .unit = "s",
     .bound = 10.0,
     .few = 24,
     .many = 600,
     .measure = figure_sleeps},
    {.name = "rest/stays",
     .about = "bodies asleep in a bin move in 10 s awake by",
     .unit = "mm",
     .bound = 10.0,
     .few = 4,
     .many = 100,
     .measure = stays},
    {.name = "rest/scenes",
     .about = "sleeping bodies of shipped scenes differ from a copy awake for 10 s by",
     .unit = "mm",
     .bound = 10.0,
     .few = 2,
     .many = 40,
     .measure = solid_scene_stays},
    /* Minutes a scene. */
    {.name = "rest/fluid_scenes",
     .about = "the same of scenes with liquids, grids or particles",
     .unit = "mm",
     .bound = 10.0,
     .few = 0,
     .many = 30,
     .measure = fluid_scene_stays},
    {.name = "rest/soft_falls",
     .about = "a soft body that falls for 5 s in 0.001 to 0.05 m/s^2 misses g t^2 / 2 by",
     .unit = "of it",
     .bound = 0.02,
     .few = 8,
     .many = 200,
     .measure = soft_falls},
    {.name = "rest/soft_swings",
     .about = "a rope of 0.3 to 3 m that swings by 0.1 to 0.5 deg: its period is off by",
     .unit = "of it",
     .bound = 0.1,
     .few = 8,
     .many = 100,
     .measure = rope_swings},
    {.name = "rest/soft_sleeps",
     .about = "cloth, rope, foam or a balloon that fell on the floor sleeps after",
     .unit = "s",
     .bound = 10.0,
     .few = 8,
     .many = 100,
     .measure = soft_sleeps_after},
    {.name = NULL},
};
