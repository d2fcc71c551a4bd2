/*
 * test_grid.c: rays through grids against brute force over all triangles and boxes; rays that must
 * not fall through; hostile grids.
 */
#include "shared/geometry/grid.h"
#include "shared/math/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    RAYS = 20000,
    CELLS_MAX = 600
};

static u64 dice;

static f32 draw(f32 low, f32 high)
{
    return random_range(77, dice++, low, high);
}

static Vec3 draw_vec3(f32 reach)
{
    f32 x = draw(-reach, reach), y = draw(-reach, reach), z = draw(-reach, reach);
    return vec3(x, y, z);
}

static Ray draw_ray(const Grid *grid)
{
    Vec3 size =
        vec3_mul(vec3((f32)grid->dims[0], (f32)grid->dims[1], (f32)grid->dims[2]), grid->spacing);
    f32 u = draw(-0.1f, 1.1f), v = draw(-0.1f, 1.1f), w = draw(-0.1f, 1.1f);
    Vec3 at = vec3_add(grid->origin, vec3_mul(size, vec3(u, v, w)));
    Vec3 from = vec3_add(at, draw_vec3(6.0f));
    Ray ray = {from, vec3_normalize_or(vec3_sub(at, from), vec3(0, -1, 0))};
    u32 axis = (u32)draw(0.0f, 30.0f); /* one in ten is parallel to an axis */
    if (axis < 3) {
        ray.direction = vec3(axis == 0, axis == 1, axis == 2);
    }
    return ray;
}

static void test_heights_against_every_triangle(void **state)
{
    (void)state;
    f32 values[CELLS_MAX];
    u32 hits = 0;
    for (u32 n = 0; n < RAYS; n++) {
        Grid grid = {{2 + n % 9, 1, 2 + n % 7},
                     draw_vec3(3),
                     {draw(0.2f, 1), 0, draw(0.2f, 1)},
                     values,
                     true};
        for (u32 i = 0; i < grid.dims[0] * grid.dims[2]; i++) {
            values[i] = draw(-1, 1);
        }
        Ray ray = draw_ray(&grid);
        f32 nearest = 50.0f, distance, u, v;
        for (u32 z = 0; z + 1 < grid.dims[2]; z++) {
            for (u32 x = 0; x + 1 < grid.dims[0]; x++) {
                u32 i = x + z * grid.dims[0], right = i + 1, down = i + grid.dims[0];
                u32 corners[2][3] = {{i, down, right}, {down + 1, right, down}};
                for (u32 t = 0; t < 2; t++) {
                    Vec3 at[3];
                    for (u32 k = 0; k < 3; k++) {
                        at[k] = grid_centre(&grid, corners[t][k], values[corners[t][k]]);
                    }
                    if (triangle_ray(at, ray, nearest, 0.0f, &distance, &u, &v)) {
                        nearest = distance;
                    }
                }
            }
        }
        GridHit hit;
        bool met = grid_ray_heights(&grid, ray, 50.0f, &hit);
        hits += met;
        /* The reference's triangles reach 0.1 % beyond their edges: so near an edge either answer
         * is right. */
        if (nearest < 50.0f) {
            assert_true(met && hit.distance < nearest + 2e-3f);
        }
        if (met) {
            Vec3 cell = grid_centre(&grid, hit.element, values[hit.element]);
            assert_true(fabsf(hit.point.x - cell.x) <= 0.67f * grid.spacing.x);
            assert_true(fabsf(hit.point.z - cell.z) <= 0.67f * grid.spacing.z);
            assert_true(vec3_dot(hit.normal, ray.direction) <= 1e-6f);
        }
    }
    assert_true(hits > RAYS / 5);
}

/* Also at edges and corners of triangles. */
static void test_no_ray_falls_through(void **state)
{
    (void)state;
    f32 values[9 * 7];
    Grid grid = {{9, 1, 7}, {20, 2, -1}, {0.5f, 0, 1}, values, true};
    for (u32 i = 0; i < 9 * 7; i++) {
        values[i] = draw(0, 0.2f);
    }
    for (u32 n = 0; n < RAYS; n++) {
        f32 x = draw(20.01f, 23.99f), z = draw(-0.99f, 4.99f);
        x = n % 2 == 0 ? 20.0f + 0.5f * floorf((x - 20.0f) * 2.0f + 0.5f) : x;
        z = n % 3 == 0 ? floorf(z + 0.5f) : z;
        x = f32_clamp(x, 20.001f, 23.999f);
        z = f32_clamp(z, -0.999f, 4.999f);
        Vec3 at = vec3(x, 2.1f, z), from = vec3_add(at, vec3(draw(-3, 3), 20, draw(-3, 3)));
        if (n % 5 == 0) {
            from = vec3(x, 20, z);
        }
        Ray ray = {from, vec3_normalize_or(vec3_sub(at, from), vec3_zero())};
        /* Where the ray leaves the column at the grid's edge it may miss. */
        bool near_edge = x < 20.1f || x > 23.9f || z < -0.9f || z > 4.9f;
        GridHit hit;
        bool met = grid_ray_heights(&grid, ray, 100.0f, &hit);
        assert_true(met || (near_edge && n % 5 != 0));
    }
}

