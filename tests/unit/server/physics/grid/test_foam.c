/* test_foam.c: foam on shallow water: where it appears, how it is carried and how it fades. */
#include "server/physics/grid/heights_pool.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static const f32 tick_s = 1.0f / 60.0f, g = 9.81f;

/* A channel along x, periodic both ways, without friction. */
static PoolDef channel(u32 cells, f32 cell_m, f32 depth_m)
{
    PoolDef def = {.method = WATER_SHALLOW,
                   .size = {cells, 8},
                   .cell_m = cell_m,
                   .depth_m = depth_m,
                   .density = 1000.0f,
                   .drag = 1.0f,
                   .foam = 1.0f,
                   .foam_life_s = 3.0f,
                   .group = 1,
                   .mask = UINT32_MAX};
    for (u32 side = 0; side < HEIGHTS_SIDE_COUNT; side++) {
        def.border[side] = WATER_PERIODIC;
    }
    return def;
}

static Pool *pool_of(const PoolDef *def)
{
    ErrorText error = {.text = ""};
    Pool *pool = pool_create(def, &error);
    if (pool == NULL) {
        fail_msg("%s", error.text);
    }
    return pool;
}

static void run(Pool *pool, u32 ticks)
{
    for (u32 t = 0; t < ticks; t++) {
        pool_begin(pool, NULL, 0, tick_s, g, NULL);
        for (u32 k = 0; k < 4; k++) {
            pool_substep(pool, 0.25f * tick_s);
        }
        pool_finish(pool);
    }
}

static void flow_everywhere(Pool *pool, const PoolDef *def, f32 u)
{
    for (u32 c = 0; c < def->size[0] * def->size[1]; c++) {
        pool_set_level(pool, c % def->size[0], c / def->size[0], 0.0f, u, 0.0f);
    }
}

/* Cells that are covered, and the place of their middle along x in cells, across the border. */
static f64 foam_of(const Pool *pool, const PoolDef *def, f64 *middle)
{
    const f64 turn = 2.0 * 3.14159265358979 / (f64)def->size[0];
    f64 sum = 0.0, x = 0.0, y = 0.0;
    for (u32 c = 0; c < def->size[0] * def->size[1]; c++) {
        f64 foam = (f64)pool_foam(pool, c % def->size[0], c / def->size[0]);
        f64 angle = turn * (f64)(c % def->size[0]);
        sum += foam;
        x += foam * cos(angle);
        y += foam * sin(angle);
    }
    *middle = atan2(y, x) / turn;
    return sum;
}

/* A step of the level of six times the depth below makes foam at its front; then all is level again
 * and flows on: the foam goes with the water and fades at its rate, whatever the speed and life. */
static void foam_goes_with_the_water(void **state)
{
    PL_UNUSED(state);
    const f32 speeds[] = {0.0f, 0.3f, 0.75f, -0.75f}, lives[] = {0.5f, 2.0f, 10.0f};
    for (u32 i = 0; i < PL_COUNT(speeds) * PL_COUNT(lives); i++) {
        PoolDef def = channel(128, 0.1f, 1.0f);
        def.foam_life_s = lives[i / PL_COUNT(speeds)];
        f64 u = (f64)speeds[i % PL_COUNT(speeds)], middle, later;
        Pool *pool = pool_of(&def);
        for (u32 c = 0; c < def.size[0] * def.size[1]; c++) {
            bool high = c % def.size[0] >= 56 && c % def.size[0] < 60;
            pool_set_level(pool, c % def.size[0], c / def.size[0], high ? 2.0f : -0.6f, 0.0f, 0.0f);
        }
        run(pool, 4);
        flow_everywhere(pool, &def, (f32)u);
        f64 before = foam_of(pool, &def, &middle);
        assert_true(before > 8.0); /* more than a cell a row */
        run(pool, 60);
        f64 after = foam_of(pool, &def, &later), want = before;
        for (u32 t = 0; t < 60; t++) {
            want /= 1.0 + (f64)tick_s / (f64)def.foam_life_s;
        }
        f64 moved = remainder(later - middle - u / (f64)def.cell_m, (f64)def.size[0]);
        /* What is below 1/512 of a cell vanishes, more at one side than at the other. */
        if (fabs(after / want - 1.0) > 0.06 || fabs(moved) > 0.25) {
            fail_msg("%g m/s, life %g s: %g cells of foam, expected %g; %g cells off", u,
                     (f64)def.foam_life_s, after, want, moved);
        }
        pool_destroy(pool);
    }
}

/* Still water, streams and long waves have none; a dam that breaks has it at the front and not
 * behind; twice the factor makes more, 0 none. */
static void fronts_foam_and_waves_do_not(void **state)
{
    PL_UNUSED(state);
    f64 middle, made[3];
    PoolDef def = channel(128, 0.1f, 1.0f);
    Pool *pool = pool_of(&def);
    run(pool, 10);
    flow_everywhere(pool, &def, 1.0f);
    run(pool, 10);
    for (u32 c = 0; c < def.size[0] * def.size[1]; c++) {
        f32 level = 0.1f * sinf(2.0f * 3.14159265f * (f32)(c % def.size[0]) / (f32)def.size[0]);
        pool_set_level(pool, c % def.size[0], c / def.size[0], level, 0.0f, 0.0f);
    }
    run(pool, 60);
    assert_true(foam_of(pool, &def, &middle) == 0.0);
    pool_destroy(pool);
    for (u32 i = 0; i < 3; i++) {
        const f32 factors[] = {0.0f, 0.5f, 1.0f};
        def.foam = factors[i];
        pool = pool_of(&def);
        for (u32 c = 0; c < def.size[0] * def.size[1]; c++) {
            bool high = c % def.size[0] >= 32 && c % def.size[0] < 96;
            pool_set_level(pool, c % def.size[0], c / def.size[0], high ? 0.0f : -0.9f, 0.0f, 0.0f);
        }
        run(pool, 20);
        made[i] = foam_of(pool, &def, &middle);
        for (u32 x = 48; x < 80; x++) { /* the front and what falls behind it are outside */
            assert_true(pool_foam(pool, x, 4) == 0.0f);
        }
        pool_destroy(pool);
    }
    assert_true(made[0] == 0.0 && made[1] > 1.0 && made[2] > 1.2 * made[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(foam_goes_with_the_water),
        cmocka_unit_test(fronts_foam_and_waves_do_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
