/*
 * test_terrain.c: height fields against brute force over their triangles, which the test builds
 * from the samples as the header defines them.
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

typedef struct Field {
    u32 columns, rows;
    f32 spacing;
    f32 heights[140 * 140];
    Geometry *geometry;
    Shape shape;
} Field;

static void field_finish(Field *field)
{
    geometry_destroy(field->geometry);
    field->geometry = NULL;
}

static void field_make(Field *field, u32 columns, u32 rows, f32 spacing)
{
    ErrorText error = {0};
    field->columns = columns;
    field->rows = rows;
    field->spacing = spacing;
    field->geometry = geometry_terrain(field->heights, columns, rows, spacing, &error);
    if (field->geometry == NULL) {
        fail_msg("no terrain: %s", error.text);
    }
    assert_int_equal(field->geometry->kind, GEOMETRY_TERRAIN);
    field->shape = (Shape){.kind = SHAPE_TERRAIN, .geometry = field->geometry};
}

/* Hills; for odd seeds with cliffs and noise. */
static void field_hills(Field *field, u32 columns, u32 rows, f32 spacing, u64 seed)
{
    for (u32 j = 0; j < rows; j++) {
        for (u32 i = 0; i < columns; i++) {
            f64 h = 2.0 * sin(0.31 * i + (f64)seed) * cos(0.23 * j) + 0.05 * i;
            h += seed % 2 == 1 ? 0.8 * (f64)random_range(seed, j * columns + i, -1, 1) : 0.0;
            h += seed % 2 == 1 && i > columns / 2 ? 5.0 : 0.0;
            field->heights[j * columns + i] = (f32)(h * (f64)spacing);
        }
    }
    field_make(field, columns, rows, spacing);
}

static Vec3 point(const Field *field, u32 i, u32 j)
{
    return vec3(((f32)i - 0.5f * (f32)(field->columns - 1)) * field->spacing,
                field->heights[j * field->columns + i],
                ((f32)j - 0.5f * (f32)(field->rows - 1)) * field->spacing);
}

static u32 triangle_count(const Field *field)
{
    return 2 * (field->columns - 1) * (field->rows - 1);
}

/* Split along the diagonal from (i, j) to (i + 1, j + 1). */
static void triangle(const Field *field, u32 number, Vec3 p[3])
{
    u32 i = number / 2 % (field->columns - 1), j = number / 2 / (field->columns - 1);
    p[0] = point(field, i, j);
    p[1] = number % 2 == 0 ? point(field, i, j + 1) : point(field, i + 1, j + 1);
    p[2] = number % 2 == 0 ? point(field, i + 1, j + 1) : point(field, i + 1, j);
}

static void triangles_tile_the_grid(void **state)
{
    (void)state;
    static Field field;
    field_hills(&field, 7, 5, 0.5f, 3);
    f64 area = 0.0;
    for (u32 t = 0; t < triangle_count(&field); t++) {
        Vec3 got[3], expected[3];
        terrain_triangle(&field.geometry->terrain, t, got);
        triangle(&field, t, expected);
        assert_memory_equal(got, expected, sizeof got);
        Vec3 n = vec3_cross(vec3_sub(got[1], got[0]), vec3_sub(got[2], got[0]));
        assert_true(n.y > 0.0f); /* counter-clockwise from above */
        area += 0.5 * (f64)n.y;
    }
    expect_near("area on the map", area, 6 * 4 * 0.25, 1e-5);
    const Geometry *g = field.geometry;
    expect_near("edge", g->bounds.max.x, 1.5, 1e-6);
    expect_near("edge", g->bounds.min.z, -1.0, 1e-6);
    assert_true(g->volume == 0.0f && g->terrain.low == g->bounds.min.y);
    f32 low = INFINITY, high = -INFINITY, reach = 0.0f;
    for (u32 k = 0; k < 35; k++) {
        low = f32_min(low, field.heights[k]);
        high = f32_max(high, field.heights[k]);
        reach = f32_max(reach, vec3_length(point(&field, k % 7, k / 7)));
    }
    assert_true(g->terrain.low == low && g->terrain.high == high);
    expect_near("reach", g->reach, reach, 1e-6);
    field_finish(&field);
}

