/* test_cells.c: neighbour search against brute force; the same result for any number of threads. */
#include "server/physics/contact/cells.h"
#include "tests/support/any.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    MOST = 20000,
    QUERIES = 60
};

typedef struct Bed {
    Vec3 *positions;
    u32 *near;
    bool *expected;
} Bed;

static Bed bed_make(void)
{
    Bed bed = {malloc(MOST * sizeof(Vec3)), malloc(MOST * sizeof(u32)), malloc(MOST)};
    assert_true(bed.positions != NULL && bed.near != NULL && bed.expected != NULL);
    return bed;
}

static void bed_free(Bed *bed)
{
    free(bed->positions);
    free(bed->near);
    free(bed->expected);
}

/* Every point within the radius exactly once, and no other. */
static void assert_near_is_right(const Cells *cells, Bed *bed, u32 count, Vec3 point, f32 radius)
{
    u32 expected = 0;
    for (u32 i = 0; i < count; i++) {
        Vec3 off = vec3_sub(bed->positions[i], point);
        bed->expected[i] = vec3_length_squared(off) <= radius * radius;
        expected += bed->expected[i];
    }
    u32 got = cells_near(cells, point, radius, bed->near, MOST);
    assert_int_equal(got, expected);
    for (u32 i = 0; i < got; i++) {
        assert_true(bed->near[i] < count && bed->expected[bed->near[i]]);
        bed->expected[bed->near[i]] = false;
    }
    assert_int_equal(cells_near(cells, point, radius, bed->near, expected / 2), expected);
}

static void neighbours_are_those_of_brute_force(void **state)
{
    PL_UNUSED(state);
    Any any = {31, 0};
    Cells cells = {0};
    Bed bed = bed_make();
    u32 found = 0;
    for (u32 round = 0; round < 40; round++) {
        u32 count = (u32)any_between(&any, 0.0f, round % 4 == 3 ? (f32)MOST : 300.0f);
        f32 spread = round % 3 == 0 ? 0.5f : round % 3 == 1 ? 20.0f : 5000.0f;
        f32 size = any_between(&any, 0.05f, 0.5f) * (round % 3 == 2 ? 1000.0f : 1.0f);
        for (u32 i = 0; i < count; i++) {
            bed.positions[i] = any_vec(&any, -spread, spread);
        }
        assert_true(cells_reserve(&cells, count));
        cells_build(&cells, bed.positions, sizeof(Vec3), count, size, NULL);
        for (u32 q = 0; q < QUERIES; q++) {
            Vec3 point = q % 2 && count > 0 ? bed.positions[q % count]
                                            : any_vec(&any, -1.1f * spread, 1.1f * spread);
            f32 radius = size * any_between(&any, 0.0f, q % 10 == 0 ? 30.0f : 1.5f);
            assert_near_is_right(&cells, &bed, count, point, radius);
            found += cells_near(&cells, point, radius, bed.near, MOST);
        }
    }
    assert_true(found > 10000);
    cells_finish(&cells);
    bed_free(&bed);
}

static void distant_and_nan_points_are_harmless(void **state)
{
    PL_UNUSED(state);
    Any any = {32, 0};
    Cells cells = {0};
    Bed bed = bed_make();
    const f32 odd[] = {NAN, INFINITY, -INFINITY, 3e38f, -3e38f, 1e9f, 0.0f, -0.0f, 1e-40f};
    const u32 count = 3000;
    for (u32 i = 0; i < count; i++) {
        bed.positions[i] = any_vec(&any, -3.0f, 3.0f);
        if (i % 5 == 0) {
            f32 *axis[3] = {&bed.positions[i].x, &bed.positions[i].y, &bed.positions[i].z};
            *axis[i / 5 % 3] = odd[i % PL_COUNT(odd)];
        }
    }
    assert_true(cells_reserve(&cells, count));
    cells_build(&cells, bed.positions, sizeof(Vec3), count, 0.25f, NULL);
    for (u32 q = 0; q < 200; q++) {
        assert_near_is_right(&cells, &bed, count, any_vec(&any, -3.0f, 3.0f), 0.5f);
        assert_near_is_right(&cells, &bed, count, vec3(1e9f, 0.0f, 0.0f), 2.0f);
    }
    assert_int_equal(cells_near(&cells, vec3(NAN, 0.0f, 0.0f), 1.0f, bed.near, MOST), 0);
    assert_int_equal(cells_near(&cells, vec3_zero(), -1.0f, bed.near, MOST), 0);
    assert_int_equal(cells_near(&cells, vec3_zero(), NAN, bed.near, MOST), 0);
    cells_build(&cells, bed.positions, sizeof(Vec3), 0, 0.25f, NULL);
    assert_int_equal(cells_near(&cells, vec3_zero(), 1.0f, bed.near, MOST), 0);
    cells_finish(&cells);
    bed_free(&bed);
}

static void order_does_not_depend_on_threads(void **state)
{
    PL_UNUSED(state);
    Any any = {33, 0};
    Cells one = {0}, other = {0};
    Bed bed = bed_make();
    for (u32 i = 0; i < MOST; i++) {
        bed.positions[i] = any_vec(&any, -8.0f, 8.0f);
    }
    assert_true(cells_reserve(&one, MOST) && cells_reserve(&other, MOST));
    cells_build(&one, bed.positions, sizeof(Vec3), MOST, 0.3f, NULL);
    for (u32 threads = 2; threads <= 5; threads++) {
        Jobs *jobs = jobs_create(threads);
        const u32 *order = other.order;
        cells_build(&other, bed.positions, sizeof(Vec3), MOST, 0.3f, jobs);
        assert_ptr_equal(order, other.order); /* no allocation */
        assert_memory_equal(one.order, other.order, MOST * sizeof *one.order);
        assert_memory_equal(one.starts, other.starts, ((1u << one.bits) + 1) * sizeof(u32));
        jobs_destroy(jobs);
    }
    cells_finish(&one);
    cells_finish(&other);
    bed_free(&bed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_are_those_of_brute_force),
        cmocka_unit_test(distant_and_nan_points_are_harmless),
        cmocka_unit_test(order_does_not_depend_on_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
