/* test_contact.c: soft bodies against rigid ones: small or fast bodies do not pass between
 * particles, static and kinetic friction, soft contacts, groups, sleep. */
#include "tests/support/soft_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const Vec3 gravity = {0.0f, -9.81f, 0.0f};
/* Rotates a grid from the x–y plane to x–z. */
static const Quat flat = {0.70710678f, -0.70710678f, 0.0f, 0.0f};

/* A sheet of 4 × 4 cells of 25 cm, held at its four corners, 1 m up, centred over 0, 0. */
static SoftRange add_coarse(SoftKit *kit)
{
    static const SoftPin pins[4] = {{.point = 0}, {.point = 4}, {.point = 20}, {.point = 24}};
    SoftDef def = soft_kit_cloth_def();
    def.position = vec3(-0.5f, 1.0f, 0.5f);
    def.orientation = flat;
    def.damping = 0.5f;
    def.pins = pins;
    def.pin_count = 4;
    return soft_kit_add_cloth(kit, &def, 5, 5, 1.0f, 1.0f);
}

static void small_bodies_stay_on_coarse_cloth(void **unused)
{
    PL_UNUSED(unused);
    Shape shapes[] = {{.kind = SHAPE_SPHERE, .radius = 0.05f},
                      {.kind = SHAPE_BOX, .half = {0.05f, 0.04f, 0.03f}},
                      {.kind = SHAPE_CAPSULE, .radius = 0.03f, .half_height = 0.03f},
                      {.kind = SHAPE_CYLINDER, .radius = 0.04f, .half_height = 0.04f}};
    for (u32 k = 0; k < PL_COUNT(shapes); k++) {
        SoftKit kit = soft_kit_create(gravity);
        add_coarse(&kit);
        /* Above the middle of a cell, far from every particle. */
        BodyId id = soft_kit_add_body(&kit, shapes[k], BODY_DYNAMIC, 0.05f,
                                      vec3(-0.125f, 1.3f, -0.125f), vec3_zero());
        soft_kit_ticks(&kit, 120);
        Vec3 at = rigid_position(kit.rigid, id.slot);
        printf("%s: at %.3f %.3f %.3f after 2 s\n", shape_kind_name(shapes[k].kind), (double)at.x,
               (double)at.y, (double)at.z);
        assert_true(at.y > 0.7f && fabsf(at.x) < 0.6f && fabsf(at.z) < 0.6f);
        soft_kit_destroy(&kit);
    }
}

static void fast_balls_do_not_pass_cloth(void **unused)
{
    PL_UNUSED(unused);
    static const f32 radii[] = {0.1f, 0.05f};
    for (u32 k = 0; k < PL_COUNT(radii); k++) {
        SoftKit kit = soft_kit_create(vec3_zero());
        SoftDef def = soft_kit_cloth_def();
        def.position = vec3(-0.5f, -0.5f, 0.0f);
        SoftRange range = soft_kit_add_cloth(&kit, &def, 41, 41, 1.0f, 1.0f);
        Shape ball = {.kind = SHAPE_SPHERE, .radius = radii[k]};
        BodyId id = soft_kit_add_body(&kit, ball, BODY_DYNAMIC, 0.1f, vec3(0.012f, 0.007f, -1.0f),
                                      vec3(0.0f, 0.0f, 20.0f));
        f64 before[3], after[3];
        soft_kit_momentum(&kit, before);
        soft_kit_ticks(&kit, 15);
        soft_kit_momentum(&kit, after);
        /* The cloth is in front: the particle nearest to its path lies ahead. */
        Vec3 at = rigid_position(kit.rigid, id.slot);
        f32 ahead = -INFINITY;
        for (u32 i = range.first; i < range.first + range.count; i++) {
            Vec3 p = soft_position(kit.soft, i);
            f32 across = sqrtf((p.x - at.x) * (p.x - at.x) + (p.y - at.y) * (p.y - at.y));
            ahead = across < 0.025f + 0.5f * radii[k] ? f32_max(ahead, p.z - at.z) : ahead;
        }
        f64 change = soft_kit_drift(before, after, 2.0);
        printf("ball of %.0f mm at 20 m/s: now %.1f m/s, cloth %.1f mm ahead of its middle, "
               "momentum changed by %.1e\n",
               (double)(1e3f * radii[k]), (double)rigid_velocity(kit.rigid, id.slot).z,
               (double)(1e3f * ahead), change);
        assert_true(ahead > 0.0f);
        assert_true(rigid_velocity(kit.rigid, id.slot).z < 19.0f);
        assert_true(change < 2e-5);
        soft_kit_destroy(&kit);
    }
}

