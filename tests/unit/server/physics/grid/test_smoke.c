/* test_smoke.c: grids of all shapes, sides and methods in a storm stay within their limits, and
 * saved state loads again; bricks that wake between ticks get their spans once; bad definitions are
 * refused with a text. */
#include "server/physics/grid/smoke_internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const u32 sizes[][4] = {{2, 33, 17, 1}, {2, 8, 8, 1},  {3, 16, 24, 8}, {3, 19, 9, 33},
                               {3, 1, 1, 1},   {2, 1, 40, 1}, {3, 40, 3, 5}};

static void saves_and_loads(Smoke *smoke)
{
    State state = {.mode = STATE_COUNT};
    smoke_serialize(smoke, &state);
    u8 *image = malloc(state.used);
    assert_non_null(image);
    state = (State){.mode = STATE_SAVE, .data = image, .bytes = state.used};
    smoke_serialize(smoke, &state);
    state = (State){.mode = STATE_LOAD, .data = image, .bytes = state.used};
    smoke_serialize(smoke, &state);
    assert_false(state.failed);
    state = (State){.mode = STATE_LOAD, .data = image, .bytes = state.used - 1};
    smoke_serialize(smoke, &state);
    assert_true(state.failed);
    free(image);
}

static void storm(const SmokeDef *def)
{
    Smoke *smoke = smoke_create(def, NULL);
    assert_non_null(smoke);
    SmokeSource source = {.position = vec3(0.1f, 0.1f, 0.1f),
                          .radius = 0.07f,
                          .smoke = 1.0f,
                          .heat = 3000.0f,
                          .fuel = 1.0f,
                          .warmest = 500.0f,
                          .velocity = vec3(100.0f, -20.0f, 30.0f),
                          .blow = 20.0f};
    smoke_set_sources(smoke, &source, 1);
    for (u32 t = 0; t < 10; t++) {
        smoke_step(smoke, t == 6 ? 0.05f : 1.0f / 60.0f, vec3(0.0f, -9.81f, 0.0f), NULL, 0, NULL);
        smoke_push(smoke, vec3(0.2f, 0.3f, 0.1f), 0.2f, vec3(1e3f, 1e5f, -1e4f));
    }
    assert_null(smoke_validate(smoke));
    saves_and_loads(smoke);
    smoke_destroy(smoke);
}

static void storms_stay_within_limits(void **state)
{
    PL_UNUSED(state);
    for (u32 i = 0; i < PL_COUNT(sizes) * 4 * SMOKE_PRESSURE_COUNT; i++) {
        const u32 *size = sizes[i % PL_COUNT(sizes)];
        u32 side = i / PL_COUNT(sizes) % 4, method = i / PL_COUNT(sizes) / 4;
        SmokeDef def = smoke_default();
        def.dims = size[0];
        def.spacing = 0.03f;
        def.awake = method % 2 != 0;
        for (u32 a = 0; a < 3; a++) {
            def.cells[a] = size[1 + a];
            bool wraps = side == SMOKE_PERIODIC && size[1 + a] % 8 == 0;
            SmokeSideKind kind = side == SMOKE_OPEN ? SMOKE_OPEN
                                 : wraps            ? SMOKE_PERIODIC
                                                    : SMOKE_CLOSED;
            def.sides[2 * a].kind = def.sides[2 * a + 1].kind = kind;
        }
        def.sides[3].kind = side == 3 ? SMOKE_OPEN : def.sides[3].kind;
        def.options.pressure = (SmokePressure)method;
        def.options.drifts = def.options.midpoint = i % 2 != 0;
        def.options.vorticity = 0.5f;
        def.options.viscosity = method == 2 ? 0.5f : 1e-4f;
        def.options.expansion = 0.2f;
        def.options.ignition = 50.0f;
        def.options.iterations = 50;
        storm(&def);
    }
}

/* Far about a plume interpolation leaves ever smaller numbers; none is so small that processors
 * compute it slowly. Of both ways to carry fields, with fuel and without, at three spacings. */
