/*
 * test_mesh.c: triangle meshes against brute force over all triangles, mass properties of closed
 * ones against closed formulas, and flags of edges with known angles.
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

#include "tests/support/exact_ray.h"
#include "tests/support/near.h"

enum {
    VERTICES_MAX = 20000,
    TRIANGLES_MAX = 40000
};

typedef struct Soup {
    Vec3 vertices[VERTICES_MAX];
    u32 triangles[3 * TRIANGLES_MAX];
    u32 vertex_count, triangle_count;
} Soup;

static Soup soup;

static void soup_clear(void)
{
    soup.vertex_count = 0;
    soup.triangle_count = 0;
}

static u32 soup_vertex(f64 x, f64 y, f64 z)
{
    assert_true(soup.vertex_count < VERTICES_MAX);
    soup.vertices[soup.vertex_count] = vec3((f32)x, (f32)y, (f32)z);
    return soup.vertex_count++;
}

static void soup_triangle(u32 a, u32 b, u32 c)
{
    assert_true(soup.triangle_count < TRIANGLES_MAX);
    u32 *corner = &soup.triangles[3 * soup.triangle_count++];
    corner[0] = a;
    corner[1] = b;
    corner[2] = c;
}

/* Four corners, counter-clockwise seen from the front. */
static void soup_quad(u32 a, u32 b, u32 c, u32 d)
{
    soup_triangle(a, b, c);
    soup_triangle(a, c, d);
}

static void soup_box(Vec3 c, Vec3 h)
{
    static const u8 faces[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4},
                                   {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};
    u32 base = soup.vertex_count;
    for (u32 i = 0; i < 8; i++) {
        soup_vertex(c.x + ((i & 1) ? h.x : -h.x), c.y + ((i & 2) ? h.y : -h.y),
                    c.z + ((i & 4) ? h.z : -h.z));
    }
    for (u32 f = 0; f < 6; f++) {
        soup_quad(base + faces[f][0], base + faces[f][1], base + faces[f][2], base + faces[f][3]);
    }
}

/* Every quadrilateral has its own four vertices: edges are matched by position only. */
static void soup_torus(f64 big, f64 small, u32 around, u32 across)
{
    for (u32 i = 0; i < around; i++) {
        for (u32 j = 0; j < across; j++) {
            u32 corner[4];
            for (u32 k = 0; k < 4; k++) {
                f64 u = 2 * M_PI * ((i + (k == 1 || k == 2)) % around) / around;
                f64 v = 2 * M_PI * ((j + (k >= 2)) % across) / across;
                f64 r = big + small * cos(v);
                corner[k] = soup_vertex(r * cos(u), small * sin(v), r * sin(u));
            }
            soup_quad(corner[3], corner[2], corner[1], corner[0]);
        }
    }
}

static void soup_sphere(f64 radius, u32 rings, u32 columns)
{
    u32 base = soup.vertex_count;
    for (u32 i = 0; i <= rings; i++) {
        for (u32 j = 0; j < columns; j++) {
            f64 a = M_PI * i / rings, b = 2 * M_PI * j / columns;
            f64 r = i == 0 || i == rings ? 0.0 : radius * sin(a);
            soup_vertex(r * cos(b), radius * cos(a), r * sin(b));
        }
    }
    for (u32 i = 0; i < rings; i++) {
        for (u32 j = 0; j < columns; j++) {
            u32 a = base + i * columns + j, b = base + i * columns + (j + 1) % columns;
            soup_quad(a, b, b + columns, a + columns);
        }
    }
}

static Geometry *make(u32 *dropped)
{
    ErrorText error = {0};
    Geometry *geometry = geometry_mesh(soup.vertices, soup.vertex_count, soup.triangles,
                                       soup.triangle_count, dropped, &error);
    if (geometry == NULL) {
        fail_msg("no mesh: %s", error.text);
    }
    assert_int_equal(geometry->kind, GEOMETRY_MESH);
    return geometry;
}

