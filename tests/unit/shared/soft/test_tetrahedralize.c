/*
 * test_tetrahedralize.c: filled spheres, rings, boxes and dented balls: volume against the
 * surface's, angles against the method's bound, faces by brute-force matching; surfaces that cannot
 * be filled; skins, which a rigid motion of the points must move exactly.
 */
#include "shared/math/quat.h"
#include "shared/math/random.h"
#include "shared/math/trig.h"
#include "shared/soft/surface_crossing.h"
#include "shared/soft/tetrahedralize.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka.h needs the first three headers above
#include <cmocka.h>

#include "tests/support/near.h"
#include "tests/support/soft_mesh_check.h"

/* The guarantees of tetrahedralize.h. */
#define DIHEDRAL_MIN 10.5

static int compare_keys(const void *a, const void *b)
{
    return memcmp(a, b, 3 * sizeof(u32));
}

static void sort_three(u32 key[3])
{
    for (u32 i = 0; i < 2; i++) {
        for (u32 k = 0; k < 2 - i; k++) {
            if (key[k] > key[k + 1]) {
                u32 swap = key[k];
                key[k] = key[k + 1];
                key[k + 1] = swap;
            }
        }
    }
}

/* Every face is shared by two tetrahedra or is a triangle of the mesh, never more. */
static void expect_conforming(const SoftMesh *mesh)
{
    u32 faces = 4 * mesh->tetrahedron_count, count = faces + mesh->triangle_count;
    u32(*keys)[3] = malloc(count * sizeof *keys);
    assert_non_null(keys);
    for (u32 f = 0; f < faces; f++) {
        for (u32 i = 0, k = 0; i < 4; i++) {
            if (i != f % 4) {
                keys[f][k++] = mesh->tetrahedra[4 * (f / 4) + i];
            }
        }
        sort_three(keys[f]);
    }
    for (u32 t = 0; t < mesh->triangle_count; t++) {
        memcpy(keys[faces + t], &mesh->triangles[3 * t], sizeof keys[0]);
        sort_three(keys[faces + t]);
    }
    qsort(keys, count, sizeof keys[0], compare_keys);
    for (u32 i = 0; i < count; i += 2) {
        bool pair = i + 1 < count && memcmp(keys[i], keys[i + 1], sizeof keys[0]) == 0;
        bool third = i + 2 < count && memcmp(keys[i], keys[i + 2], sizeof keys[0]) == 0;
        assert_true(pair && !third);
    }
    free(keys);
}

static void expect_sound(const SoftMesh *mesh)
{
    f64 sum = 0.0;
    for (u32 t = 0; t < mesh->tetrahedron_count; t++) {
        assert_true(tetrahedron_volume(mesh, t) > 0.0);
        sum += tetrahedron_volume(mesh, t);
    }
    assert_true(mesh->closed);
    expect_near("boundary", soft_mesh_volume(mesh), sum, 1e-4 * sum);
    expect_conforming(mesh);
    f32 angle =
        tetrahedra_dihedral_degrees(mesh->points, mesh->tetrahedra, mesh->tetrahedron_count);
    assert_true(angle == mesh->dihedral_degrees);
    if (!((f64)angle >= DIHEDRAL_MIN)) {
        fail_msg("smallest dihedral angle %g°, expected at least %g°", (f64)angle, DIHEDRAL_MIN);
    }
}

static f64 fill(const SoftMesh *surface, u32 resolution)
{
    SoftMesh mesh;
    ErrorText error = {0};
    expect_ok(tetrahedralize(&mesh, surface, resolution, &error), &error);
    expect_sound(&mesh);
    assert_int_equal(mesh.skin_count, surface->point_count);
    f64 lost = 1.0 - soft_mesh_volume(&mesh) / soft_mesh_volume(surface);
    soft_mesh_finish(&mesh);
    return lost;
}