/* Three parallel ropes, 20 cm apart, hold a ball of 30 cm whose centre is between particles. */
static void ropes_hold_a_ball(void **unused)
{
    PL_UNUSED(unused);
    SoftKit kit = soft_kit_create(gravity);
    for (u32 k = 0; k < 2; k++) {
        SoftMesh mesh;
        ErrorText error;
        assert_int_equal(soft_mesh_rope(&mesh, 6, 2.0f, &error), 0);
        SoftPin pins[2] = {{.point = 0}, {.point = 5}};
        SoftDef def = soft_kit_cloth_def();
        def.mass_kg = 0.5f;
        def.position = vec3(-1.0f, 1.0f, k == 0 ? -0.08f : 0.08f);
        def.damping = 0.5f;
        def.pins = pins;
        def.pin_count = 2;
        soft_kit_add(&kit, &def, &mesh);
    }
    Shape ball = {.kind = SHAPE_SPHERE, .radius = 0.15f};
    BodyId id =
        soft_kit_add_body(&kit, ball, BODY_DYNAMIC, 0.2f, vec3(0.0f, 1.3f, 0.0f), vec3_zero());
    soft_kit_ticks(&kit, 60);
    Vec3 at = rigid_position(kit.rigid, id.slot);
    printf("ball on two ropes: at %.3f %.3f %.3f\n", (double)at.x, (double)at.y, (double)at.z);
    assert_true(at.y > 0.9f);
    soft_kit_destroy(&kit);
}

/* On a plane of 20°, tan = 0.364: kinetic friction of 0.2 lets it slide, static friction of 0.6
 * holds it at rest. */
static void static_friction_holds_what_kinetic_would_not(void **unused)
{
    PL_UNUSED(unused);
    f32 slid[2];
    for (u32 k = 0; k < 2; k++) {
        SoftKit kit = soft_kit_create(vec3(9.81f * 0.34202014f, -9.81f * 0.93969262f, 0.0f));
        BodyDef floor = body_def_default();
        floor.shape.kind = SHAPE_PLANE;
        floor.motion = BODY_STATIC;
        floor.friction = 1.0f;
        rigid_add(kit.rigid, &floor);
        SoftDef def = soft_kit_cloth_def();
        def.position = vec3(0.0f, 0.02f, 0.0f);
        def.orientation = flat;
        def.friction = 0.04f; /* with the floor's: sqrt(0.04 × 1) = 0.2 */
        def.static_friction = k == 0 ? 0.0f : 0.36f;
        SoftRange range = soft_kit_add_cloth(&kit, &def, 11, 11, 0.5f, 0.5f);
        f32 start = soft_kit_mean_position(&kit, range).x;
        soft_kit_ticks(&kit, 60);
        slid[k] = soft_kit_mean_position(&kit, range).x - start;
        soft_kit_destroy(&kit);
    }
    f32 expected = 0.5f * 9.81f * (0.34202014f - 0.2f * 0.93969262f);
    printf("mu 0.2 slides %.3f m, expected %.3f; with static 0.6: %.5f m\n", (double)slid[0],
           (double)expected, (double)slid[1]);
    assert_float_equal(slid[0], expected, 0.02f * expected);
    assert_true(fabsf(slid[1]) < 1e-3f);
}

/* A sheet on springs of k at each particle sinks by m g / k. */
static void soft_contacts_sink_as_springs_do(void **unused)
{
    PL_UNUSED(unused);
    SoftKit kit = soft_kit_create(gravity);
    BodyDef floor = body_def_default();
    floor.shape.kind = SHAPE_PLANE;
    floor.motion = BODY_STATIC;
    rigid_add(kit.rigid, &floor);
    SoftDef def = soft_kit_cloth_def();
    def.position = vec3(0.0f, 0.02f, 0.0f);
    def.orientation = flat;
    def.damping = 5.0f;
    def.mass_kg = 1.0f;
    def.contact_stiffness = 20.0f;
    SoftRange range = soft_kit_add_cloth(&kit, &def, 11, 11, 0.5f, 0.5f);
    soft_kit_ticks(&kit, 180);
    f32 sunk = 0.02f - soft_position(kit.soft, range.first + 60).y;
    f32 expected = 9.81f / (100.0f * 20.0f); /* 100 cells */
    printf("sunk %.5f m, expected %.5f\n", (double)sunk, (double)expected);
    assert_float_equal(sunk, expected, 0.05f * expected);
    soft_kit_destroy(&kit);
}

