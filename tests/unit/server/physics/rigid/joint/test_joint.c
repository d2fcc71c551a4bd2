/* test_joint.c: the store of joints: slots, bad definitions, removed bodies, waking, images. */
#include "server/physics/rigid/rigid_internal.h"
#include "shared/math/random.h"
#include "tests/support/rigid_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static Rigid *world(u32 bodies, u32 joints)
{
    RigidDef def = {.body_capacity = bodies,
                    .tick_s = 1.0f / 60.0f,
                    .substeps = 4,
                    .gravity = {0.0f, -9.81f, 0.0f},
                    .joint_capacity = joints};
    Rigid *rigid = rigid_create(&def);
    assert_non_null(rigid);
    return rigid;
}

static BodyId add_ball(Rigid *rigid, Vec3 position, BodyMotion motion)
{
    BodyDef def = body_def_default();
    def.shape.kind = SHAPE_SPHERE;
    def.shape.radius = 0.5f;
    def.position = position;
    def.motion = motion;
    return rigid_add(rigid, &def);
}

static JointDef between(JointKind kind, BodyId a, BodyId b)
{
    JointDef def = joint_def_default(kind);
    def.a = a;
    def.b = b;
    def.anchor_a = vec3(0.5f, 0.0f, 0.0f);
    def.anchor_b = vec3(-0.5f, 0.0f, 0.0f);
    return def;
}

static void test_slots_and_generations(void **unused)
{
    (void)unused;
    Rigid *rigid = world(8, 3);
    BodyId b[4];
    for (u32 i = 0; i < 4; i++) {
        b[i] = add_ball(rigid, vec3((f32)i, 0.0f, 0.0f), BODY_DYNAMIC);
    }
    JointId ids[3];
    for (u32 i = 0; i < 3; i++) {
        JointDef def = between(JOINT_BALL, b[i], b[i + 1]);
        ids[i] = rigid_joint_add(rigid, &def);
        assert_int_equal(ids[i].slot, i);
        assert_true(rigid_joint_alive(rigid, ids[i]));
    }
    JointDef more = between(JOINT_BALL, b[0], b[3]);
    assert_int_equal(rigid_joint_add(rigid, &more).generation, 0);
    rigid_joint_remove(rigid, ids[2]);
    rigid_joint_remove(rigid, ids[0]);
    rigid_joint_remove(rigid, ids[0]);
    assert_false(rigid_joint_alive(rigid, ids[0]));
    assert_true(rigid_joint_alive(rigid, ids[1]));
    assert_null(rigid_joint_def(rigid, 0));
    JointId again = rigid_joint_add(rigid, &more);
    assert_int_equal(again.slot, 0);
    assert_int_not_equal(again.generation, ids[0].generation);
    assert_int_equal(rigid_joint_add(rigid, &more).slot, 2);
    assert_int_equal(rigid_joint_slots(rigid), 3);
    assert_int_equal(rigid_joint_at(rigid, 0).generation, again.generation);
    rigid_clear(rigid);
    assert_false(rigid_joint_alive(rigid, again));
    for (u32 i = 0; i < 4; i++) {
        assert_false(joint_connects(rigid, 0, i));
    }
    rigid_destroy(rigid);
}

