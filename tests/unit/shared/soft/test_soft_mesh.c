/*
 * test_soft_mesh.c: shapes for soft bodies against closed formulas (volume, area, Euler
 * characteristic), and untrusted triangles: what is repaired, what is refused and with which text.
 */
#include "shared/base/limits.h"
#include "shared/soft/soft_mesh.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
// cmocka.h needs the first three headers above
#include <cmocka.h>

#include "tests/support/near.h"
#include "tests/support/soft_mesh_check.h"

#define PI 3.14159265358979323846

/* Half-edges without an opposite: a closed surface has none, and no half-edge twice. */
static u32 open_sides(const SoftMesh *mesh)
{
    u32 n = mesh->point_count, open = 0;
    u8 *count = calloc((size_t)n * n, 1);
    assert_non_null(count);
    for (u32 i = 0; i < 3 * mesh->triangle_count; i++) {
        u32 a = mesh->triangles[i], b = mesh->triangles[i % 3 == 2 ? i - 2 : i + 1];
        assert_true(a < n && b < n && a != b);
        assert_int_equal(count[(size_t)a * n + b]++, 0);
    }
    for (u32 a = 0; a < n; a++) {
        for (u32 b = 0; b < n; b++) {
            open += count[(size_t)a * n + b] && !count[(size_t)b * n + a];
        }
    }
    free(count);
    return open;
}

static f64 triangle_area(const SoftMesh *mesh, u32 t)
{
    const u32 *c = &mesh->triangles[3 * t];
    Vec3 u = vec3_sub(mesh->points[c[1]], mesh->points[c[0]]);
    Vec3 v = vec3_sub(mesh->points[c[2]], mesh->points[c[0]]);
    return 0.5 * (f64)vec3_length(vec3_cross(u, v));
}

/* Euler characteristic V − E + F: 2 for a ball, 0 for a ring. */
static int euler(const SoftMesh *mesh)
{
    return (int)mesh->point_count - (int)(mesh->triangle_count / 2);
}

static void test_sphere(void **state)
{
    PL_UNUSED(state);
    ErrorText error;
    SoftMesh mesh;
    f64 before = 0.0;
    for (u32 level = 0; level <= 4; level++) {
        expect_ok(soft_mesh_sphere(&mesh, 0.5f, level, &error), &error);
        assert_int_equal(mesh.point_count, 10 * (1 << 2 * level) + 2);
        assert_true(mesh.closed && euler(&mesh) == 2);
        assert_int_equal(open_sides(&mesh), 0);
        f64 least = 1e9, most = 0.0;
        for (u32 i = 0; i < mesh.point_count; i++) {
            expect_near("radius", (f64)vec3_length(mesh.points[i]), 0.5, 1e-6);
        }
        for (u32 t = 0; t < mesh.triangle_count; t++) {
            least = fmin(least, triangle_area(&mesh, t));
            most = fmax(most, triangle_area(&mesh, t));
        }
        assert_true(most < 1.5 * least);
        /* The volume error falls with the square of the edge length: to a quarter per level. */
        f64 missing = 4.0 / 3.0 * PI * 0.125 - soft_mesh_volume(&mesh);
        assert_true(missing > 0.0 && (level < 2 || fabs(before / missing - 4.0) < 0.35));
        before = missing;
        soft_mesh_finish(&mesh);
    }
    expect_error(soft_mesh_sphere(&mesh, 0.5f, 8, &error), ERROR_LIMIT, &error, "level 8");
    expect_error(soft_mesh_sphere(&mesh, NAN, 2, &error), ERROR_RANGE, &error, "radius nan");
    assert_null(mesh.points);
}

static void test_torus(void **state)
{
    PL_UNUSED(state);
    ErrorText error;
    SoftMesh mesh;
    expect_ok(soft_mesh_torus(&mesh, 1.0f, 0.3f, 96, 32, &error), &error);
    assert_true(mesh.closed && euler(&mesh) == 0);
    assert_int_equal(open_sides(&mesh), 0);
    /* With n vertices, the π of a circle's area becomes sin(2π/n) n/2, and the 2π of the ring's
     * path becomes n sin(2π/n). */
    f64 tube = 0.5 * 32 * sin(2.0 * PI / 32) * 0.09;
    f64 ring = 96 * sin(2.0 * PI / 96);
    expect_near("volume", soft_mesh_volume(&mesh), tube * ring, 2e-4);
    soft_mesh_finish(&mesh);
    expect_error(soft_mesh_torus(&mesh, 1.0f, 1.0f, 9, 9, &error), ERROR_RANGE, &error, "1 and 1");
    expect_error(soft_mesh_torus(&mesh, 1.0f, 0.1f, 2, 9, &error), ERROR_LIMIT, &error,
                 "segments: 2");
    expect_error(soft_mesh_torus(&mesh, 1.0f, 0.1f, 4096, 4096, &error), ERROR_LIMIT, &error,
                 "4096 x 4096");
}