static void groups_and_sensors_do_not_touch(void **unused)
{
    PL_UNUSED(unused);
    for (u32 k = 0; k < 3; k++) {
        SoftKit kit = soft_kit_create(gravity);
        BodyDef floor = body_def_default();
        floor.shape.kind = SHAPE_PLANE;
        floor.motion = BODY_STATIC;
        floor.sensor = k == 1;
        floor.group = 4;
        rigid_add(kit.rigid, &floor);
        SoftDef def = soft_kit_cloth_def();
        def.position = vec3(0.0f, 0.1f, 0.0f);
        def.orientation = flat;
        def.mask = k == 2 ? 3 : 0;
        SoftRange range = soft_kit_add_cloth(&kit, &def, 5, 5, 0.5f, 0.5f);
        soft_kit_ticks(&kit, 60);
        f32 y = soft_kit_mean_position(&kit, range).y;
        assert_true(k == 0 ? y > 0.0f : y < -1.0f);
        soft_kit_destroy(&kit);
    }
}

/* A cloth at rest on a sleeping box does not wake it. */
static void cloth_lets_bodies_sleep(void **unused)
{
    PL_UNUSED(unused);
    SoftKit kit = soft_kit_create(gravity);
    BodyDef floor = body_def_default();
    floor.shape.kind = SHAPE_PLANE;
    floor.motion = BODY_STATIC;
    rigid_add(kit.rigid, &floor);
    Shape box = {.kind = SHAPE_BOX, .half = {0.3f, 0.2f, 0.3f}};
    BodyId id =
        soft_kit_add_body(&kit, box, BODY_DYNAMIC, 20.0f, vec3(0.0f, 0.2f, 0.0f), vec3_zero());
    SoftDef def = soft_kit_cloth_def();
    def.position = vec3(-0.4f, 0.45f, 0.4f);
    def.orientation = flat;
    def.damping = 1.0f;
    soft_kit_add_cloth(&kit, &def, 17, 17, 0.8f, 0.8f);
    soft_kit_ticks(&kit, 240);
    u32 awake = 0;
    for (u32 i = 0; i < 60; i++) {
        soft_kit_ticks(&kit, 1);
        awake += rigid_awake(kit.rigid, id.slot);
    }
    printf("box under cloth: awake in %u of 60 ticks\n", awake);
    assert_int_equal(awake, 0);
    soft_kit_destroy(&kit);
}

static f32 fastest(const SoftKit *kit, SoftRange range)
{
    f32 most = 0.0f;
    for (u32 i = range.first; i < range.first + range.count; i++) {
        most = f32_max(most, vec3_length(soft_velocity(kit->soft, i)));
    }
    return most;
}

/* A cloth pinned along the axis of its rail, and a ball on a rope pinned at its centre: contact
 * does not work against the pins, but the rest of the cloth cannot get in. */
