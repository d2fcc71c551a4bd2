/*
 * test_mesh_shapes.c: triangles of shapes: closed, correctly oriented, of the right volume, with
 * normals that match the surface.
 */
#include "shared/math/random.h"
#include "shared/mesh/mesh_shapes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
// cmocka.h needs the first three headers above
#include <cmocka.h>

#include "tests/support/near.h"

/* Indices in range, unit normals within `degrees` of those of their triangles. */
static void check_surface(const SurfaceMesh *surface, f64 degrees)
{
    assert_true(surface->index_count > 0 && surface->index_count % 3 == 0);
    for (u32 i = 0; i < surface->index_count; i++) {
        assert_true(surface->indices[i] < surface->vertex_count);
    }
    for (u32 i = 0; i < surface->index_count; i += 3) {
        const u32 *index = &surface->indices[i];
        Vec3 a = surface->positions[index[0]];
        Vec3 n = vec3_cross(vec3_sub(surface->positions[index[1]], a),
                            vec3_sub(surface->positions[index[2]], a));
        n = vec3_normalize_or(n, vec3_zero());
        for (int k = 0; k < 3; k++) {
            Vec3 m = surface->normals[index[k]];
            expect_near("unit", vec3_length(m), 1.0, 1e-5);
            if (vec3_length(n) > 0.5f && !((f64)vec3_dot(n, m) > cos(degrees * M_PI / 180))) {
                fail_msg("triangle %u: normal %g degrees off", i / 3,
                         acos((f64)vec3_dot(n, m)) * 180 / M_PI);
            }
        }
    }
}

static Geometry *to_mesh(const SurfaceMesh *surface, bool closed)
{
    ErrorText error = {0};
    u32 dropped = 0;
    Geometry *geometry = geometry_mesh(surface->positions, surface->vertex_count, surface->indices,
                                       surface->index_count / 3, &dropped, &error);
    if (geometry == NULL) {
        fail_msg("no mesh: %s", error.text);
    }
    assert_int_equal(dropped, 0);
    assert_int_equal(geometry->mesh.closed, closed);
    return geometry;
}

static void round_shapes(void **state)
{
    (void)state;
    SurfaceMesh surface;
    for (u32 segments = 3; segments <= 96; segments += 31) {
        f64 area = 0.5 * segments * sin(2 * M_PI / segments) * 0.7 * 0.7;
        assert_int_equal(surface_mesh_cylinder(&surface, 0.7f, 1.2f, segments), 0);
        check_surface(&surface, 181.0 / segments);
        Geometry *geometry = to_mesh(&surface, true);
        expect_near("cylinder", geometry->volume, area * 2.4, 1e-5);
        expect_near("its top", geometry->bounds.max.y, 1.2, 1e-6);
        geometry_destroy(geometry);
        surface_mesh_finish(&surface);
        assert_int_equal(surface_mesh_cone(&surface, 0.7f, 1.2f, segments), 0);
        check_surface(&surface, 181.0 / segments);
        geometry = to_mesh(&surface, true);
        expect_near("cone", geometry->volume, area * 2.4 / 3, 1e-5);
        expect_near("its centre", geometry->centre.y, -0.6, 1e-5);
        geometry_destroy(geometry);
        surface_mesh_finish(&surface);
    }
    assert_int_equal(surface_mesh_cylinder(&surface, 1, 1, 2), ERROR_RANGE);
    assert_int_equal(surface_mesh_cone(&surface, 1, 1, 257), ERROR_RANGE);
    surface_mesh_finish(&surface);
}

static void hull(void **state)
{
    (void)state;
    Vec3 points[60];
    for (u32 i = 0; i < 60; i++) {
        points[i] = vec3(random_range(3, 3 * i, -1, 1), random_range(3, 3 * i + 1, -1, 1),
                         random_range(3, 3 * i + 2, -2, 2));
    }
    for (u32 i = 0; i < 8; i++) { /* with large faces of four vertices */
        points[i] = vec3(i & 1 ? 1 : -1, i & 2 ? 1 : -1, i & 4 ? 1 : -1);
    }
    Geometry *geometry = geometry_hull(points, 60, 64, NULL);
    SurfaceMesh surface;
    Shape shape = {.kind = SHAPE_HULL, .geometry = geometry};
    assert_int_equal(surface_mesh_shape(&surface, &shape), 0);
    check_surface(&surface, 1.0);
    Geometry *mesh = to_mesh(&surface, true);
    expect_near("volume", mesh->volume, geometry->volume, 1e-5);
    geometry_destroy(mesh);
    geometry_destroy(geometry);
    surface_mesh_finish(&surface);
}