static void test_bad_definitions_are_refused(void **unused)
{
    (void)unused;
    Rigid *rigid = world(4, 8);
    BodyId a = add_ball(rigid, vec3_zero(), BODY_DYNAMIC);
    BodyId b = add_ball(rigid, vec3(1.0f, 0.0f, 0.0f), BODY_DYNAMIC);
    BodyId gone = add_ball(rigid, vec3(2.0f, 0.0f, 0.0f), BODY_DYNAMIC);
    rigid_remove(rigid, gone);
    JointDef good = between(JOINT_HINGE, a, b);
    JointDef bad[32];
    u32 n = 0;
#define BAD(change)                                                                                \
    bad[n] = good;                                                                                 \
    bad[n].change;                                                                                 \
    n++
    BAD(kind = JOINT_NONE);
    BAD(kind = JOINT_KIND_COUNT);
    BAD(kind = (JointKind)-3);
    BAD(flags |= 1u << 9);
    BAD(anchor_a.x = NAN);
    BAD(anchor_b.z = 1e9f);
    BAD(frame_a = ((Quat){0.0f, 0.0f, 0.0f, 0.0f}));
    BAD(frame_b.w = INFINITY);
    BAD(lower = NAN);
    BAD(lower = 1.0f);
    BAD(upper = 4.0f);
    BAD(lower = -4.0f);
    BAD(swing = 0.0f);
    BAD(swing = NAN);
    BAD(speed = INFINITY);
    BAD(force_max = 0.0f);
    BAD(force_max = NAN);
    BAD(torque_max = -1.0f);
    BAD(rest = NAN);
    BAD(frequency = -1.0f);
    BAD(frequency = INFINITY);
    BAD(damping = NAN);
    BAD(break_force = -1.0f);
    BAD(break_torque = NAN);
    BAD(motor_velocity.y = NAN);
    BAD(motor_angular_velocity.y = 1e9f);
    u32 numbers = n;
    BAD(a = gone);
    BAD(b = a);
    BAD(a.slot = 12345);
    BAD(b.generation += 1);
#undef BAD
    for (u32 i = 0; i < n; i++) {
        assert_int_equal(joint_def_fault(&bad[i]) != NULL, i < numbers);
        assert_int_equal(rigid_joint_add(rigid, &bad[i]).generation, 0);
    }
    JointDef nowhere = good;
    nowhere.a.generation = nowhere.b.generation = 0;
    assert_int_equal(rigid_joint_add(rigid, &nowhere).generation, 0);
    JointDef rope = between(JOINT_DISTANCE, a, b);
    rope.lower = -1.0f;
    assert_string_equal(joint_def_fault(&rope), "lower");
    assert_int_equal(rigid_joint_slots(rigid), 0);
    JointId id = rigid_joint_add(rigid, &good);
    assert_int_equal(id.generation, 1);
    assert_true(rigid_joint_def(rigid, id.slot)->lower == 0.0f);
    /* Reads of free slots return zero. */
    assert_true(rigid_joint_value(rigid, 99) == 0.0f && rigid_joint_error(rigid, 99) == 0.0f);
    rigid_destroy(rigid);
}

static void test_removed_bodies_remove_their_joints(void **unused)
{
    (void)unused;
    Rigid *rigid = world(4, 8);
    BodyId a = add_ball(rigid, vec3_zero(), BODY_STATIC);
    BodyId b = add_ball(rigid, vec3(1.0f, 0.0f, 0.0f), BODY_DYNAMIC);
    BodyId c = add_ball(rigid, vec3(2.0f, 0.0f, 0.0f), BODY_DYNAMIC);
    JointDef ab = between(JOINT_BALL, a, b), bc = between(JOINT_FIXED, b, c);
    JointDef world_c = between(JOINT_BALL, (BodyId){0, 0}, c);
    JointId one = rigid_joint_add(rigid, &ab), two = rigid_joint_add(rigid, &bc);
    JointId three = rigid_joint_add(rigid, &world_c);
    rigid_remove(rigid, b);
    assert_false(rigid_joint_alive(rigid, one));
    assert_false(rigid_joint_alive(rigid, two));
    assert_true(rigid_joint_alive(rigid, three));
    assert_false(joint_connects(rigid, a.slot, b.slot));
    /* The world's side of a joint refers to no body: the static one in slot 0 may be removed. */
    rigid_remove(rigid, a);
    assert_true(rigid_joint_alive(rigid, three));
    rigid_destroy(rigid);
}