static void test_tube(void **state)
{
    PL_UNUSED(state);
    ErrorText error;
    SoftMesh mesh;
    for (u32 rings = 1; rings <= 6; rings++) {
        expect_ok(soft_mesh_tube(&mesh, 0.4f, 2.0f, 24, rings, false, &error), &error);
        assert_false(mesh.closed);
        assert_int_equal(open_sides(&mesh), 2 * 24);
        soft_mesh_finish(&mesh);
        expect_ok(soft_mesh_tube(&mesh, 0.4f, 2.0f, 24, rings, true, &error), &error);
        assert_true(mesh.closed && euler(&mesh) == 2);
        assert_int_equal(open_sides(&mesh), 0);
        f64 whole = PI * 0.16 * 2.0, got = soft_mesh_volume(&mesh);
        assert_true(got < whole && got > 0.97 * whole);
        soft_mesh_finish(&mesh);
    }
    expect_error(soft_mesh_tube(&mesh, 0.4f, 2.0f, 24, 0, true, &error), ERROR_LIMIT, &error,
                 "rings: 0");
}

/* Each triangle of the surface is a face of exactly one tetrahedron, all other faces of two. */
static void expect_conforming(const SoftMesh *mesh)
{
    static const u8 faces[4][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {2, 0, 3}};
    u32 single = 0;
    for (u32 t = 0; t < mesh->tetrahedron_count; t++) {
        for (u32 f = 0; f < 4; f++) {
            u32 shared = 0;
            for (u32 o = 0; o < mesh->tetrahedron_count; o++) {
                u32 common = 0;
                for (u32 k = 0; k < 12; k++) {
                    common += mesh->tetrahedra[4 * t + faces[f][k / 4]] ==
                              mesh->tetrahedra[4 * o + k % 4];
                }
                shared += common == 3;
            }
            assert_in_range(shared, 1, 2);
            single += shared == 1;
        }
    }
    assert_int_equal(single, mesh->triangle_count);
}

static void test_box(void **state)
{
    PL_UNUSED(state);
    ErrorText error;
    SoftMesh mesh;
    const u32 cells[3] = {4, 3, 5};
    expect_ok(soft_mesh_box(&mesh, vec3(0.8f, 0.6f, 1.0f), cells, false, &error), &error);
    assert_true(mesh.closed && mesh.tetrahedron_count == 0 && euler(&mesh) == 2);
    assert_int_equal(open_sides(&mesh), 0);
    expect_near("volume", soft_mesh_volume(&mesh), 0.48, 1e-6);
    soft_mesh_finish(&mesh);

    expect_ok(soft_mesh_box(&mesh, vec3(0.8f, 0.6f, 1.0f), cells, true, &error), &error);
    assert_int_equal(mesh.point_count, 5 * 4 * 6);
    assert_int_equal(mesh.tetrahedron_count, 5 * 60);
    assert_int_equal(open_sides(&mesh), 0);
    expect_near("surface", soft_mesh_volume(&mesh), 0.48, 1e-6);
    f64 sum = 0.0;
    for (u32 t = 0; t < mesh.tetrahedron_count; t++) {
        assert_true(tetrahedron_volume(&mesh, t) > 0.0);
        sum += tetrahedron_volume(&mesh, t);
    }
    expect_near("tetrahedra", sum, 0.48, 1e-6);
    expect_conforming(&mesh);
    /* At a truncated corner of a cube: arccos(1/√3). */
    expect_near("dihedral", (f64)mesh.dihedral_degrees, 54.7356, 1e-3);
    soft_mesh_finish(&mesh);
    expect_error(soft_mesh_box(&mesh, vec3(1.0f, -1.0f, 1.0f), cells, true, &error), ERROR_RANGE,
                 &error, "size y of -1");
    const u32 many[3] = {200, 200, 200}, none[3] = {1, 0, 1};
    expect_error(soft_mesh_box(&mesh, vec3(1.0f, 1.0f, 1.0f), many, true, &error), ERROR_LIMIT,
                 &error, "points");
    expect_error(soft_mesh_box(&mesh, vec3(1.0f, 1.0f, 1.0f), none, true, &error), ERROR_LIMIT,
                 &error, "cells: 0");
}