static bool box_ray(Vec3 low, Vec3 high, Ray ray, f32 *enter)
{
    const f32 o[3] = {ray.origin.x, ray.origin.y, ray.origin.z};
    const f32 d[3] = {ray.direction.x, ray.direction.y, ray.direction.z};
    const f32 l[3] = {low.x, low.y, low.z}, h[3] = {high.x, high.y, high.z};
    f32 from = 0.0f, until = 1e9f;
    for (u32 k = 0; k < 3; k++) {
        if (d[k] == 0.0f) {
            until = o[k] < l[k] || o[k] > h[k] ? -1.0f : until;
        } else {
            f32 a = (l[k] - o[k]) / d[k], b = (h[k] - o[k]) / d[k];
            from = f32_max(from, f32_min(a, b));
            until = f32_min(until, f32_max(a, b));
        }
    }
    *enter = from;
    return from < until - 1e-3f; /* and not only through a corner */
}

static void test_voxels_against_every_box(void **state)
{
    (void)state;
    f32 values[CELLS_MAX];
    u32 hits = 0;
    for (u32 n = 0; n < RAYS; n++) {
        Grid grid = {.dims = {1 + n % 8, 1 + n % 5, 1 + n % 7}, .values = values};
        grid.origin = draw_vec3(3);
        grid.spacing = vec3(draw(0.2f, 1), draw(0.2f, 1), draw(0.2f, 1));
        u32 cells = grid.dims[0] * grid.dims[1] * grid.dims[2];
        for (u32 i = 0; i < cells; i++) {
            values[i] = draw(0, 1);
        }
        Ray ray = draw_ray(&grid);
        f32 nearest = 50.0f, enter;
        for (u32 i = 0; i < cells; i++) {
            Vec3 centre = grid_centre(&grid, i, 0.0f), half = vec3_scale(grid.spacing, 0.5f);
            if (values[i] > 0.9f &&
                box_ray(vec3_sub(centre, half), vec3_add(centre, half), ray, &enter)) {
                nearest = f32_min(nearest, enter);
            }
        }
        GridHit hit;
        bool met = grid_ray_voxels(&grid, ray, 50.0f, 0.9f, &hit);
        if (nearest < 50.0f) {
            assert_true(met && hit.distance < nearest + 2e-3f);
            hits++;
        }
        assert_true(!met || values[hit.element] > 0.9f);
    }
    assert_true(hits > RAYS / 20);
}

/* For any description and contents the traversal ends and stays inside. */
static void test_hostile_grids(void **state)
{
    (void)state;
    static const f32 odd[8] = {1e-38f, 1e-20f, 16384.0f, -16384.0f, 0.0f, INFINITY, NAN, 1.0f};
    f32 values[CELLS_MAX];
    for (u32 n = 0; n < RAYS; n++) {
        Grid grid = {.dims = {1 + n % 8, 1 + n % 5, 1 + n % 7}, .values = values};
        f32 parts[9];
        for (u32 i = 0; i < 9; i++) {
            u32 which = (u32)draw(0, 12);
            parts[i] = which < 8 ? odd[which] : draw(-10, 10);
        }
        grid.origin = vec3(parts[0], parts[1], parts[2]);
        grid.spacing = vec3(fabsf(parts[3]), fabsf(parts[4]), fabsf(parts[5]));
        for (u32 i = 0; i < CELLS_MAX; i++) {
            values[i] = odd[(u32)draw(0, 7.99f)];
        }
        Ray ray = {vec3(parts[6], parts[7], parts[8]), draw_ray(&grid).direction};
        GridHit hit = {0};
        u32 cells = grid.dims[0] * grid.dims[1] * grid.dims[2];
        if (grid_ray_voxels(&grid, ray, 1000.0f, 0.5f, &hit)) {
            assert_true(hit.element < cells);
        }
        grid.dims[1] = 1;
        grid.heights = true;
        if (grid_ray_heights(&grid, ray, 1000.0f, &hit)) {
            assert_true(hit.element < cells);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heights_against_every_triangle),
        cmocka_unit_test(test_no_ray_falls_through),
        cmocka_unit_test(test_voxels_against_every_box),
        cmocka_unit_test(test_hostile_grids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