static void terrain(void **state)
{
    (void)state;
    f32 heights[23 * 14];
    for (u32 i = 0; i < 23 * 14; i++) {
        heights[i] = (f32)(0.5 * sin(0.3 * (i % 23)) * cos(0.2 * (i / 23)));
    }
    Geometry *geometry = geometry_terrain(heights, 23, 14, 0.5f, NULL);
    SurfaceMesh surface;
    assert_int_equal(surface_mesh_terrain(&surface, &geometry->terrain, 1), 0);
    check_surface(&surface, 15.0);
    assert_int_equal(surface.index_count, 3 * 2 * 22 * 13);
    for (u32 t = 0; t < 2 * 22 * 13; t++) {
        Vec3 corner[3];
        terrain_triangle(&geometry->terrain, t, corner);
        for (u32 k = 0; k < 3; k++) {
            assert_memory_equal(&surface.positions[surface.indices[3 * t + k]], &corner[k],
                                sizeof(Vec3));
        }
    }
    surface_mesh_finish(&surface);
    for (u32 step = 2; step < 30; step += 3) {
        assert_int_equal(surface_mesh_terrain(&surface, &geometry->terrain, step), 0);
        Geometry *mesh = to_mesh(&surface, false);
        expect_near("whole width", mesh->bounds.max.x, 5.5, 1e-6);
        expect_near("whole depth", mesh->bounds.min.z, -3.25, 1e-6);
        geometry_destroy(mesh);
        surface_mesh_finish(&surface);
    }
    assert_int_equal(surface_mesh_terrain(&surface, &geometry->terrain, 0), ERROR_RANGE);
    Shape shape = {.kind = SHAPE_TERRAIN, .geometry = geometry};
    assert_int_equal(surface_mesh_shape(&surface, &shape), 0);
    surface_mesh_finish(&surface);
    shape.kind = SHAPE_SPHERE;
    assert_int_equal(surface_mesh_shape(&surface, &shape), ERROR_UNSUPPORTED);
    geometry_destroy(geometry);
}

/* A cylinder's mesh: with a crease angle below 90° the rim stays sharp and the side is smooth;
 * above, the rim is shaded smooth. */
static void creases(void **state)
{
    (void)state;
    SurfaceMesh cylinder, surface;
    assert_int_equal(surface_mesh_cylinder(&cylinder, 1, 1, 24), 0);
    Geometry *mesh = to_mesh(&cylinder, true);
    assert_int_equal(surface_mesh_triangles(&surface, &mesh->mesh, 0.7f), 0);
    check_surface(&surface, 8.0);
    assert_int_equal(surface.vertex_count, 4 * 24);
    surface_mesh_finish(&surface);
    assert_int_equal(surface_mesh_triangles(&surface, &mesh->mesh, 3.2f), 0);
    assert_int_equal(surface.vertex_count, 2 * 24);
    surface_mesh_finish(&surface);
    assert_int_equal(surface_mesh_triangles(&surface, &mesh->mesh, 0.0f), 0);
    check_surface(&surface, 0.1);
    assert_int_equal(surface.vertex_count, 24 + 24 + 4 * 24);
    surface_mesh_finish(&surface);
    surface_mesh_finish(&cylinder);
    geometry_destroy(mesh);
}

/* Cross-section area of the shell: between two half polygons, plus two walls. */
static f64 section_area(const TrackProfile *p)
{
    f64 r = p->radius, o = r + p->thickness;
    f64 half_polygon = 0.5 * p->segments * sin(M_PI / p->segments);
    return half_polygon * (o * o - r * r) + 2 * p->rim * p->thickness;
}

