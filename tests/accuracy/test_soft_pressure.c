/* test_soft_pressure.c: gases in soft bodies against Boyle, Laplace and exact volumes. */
#include "tests/support/soft_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const f64 air = 101325.0, pi = 3.14159265358979;

static SoftRange add(SoftKit *kit, SoftDef *def, SoftMesh *mesh)
{
    def->bend = SOFT_BEND_NONE;
    return soft_kit_add(kit, def, mesh);
}

static SoftMesh sphere(f32 radius, u32 level)
{
    SoftMesh mesh;
    ErrorText error;
    if (soft_mesh_sphere(&mesh, radius, level, &error) != 0) {
        fail_msg("%s", error.text);
    }
    return mesh;
}

/* The volumes of a sphere, a torus and a box are known; a box about a sphere has 6 / π of its
 * volume, an ellipsoid in a box π / 6. */
static void volumes_are_exact(void **unused)
{
    PL_UNUSED(unused);
    enum {
        SPHERE,
        TORUS,
        BOX
    };
    static const f64 r = 0.7, tube = 0.25, tolerance[3] = {2.5e-3, 6e-3, 1e-6};
    const f64 exact[3] = {4.0 / 3.0 * pi * r * r * r, 2.0 * pi * pi * r * tube * tube,
                          0.5 * 0.8 * 1.5};
    const f64 box[3] = {8.0 * r * r * r, 4.0 * (r + tube) * (r + tube) * 2.0 * tube, exact[BOX]};
    for (u32 k = 0; k < 3; k++) {
        SoftKit kit = soft_kit_create(vec3_zero());
        SoftMesh mesh;
        ErrorText error;
        const u32 cells[3] = {3, 4, 5};
        int result = k == SPHERE ? soft_mesh_sphere(&mesh, (f32)r, 4, &error)
                     : k == TORUS
                         ? soft_mesh_torus(&mesh, (f32)r, (f32)tube, 96, 48, &error)
                         : soft_mesh_box(&mesh, vec3(0.5f, 0.8f, 1.5f), cells, false, &error);
        assert_int_equal(result, 0);
        SoftDef def = soft_kit_cloth_def();
        def.mass_kg = 1.0f;
        def.position = vec3(50.0f, -30.0f, 20.0f);
        SoftRange range = add(&kit, &def, &mesh);
        f64 gauss = (f64)soft_volume(kit.soft, range.body);
        f64 around = (f64)soft_volume_by(kit.soft, range.body, SOFT_VOLUME_BOX);
        f64 ellipsoid = (f64)soft_volume_by(kit.soft, range.body, SOFT_VOLUME_ELLIPSOID);
        printf("%s: Gauss %.6f of %.6f, box %.6f of %.6f, ellipsoid %.6f\n",
               k == SPHERE  ? "sphere"
               : k == TORUS ? "torus"
                            : "box",
               gauss, exact[k], around, box[k], ellipsoid);
        /* Inscribed triangles enclose slightly less; no precision is lost far from the origin. */
        assert_true(gauss < exact[k] * (1.0 + 1e-5) && gauss > exact[k] * (1.0 - tolerance[k]));
        assert_true(around < box[k] * (1.0 + 1e-5) && around > box[k] * (1.0 - 5e-3));
        assert_true(fabs(ellipsoid / around - pi / 6.0) < 1e-6);
        soft_kit_destroy(&kit);
    }
}

/* P V of the gas, J, from its pressure and the volume of the surface. */
static f64 product(const SoftKit *kit, SoftRange range)
{
    return (air + (f64)soft_pressure(kit->soft, range.body)) *
           (f64)soft_volume(kit->soft, range.body);
}