/* The lost volume falls with the square of the cell size: chords under arcs, blunted edges. */
static void test_volume(void **state)
{
    PL_UNUSED(state);
    SoftMesh surface;
    ErrorText error = {0};
    expect_ok(soft_mesh_sphere(&surface, 0.5f, 4, &error), &error);
    expect_near("sphere, 8", fill(&surface, 8), 0.0, 0.025);
    f64 coarse = fill(&surface, 10), fine = fill(&surface, 20);
    expect_near("sphere, 20", fine, 0.0, 0.004);
    assert_true(fine < 0.35 * coarse);
    soft_mesh_finish(&surface);
    expect_ok(soft_mesh_torus(&surface, 0.7f, 0.3f, 48, 24, &error), &error);
    expect_near("torus, 24", fill(&surface, 24), 0.0, 0.01);
    soft_mesh_finish(&surface);
    const u32 cells[3] = {2, 2, 2};
    expect_ok(soft_mesh_box(&surface, vec3(1.0f, 0.75f, 0.5f), cells, false, &error), &error);
    expect_near("box, 16", fill(&surface, 16), 0.0, 0.005);
    soft_mesh_finish(&surface);
}

static SoftMesh dented_ball(u32 seed)
{
    SoftMesh ball;
    ErrorText error = {0};
    expect_ok(soft_mesh_sphere(&ball, 0.5f, 3, &error), &error);
    f64 wave[3], rotation = 6.0 * (f64)random_f32(seed, 0), depth = 0.45 * (f64)random_f32(seed, 1);
    for (u32 i = 0; i < 3; i++) {
        wave[i] = 12.0 * (f64)random_f32(seed, 2 + i);
    }
    f32 stretch = 0.6f + random_f32(seed, 5);
    Quat q = quat_normalize((Quat){0.6f, 0.0f, 0.8f, (f32)rotation});
    for (u32 i = 0; i < ball.point_count; i++) {
        Vec3 p = ball.points[i];
        f64 dent = 1.0 + depth * trig_sin(wave[0] * (f64)p.x + rotation) *
                             trig_sin(wave[1] * (f64)p.y) * trig_cos(wave[2] * (f64)p.z);
        p = vec3_scale(p, (f32)dent);
        p.x *= stretch;
        ball.points[i] = quat_rotate(q, p);
    }
    return ball;
}

static void test_angles(void **state)
{
    PL_UNUSED(state);
    for (u32 seed = 1; seed <= 60; seed++) {
        SoftMesh ball = dented_ball(seed);
        fill(&ball, 4 + seed % 9);
        soft_mesh_finish(&ball);
    }
}

static void test_is_deterministic(void **state)
{
    PL_UNUSED(state);
    SoftMesh ball = dented_ball(7), first, second;
    ErrorText error = {0};
    expect_ok(tetrahedralize(&first, &ball, 12, &error), &error);
    expect_ok(tetrahedralize(&second, &ball, 12, &error), &error);
    assert_int_equal(first.point_count, second.point_count);
    assert_memory_equal(first.points, second.points, first.point_count * sizeof *first.points);
    assert_int_equal(first.tetrahedron_count, second.tetrahedron_count);
    assert_memory_equal(first.tetrahedra, second.tetrahedra,
                        4 * first.tetrahedron_count * sizeof(u32));
    assert_memory_equal(first.skin, second.skin, first.skin_count * sizeof *first.skin);
    soft_mesh_finish(&first);
    soft_mesh_finish(&second);
    soft_mesh_finish(&ball);
}