static void straight_tracks(void **state)
{
    (void)state;
    const TrackProfile profiles[] = {{0.3f, 0.1f, 0.02f, 16, false}, {0.5f, 0.0f, 0.1f, 3, false}};
    const Vec3 points[] = {{1, 2, 3}, {3, 1, 4}, {5, 0, 5}, {9, -2, 7}};
    for (u32 i = 0; i < 2; i++) {
        SurfaceMesh surface;
        ErrorText error = {0};
        assert_int_equal(surface_mesh_track(&surface, points, 4, &profiles[i], &error), 0);
        check_surface(&surface, 91.0 / profiles[i].segments);
        Geometry *mesh = to_mesh(&surface, true);
        f64 length = vec3_distance(points[0], points[3]);
        expect_near("volume", mesh->volume, section_area(&profiles[i]) * length, 1e-4);
        /* A vertical ray at a point of the path meets the inside there. */
        Shape shape = {.kind = SHAPE_MESH, .geometry = mesh};
        Ray down = {vec3_add(points[1], vec3(0, 1, 0)), vec3(0, -1, 0)};
        f32 t;
        Vec3 n;
        assert_true(shape_ray(&shape, vec3_zero(), quat_identity(), down, 9, &t, &n));
        if (profiles[i].segments % 2 == 0) {
            expect_near("depth", t, 1.0, 1e-5);
        }
        assert_true(n.y > 0.8f);
        geometry_destroy(mesh);
        surface_mesh_finish(&surface);
    }
}

/* A level ring of 64 segments: by Pappus, area × path of the centroid, which lies on the axis of
 * symmetry, so above the path; mitred segments have exactly that volume. */
static void closed_track(void **state)
{
    (void)state;
    TrackProfile profile = {0.25f, 0.05f, 0.03f, 12, true};
    Vec3 points[64];
    for (u32 i = 0; i < 64; i++) {
        points[i] = vec3((f32)(3 * cos(2 * M_PI * i / 64)), 1, (f32)(3 * sin(2 * M_PI * i / 64)));
    }
    SurfaceMesh surface;
    assert_int_equal(surface_mesh_track(&surface, points, 64, &profile, NULL), 0);
    check_surface(&surface, 12.0);
    Geometry *mesh = to_mesh(&surface, true);
    f64 length = 64 * 2 * 3 * sin(M_PI / 64);
    expect_near("volume", mesh->volume, section_area(&profile) * length, 1e-4);
    expect_near("top", mesh->bounds.max.y, 1.3, 1e-5);
    expect_near("bottom", mesh->bounds.min.y, 1 - 0.03, 1e-5);
    /* Clearance of the ball: no part of the mesh within its radius above the path. */
    for (u32 i = 0; i < 64; i++) {
        Shape shape = {.kind = SHAPE_MESH, .geometry = mesh};
        Vec3 at = vec3_add(points[i], vec3(0, 0.24f, 0));
        Vec3 next = vec3_add(points[(i + 1) % 64], vec3(0, 0.24f, 0));
        Ray along = {at, vec3_normalize_or(vec3_sub(next, at), vec3_zero())};
        assert_false(shape_ray(&shape, vec3_zero(), quat_identity(), along, vec3_distance(at, next),
                               NULL, NULL));
    }
    geometry_destroy(mesh);
    surface_mesh_finish(&surface);
}

/* Climbing, falling and winding: still closed, and as wide everywhere as on the straight. */
static void winding_track(void **state)
{
    (void)state;
    const Vec3 knots[] = {{0, 5, 0}, {4, 4, 0}, {6, 3, 3}, {3, 2.5f, 6}, {-1, 2, 4}, {-3, 0, -2}};
    Vec3 points[5 * 16 + 1];
    u32 count = path_smooth(knots, 6, false, 16, points);
    assert_int_equal(count, 81);
    TrackProfile profile = {0.3f, 0.05f, 0.02f, 16, false};
    SurfaceMesh surface;
    ErrorText error = {0};
    if (surface_mesh_track(&surface, points, count, &profile, &error) != 0) {
        fail_msg("%s", error.text);
    }
    check_surface(&surface, 25.0);
    Geometry *mesh = to_mesh(&surface, true);
    Shape shape = {.kind = SHAPE_MESH, .geometry = mesh};
    for (u32 i = 1; i + 2 < count; i++) {
        Vec3 middle = vec3_lerp(points[i], points[i + 1], 0.5f);
        Vec3 d = vec3_normalize_or(vec3_sub(points[i + 1], points[i]), vec3_zero());
        Vec3 right = vec3_normalize_or(vec3_cross(d, vec3(0, 1, 0)), vec3_zero());
        Vec3 up = vec3_cross(right, d);
        Ray ray = {vec3_add_scaled(middle, 0.3f, up), right};
        f32 t = 0, u = 0, v = 0;
        assert_true(shape_ray(&shape, vec3_zero(), quat_identity(), ray, 9, &t, NULL));
        ray.direction = vec3_neg(right);
        assert_true(shape_ray(&shape, vec3_zero(), quat_identity(), ray, 9, &u, NULL));
        ray.direction = vec3_neg(up);
        assert_true(shape_ray(&shape, vec3_zero(), quat_identity(), ray, 9, &v, NULL));
        expect_near("right half", t, 0.3, 0.01);
        expect_near("left half", u, 0.3, 0.01);
        expect_near("depth", v, 0.3, 0.01);
    }
    geometry_destroy(mesh);
    surface_mesh_finish(&surface);
}