/* A ball that is thrown, falls, is squeezed by a lid and jumps up again: P V is constant. */
static void product_is_constant(void **unused)
{
    PL_UNUSED(unused);
    static const f32 pressures[] = {500.0f, 2e4f, 1e5f};
    for (u32 k = 0; k < PL_COUNT(pressures); k++) {
        SoftKit kit = soft_kit_create(vec3(0.0f, -9.81f, 0.0f));
        Shape ground = {.kind = SHAPE_BOX, .half = {5.0f, 0.5f, 5.0f}};
        soft_kit_add_body(&kit, ground, BODY_STATIC, 0.0f, vec3(0.0f, -0.5f, 0.0f), vec3_zero());
        soft_kit_add_body(&kit, (Shape){.kind = SHAPE_BOX, .half = {0.5f, 0.05f, 0.5f}},
                          BODY_DYNAMIC, 5.0f, vec3(0.0f, 1.2f, 0.0f), vec3_zero());
        SoftMesh mesh = sphere(0.25f, 3);
        SoftDef def = soft_kit_cloth_def();
        def.position = vec3(0.0f, 0.6f, 0.0f);
        def.velocity = vec3(0.2f, -2.0f, 0.0f);
        def.angular_velocity = vec3(3.0f, 1.0f, 5.0f);
        def.mass_kg = 0.5f;
        def.pressure = pressures[k];
        def.stretch_compliance = 2e-4f * 500.0f / pressures[k];
        SoftRange range = add(&kit, &def, &mesh);
        f64 expected = (air + (f64)pressures[k]) * (f64)soft_volume(kit.soft, range.body);
        f64 start = (f64)soft_volume(kit.soft, range.body);
        f64 worst = 0.0, least = start, most = start;
        for (u32 i = 0; i < 180; i++) {
            soft_kit_ticks(&kit, 1);
            f64 off = fabs(product(&kit, range) / expected - 1.0);
            f64 volume = (f64)soft_volume(kit.soft, range.body);
            worst = off > worst ? off : worst;
            least = volume < least ? volume : least;
            most = volume > most ? volume : most;
        }
        printf("%.0f Pa: P V off by at most %.1e while V goes from %.5f to %.5f m3, in the end "
               "%.0f Pa\n",
               (double)pressures[k], worst, least, most,
               (double)soft_pressure(kit.soft, range.body));
        /* When a lid hits a nearly inextensible skin, the gas cannot know the volume change of
         * that step, which depends on the ball's orientation then. */
        assert_true(worst < (k > 0 ? 4e-3 : 1e-3));
        assert_true(most > least * 1.002); /* otherwise the test is void */
        soft_kit_destroy(&kit);
    }
}

/* A balloon of springs in free space at rest: by the virial theorem 3 P V is the sum of force
 * times length over its springs, which for a soap film is Laplace's P = 2 γ / r. */
static void pressure_balances_tension(void **unused)
{
    PL_UNUSED(unused);
    SoftKit kit = soft_kit_create(vec3_zero());
    SoftMesh mesh = sphere(0.25f, 3), copy = sphere(0.25f, 3);
    SoftDef def = soft_kit_cloth_def();
    def.mass_kg = 5000.0f; /* heavy: an iteration adds compliance, step² over mass */
    def.pressure = 5000.0f;
    def.stretch_compliance = 1e-4f;
    def.damping = 4.0f;
    SoftRange range = add(&kit, &def, &mesh);
    f64 start = (f64)soft_volume(kit.soft, range.body), virial = 0.0;
    soft_kit_ticks(&kit, 400);
    for (u32 i = 0; i < 3 * copy.triangle_count; i++) { /* each edge twice */
        u32 a = copy.triangles[i], b = copy.triangles[i % 3 == 2 ? i - 2 : i + 1];
        Vec3 p = soft_position(kit.soft, a), q = soft_position(kit.soft, b);
        f64 length = (f64)vec3_distance(p, q);
        f64 rest = (f64)vec3_distance(copy.points[a], copy.points[b]);
        virial += 0.5 * (length - rest) / (f64)def.stretch_compliance * length;
    }
    f64 volume = (f64)soft_volume(kit.soft, range.body);
    f64 balance = virial / (3.0 * volume), pressure = (f64)soft_pressure(kit.soft, range.body);
    printf("volume %.5f -> %.5f m3: the springs hold %.2f Pa, the gas has %.2f\n", start, volume,
           balance, pressure);
    assert_true(volume > 1.02 * start);
    assert_true(fabs(pressure / balance - 1.0) < 5e-3);
    soft_mesh_finish(&copy);
    soft_kit_destroy(&kit);
}

/* No external force: momentum is 0, and the centre does not move. */
static void gas_keeps_momentum(void **unused)
{
    PL_UNUSED(unused);
    for (u32 ring = 0; ring < 2; ring++) {
        SoftKit kit = soft_kit_create(vec3_zero());
        SoftDef def = soft_kit_cloth_def();
        SoftMesh mesh = sphere(0.25f, 2);
        SoftStick sticks[24];
        Vec3 points[24];
        SoftMesh hoop = {.points = points, .sticks = sticks, .point_count = 24, .stick_count = 24};
        for (u32 i = 0; i < 24; i++) {
            f64 angle = 2.0 * pi * i / 24.0;
            points[i] = vec3((f32)cos(angle), (f32)sin(angle), 0.3f);
            f32 side = (f32)(2.0 * sin(pi / 24.0));
            sticks[i] = (SoftStick){i, (i + 1) % 24, side, side};
        }
        def.mass_kg = 0.5f;
        def.pressure = 3e4f;
        def.stretch_compliance = 1e-5f;
        def.velocity = vec3(3.0f, 2.0f, 1.0f);
        SoftRange range;
        if (ring) {
            ErrorText error;
            def.mesh = &hoop;
            def.pressure = 30.0f;
            assert_int_equal(soft_add(kit.soft, NULL, &def, &range, &error), 0);
            assert_int_equal(soft_build(kit.soft), 0);
            soft_mesh_finish(&mesh);
        } else {
            range = add(&kit, &def, &mesh);
        }
        f64 scale = 0.0, before[3], after[3];
        for (u32 i = 0; i < range.count; i++) {
            Vec3 kick = vec3(i % 3 == 0 ? 0.05f : 0.0f, i % 5 == 0 ? -0.03f : 0.0f, 0.0f);
            soft_impulse(kit.soft, range.first + i, kick);
            scale += (f64)vec3_length(kick) + (f64)vec3_length(def.velocity) * 0.5 / range.count;
        }
        soft_kit_momentum(&kit, before);
        soft_kit_ticks(&kit, 200);
        soft_kit_momentum(&kit, after);
        f64 change = soft_kit_drift(before, after, scale);
        printf("%s: momentum changed by %.1e in 4800 steps\n", ring ? "ring" : "ball", change);
        assert_true(change < 1e-5);
        soft_kit_destroy(&kit);
    }
}

