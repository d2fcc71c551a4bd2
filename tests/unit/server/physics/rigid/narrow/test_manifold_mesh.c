/* test_manifold_mesh.c: convex shapes on triangle meshes and terrains, and compounds: triangulated
 * flat ground acts as a plane, ridges and corners collide, and near triangles are found. */
#include "tests/unit/server/physics/rigid/solids.h"

#include "server/physics/rigid/narrow/gjk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
    SIDE = 20
};

typedef f32 HeightAt(f32 x, f32 z);

/* SIDE × SIDE cells of `spacing` about the origin, as an open mesh. */
static Geometry *grid_mesh(HeightAt *height, u32 side, f32 spacing)
{
    u32 count = (side + 1) * (side + 1);
    Vec3 *v = malloc(count * sizeof(*v));
    u32 *t = malloc((size_t)side * side * 6 * sizeof(*t));
    assert_true(v != NULL && t != NULL);
    for (u32 j = 0; j <= side; j++) {
        for (u32 i = 0; i <= side; i++) {
            f32 x = ((f32)i - 0.5f * (f32)side) * spacing,
                z = ((f32)j - 0.5f * (f32)side) * spacing;
            v[j * (side + 1) + i] = vec3(x, height(x, z), z);
        }
    }
    u32 n = 0;
    for (u32 j = 0; j < side; j++) {
        for (u32 i = 0; i < side; i++) {
            u32 a = j * (side + 1) + i, b = a + 1, c = a + side + 1, d = c + 1;
            u32 corners[6] = {a, d, b, a, c, d};
            memcpy(&t[n], corners, sizeof(corners));
            n += 6;
        }
    }
    ErrorText error;
    Geometry *g = geometry_mesh(v, count, t, n / 3, NULL, &error);
    assert_non_null(g);
    free(v);
    free(t);
    return g;
}

static Geometry *grid_terrain(HeightAt *height, u32 side, f32 spacing)
{
    u32 columns = side + 1;
    f32 *h = malloc((size_t)columns * columns * sizeof(*h));
    assert_non_null(h);
    for (u32 j = 0; j < columns; j++) {
        for (u32 i = 0; i < columns; i++) {
            f32 x = ((f32)i - 0.5f * (f32)side) * spacing,
                z = ((f32)j - 0.5f * (f32)side) * spacing;
            h[j * columns + i] = height(x, z);
        }
    }
    ErrorText error;
    Geometry *g = geometry_terrain(h, columns, columns, spacing, &error);
    assert_non_null(g);
    free(h);
    return g;
}

static f32 flat(f32 x, f32 z)
{
    PL_UNUSED(x);
    PL_UNUSED(z);
    return 0.0f;
}

/* Rolling hills, bumps of 0.4 m, without transcendental functions. */
static f32 hills(f32 x, f32 z)
{
    f32 u = x - floorf(x / 4.0f) * 4.0f - 2.0f, w = z - floorf(z / 5.0f) * 5.0f - 2.5f;
    return 0.1f * u * u - 0.07f * w * w;
}

static f32 valley(f32 x, f32 z)
{
    PL_UNUSED(z);
    return fabsf(x);
}

static f32 ridge(f32 x, f32 z)
{
    PL_UNUSED(z);
    return -fabsf(x);
}

typedef struct Ground {
    Geometry *geometry;
    Shape shape;
    ShapePose pose;
} Ground;

static void ground_set(Ground *g, Geometry *geometry)
{
    memset(g, 0, sizeof(*g));
    g->geometry = geometry;
    g->shape.kind = geometry->kind == GEOMETRY_MESH ? SHAPE_MESH : SHAPE_TERRAIN;
    g->shape.geometry = geometry;
    g->pose.shape = &g->shape;
    g->pose.orientation = quat_identity();
}

static f32 deepest(const Manifold *m, u32 count)
{
    f32 d = INFINITY;
    for (u32 k = 0; k < count; k++) {
        for (u32 i = 0; i < m[k].count; i++) {
            d = f32_min(d, m[k].points[i].separation);
        }
    }
    return d;
}

