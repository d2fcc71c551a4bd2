/* test_forces.c: forces and torques at points, damping, moving surfaces and kinematic bodies
 * against Newton's and Euler's laws. */
#include "tests/support/rigid_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void force_at_a_point_turns_and_moves(void **unused)
{
    PL_UNUSED(unused);
    Rigid *rigid = kit_world(2, 4, 0.0f);
    BodyDef def = kit_box(vec3_zero(), vec3(0.5f, 0.25f, 0.1f));
    def.mass_kg = 12.0f;
    u32 slot = kit_add(rigid, &def);
    /* One tick of 60 N along z at x = 0.5: v = F t / m; about y I = m/3 (0.5² + 0.1²). */
    rigid_push(rigid, slot, vec3(0.5f, 0.0f, 0.0f), vec3(0.0f, 0.0f, 60.0f), vec3_zero());
    kit_tick(rigid);
    Vec3 v = rigid_velocity(rigid, slot), w = rigid_angular_velocity(rigid, slot);
    assert_float_equal(v.z, 60.0f / 60.0f / 12.0f, 1e-5f);
    assert_float_equal(w.y, -30.0f / 60.0f / (12.0f / 3.0f * 0.26f), 1e-4f);
    /* A pure torque about x: I = m/3 (0.25² + 0.1²), and no other motion. */
    Rigid *other = kit_world(2, 4, 0.0f);
    slot = kit_add(other, &def);
    rigid_push(other, slot, vec3_zero(), vec3_zero(), vec3(2.9f, 0.0f, 0.0f));
    kit_tick(other);
    w = rigid_angular_velocity(other, slot);
    assert_float_equal(w.x, 2.9f / 60.0f / (12.0f / 3.0f * 0.0725f), 1e-4f);
    assert_float_equal(vec3_length(rigid_velocity(other, slot)), 0.0f, 1e-7f);
    rigid_destroy(rigid);
    rigid_destroy(other);
}

static void forces_wake(void **unused)
{
    PL_UNUSED(unused);
    Rigid *rigid = kit_world(2, 4, 0.0f);
    BodyDef def = kit_ball(vec3_zero(), 0.5f);
    def.asleep = true;
    u32 slot = kit_add(rigid, &def);
    kit_tick(rigid);
    kit_tick(rigid);
    assert_false(rigid_awake(rigid, slot));
    rigid_push(rigid, slot, vec3_zero(), vec3(0.0f, rigid_mass(rigid, slot), 0.0f), vec3_zero());
    kit_tick(rigid);
    assert_true(rigid_awake(rigid, slot));
    assert_float_equal(rigid_velocity(rigid, slot).y, 1.0f / 60.0f, 1e-5f);
    rigid_destroy(rigid);
}

static void damping_is_exponential(void **unused)
{
    PL_UNUSED(unused);
    Rigid *rigid = kit_world(2, 16, 0.0f);
    BodyDef def = kit_ball(vec3_zero(), 0.5f);
    def.velocity = vec3(4.0f, 0.0f, 0.0f);
    def.angular_velocity = vec3(0.0f, 3.0f, 0.0f);
    def.linear_damping = 0.5f;
    def.angular_damping = 1.0f;
    u32 slot = kit_add(rigid, &def);
    kit_run(rigid, 2.0f);
    assert_float_equal(rigid_velocity(rigid, slot).x, 4.0f * expf(-1.0f), 0.005f);
    assert_float_equal(rigid_angular_velocity(rigid, slot).y, 3.0f * expf(-2.0f), 0.005f);
    rigid_destroy(rigid);
}

/* A box placed on a belt is accelerated by μ g until it moves with the belt. */
static void belts_carry(void **unused)
{
    PL_UNUSED(unused);
    Rigid *rigid = kit_world(4, 8, KIT_GRAVITY_M_S2);
    BodyDef belt = kit_ground();
    belt.surface_velocity = vec3(3.0f, 0.0f, 0.0f);
    belt.friction = 0.4f;
    kit_add(rigid, &belt);
    BodyDef def = kit_box(vec3(0.0f, 0.25f, 0.0f), vec3(0.25f, 0.25f, 0.25f));
    def.friction = 0.4f;
    u32 slot = kit_add(rigid, &def);
    kit_run(rigid, 0.4f);
    assert_float_equal(rigid_velocity(rigid, slot).x, 0.4f * KIT_GRAVITY_M_S2 * 0.4f, 0.08f);
    kit_run(rigid, 1.6f);
    assert_float_equal(rigid_velocity(rigid, slot).x, 3.0f, 0.01f);
    rigid_destroy(rigid);
}

static void kinematic_bodies_arrive(void **unused)
{
    PL_UNUSED(unused);
    Rigid *rigid = kit_world(2, 8, KIT_GRAVITY_M_S2);
    BodyDef def = kit_box(vec3(1.0f, 2.0f, 3.0f), vec3(0.5f, 0.1f, 0.5f));
    def.motion = BODY_KINEMATIC;
    u32 slot = kit_add(rigid, &def);
    Quat rotation = kit_rotation(vec3(0.6f, 0.8f, 0.0f), 8.0);
    rigid_move_kinematic(rigid, slot, vec3(1.1f, 2.0f, 2.9f), rotation);
    kit_tick(rigid);
    Vec3 p = rigid_position(rigid, slot);
    assert_float_equal(vec3_distance(p, vec3(1.1f, 2.0f, 2.9f)), 0.0f, 1e-5f);
    /* Eight explicit steps of the rotation: within a few millionths of a revolution. */
    assert_float_equal(fabsf(quat_dot(rigid_orientation(rigid, slot), rotation)), 1.0f, 1e-6f);
    rigid_destroy(rigid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(force_at_a_point_turns_and_moves), cmocka_unit_test(forces_wake),
        cmocka_unit_test(damping_is_exponential),           cmocka_unit_test(belts_carry),
        cmocka_unit_test(kinematic_bodies_arrive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