/* A ring: P A is constant, and 2 T = P d of a long tube's hoop stress, T = P r. */
static void ring_is_a_tube(void **unused)
{
    PL_UNUSED(unused);
    enum {
        POINTS = 64
    };
    SoftKit kit = soft_kit_create(vec3_zero());
    SoftStick sticks[POINTS];
    Vec3 points[POINTS];
    f32 side = (f32)(2.0 * 0.5 * sin(pi / POINTS));
    for (u32 i = 0; i < POINTS; i++) {
        f64 angle = 2.0 * pi * i / POINTS;
        points[i] = vec3((f32)(0.5 * cos(angle)), (f32)(0.5 * sin(angle)), 0.0f);
        sticks[i] = (SoftStick){i, (i + 1) % POINTS, side, side};
    }
    SoftMesh mesh = {.points = points, .sticks = sticks, .point_count = POINTS};
    mesh.stick_count = POINTS;
    SoftDef def = soft_kit_cloth_def();
    def.mesh = &mesh;
    def.mass_kg = 5000.0f;
    def.pressure = 1000.0f;
    def.stretch_compliance = 1e-5f;
    def.damping = 4.0f;
    SoftRange range;
    ErrorText error;
    assert_int_equal(soft_add(kit.soft, NULL, &def, &range, &error), 0);
    assert_int_equal(soft_build(kit.soft), 0);
    f64 amount = (air + 1000.0) * (f64)soft_volume(kit.soft, range.body);
    soft_kit_ticks(&kit, 300);
    Vec3 a = soft_position(kit.soft, 0), b = soft_position(kit.soft, 1);
    f64 length = (f64)vec3_distance(a, b), r = length / (2.0 * sin(pi / POINTS));
    f64 tension = (length - (f64)side) / (f64)def.stretch_compliance;
    f64 pressure = (f64)soft_pressure(kit.soft, range.body);
    printf("ring: radius 0.5 -> %.4f m, tension %.2f N, P r %.2f N, P A off by %.1e\n", r, tension,
           pressure * r * cos(pi / POINTS), product(&kit, range) / amount - 1.0);
    assert_true(fabs(tension / (pressure * r * cos(pi / POINTS)) - 1.0) < 3e-3);
    assert_true(fabs(product(&kit, range) / amount - 1.0) < 1e-3);
    soft_kit_destroy(&kit);
}

/* Half the time, half the gas. */
static void inflates_over_the_given_time(void **unused)
{
    PL_UNUSED(unused);
    SoftKit kit = soft_kit_create(vec3_zero());
    SoftMesh mesh = sphere(0.25f, 2);
    SoftDef def = soft_kit_cloth_def();
    def.mass_kg = 0.2f;
    def.pressure = 4e4f;
    def.inflate_s = 2.0f;
    def.stretch_compliance = 1e-3f;
    def.damping = 5.0f;
    SoftRange range = add(&kit, &def, &mesh);
    f64 rest = (f64)soft_volume(kit.soft, range.body);
    for (u32 second = 1; second <= 4; second++) {
        soft_kit_ticks(&kit, 60);
        f64 share = second < 2 ? 0.5 : 1.0;
        f64 expected = (air + share * 4e4) * rest;
        printf("%u s: P V %.1f J, expected %.1f\n", second, product(&kit, range), expected);
        assert_true(fabs(product(&kit, range) / expected - 1.0) < 1e-3);
    }
    soft_set_pressure(kit.soft, 0.25f);
    soft_kit_ticks(&kit, 60);
    assert_true(fabs(product(&kit, range) / ((air + 1e4) * rest) - 1.0) < 1e-3);
    soft_kit_destroy(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(volumes_are_exact),
        cmocka_unit_test(product_is_constant),
        cmocka_unit_test(pressure_balances_tension),
        cmocka_unit_test(gas_keeps_momentum),
        cmocka_unit_test(ring_is_a_tube),
        cmocka_unit_test(inflates_over_the_given_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
