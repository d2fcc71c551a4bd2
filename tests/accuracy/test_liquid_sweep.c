/* test_liquid_sweep.c: tanks of random size, rate, gravity and viscosity come to rest: nothing
 * blows up, the level stays, density holds. */
#include "tests/support/liquid_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "shared/math/random.h"

enum {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    TANKS = 2,
#else
    TANKS = 12,
#endif
    TICKS = 50
};

typedef struct Tank {
    f32 spacing, tick_s, gravity, viscosity;
    u32 x, y, z, substeps;
} Tank;

/* Between `low` and `high`, evenly in the logarithm. */
static f32 spread(u64 seed, u64 k, f32 low, f32 high)
{
    return low * (f32)pow((f64)(high / low), (f64)random_f32(seed, k));
}

static Tank tank_of(u64 seed)
{
    static const f32 rates[] = {30.0f, 60.0f, 120.0f, 240.0f};
    Tank tank = {.spacing = spread(seed, 0, 0.003f, 0.2f),
                 .tick_s = 1.0f / rates[random_u64(seed, 1) % 4],
                 .gravity = spread(seed, 2, 1.0f, 25.0f),
                 .viscosity = spread(seed, 3, 0.001f, 10.0f)};
    tank.x = 6 + (u32)(random_u64(seed, 4) % 4);
    tank.y = 5 + (u32)(random_u64(seed, 5) % 40);
    tank.z = 6 + (u32)(random_u64(seed, 6) % 4);
    tank.substeps = 1 + (u32)(random_u64(seed, 7) % 4);
    return tank;
}

static void tanks_come_to_rest(void **state)
{
    PL_UNUSED(state);
    for (u32 k = 0; k < TANKS; k++) {
        Tank tank = tank_of(k);
        f32 d = tank.spacing;
        LiquidDef def = liquid_kit_water(d, tank.x * tank.y * tank.z);
        def.phases[0].viscosity = tank.viscosity;
        LiquidKit kit = liquid_kit_make(&def, tank.gravity);
        kit.tick_s = tank.tick_s;
        kit.substeps = tank.substeps;
        liquid_kit_tank(&kit, vec3((f32)tank.x * d, 3.0f * (f32)tank.y * d, (f32)tank.z * d));
        liquid_kit_fill(&kit, 0, vec3_zero(), tank.x, tank.y, tank.z);
        f64 start = liquid_sums(kit.liquid, kit.gravity).potential, most = 0.0, error = 0.0;
        for (u32 t = 0; t < TICKS; t++) {
            liquid_kit_tick(&kit);
            most = fmax(most, liquid_sums(kit.liquid, kit.gravity).kinetic);
            error = fmax(t > TICKS / 2 ? (f64)liquid_stats(kit.liquid).density_error : 0.0, error);
        }
        f64 level = liquid_sums(kit.liquid, kit.gravity).potential / start - 1.0;
        print_message("%u: d %.4f, %u deep, %.0f Hz / %u, g %.1f, %.3g Pa s: kinetic %.5f, level "
                      "%+.4f, density %.4f\n",
                      k, (f64)d, tank.y, 1.0 / (f64)tank.tick_s, tank.substeps, (f64)tank.gravity,
                      (f64)tank.viscosity, most / start, level, error);
        assert_true(most < 0.05 * start);
        assert_true(fabs(level) < 0.03 && error < 0.01);
        assert_null(liquid_validate(kit.liquid));
        liquid_kit_free(&kit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tanks_come_to_rest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