/* The wall of a cavity faces inwards: the cavity stays empty. */
static void test_cavity(void **state)
{
    PL_UNUSED(state);
    SoftMesh outer, inner, both;
    ErrorText error = {0};
    expect_ok(soft_mesh_sphere(&outer, 0.5f, 3, &error), &error);
    expect_ok(soft_mesh_sphere(&inner, 0.3f, 3, &error), &error);
    u32 n = outer.point_count, m = outer.triangle_count;
    Vec3 *points = malloc(2 * n * sizeof *points);
    u32 *triangles = malloc(6 * m * sizeof *triangles);
    assert_true(points != NULL && triangles != NULL);
    memcpy(points, outer.points, n * sizeof *points);
    memcpy(points + n, inner.points, n * sizeof *points);
    for (u32 i = 0; i < 3 * m; i++) {
        triangles[i] = outer.triangles[i];
        triangles[3 * m + i] = inner.triangles[i] + n;
    }
    expect_ok(soft_mesh_triangles(&both, points, 2 * n, triangles, 2 * m, NULL, &error), &error);
    expect_near("lost", fill(&both, 16), 0.0, 0.02);
    free(points);
    free(triangles);
    soft_mesh_finish(&outer);
    soft_mesh_finish(&inner);
    soft_mesh_finish(&both);
}

static void expect_skin(const SoftMesh *mesh, const SoftMesh *display, f64 tolerance)
{
    Vec3 *points = malloc(mesh->point_count * sizeof *points);
    Vec3 *skin = malloc(mesh->skin_count * sizeof *skin);
    assert_true(points != NULL && skin != NULL);
    Quat rotation = quat_normalize((Quat){0.48f, 0.6f, 0.64f, 0.9f});
    for (u32 i = 0; i < mesh->point_count; i++) {
        points[i] = vec3_add(quat_rotate(rotation, mesh->points[i]), vec3(3.0f, -2.0f, 1.0f));
    }
    for (u32 moved = 0; moved < 2; moved++) {
        soft_mesh_skin_points(mesh, moved ? points : mesh->points, skin);
        for (u32 i = 0; i < mesh->skin_count; i++) {
            Vec3 want = display->points[i];
            want = moved ? vec3_add(quat_rotate(rotation, want), vec3(3.0f, -2.0f, 1.0f)) : want;
            expect_near("skin", (f64)vec3_distance(skin[i], want), 0.0, tolerance);
        }
    }
    free(points);
    free(skin);
}

static void test_refused(void **state)
{
    PL_UNUSED(state);
    SoftMesh surface, mesh;
    ErrorText error = {0};
    expect_ok(soft_mesh_tube(&surface, 0.3f, 1.0f, 8, 2, false, &error), &error);
    expect_error(tetrahedralize(&mesh, &surface, 8, &error), ERROR_FORMAT, &error,
                 "edge 0-1 has 1 triangle, expected 2: the surface is open");
    soft_mesh_finish(&surface);

    /* A point pulled through the opposite side. */
    expect_ok(soft_mesh_sphere(&surface, 0.5f, 2, &error), &error);
    expect_ok(surface_crossing(&surface, &error), &error);
    surface.points[0] = vec3_scale(surface.points[0], -1.5f);
    expect_error(tetrahedralize(&mesh, &surface, 8, &error), ERROR_FORMAT, &error,
                 " crosses triangle ");
    /* The named edge has the point. */
    assert_true(strstr(error.text, "edge 0-") != NULL || strstr(error.text, "-0 of ") != NULL);
    assert_null(mesh.points);
    surface.points[0] = vec3_scale(surface.points[0], -1.0f / 1.5f);
    expect_error(tetrahedralize(&mesh, &surface, 1, &error), ERROR_LIMIT, &error,
                 "resolution: 1 cells, expected 2 to 128");
    expect_error(tetrahedralize(&mesh, &surface, 128, &error), ERROR_LIMIT, &error,
                 "tetrahedra: a lower resolution");
    /* As thin as paper. */
    for (u32 i = 0; i < surface.point_count; i++) {
        surface.points[i].y *= 1e-3f;
    }
    expect_error(tetrahedralize(&mesh, &surface, 5, &error), ERROR_RANGE, &error,
                 "no part is as thick as a cell");
    soft_mesh_finish(&surface);
}