static void check_form(const Manifold *m, u32 count, f32 margin)
{
    u32 features[MANIFOLDS_MAX * MANIFOLD_POINTS], n = 0;
    assert_true(count <= MANIFOLDS_MAX);
    for (u32 k = 0; k < count; k++) {
        assert_in_range(m[k].count, 1, MANIFOLD_POINTS);
        assert_float_equal(vec3_length(m[k].normal), 1.0f, 1e-5f);
        for (u32 i = 0; i < m[k].count; i++) {
            assert_true(vec3_is_finite(m[k].points[i].position));
            assert_true(m[k].points[i].separation < margin);
            for (u32 f = 0; f < n; f++) {
                assert_int_not_equal(features[f], m[k].points[i].feature);
            }
            features[n++] = m[k].points[i].feature;
        }
    }
}

/* On flat ground of many triangles the normal and depth are exact everywhere: also over edges and
 * corners of triangles, for all shapes and orientations. */
static void flat_ground_is_flat(void **unused)
{
    PL_UNUSED(unused);
    for (u32 terrain = 0; terrain < 2; terrain++) {
        Geometry *geometry = terrain ? grid_terrain(flat, SIDE, 0.5f) : grid_mesh(flat, SIDE, 0.5f);
        Ground g;
        ground_set(&g, geometry);
        for (u32 i = 0; i < PL_COUNT(solid_kinds); i++) {
            for (u64 k = 0; k < 150; k++) {
                SolidHull hull;
                Shape shape = solid_shape(solid_kinds[i], k, 0.1f, 0.8f, &hull);
                ShapePose pose = {
                    &shape, {0, 0, 0}, k % 3 ? solid_rotation(k, 3) : quat_identity()};
                /* A third exactly over edges and corners. */
                pose.position.x = k % 3 == 1 ? 0.5f * (f32)(k % 5) : random_range(k, 5, -2, 2);
                pose.position.z = k % 3 == 1 ? 0.5f * (f32)(k % 7) : random_range(k, 6, -2, 2);
                f32 low = (f32)solid_reach(&pose, vec3(0, -1, 0));
                f32 over = k % 2 ? 0.01f : -0.01f;
                pose.position.y = low + over;
                Manifold m[MANIFOLDS_MAX];
                u32 count = manifold_collide(&g.pose, &pose, 0.02f, m, MANIFOLDS_MAX);
                assert_int_equal(count, 1);
                check_form(m, count, 0.02f);
                assert_true(m->normal.x == 0.0f && m->normal.y == 1.0f && m->normal.z == 0.0f);
                assert_float_equal(deepest(m, 1), over, 1e-3f);
                for (u32 q = 0; q < m->count; q++) {
                    f32 y = m->points[q].position.y - 0.5f * m->points[q].separation;
                    assert_float_equal(y, 0.0f, 1e-5f);
                }
            }
        }
        geometry_destroy(geometry);
    }
}

static void a_box_on_many_triangles_rests_on_its_corners(void **unused)
{
    PL_UNUSED(unused);
    Geometry *geometry = grid_mesh(flat, 60, 0.1f);
    Ground g;
    ground_set(&g, geometry);
    Shape box = {.kind = SHAPE_BOX, .half = {1.5f, 0.5f, 1.0f}};
    for (u64 k = 0; k < 30; k++) {
        Quat rotation = quat_normalize((Quat){1.0f, 0, random_range(k, 1, -1, 1), 0});
        ShapePose pose = {
            &box, {random_range(k, 2, -1, 1), 0.499f, random_range(k, 3, -1, 1)}, rotation};
        Manifold m[MANIFOLDS_MAX];
        u32 count = manifold_collide(&pose, &g.pose, 0.02f, m, MANIFOLDS_MAX);
        assert_int_equal(count, 1);
        assert_int_equal(m->count, 4);
        assert_float_equal(m->normal.y, -1.0f, 0.0f);
        for (u32 i = 0; i < 4; i++) {
            Vec3 local =
                quat_rotate_inverse(rotation, vec3_sub(m->points[i].position, pose.position));
            assert_float_equal(fabsf(local.x), 1.5f, 0.1f);
            assert_float_equal(fabsf(local.z), 1.0f, 0.1f);
            assert_float_equal(m->points[i].separation, -0.001f, 1e-5f);
        }
    }
    geometry_destroy(geometry);
}