/* ---- untrusted triangles ----------------------------------------------------------------- */

static const Vec3 cube_points[8] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                                    {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
static const u32 cube_triangles[36] = {0, 2, 1, 0, 3, 2, 4, 5, 6, 4, 6, 7, 0, 1, 5, 0, 5, 4,
                                       1, 2, 6, 1, 6, 5, 2, 3, 7, 2, 7, 6, 3, 0, 4, 3, 4, 7};

static void test_welds_and_flips(void **state)
{
    PL_UNUSED(state);
    ErrorText error;
    SoftMesh mesh;
    SoftRepair repair;
    Vec3 points[40];
    u32 triangles[40 * 3], n = 0;
    /* Every triangle has its own vertices, every other one is flipped; two unused points. */
    for (u32 t = 0; t < 12; t++) {
        for (u32 i = 0; i < 3; i++) {
            points[n] = cube_points[cube_triangles[3 * t + (t % 2 ? 2 - i : i)]];
            triangles[n] = n;
            n++;
        }
    }
    points[n++] = vec3(9.0f, 9.0f, 9.0f);
    expect_ok(soft_mesh_triangles(&mesh, points, n, triangles, 12, &repair, &error), &error);
    assert_int_equal(mesh.point_count, 8);
    assert_int_equal(repair.welded, 28);
    assert_int_equal(repair.unused, 1);
    assert_int_equal(repair.zero, 0);
    assert_int_equal(repair.reversed, 6);
    assert_true(mesh.closed);
    assert_int_equal(open_sides(&mesh), 0);
    expect_near("volume", soft_mesh_volume(&mesh), 1.0, 1e-9);
    soft_mesh_finish(&mesh);

    /* Inside out. */
    u32 reversed[36];
    for (u32 i = 0; i < 36; i++) {
        reversed[i] = cube_triangles[i / 3 * 3 + 2 - i % 3];
    }
    expect_ok(soft_mesh_triangles(&mesh, cube_points, 8, reversed, 12, &repair, &error), &error);
    assert_int_equal(repair.reversed, 12);
    expect_near("volume", soft_mesh_volume(&mesh), 1.0, 1e-9);
    soft_mesh_finish(&mesh);

    /* Without its lid. */
    expect_ok(soft_mesh_triangles(&mesh, cube_points, 8, cube_triangles, 11, &repair, &error),
              &error);
    assert_false(mesh.closed);
    assert_int_equal(open_sides(&mesh), 3);
    soft_mesh_finish(&mesh);
}

static void test_cavity(void **state)
{
    PL_UNUSED(state);
    ErrorText error;
    SoftMesh mesh;
    Vec3 points[32];
    u32 triangles[4 * 36];
    /* A cube of 4 m with a cavity of 2 m that contains a cube of 1 m; and another cube beside
     * it. */
    const f32 size[4] = {4.0f, 2.0f, 1.0f, 1.0f}, x[4] = {0.0f, 0.0f, 0.0f, 9.0f};
    for (u32 k = 0; k < 4; k++) {
        for (u32 i = 0; i < 8; i++) {
            Vec3 p = vec3_sub(cube_points[i], vec3(0.5f, 0.5f, 0.5f));
            points[8 * k + i] = vec3_add(vec3_scale(p, size[k]), vec3(x[k], 0.0f, 0.0f));
        }
        for (u32 i = 0; i < 36; i++) {
            triangles[36 * k + i] = 8 * k + cube_triangles[i];
        }
    }
    expect_ok(soft_mesh_triangles(&mesh, points, 32, triangles, 48, NULL, &error), &error);
    assert_true(mesh.closed);
    expect_near("volume", soft_mesh_volume(&mesh), 64.0 - 8.0 + 1.0 + 1.0, 1e-5);
    soft_mesh_finish(&mesh);
}

/* A degenerate triangle between two halves of a face: its edge is flipped, and a closed mesh stays
 * closed. */
static void test_slivers(void **state)
{
    PL_UNUSED(state);
    ErrorText error;
    SoftMesh mesh;
    SoftRepair repair;
    Vec3 points[9];
    u32 triangles[14 * 3];
    memcpy(points, cube_points, sizeof cube_points);
    points[8] = vec3(0.5f, 0.5f, 0.0f); /* on the diagonal 0-2 of the bottom */
    const u32 bottom[12] = {0, 8, 1, 8, 2, 1, 0, 3, 2, 0, 2, 8};
    memcpy(triangles, cube_triangles, sizeof cube_triangles);
    memcpy(triangles, bottom, sizeof bottom);
    memcpy(triangles + 12, cube_triangles + 6, 30 * sizeof(u32));
    expect_ok(soft_mesh_triangles(&mesh, points, 9, triangles, 14, &repair, &error), &error);
    assert_int_equal(repair.zero, 1);
    assert_true(mesh.closed);
    assert_int_equal(open_sides(&mesh), 0);
    expect_near("volume", soft_mesh_volume(&mesh), 1.0, 1e-9);
    for (u32 t = 0; t < mesh.triangle_count; t++) {
        assert_true(triangle_area(&mesh, t) > 0.1);
    }
    soft_mesh_finish(&mesh);

    /* Two coincident vertices, a duplicate triangle, a loose one without area. */
    memcpy(triangles, cube_triangles, sizeof cube_triangles);
    const u32 bad[9] = {1, 1, 2, 2, 0, 1, 0, 8, 2};
    memcpy(triangles + 36 - 3, bad, sizeof bad);
    expect_ok(soft_mesh_triangles(&mesh, points, 9, triangles, 14, &repair, &error), &error);
    assert_int_equal(mesh.triangle_count, 11);
    assert_int_equal(repair.zero, 3);
    assert_int_equal(repair.unused, 1);
    soft_mesh_finish(&mesh);
}

static void test_refused(void **state)
{
    PL_UNUSED(state);
    ErrorText error;
    SoftMesh mesh;
    Vec3 points[10];
    u32 triangles[16 * 3];
    memcpy(points, cube_points, sizeof cube_points);
    memcpy(triangles, cube_triangles, sizeof cube_triangles);
    points[3].y = NAN;
    expect_error(soft_mesh_triangles(&mesh, points, 8, triangles, 12, NULL, &error), ERROR_RANGE,
                 &error, "vertex 3 (0, nan, 0)");
    points[3].y = 1.0f;
    points[8] = vec3(5.0f, 5.0f, 5.0f);
    triangles[36] = 3;
    triangles[37] = 7;
    triangles[38] = 8;
    expect_error(soft_mesh_triangles(&mesh, points, 9, triangles, 13, NULL, &error), ERROR_FORMAT,
                 &error, "edge 3-7 has 3 triangles");
    triangles[38] = 9;
    expect_error(soft_mesh_triangles(&mesh, points, 9, triangles, 13, NULL, &error), ERROR_RANGE,
                 &error, "triangle 12: vertex 9, expected below 9");
    expect_error(soft_mesh_triangles(&mesh, points, 2, triangles, 1, NULL, &error), ERROR_LIMIT,
                 &error, "2 vertices");
    expect_error(soft_mesh_triangles(&mesh, points, 8, triangles, 0, NULL, &error), ERROR_LIMIT,
                 &error, "0 triangles");
    expect_error(
        soft_mesh_triangles(&mesh, points, MESH_FILE_VERTICES_MAX + 1, triangles, 12, NULL, &error),
        ERROR_LIMIT, &error, "524289 vertices");
    const u32 flat[3] = {0, 0, 1};
    expect_error(soft_mesh_triangles(&mesh, points, 8, flat, 1, NULL, &error), ERROR_RANGE, &error,
                 "none of the 1 triangles");
    /* A strip of five triangles with a half twist: the smallest Möbius strip. */
    const u32 strip[15] = {0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 0, 4, 0, 1};
    const Vec3 five[5] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 1}};
    expect_error(soft_mesh_triangles(&mesh, five, 5, strip, 5, NULL, &error), ERROR_FORMAT, &error,
                 "one-sided");
    assert_null(mesh.points);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sphere),
        cmocka_unit_test(test_torus),
        cmocka_unit_test(test_tube),
        cmocka_unit_test(test_box),
        cmocka_unit_test(test_welds_and_flips),
        cmocka_unit_test(test_cavity),
        cmocka_unit_test(test_slivers),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
