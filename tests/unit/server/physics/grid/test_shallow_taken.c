/* test_shallow_taken.c: where the momentum of shallow water goes: walls and a sloping, stepped or
 * rough bed by hydrostatic pressure, rough beds by friction, a weir; that nothing is left out,
 * whatever terrain and borders. */
#include "server/physics/grid/shallow.h"
#include "shared/math/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
#ifdef __SANITIZE_THREAD__ /* twenty times slower; races show soon */
    TICKS = 20
#else
    TICKS = 120
#endif
};

static const f32 tick_s = 1.0f / 60.0f, g = 9.81f;

static Shallow *create(const ShallowDef *def, f32 (*bed)(u32 i, u32 k), f32 level)
{
    ErrorText error = {.text = ""};
    Shallow *shallow = shallow_create(def, &error);
    if (shallow == NULL) {
        fail_msg("%s", error.text);
    }
    u32 count = def->size[0] * def->size[1];
    f32 *heights = calloc(count, sizeof *heights);
    for (u32 c = 0; c < count; c++) {
        heights[c] = bed(c % def->size[0], c / def->size[0]);
    }
    assert_true(shallow_set_bed(shallow, heights));
    for (u32 c = 0; c < count; c++) {
        shallow_set(shallow, c % def->size[0], c / def->size[0], level - heights[c], 0.0f, 0.0f);
    }
    free(heights);
    shallow_count(shallow, true);
    return shallow;
}

static f64 all_of(const ShallowTaken *taken, u32 axis)
{
    f64 sum = taken->bed[axis] + taken->friction[axis];
    for (u32 side = 0; side < HEIGHTS_SIDE_COUNT; side++) {
        sum += taken->sides[side][axis];
    }
    return sum;
}

static void expect_near(const char *what, f64 got, f64 expected, f64 within)
{
    print_message("%s: %.6g, expected %.6g\n", what, got, expected);
    if (!(fabs(got - expected) <= within)) {
        fail_msg("%s: %.6g, expected %.6g within %.2g", what, got, expected, within);
    }
}

static f32 flat(u32 i, u32 k)
{
    PL_UNUSED(i);
    PL_UNUSED(k);
    return 0.0f;
}

static f32 slope(u32 i, u32 k)
{
    return 0.01f * (f32)i + 0.003f * (f32)k;
}

static f32 steps(u32 i, u32 k)
{
    return (i > 10 ? 0.4f : 0.0f) + (i > 25 ? 0.2f : 0.0f) - (k > 7 ? 0.3f : 0.0f);
}

static f32 rough(u32 i, u32 k)
{
    return 1.1f * random_f32(5, (u64)k * 4096 + i);
}

/* A lake at rest: each wall holds g h²/2 of each metre, and what they differ by is the bed's. */
static void walls_hold_a_lake(void **state)
{
    PL_UNUSED(state);
    f32 (*const beds[])(u32 i, u32 k) = {flat, slope, steps};
    for (u32 b = 0; b < PL_COUNT(beds); b++) {
        ShallowDef def = shallow_def_default();
        def.size[0] = 41;
        def.size[1] = 70;
        def.cell_m = 0.2f;
        Shallow *shallow = create(&def, beds[b], 1.0f);
        for (u32 t = 0; t < 50; t++) {
            shallow_step(shallow, tick_s, g, NULL);
        }
        assert_true(shallow_stats(shallow).tiles_awake > 0);
        f64 holds[HEIGHTS_SIDE_COUNT] = {0.0, 0.0, 0.0, 0.0};
        ShallowCells cells = shallow_cells(shallow);
        for (u32 k = 0; k < 70; k++) {
            for (u32 i = 0; i < 41; i++) {
                f64 h = (f64)cells.depth[k * cells.stride + i], force = 0.5 * 9.81 * h * h * 0.2;
                holds[0] -= i == 0 ? force : 0.0;
                holds[1] += i == 40 ? force : 0.0;
                holds[2] -= k == 0 ? force : 0.0;
                holds[3] += k == 69 ? force : 0.0;
            }
        }
        ShallowTaken taken = shallow_taken(shallow);
        for (u32 side = 0; side < HEIGHTS_SIDE_COUNT; side++) {
            f64 got = taken.sides[side][side / 2] / (f64)tick_s;
            expect_near("wall, m4/s2", got, holds[side], 1e-5 * fabs(holds[side]));
        }
        for (u32 axis = 0; axis < 2; axis++) {
            f64 of = fabs(taken.sides[2 * axis][axis]);
            f64 sides = taken.sides[2 * axis][axis] + taken.sides[2 * axis + 1][axis];
            assert_true(fabs(taken.bed[axis] + sides) <= 1e-6 * of);
            assert_true(fabs(taken.friction[axis]) <= 1e-6 * of);
        }
        shallow_destroy(shallow);
    }
}

/* On a torus a uniform flow loses c |u| u of each square metre. */
static void beds_rub(void **state)
{
    PL_UNUSED(state);
    ShallowDef def = shallow_def_default();
    def.size[0] = def.size[1] = 32;
    def.friction = 0.01f;
    for (u32 side = 0; side < HEIGHTS_SIDE_COUNT; side++) {
        def.border[side] = WATER_PERIODIC;
    }
    Shallow *shallow = create(&def, flat, 0.5f);
    for (u32 c = 0; c < 32 * 32; c++) {
        shallow_set(shallow, c % 32, c / 32, 0.5f, 0.6f, -0.8f);
    }
    shallow_step(shallow, tick_s, g, NULL);
    ShallowTaken taken = shallow_taken(shallow);
    f64 area = 3.2 * 3.2, force = 0.01 * 1.0 * area;
    expect_near("along x, m4/s2", taken.friction[0] / (f64)tick_s, 0.6 * force, 1e-3 * force);
    expect_near("along z, m4/s2", taken.friction[1] / (f64)tick_s, -0.8 * force, 1e-3 * force);
    assert_true(fabs(taken.bed[0]) + fabs(taken.bed[1]) <= 1e-9);
    shallow_destroy(shallow);
}

