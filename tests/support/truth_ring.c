/* truth_ring.c: laws of joint loops: bridges of planks, boxes of joined walls, free-flying
 * rings; see truth.h. */
#include "tests/support/truth_world.h"

#include <math.h>
#include <stdlib.h>

#define GRAVITY 9.81

enum {
    PLANKS_MAX = 24,
    RING_MAX = 8
};

static void add_joint(const TruthWorld *world, JointKind kind, i32 a, Vec3 anchor_a, i32 b,
                      Vec3 anchor_b)
{
    JointDef def = joint_def_default(kind);
    if (a >= 0) {
        def.a = rigid_at(world->rigid, (u32)a);
    }
    if (b >= 0) {
        def.b = rigid_at(world->rigid, (u32)b);
    }
    def.anchor_a = anchor_a;
    def.anchor_b = anchor_b;
    kit_join(world->rigid, &def);
}

/* ---- bridges ---- */

typedef struct Bridge {
    TruthWorld world;
    u32 count;
    f64 length, wide; /* m, of a plank */
    f64 pull;         /* horizontal pull at the ends, in weights of a plank; INFINITY: taut */
    f64 x[PLANKS_MAX + 1], y[PLANKS_MAX + 1]; /* ends of the planks */
} Bridge;

/* Links of equal weight w in moment equilibrium: link k has the slope (k − (n − 1) / 2) w / H, H
 * the horizontal pull. */
static void bridge_shape(Bridge *b)
{
    for (u32 i = 0; i < b->count; i++) {
        f64 slope = ((f64)i - 0.5 * (f64)(b->count - 1)) / b->pull;
        f64 along = b->length / sqrt(1.0 + slope * slope);
        b->x[i + 1] = b->x[i] + along;
        b->y[i + 1] = b->y[i] + along * slope;
    }
}

static f64 bridge_of(TruthCase *c, bool taut)
{
    Bridge b = {.world = truth_world_draw(c, 64, GRAVITY, 1.0 / 120.0, 2)};
    Rigid *rigid = b.world.rigid;
    b.count = 3 + truth_pick(c, PLANKS_MAX - 2);
    b.length = (f64)truth_log_range(c, 0.1f, 1.0f);
    b.wide = b.length * (f64)truth_range(c, 0.5f, 3.0f);
    f32 thick = (f32)b.length * truth_range(c, 0.03f, 0.2f),
        mass = truth_log_range(c, 0.1f, 100.0f);
    /* Slopes of the first and the last link of 0.1 to 1. */
    b.pull = 0.5 * (f64)(b.count - 1) / (f64)truth_log_range(c, 0.1f, 1.0f);
    b.pull = taut ? INFINITY : b.pull;
    bridge_shape(&b);
    truth_say(c, "%u planks of %.2f m, pull %.1f", b.count, b.length, b.pull);
    Vec3 start[PLANKS_MAX];
    for (u32 i = 0; i < b.count; i++) {
        BodyDef def = body_def_default();
        def.shape =
            (Shape){.kind = SHAPE_BOX, .half = {0.5f * (f32)b.length, thick, 0.5f * (f32)b.wide}};
        def.mass_kg = mass;
        def.family = 1;
        def.position = start[i] =
            vec3((f32)(0.5 * (b.x[i] + b.x[i + 1])), (f32)(0.5 * (b.y[i] + b.y[i + 1])), 0.0f);
        def.orientation = kit_rotation_z((f32)atan2(b.y[i + 1] - b.y[i], b.x[i + 1] - b.x[i]));
        kit_add(rigid, &def);
    }
    for (u32 i = 0; i <= b.count; i++) {
        for (i32 side = -1; side <= 1; side += 2) {
            f32 half = 0.5f * (f32)b.length, z = 0.5f * (f32)side * (f32)b.wide;
            Vec3 world_at = vec3((f32)b.x[i], (f32)b.y[i], z);
            i32 before = (i32)i - 1, after = i < b.count ? (i32)i : -1;
            add_joint(&b.world, JOINT_BALL, before, before < 0 ? world_at : vec3(half, 0.0f, z),
                      after, after < 0 ? world_at : vec3(-half, 0.0f, z));
        }
    }
    f64 worst = 0.0;
    for (u32 i = 0; i < truth_world_ticks(&b.world, 4.0); i++) {
        kit_tick(rigid);
        for (u32 k = 0; k < b.count; k++) {
            worst = fmax(worst, (f64)vec3_distance(rigid_centre(rigid, k), start[k]));
        }
    }
    rigid_destroy(rigid);
    return 100.0 * worst / (b.length * (f64)b.count);
}

static f64 measure_bridge(TruthCase *c)
{
    return bridge_of(c, false);
}
static f64 measure_taut(TruthCase *c)
{
    return bridge_of(c, true);
}

/* ---- boxes ---- */

static Vec3 on_axis(u32 axis, f32 x)
{
    return vec3(axis == 0 ? x : 0.0f, axis == 1 ? x : 0.0f, axis == 2 ? x : 0.0f);
}

/* Six walls, each welded to its four neighbours, thrown at the ground: the largest joint error
 * within 2 s. */
