/* test_liquid_flow.c: liquids in motion: a dam break against Martin & Moyce (1952), Torricelli's
 * outflow, and viscosity by the decay of a shear flow. */
#include "tests/support/liquid_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static const f32 g = 9.81f;

enum {
    BINS = 4096,
    FINE = 8 /* bins in a spacing */
};

/* Position of the front: where the liquid is one layer deep, not the spray ahead of it; mean of
 * eight grids of columns a spacing wide, as one of them would move it by 5 % at a time. */
static f64 front_of(const LiquidKit *kit, u32 layer)
{
    const Vec3 *at = liquid_positions(kit->liquid);
    f32 d = liquid_spacing(kit->liquid);
    u32 slots = liquid_slots(kit->liquid), bins[BINS] = {0}, last[FINE] = {0}, within = 0;
    for (u32 s = 0; s < slots; s++) {
        f32 bin = (f32)FINE * at[s].x / d;
        bins[bin > 0.0f && bin < (f32)BINS - 1.0f ? (u32)bin : 0]++;
    }
    for (u32 b = 0; b < BINS; b++) { /* in the column that ends there */
        within += bins[b] - (b >= FINE ? bins[b - FINE] : 0);
        last[b % FINE] = within >= layer ? b : last[b % FINE];
    }
    f64 sum = 0.0;
    for (u32 k = 0; k < FINE; k++) {
        sum += (last[k] + 1.0) / FINE - 0.5;
    }
    return sum / FINE * (f64)d;
}

/* A column a wide and 2 a high: Z = z / a at T = t sqrt(2 g / a), within 11 %: the front leads by
 * some 0.1 in T, more with finer liquid, as in the experiment the gate took its time. */
static void dam_front_follows_the_table(void **state)
{
    PL_UNUSED(state);
    static const f64 times[] = {0.84, 1.63, 2.51, 3.33}, fronts[] = {1.22, 1.89, 3.00, 4.11};
    f32 d = 0.0125f, a = 16.0f * d, deep = 10.0f * d;
    LiquidDef def = liquid_kit_water(d, 16 * 32 * 10);
    LiquidKit kit = liquid_kit_make(&def, g);
    liquid_kit_tank(&kit, vec3(8.0f * a, 4.0f * a, deep));
    BodyDef gate = kit_box(vec3(a + 0.5f, 1.0f, 0.5f * deep), vec3(0.5f, 1.0f, deep));
    gate.motion = BODY_STATIC;
    BodyId id = rigid_add(kit.rigid, &gate);
    liquid_kit_fill(&kit, 0, vec3_zero(), 16, 32, 10);
    liquid_kit_run(&kit, 1.0f);
    rigid_remove(kit.rigid, id);
    liquid_wake(kit.liquid);
    f64 worst = 0.0, scale = sqrt(2.0 * (f64)g / (f64)a), before = 1.0, time = 0.0;
    for (u32 k = 0; k < PL_COUNT(times);) {
        liquid_kit_tick(&kit);
        f64 now = time + (f64)KIT_TICK_S, z = front_of(&kit, 10) / (f64)a;
        for (; k < PL_COUNT(times) && now * scale >= times[k]; k++) {
            f64 part = (times[k] / scale - time) / (now - time);
            f64 front = before + part * (z - before);
            print_message("T %.2f: Z %.2f, measured %.2f\n", times[k], front, fronts[k]);
            worst = fmax(worst, fabs(front / fronts[k] - 1.0));
        }
        before = z;
        time = now;
    }
    assert_true(worst < 0.11);
    liquid_kit_free(&kit);
}

