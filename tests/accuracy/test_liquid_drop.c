/* test_liquid_drop.c: drops without weight: Rayleigh's period of oscillation (Proc. R. Soc. 29,
 * 1879), and pressures inside by Laplace's law. */
#include "tests/support/liquid_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static const f64 pi = 3.14159265358979;

typedef struct Drop {
    LiquidKit kit;
    f64 radius, rate; /* m; rad/s of Rayleigh's lowest oscillation, 8 σ / ρ R³ */
} Drop;

/* A ball of a lattice, come to rest by itself. */
static Drop drop_make(f32 d, f32 spacings, f32 tension)
{
    u32 half = (u32)spacings + 2, side = 2 * half, count = 0;
    LiquidDef def = liquid_kit_water(d, side * side * side);
    def.phases[0].surface_tension = tension;
    Drop drop = {.kit = liquid_kit_make(&def, 0.0f)};
    Liquid *liquid = drop.kit.liquid;
    for (u32 k = 0; k < side * side * side; k++) {
        Vec3 at = vec3((f32)(k % side), (f32)(k / side % side), (f32)(k / side / side));
        f32 middle = (f32)half - 0.5f;
        at = vec3_sub(at, vec3(middle, middle, middle));
        if (vec3_length(at) < spacings) {
            liquid_spawn(liquid, 0, vec3_scale(at, d), vec3_zero());
            count++;
        }
    }
    drop.radius = (f64)d * cbrt(3.0 * count / (4.0 * pi));
    drop.rate = sqrt(8.0 * (f64)tension / (1000.0 * pow(drop.radius, 3.0)));
    for (f64 t = 0.0; t < 2.0 * pi / drop.rate; t += (f64)KIT_TICK_S) {
        liquid_wake(liquid);
        liquid_kit_tick(&drop.kit);
        for (u32 s = 0; s < liquid_slots(liquid); s++) {
            if (liquid_generations(liquid)[s] != 0) {
                liquid_set(liquid, s, liquid_positions(liquid)[s],
                           vec3_scale(liquid_velocities(liquid)[s], 0.97f));
            }
        }
    }
    return drop;
}

/* How long it is along x: 0 for a ball. */
static f64 length_of(const Liquid *liquid)
{
    f64 sum[3] = {0.0, 0.0, 0.0}, square[3] = {0.0, 0.0, 0.0};
    u32 count = 0;
    for (u32 s = 0; s < liquid_slots(liquid); s++) {
        Vec3 x = liquid_positions(liquid)[s];
        const f64 at[3] = {(f64)x.x, (f64)x.y, (f64)x.z};
        for (u32 k = 0; k < 3; k++) { /* free slots are at 0 */
            sum[k] += at[k];
            square[k] += at[k] * at[k];
        }
        count += liquid_generations(liquid)[s] != 0;
    }
    for (u32 k = 0; k < 3; k++) {
        square[k] -= sum[k] * sum[k] / count;
    }
    return (square[0] - 0.5 * (square[1] + square[2])) / (square[0] + square[1] + square[2]);
}

/* Mean over a quarter of a second of the inner half of its radius, Pa. */
static f64 pressure_inside(Drop *drop)
{
    const Liquid *liquid = drop->kit.liquid;
    f64 sum = 0.0;
    u32 count = 0;
    for (u32 t = 0; t < 15; t++) {
        liquid_wake(drop->kit.liquid);
        liquid_kit_tick(&drop->kit);
        for (u32 s = 0; s < liquid_slots(liquid); s++) {
            bool inner = (f64)vec3_length(liquid_positions(liquid)[s]) < 0.5 * drop->radius;
            if (liquid_generations(liquid)[s] != 0 && inner) {
                sum += (f64)liquid_pressure(liquid, s);
                count++;
            }
        }
    }
    return sum / count;
}

/* Period of a drop that is set into its lowest oscillation, v = grad (r² P2), over Rayleigh's: by
 * the first and third time that it is a ball. */
static f64 period_of(Drop *drop)
{
    Liquid *liquid = drop->kit.liquid;
    f32 a = (f32)(0.08 * drop->rate);
    for (u32 s = 0; s < liquid_slots(liquid); s++) {
        Vec3 x = liquid_positions(liquid)[s];
        if (liquid_generations(liquid)[s] != 0) {
            liquid_set(liquid, s, x, vec3(2.0f * a * x.x, -a * x.y, -a * x.z));
        }
    }
    f64 whole = 2.0 * pi / drop->rate, before = 0.0, times[3] = {NAN, NAN, NAN};
    u32 found = 0;
    for (f64 t = (f64)KIT_TICK_S; found < 3 && t < 3.0 * whole; t += (f64)KIT_TICK_S) {
        liquid_wake(liquid);
        liquid_kit_tick(&drop->kit);
        f64 now = length_of(liquid);
        if (before * now < 0.0 && t > 0.2 * whole) {
            times[found++] = t - (f64)KIT_TICK_S * now / (now - before);
        }
        before = now;
    }
    return (times[2] - times[0]) / whole;
}

/* Rayleigh's period within 20 % for each drop, whose particles are arranged irregularly, and within
 * 10 % for their mean. The pressure inside scales with tension over radius, within 20 %; it is some
 * three times that of Laplace, as a surface of one layer of particles that move with the drop is
 * elastic as well. */
static void drops_oscillate(void **state)
{
    PL_UNUSED(state);
    static const f32 cases[][3] = {
        {0.02f, 8.0f, 5.0f}, {0.02f, 6.0f, 10.0f}, {0.005f, 6.0f, 0.072f}};
    f64 least = INFINITY, most = 0.0, mean = 0.0, worst = 0.0;
    for (u32 k = 0; k < PL_COUNT(cases); k++) {
        Drop drop = drop_make(cases[k][0], cases[k][1], cases[k][2]);
        f64 inside = pressure_inside(&drop) * drop.radius / (2.0 * (f64)cases[k][2]);
        f64 period = period_of(&drop);
        print_message(
            "spacing %.3f m, radius %.3f m, %.3f N/m: period %.3f of Rayleigh's, pressure "
            "%.2f of Laplace's\n",
            (f64)cases[k][0], drop.radius, (f64)cases[k][2], period, inside);
        mean += period / (f64)PL_COUNT(cases);
        worst = fmax(worst, fabs(period - 1.0));
        assert_true(isfinite(period)); /* NaN: it never swings back */
        least = fmin(least, inside);
        most = fmax(most, inside);
        liquid_kit_free(&drop.kit);
    }
    assert_true(worst < 0.2 && fabs(mean - 1.0) < 0.1);
    assert_true(least > 2.5 && most < 4.0 && most < 1.2 * least);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(drops_oscillate)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