static f64 measure_opens(TruthCase *c)
{
    TruthWorld world = truth_world_draw(c, 64, GRAVITY, 1.0 / 120.0, 2);
    Rigid *rigid = world.rigid;
    BodyDef ground = kit_ground();
    kit_add(rigid, &ground);
    f32 half[3], thin = 0.01f, mass = truth_log_range(c, 0.1f, 30.0f);
    for (u32 k = 0; k < 3; k++) {
        half[k] = truth_log_range(c, 0.1f, 1.0f);
    }
    f32 speed = truth_range(c, 0.0f, 10.0f), turning = truth_range(c, 0.0f, 10.0f);
    truth_say(c, "%.2f x %.2f x %.2f m, %.1f m/s, %.1f rad/s", (f64)half[0], (f64)half[1],
              (f64)half[2], (f64)speed, (f64)turning);
    Vec3 at = vec3(0.0f, half[0] + half[1] + half[2] + 0.1f, 0.0f), middle[6];
    Vec3 velocity = vec3_scale(truth_direction(c), speed);
    Vec3 angular_velocity = vec3_scale(truth_direction(c), turning);
    Quat rotation = truth_rotation(c);
    for (u32 w = 0; w < 6; w++) {
        u32 axis = w / 2;
        middle[w] = on_axis(axis, w % 2 ? half[axis] + thin : -half[axis] - thin);
        Vec3 arm = quat_rotate(rotation, middle[w]);
        BodyDef def =
            kit_box(vec3_add(at, arm), vec3(axis == 0 ? thin : half[0], axis == 1 ? thin : half[1],
                                            axis == 2 ? thin : half[2]));
        def.mass_kg = mass;
        def.orientation = rotation;
        def.velocity = vec3_add(velocity, vec3_cross(angular_velocity, arm));
        def.angular_velocity = angular_velocity;
        kit_add(rigid, &def);
    }
    for (u32 w = 0; w < 6; w++) {
        for (u32 o = 0; o < w; o++) {
            if (o / 2 != w / 2) {
                add_joint(&world, JOINT_FIXED, (i32)w + 1, middle[o], (i32)o + 1, middle[w]);
            }
        }
    }
    f64 worst = 0.0;
    for (u32 i = 0; i < truth_world_ticks(&world, 2.0); i++) {
        kit_tick(rigid);
        for (u32 k = 0; k < rigid_joint_slots(rigid); k++) {
            worst = fmax(worst, (f64)rigid_joint_error(rigid, k));
        }
    }
    rigid_destroy(rigid);
    return 1000.0 * worst;
}

/* ---- flying rings ---- */

/* Bodies on a circle, each joined to the next, and the last to the first, thrown. */
static KitFlight thrown_ring(TruthCase *c)
{
    static const JointKind kinds[] = {JOINT_BALL, JOINT_BALL, JOINT_FIXED, JOINT_HINGE};
    static const char *const names[] = {"b", "b", "f", "h"};
    TruthWorld world = truth_world_draw(c, 64, 0.0, 1.0 / 240.0, 2);
    u32 count = 3 + truth_pick(c, RING_MAX - 2);
    Vec3 at[RING_MAX];
    Quat turns[RING_MAX];
    for (u32 i = 0; i < count; i++) {
        f64 angle = 6.283185307 * (f64)i / (f64)count;
        BodyDef def = body_def_default();
        f32 x = truth_log_range(c, 0.05f, 0.3f), y = x * truth_log_range(c, 0.2f, 1.0f);
        f32 z = x * truth_log_range(c, 0.2f, 1.0f);
        def.shape = (Shape){.kind = SHAPE_BOX, .half = {x, y, z}};
        def.mass_kg = 1000.0f * x * y * z;
        def.family = 1;
        def.position = at[i] = vec3((f32)cos(angle), (f32)sin(angle), 0.0f);
        def.orientation = turns[i] = truth_rotation(c);
        kit_add(world.rigid, &def);
    }
    for (u32 i = 0; i < count; i++) {
        u32 n = (i + 1) % count, kind = truth_pick(c, PL_COUNT(kinds));
        JointDef def = joint_def_default(kinds[kind]);
        Vec3 middle = vec3_lerp(at[i], at[n], 0.5f);
        Quat frame = truth_rotation(c);
        def.a = rigid_at(world.rigid, i);
        def.b = rigid_at(world.rigid, n);
        def.anchor_a = quat_rotate_inverse(turns[i], vec3_sub(middle, at[i]));
        def.anchor_b = quat_rotate_inverse(turns[n], vec3_sub(middle, at[n]));
        def.frame_a = quat_mul(quat_conjugate(turns[i]), frame);
        def.frame_b = quat_mul(quat_conjugate(turns[n]), frame);
        kit_join(world.rigid, &def);
        truth_say(c, "%s", names[kind]);
    }
    return truth_world_throw(&world, c, count, 10.0);
}

static f64 measure_energy(TruthCase *c)
{
    return thrown_ring(c).gain;
}
static f64 measure_momentum(TruthCase *c)
{
    return thrown_ring(c).turning;
}

const TruthLaw truth_ring[] = {
    {"ring/bridge", "a slack bridge of planks stays in its equilibrium, 4 s, of its length", "%",
     0.5, 6, 200, measure_bridge},
    {"ring/taut", "a taut one sags and swings, 4 s, of its length", "%", 4.0, 6, 200, measure_taut},
    {"ring/opens", "joints of a box of welded walls thrown at the ground, 2 s", "mm", 1.0, 6, 200,
     measure_opens},
    {"ring/energy", "flying rings of bodies gain no energy, 10 s", "%", 0.2, 6, 200,
     measure_energy},
    {"ring/momentum", "and keep their angular momentum", "%", 0.6, 6, 200, measure_momentum},
    {.name = NULL},
};