/* A slot in the side at depth H: the jet leaves with sqrt(2 g H), within 10 %. */
static void jet_follows_torricelli(void **state)
{
    PL_UNUSED(state);
    f32 d = 0.02f, side = 16.0f * d, low = 4.0f * d, high = 10.0f * d, wide = 8.0f * d;
    LiquidDef def = liquid_kit_water(d, 16 * 36 * 8);
    LiquidKit kit = liquid_kit_make(&def, g);
    f32 t = 0.5f, top = 2.0f;
    liquid_kit_wall(&kit, vec3(-t, -t, -t), vec3(side + 0.05f, 0.0f, wide + t));
    liquid_kit_wall(&kit, vec3(-t, 0.0f, -t), vec3(0.0f, top, wide + t));
    liquid_kit_wall(&kit, vec3(0.0f, 0.0f, -t), vec3(side + 0.05f, top, 0.0f));
    liquid_kit_wall(&kit, vec3(0.0f, 0.0f, wide), vec3(side + 0.05f, top, wide + t));
    liquid_kit_wall(&kit, vec3(side, 0.0f, 0.0f), vec3(side + 0.05f, low, wide));
    liquid_kit_wall(&kit, vec3(side, high, 0.0f), vec3(side + 0.05f, top, wide));
    BodyDef gate = kit_box(vec3(side + 0.1f, 0.5f * (low + high), 0.5f * wide),
                           vec3(0.1f, 0.5f * (high - low), wide));
    gate.motion = BODY_STATIC;
    BodyId id = rigid_add(kit.rigid, &gate);
    liquid_kit_fill(&kit, 0, vec3_zero(), 16, 36, 8);
    liquid_kit_run(&kit, 1.5f);
    rigid_remove(kit.rigid, id);
    liquid_wake(kit.liquid);
    liquid_kit_run(&kit, 0.25f); /* until the jet is steady */
    u32 samples = 0;
    f64 ratio = liquid_kit_jet(&kit, &(KitJet){side, wide, side + 0.05f, d}, 12, 20, &samples);
    print_message("speed over sqrt(2 g H): %.3f of %u samples\n", ratio, samples);
    assert_true(samples > 6 && fabs(ratio - 1.0) < 0.10);
    liquid_kit_free(&kit);
}

/* ---- viscosity ---- */

static f64 amplitude_of(const LiquidKit *kit, f64 thick)
{
    const Vec3 *at = liquid_positions(kit->liquid), *v = liquid_velocities(kit->liquid);
    const u16 *live = liquid_generations(kit->liquid);
    f64 sum = 0.0, norm = 0.0;
    for (u32 s = 0; s < liquid_slots(kit->liquid); s++) {
        f64 mode = cos(3.14159265 * (f64)at[s].y / thick);
        sum += live[s] != 0 ? mode * (f64)v[s].x : 0.0;
        norm += live[s] != 0 ? mode * mode : 0.0;
    }
    return sum / norm;
}

/* A free slab of thickness L with u = U cos(π y / L): no stress at its faces, so the flow decays by
 * exp(−ν (π / L)² t). Within 15 % from oil to honey. */
static void shear_decays_by_viscosity(void **state)
{
    PL_UNUSED(state);
    static const f32 viscosities[] = {3.0f, 10.0f, 30.0f};
    for (u32 r = 0; r < PL_COUNT(viscosities); r++) {
        f32 d = 0.02f;
        u32 n = 16;
        LiquidDef def = liquid_kit_water(d, n * n * n);
        def.phases[0].viscosity = viscosities[r];
        LiquidKit kit = liquid_kit_make(&def, 0.0f);
        f32 wide = 1.01f * d; /* a lattice at rest density would push itself apart */
        for (u32 k = 0; k < n * n * n; k++) {
            Vec3 at = vec3((f32)(k % n) + 0.5f, (f32)(k / n % n) + 0.5f, (f32)(k / n / n) + 0.5f);
            liquid_spawn(kit.liquid, 0, vec3_scale(at, wide), vec3_zero());
        }
        f64 thick = (f64)n * (f64)wide,
            rate = (f64)viscosities[r] / 1000.0 * 9.8696 / thick / thick;
        for (u32 s = 0; s < liquid_slots(kit.liquid); s++) {
            Vec3 at = liquid_positions(kit.liquid)[s];
            f32 u = 0.002f * (f32)cos(3.14159265 * (f64)at.y / thick);
            liquid_set(kit.liquid, s, at, vec3(u, 0.0f, 0.0f));
        }
        f64 before = amplitude_of(&kit, thick);
        f32 span = f32_min(1.0f, (f32)(0.7 / rate));
        span = KIT_TICK_S * floorf(span / KIT_TICK_S + 0.5f);
        liquid_kit_run(&kit, span);
        f64 measured = log(before / amplitude_of(&kit, thick)) / (f64)span;
        print_message("%.0f Pa s: decays at %.3f/s, expected %.3f\n", (f64)viscosities[r], measured,
                      rate);
        assert_true(fabs(measured / rate - 1.0) < 0.15);
        liquid_kit_free(&kit);
    }
}