/* A rolling ball keeps its feature id, so that the solver keeps its impulse. */
static void rolling_ball_keeps_its_point(void **unused)
{
    PL_UNUSED(unused);
    Geometry *geometry = grid_mesh(flat, SIDE, 0.5f);
    Ground g;
    ground_set(&g, geometry);
    Shape ball = {.kind = SHAPE_SPHERE, .radius = 0.3f};
    u32 feature = 0;
    for (u32 k = 0; k < 400; k++) {
        ShapePose pose = {
            &ball, {-4.0f + 0.02f * (f32)k, 0.299f, -3.0f + 0.013f * (f32)k}, solid_rotation(k, 1)};
        Manifold m[MANIFOLDS_MAX];
        assert_int_equal(manifold_collide(&g.pose, &pose, 0.02f, m, MANIFOLDS_MAX), 1);
        assert_int_equal(m->count, 1);
        feature = k == 0 ? m->points[0].feature : feature;
        assert_int_equal(m->points[0].feature, feature);
        assert_float_equal(m->points[0].separation, -0.001f, 1e-6f);
        assert_float_equal(m->points[0].position.x, pose.position.x, 1e-5f);
    }
    geometry_destroy(geometry);
}

static void valleys_have_two_sides_and_ridges_an_edge(void **unused)
{
    PL_UNUSED(unused);
    Shape ball = {.kind = SHAPE_SPHERE, .radius = 0.5f};
    f32 s = 0.70710678f;
    for (u32 terrain = 0; terrain < 2; terrain++) {
        Geometry *geometry =
            terrain ? grid_terrain(valley, SIDE, 0.5f) : grid_mesh(valley, SIDE, 0.5f);
        Ground g;
        ground_set(&g, geometry);
        ShapePose pose = {&ball, {0, 0.5f / s - 0.001f, 0.2f}, quat_identity()};
        Manifold m[MANIFOLDS_MAX];
        u32 count = manifold_collide(&g.pose, &pose, 0.02f, m, MANIFOLDS_MAX);
        assert_int_equal(count, 2);
        check_form(m, count, 0.02f);
        for (u32 i = 0; i < 2; i++) {
            assert_float_equal(fabsf(m[i].normal.x), s, 1e-5f);
            assert_float_equal(m[i].normal.y, s, 1e-5f);
            assert_float_equal(m[i].points[0].separation, -0.001f * s, 1e-5f);
        }
        geometry_destroy(geometry);

        geometry = terrain ? grid_terrain(ridge, SIDE, 0.5f) : grid_mesh(ridge, SIDE, 0.5f);
        ground_set(&g, geometry);
        /* 20° off the top of the ridge: the normal at its edge points to the centre. */
        Vec3 n = vec3(0.34202014f, 0.93969262f, 0.0f);
        pose.position = vec3_scale(n, 0.499f);
        pose.position.z = 0.2f;
        count = manifold_collide(&g.pose, &pose, 0.02f, m, MANIFOLDS_MAX);
        assert_int_equal(count, 1);
        assert_int_equal(m->count, 1);
        assert_float_equal(m->normal.x, n.x, 1e-4f);
        assert_float_equal(m->normal.y, n.y, 1e-4f);
        assert_float_equal(m->points[0].separation, -0.001f, 1e-5f);
        geometry_destroy(geometry);
    }
}

/* On hills: separated shapes are as far as the nearest triangle, by brute force over all of them;
 * overlapping ones have contacts no deeper than the deepest triangle. */