/* Flags as mesh_triangle gives for a mesh of the same triangles. */
static void flags_are_those_of_the_mesh(void **state)
{
    (void)state;
    static Field field;
    u32 active = 0, all = 0;
    for (u64 seed = 1; seed < 5; seed++) {
        field_hills(&field, 12, 9, 0.5f, seed);
        u32 count = triangle_count(&field);
        Vec3 *corners = malloc(3 * count * sizeof *corners);
        u32 *indices = malloc(3 * count * sizeof *indices);
        for (u32 t = 0; t < count; t++) {
            triangle(&field, t, &corners[3 * t]);
        }
        for (u32 i = 0; i < 3 * count; i++) {
            indices[i] = i;
        }
        Geometry *mesh = geometry_mesh(corners, 3 * count, indices, count, NULL, NULL);
        assert_non_null(mesh);
        for (u32 t = 0; t < count; t++) {
            Vec3 p[3];
            u8 flags = terrain_triangle(&field.geometry->terrain, t, p);
            assert_int_equal(flags, mesh->mesh.edge_flags[t]);
            active += (flags & 1) + (flags >> 1 & 1) + (flags >> 2 & 1);
            all += 3;
        }
        geometry_destroy(mesh);
        free(corners);
        free(indices);
        field_finish(&field);
    }
    assert_true(active > all / 5 && active < 4 * all / 5);
}

static void heights_lie_on_the_triangles(void **state)
{
    (void)state;
    static Field field;
    field_hills(&field, 20, 33, 0.7f, 5);
    const Terrain *terrain = &field.geometry->terrain;
    for (u32 k = 0; k < 2000; k++) {
        /* A point of a triangle with random weights. */
        Vec3 p[3];
        u32 t = (u32)(random_u64(1, k) % triangle_count(&field));
        triangle(&field, t, p);
        f32 a = random_f32(2, k), b = random_f32(3, k);
        if (a + b > 1.0f) {
            a = 1.0f - a;
            b = 1.0f - b;
        }
        Vec3 x = vec3_add_scaled(vec3_add_scaled(p[0], a, vec3_sub(p[1], p[0])), b,
                                 vec3_sub(p[2], p[0]));
        f32 height = -100.0f;
        Vec3 normal = vec3_zero();
        assert_true(terrain_height(terrain, x.x, x.z, &height, &normal));
        expect_near("height", height, x.y, 2e-5);
        if (a > 1e-3f && b > 1e-3f && a + b < 0.999f) {
            Vec3 n = vec3_cross(vec3_sub(p[1], p[0]), vec3_sub(p[2], p[0]));
            expect_near("normal", vec3_dot(vec3_normalize_or(n, vec3_zero()), normal), 1.0, 1e-5);
        }
    }
    f32 edge = 19 * 0.5f * 0.7f;
    f32 height;
    assert_true(terrain_height(terrain, edge, 0.0f, &height, NULL));
    assert_true(terrain_height(terrain, -edge, 0.0f, NULL, NULL));
    assert_false(terrain_height(terrain, edge + 1e-3f, 0.0f, &height, NULL));
    assert_false(terrain_height(terrain, 0.0f, 16 * 0.7f + 1e-3f, &height, NULL));
    assert_false(terrain_height(terrain, NAN, 0.0f, &height, NULL));
    assert_false(terrain_height(terrain, 0.0f, -INFINITY, &height, NULL));
    field_finish(&field);
}

typedef struct Visits {
    const Field *field;
    Bounds box;
    u32 count, stop_after;
    u8 seen[2 * 140 * 140];
} Visits;

static bool overlaps(const Field *field, u32 number, Bounds b)
{
    Vec3 p[3];
    triangle(field, number, p);
    return triangle_bounds_overlap(p, b);
}