/* A slab between two plates at x = 0 and L, free elsewhere, driven along z by an acceleration a:
 * Poiseuille's flow. Its mean velocity approaches a L² / 12 ν, the slowest mode at the rate ν (π /
 * L)². Within 15 % from oil to more than honey. */
static void poiseuille(void **state)
{
    PL_UNUSED(state);
    static const f32 viscosities[] = {1.0f, 10.0f, 100.0f, 1000.0f};
    for (u32 r = 0; r < PL_COUNT(viscosities); r++) {
        f32 d = 0.02f, wide = 10.0f * d;
        u32 n = 10, high = 12, deep = 24, count = 0;
        LiquidDef def = liquid_kit_water(d, n * high * deep);
        def.phases[0].viscosity = viscosities[r];
        LiquidKit kit = liquid_kit_make(&def, 0.0f);
        liquid_kit_wall(&kit, vec3(-0.5f, -1.0f, -1.0f), vec3(0.0f, 1.0f, 2.0f));
        liquid_kit_wall(&kit, vec3(wide, -1.0f, -1.0f), vec3(wide + 0.5f, 1.0f, 2.0f));
        for (u32 k = 0; k < n * high * deep; k++) {
            Vec3 at = vec3((f32)(k % n) + 0.5f, 1.01f * ((f32)(k / n % high) + 0.5f),
                           1.01f * ((f32)(k / n / high) + 0.5f));
            liquid_spawn(kit.liquid, 0, vec3_scale(at, d), vec3_zero());
        }
        f64 nu = (f64)viscosities[r] / 1000.0, rate = nu * 9.8696 / (f64)(wide * wide);
        f64 tends = 0.01, span = fmax(2.0 / rate, 4.0 * (f64)KIT_TICK_S);
        kit.gravity = vec3(0.0f, 0.0f, (f32)(tends * 12.0 * nu) / (wide * wide));
        span = (f64)KIT_TICK_S * floor(span / (f64)KIT_TICK_S + 0.5);
        liquid_kit_run(&kit, (f32)span);
        f64 mean = 0.0;
        for (u32 s = 0; s < liquid_slots(kit.liquid); s++) {
            f32 along = liquid_positions(kit.liquid)[s].z / (1.01f * d);
            bool inner = along > 8.0f && along < 16.0f;
            mean += inner ? (f64)liquid_velocities(kit.liquid)[s].z : 0.0;
            count += inner;
        }
        mean /= count;
        f64 expected = tends * (1.0 - 0.98553 * exp(-rate * span)); /* 96 / π⁴ */
        print_message("%.0f Pa s: mean %.5f m/s after %.2f s, expected %.5f\n", (f64)viscosities[r],
                      mean, span, expected);
        assert_true(fabs(mean / expected - 1.0) < 0.15);
        liquid_kit_free(&kit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dam_front_follows_the_table), cmocka_unit_test(jet_follows_torricelli),
        cmocka_unit_test(shear_decays_by_viscosity), cmocka_unit_test(poiseuille)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
