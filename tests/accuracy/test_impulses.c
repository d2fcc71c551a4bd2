/* test_impulses.c: the PGS method (sequential impulses, Baumgarte, friction pyramid) against its
 * known properties: it stacks a little, conserves momentum, and its friction depends on
 * direction as a polygon's radius on the angle. */
#include "server/physics/rigid/joint/joint.h"
#include "server/physics/rigid/rigid.h"
#include "tests/support/rigid_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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

/* Distance a cube slides from 3 m/s towards `angle`, by friction alone. */
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
     * μ along the path, so no cube stops sooner, and with 16 sides none slides 4 % farther. */
    f32 cone = 9.0f / (2.0f * 0.6f * G), farthest4 = 0.0f;
    for (u32 i = 0; i < 8; i++) {
        f32 angle = 0.1f + 0.2f * (f32)i, d4 = slide(4, angle), d16 = slide(16, angle);
        printf("towards %.1f rad: %.3f m with 4 sides, %.3f with 16, cone %.3f\n", (double)angle,
               (double)d4, (double)d16, (double)cone);
        assert_true(d16 > 0.97f * cone && d16 < 1.04f * cone);
        assert_true(d4 > 0.97f * cone && d4 < 1.45f * cone);
        farthest4 = f32_max(farthest4, d4);
    }
    assert_true(farthest4 > 1.1f * cone); /* the corners of the pyramid are visible */
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

/* A rolling ball is slowed by ρ g / (1.4 R): the moment ρ N against (I + m R²) / R. */
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
    ball.angular_velocity = vec3(0.0f, 0.0f, -speed / radius);
    ball.friction = 0.8f;
    ball.rolling = lever;
    ball.mass_kg = 5.0f;
    u32 slot = rigid_add(rigid, &ball).slot;
    for (u32 i = 0; i < 480; i++) {
        tick(rigid);
    }
    f32 expected = speed - 2.0f * lever * G / (1.4f * radius);
    assert_float_equal(rigid_velocity(rigid, slot).x, expected, 0.01f);
    assert_float_equal(rigid_angular_velocity(rigid, slot).z, -expected / radius, 0.05f);
    for (u32 i = 0; i < 2400; i++) {
        tick(rigid);
    }
    assert_float_equal(rigid_velocity(rigid, slot).x, 0.0f, 1e-3f); /* and then it stands */
    rigid_destroy(rigid);
}

/* ---- both methods in one world ---- */

static Rigid *mixed_world(RigidMethod method)
{
    RigidDef def = {.body_capacity = 64,
                    .tick_s = KIT_TICK_S,
                    .substeps = 4,
                    .gravity = {0.0f, -G, 0.0f},
                    .joint_capacity = 16,
                    .method = method,
                    .iterations = 20,
                    .baumgarte = 0.2f};
    Rigid *rigid = rigid_create(&def);
    assert_non_null(rigid);
    add_floor(rigid);
    return rigid;
}

static JointId hang(Rigid *rigid, u32 a, u32 b, Vec3 anchor)
{
    JointDef def = joint_def_default(JOINT_BALL);
    def.a = a != 0 ? rigid_at(rigid, a) : (BodyId){0, 0};
    def.b = rigid_at(rigid, b);
    def.anchor_a = a != 0 ? vec3_sub(anchor, rigid_position(rigid, a)) : anchor;
    def.anchor_b = vec3_sub(anchor, rigid_position(rigid, b));
    JointId id = rigid_joint_add(rigid, &def);
    assert_int_not_equal(id.generation, 0);
    return id;
}

enum {
    GROUP = 9 /* bodies per group */
};

/* A tower that a ball hits, and a chain of three; all slots in slots[GROUP]. */
static void add_group(Rigid *rigid, f32 x, bool pgs, u32 slots[GROUP])
{
    u32 n = 0;
    for (u32 i = 0; i < 5; i++) {
        BodyDef def = box(vec3(x, 0.5f + 1.0f * (f32)i, 0.0f));
        def.pgs = pgs;
        slots[n++] = kit_add(rigid, &def);
    }
    BodyDef ball = kit_ball(vec3(x, 4.0f, 8.0f), 0.3f);
    ball.velocity = vec3(0.5f, 2.0f, -9.0f);
    ball.pgs = pgs;
    slots[n++] = kit_add(rigid, &ball);
    for (u32 i = 0; i < 3; i++) {
        BodyDef link = kit_ball(vec3(x + 0.5f + (f32)i, 6.0f, -6.0f), 0.2f);
        link.pgs = pgs;
        slots[n] = kit_add(rigid, &link);
        hang(rigid, i > 0 ? slots[n - 1] : 0, slots[n], vec3(x + (f32)i, 6.0f, -6.0f));
        n++;
    }
}

static void assert_same_poses(const Rigid *one, const u32 *a, const Rigid *other, const u32 *b)
{
    for (u32 i = 0; i < GROUP; i++) {
        Vec3 p = rigid_position(one, a[i]), q = rigid_position(other, b[i]);
        Quat r = rigid_orientation(one, a[i]), s = rigid_orientation(other, b[i]);
        assert_memory_equal(&p, &q, sizeof(p));
        assert_memory_equal(&r, &s, sizeof(r));
    }
}

