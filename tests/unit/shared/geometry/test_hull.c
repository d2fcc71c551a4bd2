/*
 * test_hull.c: convex hulls against brute force over their points, and against closed formulas for
 * known solids.
 */
#include "shared/geometry/geometry.h"
#include "shared/math/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
// cmocka.h needs the first three headers above
#include <cmocka.h>

#include "tests/support/near.h"

enum {
    POINTS_MAX = 4096
};

static Vec3 random_in_cube(u64 seed, u64 i)
{
    return vec3(random_range(seed, 3 * i, -1, 1), random_range(seed, 3 * i + 1, -1, 1),
                random_range(seed, 3 * i + 2, -1, 1));
}

/* Evenly spread over the unit sphere (Fibonacci spiral). */
static Vec3 on_sphere(u32 i, u32 count)
{
    f64 y = 1.0 - (2.0 * i + 1.0) / count;
    f64 r = sqrt(1.0 - y * y);
    f64 angle = 2.399963229728653 * i;
    return vec3((f32)(r * cos(angle)), (f32)y, (f32)(r * sin(angle)));
}

static f64 height(const Hull *hull, u32 face, Vec3 p)
{
    Vec3 n = hull->normals[face];
    return (f64)n.x * (f64)p.x + (f64)n.y * (f64)p.y + (f64)n.z * (f64)p.z -
           (f64)hull->offsets[face];
}

static u32 corners_of(const Hull *hull, u32 face)
{
    u32 count = 0;
    u32 e = hull->face_edges[face];
    do {
        assert_int_equal(hull->edges[e].face, face);
        e = hull->edges[e].next;
        count++;
        assert_true(count <= hull->edge_count);
    } while (e != hull->face_edges[face]);
    return count;
}

/* Invariants of any hull; extent in metres. */
static void check_structure(const Hull *hull, f64 extent)
{
    u32 corners = 0;
    bool used[HULL_VERTICES_MAX] = {false};
    assert_true(hull->vertex_count >= 4 && hull->vertex_count <= HULL_VERTICES_MAX);
    assert_true(hull->face_count >= 4 && hull->face_count <= HULL_FACES_MAX);
    assert_true(hull->edge_count <= HULL_EDGES_MAX);
    /* Euler: V − E + F = 2. */
    assert_int_equal(hull->vertex_count + hull->face_count, hull->edge_count / 2 + 2);
    for (u32 e = 0; e < hull->edge_count; e++) {
        const HalfEdge *edge = &hull->edges[e];
        const HalfEdge *twin = &hull->edges[edge->twin];
        assert_int_equal(twin->twin, e);
        assert_int_equal(twin->origin, hull->edges[edge->next].origin);
        assert_int_equal(hull->edges[twin->next].origin, edge->origin);
        assert_true(twin->face != edge->face);
        used[edge->origin] = true;
    }
    for (u32 v = 0; v < hull->vertex_count; v++) {
        assert_true(used[v]);
    }
    for (u32 f = 0; f < hull->face_count; f++) {
        u32 count = corners_of(hull, f);
        assert_true(count >= 3);
        corners += count;
        expect_near("unit normal", vec3_length(hull->normals[f]), 1.0, 1e-6);
        u32 e = hull->face_edges[f];
        for (u32 i = 0; i < count; i++, e = hull->edges[e].next) {
            expect_near("corner on its face",
                        height(hull, f, hull->vertices[hull->edges[e].origin]), 0.0, 2e-5 * extent);
        }
        for (u32 v = 0; v < hull->vertex_count; v++) {
            assert_true(height(hull, f, hull->vertices[v]) <= 1e-6 * extent);
        }
        expect_near("inner ball", fmax(height(hull, f, hull->inside) + (f64)hull->inner_radius, 0),
                    0.0, 1e-6 * extent);
    }
    assert_int_equal(corners, hull->edge_count);
    assert_true(hull->inner_radius > 0.0f);
}

static void check_covers(const Hull *hull, const Vec3 *points, u32 count, f64 tolerance)
{
    for (u32 i = 0; i < count; i++) {
        for (u32 f = 0; f < hull->face_count; f++) {
            f64 h = height(hull, f, points[i]);
            if (!(h <= tolerance)) {
                fail_msg("point %u is %g m outside face %u", i, h, f);
            }
        }
    }
}

static Geometry *make(const Vec3 *points, u32 count, u32 limit)
{
    ErrorText error = {0};
    Geometry *geometry = geometry_hull(points, count, limit, &error);
    if (geometry == NULL) {
        fail_msg("no hull: %s", error.text);
    }
    assert_int_equal(geometry->kind, GEOMETRY_HULL);
    return geometry;
}

