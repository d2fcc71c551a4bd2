/* test_joint_chain.c: many joints: chains, nets, heavy ends, threads. */
#include "shared/math/trig.h"
#include "tests/support/rigid_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define PI 3.14159265358979

static const Vec3 earth = {0.0f, -9.81f, 0.0f};

/* `links` capsules along x from the world at (0, 0, 0); the last body. */
static BodyId chain(Rigid *rigid, u32 links, f32 pitch, Quat rotation, Vec3 along)
{
    BodyId before = {0, 0};
    Shape link = {.kind = SHAPE_CAPSULE, .radius = 0.1f * pitch, .half_height = 0.4f * pitch};
    for (u32 i = 0; i < links; i++) {
        BodyDef def = body_def_default();
        def.shape = link;
        def.position = vec3_scale(along, ((f32)i + 0.5f) * pitch);
        def.orientation = rotation;
        def.family = 1;
        BodyId body = rigid_add(rigid, &def);
        JointDef joint = joint_def_default(JOINT_BALL);
        joint.a = before;
        joint.anchor_a = vec3(0.0f, i > 0 ? -0.5f * pitch : 0.0f, 0.0f);
        joint.b = body;
        joint.anchor_b = vec3(0.0f, 0.5f * pitch, 0.0f);
        kit_join(rigid, &joint);
        before = body;
    }
    return before;
}
/* Rotates −y to x. */
static Quat along_x(void)
{
    return kit_rotation_z((f32)(0.5 * PI));
}
static f32 worst_error(const Rigid *rigid)
{
    f32 worst = 0.0f;
    for (u32 i = 0; i < rigid_joint_slots(rigid); i++) {
        worst = f32_max(worst, rigid_joint_error(rigid, i));
    }
    return worst;
}

/* A hanging chain of n links between two points converges to the catenary as n grows. */
static void test_catenary(void **state)
{
    (void)state;
    enum {
        LINKS = 40
    };
    const f32 pitch = 0.25f, length = LINKS * 0.25f, span = 6.0f;
    Rigid *rigid = kit_joint_world(earth, 4, LINKS + 1);
    BodyId last = chain(rigid, LINKS, pitch, along_x(), vec3(1.0f, 0.0f, 0.0f));
    JointDef end = joint_def_default(JOINT_BALL);
    end.b = last;
    end.anchor_b = vec3(0.0f, -0.5f * pitch, 0.0f);
    end.anchor_a = vec3(length, 0.0f, 0.0f);
    u32 slot = kit_join(rigid, &end);
    /* The far end moves in slowly, then all settles under drag. */
    for (u32 i = 0; i < 900; i++) {
        if (i <= 300) {
            rigid_joint_remove(rigid, rigid_joint_at(rigid, slot));
            end.anchor_a.x = length + (span - length) * (f32)i / 300.0f;
            slot = kit_join(rigid, &end);
        }
        kit_tick_awake(rigid);
        for (u32 j = 0; j < LINKS; j++) {
            rigid_set_velocity(rigid, j, vec3_scale(rigid_velocity(rigid, j), 0.97f),
                               vec3_scale(rigid_angular_velocity(rigid, j), 0.97f));
        }
    }
    /* 2 a sinh(span / 2a) = length. */
    f64 low = 0.1, high = 100.0;
    for (u32 i = 0; i < 200; i++) {
        f64 a = 0.5 * (low + high);
        if (2.0 * a * sinh(0.5 * (f64)span / a) > (f64)length) {
            low = a;
        } else {
            high = a;
        }
    }
    f64 worst = 0.0;
    for (u32 j = 0; j < LINKS; j++) {
        Vec3 at = rigid_position(rigid, j);
        f64 x = (f64)at.x - 0.5 * (f64)span;
        f64 y = low * (cosh(x / low) - cosh(0.5 * (f64)span / low));
        worst = fmax(worst, fabs(y - (f64)at.y));
    }
    printf("catenary: off by at most %.1f mm (sag %.3f m), joint error %.2f mm\n", worst * 1e3,
           low * (cosh(0.5 * (f64)span / low) - 1.0), (f64)worst_error(rigid) * 1e3);
    assert_true(worst < 0.005);
    rigid_destroy(rigid);
}