/* Two balls joined by a neck thinner than a cell: an error; a ball with a thin tip: the tip is
 * dropped. */
static void test_pieces(void **state)
{
    PL_UNUSED(state);
    SoftMesh ball, mesh;
    ErrorText error = {0};
    for (u32 tip = 0; tip < 2; tip++) {
        expect_ok(soft_mesh_sphere(&ball, 0.5f, 4, &error), &error);
        for (u32 i = 0; i < ball.point_count; i++) {
            /* A waist of 1 % in the middle, or a narrow conical tail with a knob. */
            Vec3 *p = &ball.points[i];
            f32 thin = tip ? (p->x > 0.35f && p->x < 0.44f ? 0.02f : 1.0f)
                           : f32_clamp(8.0f * fabsf(p->x) - 1.5f, 0.01f, 1.0f);
            p->y *= thin;
            p->z *= thin;
            p->x *= tip ? 1.0f : 2.0f;
        }
        int code = tetrahedralize(&mesh, &ball, tip ? 20 : 10, &error);
        if (tip == 0) {
            expect_error(code, ERROR_RANGE, &error, "falls into 2 pieces, the surface has 1");
        } else {
            expect_ok(code, &error);
            expect_sound(&mesh);
            for (u32 i = 0; i < mesh.point_count; i++) {
                assert_true(mesh.points[i].x < 0.42f);
            }
            expect_skin(&mesh, &ball, 2e-5);
        }
        soft_mesh_finish(&mesh);
        soft_mesh_finish(&ball);
    }
}

/* Do two tetrahedra, given by their corners, intersect? */
static int cross(const Vec3 a[4], const Vec3 b[4], ErrorText *error)
{
    static const u32 faces[12] = {0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3};
    SoftMesh mesh = {0};
    Vec3 points[8];
    u32 triangles[24];
    memcpy(points, a, 4 * sizeof *points);
    memcpy(points + 4, b, 4 * sizeof *points);
    for (u32 i = 0; i < 12; i++) {
        triangles[i] = faces[i];
        triangles[12 + i] = faces[i] + 4;
    }
    mesh.points = points;
    mesh.triangles = triangles;
    mesh.point_count = 8;
    mesh.triangle_count = 8;
    return surface_crossing(&mesh, error);
}

/* The named edge and triangle do intersect: the ends lie on either side of its plane. */
static void expect_edge_meets(const ErrorText *error, int code, const Vec3 a[4], const Vec3 b[4])
{
    static const u32 faces[12] = {0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3};
    u32 ends[2], triangle, other, c[3];
    if (code == ERROR_OK) {
        return;
    }
    assert_int_equal(sscanf(error->text, "edge %u-%u of triangle %u crosses triangle %u", &ends[0],
                            &ends[1], &triangle, &other),
                     4);
    assert_true(triangle < 8 && other < 8 && triangle / 4 != other / 4);
    Vec3 all[8], n;
    memcpy(all, a, 4 * sizeof *all);
    memcpy(all + 4, b, 4 * sizeof *all);
    for (u32 k = 0; k < 3; k++) {
        c[k] = faces[3 * (other % 4) + k] + 4 * (other / 4);
    }
    n = vec3_cross(vec3_sub(all[c[1]], all[c[0]]), vec3_sub(all[c[2]], all[c[0]]));
    f32 from = vec3_dot(n, vec3_sub(all[ends[0]], all[c[0]]));
    f32 to = vec3_dot(n, vec3_sub(all[ends[1]], all[c[0]]));
    assert_true(ends[0] / 4 == triangle / 4 && from * to <= 1e-6f);
}