/* Every node contains its triangles, every triangle lies in exactly one leaf. */
static void check_tree(const TriangleMesh *mesh)
{
    u8 *seen = calloc(mesh->triangle_count, 1);
    for (u32 n = 0; n < mesh->node_count; n++) {
        const MeshNode *node = &mesh->nodes[n];
        if (node->count == 0) {
            assert_true(node->first > n + 1 && node->first < mesh->node_count);
            for (int side = 0; side < 2; side++) {
                Bounds b = mesh->nodes[side ? node->first : n + 1].bounds;
                assert_true(b.min.x >= node->bounds.min.x && b.max.x <= node->bounds.max.x);
                assert_true(b.min.y >= node->bounds.min.y && b.max.y <= node->bounds.max.y);
                assert_true(b.min.z >= node->bounds.min.z && b.max.z <= node->bounds.max.z);
            }
            continue;
        }
        for (u32 i = node->first; i < node->first + node->count; i++) {
            Vec3 p[3];
            assert_true(i < mesh->triangle_count && mesh->order[i] < mesh->triangle_count);
            assert_int_equal(seen[mesh->order[i]]++, 0);
            mesh_triangle(mesh, mesh->order[i], p);
            for (int k = 0; k < 3; k++) {
                assert_true(p[k].x >= node->bounds.min.x && p[k].x <= node->bounds.max.x);
                assert_true(p[k].y >= node->bounds.min.y && p[k].y <= node->bounds.max.y);
                assert_true(p[k].z >= node->bounds.min.z && p[k].z <= node->bounds.max.z);
            }
        }
    }
    for (u32 t = 0; t < mesh->triangle_count; t++) {
        assert_int_equal(seen[t], 1);
    }
    free(seen);
}

static void box_mass(void **state)
{
    (void)state;
    soup_clear();
    soup_box(vec3(4, -2, 7), vec3(0.5f, 1.0f, 1.5f));
    u32 dropped = 99;
    Geometry *geometry = make(&dropped);
    assert_int_equal(dropped, 0);
    assert_true(geometry->mesh.closed);
    check_tree(&geometry->mesh);
    expect_near("volume", geometry->volume, 6.0, 1e-5);
    expect_near("centre", vec3_distance(geometry->centre, vec3(4, -2, 7)), 0.0, 1e-6);
    expect_near("Ixx", geometry->inertia.xx, 6.0 / 3 * (1 + 2.25), 1e-5);
    expect_near("Iyy", geometry->inertia.yy, 6.0 / 3 * (0.25 + 2.25), 1e-5);
    expect_near("Izz", geometry->inertia.zz, 6.0 / 3 * (0.25 + 1), 1e-5);
    expect_near("Ixy", geometry->inertia.xy, 0.0, 1e-5);
    /* The twelve edges of a box are active, the diagonals of its faces are not. */
    u32 active = 0;
    for (u32 t = 0; t < 12; t++) {
        Vec3 p[3];
        u8 flags = mesh_triangle(&geometry->mesh, t, p);
        for (int i = 0; i < 3; i++) {
            Vec3 e = vec3_abs(vec3_sub(p[(i + 1) % 3], p[i]));
            bool diagonal = (e.x > 0) + (e.y > 0) + (e.z > 0) > 1;
            assert_int_equal((flags >> i) & 1, diagonal ? 0 : 1);
            active += (flags >> i) & 1;
        }
    }
    assert_int_equal(active, 24);
    geometry_destroy(geometry);
}

/* Solids of revolution: the torus with unwelded vertices, the sphere with collapsed triangles at
 * its poles. The formulas are of the smooth solids, which 160 segments approximate. */