static void smooth_paths(void **state)
{
    (void)state;
    Vec3 knots[12], out[12 * 8];
    for (u32 i = 0; i < 12; i++) {
        knots[i] = vec3((f32)cos(2 * M_PI * i / 12), 0.5f, (f32)sin(2 * M_PI * i / 12));
    }
    assert_int_equal(path_smooth(knots, 12, true, 8, out), 96);
    for (u32 i = 0; i < 96; i++) { /* near the circle through the knots */
        expect_near("circle", sqrt((f64)out[i].x * out[i].x + (f64)out[i].z * out[i].z), 1.0, 2e-3);
        expect_near("level", out[i].y, 0.5, 1e-6);
        if (i % 8 == 0) {
            assert_memory_equal(&out[i], &knots[i / 8], sizeof(Vec3));
        }
    }
    const Vec3 line[] = {{0, 0, 0}, {1, 1, 0}, {5, 5, 0}};
    assert_int_equal(path_smooth(line, 3, false, 4, out), 9);
    for (u32 i = 0; i < 9; i++) {
        expect_near("line", out[i].x, out[i].y, 1e-6);
        assert_true(i == 0 || out[i].x > out[i - 1].x);
    }
    assert_int_equal(path_smooth(line, 3, false, 1, out), 3);
    const Vec3 same[] = {{1, 0, 0}, {1, 0, 0}, {2, 0, 0}};
    u32 count = path_smooth(same, 3, false, 4, out);
    for (u32 i = 0; i < count; i++) {
        assert_true(vec3_is_finite(out[i]));
    }
    assert_int_equal(path_smooth(line, 0, false, 4, out), 0);
}

static void expect_error(const Vec3 *points, u32 count, TrackProfile profile, const char *text)
{
    SurfaceMesh surface;
    ErrorText error = {0};
    assert_true(surface_mesh_track(&surface, points, count, &profile, &error) < 0);
    if (strstr(error.text, text) == NULL) {
        fail_msg("got \"%s\", expected it to say \"%s\"", error.text, text);
    }
    assert_null(surface.positions);
}

static void invalid_tracks_are_refused(void **state)
{
    (void)state;
    TrackProfile good = {0.25f, 0.05f, 0.03f, 12, false};
    Vec3 points[] = {{0, 0, 0}, {1, 0, 0}, {2, 0, 1}, {2, 0, 2}};
    TrackProfile bad = good;
    bad.thickness = 0;
    expect_error(points, 4, bad, "thickness");
    bad = good;
    bad.rim = NAN;
    expect_error(points, 4, bad, "rim");
    bad = good;
    bad.segments = 65;
    expect_error(points, 4, bad, "65 segments");
    expect_error(points, 1, good, "1 points");
    points[2] = points[1];
    expect_error(points, 4, good, "points 1 and 2");
    points[2] = vec3(1, 5, 0.1f);
    expect_error(points, 4, good, "steeper than 80° after point 1");
    points[2] = vec3(0, 0, 0.1f);
    expect_error(points, 4, good, "100° at point 1");
    points[2].z = INFINITY;
    expect_error(points, 4, good, "point 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_shapes),
        cmocka_unit_test(hull),
        cmocka_unit_test(terrain),
        cmocka_unit_test(creases),
        cmocka_unit_test(straight_tracks),
        cmocka_unit_test(closed_track),
        cmocka_unit_test(winding_track),
        cmocka_unit_test(smooth_paths),
        cmocka_unit_test(invalid_tracks_are_refused),
    };
    return cmocka_run_group_tests_name("mesh_shapes", tests, NULL, NULL);
}