static void contacts_on_hills_match_brute_force(void **unused)
{
    PL_UNUSED(unused);
    Geometry *geometry = grid_mesh(hills, SIDE, 0.5f);
    Ground g;
    ground_set(&g, geometry);
    const TriangleMesh *mesh = &geometry->mesh;
    u32 near = 0, apart = 0;
    f32 worst = 0.0f;
    for (u32 i = 0; i < PL_COUNT(solid_kinds); i++) {
        for (u64 k = 0; k < 40; k++) {
            SolidHull hull;
            Shape shape = solid_shape(solid_kinds[i], k, 0.15f, 0.6f, &hull);
            ShapePose pose = {&shape, {0, 0, 0}, solid_rotation(k, 3)};
            pose.position = vec3(random_range(k, 5, -3, 3), 0, random_range(k, 6, -3, 3));
            pose.position.y = hills(pose.position.x, pose.position.z) +
                              (f32)solid_reach(&pose, vec3(0, -1, 0)) +
                              random_range(k, 7, -0.05f, 0.1f);
            f32 nearest = INFINITY;
            for (u32 t = 0; t < mesh->triangle_count; t++) {
                Vec3 corners[3];
                mesh_triangle(mesh, t, corners);
                GjkResult r;
                if (gjk_separation_triangle(&pose, corners, 1.0f, &r)) {
                    nearest = f32_min(nearest, r.separation);
                }
            }
            Manifold m[MANIFOLDS_MAX];
            u32 count = manifold_collide(&g.pose, &pose, 0.05f, m, MANIFOLDS_MAX);
            check_form(m, count, 0.05f);
            if (nearest < 0.045f) {
                near++;
                assert_true(count > 0);
            }
            if (nearest > 0.0f && nearest < 0.04f) {
                apart++;
                worst = f32_max(worst, fabsf(deepest(m, count) - nearest));
                assert_float_equal(deepest(m, count), nearest, 4e-3f);
            }
            for (u32 n = 0; n < count; n++) {
                /* Deep in a slope, edges may push sideways. */
                assert_true(m[n].normal.y > (nearest > -0.03f ? 0.0f : -0.25f));
            }
        }
    }
    printf("%u near, %u of them apart, worst error %.1f mm\n", near, apart, (f64)(1e3f * worst));
    assert_true(near > 100 && apart > 30);
    geometry_destroy(geometry);
}

static void the_back_of_an_open_mesh_holds_too(void **unused)
{
    PL_UNUSED(unused);
    Geometry *geometry = grid_mesh(flat, SIDE, 0.5f);
    Ground g;
    ground_set(&g, geometry);
    for (u32 i = 0; i < PL_COUNT(solid_kinds); i++) {
        SolidHull hull;
        Shape shape = solid_shape(solid_kinds[i], 4, 0.2f, 0.5f, &hull);
        ShapePose pose = {&shape, {0.13f, 0, 0.21f}, solid_rotation(i, 2)};
        pose.position.y = -(f32)solid_reach(&pose, vec3(0, 1, 0)) + 0.001f;
        Manifold m[MANIFOLDS_MAX];
        u32 count = manifold_collide(&g.pose, &pose, 0.02f, m, MANIFOLDS_MAX);
        assert_true(count > 0);
        assert_float_equal(deepest(m, count), -0.001f, 2e-4f);
        for (u32 k = 0; k < count; k++) {
            /* Seams may add contacts there that are separated or nearly along the face. */
            assert_true(m[k].normal.y < (deepest(&m[k], 1) < 0.0f ? -0.99f : -0.5f));
        }
    }
    geometry_destroy(geometry);
}

static void bodies_sunk_into_terrain_are_pushed_up(void **unused)
{
    PL_UNUSED(unused);
    Geometry *geometry = grid_terrain(flat, SIDE, 0.5f);
    Ground g;
    ground_set(&g, geometry);
    for (u32 i = 0; i < PL_COUNT(solid_kinds); i++) {
        SolidHull hull;
        Shape shape = solid_shape(solid_kinds[i], 4, 0.3f, 0.5f, &hull);
        ShapePose pose = {&shape, {0.13f, -3.0f, 0.21f}, solid_rotation(i, 2)};
        Manifold m[MANIFOLDS_MAX];
        u32 count = manifold_collide(&g.pose, &pose, 0.02f, m, MANIFOLDS_MAX);
        assert_true(count > 0);
        assert_float_equal(m->normal.y, 1.0f, 1e-6f);
        assert_true(deepest(m, count) < -3.0f);
    }
    geometry_destroy(geometry);
}