/* PGS bodies beside others move exactly as in a world of their method, and so do the others. */
static void methods_go_side_by_side(void **unused)
{
    PL_UNUSED(unused);
    u32 soft[GROUP], pgs[GROUP], soft_alone[GROUP], plain_alone[GROUP];
    Rigid *both = mixed_world(RIGID_SOFT_STEP), *impulses = mixed_world(RIGID_IMPULSES);
    Rigid *steps = mixed_world(RIGID_SOFT_STEP);
    add_group(both, 0.0f, true, pgs);
    add_group(both, 20.0f, false, soft);
    add_group(impulses, 0.0f, false, plain_alone); /* by the world's method */
    add_group(steps, 20.0f, false, soft_alone);
    for (u32 i = 0; i < 180; i++) {
        kit_tick(both);
        kit_tick(impulses);
        kit_tick(steps);
        assert_same_poses(both, pgs, impulses, plain_alone);
        assert_same_poses(both, soft, steps, soft_alone);
    }
    assert_true(rigid_position(both, pgs[4]).z < -0.2f); /* the ball did hit the tower */
    assert_true(vec3_distance(rigid_position(both, pgs[8]),
                              vec3_sub(rigid_position(both, soft[8]), vec3(20, 0, 0))) > 1e-3f);
    rigid_destroy(both);
    rigid_destroy(impulses);
    rigid_destroy(steps);
}

/* A world restored from an image continues identically. */
static void images_know_the_method(void **unused)
{
    PL_UNUSED(unused);
    u32 soft[GROUP], pgs[GROUP];
    Rigid *one = mixed_world(RIGID_SOFT_STEP), *other = mixed_world(RIGID_SOFT_STEP);
    add_group(one, 0.0f, true, pgs);
    add_group(one, 1.2f, false, soft);
    kit_run(one, 1.0f);
    size_t bytes;
    u8 *image = kit_save(one, &bytes);
    assert_true(kit_load(other, image, bytes));
    free(image);
    for (u32 i = 0; i < 60; i++) {
        kit_tick(one);
        kit_tick(other);
        assert_int_equal(kit_hash(one), kit_hash(other));
    }
    rigid_destroy(one);
    rigid_destroy(other);
}

/* Between bodies of different methods, Newton's laws hold for both. */
static void methods_push_each_other(void **unused)
{
    PL_UNUSED(unused);
    Rigid *rigid = mixed_world(RIGID_SOFT_STEP);
    BodyDef a = kit_ball(vec3(0.0f, 50.0f, 0.0f), 0.5f), b = a;
    a.gravity_scale = b.gravity_scale = 0.0f;
    a.mass_kg = 2.0f;
    b.mass_kg = 1.0f;
    a.restitution = b.restitution = 0.5f;
    a.velocity = vec3(3.0f, 0.0f, 0.0f);
    b.position.x = 2.0f;
    b.pgs = true;
    u32 i = kit_add(rigid, &a), j = kit_add(rigid, &b);
    /* A PGS box between soft-step ones: a column of three at rest, some 2 cm lower at each
     * contact (gravity comes after the PGS step, and Baumgarte corrects it gradually). */
    u32 top = 0;
    for (u32 k = 0; k < 3; k++) {
        BodyDef def = box(vec3(10.0f, 0.5f + (f32)k, 0.0f));
        def.pgs = k == 1;
        top = kit_add(rigid, &def);
    }
    kit_run(rigid, 4.0f);
    assert_float_equal(rigid_velocity(rigid, i).x, 1.5f, 0.01f);
    assert_float_equal(rigid_velocity(rigid, j).x, 3.0f, 0.01f);
    Vec3 p = rigid_position(rigid, top);
    printf("top of the column at %.4f %.4f %.4f\n", (double)p.x, (double)p.y, (double)p.z);
    assert_float_equal(p.y, 2.5f, 0.06f);
    assert_float_equal(p.x, 10.0f, 0.02f);
    rigid_destroy(rigid);
}

/* A PGS joint reports its force, and breaks by it. */
static void plain_joints_bear_and_break(void **unused)
{
    PL_UNUSED(unused);
    Rigid *rigid = mixed_world(RIGID_IMPULSES);
    u32 slots[3];
    JointId top = {0, 0};
    for (u32 i = 0; i < 3; i++) {
        BodyDef link = kit_ball(vec3(0.0f, 9.0f - (f32)i, 0.0f), 0.2f);
        link.mass_kg = 4.0f;
        slots[i] = kit_add(rigid, &link);
        JointId id =
            hang(rigid, i > 0 ? slots[i - 1] : 0, slots[i], vec3(0.0f, 9.5f - (f32)i, 0.0f));
        top = i == 0 ? id : top;
    }
    kit_run(rigid, 2.0f);
    f32 pull = vec3_length(rigid_joint_force(rigid, top.slot));
    printf("three links of 4 kg pull with %.2f N (%.2f)\n", (double)pull, (double)(12.0f * G));
    assert_float_equal(pull, 12.0f * G, 0.01f * 12.0f * G);
    assert_float_equal(rigid_position(rigid, slots[2]).y, 7.0f, 0.02f);
    JointDef weak = *rigid_joint_def(rigid, top.slot);
    rigid_joint_remove(rigid, top);
    weak.break_force = 10.0f * G;
    rigid_joint_add(rigid, &weak);
    kit_run(rigid, 3.0f);
    assert_true(rigid_position(rigid, slots[0]).y < 3.0f);
    rigid_destroy(rigid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_sides_are_a_rounder_cone),
        cmocka_unit_test(short_stacks_stand),
        cmocka_unit_test(collisions_keep_momentum_and_obey_e),
        cmocka_unit_test(rolling_friction_slows_a_ball),
        cmocka_unit_test(methods_go_side_by_side),
        cmocka_unit_test(images_know_the_method),
        cmocka_unit_test(methods_push_each_other),
        cmocka_unit_test(plain_joints_bear_and_break),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