static u32 box_corners(Vec3 *points, Vec3 centre, Vec3 half)
{
    for (u32 i = 0; i < 8; i++) {
        Vec3 sign = vec3((i & 1) ? 1.0f : -1.0f, (i & 2) ? 1.0f : -1.0f, (i & 4) ? 1.0f : -1.0f);
        points[i] = vec3_add(centre, vec3_mul(half, sign));
    }
    return 8;
}

static void expect_inertia(const Geometry *geometry, Vec3 diagonal, f64 tolerance)
{
    Symmetric3 m = geometry->inertia;
    expect_near("xx", m.xx, diagonal.x, tolerance);
    expect_near("yy", m.yy, diagonal.y, tolerance);
    expect_near("zz", m.zz, diagonal.z, tolerance);
    expect_near("xy", m.xy, 0.0, tolerance);
    expect_near("xz", m.xz, 0.0, tolerance);
    expect_near("yz", m.yz, 0.0, tolerance);
}

/* Corners, duplicate corners, points inside, on faces and on edges: six quadrilaterals. */
static void box_with_points_all_over(void **state)
{
    (void)state;
    Vec3 points[1000];
    Vec3 half = vec3(0.5f, 0.3f, 0.8f), centre = vec3(3.0f, -2.0f, 1.0f);
    u32 count = box_corners(points, centre, half);
    count += box_corners(points + count, centre, half);
    while (count < 1000) {
        Vec3 p = random_in_cube(5, count);
        p.x = count % 3 == 0 ? 1.0f : p.x;
        p.y = count % 4 == 0 ? -1.0f : p.y;
        p.z = count % 5 == 0 ? 1.0f : p.z;
        points[count++] = vec3_add(centre, vec3_mul(half, p));
    }
    Geometry *geometry = make(points, count, HULL_VERTICES_MAX);
    const Hull *hull = &geometry->hull;
    check_structure(hull, 1.6);
    check_covers(hull, points, count, 1e-6);
    assert_int_equal(hull->vertex_count, 8);
    assert_int_equal(hull->face_count, 6);
    assert_int_equal(hull->edge_count, 24);
    for (u32 f = 0; f < 6; f++) {
        Vec3 a = vec3_abs(hull->normals[f]);
        expect_near("axis", f32_max(a.x, f32_max(a.y, a.z)), 1.0, 1e-6);
    }
    f64 volume = 8.0 * 0.5 * 0.3 * 0.8;
    expect_near("volume", geometry->volume, volume, 1e-6);
    expect_near("centre", vec3_distance(geometry->centre, centre), 0.0, 1e-6);
    expect_inertia(
        geometry,
        vec3((f32)(volume / 3 * (0.09 + 0.64)), (f32)(volume / 3 * 0.89), (f32)(volume / 3 * 0.34)),
        2e-6);
    expect_near("inner radius", hull->inner_radius, 0.3, 0.003);
    expect_near("reach", geometry->reach, sqrt(3.5 * 3.5 + 2.3 * 2.3 + 1.8 * 1.8), 1e-5);
    expect_near("bounds", geometry->bounds.max.z, 1.8, 1e-6);
    geometry_destroy(geometry);
}

static void known_solids(void **state)
{
    (void)state;
    /* Regular octahedron with corners at distance 1: V = 4/3, I = m/5 about each axis. */
    const Vec3 octahedron[] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
    Geometry *geometry = make(octahedron, 6, 64);
    check_structure(&geometry->hull, 2.0);
    assert_int_equal(geometry->hull.face_count, 8);
    expect_near("octahedron", geometry->volume, 4.0 / 3.0, 1e-6);
    f32 i = 4.0f / 3.0f / 5.0f;
    expect_inertia(geometry, vec3(i, i, i), 1e-6);
    expect_near("octahedron's ball", geometry->hull.inner_radius, 1.0 / sqrt(3.0), 0.005);
    geometry_destroy(geometry);
    /* Corner tetrahedron (0, a, b, c on the axes): V = abc/6, centre a quarter, about the centre
     * Ixx = 3/80 m (b² + c²), Ixy = +m ab/80. */
    const Vec3 tetrahedron[] = {{0, 0, 0}, {1, 0, 0}, {0, 2, 0}, {0, 0, 3}};
    geometry = make(tetrahedron, 4, 4);
    check_structure(&geometry->hull, 3.0);
    expect_near("tetrahedron", geometry->volume, 1.0, 1e-6);
    expect_near("its centre", vec3_distance(geometry->centre, vec3(0.25f, 0.5f, 0.75f)), 0, 1e-6);
    Symmetric3 m = geometry->inertia;
    expect_near("Ixx", m.xx, 3.0 / 80.0 * 13.0, 1e-6);
    expect_near("Iyy", m.yy, 3.0 / 80.0 * 10.0, 1e-6);
    expect_near("Izz", m.zz, 3.0 / 80.0 * 5.0, 1e-6);
    expect_near("Ixy", m.xy, 2.0 / 80.0, 1e-6);
    expect_near("Ixz", m.xz, 3.0 / 80.0, 1e-6);
    expect_near("Iyz", m.yz, 6.0 / 80.0, 1e-6);
    geometry_destroy(geometry);
}

