/* test_method.c: every method with every kind of constraint, with bodies, and with hostile hands.
 */
#include "shared/random.h"
#include "tests/support/soft_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static SoftDef rope_def(SoftMethod method, SoftPin *pins, u32 pin_count)
{
    SoftDef def = soft_def_default();
    def.method = method;
    def.iterations = 50;
    def.mass_kg = 0.5f;
    def.stretch_compliance = 1e-6f;
    def.bend = SOFT_BEND_NONE;
    def.thickness = 0.005f;
    def.damping = 0.5f;
    def.pins = pins;
    def.pin_count = pin_count;
    return def;
}

static SoftRange add_rope(SoftKit *kit, SoftDef *def, u32 points, f32 length)
{
    SoftMesh mesh;
    ErrorText error;
    assert_int_equal(soft_mesh_rope(&mesh, points, length, &error), 0);
    return soft_kit_add(kit, def, &mesh);
}

/* A box of 5 kg on a rope from a fixed box hangs where the rope's length says,
 * hardly bobbing. */
static void box_hangs_on_rope(void **unused)
{
    PL_UNUSED(unused);
    for (u32 method = 0; method < SOFT_METHOD_COUNT; method++) {
        SoftKit kit = soft_kit_create(vec3(0.0f, -9.81f, 0.0f));
        Shape cube = {.kind = SHAPE_BOX, .half = {0.1f, 0.1f, 0.1f}};
        BodyId fixed = soft_kit_add_body(&kit, cube, BODY_STATIC, 0.0f, vec3(0, 3, 0), vec3_zero());
        BodyId hung = soft_kit_add_body(&kit, cube, BODY_DYNAMIC, 5.0f, vec3(0, 2, 0), vec3_zero());
        SoftPin pins[2] = {{0, fixed}, {10, hung}};
        SoftDef def = rope_def((SoftMethod)method, pins, 2);
        def.position = vec3(0.0f, 3.0f, 0.0f);
        def.orientation = (Quat){0.70710678f, 0.0f, 0.0f, -0.70710678f};
        def.mask = 1u << 5; /* touches nothing: it begins and ends inside of boxes */
        SoftRange range = add_rope(&kit, &def, 11, 1.0f);
        soft_kit_ticks(&kit, 240);
        f32 top = vec3_distance(soft_position(kit.soft, range.first), vec3(0, 3, 0));
        f32 down = 3.0f - rigid_centre(kit.rigid, hung.slot).y;
        f32 speed = vec3_length(rigid_velocity(kit.rigid, hung.slot));
        printf("method %u: slipped %.2f mm, hangs %.4f m down, %.4f m/s\n", method,
               1e3 * (double)top, (double)down, (double)speed);
        assert_true(top < 2e-3f);
        assert_true(down > 0.99f && down < 1.25f);
        assert_true(speed < 0.5f);
        soft_kit_destroy(&kit);
    }
}

/* A rope flies at 3 m/s and pulls the box of 2 kg at its end along: momentum is passed on. */
static void towed_box_takes_momentum(void **unused)
{
    PL_UNUSED(unused);
    for (u32 method = 0; method < SOFT_METHOD_COUNT; method++) {
        SoftKit kit = soft_kit_create(vec3_zero());
        Shape ball = {.kind = SHAPE_SPHERE, .radius = 0.1f};
        BodyId box = soft_kit_add_body(&kit, ball, BODY_DYNAMIC, 2.0f, vec3_zero(), vec3_zero());
        SoftPin pin = {0, box};
        SoftDef def = rope_def((SoftMethod)method, &pin, 1);
        def.damping = 0.0f;
        def.mask = 1u << 5;
        def.velocity = vec3(3.0f, 0.7f, 0.0f);
        SoftRange range = add_rope(&kit, &def, 11, 1.0f);
        f64 before[3], after[3];
        soft_kit_momentum(&kit, before);
        soft_kit_ticks(&kit, 60);
        soft_kit_momentum(&kit, after);
        f64 drift = soft_kit_drift(before, after, 1.5);
        f32 speed = rigid_velocity(kit.rigid, box.slot).x;
        printf("method %u: momentum changes by %.1e, the box moves at %.3f m/s\n", method, drift,
               (double)speed);
        assert_true(drift < 0.01);
        assert_true(speed > 0.2f && speed < 1.5f);
        assert_true(isfinite(soft_position(kit.soft, range.first).x));
        soft_kit_destroy(&kit);
    }
}

/* ---- anything at all ---- */

static f32 pick(u32 seed, u32 k, f32 low, f32 high)
{
    return random_range(seed, k, low, high);
}