static void round_solids(void **state)
{
    (void)state;
    soup_clear();
    soup_torus(1.0, 0.3, 96, 48);
    Geometry *geometry = make(NULL);
    assert_true(geometry->mesh.closed);
    check_tree(&geometry->mesh);
    f64 volume = 2 * M_PI * M_PI * 1.0 * 0.09;
    expect_near("torus", geometry->volume, volume, 0.01 * volume);
    f64 mass = geometry->volume;
    expect_near("torus along", geometry->inertia.yy, mass * (1.0 + 0.75 * 0.09), 0.01 * mass);
    expect_near("torus across", geometry->inertia.xx, mass * (0.5 + 0.625 * 0.09), 0.01 * mass);
    expect_near("torus across", geometry->inertia.zz, geometry->inertia.xx, 1e-4);
    geometry_destroy(geometry);
    soup_clear();
    soup_sphere(2.0, 60, 120);
    u32 dropped = 0;
    geometry = make(&dropped);
    assert_int_equal(dropped, 240);
    assert_int_equal(geometry->mesh.triangle_count, 60 * 120 * 2 - 240);
    assert_true(geometry->mesh.closed);
    volume = 4.0 / 3.0 * M_PI * 8;
    expect_near("sphere", geometry->volume, volume, 0.003 * volume);
    expect_near("sphere's inertia", geometry->inertia.zz, 0.4 * volume * 4, 0.006 * 1.6 * volume);
    expect_near("reach", geometry->reach, 2.0, 1e-6);
    geometry_destroy(geometry);
}

/* A gable of two planes at an angle; with `sign` −1 a valley. */
static u8 ridge_flags(f64 degrees, f64 sign)
{
    soup_clear();
    f64 drop = sign * tan(degrees / 2 * M_PI / 180);
    u32 a = soup_vertex(0, 0, -1), b = soup_vertex(0, 0, 1);
    u32 left = soup_vertex(-1, -drop, 0), right = soup_vertex(1, -drop, 0);
    soup_triangle(a, b, right);
    soup_triangle(b, a, left);
    Geometry *geometry = make(NULL);
    Vec3 p[3];
    u8 flags = mesh_triangle(&geometry->mesh, 0, p);
    assert_int_equal(flags, mesh_triangle(&geometry->mesh, 1, p));
    assert_false(geometry->mesh.closed);
    assert_true(geometry->volume == 0.0f);
    geometry_destroy(geometry);
    assert_int_equal(flags & 6, 6); /* the open edges */
    return flags & 1;
}

static void edges_are_active_where_convex(void **state)
{
    (void)state;
    assert_int_equal(ridge_flags(0.0, 1), 0);
    assert_int_equal(ridge_flags(0.8, 1), 0);
    assert_int_equal(ridge_flags(1.2, 1), 1);
    assert_int_equal(ridge_flags(90.0, 1), 1);
    assert_int_equal(ridge_flags(170.0, 1), 1);
    assert_int_equal(ridge_flags(1.2, -1), 0);
    assert_int_equal(ridge_flags(90.0, -1), 0);
    assert_int_equal(ridge_flags(170.0, -1), 0);
    /* Three triangles at one edge; and two with opposite orientation. */
    soup_clear();
    u32 a = soup_vertex(0, 0, 0), b = soup_vertex(1, 0, 0);
    soup_triangle(a, b, soup_vertex(0, 0, -1));
    soup_triangle(b, a, soup_vertex(0, 0, 1));
    soup_triangle(b, a, soup_vertex(0, -1, 1));
    Geometry *geometry = make(NULL);
    for (u32 t = 0; t < 3; t++) {
        assert_int_equal(geometry->mesh.edge_flags[t], 7);
    }
    geometry_destroy(geometry);
    soup_clear();
    a = soup_vertex(0, 0, 0), b = soup_vertex(1, 0, 0);
    soup_triangle(a, b, soup_vertex(0, 0, -1));
    soup_triangle(a, b, soup_vertex(0, 0, 1));
    geometry = make(NULL);
    assert_int_equal(geometry->mesh.edge_flags[0], 7);
    geometry_destroy(geometry);
}

/* A box with one triangle missing is open; with all triangles inside out it is closed but has no
 * positive volume. */
static void open_and_inside_out(void **state)
{
    (void)state;
    soup_clear();
    soup_box(vec3_zero(), vec3(1, 1, 1));
    soup.triangle_count--;
    Geometry *geometry = make(NULL);
    assert_false(geometry->mesh.closed);
    assert_true(geometry->volume == 0.0f && geometry->inertia.xx == 0.0f);
    geometry_destroy(geometry);
    soup_clear();
    soup_box(vec3_zero(), vec3(-1, -1, -1));
    geometry = make(NULL);
    assert_true(geometry->mesh.closed);
    assert_true(geometry->volume == 0.0f);
    geometry_destroy(geometry);
}