/* A rotated and moved mesh gives the rotated and moved contacts. */
static void contacts_move_with_the_mesh(void **unused)
{
    PL_UNUSED(unused);
    Geometry *geometry = grid_mesh(hills, SIDE, 0.5f);
    Ground g;
    ground_set(&g, geometry);
    u32 compared = 0;
    for (u64 k = 0; k < 60; k++) {
        SolidHull hull;
        Shape shape = solid_shape(solid_kinds[k % 6], k, 0.15f, 0.6f, &hull);
        ShapePose pose = {&shape, {0, 0, 0}, solid_rotation(k, 3)};
        pose.position = vec3(random_range(k, 5, -3, 3), 0, random_range(k, 6, -3, 3));
        pose.position.y = hills(pose.position.x, pose.position.z) +
                          (f32)solid_reach(&pose, vec3(0, -1, 0)) - 0.02f;
        Quat rotation = solid_rotation(k, 8);
        Vec3 move = vec3(100.0f, -20.0f, 7.0f);
        ShapePose moved = {&shape, vec3_add(move, quat_rotate(rotation, pose.position)),
                           quat_mul(rotation, pose.orientation)};
        ShapePose ground = {&g.shape, move, rotation};
        Manifold m[2][MANIFOLDS_MAX];
        u32 here = manifold_collide(&g.pose, &pose, 0.02f, m[0], MANIFOLDS_MAX);
        u32 there = manifold_collide(&ground, &moved, 0.02f, m[1], MANIFOLDS_MAX);
        assert_int_equal(here > 0, there > 0);
        if (here == 0) {
            continue; /* over a dip */
        }
        compared++;
        assert_float_equal(deepest(m[0], here), deepest(m[1], there), 3e-3f);
    }
    assert_true(compared > 40);
    geometry_destroy(geometry);
}

/* A closed box of 12 triangles acts as a box. */
static void a_closed_mesh_is_a_solid(void **unused)
{
    PL_UNUSED(unused);
    Vec3 v[8];
    for (u32 i = 0; i < 8; i++) {
        v[i] = vec3(i & 1 ? 1.0f : -1.0f, i & 2 ? 1.0f : -1.0f, i & 4 ? 1.0f : -1.0f);
    }
    static const u32 t[36] = {0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5, 0, 1, 5, 0, 5, 4,
                              2, 6, 7, 2, 7, 3, 0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6};
    ErrorText error;
    Geometry *geometry = geometry_mesh(v, 8, t, 12, NULL, &error);
    assert_non_null(geometry);
    assert_true(geometry->mesh.closed);
    Ground g;
    ground_set(&g, geometry);
    Shape box = {.kind = SHAPE_BOX, .half = {1, 1, 1}};
    ShapePose solid = {&box, {0, 0, 0}, quat_identity()};
    u32 compared = 0;
    for (u32 i = 0; i < PL_COUNT(solid_kinds); i++) {
        for (u64 k = 0; k < 60; k++) {
            SolidHull hull;
            Shape shape = solid_shape(solid_kinds[i], k, 0.2f, 0.6f, &hull);
            ShapePose pose = {&shape, {0, 0, 0}, solid_rotation(k, 3)};
            Vec3 n = solid_direction(k, 5);
            f32 reach = (f32)solid_reach(&pose, vec3_neg(n)) + (f32)solid_reach(&solid, n);
            pose.position = vec3_scale(n, reach * random_range(k, 9, 0.85f, 1.0f));
            Manifold m[2][MANIFOLDS_MAX];
            u32 one = manifold_collide(&solid, &pose, 0.02f, m[0], MANIFOLDS_MAX);
            u32 two = manifold_collide(&g.pose, &pose, 0.02f, m[1], MANIFOLDS_MAX);
            check_form(m[1], two, 0.02f);
            if (one > 0 && deepest(m[0], one) < 0.015f && deepest(m[0], one) > -0.05f) {
                compared++;
                assert_true(two > 0);
                assert_true(deepest(m[1], two) < deepest(m[0], one) + 5e-3f);
            }
        }
    }
    printf("%u compared\n", compared);
    assert_true(compared > 40);
    geometry_destroy(geometry);
}

/* ---- compounds ---- */