/* The table of joined pairs against a plain list, over many insertions and removals. */
static void test_joined_pairs(void **unused)
{
    (void)unused;
    enum {
        BODIES = 24,
        JOINTS = 64
    };
    Rigid *rigid = world(BODIES, JOINTS);
    BodyId bodies[BODIES];
    for (u32 i = 0; i < BODIES; i++) {
        bodies[i] = add_ball(rigid, vec3(2.0f * (f32)i, 0.0f, 0.0f), BODY_DYNAMIC);
    }
    u32 counts[BODIES][BODIES] = {{0}};
    u64 counter = 0;
    for (u32 step = 0; step < 4000; step++) {
        u32 slot = (u32)(random_f32(7, counter++) * (f32)JOINTS);
        JointId id = rigid_joint_at(rigid, slot);
        if (id.generation) {
            JointDef def = *rigid_joint_def(rigid, slot);
            rigid_joint_remove(rigid, id);
            if (!(def.flags & JOINT_COLLIDES)) {
                counts[def.a.slot][def.b.slot]--;
                counts[def.b.slot][def.a.slot]--;
            }
            continue;
        }
        u32 a = (u32)(random_f32(7, counter++) * (f32)BODIES);
        u32 b = (u32)(random_f32(7, counter++) * (f32)BODIES);
        JointDef def = between(JOINT_BALL, bodies[a], bodies[b]);
        def.flags |= random_f32(7, counter++) < 0.3f ? JOINT_COLLIDES : 0;
        bool added = rigid_joint_add(rigid, &def).generation != 0;
        assert_true(a != b || !added);
        if (added && !(def.flags & JOINT_COLLIDES)) {
            counts[a][b]++;
            counts[b][a]++;
        }
        if (step % 50 == 0) {
            for (u32 i = 0; i < BODIES * BODIES; i++) {
                u32 x = i / BODIES, y = i % BODIES;
                assert_int_equal(joint_connects(rigid, x, y), counts[x][y] > 0);
            }
        }
    }
    rigid_destroy(rigid);
}

/* Joined balls that overlap do not collide; without the joint they do; joined again, they stop. */
static void test_joined_bodies_do_not_touch(void **unused)
{
    (void)unused;
    Rigid *rigid = world(2, 2);
    rigid_set_gravity(rigid, vec3_zero());
    BodyId a = add_ball(rigid, vec3_zero(), BODY_DYNAMIC);
    BodyId b = add_ball(rigid, vec3(0.5f, 0.0f, 0.0f), BODY_DYNAMIC);
    JointDef def = between(JOINT_DISTANCE, a, b);
    def.anchor_a = def.anchor_b = vec3_zero();
    def.upper = 10.0f;
    JointId id = rigid_joint_add(rigid, &def);
    RigidStats stats;
    kit_tick(rigid);
    rigid_stats(rigid, &stats);
    assert_int_equal(stats.touching, 0);
    assert_true(rigid_position(rigid, b.slot).x == 0.5f);
    rigid_joint_remove(rigid, id);
    kit_tick(rigid);
    rigid_stats(rigid, &stats);
    assert_int_equal(stats.touching, 1);
    id = rigid_joint_add(rigid, &def);
    kit_tick(rigid);
    rigid_stats(rigid, &stats);
    assert_int_equal(stats.touching, 0);
    def.flags |= JOINT_COLLIDES;
    rigid_joint_remove(rigid, id);
    rigid_joint_add(rigid, &def);
    kit_tick(rigid);
    rigid_stats(rigid, &stats);
    assert_int_equal(stats.touching, 1);
    rigid_destroy(rigid);
}

/* Joined bodies sleep and wake together; a motor that should turn keeps its bodies awake. */
static void test_islands(void **unused)
{
    (void)unused;
    Rigid *rigid = world(4, 4);
    BodyId a = add_ball(rigid, vec3(0.5f, -0.5f, 0.0f), BODY_DYNAMIC);
    BodyId b = add_ball(rigid, vec3(0.5f, -1.5f, 0.0f), BODY_DYNAMIC);
    JointDef top = joint_def_default(JOINT_BALL);
    top.anchor_a = vec3(0.5f, 0.0f, 0.0f);
    top.b = a;
    top.anchor_b = vec3(0.0f, 0.5f, 0.0f);
    JointDef middle = joint_def_default(JOINT_BALL);
    middle.a = a;
    middle.anchor_a = vec3(0.0f, -0.5f, 0.0f);
    middle.b = b;
    middle.anchor_b = vec3(0.0f, 0.5f, 0.0f);
    rigid_joint_add(rigid, &top);
    JointId joint = rigid_joint_add(rigid, &middle);
    for (u32 i = 0; i < 120; i++) {
        kit_tick(rigid);
    }
    assert_false(rigid_awake(rigid, a.slot));
    assert_false(rigid_awake(rigid, b.slot));
    rigid_wake(rigid, b.slot);
    kit_tick(rigid);
    assert_true(rigid_awake(rigid, a.slot));
    for (u32 i = 0; i < 120; i++) {
        kit_tick(rigid);
    }
    assert_false(rigid_awake(rigid, a.slot));
    rigid_joint_remove(rigid, joint);
    kit_tick(rigid);
    kit_tick(rigid);
    assert_true(rigid_awake(rigid, b.slot));
    assert_true(rigid_position(rigid, b.slot).y < -1.501f);
    rigid_destroy(rigid);
    rigid = world(2, 2);
    BodyId wheel = add_ball(rigid, vec3_zero(), BODY_DYNAMIC);
    JointDef motor = joint_def_default(JOINT_HINGE);
    motor.b = wheel;
    motor.flags |= JOINT_DRIVE;
    motor.speed = 0.01f;
    rigid_joint_add(rigid, &motor);
    for (u32 i = 0; i < 120; i++) {
        kit_tick(rigid);
    }
    assert_true(rigid_awake(rigid, wheel.slot));
    assert_true(fabsf(rigid_angular_velocity(rigid, wheel.slot).x - 0.01f) < 1e-4f);
    rigid_destroy(rigid);
}