/* 20 links released horizontally with a ball of the given mass ratio at the end. */
static void check_heavy_ball(f32 ratio, f32 worst_max, f32 end_max)
{
    Rigid *rigid = kit_joint_world(earth, 4, 32);
    BodyId last = chain(rigid, 20, 0.5f, along_x(), vec3(1.0f, 0.0f, 0.0f));
    BodyDef def = body_def_default();
    def.shape = kit_ball_shape(0.5f);
    def.position = vec3(10.5f, 0.0f, 0.0f);
    def.mass_kg = ratio;
    def.family = 1;
    JointDef joint = joint_def_default(JOINT_BALL);
    joint.a = last;
    joint.anchor_a = vec3(0.0f, -0.25f, 0.0f);
    joint.b = rigid_add(rigid, &def);
    joint.anchor_b = vec3(-0.5f, 0.0f, 0.0f);
    kit_join(rigid, &joint);
    f32 worst = 0.0f;
    for (u32 i = 0; i < 600; i++) {
        kit_tick_awake(rigid);
        worst = f32_max(worst, worst_error(rigid));
    }
    printf("%g times heavier: worst error %.1f mm, in the end %.1f mm\n", (f64)ratio,
           (f64)worst * 1e3, (f64)worst_error(rigid) * 1e3);
    assert_true(worst < worst_max);
    assert_true(worst_error(rigid) < end_max);
    rigid_destroy(rigid);
}
static void test_heavy_ball_on_chain(void **state)
{
    (void)state;
    check_heavy_ball(100.0f, 0.02f, 0.003f);
    check_heavy_ball(1000.0f, 0.046f, 0.046f);
}

static void test_long_hanging_chain(void **state)
{
    (void)state;
    Rigid *rigid = kit_joint_world(earth, 4, 100);
    chain(rigid, 100, 0.5f, quat_identity(), vec3(0.0f, -1.0f, 0.0f));
    for (u32 i = 0; i < 300; i++) {
        kit_tick_awake(rigid);
    }
    printf("100 links hanging: error %.2f mm, force %.1f N\n", (f64)worst_error(rigid) * 1e3,
           (f64)rigid_joint_force(rigid, 0).y);
    assert_true(worst_error(rigid) < 0.002f);
    /* The top joint carries the whole weight. */
    assert_true(fabsf(rigid_joint_force(rigid, 0).y - 981.0f) < 2.0f);
    rigid_destroy(rigid);
}

/* A chain of 2 m held at points 2.2 m apart is infeasible; it distributes the error and stays
 * stable. */
static void test_chain_too_short(void **state)
{
    (void)state;
    Rigid *rigid = kit_joint_world(earth, 4, 32);
    BodyId last = chain(rigid, 20, 0.1f, along_x(), vec3(1.0f, 0.0f, 0.0f));
    JointDef end = joint_def_default(JOINT_BALL);
    end.b = last;
    end.anchor_b = vec3(0.0f, -0.05f, 0.0f);
    end.anchor_a = vec3(2.2f, 0.0f, 0.0f);
    kit_join(rigid, &end);
    f32 fastest = 0.0f;
    for (u32 i = 0; i < 300; i++) {
        kit_tick_awake(rigid);
        for (u32 j = 0; j < 20 && i > 120; j++) {
            fastest = f32_max(fastest, vec3_length(rigid_velocity(rigid, j)));
        }
    }
    printf("too short: worst error %.2f mm of %.2f mm shared evenly, fastest %.4f m/s\n",
           (f64)worst_error(rigid) * 1e3, 200.0 / 21.0, (f64)fastest);
    assert_true(worst_error(rigid) < 0.0105f);
    assert_true(fastest < 1.0f);
    rigid_destroy(rigid);
}

/* A net hanging from its top row: every link carries the weight below it. */
static void test_hanging_net(void **state)
{
    (void)state;
    enum {
        SIDE = 40
    };
    Rigid *rigid = kit_joint_world(earth, 4, SIDE * SIDE * 2);
    for (u32 i = 0; i < SIDE * SIDE; i++) {
        BodyDef def = body_def_default();
        def.shape = kit_ball_shape(0.4f);
        def.position = vec3((f32)(i % SIDE), -(f32)(i / SIDE), 0.0f);
        def.motion = i < SIDE ? BODY_STATIC : BODY_DYNAMIC;
        def.family = 1;
        rigid_add(rigid, &def);
        JointDef joint = joint_def_default(JOINT_BALL);
        joint.b = rigid_at(rigid, i);
        if (i % SIDE > 0 && i >= SIDE) {
            joint.a = rigid_at(rigid, i - 1);
            joint.anchor_a = vec3(0.5f, 0.0f, 0.0f);
            joint.anchor_b = vec3(-0.5f, 0.0f, 0.0f);
            kit_join(rigid, &joint);
        }
        if (i >= SIDE) {
            joint.a = rigid_at(rigid, i - SIDE);
            joint.anchor_a = vec3(0.0f, -0.5f, 0.0f);
            joint.anchor_b = vec3(0.0f, 0.5f, 0.0f);
            kit_join(rigid, &joint);
        }
    }
    f32 worst = 0.0f;
    for (u32 i = 0; i < 120; i++) {
        kit_tick_awake(rigid);
        worst = f32_max(worst, worst_error(rigid));
    }
    printf("net: worst error %.2f mm, in the end %.2f mm\n", (f64)worst * 1e3,
           (f64)worst_error(rigid) * 1e3);
    assert_true(worst < 0.0067f);
    rigid_destroy(rigid);
}