static void stir(Shallow *shallow, const ShallowDef *def, u64 seed)
{
    for (u32 n = 0; n < 40; n++) {
        u32 i = (u32)(random_f32(seed, 5 * n) * (f32)def->size[0]);
        u32 k = (u32)(random_f32(seed, 5 * n + 1) * (f32)def->size[1]);
        shallow_set(shallow, u32_min(i, def->size[0] - 1), u32_min(k, def->size[1] - 1),
                    1.5f * random_f32(seed, 5 * n + 2), 4.0f * random_f32(seed, 5 * n + 3) - 2.0f,
                    4.0f * random_f32(seed, 5 * n + 4) - 2.0f);
    }
}

/* What the water has and all that was taken is constant: rough land that falls dry, several steps
 * in a tick, rows of tiles, all borders, one and three threads. */
static void nothing_is_left_out_by_threads(void **state)
{
    PL_UNUSED(state);
    static const WaterBorder borders[][2] = {{WATER_CLOSED, WATER_CLOSED},
                                             {WATER_PERIODIC, WATER_CLOSED},
                                             {WATER_CLOSED, WATER_PERIODIC},
                                             {WATER_ABSORBING, WATER_CLOSED},
                                             {WATER_ABSORBING, WATER_ABSORBING}};
    Jobs *jobs = jobs_create(3);
    for (u32 b = 0; b < PL_COUNT(borders) * 2; b++) {
        ShallowDef def = shallow_def_default();
        def.size[0] = 77;
        def.size[1] = 90;
        def.friction = b % 2 != 0 ? 0.01f : 0.0f;
        for (u32 side = 0; side < HEIGHTS_SIDE_COUNT; side++) {
            def.border[side] = borders[b / 2][side / 2];
        }
        Shallow *of[2] = {create(&def, rough, 0.8f), create(&def, rough, 0.8f)};
        f64 worst = 0.0, large = 0.0, first[2], taken_so_far[2] = {0.0, 0.0};
        stir(of[0], &def, b);
        stir(of[1], &def, b);
        ShallowSums start = shallow_sums(of[0]);
        memcpy(first, start.momentum, sizeof first);
        for (u32 t = 0; t < TICKS; t++) {
            shallow_step(of[0], tick_s, g, NULL);
            shallow_step(of[1], tick_s, g, jobs);
            ShallowTaken taken = shallow_taken(of[0]), other = shallow_taken(of[1]);
            assert_memory_equal(&taken, &other, sizeof taken);
            ShallowSums now = shallow_sums(of[0]);
            for (u32 axis = 0; axis < 2; axis++) {
                taken_so_far[axis] += all_of(&taken, axis);
                f64 error = now.momentum[axis] + taken_so_far[axis] - first[axis];
                worst = fmax(worst, fabs(error));
                large = fmax(large, fabs(taken.bed[axis]));
            }
        }
        print_message("borders %u: off by %.3g of %.3g m4/s\n", b / 2, worst, large);
        assert_true(large > 1e-3 && worst <= 1e-9 * large);
        shallow_destroy(of[0]);
        shallow_destroy(of[1]);
    }
    jobs_destroy(jobs);
}

/* It is state: an image gives it back, and it does not change the water. */
static void images_keep_it(void **state)
{
    PL_UNUSED(state);
    ShallowDef def = shallow_def_default();
    def.size[0] = def.size[1] = 48;
    def.awake = true;
    Shallow *of[3];
    for (u32 n = 0; n < 3; n++) {
        of[n] = create(&def, rough, 0.8f);
        stir(of[n], &def, 9);
        shallow_count(of[n], n != 2);
    }
    for (u32 t = 0; t < 30; t++) {
        shallow_step(of[0], tick_s, g, NULL);
        shallow_step(of[2], tick_s, g, NULL);
    }
    State count = {.mode = STATE_COUNT};
    shallow_serialize(of[0], &count);
    u8 *bytes = malloc(count.used);
    State save = {.mode = STATE_SAVE, .data = bytes, .bytes = count.used};
    shallow_serialize(of[0], &save);
    State load = {.mode = STATE_LOAD, .data = bytes, .bytes = count.used};
    shallow_serialize(of[1], &load);
    assert_false(load.failed);
    ShallowTaken a = shallow_taken(of[0]), b = shallow_taken(of[1]);
    assert_memory_equal(&a, &b, sizeof a);
    assert_true(a.bed[0] != 0.0);
    ShallowSums counted = shallow_sums(of[0]), plain = shallow_sums(of[2]);
    assert_memory_equal(&counted, &plain, sizeof counted);
    free(bytes);
    for (u32 n = 0; n < 3; n++) {
        shallow_destroy(of[n]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walls_hold_a_lake),
        cmocka_unit_test(beds_rub),
        cmocka_unit_test(nothing_is_left_out_by_threads),
        cmocka_unit_test(images_keep_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
