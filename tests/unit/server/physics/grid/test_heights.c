/* test_heights.c: grids of water levels: sleep, images, non-finite numbers, definitions. */
#include "server/physics/grid/shallow.h"
#include "server/physics/grid/wave.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/near.h"

enum {
    N = 200
};
static const f32 tick_s = 1.0f / 60.0f, g = 9.81f;

static Shallow *pond(f32 depth)
{
    ShallowDef def = shallow_def_default();
    def.size[0] = def.size[1] = N;
    Shallow *shallow = shallow_create(&def, NULL);
    for (u32 c = 0; c < N * N; c++) {
        shallow_set(shallow, c % N, c / N, depth, 0.0f, 0.0f);
    }
    return shallow;
}

static void run(Shallow *shallow, u32 ticks)
{
    for (u32 t = 0; t < ticks; t++) {
        shallow_step(shallow, tick_s, g, NULL);
    }
}

/* Only moving tiles are computed; nothing is lost where they meet sleeping ones. */
static void still_water_sleeps(void **state)
{
    PL_UNUSED(state);
    Shallow *shallow = pond(1.0f);
    run(shallow, 40);
    assert_int_equal(shallow_stats(shallow).tiles_awake, 0);
    f64 before = shallow_sums(shallow).volume;
    shallow_set(shallow, 20, 20, 1.05f, 0.0f, 0.0f);
    f64 after = shallow_sums(shallow).volume;
    run(shallow, 1);
    assert_int_equal(shallow_stats(shallow).tiles_awake, 4);
    assert_true(after > before);
    for (u32 t = 0; t < 3000 && shallow_stats(shallow).tiles_awake > 0; t++) {
        run(shallow, 1);
    }
    assert_int_equal(shallow_stats(shallow).tiles_awake, 0);
    assert_true(fabs(shallow_sums(shallow).volume / after - 1.0) < 1e-7);
    shallow_destroy(shallow);
}

static u64 hash_of(Shallow *shallow)
{
    State state = {.mode = STATE_HASH};
    shallow_serialize(shallow, &state);
    return state.hash;
}

static size_t save(Shallow *shallow, u8 *data, size_t bytes)
{
    State state = {.mode = STATE_SAVE, .data = data, .bytes = bytes};
    shallow_serialize(shallow, &state);
    assert_false(state.failed);
    return state.used;
}

static void a_loaded_grid_continues_identically(void **state)
{
    PL_UNUSED(state);
    static u8 data[N * N * 16];
    Shallow *first = pond(0.5f), *second = pond(0.1f);
    run(first, 50);
    shallow_set(first, 10, 150, 3.0f, 1.0f, -1.0f);
    run(first, 20);
    size_t bytes = save(first, data, sizeof data);
    State load = {.mode = STATE_LOAD, .data = data, .bytes = bytes};
    shallow_serialize(second, &load);
    assert_false(load.failed);
    expect_bits("loaded", hash_of(second), hash_of(first));
    for (u32 t = 0; t < 60; t++) {
        run(first, 1);
        run(second, 1);
        expect_bits("then", hash_of(second), hash_of(first));
    }
    shallow_destroy(first);
    shallow_destroy(second);
}

static void forged_grids_are_refused(void **state)
{
    PL_UNUSED(state);
    static u8 data[N * N * 16];
    static const f32 bad[] = {NAN, INFINITY, -1.0f, 1e30f};
    Shallow *shallow = pond(0.5f);
    for (u32 n = 0; n < PL_COUNT(bad); n++) {
        size_t bytes = save(shallow, data, sizeof data);
        memcpy(data + 400, &bad[n], sizeof bad[n]);
        State load = {.mode = STATE_LOAD, .data = data, .bytes = bytes};
        shallow_serialize(shallow, &load);
        assert_true(load.failed);
        assert_null(shallow_validate(shallow));
        assert_true(shallow_sums(shallow).volume == 0.0);
    }
    shallow_destroy(shallow);
}

/* Time steps that no number of substeps makes stable: the water slows down, but remains valid. */
static void absurd_water_stays_bounded(void **state)
{
    PL_UNUSED(state);
    static const f32 depths[] = {1e-6f, 0.5f, 9000.0f, NAN, INFINITY};
    static const f32 cells[] = {HEIGHTS_CELL_MIN_M, 0.1f, HEIGHTS_CELL_MAX_M};
    for (u32 d = 0; d < PL_COUNT(depths); d++) {
        for (u32 c = 0; c < PL_COUNT(cells); c++) {
            ShallowDef def = shallow_def_default();
            def.size[0] = 37;
            def.size[1] = 5;
            def.cell_m = cells[c];
            Shallow *shallow = shallow_create(&def, NULL);
            for (u32 n = 0; n < 20; n++) {
                shallow_set(shallow, n, n % 5, depths[d], n % 2 ? 1e9f : -INFINITY, NAN);
            }
            f64 before = shallow_sums(shallow).volume;
            run(shallow, 120);
            assert_null(shallow_validate(shallow));
            assert_true(fabs(shallow_sums(shallow).volume - before) <= 1e-6 * before);
            assert_true(shallow_stats(shallow).steps <= SHALLOW_STEPS_MAX);
            shallow_destroy(shallow);
        }
    }
    Shallow *deep = pond(9000.0f);
    run(deep, 1);
    assert_true(shallow_stats(deep).slowed < 0.05f);
    shallow_destroy(deep);
}