static void a_table_stands_on_its_four_legs(void **unused)
{
    PL_UNUSED(unused);
    CompoundChild children[5];
    memset(children, 0, sizeof(children));
    for (u32 i = 0; i < 5; i++) {
        children[i].orientation = quat_identity();
        children[i].shape.kind = SHAPE_BOX;
        children[i].shape.half = i < 4 ? vec3(0.05f, 0.4f, 0.05f) : vec3(1.0f, 0.05f, 0.6f);
        children[i].position =
            i < 4 ? vec3(i & 1 ? 0.9f : -0.9f, 0, i & 2 ? 0.5f : -0.5f) : vec3(0, 0.45f, 0);
    }
    ErrorText error;
    Geometry *table = geometry_compound(children, 5, &error);
    assert_non_null(table);
    Shape shape = {.kind = SHAPE_COMPOUND, .geometry = table};
    Geometry *mesh = grid_mesh(flat, SIDE, 0.5f);
    Ground g;
    ground_set(&g, mesh);
    Shape box = {.kind = SHAPE_BOX, .half = {5, 1, 5}}, plane = {.kind = SHAPE_PLANE};
    ShapePose floors[3] = {
        {&plane, {0, 0, 0}, quat_identity()}, {&box, {0, -1, 0}, quat_identity()}, g.pose};
    ShapePose pose = {&shape, {0.2f, 0.399f, 0.1f}, quat_identity()};
    for (u32 f = 0; f < 3; f++) {
        Manifold m[MANIFOLDS_MAX];
        u32 count = manifold_collide(&pose, &floors[f], 0.02f, m, MANIFOLDS_MAX);
        assert_int_equal(count, 1);
        check_form(m, count, 0.02f);
        assert_int_equal(m->count, 4);
        assert_float_equal(m->normal.y, -1.0f, 1e-6f);
        for (u32 i = 0; i < 4; i++) {
            assert_float_equal(fabsf(m->points[i].position.x - 0.2f), 0.95f, 0.11f);
            assert_float_equal(fabsf(m->points[i].position.z - 0.1f), 0.55f, 0.11f);
            assert_float_equal(m->points[i].separation, -0.001f, 1e-5f);
        }
    }
    /* Two tables, one on the other. */
    ShapePose second = {&shape, {0.2f, 0.399f + 0.899f, 0.1f}, quat_identity()};
    Manifold m[MANIFOLDS_MAX];
    u32 count = manifold_collide(&pose, &second, 0.02f, m, MANIFOLDS_MAX);
    assert_int_equal(count, 1);
    assert_int_equal(m->count, 4);
    assert_float_equal(m->normal.y, 1.0f, 1e-6f);
    /* A box across the table's underside: far from the floor it touches only the top. */
    Shape small = {.kind = SHAPE_SPHERE, .radius = 0.2f};
    ShapePose under = {&small, {0.2f, 0.6f, 0.1f}, quat_identity()};
    count = manifold_collide(&pose, &under, 0.02f, m, MANIFOLDS_MAX);
    assert_int_equal(count, 1);
    assert_float_equal(m->normal.y, -1.0f, 1e-6f);
    assert_float_equal(deepest(m, 1), -0.001f, 1e-5f);
    geometry_destroy(mesh);
    geometry_destroy(table);
}

/* A compound of one child acts as that child, also when the child is rotated and offset. */
static void one_child_acts_as_its_shape(void **unused)
{
    PL_UNUSED(unused);
    Geometry *mesh = grid_mesh(hills, SIDE, 0.5f);
    Ground g;
    ground_set(&g, mesh);
    u32 compared = 0;
    for (u64 k = 0; k < 120; k++) {
        SolidHull hull;
        CompoundChild child;
        memset(&child, 0, sizeof(child));
        child.shape = solid_shape(solid_kinds[k % 6], k, 0.2f, 0.6f, &hull);
        child.position = vec3_scale(solid_direction(k, 1), 0.4f);
        child.orientation = solid_rotation(k, 2);
        ErrorText error;
        Geometry *made = NULL;
        if (child.shape.kind == SHAPE_HULL) {
            made = geometry_hull(hull.vertices, hull.geometry.hull.vertex_count, 64, &error);
            assert_non_null(made);
            child.shape.geometry = made;
        }
        Geometry *compound = geometry_compound(&child, 1, &error);
        assert_non_null(compound);
        Shape shape = {.kind = SHAPE_COMPOUND, .geometry = compound};
        Shape other = {.kind = SHAPE_BOX, .half = {0.5f, 0.4f, 0.6f}};
        ShapePose whole = {&shape,
                           {random_range(k, 5, -3, 3), 0.6f, random_range(k, 6, -3, 3)},
                           solid_rotation(k, 3)};
        ShapePose part = {&child.shape,
                          vec3_add(whole.position, quat_rotate(whole.orientation, child.position)),
                          quat_mul(whole.orientation, child.orientation)};
        ShapePose box = {&other, vec3_add_scaled(part.position, 0.7f, solid_direction(k, 7)),
                         solid_rotation(k, 8)};
        const ShapePose *others[2] = {&g.pose, &box};
        for (u32 o = 0; o < 2; o++) {
            Manifold m[2][MANIFOLDS_MAX];
            u32 one = manifold_collide(&whole, others[o], 0.05f, m[0], MANIFOLDS_MAX);
            u32 two = manifold_collide(&part, others[o], 0.05f, m[1], MANIFOLDS_MAX);
            check_form(m[0], one, 0.05f);
            assert_int_equal(one > 0, two > 0);
            if (one > 0) {
                compared++;
                assert_float_equal(deepest(m[0], one), deepest(m[1], two), 2e-5f);
            }
            u32 swapped = manifold_collide(others[o], &whole, 0.05f, m[1], MANIFOLDS_MAX);
            assert_int_equal(swapped, one);
            for (u32 n = 0; n < one; n++) {
                assert_float_equal(vec3_dot(m[0][n].normal, m[1][n].normal), -1.0f, 1e-5f);
            }
        }
        geometry_destroy(compound);
        geometry_destroy(made);
    }
    assert_true(compared > 60);
    geometry_destroy(mesh);
}