static void test_crossing(void **state)
{
    PL_UNUSED(state);
    ErrorText error = {0};
    const Vec3 a[4] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    Vec3 b[4];
    const struct {
        Vec3 at;
        f32 scale;
        bool crosses;
    } rows[] = {
        {{2.0f, 0.0f, 0.0f}, 1.0f, false},     {{0.5f, 0.0f, 0.0f}, 1.0f, true},
        {{0.2f, 0.2f, 0.2f}, 0.2f, false}, /* inside, not touching */
        {{0.2f, 0.2f, 0.2f}, 0.5f, true},      {{0.25f, 0.25f, -0.5f}, 0.25f, false},
        {{0.25f, 0.25f, -0.25f}, 0.25f, true}, /* its tip touches a face */
        {{0.25f, 0.25f, 0.0f}, 0.25f, true},   /* face on face */
        {{1.0f, 0.0f, 0.0f}, 1.0f, false},     /* corner on corner counts as shared */
        {{1.01f, 0.0f, 0.0f}, 1.0f, false},
    };
    for (u32 i = 0; i < PL_COUNT(rows); i++) {
        for (u32 k = 0; k < 4; k++) {
            b[k] = vec3_add(rows[i].at, vec3_scale(a[k], rows[i].scale));
        }
        int code = cross(a, b, &error);
        if ((code == ERROR_FORMAT) != rows[i].crosses) {
            fail_msg("row %u: got %d, expected %s", i, code, rows[i].crosses ? "a cross" : "none");
        }
        expect_edge_meets(&error, code, a, b);
        assert_int_equal(cross(b, a, &error), code);
    }
}

/* ---- skin --------------------------------------------------------------------------------- */

static void test_skin(void **state)
{
    PL_UNUSED(state);
    SoftMesh ball = dented_ball(3), mesh, coarse;
    ErrorText error = {0};
    expect_ok(tetrahedralize(&mesh, &ball, 8, &error), &error);
    expect_skin(&mesh, &ball, 5e-6);
    /* Bindings are local: weights of a point within a cell of its tetrahedron stay small. */
    for (u32 i = 0; i < mesh.skin_count; i++) {
        f32 sum = 0.0f;
        for (u32 k = 0; k < 4; k++) {
            assert_true(mesh.skin[i].point[k] < mesh.point_count);
            assert_true(fabsf(mesh.skin[i].weight[k]) < 6.0f);
            sum += mesh.skin[i].weight[k];
        }
        expect_near("sum", (f64)sum, 1.0, 1e-5);
    }
    soft_mesh_finish(&mesh);
    soft_mesh_finish(&ball);

    /* A fine sphere on a coarse one without tetrahedra: bound to its triangles. */
    expect_ok(soft_mesh_sphere(&coarse, 0.5f, 1, &error), &error);
    expect_ok(soft_mesh_sphere(&ball, 0.52f, 3, &error), &error);
    expect_ok(soft_mesh_skin(&coarse, &ball, &error), &error);
    assert_int_equal(coarse.skin_triangle_count, ball.triangle_count);
    expect_skin(&coarse, &ball, 5e-6);
    soft_mesh_finish(&coarse);

    /* On a flat sheet, points above it are projected into it. */
    expect_ok(soft_mesh_grid(&coarse, 5, 5, 1.0f, 1.0f, &error), &error);
    expect_ok(soft_mesh_skin(&coarse, &ball, &error), &error);
    for (u32 i = 0; i < ball.point_count; i++) {
        ball.points[i].z = 0.0f;
    }
    expect_skin(&coarse, &ball, 5e-6);
    soft_mesh_finish(&coarse);
    SoftMesh rope;
    expect_ok(soft_mesh_rope(&rope, 5, 1.0f, &error), &error);
    expect_error(soft_mesh_skin(&rope, &ball, &error), ERROR_STATE, &error, "no surface");
    soft_mesh_finish(&rope);
    soft_mesh_finish(&ball);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_volume),  cmocka_unit_test(test_angles),
        cmocka_unit_test(test_cavity),  cmocka_unit_test(test_is_deterministic),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_crossing),
        cmocka_unit_test(test_skin),    cmocka_unit_test(test_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
