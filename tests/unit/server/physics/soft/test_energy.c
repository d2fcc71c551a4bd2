/* test_energy.c: the elastic energy of soft bodies against closed forms, and its exchange with
 * kinetic energy. */
#include "server/physics/soft/soft_internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/near.h"
#include "tests/support/soft_kit.h"

static void scale_points(SoftKit *kit, SoftRange range, Vec3 factor)
{
    for (u32 i = range.first; i < range.first + range.count; i++) {
        SoftPoint *p = &kit->soft->points[i];
        p->position = vec3_mul(p->position, factor);
    }
}

static void close_to(const char *what, f64 got, f64 expected, f64 part)
{
    expect_within(what, got, expected - part * fabs(expected) - 1e-3,
                  expected + part * fabs(expected) + 1e-3);
}

/* Springs of compliance α, far softer than the step resolves: C² / 2 α each. */
static void springs_store_half_c_squared_over_compliance(void **state)
{
    (void)state;
    for (f32 compliance = 0.01f; compliance < 2.0f; compliance *= 10.0f) {
        SoftKit kit = soft_kit_create(vec3_zero());
        ErrorText error;
        SoftMesh mesh;
        SoftDef def = soft_def_default();
        assert_int_equal(soft_mesh_rope(&mesh, 5, 4.0f, &error), 0);
        def.mass_kg = 50.0f;
        def.stretch_compliance = compliance;
        def.bend = SOFT_BEND_NONE;
        SoftRange range = soft_kit_add(&kit, &def, &mesh);
        soft_kit_ticks(&kit, 1);
        assert_true(fabs(soft_elastic_energy(kit.soft, range.body)) < 1e-9);
        scale_points(&kit, range, vec3(1.1f, 1, 1));
        close_to("springs", soft_elastic_energy(kit.soft, range.body),
                 4 * 0.1 * 0.1 / (2.0 * (f64)compliance), 0.02);
        soft_kit_destroy(&kit);
    }
}

/* W = μ (|F|² − 3) / 2 + λ ((J − 1 − μ/λ)² − (μ/λ)²) / 2 for F = diag(a, b, b), with Lamé's
 * constants but λ + μ for λ (Smith et al. 2018): of small strain that is linear elasticity. */
static void tetrahedra_store_neo_hookean_energy(void **state)
{
    (void)state;
    const f64 stretches[][2] = {{1.1, 1.0}, {0.8, 1.0}, {1.2, 0.92}, {1.05, 1.05}};
    for (u32 i = 0; i < PL_COUNT(stretches); i++) {
        SoftKit kit = soft_kit_create(vec3_zero());
        ErrorText error;
        SoftMesh mesh;
        SoftDef def = soft_def_default();
        const u32 cells[3] = {2, 2, 2};
        assert_int_equal(soft_mesh_box(&mesh, vec3(1, 1, 1), cells, true, &error), 0);
        def.mass_kg = 100.0f;
        def.young = 20000.0f;
        def.poisson = 0.4f;
        def.stretch_compliance = def.bend_compliance = -1.0f;
        SoftRange range = soft_kit_add(&kit, &def, &mesh);
        soft_kit_ticks(&kit, 1);
        f64 a = stretches[i][0], b = stretches[i][1];
        scale_points(&kit, range, vec3((f32)a, (f32)b, (f32)b));
        f64 mu = 20000.0 / (2.0 * 1.4), lambda = 20000.0 * 0.4 / (1.4 * 0.2) + mu, r = mu / lambda;
        f64 det = a * b * b - 1.0 - r;
        f64 expected = 0.5 * mu * (a * a + 2.0 * b * b - 3.0) + 0.5 * lambda * (det * det - r * r);
        close_to("tetrahedra", soft_elastic_energy(kit.soft, range.body), expected, 0.02);
        soft_kit_destroy(&kit);
    }
}

/* A gas of P V = N against the air: what it takes to compress it from its rest volume. */
static void gas_stores_isothermal_work(void **state)
{
    (void)state;
    for (f64 scale = 0.9; scale < 1.15; scale += 0.05) {
        SoftKit kit = soft_kit_create(vec3_zero());
        ErrorText error;
        SoftMesh mesh;
        SoftDef def = soft_def_default();
        assert_int_equal(soft_mesh_sphere(&mesh, 0.5f, 2, &error), 0);
        def.mass_kg = 1.0f;
        def.pressure = 3000.0f;
        def.bend = SOFT_BEND_NONE;
        def.stretch_compliance = -1.0f;
        SoftRange range = soft_kit_add(&kit, &def, &mesh);
        kit.soft->substep_s = SOFT_KIT_TICK_S / SOFT_KIT_SUBSTEPS;
        f64 v0 = (f64)soft_volume(kit.soft, range.body);
        scale_points(&kit, range, vec3((f32)scale, (f32)scale, (f32)scale));
        f64 v = v0 * scale * scale * scale;
        f64 expected = 101325.0 * (v - v0) - (101325.0 + 3000.0) * v0 * log(v / v0);
        close_to("gas", soft_elastic_energy(kit.soft, range.body), expected, 1e-3);
        soft_kit_destroy(&kit);
    }
}

/* A jelly whose sides swing: kinetic and elastic energy exchange, their sum falls slowly. */
static void a_jelly_keeps_the_sum(void **state)
{
    (void)state;
    SoftKit kit = soft_kit_create(vec3_zero());
    ErrorText error;
    SoftMesh mesh;
    SoftDef def = soft_def_default();
    const u32 cells[3] = {4, 2, 2};
    assert_int_equal(soft_mesh_box(&mesh, vec3(2, 1, 1), cells, true, &error), 0);
    def.mass_kg = 2000.0f;
    def.young = 20000.0f;
    def.poisson = 0.3f;
    def.damping = 0.0f;
    def.stretch_compliance = def.bend_compliance = -1.0f;
    SoftRange range = soft_kit_add(&kit, &def, &mesh);
    soft_set_wind(kit.soft, vec3_zero(), 0.0f);
    soft_kit_ticks(&kit, 1);
    scale_points(&kit, range, vec3(1.1f, 1, 1));
    f64 start = soft_elastic_energy(kit.soft, range.body), last = start;
    f64 kinetic_most = 0.0;
    for (u32 t = 0; t < 60; t++) {
        soft_kit_ticks(&kit, 1);
        f64 kinetic = 0.0;
        for (u32 i = range.first; i < range.first + range.count; i++) {
            Vec3 v = soft_velocity(kit.soft, i);
            kinetic += 0.5 * (f64)vec3_dot(v, v) / (f64)soft_inverse_mass(kit.soft, i);
        }
        f64 sum = kinetic + soft_elastic_energy(kit.soft, range.body);
        kinetic_most = fmax(kinetic_most, kinetic);
        expect_at_most("gain in a tick", sum - last, 0.01 * start);
        last = sum;
    }
    printf("of %.4g J %.4g J became kinetic, %.4g J are left\n", start, kinetic_most, last);
    expect_within("share that became kinetic", kinetic_most / start, 0.6, 1.0);
    soft_kit_destroy(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(springs_store_half_c_squared_over_compliance),
        cmocka_unit_test(tetrahedra_store_neo_hookean_energy),
        cmocka_unit_test(gas_stores_isothermal_work),
        cmocka_unit_test(a_jelly_keeps_the_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