/* A prism of 24 sides: two faces of 24 vertices and 24 quadrilaterals. */
static void prism(void **state)
{
    (void)state;
    Vec3 points[48];
    for (u32 i = 0; i < 24; i++) {
        f64 angle = 2.0 * M_PI * i / 24.0;
        points[i] = vec3((f32)cos(angle), -0.5f, (f32)sin(angle));
        points[i + 24] = vec3((f32)cos(angle), 0.5f, (f32)sin(angle));
    }
    Geometry *geometry = make(points, 48, 64);
    check_structure(&geometry->hull, 2.0);
    assert_int_equal(geometry->hull.vertex_count, 48);
    assert_int_equal(geometry->hull.face_count, 26);
    /* Regular n-gon of circumradius 1: A = n/2 sin(2π/n), polar moment A (2 + cos(2π/n)) / 6. */
    f64 area = 12.0 * sin(2.0 * M_PI / 24.0);
    expect_near("volume", geometry->volume, area, 1e-5);
    expect_near("Iyy", geometry->inertia.yy, area * (2.0 + cos(2.0 * M_PI / 24.0)) / 6.0, 1e-5);
    geometry_destroy(geometry);
}

static void random_clouds(void **state)
{
    (void)state;
    static Vec3 points[POINTS_MAX];
    for (u64 seed = 1; seed <= 60; seed++) {
        u32 count = 4 + (u32)(random_u64(seed, 99) % 60);
        f32 scale = seed % 3 == 0 ? 1e-3f : seed % 3 == 1 ? 1.0f : 500.0f;
        Vec3 shift = seed % 2 == 0 ? vec3_scale(vec3(5, -3, 2), scale) : vec3_zero();
        for (u32 i = 0; i < count; i++) {
            points[i] = vec3_add(shift, vec3_scale(random_in_cube(seed, i), scale));
        }
        Geometry *geometry = make(points, count, HULL_VERTICES_MAX);
        check_structure(&geometry->hull, 10.0 * (f64)scale);
        check_covers(&geometry->hull, points, count, 1e-5 * 2.0 * (f64)scale);
        for (u64 k = 0; k < 50; k++) {
            Vec3 d = random_in_cube(seed + 1000, k);
            u32 best = hull_support(&geometry->hull, d);
            f64 farthest = vec3_dot(geometry->hull.vertices[best], d);
            for (u32 i = 0; i < count; i++) {
                assert_true((f64)vec3_dot(points[i], d) <= farthest + 2e-5 * (f64)scale);
            }
        }
        geometry_destroy(geometry);
    }
}

/* Volume by Monte Carlo: independent of the sums over tetrahedra. */
static void volume_and_inertia_by_counting(void **state)
{
    (void)state;
    Vec3 points[40];
    for (u32 i = 0; i < 40; i++) {
        points[i] = vec3_mul(random_in_cube(77, i), vec3(1.0f, 0.6f, 0.8f));
    }
    Geometry *geometry = make(points, 40, 64);
    const Hull *hull = &geometry->hull;
    f64 n = 0.0, s[3] = {0}, ss[6] = {0};
    const u32 tries = 200000;
    for (u32 i = 0; i < tries; i++) {
        Vec3 p = random_in_cube(78, i);
        bool inside = true;
        for (u32 f = 0; f < hull->face_count && inside; f++) {
            inside = height(hull, f, p) <= 0.0;
        }
        if (inside) {
            f64 x = p.x - geometry->centre.x, y = p.y - geometry->centre.y;
            f64 z = p.z - geometry->centre.z;
            n += 1.0;
            s[0] += x, s[1] += y, s[2] += z;
            ss[0] += y * y + z * z, ss[1] += x * x + z * z, ss[2] += x * x + y * y;
            ss[3] -= x * y, ss[4] -= x * z, ss[5] -= y * z;
        }
    }
    f64 cell = 8.0 / tries;
    expect_near("volume", geometry->volume, n * cell, 0.02 * n * cell);
    expect_near("centre x", s[0] / n, 0.0, 0.01);
    expect_near("centre y", s[1] / n, 0.0, 0.01);
    expect_near("centre z", s[2] / n, 0.0, 0.01);
    const f32 got[6] = {geometry->inertia.xx, geometry->inertia.yy, geometry->inertia.zz,
                        geometry->inertia.xy, geometry->inertia.xz, geometry->inertia.yz};
    for (int i = 0; i < 6; i++) {
        expect_near("inertia", got[i], ss[i] * cell, 0.02 * ss[0] * cell);
    }
    geometry_destroy(geometry);
}