static Vec3 random_vec3(u64 seed, u64 i, f32 size)
{
    return vec3(random_range(seed, 3 * i, -size, size), random_range(seed, 3 * i + 1, -size, size),
                random_range(seed, 3 * i + 2, -size, size));
}

static void soup_random(u64 seed, u32 count, f32 size)
{
    soup_clear();
    for (u32 i = 0; i < count; i++) {
        Vec3 c = random_vec3(seed, 4 * i, 3.0f);
        u32 corner[3];
        for (u32 k = 0; k < 3; k++) {
            Vec3 p = vec3_add(c, random_vec3(seed, 4 * i + k + 1, size));
            corner[k] = soup_vertex(p.x, p.y, p.z);
        }
        soup_triangle(corner[0], corner[1], corner[2]);
    }
}

typedef struct Visits {
    const TriangleMesh *mesh;
    Bounds box;
    u32 count, stop_after;
    u8 seen[TRIANGLES_MAX];
} Visits;

static bool overlaps(const TriangleMesh *mesh, u32 triangle, Bounds b)
{
    Vec3 p[3];
    mesh_triangle(mesh, triangle, p);
    return triangle_bounds_overlap(p, b);
}

static bool visit(void *context, u32 triangle)
{
    Visits *visits = context;
    assert_true(triangle < visits->mesh->triangle_count);
    assert_int_equal(visits->seen[triangle]++, 0);
    assert_true(overlaps(visits->mesh, triangle, visits->box));
    return ++visits->count != visits->stop_after;
}

static void boxes_find_what_brute_force_finds(void **state)
{
    (void)state;
    static Visits visits;
    soup_random(3, 3000, 0.3f);
    Geometry *geometry = make(NULL);
    check_tree(&geometry->mesh);
    u32 found = 0;
    for (u64 i = 0; i < 300; i++) {
        Vec3 c = random_vec3(4, 2 * i, 3.5f);
        Vec3 h = vec3_abs(random_vec3(4, 2 * i + 1, i % 10 == 0 ? 3.0f : 0.4f));
        memset(&visits, 0, sizeof visits);
        visits.mesh = &geometry->mesh;
        visits.box = (Bounds){vec3_sub(c, h), vec3_add(c, h)};
        mesh_query(&geometry->mesh, visits.box, visit, &visits);
        u32 expected = 0;
        for (u32 t = 0; t < geometry->mesh.triangle_count; t++) {
            expected += overlaps(&geometry->mesh, t, visits.box);
        }
        assert_int_equal(visits.count, expected);
        found += expected;
        if (expected > 3) {
            memset(visits.seen, 0, sizeof visits.seen);
            visits.count = 0;
            visits.stop_after = 2;
            mesh_query(&geometry->mesh, visits.box, visit, &visits);
            assert_int_equal(visits.count, 2);
        }
    }
    assert_true(found > 3000);
    geometry_destroy(geometry);
}

static f64 brute_ray(const TriangleMesh *mesh, Vec3 origin, Vec3 direction, f64 *rim)
{
    ExactRay ray = {INFINITY, 1.0};
    for (u32 t = 0; t < mesh->triangle_count; t++) {
        Vec3 p[3];
        mesh_triangle(mesh, t, p);
        exact_ray_add(&ray, p, origin, direction);
    }
    *rim = ray.rim;
    return ray.best;
}

