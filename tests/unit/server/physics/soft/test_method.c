/*
 * test_method.c: every method with every kind of constraint, with bodies, and with hostile grabs.
 */
#include "shared/math/random.h"
#include "tests/support/soft_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/near.h"

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

/* Expected elongation of ten links of a rope of 0.5 kg with 5 kg below them. XPBD: tension T
 * times compliance. Explicit springs: at most the stiffness m / 2 h² each by Verlet, 5/8 and 1/2
 * of it by midpoint and Euler (springs.c). Methods with n iterations per tick of h: at rest each
 * Gauss–Seidel iteration gives T h² / n to each link; it satisfies the link above, and stretches
 * it by that over the mass of their common point. The last link has none after it. */
static f64 expected_stretch(const SoftDef *def)
{
    f64 point = 0.05, tensions = 0.0, h = 1.0 / (60.0 * SOFT_KIT_SUBSTEPS * 3.0);
    bool iterates =
        def->method == SOFT_XPBD_ITERATIONS || def->method == SOFT_PBD || def->method == SOFT_RELAX;
    for (u32 link = iterates ? 1 : 0; link < 10; link++) { /* of link 1: its effect on link 0 */
        tensions += 9.81 * (5.0 + point * (9.5 - link));
    }
    if (iterates) {
        f64 own =
            def->method == SOFT_XPBD_ITERATIONS ? tensions * (f64)def->stretch_compliance : 0.0;
        return tensions / (3600.0 * def->iterations * point) + own;
    }
    bool explicit = def->method != SOFT_XPBD;
    f64 softest = def->method == SOFT_EULER ? 4.0 : def->method == SOFT_MIDPOINT ? 3.2 : 2.0;
    return tensions * (explicit ? softest * h * h / point : (f64)def->stretch_compliance);
}

typedef struct Hanging {
    f64 slipped, stretch, swing; /* m: largest at the upper end; mean and half the range of the
                                    last two seconds */
} Hanging;

/* A box of 5 kg on a rope of 1 m from a fixed box, released at its rest length. */
static Hanging hang(SoftDef *def, SoftPin pins[2])
{
    SoftKit kit = soft_kit_create(vec3(0.0f, -9.81f, 0.0f));
    Shape cube = {.kind = SHAPE_BOX, .half = {0.1f, 0.1f, 0.1f}};
    BodyId fixed = soft_kit_add_body(&kit, cube, BODY_STATIC, 0.0f, vec3(0, 3, 0), vec3_zero());
    BodyId hung = soft_kit_add_body(&kit, cube, BODY_DYNAMIC, 5.0f, vec3(0, 2, 0), vec3_zero());
    pins[0] = (SoftPin){0, fixed};
    pins[1] = (SoftPin){10, hung};
    def->position = vec3(0.0f, 3.0f, 0.0f);
    def->orientation = (Quat){0.70710678f, 0.0f, 0.0f, -0.70710678f};
    def->mask = 1u << 5; /* collides with nothing: it starts and ends inside boxes */
    SoftRange range = add_rope(&kit, def, 11, 1.0f);
    Hanging h = {0};
    f64 least = INFINITY, most = -INFINITY;
    for (u32 t = 0; t < 360; t++) {
        soft_kit_ticks(&kit, 1);
        f64 slipped = (f64)vec3_distance(soft_position(kit.soft, range.first), vec3(0, 3, 0));
        f64 stretch = 2.0 - (f64)rigid_centre(kit.rigid, hung.slot).y;
        h.slipped = fmax(h.slipped, slipped);
        if (t >= 240) {
            h.stretch += stretch / 120.0;
            least = fmin(least, stretch);
            most = fmax(most, stretch);
        }
    }
    h.swing = (most - least) / 2.0;
    soft_kit_destroy(&kit);
    return h;
}