static void plumes_end(void **state)
{
    PL_UNUSED(state);
    for (u32 i = 0; i < 12; i++) {
        SmokeDef def = smoke_default();
        def.dims = i % 2 ? 3 : 2;
        def.cells[0] = def.cells[1] = 32;
        def.cells[2] = i % 2 ? 32 : 1;
        def.spacing = 0.02f * (f32)(1 + i / 4);
        def.awake = true;
        def.options.drifts = i / 2 % 2 != 0;
        Smoke *smoke = smoke_create(&def, NULL);
        assert_non_null(smoke);
        SmokeSource source = {.position = vec3(16.0f * def.spacing, 4.0f * def.spacing, 0.0f),
                              .radius = 3.0f * def.spacing,
                              .smoke = 1.0f,
                              .heat = 300.0f,
                              .fuel = 0.2f,
                              .warmest = 300.0f};
        source.position.z = i % 2 ? 16.0f * def.spacing : 0.0f;
        smoke_set_sources(smoke, &source, 1);
        for (u32 t = 0; t < 60; t++) {
            smoke_step(smoke, 1.0f / 60.0f, vec3(0.0f, -9.81f, 0.0f), NULL, 0, NULL);
        }
        assert_true(smoke_sums(smoke).smoke > 0.0);
        for (u32 row = 0; row < 3 * def.cells[1] * def.cells[2]; row++) {
            u32 y = row / 3 % def.cells[1], z = row / 3 / def.cells[1];
            const f32 *values = smoke_row(smoke, (SmokeField)(row % 3), y, z);
            for (u32 x = 0; x < def.cells[0]; x++) {
                assert_int_not_equal(fpclassify(values[x]), FP_SUBNORMAL);
            }
        }
        smoke_destroy(smoke);
    }
}

static void bad_definitions_are_refused(void **state)
{
    PL_UNUSED(state);
    ErrorText error = {.text = ""};
    SmokeDef def = smoke_default();
    def.cells[1] = 0;
    assert_null(smoke_create(&def, &error));
    assert_non_null(strstr(error.text, "0 cells along y"));
    def = smoke_default();
    def.spacing = 0.0f / 1.0f;
    assert_null(smoke_create(&def, &error));
    assert_non_null(strstr(error.text, "spacing 0 m"));
    def = smoke_default();
    def.sides[0].kind = SMOKE_PERIODIC;
    assert_int_equal(smoke_check(&def, &error), ERROR_RANGE);
    def = smoke_default();
    def.options.tolerance = 0.0f;
    assert_int_equal(smoke_check(&def, &error), ERROR_RANGE);
    assert_non_null(strstr(error.text, "tolerance"));
}

/* Two fountains of smoke, one red and a little blue, the other black: both keep their mass, and
 * where they meet there is every share of dye; it exceeds smoke only at thin fringes, as limiters
 * of steep slopes differ. The air goes as it does without dye. */