static void rays_hit_what_brute_force_hits(void **state)
{
    (void)state;
    for (u64 scene = 0; scene < 3; scene++) {
        soup_clear();
        if (scene == 0) {
            soup_random(5, 1500, 0.5f);
        } else if (scene == 1) {
            soup_torus(2.0, 0.8, 40, 20);
        } else {
            for (u32 i = 0; i < 60; i++) {
                soup_box(
                    random_vec3(6, 2 * i, 3.0f),
                    vec3_add(vec3_abs(random_vec3(6, 2 * i + 1, 0.5f)), vec3(0.1f, 0.1f, 0.1f)));
            }
        }
        Geometry *geometry = make(NULL);
        Shape shape = {.kind = SHAPE_MESH, .geometry = geometry};
        u32 hits = 0;
        for (u64 i = 0; i < 800; i++) {
            Ray ray = {random_vec3(7, 2 * i, 6.0f), vec3_zero()};
            Vec3 to = random_vec3(7, 2 * i + 1, 3.0f);
            ray.direction = vec3_normalize_or(vec3_sub(to, ray.origin), vec3(1, 0, 0));
            if (i % 8 == 0) { /* parallel to an axis: two zero components */
                ray.direction = i % 16 == 0 ? vec3(0, -1, 0) : vec3(1, 0, 0);
            }
            f64 rim;
            f64 expected = brute_ray(&geometry->mesh, ray.origin, ray.direction, &rim);
            f32 t = -1;
            Vec3 n = vec3_zero();
            bool hit = shape_ray(&shape, vec3_zero(), quat_identity(), ray, 50, &t, &n);
            if (rim > 1e-9) {
                assert_int_equal(hit, expected < 50);
            }
            if (hit && rim > 1e-9) {
                expect_near("distance", t, expected, 1e-5);
                expect_near("normal", vec3_length(n), 1.0, 1e-5);
                assert_true(vec3_dot(n, ray.direction) <= 1e-6f);
                assert_false(
                    shape_ray(&shape, vec3_zero(), quat_identity(), ray, t * 0.999f, NULL, NULL));
                hits++;
            }
        }
        assert_true(hits > 100);
        geometry_destroy(geometry);
    }
}

/* Rays exactly at corners and edges of a closed surface find no gap. */
static void no_ray_slips_through_an_edge(void **state)
{
    (void)state;
    soup_clear();
    soup_sphere(1.0, 24, 36);
    Geometry *geometry = make(NULL);
    const TriangleMesh *mesh = &geometry->mesh;
    Shape shape = {.kind = SHAPE_MESH, .geometry = geometry};
    for (u32 t = 0; t < mesh->triangle_count; t++) {
        Vec3 p[3];
        mesh_triangle(mesh, t, p);
        for (u32 i = 0; i < 3; i++) {
            for (u64 k = 0; k < 4; k++) {
                Vec3 to = vec3_lerp(p[i], p[(i + 1) % 3], 0.25f * (f32)k);
                /* From inside: in any direction the ray must hit the surface. */
                Vec3 from = random_vec3(11, t * 12 + i * 4 + k, 0.3f);
                Ray ray = {from, vec3_normalize_or(vec3_sub(to, from), vec3(1, 0, 0))};
                f32 distance;
                assert_true(
                    shape_ray(&shape, vec3_zero(), quat_identity(), ray, 9, &distance, NULL));
                expect_near("distance", distance, vec3_distance(from, to), 2e-6);
            }
        }
    }
    geometry_destroy(geometry);
}

/* The same ray in space for any pose. */
static void rays_at_a_pose(void **state)
{
    (void)state;
    soup_clear();
    soup_torus(2.0, 0.8, 40, 20);
    Geometry *geometry = make(NULL);
    Shape shape = {.kind = SHAPE_MESH, .geometry = geometry};
    Quat q = quat_normalize((Quat){0.3f, -0.5f, 0.7f, 0.2f});
    Vec3 at = vec3(5, 6, -7);
    u32 hits = 0;
    for (u64 i = 0; i < 500; i++) {
        Ray ray = {random_vec3(8, 2 * i, 6.0f), vec3_zero()};
        Vec3 to = random_vec3(8, 2 * i + 1, 2.0f);
        ray.direction = vec3_normalize_or(vec3_sub(to, ray.origin), vec3(1, 0, 0));
        Ray moved = {vec3_add(at, quat_rotate(q, ray.origin)), quat_rotate(q, ray.direction)};
        f32 t = 0, u = 0;
        Vec3 n = vec3_zero(), m = vec3_zero();
        bool hit = shape_ray(&shape, vec3_zero(), quat_identity(), ray, 50, &t, &n);
        bool again = shape_ray(&shape, at, q, moved, 50, &u, &m);
        if (hit && again && fabsf(t - u) < 1e-3f) {
            expect_near("distance", u, t, 2e-4);
            hits++;
        } else {
            assert_true(hit == again); /* grazing hits may differ in distance */
        }
    }
    assert_true(hits > 100);
    Bounds b = shape_bounds(&shape, at, q);
    for (u32 i = 0; i < geometry->mesh.vertex_count; i++) {
        Vec3 v = vec3_add(at, quat_rotate(q, geometry->mesh.vertices[i]));
        assert_true(v.x >= b.min.x && v.x <= b.max.x && v.y >= b.min.y && v.y <= b.max.y &&
                    v.z >= b.min.z && v.z <= b.max.z);
    }
    geometry_destroy(geometry);
}