static SoftDef any_def(u32 seed)
{
    static const f32 compliances[] = {0.0f, 1e-9f, 1e-6f, 1e-3f, 1.0f};
    SoftDef def = soft_def_default();
    def.method = (SoftMethod)(seed % SOFT_METHOD_COUNT);
    def.iterations = 1 + (u32)pick(seed, 1, 0, 20);
    def.stiffness = pick(seed, 2, 0, 1);
    def.stretch_compliance = compliances[(u32)pick(seed, 3, 0, 5)];
    def.shear_compliance = compliances[(u32)pick(seed, 4, 0, 5)];
    def.bend = (SoftBend)(u32)pick(seed, 5, 0, 4);
    def.bend_compliance = compliances[(u32)pick(seed, 6, 0, 5)];
    def.area_compliance = pick(seed, 7, 0, 1) < 0.5f ? -1.0f : compliances[2];
    def.mass_kg = pick(seed, 8, 0.05f, 20.0f);
    def.damping = pick(seed, 9, 0, 2);
    def.smoothing = pick(seed, 10, 0, 1) < 0.5f ? 0.0f : 10.0f;
    def.spring_damping = pick(seed, 11, 0, 1) < 0.5f ? -1.0f : pick(seed, 12, 0, 1e-3f);
    def.position = vec3(0.0f, 1.0f, 0.0f);
    return def;
}

static void any_mesh(SoftMesh *mesh, SoftDef *def, u32 seed)
{
    ErrorText error;
    const u32 cells[3] = {3, 2, 2};
    int result;
    switch (seed / SOFT_METHOD_COUNT % 3) {
    case 0:
        result = soft_mesh_grid(mesh, 8, 8, 1.0f, 1.0f, &error);
        break;
    case 1:
        result = soft_mesh_sphere(mesh, 0.4f, 1, &error);
        def->pressure = pick(seed, 13, 0, 2000);
        break;
    default:
        result = soft_mesh_box(mesh, vec3(0.6f, 0.4f, 0.4f), cells, true, &error);
        def->bend = SOFT_BEND_NONE;
        def->area_compliance = -1.0f;
        if (seed % 2 == 0) {
            def->stretch_compliance = -1.0f;
            def->young = pick(seed, 14, 1e3f, 1e6f);
            def->poisson = 0.4f;
        } else {
            def->volume_compliance = 1e-9f;
        }
        break;
    }
    assert_int_equal(result, 0);
}

static void nothing_blows_up(void **unused)
{
    PL_UNUSED(unused);
    for (u32 seed = 0; seed < 3 * 3 * SOFT_METHOD_COUNT; seed++) {
        SoftKit kit = soft_kit_create(vec3(0.0f, -9.81f, 0.0f));
        Shape ground = {.kind = SHAPE_BOX, .half = {20.0f, 0.5f, 20.0f}};
        soft_kit_add_body(&kit, ground, BODY_STATIC, 0.0f, vec3(0, -0.5f, 0), vec3_zero());
        SoftDef def = any_def(seed);
        SoftMesh mesh;
        any_mesh(&mesh, &def, seed);
        SoftRange range = soft_kit_add(&kit, &def, &mesh);
        SoftGrip grip = {.stiffness = 1e6f, .damping = 10.0f, .force_max = 1e4f};
        i32 hand = -1;
        for (u32 t = 0; t < 150; t++) {
            if (t % 10 == 0 && t < 60) {
                if (hand >= 0) {
                    soft_grip_remove(kit.soft, (u32)hand);
                }
                grip.particle = range.first + (u32)pick(seed, 100 + t, 0, (f32)range.count);
                grip.target = vec3(pick(seed, 200 + t, -5, 5), pick(seed, 300 + t, -5, 5), 1.0f);
                hand = soft_grip_add(kit.soft, &grip);
                soft_set_wind(kit.soft, vec3(pick(seed, 400 + t, -50, 50), 0, 0), 1.2f);
            } else if (t == 60) {
                soft_grip_remove(kit.soft, (u32)hand);
                soft_set_wind(kit.soft, vec3_zero(), 1.2f);
            }
            soft_kit_ticks(&kit, 1);
            for (u32 i = range.first; i < range.first + range.count; i++) {
                assert_true(vec3_length(soft_velocity(kit.soft, i)) < 100.1f);
                assert_true(vec3_is_finite(soft_position(kit.soft, i)));
            }
        }
        /* Left alone for 1.5 s it is in one piece. */
        Vec3 middle = soft_kit_mean_position(&kit, range);
        f32 far = 0.0f, fast = 0.0f;
        for (u32 i = range.first; i < range.first + range.count; i++) {
            far = f32_max(far, vec3_distance(soft_position(kit.soft, i), middle));
            fast = f32_max(fast, vec3_length(soft_velocity(kit.soft, i)));
        }
        printf("seed %2u method %u: reaches %.2f m from its middle, fastest %.2f m/s\n", seed,
               (u32)def.method, (double)far, (double)fast);
        assert_true(far < 2.2f); /* three times as far as any point was */
        soft_kit_destroy(&kit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(box_hangs_on_rope),
        cmocka_unit_test(towed_box_takes_momentum),
        cmocka_unit_test(nothing_blows_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
