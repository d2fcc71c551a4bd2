/* test_soft_balloon.c: a thick-walled balloon of Neo-Hookean material filled with gas: the
 * pressure grows to a peak at a stretch of 7^(1/6) and falls beyond it. */
#include "tests/support/soft_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const f32 inner_m = 0.25f, wall_m = 0.0125f;
static const f64 young = 3e6, poisson = 0.495;

/* The wall: each triangle of the sphere becomes a prism of three tetrahedra, divided by
 * ascending vertex number, so that neighbours agree. The gas is bounded by the inner surface. */
static SoftMesh shell(void)
{
    SoftMesh mesh;
    ErrorText error;
    assert_int_equal(soft_mesh_sphere(&mesh, inner_m, 3, &error), 0);
    u32 n = mesh.point_count, (*tetrahedra)[4];
    mesh.points = realloc(mesh.points, 2 * n * sizeof *mesh.points);
    tetrahedra = calloc(3 * mesh.triangle_count, sizeof *tetrahedra);
    for (u32 i = 0; i < n; i++) {
        mesh.points[n + i] = vec3_scale(mesh.points[i], 1.0f + wall_m / inner_m);
    }
    for (u32 t = 0; t < mesh.triangle_count; t++) {
        u32 c[3] = {mesh.triangles[3 * t], mesh.triangles[3 * t + 1], mesh.triangles[3 * t + 2]};
        for (u32 k = 0; k < 3; k++) { /* ascending */
            u32 i = k % 2, swap = c[i];
            if (c[i] > c[i + 1]) {
                c[i] = c[i + 1];
                c[i + 1] = swap;
            }
        }
        const u32 cut[3][4] = {{c[0], c[1], c[2], n + c[2]},
                               {c[0], c[1], n + c[1], n + c[2]},
                               {c[0], n + c[0], n + c[1], n + c[2]}};
        for (u32 k = 0; k < 3; k++) {
            u32 *to = tetrahedra[3 * t + k];
            memcpy(to, cut[k], sizeof cut[k]);
            Vec3 a = mesh.points[to[0]], x = vec3_sub(mesh.points[to[1]], a);
            Vec3 y = vec3_sub(mesh.points[to[2]], a), z = vec3_sub(mesh.points[to[3]], a);
            if (vec3_dot(vec3_cross(x, y), z) < 0.0f) {
                u32 swap = to[2];
                to[2] = to[3];
                to[3] = swap;
            }
        }
    }
    mesh.point_count = 2 * n;
    mesh.tetrahedra = tetrahedra[0];
    mesh.tetrahedron_count = 3 * mesh.triangle_count;
    return mesh;
}

/* Pressure of a thick incompressible shell at a given inner stretch (Ogden 1984, §5.3.2), Pa. */
static f64 pressure_of(f64 stretch, f64 wall)
{
    f64 a = (f64)inner_m, b = a + wall, mu = young / 3.0;
    f64 outer = cbrt(b * b * b + a * a * a * (stretch * stretch * stretch - 1.0)) / b;
    return 0.5 * mu * (pow(outer, -4.0) + 4.0 / outer - pow(stretch, -4.0) - 4.0 / stretch);
}

/* Stretch at the vertex of the parabola through three points. */
static f64 top_of(const f64 x[3], const f64 y[3])
{
    f64 left = (y[1] - y[0]) / (x[1] - x[0]), right = (y[2] - y[1]) / (x[2] - x[1]);
    return 0.5 * (x[0] + x[1]) + left * 0.5 * (x[2] - x[0]) / (left - right);
}

/* A thin shell has P R / (2 mu t) = 1/x - 1/x^7, at most 0.619731 at x = 1.383088. */
static void law_is_that_of_the_thin_shell(void **unused)
{
    PL_UNUSED(unused);
    f64 wall = 1e-5, scale = (f64)inner_m / (2.0 * young / 3.0 * wall);
    assert_true(fabs(scale * pressure_of(1.383088, wall) - 0.619731) < 1e-4);
}

static void pressure_has_a_peak(void **unused)
{
    PL_UNUSED(unused);
    static const f64 wanted[] = {1.15, 1.26, 1.32, 1.38, 1.44, 1.5, 1.7};
    const f64 air = 101325.0;
    SoftKit kit = soft_kit_create(vec3_zero());
    SoftMesh mesh = shell();
    SoftDef def = soft_kit_cloth_def();
    def.mass_kg = 2000.0f; /* heavy: an iteration adds compliance, step² over mass */
    def.stretch_compliance = -1.0f;
    def.bend = SOFT_BEND_NONE;
    def.young = (f32)young;
    def.poisson = (f32)poisson;
    def.pressure = 1000.0f;
    def.damping = 10.0f;
    SoftRange range = soft_kit_add(&kit, &def, &mesh);
    f64 rest = (f64)soft_volume(kit.soft, range.body);
    f64 stretch[PL_COUNT(wanted)], scaled[PL_COUNT(wanted)];
    for (u32 i = 0; i < PL_COUNT(wanted); i++) {
        /* The amount of gas for this stretch, by the law. */
        f64 gas = (air + pressure_of(wanted[i], (f64)wall_m)) * pow(wanted[i], 3.0);
        soft_set_pressure(kit.soft, (f32)((gas - air) / 1000.0));
        soft_kit_ticks(&kit, i == 0 ? 150 : 60);
        stretch[i] = cbrt((f64)soft_volume(kit.soft, range.body) / rest);
        f64 pressure = (f64)soft_pressure(kit.soft, range.body);
        f64 law = pressure_of(stretch[i], (f64)wall_m);
        scaled[i] = pressure * (f64)inner_m / (2.0 * young / 3.0 * (f64)wall_m);
        printf("stretch %.4f: %.0f Pa, the law says %.0f; P R / (2 mu t) = %.4f\n", stretch[i],
               pressure, law, scaled[i]);
        assert_true(fabs(pressure / law - 1.0) < 0.015);
    }
    /* The wall is 1/20 of the radius: the deviation from a thin one is less than that. */
    f64 at = top_of(stretch + 2, scaled + 2);
    printf("peak %.4f at a stretch of %.3f; thin: 0.6197 at 1.383\n", scaled[3], at);
    assert_true(fabs(at - 1.383088) < 0.03);
    assert_true(fabs(scaled[3] - 0.619731) < 0.02);
    assert_true(scaled[3] > scaled[0] && scaled[3] > scaled[6]);
    soft_kit_destroy(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(law_is_that_of_the_thin_shell),
        cmocka_unit_test(pressure_has_a_peak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