/* 64 points on a ball: the volume is below the ball's and above that of a coarser hull; then with
 * fewer and fewer vertices. */
static void limited_hulls_lose_little(void **state)
{
    (void)state;
    static Vec3 points[POINTS_MAX];
    for (u32 i = 0; i < POINTS_MAX; i++) {
        points[i] = on_sphere(i, POINTS_MAX);
    }
    const f64 ball = 4.0 / 3.0 * M_PI;
    const u32 limits[] = {64, 48, 32, 20, 12, 8, 6, 4};
    /* The polyhedra of largest volume in the unit ball: 6 vertices 4/3 (octahedron), 8 vertices
     * 1.8157, 12 vertices 2.5362 (icosahedron). A greedy choice must come close. */
    const f64 least[] = {0.90 * ball,   0.87 * ball,   0.81 * ball,      0.70 * ball,
                         0.88 * 2.5362, 0.85 * 1.8157, 0.80 * 4.0 / 3.0, 0.7 * 0.5132};
    f64 before = ball;
    for (u32 i = 0; i < PL_COUNT(limits); i++) {
        Geometry *geometry = make(points, POINTS_MAX, limits[i]);
        check_structure(&geometry->hull, 2.0);
        assert_true(geometry->hull.vertex_count <= limits[i]);
        if (!((f64)geometry->volume < before && (f64)geometry->volume >= least[i])) {
            fail_msg("limit %u: volume %g, expected %g to %g", limits[i], (f64)geometry->volume,
                     least[i], before);
        }
        before = (f64)geometry->volume;
        /* A hull with a vertex limit takes its vertices from the cloud. */
        for (u32 v = 0; v < geometry->hull.vertex_count; v++) {
            bool found = false;
            for (u32 k = 0; k < POINTS_MAX && !found; k++) {
                found = memcmp(&points[k], &geometry->hull.vertices[v], sizeof(Vec3)) == 0;
            }
            assert_true(found);
        }
        geometry_destroy(geometry);
    }
    Vec3 few[64];
    for (u32 i = 0; i < 64; i++) {
        few[i] = on_sphere(i, 64);
    }
    Geometry *geometry = make(few, 64, 64);
    assert_int_equal(geometry->hull.vertex_count, 64);
    assert_true((f64)geometry->volume < ball && (f64)geometry->volume > 0.9 * ball);
    geometry_destroy(geometry);
}

/* A box with slightly truncated corners: with eight vertices it is the box less the corners. */
static void limit_keeps_the_largest_volume(void **state)
{
    (void)state;
    Vec3 points[24], corners[8];
    box_corners(corners, vec3_zero(), vec3(1, 1, 1));
    for (u32 i = 0; i < 8; i++) {
        points[3 * i] = vec3_mul(corners[i], vec3(0.95f, 1, 1));
        points[3 * i + 1] = vec3_mul(corners[i], vec3(1, 0.95f, 1));
        points[3 * i + 2] = vec3_mul(corners[i], vec3(1, 1, 0.95f));
    }
    Geometry *whole = make(points, 24, 64);
    check_structure(&whole->hull, 2.0);
    assert_int_equal(whole->hull.vertex_count, 24);
    assert_int_equal(whole->hull.face_count, 14);
    expect_near("cut box", whole->volume, 8.0 - 8.0 * 0.05 * 0.05 * 0.05 / 6.0, 1e-5);
    Geometry *limited = make(points, 24, 8);
    check_structure(&limited->hull, 2.0);
    assert_true((f64)limited->volume > 0.88 * 8.0 && limited->volume < whole->volume);
    geometry_destroy(whole);
    geometry_destroy(limited);
}