static bool visit(void *context, u32 number)
{
    Visits *visits = context;
    assert_true(number < triangle_count(visits->field));
    assert_int_equal(visits->seen[number]++, 0);
    assert_true(overlaps(visits->field, number, visits->box));
    return ++visits->count != visits->stop_after;
}

static void boxes_find_what_brute_force_finds(void **state)
{
    (void)state;
    static Field field;
    static Visits visits;
    const u32 sizes[][2] = {{2, 2}, {3, 2}, {2, 9}, {17, 17}, {18, 33}, {65, 40}};
    for (u32 s = 0; s < PL_COUNT(sizes); s++) {
        field_hills(&field, sizes[s][0], sizes[s][1], 0.25f, s);
        f32 x = 0.25f * (f32)sizes[s][0], z = 0.25f * (f32)sizes[s][1];
        u32 found = 0;
        for (u64 i = 0; i < 150; i++) {
            Vec3 c = vec3(random_range(s, 6 * i, -x, x), random_range(s, 6 * i + 1, -1, 2),
                          random_range(s, 6 * i + 2, -z, z));
            f32 size = i % 7 == 0 ? 10.0f : 0.5f;
            Vec3 h = vec3_scale(
                vec3(random_f32(s, 6 * i + 3), random_f32(s, 6 * i + 4), random_f32(s, 6 * i + 5)),
                size);
            memset(&visits, 0, sizeof visits);
            visits.field = &field;
            visits.box = (Bounds){vec3_sub(c, h), vec3_add(c, h)};
            if (i % 11 == 0) { /* a box that ends exactly at a sample */
                visits.box.max.x = point(&field, sizes[s][0] / 2, 0).x;
                visits.box.min.x = f32_min(visits.box.min.x, visits.box.max.x);
            }
            terrain_query(&field.geometry->terrain, visits.box, visit, &visits);
            u32 expected = 0;
            for (u32 t = 0; t < triangle_count(&field); t++) {
                expected += overlaps(&field, t, visits.box);
            }
            assert_int_equal(visits.count, expected);
            found += expected;
        }
        assert_true(found > 30);
        memset(&visits, 0, sizeof visits);
        visits.field = &field;
        visits.box = (Bounds){vec3(-1e30f, -1e30f, -INFINITY), vec3(1e30f, 1e30f, INFINITY)};
        terrain_query(&field.geometry->terrain, visits.box, visit, &visits);
        assert_int_equal(visits.count, triangle_count(&field));
        memset(&visits.seen, 0, sizeof visits.seen);
        visits.count = 0;
        visits.stop_after = 1;
        terrain_query(&field.geometry->terrain, visits.box, visit, &visits);
        assert_int_equal(visits.count, 1);
        field_finish(&field);
    }
}

static f64 brute_ray(const Field *field, Vec3 origin, Vec3 direction, f64 *rim)
{
    ExactRay ray = {INFINITY, 1.0};
    for (u32 t = 0; t < triangle_count(field); t++) {
        Vec3 p[3];
        triangle(field, t, p);
        exact_ray_add(&ray, p, origin, direction);
    }
    *rim = ray.rim;
    return ray.best;
}