/* Hard cases for trees: all in one place, on a line, sizes from 1 µm to 1 km. */
static void hard_trees(void **state)
{
    (void)state;
    soup_clear();
    for (u32 i = 0; i < 5000; i++) {
        soup_triangle(soup_vertex(0, 0, 0), soup_vertex(1, 0, 0), soup_vertex(0, 1, 0));
    }
    Geometry *geometry = make(NULL);
    check_tree(&geometry->mesh);
    geometry_destroy(geometry);
    soup_clear();
    for (u32 i = 0; i < 5000; i++) {
        f64 s = 1e-3 * pow(1.0028, i);
        soup_triangle(soup_vertex(s, 0, 0), soup_vertex(s, s, 0), soup_vertex(s, 0, s));
    }
    geometry = make(NULL);
    check_tree(&geometry->mesh);
    Shape shape = {.kind = SHAPE_MESH, .geometry = geometry};
    Ray ray = {vec3(-1, 1e-4f, 1e-4f), vec3(1, 0, 0)};
    f32 t;
    assert_true(shape_ray(&shape, vec3_zero(), quat_identity(), ray, 10, &t, NULL));
    expect_near("first of many", t, 1.001, 1e-6);
    geometry_destroy(geometry);
}

static void expect_error(const char *text)
{
    ErrorText error = {0};
    u32 dropped;
    assert_null(geometry_mesh(soup.vertices, soup.vertex_count, soup.triangles, soup.triangle_count,
                              &dropped, &error));
    assert_true(error.code < 0);
    if (strstr(error.text, text) == NULL) {
        fail_msg("got \"%s\", expected it to say \"%s\"", error.text, text);
    }
}

static void invalid_meshes_are_refused(void **state)
{
    (void)state;
    soup_clear();
    soup_box(vec3_zero(), vec3(1, 1, 1));
    soup.triangles[16] = 8;
    expect_error("triangle 5: vertex 8, expected below 8");
    soup.triangles[16] = 0;
    soup.vertices[6].z = NAN;
    expect_error("vertex 6");
    soup.vertices[6].z = 1e6f;
    expect_error("vertex 6");
    soup.vertices[6].z = 0;
    soup.triangle_count = 0;
    expect_error("0 triangles");
    soup_clear();
    u32 a = soup_vertex(0, 0, 0), b = soup_vertex(1, 1, 1), c = soup_vertex(2, 2, 2);
    soup_triangle(a, b, c);
    soup_triangle(a, a, b);
    expect_error("none of the 2 triangles");
    soup_clear();
    soup_box(vec3_zero(), vec3(1e-6f, 1e-6f, 1e-6f));
    expect_error("extent");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(box_mass),
        cmocka_unit_test(round_solids),
        cmocka_unit_test(edges_are_active_where_convex),
        cmocka_unit_test(open_and_inside_out),
        cmocka_unit_test(boxes_find_what_brute_force_finds),
        cmocka_unit_test(rays_hit_what_brute_force_hits),
        cmocka_unit_test(no_ray_slips_through_an_edge),
        cmocka_unit_test(rays_at_a_pose),
        cmocka_unit_test(hard_trees),
        cmocka_unit_test(invalid_meshes_are_refused),
    };
    return cmocka_run_group_tests_name("mesh", tests, NULL, NULL);
}