/* More joints at one body than there are colours: a hub of 400 kg rotating with 80 balls on it,
 * by ball joints and hinges alternately. */
static void test_hub(void **state)
{
    (void)state;
    enum {
        SPOKES = 80
    };
    Rigid *rigid = kit_joint_world(vec3_zero(), 4, SPOKES + 1);
    BodyDef def = body_def_default();
    def.shape = kit_ball_shape(1.0f);
    def.mass_kg = 400.0f;
    def.angular_velocity = vec3(0.0f, 0.0f, 1.0f);
    def.family = 1;
    BodyId hub = rigid_add(rigid, &def);
    def.shape = kit_ball_shape(0.02f);
    def.mass_kg = 1.0f;
    for (u32 i = 0; i < SPOKES; i++) {
        f32 angle = (f32)i * (f32)(2.0 * PI / SPOKES);
        Vec3 out = vec3(trig_cos_f32(angle), trig_sin_f32(angle), 0.0f);
        def.position = vec3_scale(out, 2.0f);
        def.velocity = vec3(-def.position.y, def.position.x, 0.0f);
        JointDef joint = joint_def_default(i % 2 ? JOINT_BALL : JOINT_HINGE);
        joint.frame_a = joint.frame_b = (Quat){0.70710678f, 0.0f, -0.70710678f, 0.0f};
        joint.a = hub;
        joint.anchor_a = vec3_scale(out, 1.5f);
        joint.b = rigid_add(rigid, &def);
        joint.anchor_b = vec3_scale(out, -0.5f);
        kit_join(rigid, &joint);
    }
    for (u32 i = 0; i < 240; i++) {
        kit_tick_awake(rigid);
        assert_true(worst_error(rigid) < 0.001f);
    }
    /* At uniform rotation each joint pulls with m ω² r = 2 N. */
    assert_true(fabsf(rigid_angular_velocity(rigid, hub.slot).z - 1.0f) < 0.01f);
    for (u32 i = 0; i < SPOKES; i++) {
        assert_true(fabsf(vec3_length(rigid_joint_force(rigid, i)) - 2.0f) < 0.05f);
    }
    rigid_destroy(rigid);
}

/* ---- threads ---- */

static u64 hash_of(Rigid *rigid)
{
    State walk = {.mode = STATE_HASH};
    rigid_serialize(rigid, &walk);
    return walk.hash;
}

#ifdef __SANITIZE_THREAD__ /* races show in every tick; the bits are compared in other builds */
#define TANGLE_TICKS 20
#else
#define TANGLE_TICKS 90
#endif

/* A net, chains and a tangle of all kinds fall on a plane: 1 and 4 threads give the same bits. */
static void test_threads_leave_no_trace(void **state)
{
    (void)state;
    u64 hashes[2] = {0, 0};
    for (u32 run = 0; run < 2; run++) {
        Jobs *jobs = jobs_create(run ? 4 : 1);
        Rigid *rigid = kit_joint_world(earth, 4, 400);
        BodyDef def = body_def_default();
        def.shape.kind = SHAPE_PLANE;
        def.motion = BODY_STATIC;
        rigid_add(rigid, &def);
        def = body_def_default();
        def.shape = kit_ball_shape(0.25f);
        for (u32 i = 0; i < 300; i++) {
            def.position =
                vec3(0.6f * (f32)(i % 20), 0.5f + 0.6f * (f32)(i / 20), 0.01f * (f32)(i * 7 % 13));
            BodyId b = rigid_add(rigid, &def);
            BodyId left = rigid_at(rigid, b.slot - 1), below = rigid_at(rigid, b.slot - 20);
            /* A net at first, then chains, then all kinds. */
            JointDef joint = joint_def_default(i < 200 ? JOINT_BALL : (JointKind)(1 + i % 9));
            joint.flags |= JOINT_LIMITS;
            joint.upper = 0.5f;
            joint.swing = 0.5f;
            joint.frequency = 3.0f;
            joint.force_max = joint.torque_max = 10.0f;
            joint.b = b;
            joint.anchor_a = vec3(0.3f, 0.0f, 0.0f);
            joint.anchor_b = vec3(-0.3f, 0.0f, 0.0f);
            joint.a = left;
            if (i % 20 > 0) {
                kit_join(rigid, &joint);
            }
            if (i >= 20 && i < 100) {
                joint.a = below;
                joint.anchor_a = vec3(0.0f, 0.3f, 0.0f);
                joint.anchor_b = vec3(0.0f, -0.3f, 0.0f);
                kit_join(rigid, &joint);
            }
        }
        for (u32 i = 0; i < TANGLE_TICKS; i++) {
            rigid_collide(rigid, jobs);
            rigid_prepare(rigid);
            for (u32 n = 0; n < rigid_substeps(rigid); n++) {
                rigid_substep(rigid);
            }
            rigid_finish(rigid);
        }
        for (u32 i = 0; i < rigid_slots(rigid); i++) {
            assert_true(rigid_position(rigid, i).y > -0.5f);
            assert_true(vec3_length(rigid_velocity(rigid, i)) < 20.0f);
        }
        hashes[run] = hash_of(rigid);
        rigid_destroy(rigid);
        jobs_destroy(jobs);
    }
    assert_true(hashes[0] == hashes[1]);
}