static void rays_hit_what_brute_force_hits(void **state)
{
    (void)state;
    static Field field;
    const u32 sizes[][2] = {{2, 2}, {5, 3}, {33, 17}, {50, 61}};
    for (u32 s = 0; s < PL_COUNT(sizes); s++) {
        field_hills(&field, sizes[s][0], sizes[s][1], 0.5f, s);
        f32 x = 0.4f * (f32)sizes[s][0], z = 0.4f * (f32)sizes[s][1];
        u32 hits = 0;
        for (u64 i = 0; i < 600; i++) {
            Ray ray = {vec3(random_range(s, 6 * i, -x, x), random_range(s, 6 * i + 1, -4, 6),
                            random_range(s, 6 * i + 2, -z, z)),
                       vec3(0, -1, 0)};
            Vec3 to = vec3(random_range(s, 6 * i + 3, -x, x), random_range(s, 6 * i + 4, -1, 1),
                           random_range(s, 6 * i + 5, -z, z));
            if (i % 10 == 1) {
                ray.direction = vec3(1, 0, 0);
            } else if (i % 10 > 1) { /* half nearly horizontal: long traversals of the hills */
                to.y = i % 2 == 0 ? ray.origin.y + 0.02f * to.y : to.y;
                ray.direction = vec3_normalize_or(vec3_sub(to, ray.origin), ray.direction);
            }
            f64 rim;
            f64 expected = brute_ray(&field, ray.origin, ray.direction, &rim);
            f32 t = -1.0f;
            Vec3 n = vec3_zero();
            bool hit = shape_ray(&field.shape, vec3_zero(), quat_identity(), ray, 100, &t, &n);
            if (rim > 1e-9) {
                assert_int_equal(hit, expected < 100);
                if (hit) {
                    expect_near("distance", t, expected, 1e-5);
                    expect_near("normal", vec3_length(n), 1.0, 1e-5);
                    assert_true(vec3_dot(n, ray.direction) <= 1e-6f);
                    hits++;
                }
            }
        }
        assert_true(hits > (s == 0 ? 5 : 30));
        field_finish(&field);
    }
}

/* Vertical and slanted rays at every sample and edge: no gap anywhere. */
static void no_ray_slips_through_an_edge(void **state)
{
    (void)state;
    static Field field;
    field_hills(&field, 40, 30, 0.3f, 2);
    for (u32 j = 1; j + 1 < 30; j++) {
        for (u32 i = 1; i + 1 < 40; i++) {
            Vec3 to =
                vec3_lerp(point(&field, i, j), point(&field, i + (j & 1), j + (i & 1)), 0.25f);
            for (u64 k = 0; k < 6; k++) {
                Vec3 from =
                    vec3_add(to, vec3(0.1f * (f32)(k % 3) - 0.1f, 3.0f, 0.1f * (f32)(k / 3)));
                Ray ray = {from, vec3_normalize_or(vec3_sub(to, from), vec3(0, -1, 0))};
                f32 t;
                assert_true(
                    shape_ray(&field.shape, vec3_zero(), quat_identity(), ray, 9, &t, NULL));
                expect_near("distance", t, vec3_distance(from, to), 2e-6);
            }
        }
    }
    field_finish(&field);
}

static void expect_error(const f32 *heights, u32 columns, u32 rows, f32 spacing, const char *text)
{
    ErrorText error = {0};
    assert_null(geometry_terrain(heights, columns, rows, spacing, &error));
    assert_true(error.code < 0);
    if (strstr(error.text, text) == NULL) {
        fail_msg("got \"%s\", expected it to say \"%s\"", error.text, text);
    }
}

static void invalid_terrains_are_refused(void **state)
{
    (void)state;
    f32 h[12] = {0};
    expect_error(h, 1, 12, 1.0f, "1 × 12 samples");
    expect_error(h, 2050, 2, 1.0f, "2050 × 2 samples");
    expect_error(h, 4, 3, 0.0f, "spacing 0");
    expect_error(h, 4, 3, NAN, "spacing");
    expect_error(h, 4, 3, 1e5f, "spacing");
    h[9] = NAN;
    expect_error(h, 4, 3, 1.0f, "sample (1, 2)");
    h[9] = -INFINITY;
    expect_error(h, 4, 3, 1.0f, "sample (1, 2)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(triangles_tile_the_grid),
        cmocka_unit_test(flags_are_those_of_the_mesh),
        cmocka_unit_test(heights_lie_on_the_triangles),
        cmocka_unit_test(boxes_find_what_brute_force_finds),
        cmocka_unit_test(rays_hit_what_brute_force_hits),
        cmocka_unit_test(no_ray_slips_through_an_edge),
        cmocka_unit_test(invalid_terrains_are_refused),
    };
    return cmocka_run_group_tests_name("terrain", tests, NULL, NULL);
}