static void absurd_waves_stay_bounded(void **state)
{
    PL_UNUSED(state);
    WaveDef def = wave_def_default();
    def.size[0] = 37;
    def.size[1] = 5;
    def.cell_m = HEIGHTS_CELL_MIN_M;
    def.depth_m = HEIGHTS_DEPTH_MAX_M;
    Wave *wave = wave_create(&def, NULL);
    for (u32 t = 0; t < 300; t++) {
        wave_add(wave, t % 37, t % 5, t % 2 ? 1e9f : NAN, t % 3 ? 1e9f : -INFINITY);
        wave_step(wave, tick_s, t % 7 ? g : 1000.0f, NULL);
        assert_null(wave_validate(wave));
    }
    assert_true(wave_sums(wave).slowed < 1.0f);
    wave_destroy(wave);
}

static void bad_definitions_are_refused_by_name(void **state)
{
    PL_UNUSED(state);
    ErrorText error = {0};
    for (u32 n = 0; n < 7; n++) {
        ShallowDef def = shallow_def_default();
        def.size[0] = n == 0 ? 0 : n == 1 ? HEIGHTS_SIDE_MAX + 1 : 64;
        def.size[0] = def.size[1] = n == 2 ? HEIGHTS_SIDE_MAX : def.size[0];
        def.cell_m = n == 3 ? NAN : 0.1f;
        def.border[3] = n == 4 ? WATER_PERIODIC : WATER_CLOSED;
        def.friction = n == 5 ? -1.0f : 0.0f;
        def.damping = n == 6 ? INFINITY : 0.0f;
        assert_null(shallow_create(&def, &error));
        static const char *const names[] = {"size",   "size",     "cells",  "cell",
                                            "border", "friction", "damping"};
        assert_non_null(strstr(error.text, names[n]));
    }
    Shallow *shallow = pond(1.0f);
    static f32 bed[N * N];
    bed[N] = NAN;
    assert_false(shallow_set_bed(shallow, bed));
    shallow_destroy(shallow);
}

/* Friction slows a stream by c u²/h; damping decays it exponentially. */
static void friction_slows_streams(void **state)
{
    PL_UNUSED(state);
    for (u32 damped = 0; damped < 2; damped++) {
        ShallowDef def = shallow_def_default();
        def.size[0] = def.size[1] = 16;
        for (u32 side = 0; side < HEIGHTS_SIDE_COUNT; side++) {
            def.border[side] = WATER_PERIODIC;
        }
        def.friction = damped ? 0.0f : 0.05f;
        def.damping = damped ? 0.5f : 0.0f;
        Shallow *shallow = shallow_create(&def, NULL);
        for (u32 c = 0; c < 256; c++) {
            shallow_set(shallow, c % 16, c / 16, 0.4f, 1.2f, -1.6f);
        }
        run(shallow, 120);
        f64 speed = hypot((f64)shallow_cells(shallow).u[3], (f64)shallow_cells(shallow).w[3]);
        f64 expected = damped ? 2.0 * exp(-0.5 * 2.0) : 2.0 / (1.0 + 0.05 * 2.0 * 2.0 / 0.4);
        assert_true(fabs(speed / expected - 1.0) < 0.02);
        shallow_destroy(shallow);
    }
}

static u32 subnormals(const f32 *values, u32 stride)
{
    u32 count = 0;
    for (u32 c = 0; c < N * N; c++) {
        count += fpclassify(values[(size_t)(c / N) * stride + c % N]) == FP_SUBNORMAL;
    }
    return count;
}

/* A film that thins out forever fills dry land with numbers that a processor computes a hundred
 * times as slowly. None is left, and no water lost, on hills of different height and grain. */
static void films_end(void **state)
{
    PL_UNUSED(state);
    for (u32 i = 0; i < 6; i++) {
        const f32 height = 0.1f + 0.2f * (f32)(i % 3), wave = 0.03f + 0.02f * (f32)i;
        ShallowDef def = shallow_def_default();
        def.size[0] = def.size[1] = N;
        def.cell_m = i % 2 ? 0.05f : 0.4f;
        def.friction = i < 3 ? 0.0f : 0.02f;
        Shallow *shallow = shallow_create(&def, NULL);
        f32 *bed = malloc(N * N * sizeof *bed);
        for (u32 c = 0; c < N * N; c++) {
            bed[c] = height * sinf((f32)(c % N) * wave) * sinf((f32)(c / N) * 1.4f * wave);
        }
        assert_true(shallow_set_bed(shallow, bed));
        for (u32 c = 0; c < N * N; c++) {
            f32 level = c % N < N / 2 ? 0.5f : -1.0f;
            shallow_set(shallow, c % N, c / N, f32_max(level - bed[c], 0.0f), 0.0f, 0.0f);
        }
        f64 before = shallow_sums(shallow).volume;
        for (u32 t = 0; t < 10; t++) {
            run(shallow, 12);
            ShallowCells cells = shallow_cells(shallow);
            assert_int_equal(subnormals(cells.depth, cells.stride), 0);
            assert_int_equal(subnormals(cells.u, cells.stride), 0);
            assert_int_equal(subnormals(cells.w, cells.stride), 0);
        }
        assert_true(fabs(shallow_sums(shallow).volume / before - 1.0) < 2e-6);
        free(bed);
        shallow_destroy(shallow);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(still_water_sleeps),
        cmocka_unit_test(a_loaded_grid_continues_identically),
        cmocka_unit_test(forged_grids_are_refused),
        cmocka_unit_test(absurd_water_stays_bounded),
        cmocka_unit_test(absurd_waves_stay_bounded),
        cmocka_unit_test(bad_definitions_are_refused_by_name),
        cmocka_unit_test(friction_slows_streams),
        cmocka_unit_test(films_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