static void dye_goes_with_smoke(void **state)
{
    PL_UNUSED(state);
    for (u32 k = 0; k < 4; k++) {
        SmokeDef def = smoke_default();
        def.dims = 2 + k % 2;
        def.cells[0] = def.cells[1] = def.cells[2] = 32;
        def.options.advection = k < 2 ? SMOKE_MACCORMACK : SMOKE_SEMI_LAGRANGIAN;
        def.spacing = 0.03f;
        Smoke *plain = smoke_create(&def, NULL);
        def.dyed = true;
        Smoke *dyed = smoke_create(&def, NULL);
        assert_true(plain != NULL && dyed != NULL);
        for (u32 t = 0; t < 90; t++) {
            SmokeSource pair[2] = {{.position = vec3(0.2f, 0.3f, 0.48f),
                                    .radius = 0.1f,
                                    .smoke = 1.0f,
                                    .heat = 200.0f,
                                    .warmest = 60.0f,
                                    .velocity = vec3(1.0f, 0.3f, 0.0f),
                                    .blow = 10.0f}};
            pair[1] = pair[0];
            pair[1].position.x = 0.76f;
            pair[1].velocity.x = -1.0f;
            pair[1].color = vec3(1.0f, 0.0f, 0.25f);
            smoke_set_sources(plain, pair, t < 60 ? 2 : 0);
            smoke_set_sources(dyed, pair, t < 60 ? 2 : 0);
            smoke_step(plain, 1.0f / 60.0f, vec3(0.0f, -9.81f, 0.0f), NULL, 0, NULL);
            smoke_step(dyed, 1.0f / 60.0f, vec3(0.0f, -9.81f, 0.0f), NULL, 0, NULL);
        }
        f64 smoke = 0.0, dye = 0.0, blue = 0.0;
        u32 mixed = 0;
        for (u32 i = 0; i < 32 * (def.dims == 3 ? 32 : 1); i++) {
            const f32 *row = smoke_row(dyed, SMOKE_SMOKE, i % 32, i / 32);
            const f32 *part = smoke_row(dyed, SMOKE_RED, i % 32, i / 32);
            const f32 *other = smoke_row(dyed, SMOKE_BLUE, i % 32, i / 32);
            assert_memory_equal(row, smoke_row(plain, SMOKE_SMOKE, i % 32, i / 32),
                                32 * sizeof *row);
            for (u32 x = 0; x < 32; x++) {
                smoke += (f64)row[x];
                dye += (f64)part[x];
                blue += (f64)other[x];
                assert_true(smoke_row(dyed, SMOKE_GREEN, i % 32, i / 32)[x] == 0.0f);
                mixed += row[x] > 0.05f && part[x] > 0.2f * row[x] && part[x] < 0.8f * row[x];
                if (!(part[x] > -0.01f && part[x] < row[x] + 0.05f)) {
                    fail_msg("%g dye in %g smoke", (f64)part[x], (f64)row[x]);
                }
            }
        }
        print_message("dye %.6f of smoke, %u cells mixed\n", dye / smoke, mixed);
        assert_true(fabs(dye / smoke - 0.5) < 1e-3 && mixed > 8);
        assert_true(fabs(blue / dye - 0.25) < 1e-3);
        saves_and_loads(dyed);
        smoke_destroy(plain);
        smoke_destroy(dyed);
    }
}

static u64 hash_of(Smoke *smoke)
{
    State state = {.mode = STATE_HASH};
    smoke_serialize(smoke, &state);
    return state.hash;
}

/* Spans follow with the next tick, or image; sums and images have what is there. */
static void bricks_wake_for_one_set_of_spans(void **state)
{
    PL_UNUSED(state);
    SmokeDef def = smoke_default();
    Smoke *of[2] = {smoke_create(&def, NULL), smoke_create(&def, NULL)};
    Vec3 still = vec3(0.0f, 0.0f, 0.0f);
    smoke_step(of[0], 1.0f / 60.0f, still, NULL, 0, NULL);
    assert_int_equal(smoke_stats(of[0]).awake, 0);
    for (u32 n = 0; n < 8; n++) {
        smoke_set(of[0], SMOKE_SMOKE, 3 + 8 * n, 60 - 8 * n, 0, 1.0f);
        smoke_set_velocity(of[0], n % 2, 4 + 8 * n, 60 - 8 * n, 0, 0.3f);
        assert_int_equal(of[0]->grid.span_count, 0);
    }
    f64 volume = (f64)(def.spacing * def.spacing * def.depth);
    assert_int_equal(smoke_stats(of[0]).awake, 8);
    assert_true(fabs(smoke_sums(of[0]).smoke / volume - 8.0) < 1e-6);
    State count = {.mode = STATE_COUNT};
    smoke_serialize(of[0], &count);
    assert_int_equal(of[0]->grid.span_count, 8);
    u8 *image = malloc(count.used);
    assert_non_null(image);
    State save = {.mode = STATE_SAVE, .data = image, .bytes = count.used};
    smoke_serialize(of[0], &save);
    State load = {.mode = STATE_LOAD, .data = image, .bytes = count.used};
    smoke_serialize(of[1], &load);
    assert_false(load.failed);
    for (u32 t = 0; t < 5; t++) {
        assert_true(hash_of(of[0]) == hash_of(of[1]));
        smoke_step(of[0], 1.0f / 60.0f, still, NULL, 0, NULL);
        smoke_step(of[1], 1.0f / 60.0f, still, NULL, 0, NULL);
    }
    assert_true(smoke_stats(of[0]).awake > 8);
    free(image);
    smoke_destroy(of[0]);
    smoke_destroy(of[1]);
}

