/* The plain method (sequential impulses, Baumgarte, friction pyramid) against what is known of it:
 * it stacks a little, conserves momentum, and its friction depends on the direction as a polygon
 * does on the angle. */
#include "server/physics/rigid/rigid.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define G 9.81f

static Rigid *world(u32 bodies, u32 sides, Vec3 gravity)
{
    RigidDef def = {.body_capacity = bodies,
                    .tick_s = 1.0f / 240.0f,
                    .substeps = 8,
                    .gravity = gravity,
                    .method = RIGID_IMPULSES,
                    .iterations = 20,
                    .pyramid_sides = sides,
                    .baumgarte = 0.2f};
    Rigid *rigid = rigid_create(&def);
    assert_non_null(rigid);
    assert_int_equal(rigid_substeps(rigid), 1);
    return rigid;
}

static void tick(Rigid *rigid)
{
    rigid_collide(rigid, NULL);
    rigid_prepare(rigid);
    rigid_substep(rigid);
    rigid_finish(rigid);
}

static BodyDef box(Vec3 at)
{
    BodyDef def = body_def_default();
    def.shape.kind = SHAPE_BOX;
    def.shape.half = vec3(0.5f, 0.5f, 0.5f);
    def.position = at;
    def.mass_kg = 10.0f;
    return def;
}

static void add_floor(Rigid *rigid)
{
    BodyDef floor = body_def_default();
    floor.shape.kind = SHAPE_PLANE;
    floor.motion = BODY_STATIC;
    rigid_add(rigid, &floor);
}

/* Way that a cube slides from 3 m/s towards `angle`, by friction alone. */
static f32 slide(u32 sides, f32 angle)
{
    Rigid *rigid = world(4, sides, vec3(0.0f, -G, 0.0f));
    add_floor(rigid);
    BodyDef def = box(vec3(0.0f, 0.5f, 0.0f));
    def.velocity = vec3(3.0f * cosf(angle), 0.0f, 3.0f * sinf(angle));
    u32 slot = rigid_add(rigid, &def).slot;
    for (u32 i = 0; i < 480; i++) {
        tick(rigid);
    }
    Vec3 p = rigid_position(rigid, slot);
    rigid_destroy(rigid);
    return sqrtf(p.x * p.x + p.z * p.z);
}

static void more_sides_are_a_rounder_cone(void **unused)
{
    PL_UNUSED(unused);
    /* μ = 0.6: v² / (2 μ g) on a true cone. A polygon of k sides gives between cos(π/k) and 1 of
     * μ along the way, so nothing stops sooner, and with 16 sides nothing slides 4 % farther. */
    f32 cone = 9.0f / (2.0f * 0.6f * G), farthest4 = 0.0f;
    for (u32 i = 0; i < 8; i++) {
        f32 angle = 0.1f + 0.2f * (f32)i, d4 = slide(4, angle), d16 = slide(16, angle);
        printf("towards %.1f rad: %.3f m with 4 sides, %.3f with 16, cone %.3f\n", (double)angle,
               (double)d4, (double)d16, (double)cone);
        assert_true(d16 > 0.97f * cone && d16 < 1.04f * cone);
        assert_true(d4 > 0.97f * cone && d4 < 1.45f * cone);
        farthest4 = f32_max(farthest4, d4);
    }
    assert_true(farthest4 > 1.1f * cone); /* the corners of the pyramid show */
}

static void short_stacks_stand(void **unused)
{
    PL_UNUSED(unused);
    Rigid *rigid = world(8, 4, vec3(0.0f, -G, 0.0f));
    add_floor(rigid);
    for (u32 i = 0; i < 5; i++) {
        BodyDef def = box(vec3(0.0f, 0.5f + (f32)i, 0.0f));
        rigid_add(rigid, &def);
    }
    for (u32 i = 0; i < 1200; i++) {
        tick(rigid);
    }
    Vec3 top = rigid_position(rigid, 5);
    assert_float_equal(top.y, 4.5f, 0.05f);
    assert_float_equal(top.x, 0.0f, 0.05f);
    assert_false(rigid_awake(rigid, 5));
    rigid_destroy(rigid);
}

static void collisions_keep_momentum_and_obey_e(void **unused)
{
    PL_UNUSED(unused);
    Rigid *rigid = world(4, 4, vec3_zero());
    BodyDef a = body_def_default();
    a.shape.kind = SHAPE_SPHERE;
    a.shape.radius = 0.5f;
    a.mass_kg = 2.0f;
    a.restitution = 0.5f;
    a.velocity = vec3(3.0f, 0.0f, 0.0f);
    BodyDef b = a;
    b.mass_kg = 1.0f;
    b.position = vec3(2.0f, 0.0f, 0.0f);
    b.velocity = vec3_zero();
    u32 i = rigid_add(rigid, &a).slot, j = rigid_add(rigid, &b).slot;
    for (u32 t = 0; t < 240; t++) {
        tick(rigid);
    }
    /* Newton's law of impact: v = (m1 v1 ∓ m e v1) / (m1 + m2). */
    assert_float_equal(rigid_velocity(rigid, i).x, 1.5f, 0.01f);
    assert_float_equal(rigid_velocity(rigid, j).x, 3.0f, 0.01f);
    rigid_destroy(rigid);
}

/* A ball that rolls is slowed by ρ g / (1.4 R): the moment ρ N against (I + m R²) / R. */
static void rolling_friction_slows_a_ball(void **state)
{
    (void)state;
    const f32 radius = 0.3f, lever = 0.01f, speed = 2.0f;
    Rigid *rigid = world(4, 4, vec3(0.0f, -G, 0.0f));
    add_floor(rigid);
    BodyDef ball = body_def_default();
    ball.shape = (Shape){.kind = SHAPE_SPHERE, .radius = radius};
    ball.position = vec3(0.0f, radius, 0.0f);
    ball.velocity = vec3(speed, 0.0f, 0.0f);
    ball.spin = vec3(0.0f, 0.0f, -speed / radius);
    ball.friction = 0.8f;
    ball.rolling = lever;
    ball.mass_kg = 5.0f;
    u32 slot = rigid_add(rigid, &ball).slot;
    for (u32 i = 0; i < 480; i++) {
        tick(rigid);
    }
    f32 expected = speed - 2.0f * lever * G / (1.4f * radius);
    assert_float_equal(rigid_velocity(rigid, slot).x, expected, 0.01f);
    assert_float_equal(rigid_spin(rigid, slot).z, -expected / radius, 0.05f);
    for (u32 i = 0; i < 2400; i++) {
        tick(rigid);
    }
    assert_float_equal(rigid_velocity(rigid, slot).x, 0.0f, 1e-3f); /* and then it stands */
    rigid_destroy(rigid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_sides_are_a_rounder_cone),
        cmocka_unit_test(short_stacks_stand),
        cmocka_unit_test(collisions_keep_momentum_and_obey_e),
        cmocka_unit_test(rolling_friction_slows_a_ball),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