/* Points on a plane with noise near the tolerance, slivers, needles, duplicates. */
static void degenerate_clouds(void **state)
{
    (void)state;
    static Vec3 points[2000];
    for (u64 seed = 0; seed < 120; seed++) {
        u32 count = 0;
        f32 noise = 1e-8f * (f32)(1u << (seed % 16));
        while (count < (seed % 4 == 0 ? 2000u : 200u)) {
            Vec3 p = random_in_cube(seed, count);
            switch (seed % 6) {
            case 0: /* a rough cube */
                p.x = p.x > 0 ? 1 + noise * p.y : -1 + noise * p.z;
                break;
            case 1: /* a plate of 0.5 mm */
                p.y *= 2.5e-4f;
                break;
            case 2: /* a needle */
                p.x *= 1e-3f, p.z *= 1e-3f;
                break;
            case 3: /* a lattice: many collinear and coplanar points */
                p = vec3(roundf(2 * p.x), roundf(2 * p.y), roundf(2 * p.z));
                break;
            case 4: /* a tessellated drum with noise */
                p = vec3((f32)cos(count * 0.7853981633974483), roundf(p.y),
                         (f32)sin(count * 0.7853981633974483));
                p = vec3_add_scaled(p, noise, random_in_cube(seed + 7, count));
                break;
            default: /* few distinct points, each with noise */
                p = vec3_add_scaled(random_in_cube(seed, count % 9), noise, p);
                break;
            }
            points[count++] = p;
        }
        Geometry *geometry = make(points, count, HULL_VERTICES_MAX);
        check_structure(&geometry->hull, 4.0);
        if (seed % 6 >= 3) { /* the others have more extreme points than the vertex limit */
            check_covers(&geometry->hull, points, count, 4e-5);
        }
        assert_true(geometry->volume > 0.0f);
        geometry_destroy(geometry);
    }
}

static void same_points_same_hull(void **state)
{
    (void)state;
    Vec3 points[500];
    for (u32 i = 0; i < 500; i++) {
        points[i] = random_in_cube(9, i);
    }
    Geometry *a = make(points, 500, 24), *b = make(points, 500, 24);
    assert_int_equal(a->hull.vertex_count, b->hull.vertex_count);
    assert_int_equal(a->hull.edge_count, b->hull.edge_count);
    assert_memory_equal(a->hull.vertices, b->hull.vertices, a->hull.vertex_count * sizeof(Vec3));
    assert_memory_equal(a->hull.offsets, b->hull.offsets, a->hull.face_count * sizeof(f32));
    assert_memory_equal(a->hull.edges, b->hull.edges, a->hull.edge_count * sizeof(HalfEdge));
    assert_true(geometry_bytes(a) == geometry_bytes(b) && geometry_bytes(a) > 1000);
    geometry_destroy(a);
    geometry_destroy(b);
}

static void expect_error(const Vec3 *points, u32 count, u32 limit, const char *text)
{
    ErrorText error = {0};
    assert_null(geometry_hull(points, count, limit, &error));
    assert_true(error.code < 0);
    if (strstr(error.text, text) == NULL) {
        fail_msg("got \"%s\", expected it to say \"%s\"", error.text, text);
    }
    assert_null(geometry_hull(points, count, limit, NULL));
}

static void invalid_hulls_are_refused(void **state)
{
    (void)state;
    Vec3 p[8];
    box_corners(p, vec3_zero(), vec3(1, 1, 1));
    expect_error(p, 3, 64, "3 points");
    expect_error(p, 8, 3, "vertex limit 3");
    expect_error(p, 8, 65, "vertex limit 65");
    p[5].y = NAN;
    expect_error(p, 8, 64, "point 5");
    p[5].y = INFINITY;
    expect_error(p, 8, 64, "point 5");
    p[5].y = 1e30f;
    expect_error(p, 8, 64, "point 5");
    box_corners(p, vec3_zero(), vec3(1, 4e-5f, 1));
    expect_error(p, 8, 64, "in a plane");
    box_corners(p, vec3_zero(), vec3(1, 1e-5f, 1e-5f));
    expect_error(p, 8, 64, "in a line");
    box_corners(p, vec3(7, 0, 0), vec3_zero());
    expect_error(p, 8, 64, "extent");
    geometry_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(box_with_points_all_over),
        cmocka_unit_test(known_solids),
        cmocka_unit_test(prism),
        cmocka_unit_test(random_clouds),
        cmocka_unit_test(volume_and_inertia_by_counting),
        cmocka_unit_test(limited_hulls_lose_little),
        cmocka_unit_test(limit_keeps_the_largest_volume),
        cmocka_unit_test(degenerate_clouds),
        cmocka_unit_test(same_points_same_hull),
        cmocka_unit_test(invalid_hulls_are_refused),
    };
    return cmocka_run_group_tests_name("hull", tests, NULL, NULL);
}