static void a_corner_of_walls_gives_a_manifold_each(void **unused)
{
    PL_UNUSED(unused);
    /* Floor and two walls of a room as an open mesh, front faces inwards. */
    static const Vec3 v[7] = {{0, 0, 0}, {4, 0, 0}, {0, 4, 0}, {0, 0, 4},
                              {4, 0, 4}, {4, 4, 0}, {0, 4, 4}};
    static const u32 t[18] = {0, 3, 4, 0, 4, 1, 0, 1, 5, 0, 5, 2, 0, 2, 6, 0, 6, 3};
    ErrorText error;
    Geometry *geometry = geometry_mesh(v, 7, t, 6, NULL, &error);
    assert_non_null(geometry);
    Ground g;
    ground_set(&g, geometry);
    for (u32 kind = 0; kind < 3; kind++) {
        Shape shape = {.kind = kind == 0   ? SHAPE_SPHERE
                               : kind == 1 ? SHAPE_BOX
                                           : SHAPE_CYLINDER,
                       .radius = 0.5f,
                       .half_height = 0.5f,
                       .half = {0.5f, 0.5f, 0.5f}};
        ShapePose pose = {&shape, {0.499f, 0.499f, 0.499f}, quat_identity()};
        Manifold m[MANIFOLDS_MAX];
        u32 count = manifold_collide(&g.pose, &pose, 0.02f, m, MANIFOLDS_MAX);
        assert_int_equal(count, 3);
        check_form(m, count, 0.02f);
        Vec3 sum = vec3_zero();
        for (u32 i = 0; i < 3; i++) {
            sum = vec3_add(sum, m[i].normal);
            assert_float_equal(deepest(&m[i], 1), -0.001f, 1e-5f);
        }
        assert_float_equal(sum.x, 1.0f, 1e-5f);
        assert_float_equal(sum.y, 1.0f, 1e-5f);
        assert_float_equal(sum.z, 1.0f, 1e-5f);
        /* Capacity for only two: two are returned. */
        assert_int_equal(manifold_collide(&g.pose, &pose, 0.02f, m, 2), 2);
    }
    geometry_destroy(geometry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flat_ground_is_flat),
        cmocka_unit_test(a_box_on_many_triangles_rests_on_its_corners),
        cmocka_unit_test(rolling_ball_keeps_its_point),
        cmocka_unit_test(valleys_have_two_sides_and_ridges_an_edge),
        cmocka_unit_test(contacts_on_hills_match_brute_force),
        cmocka_unit_test(the_back_of_an_open_mesh_holds_too),
        cmocka_unit_test(bodies_sunk_into_terrain_are_pushed_up),
        cmocka_unit_test(contacts_move_with_the_mesh),
        cmocka_unit_test(a_closed_mesh_is_a_solid),
        cmocka_unit_test(a_table_stands_on_its_four_legs),
        cmocka_unit_test(one_child_acts_as_its_shape),
        cmocka_unit_test(a_corner_of_walls_gives_a_manifold_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