/* All kinds, between random bodies; some are removed. */
static Rigid *crowd(void)
{
    Rigid *rigid = world(32, 64);
    for (u32 i = 0; i < 24; i++) {
        add_ball(rigid, vec3(1.1f * (f32)(i % 6), 1.1f * (f32)(i / 6), 0.1f * (f32)(i % 5)),
                 i == 5 ? BODY_STATIC : BODY_DYNAMIC);
    }
    for (u32 i = 0; i < 40; i++) {
        u32 a = (u32)(random_f32(3, 2 * i) * 24.0f), b = (u32)(random_f32(3, 2 * i + 1) * 24.0f);
        JointDef def = between((JointKind)(1 + i % 9), rigid_at(rigid, a), rigid_at(rigid, b));
        def.flags |= i % 3 == 0 ? JOINT_LIMITS | JOINT_SPRUNG : 0;
        def.flags |= i % 4 == 0 ? JOINT_DRIVE : 0;
        def.upper = 0.5f;
        def.swing = 0.5f;
        def.frequency = 2.0f;
        def.speed = 1.0f;
        def.force_max = 5.0f;
        def.torque_max = 5.0f;
        def.a.generation = i % 10 == 0 ? 0 : def.a.generation;
        rigid_joint_add(rigid, &def);
    }
    rigid_joint_remove(rigid, rigid_joint_at(rigid, 7));
    return rigid;
}

static void test_loaded_worlds_continue_identically(void **unused)
{
    (void)unused;
    Rigid *one = crowd(), *two = world(32, 64);
    for (u32 i = 0; i < 20; i++) {
        kit_tick(one);
    }
    State count = {.mode = STATE_COUNT};
    rigid_serialize(one, &count);
    u8 *image = malloc(count.used);
    State save = {.mode = STATE_SAVE, .data = image, .bytes = count.used};
    rigid_serialize(one, &save);
    assert_int_equal(save.used, count.used);
    /* Into a world that had other joints. */
    BodyId x = add_ball(two, vec3_zero(), BODY_DYNAMIC);
    JointDef other = between(JOINT_BALL, (BodyId){0, 0}, x);
    for (u32 i = 0; i < 60; i++) {
        rigid_joint_add(two, &other);
    }
    State load = {.mode = STATE_LOAD, .data = image, .bytes = count.used};
    rigid_serialize(two, &load);
    assert_false(load.failed);
    for (u32 i = 0; i < 24; i++) {
        for (u32 j = 0; j < 24; j++) {
            assert_int_equal(joint_connects(one, i, j), joint_connects(two, i, j));
        }
    }
    for (u32 i = 0; i < 30; i++) {
        assert_true(kit_hash(one) == kit_hash(two));
        kit_tick(one);
        kit_tick(two);
    }
    free(image);
    rigid_destroy(one);
    rigid_destroy(two);
}