/* Four arms on one body, whose joints bend by 2 degrees at most, sink until each joint is at its
 * limit: more than are solved at once. Then each arm is an arc, and rests. */
static void test_arms_of_limits(void **state)
{
    (void)state;
    enum {
        ARMS = 4,
        LINKS = 4
    };
    const f32 pitch = 0.1f, swing = 2.0f * (f32)(PI / 180.0);
    Rigid *rigid = kit_joint_world(earth, 8, ARMS * LINKS + 1);
    BodyDef def = body_def_default();
    def.shape = (Shape){.kind = SHAPE_BOX, .half = vec3(0.5f * pitch, 0.02f, 0.5f * pitch)};
    def.family = 1;
    BodyId hub = rigid_add(rigid, &def), last[ARMS] = {{0, 0}};
    JointDef held = joint_def_default(JOINT_FIXED);
    held.b = hub;
    kit_join(rigid, &held);
    for (u32 n = 0; n < ARMS * LINKS; n++) {
        u32 arm = n / LINKS, link = n % LINKS;
        Quat turned = kit_rotation(vec3(0.0f, 1.0f, 0.0f), 90.0 * (f64)arm);
        def.shape.half = vec3(0.5f * pitch, 0.02f, 0.02f);
        def.orientation = turned;
        def.position = quat_rotate(turned, vec3(((f32)link + 1.0f) * pitch, 0.0f, 0.0f));
        BodyId body = rigid_add(rigid, &def);
        JointDef joint = joint_def_default(JOINT_CONE_TWIST);
        joint.a = link > 0 ? last[arm] : hub;
        joint.b = body;
        joint.frame_a = link > 0 ? joint.frame_a : turned;
        joint.anchor_a = quat_rotate(joint.frame_a, vec3(0.5f * pitch, 0.0f, 0.0f));
        joint.anchor_b = vec3(-0.5f * pitch, 0.0f, 0.0f);
        joint.flags |= JOINT_LIMITS;
        joint.swing = swing;
        joint.lower = -swing;
        joint.upper = swing;
        kit_join(rigid, &joint);
        last[arm] = body;
    }
    for (u32 i = 0; i < 300; i++) {
        kit_tick_awake(rigid);
    }
    f32 off = 0.0f, speed = 0.0f;
    for (u32 arm = 0; arm < ARMS; arm++) {
        Quat turned = kit_rotation(vec3(0.0f, 1.0f, 0.0f), 90.0 * (f64)arm);
        Vec3 end = vec3(0.5f * pitch, 0.0f, 0.0f);
        for (u32 link = 0; link < LINKS; link++) {
            f64 sine, cosine, length = (f64)pitch * (link + 1 < LINKS ? 1.0 : 0.5);
            trig_sincos((f64)swing * ((f64)link + 1.0), &sine, &cosine);
            end = vec3_add(end, vec3((f32)(length * cosine), (f32)(-length * sine), 0.0f));
        }
        u32 slot = last[arm].slot;
        off = f32_max(off, vec3_distance(rigid_position(rigid, slot), quat_rotate(turned, end)));
        speed = f32_max(speed, vec3_length(rigid_velocity(rigid, slot)));
    }
    printf("arms of limits: %.2f mm of %.1f m from their arcs, %.2f mm/s, joints open %.3f mm\n",
           1e3 * (f64)off, (f64)pitch * LINKS, 1e3 * (f64)speed, 1e3 * (f64)worst_error(rigid));
    assert_true(off < 0.015f * pitch * LINKS);
    assert_true(speed < 1e-3f && worst_error(rigid) < 1e-4f);
    rigid_destroy(rigid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_catenary),
        cmocka_unit_test(test_arms_of_limits),
        cmocka_unit_test(test_heavy_ball_on_chain),
        cmocka_unit_test(test_long_hanging_chain),
        cmocka_unit_test(test_chain_too_short),
        cmocka_unit_test(test_hanging_net),
        cmocka_unit_test(test_hub),
        cmocka_unit_test(test_threads_leave_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