static void box_hangs_on_rope(void **unused)
{
    PL_UNUSED(unused);
    for (u32 method = 0; method < SOFT_METHOD_COUNT; method++) {
        SoftPin pins[2];
        SoftDef def = rope_def((SoftMethod)method, pins, 2);
        char what[40];
        Hanging h = hang(&def, pins);
        f64 expected = expected_stretch(&def);
        printf("method %u: slipped %.3f mm, stretched by %.3f mm of %.3f, swings by %.3f mm\n",
               method, 1e3 * h.slipped, 1e3 * h.stretch, 1e3 * expected, 1e3 * h.swing);
        /* Explicit springs still oscillate, as their own damping is the least that is stable:
         * less than they fell. The relaxation steps are shorter for larger errors of a stick. */
        bool springs =
            def.method == SOFT_EULER || def.method == SOFT_MIDPOINT || def.method == SOFT_VERLET;
        f64 share = springs ? 0.1 : def.method == SOFT_RELAX ? 0.12 : 0.02;
        snprintf(what, sizeof what, "method %u: stretch in m", method);
        expect_near(what, h.stretch, expected, share * expected);
        snprintf(what, sizeof what, "method %u: swing in m", method);
        expect_at_most(what, h.swing, springs ? 0.7 * expected : 1e-4);
        snprintf(what, sizeof what, "method %u: slip in m", method);
        expect_at_most(what, h.slipped, 1e-4);
    }
}

/* A rope flies at 3 m/s and pulls the box of 2 kg at its end along: momentum is conserved. */
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
        /* Together they would move at 1.5 N s / 2.5 kg = 0.6 m/s; the rope still swings. */
        char what[40];
        snprintf(what, sizeof what, "method %u: change of momentum", method);
        expect_at_most(what, drift, 1e-5);
        snprintf(what, sizeof what, "method %u: speed of the box in m/s", method);
        expect_within(what, (f64)speed, 0.35, 0.75);
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

/* J, kinetic and potential. */
static f64 energy_of(const SoftKit *kit, SoftRange range)
{
    f64 sum = 0.0;
    for (u32 i = range.first; i < range.first + range.count; i++) {
        f64 mass = 1.0 / (f64)soft_inverse_mass(kit->soft, i);
        sum += mass * (0.5 * (f64)vec3_length_squared(soft_velocity(kit->soft, i)) +
                       9.81 * (f64)soft_position(kit->soft, i).y);
    }
    return sum;
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
        SoftGrab grab = {.stiffness = 1e6f, .damping = 10.0f, .force_max = 1e4f};
        i32 hand = -1;
        f64 given = 0.0, last = 0.0; /* largest energy just after release, and at the end */
        for (u32 t = 0; t < 150; t++) {
            if (t % 10 == 0 && t < 60) {
                if (hand >= 0) {
                    soft_grab_remove(kit.soft, (u32)hand);
                }
                grab.particle = range.first + (u32)pick(seed, 100 + t, 0, (f32)range.count);
                grab.target = vec3(pick(seed, 200 + t, -5, 5), pick(seed, 300 + t, -5, 5), 1.0f);
                hand = soft_grab_add(kit.soft, &grab);
                soft_set_wind(kit.soft, vec3(pick(seed, 400 + t, -50, 50), 0, 0), 1.2f);
            } else if (t == 60) {
                soft_grab_remove(kit.soft, (u32)hand);
                soft_set_wind(kit.soft, vec3_zero(), 1.2f);
            }
            soft_kit_ticks(&kit, 1);
            for (u32 i = range.first; i < range.first + range.count; i++) {
                assert_true(vec3_length(soft_velocity(kit.soft, i)) < 100.1f);
                assert_true(vec3_is_finite(soft_position(kit.soft, i)));
            }
            f64 *most = t < 75 ? &given : &last;
            *most = t >= 60 ? fmax(*most, energy_of(&kit, range)) : 0.0;
        }
        /* Left alone for 1.5 s it is intact. */
        Vec3 middle = soft_kit_mean_position(&kit, range);
        f32 far = 0.0f, fast = 0.0f;
        for (u32 i = range.first; i < range.first + range.count; i++) {
            far = f32_max(far, vec3_distance(soft_position(kit.soft, i), middle));
            fast = f32_max(fast, vec3_length(soft_velocity(kit.soft, i)));
        }
        printf("seed %2u method %u: reaches %.2f m from its middle, fastest %.2f m/s, %.3g J of "
               "%.3g\n",
               seed, (u32)def.method, (double)far, (double)fast, last, given);
        assert_true(far < 2.2f); /* three times the largest distance of any point */
        /* Strain energy at release adds to the kinetic energy. */
        expect_at_most("energy in J, 1.5 s after it was let go", last, 2.0 * given);
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