/* Each byte of the joints inverted in turn: the image is refused, or gives a world that can run. */
static void test_damaged_images(void **unused)
{
    (void)unused;
    Rigid *rigid = world(4, 4), *target = world(4, 4);
    BodyId a = add_ball(rigid, vec3_zero(), BODY_DYNAMIC);
    BodyId b = add_ball(rigid, vec3(1.0f, 0.0f, 0.0f), BODY_DYNAMIC);
    JointDef def = between(JOINT_CONE_TWIST, a, b);
    rigid_joint_add(rigid, &def);
    State count = {.mode = STATE_COUNT}, joints = {.mode = STATE_COUNT};
    rigid_serialize(rigid, &count);
    joint_serialize(rigid, &joints);
    u8 *image = malloc(count.used);
    State save = {.mode = STATE_SAVE, .data = image, .bytes = count.used};
    rigid_serialize(rigid, &save);
    u32 refused = 0;
    for (size_t i = count.used - joints.used; i < count.used; i++) {
        image[i] ^= 0xff;
        State load = {.mode = STATE_LOAD, .data = image, .bytes = count.used};
        rigid_serialize(target, &load);
        if (load.failed) {
            refused++;
            rigid_clear(target);
        } else {
            kit_tick(target);
        }
        image[i] ^= 0xff;
    }
    assert_true(refused > 20);
    State shorter = {.mode = STATE_LOAD, .data = image, .bytes = count.used - 1};
    rigid_serialize(target, &shorter);
    assert_true(shorter.failed);
    free(image);
    rigid_destroy(rigid);
    rigid_destroy(target);
}

/* A tangle of every kind, pulled far apart: numbers stay finite and speeds bounded. */
static void test_tangle_recovers(void **unused)
{
    (void)unused;
    Rigid *rigid = crowd();
    rigid_set_velocity(rigid, 3, vec3(1500.0f, 0.0f, 0.0f), vec3(0.0f, 400.0f, 0.0f));
    rigid_set_velocity(rigid, 9, vec3(0.0f, -1500.0f, 3.0f), vec3_zero());
    for (u32 i = 0; i < 300; i++) {
        kit_tick(rigid);
        for (u32 j = 0; j < 24; j++) {
            assert_true(vec3_is_finite(rigid_position(rigid, j)));
            assert_true(vec3_length(rigid_velocity(rigid, j)) <= 2001.0f);
        }
    }
    rigid_destroy(rigid);
}

/* Loads beyond single precision vanish after the tick; breakable joints break. */
static void test_loads_beyond_range(void **unused)
{
    (void)unused;
    static const JointKind kinds[] = {JOINT_BALL, JOINT_HINGE, JOINT_FIXED, JOINT_SLIDER};
    static const f32 loads[] = {INFINITY, -INFINITY, NAN, 3e38f};
    for (u32 i = 0; i < PL_COUNT(kinds) * PL_COUNT(loads) * 2; i++) {
        bool brittle = i % 2 == 1;
        f32 load = loads[i / 2 % PL_COUNT(loads)];
        Rigid *rigid = world(4, 4);
        BodyId a = add_ball(rigid, vec3_zero(), BODY_STATIC);
        BodyId b = add_ball(rigid, vec3(1.0f, 0.0f, 0.0f), BODY_DYNAMIC);
        JointDef def = joint_def_default(kinds[i / 2 / PL_COUNT(loads)]);
        def.a = a;
        def.b = b;
        def.anchor_b = vec3(-1.0f, 0.0f, 0.0f);
        def.break_force = brittle ? 1e6f : 0.0f;
        kit_join(rigid, &def);
        rigid->joints.joints[0].load.linear = vec3(load, load, load);
        kit_tick(rigid);
        u32 broken;
        rigid_joint_breaks(rigid, &broken);
        assert_int_equal(broken, brittle);
        if (!brittle) {
            assert_true(joint_is_bounded(&rigid->joints.joints[0]));
        }
        kit_run(rigid, 0.2f);
        assert_true(vec3_is_finite(rigid_position(rigid, b.slot)));
        rigid_destroy(rigid);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slots_and_generations),
        cmocka_unit_test(test_bad_definitions_are_refused),
        cmocka_unit_test(test_removed_bodies_remove_their_joints),
        cmocka_unit_test(test_joined_pairs),
        cmocka_unit_test(test_joined_bodies_do_not_touch),
        cmocka_unit_test(test_islands),
        cmocka_unit_test(test_loaded_worlds_continue_identically),
        cmocka_unit_test(test_damaged_images),
        cmocka_unit_test(test_loads_beyond_range),
        cmocka_unit_test(test_tangle_recovers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