/* Two fans in a duct of which three parts sleep, each with its own pressure: what was saved goes on
 * as what was not, around periodic sides too. */
static void still_air_is_saved(void **state)
{
    PL_UNUSED(state);
    for (u32 k = 0; k < 3 * SMOKE_PRESSURE_COUNT; k++) {
        SmokeDef def = smoke_default();
        def.dims = 2 + k % 2;
        def.cells[0] = 136;
        def.cells[1] = def.cells[2] = 8;
        def.spacing = 0.05f;
        def.options.pressure = (SmokePressure)(k / 3);
        def.options.iterations = 10000;
        if (k % 3 == 2) {
            def.sides[0].kind = def.sides[1].kind = SMOKE_PERIODIC;
        }
        SmokeSource fans[2] = {{.position = vec3(2.2f, 0.2f, 0.2f),
                                .half = vec3(0.06f, 0.15f, 1.0f),
                                .warmest = 1000.0f,
                                .velocity = vec3(0.02f, 0.0f, 0.0f),
                                .blow = 20.0f}};
        fans[1] = fans[0];
        fans[1].position.x = 4.6f;
        fans[1].velocity.x = 0.014f;
        Smoke *of[2] = {smoke_create(&def, NULL), smoke_create(&def, NULL)};
        for (u32 t = 0; t < 12; t++) {
            if (t == 4) {
                State count = {.mode = STATE_COUNT};
                smoke_serialize(of[0], &count);
                u8 *image = malloc(count.used);
                State save = {.mode = STATE_SAVE, .data = image, .bytes = count.used};
                smoke_serialize(of[0], &save);
                State load = {.mode = STATE_LOAD, .data = image, .bytes = count.used};
                smoke_serialize(of[1], &load);
                assert_false(load.failed);
                free(image);
            }
            for (u32 n = 0; n < (t < 4 ? 1 : 2); n++) {
                smoke_set_sources(of[n], fans, 2);
                smoke_step(of[n], t == 8 ? 0.02f : 1.0f / 60.0f, vec3_zero(), NULL, 0, NULL);
            }
            assert_true(t < 4 || hash_of(of[0]) == hash_of(of[1]));
            assert_true(smoke_stats(of[0]).residual < 2e-2f); /* slow: that is rounding */
        }
        f64 flow = 0.0;
        for (u32 i = 0; i < (def.dims == 3 ? 64 : 8); i++) {
            flow += (f64)smoke_velocity(of[0], 0, 44, i % 8, i / 8);
        }
        assert_int_equal(of[0]->pressure.still_count, k % 3 == 2 ? 2 : 3);
        print_message("%u: flow %g residual %g\n", k, flow, (f64)smoke_stats(of[0]).residual);
        /* Nothing leaves a closed end. Around a torus a fan drives all. */
        assert_true(k % 3 == 2 || fabs(flow) < 4e-5 * (def.dims == 3 ? 64 : 8));
        smoke_destroy(of[0]);
        smoke_destroy(of[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(storms_stay_within_limits),
                                       cmocka_unit_test(plumes_end),
                                       cmocka_unit_test(dye_goes_with_smoke),
                                       cmocka_unit_test(bricks_wake_for_one_set_of_spans),
                                       cmocka_unit_test(still_air_is_saved),
                                       cmocka_unit_test(bad_definitions_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