static void what_grows_out_of_a_body_rests(void **unused)
{
    PL_UNUSED(unused);
    SoftKit kit = soft_kit_create(vec3(0.0f, -9.81f, 0.0f));
    BodyDef rail = body_def_default();
    rail.shape = (Shape){.kind = SHAPE_CAPSULE, .radius = 0.1f, .half_height = 0.7f};
    rail.motion = BODY_STATIC;
    rail.orientation = (Quat){0.70710678f, 0.0f, 0.0f, 0.70710678f}; /* along x */
    assert_int_not_equal(rigid_add(kit.rigid, &rail).generation, 0);
    SoftDef def = soft_kit_cloth_def();
    SoftPin pins[11];
    memset(pins, 0, sizeof pins);
    for (u32 i = 0; i < 11; i++) {
        pins[i].point = 110 + i; /* the top row */
    }
    def.position = vec3(-0.5f, -1.0f, 0.0f);
    def.damping = 1.0f;
    def.pins = pins;
    def.pin_count = 11;
    SoftRange cloth = soft_kit_add_cloth(&kit, &def, 11, 11, 1.0f, 1.0f);
    Shape ball = {.kind = SHAPE_SPHERE, .radius = 0.15f};
    BodyId id =
        soft_kit_add_body(&kit, ball, BODY_DYNAMIC, 2.0f, vec3(3.0f, -1.0f, 0.0f), vec3_zero());
    SoftPin ends[2] = {{.point = 0}, {.point = 20, .body = id}};
    SoftMesh mesh;
    ErrorText error;
    assert_int_equal(soft_mesh_rope(&mesh, 21, 1.0f, &error), 0);
    def = soft_kit_cloth_def();
    def.position = vec3(3.0f, 0.0f, 0.0f);
    def.orientation = (Quat){0.70710678f, 0.0f, 0.0f, -0.70710678f}; /* down */
    def.mass_kg = 0.1f;
    def.damping = 1.0f;
    def.pins = ends;
    def.pin_count = 2;
    SoftRange rope = soft_kit_add(&kit, &def, &mesh);
    soft_kit_ticks(&kit, 240);
    f32 speed = fastest(&kit, cloth);
    f32 strains[2] = {soft_strain(kit.soft, cloth.body), soft_strain(kit.soft, rope.body)};
    f32 hangs = rigid_position(kit.rigid, id.slot).y;
    printf("pinned inside: cloth at %.5f m/s, its strain %.4f, of the rope %.4f, ball at "
           "%.4f m\n",
           (double)speed, (double)strains[0], (double)strains[1], (double)hangs);
    assert_true(speed < 0.01f);
    assert_true(strains[0] < 0.05f && strains[1] < 0.05f);
    assert_float_equal(hangs, -1.0f, 0.03f);
    /* An impact from the front pushes the cloth against the rail, and no further. */
    for (u32 i = 0; i < 60; i++) {
        soft_impulse(kit.soft, cloth.first + 5, vec3(0.0f, 0.01f, -0.02f));
        soft_kit_ticks(&kit, 1);
    }
    f32 deepest = INFINITY;
    for (u32 i = cloth.first; i < cloth.first + 77; i++) { /* points 0.4 m below or lower */
        Vec3 at = soft_position(kit.soft, i);
        deepest = f32_min(deepest, sqrtf(at.y * at.y + at.z * at.z));
    }
    assert_true(deepest > 0.1f);
    soft_kit_destroy(&kit);
}

/* A heavy ball on a light rope: its energy never exceeds the initial energy. */
static void what_hangs_swings_down(void **unused)
{
    PL_UNUSED(unused);
    SoftKit kit = soft_kit_create(vec3(0.0f, -9.81f, 0.0f));
    Shape ball = {.kind = SHAPE_SPHERE, .radius = 0.1f};
    BodyId id =
        soft_kit_add_body(&kit, ball, BODY_DYNAMIC, 2.0f, vec3(0.0f, -1.1f, 0.0f), vec3_zero());
    SoftPin ends[2] = {{.point = 0}, {.point = 20, .body = id}};
    SoftDef def = soft_kit_cloth_def();
    SoftMesh mesh;
    ErrorText error;
    assert_int_equal(soft_mesh_rope(&mesh, 21, 1.0f, &error), 0);
    def.orientation = (Quat){0.70710678f, 0.0f, 0.0f, -0.70710678f}; /* down */
    def.stretch_compliance = 1e-4f;
    def.bend = SOFT_BEND_NONE;
    def.mass_kg = 0.1f;
    def.damping = 0.0f;
    def.pins = ends;
    def.pin_count = 2;
    soft_kit_add(&kit, &def, &mesh);
    f32 fast[2] = {0.0f, 0.0f};
    for (u32 i = 0; i < 720; i++) {
        soft_kit_ticks(&kit, 1);
        f32 speed = vec3_length(rigid_velocity(kit.rigid, id.slot));
        fast[i / 360] = f32_max(fast[i / 360], speed);
    }
    printf("ball on a rope: at most %.3f m/s in 6 s, %.3f m/s in the 6 s after\n", (double)fast[0],
           (double)fast[1]);
    assert_true(fast[0] < 1.2f && fast[1] < 0.95f * fast[0]);
    soft_kit_destroy(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_bodies_stay_on_coarse_cloth),
        cmocka_unit_test(fast_balls_do_not_pass_cloth),
        cmocka_unit_test(ropes_hold_a_ball),
        cmocka_unit_test(static_friction_holds_what_kinetic_would_not),
        cmocka_unit_test(soft_contacts_sink_as_springs_do),
        cmocka_unit_test(groups_and_sensors_do_not_touch),
        cmocka_unit_test(cloth_lets_bodies_sleep),
        cmocka_unit_test(what_grows_out_of_a_body_rests),
        cmocka_unit_test(what_hangs_swings_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
