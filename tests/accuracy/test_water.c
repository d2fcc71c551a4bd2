/* test_water.c: waves on height fields and shallow water against exact solutions: dam breaks
 * (Ritter 1892, Stoker 1957), lakes at rest, oscillation in a bowl (Thacker 1981), a jump behind a
 * bump (Goutal & Maurel 1997), speeds of waves and bores, borders, conservation. */
#include "server/physics/grid/shallow.h"
#include "server/physics/grid/wave.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const f64 g = 9.81;
static const f32 tick_s = 1.0f / 60.0f;

/* A channel of n cells along x (or z), absorbing at its ends. */
static Shallow *channel(u32 n, f64 length_m, bool along_z, WaterBorder end)
{
    ShallowDef def = shallow_def_default();
    def.size[0] = along_z ? 1 : n;
    def.size[1] = along_z ? n : 1;
    def.cell_m = (f32)(length_m / n);
    def.awake = true;
    for (u32 side = 0; side < HEIGHTS_SIDE_COUNT; side++) {
        bool is_end = (side >= 2) == along_z;
        def.border[side] = is_end ? end : WATER_PERIODIC;
    }
    Shallow *shallow = shallow_create(&def, NULL);
    assert_non_null(shallow);
    return shallow;
}

static f64 depth_at(const Shallow *shallow, u32 i, bool along_z)
{
    ShallowCells cells = shallow_cells(shallow);
    return cells.depth[along_z ? (size_t)i * cells.stride : i];
}

static void run(Shallow *shallow, f64 time_s)
{
    u32 ticks = (u32)ceil(time_s / (f64)tick_s);
    for (u32 t = 0; t < ticks; t++) {
        shallow_step(shallow, (f32)(time_s / ticks), (f32)g, NULL);
    }
}

/* ---- dam breaks ---- */

typedef struct Dam {
    f64 left, right;            /* m, depths on either side */
    f64 middle, speed, shock;   /* m, m/s: 0 for a dry bed */
    f64 time_s, first_order[4]; /* s; error in % of HLL without slopes at n = 100, 200, 400, 800 */
} Dam;

static const Dam ritter = {1.0, 0.0, 0.0, 0.0, 0.0, 0.7, {1.23, 0.80, 0.50, 0.30}};
static const Dam stoker = {1.0, 0.1, 0.396175, 2.321355, 3.105134, 1.0, {1.22, 0.74, 0.44, 0.25}};

static f64 dam_depth(const Dam *dam, f64 x, f64 t)
{
    f64 xi = x / t, c = sqrt(g * dam->left);
    f64 fan = pow(2.0 * c - xi, 2.0) / (9.0 * g);
    if (xi < -c) {
        return dam->left;
    }
    if (dam->middle > 0.0) {
        return xi < dam->speed - sqrt(g * dam->middle) ? fan
               : xi < dam->shock                       ? dam->middle
                                                       : dam->right;
    }
    return xi < 2.0 * c ? fan : 0.0;
}

/* L1 error of the depth, % of the deeper side; the exact solution as cell means of 32 points. */
static f64 dam_error(const Dam *dam, u32 n, bool along_z, bool mirrored)
{
    Shallow *shallow = channel(n, 10.0, along_z, WATER_ABSORBING);
    for (u32 i = 0; i < n; i++) {
        bool deep = mirrored ? i >= n / 2 : i < n / 2;
        f32 depth = (f32)(deep ? dam->left : dam->right);
        shallow_set(shallow, along_z ? 0 : i, along_z ? i : 0, depth, 0.0f, 0.0f);
    }
    run(shallow, dam->time_s);
    f64 sum = 0.0;
    for (u32 i = 0; i < n; i++) {
        f64 mean = 0.0;
        for (u32 m = 0; m < 32; m++) {
            mean += dam_depth(dam, 10.0 * (i + (m + 0.5) / 32.0) / n - 5.0, dam->time_s) / 32.0;
        }
        sum += fabs(depth_at(shallow, mirrored ? n - 1 - i : i, along_z) - mean);
    }
    shallow_destroy(shallow);
    return 100.0 * sum / (n * dam->left);
}

static void dam_breaks_beat_first_order_twice(void **state)
{
    PL_UNUSED(state);
    const Dam *dams[] = {&ritter, &stoker};
    for (u32 d = 0; d < 2; d++) {
        for (u32 level = 0; level < 4; level++) {
            u32 n = 100u << level;
            f64 error = dam_error(dams[d], n, false, false);
            print_message("%s, n = %u: L1 %.3f %%, first order %.2f %%\n",
                          d == 0 ? "Ritter" : "Stoker", n, error, dams[d]->first_order[level]);
            assert_true(error <= 0.5 * dams[d]->first_order[level]);
        }
    }
}

/* Ritter's dam break at a free edge: the water above does not depend on what is below, so that 8/27
 * h √(g h) flows over it. */
static void water_falls_over_edges(void **state)
{
    PL_UNUSED(state);
    for (u32 n = 100; n <= 400; n *= 2) {
        f32 bed[400];
        Shallow *shallow = channel(n, 10.0, false, WATER_CLOSED);
        for (u32 i = 0; i < n; i++) {
            bed[i] = i < n / 2 ? 0.0f : -3.0f;
        }
        assert_true(shallow_set_bed(shallow, bed));
        for (u32 i = 0; i < n; i++) {
            shallow_set(shallow, i, 0, i < n / 2 ? 1.0f : 0.5f, 0.0f, 0.0f);
        }
        run(shallow, 1.0);
        f64 left = 0.0, fallen = 8.0 / 27.0 * sqrt(g) * 1.0;
        for (u32 i = 0; i < n / 2; i++) {
            left += depth_at(shallow, i, false) * 10.0 / n;
        }
        print_message("n = %u: %.3f m^2 fell over the edge, exact %.3f\n", n, 5.0 - left, fallen);
        assert_true(fabs((5.0 - left) / fallen - 1.0) < 4.0 / n);
        shallow_destroy(shallow);
    }
}

/* Ritter's front, where the depth is a thousandth of the dam's: thin water lags, less so on finer
 * grids. */
static void fronts_on_dry_land_keep_time(void **state)
{
    PL_UNUSED(state);
    for (u32 n = 200; n <= 800; n *= 2) {
        Shallow *shallow = channel(n, 10.0, false, WATER_ABSORBING);
        for (u32 i = 0; i < n / 2; i++) {
            shallow_set(shallow, i, 0, 1.0f, 0.0f, 0.0f);
        }
        run(shallow, 0.7);
        u32 i = n - 1;
        while (depth_at(shallow, i, false) < 1e-3) {
            i--;
        }
        f64 x = (i + 1.0) * 10.0 / n - 5.0, exact = 0.7 * sqrt(g) * (2.0 - 3.0 * sqrt(1e-3));
        print_message("n = %u: front at %.3f m, exact %.3f: %.1f %% late\n", n, x, exact,
                      100.0 * (1.0 - x / exact));
        assert_true(x < exact && 1.0 - x / exact < 0.33 / sqrt(n / 20.0));
        shallow_destroy(shallow);
    }
}

/* Along z and towards −x it is the same flow, apart from the time steps. */
static void directions_are_equivalent(void **state)
{
    PL_UNUSED(state);
    f64 x = dam_error(&stoker, 200, false, false);
    assert_true(fabs(dam_error(&stoker, 200, true, false) - x) < 3e-2 * x);
    assert_true(fabs(dam_error(&stoker, 200, false, true) - x) < 3e-2 * x);
}

/* A smooth wave before it breaks, against a solution with sixteen times as many cells. */
static void smooth_waves_are_of_second_order(void **state)
{
    PL_UNUSED(state);
    enum {
        FINE = 1024
    };
    static f64 depths[3][FINE];
    static const u32 counts[3] = {64, 128, FINE};
    for (u32 c = 0; c < 3; c++) {
        u32 n = counts[c];
        Shallow *shallow = channel(n, 10.0, false, WATER_PERIODIC);
        for (u32 i = 0; i < n; i++) {
            f64 a = 2.0 * 3.14159265358979 * i / n, b = a + 2.0 * 3.14159265358979 / n;
            f64 mean = 1.0 + 0.1 * (sin(b) - sin(a)) / (b - a);
            shallow_set(shallow, i, 0, (f32)mean, 0.0f, 0.0f);
        }
        run(shallow, 0.8);
        for (u32 i = 0; i < n; i++) {
            depths[c][i] = depth_at(shallow, i, false);
        }
        shallow_destroy(shallow);
    }
    f64 errors[2] = {0.0, 0.0};
    for (u32 c = 0; c < 2; c++) {
        u32 n = counts[c], part = FINE / n;
        for (u32 i = 0; i < n; i++) {
            f64 mean = 0.0;
            for (u32 m = 0; m < part; m++) {
                mean += depths[2][i * part + m] / part;
            }
            errors[c] += fabs(depths[c][i] - mean) / n;
        }
    }
    f64 order = log2(errors[0] / errors[1]);
    print_message("order %.2f (errors %.2e, %.2e m)\n", order, errors[0], errors[1]);
    assert_true(order > 1.7);
}

/* ---- rest ---- */

static f32 noise(u32 *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (f32)(*seed >> 8) / (f32)(1 << 24);
}

/* Rough terrain with islands; the water level is at the datum, or far from it. */
static f64 lake_speed(f32 level, WaterBorder border)
{
    enum {
        N = 100
    };
    static f32 bed[N * N];
    ShallowDef def = shallow_def_default();
    def.size[0] = def.size[1] = N;
    def.awake = true;
    for (u32 side = 0; side < HEIGHTS_SIDE_COUNT; side++) {
        def.border[side] = border;
    }
    Shallow *shallow = shallow_create(&def, NULL);
    u32 seed = 7;
    for (u32 c = 0; c < N * N; c++) {
        bed[c] = level + 1.5f * noise(&seed) - 1.0f;
    }
    assert_true(shallow_set_bed(shallow, bed));
    for (u32 c = 0; c < N * N; c++) {
        shallow_set(shallow, c % N, c / N, level - bed[c], 0.0f, 0.0f);
    }
    f64 before = shallow_sums(shallow).volume;
    f32 fastest = 0.0f;
    for (u32 t = 0; t < 240; t++) {
        shallow_step(shallow, tick_s, (f32)g, NULL);
        fastest = f32_max(fastest, shallow_stats(shallow).speed_max);
    }
    assert_true(fabs(shallow_sums(shallow).volume / before - 1.0) < 1e-7);
    assert_null(shallow_validate(shallow));
    shallow_destroy(shallow);
    print_message("lake at %.2f m: fastest %.2e m/s\n", (f64)level, (f64)fastest);
    return (f64)fastest;
}

static void lakes_stay_at_rest(void **state)
{
    PL_UNUSED(state);
    for (u32 border = 0; border < WATER_BORDER_COUNT; border++) {
        assert_true(lake_speed(0.0f, (WaterBorder)border) == 0.0);
        assert_true(lake_speed(0.7f, (WaterBorder)border) < 1e-5);
    }
}

/* ---- Thacker ---- */

/* A paraboloid bowl with an oscillating water level: a = 1 m, r0 = 0.8 m, 0.1 m deep. */
static f64 bowl_depth(f64 r2, f64 t, f64 amplitude, f64 omega)
{
    f64 c = 1.0 - amplitude * cos(omega * t), s = 1.0 - amplitude * amplitude;
    f64 level = 0.1 * (sqrt(s) / c - 1.0 - r2 * (s / (c * c) - 1.0));
    return fmax(level - 0.1 * (r2 - 1.0), 0.0);
}

/* Spread of the water around the centre: smallest when the level there is highest. */
static f64 spread_of(const Shallow *shallow, u32 n, f64 cell)
{
    ShallowCells cells = shallow_cells(shallow);
    f64 sum = 0.0;
    for (u32 c = 0; c < n * n; c++) {
        f64 x = (c % n + 0.5) * cell - 2.0, z = (c / n + 0.5) * cell - 2.0;
        sum += cells.depth[(size_t)(c / n) * cells.stride + c % n] * (x * x + z * z);
    }
    return sum;
}

static void water_in_a_bowl_keeps_time(void **state)
{
    PL_UNUSED(state);
    enum {
        N = 120,
        PERIODS = 3
    };
    static f32 bed[N * N];
    const f64 amplitude = (1.0 - 0.64) / (1.0 + 0.64), omega = sqrt(8.0 * g * 0.1);
    const f64 period = 2.0 * 3.14159265358979 / omega, cell = 4.0 / N;
    assert_true(fabs(period - 2.242851) < 1e-5);
    ShallowDef def = shallow_def_default();
    def.size[0] = def.size[1] = N;
    def.cell_m = (f32)cell;
    Shallow *shallow = shallow_create(&def, NULL);
    for (u32 c = 0; c < N * N; c++) {
        f64 x = (c % N + 0.5) * cell - 2.0, z = (c / N + 0.5) * cell - 2.0;
        bed[c] = (f32)(0.1 * (x * x + z * z - 1.0));
        shallow_set(shallow, c % N, c / N, (f32)bowl_depth(x * x + z * z, 0.0, amplitude, omega),
                    0.0f, 0.0f);
    }
    assert_true(shallow_set_bed(shallow, bed));
    f64 volume = shallow_sums(shallow).volume, energy = shallow_sums(shallow).potential;
    const u32 ticks = 135 * PERIODS; /* 60.2 in a second */
    f64 spread[3] = {0.0, 0.0, 0.0}; /* 8 ticks before, at, and after the end of the periods */
    for (u32 t = 1; t <= ticks + 8; t++) {
        shallow_step(shallow, (f32)(period / 135.0), (f32)g, NULL);
        if (t + 8 == ticks || t == ticks || t == ticks + 8) {
            spread[t + 8 == ticks ? 0 : t == ticks ? 1 : 2] = spread_of(shallow, N, cell);
        }
        if (t == ticks) {
            f64 error = 0.0, scale = 0.0;
            ShallowCells cells = shallow_cells(shallow);
            for (u32 c = 0; c < N * N; c++) {
                f64 x = (c % N + 0.5) * cell - 2.0, z = (c / N + 0.5) * cell - 2.0;
                f64 exact = bowl_depth(x * x + z * z, 0.0, amplitude, omega);
                error += fabs(cells.depth[(size_t)(c / N) * cells.stride + c % N] - exact);
                scale += exact;
            }
            print_message("bowl: depth after %d periods %.2f %% off\n", PERIODS,
                          100.0 * error / scale);
            assert_true(error < 0.03 * scale);
        }
    }
    ShallowSums sums = shallow_sums(shallow);
    f64 bend = spread[0] - 2.0 * spread[1] + spread[2];
    f64 least = ticks + 8.0 * 0.5 * (spread[0] - spread[2]) / bend;
    f64 measured = least / ticks * period;
    print_message("bowl: period %.5f s, exact %.5f s; volume off by %.1e, energy %.4f of first\n",
                  measured, period, sums.volume / volume - 1.0,
                  (sums.kinetic / g + sums.potential) / energy);
    assert_true(fabs(measured / period - 1.0) < 0.005);
    assert_true(fabs(sums.volume / volume - 1.0) < 1e-6);
    shallow_destroy(shallow);
}

/* ---- bump, bores, waves ---- */

/* 0.18 m²/s over a bump of 0.2 m into 0.33 m of water: the flow becomes supercritical behind the
 * crest and returns through a jump. */
static void flow_jumps_behind_a_bump(void **state)
{
    PL_UNUSED(state);
    enum {
        N = 500
    };
    static f32 bed[N];
    Shallow *shallow = channel(N, 25.0, false, WATER_ABSORBING);
    for (u32 i = 0; i < N; i++) {
        f64 x = (i + 0.5) * 0.05;
        bed[i] = (f32)fmax(0.0, 0.2 - 0.05 * (x - 10.0) * (x - 10.0));
        shallow_set(shallow, i, 0, 0.33f - bed[i], 0.0f, 0.0f);
    }
    assert_true(shallow_set_bed(shallow, bed));
    for (u32 t = 0; t < 12000; t++) {
        ShallowCells cells = shallow_cells(shallow);
        f32 inflow = cells.depth[2], outflow = cells.u[N - 3];
        for (u32 m = 0; m < 2; m++) {
            shallow_set(shallow, m, 0, inflow, 0.18f / inflow, 0.0f);
            shallow_set(shallow, N - 1 - m, 0, 0.33f, outflow, 0.0f);
        }
        shallow_step(shallow, tick_s, (f32)g, NULL);
    }
    ShallowCells cells = shallow_cells(shallow);
    u32 jump = 200;
    for (u32 i = jump; i < 300; i++) {
        bool steeper =
            cells.depth[i + 1] - cells.depth[i] > cells.depth[jump + 1] - cells.depth[jump];
        jump = steeper ? i : jump;
    }
    /* Bernoulli's heads: of critical flow over the crest, and of the outflow. */
    const f64 critical = cbrt(0.18 * 0.18 / g), pool = 0.18 / 0.33;
    const f64 heads[2] = {1.5 * critical + 0.2, 0.33 + pool * pool / (2.0 * g)};
    f64 flow = 0.0, head = 0.0;
    for (u32 i = 20; i < N - 20; i++) {
        f64 u = cells.u[i], h = cells.depth[i], all = h + (f64)bed[i] + u * u / (2.0 * g);
        if (i + 2 < jump || i > jump + 3) {
            flow = fmax(flow, fabs(h * u / 0.18 - 1.0));
            head = fmax(head, fabs(all / heads[i > jump] - 1.0));
        }
    }
    f64 place = (jump + 0.5) * 0.05, low = cells.depth[jump - 2];
    print_message("jump at %.2f m from %.4f m (11.67, 0.076); flow off by %.2f %%, head %.2f %%\n",
                  place, low, 100.0 * flow, 100.0 * head);
    assert_true(fabs(place - 11.66562) < 0.06);
    assert_true(fabs(low / 0.07597 - 1.0) < 0.05);
    assert_true(flow < 0.02 && head < 0.02);
    shallow_destroy(shallow);
}

/* A stream hits a wall: the reflected bore raises the level by Bélanger's ratio. */
static void bores_obey_belanger(void **state)
{
    PL_UNUSED(state);
    static const f32 speeds[] = {0.5f, 2.0f, 6.0f, 12.0f};
    for (u32 s = 0; s < PL_COUNT(speeds); s++) {
        enum {
            N = 400
        };
        Shallow *shallow = channel(N, 40.0, false, WATER_CLOSED);
        for (u32 i = 0; i < N; i++) {
            shallow_set(shallow, i, 0, 0.5f, speeds[s], 0.0f);
        }
        f64 places[2], times[2] = {1.0, 2.0};
        for (u32 m = 0; m < 2; m++) {
            run(shallow, m == 0 ? times[0] : times[1] - times[0]);
            f64 high = depth_at(shallow, N - 1, false), middle = 0.5 * (high + 0.5);
            u32 i = N - 1;
            while (i > 0 && depth_at(shallow, i - 1, false) > middle) {
                i--;
            }
            f64 a = depth_at(shallow, i - 1, false), b = depth_at(shallow, i, false);
            places[m] = 0.1 * (i - 0.5 + (middle - a) / (b - a));
        }
        f64 bore = (places[0] - places[1]) / (times[1] - times[0]);
        f64 froude = ((f64)speeds[s] + bore) / sqrt(g * 0.5);
        f64 ratio = depth_at(shallow, N - 20, false) / 0.5;
        f64 expected = 0.5 * (sqrt(1.0 + 8.0 * froude * froude) - 1.0);
        print_message("bore: Froude %.2f, ratio %.3f, Belanger %.3f\n", froude, ratio, expected);
        assert_true(fabs(ratio / expected - 1.0) < 0.02);
        shallow_destroy(shallow);
    }
}

/* Position of the crest of a low pulse that runs towards +x, by the centroid of the raised
 * water. */
static f64 wave_speed(f64 depth, bool by_wave)
{
    enum {
        N = 400
    };
    const f64 cell = 0.1;
    f64 c = sqrt(g * depth), places[2], times[2] = {0.2 * 40.0 / c, 0.4 * 40.0 / c};
    Shallow *shallow = channel(N, N * cell, false, WATER_ABSORBING);
    WaveDef def = wave_def_default();
    def.size[0] = N;
    def.size[1] = 1;
    def.depth_m = (f32)depth;
    def.border[0] = def.border[1] = WATER_ABSORBING;
    def.border[2] = def.border[3] = WATER_PERIODIC;
    Wave *wave = wave_create(&def, NULL);
    wave_step(wave, tick_s, (f32)g, NULL);
    for (u32 i = 0; i < N; i++) {
        f64 x = (i - 80.0) / 10.0, level = 1e-3 * depth * exp(-x * x);
        f64 slope = -2.0 * x / (10.0 * cell) * level;
        shallow_set(shallow, i, 0, (f32)(depth + level), (f32)(level * sqrt(g / depth)), 0.0f);
        wave_add(wave, i, 0, (f32)level, (f32)(-c * slope));
    }
    u32 ticks = 0;
    for (u32 m = 0; m < 2; m++) {
        for (; ticks * (f64)tick_s < times[m]; ticks++) {
            shallow_step(shallow, tick_s, (f32)g, NULL);
            wave_step(wave, tick_s, (f32)g, NULL);
        }
        f64 sum = 0.0, moment = 0.0;
        u32 stride;
        for (u32 i = 0; i < N; i++) {
            f64 level =
                by_wave ? (f64)wave_levels(wave, &stride)[i] : depth_at(shallow, i, false) - depth;
            level = level > 2e-4 * depth ? level : 0.0;
            sum += level;
            moment += level * i * cell;
        }
        places[m] = moment / sum;
        times[m] = ticks * (f64)tick_s;
    }
    shallow_destroy(shallow);
    wave_destroy(wave);
    return (places[1] - places[0]) / (times[1] - times[0]);
}

static void long_waves_run_at_the_root_of_depth(void **state)
{
    PL_UNUSED(state);
    static const f64 depths[] = {0.05, 0.5, 3.0};
    for (u32 d = 0; d < PL_COUNT(depths); d++) {
        f64 c = sqrt(g * depths[d]);
        f64 shallow = wave_speed(depths[d], false), wave = wave_speed(depths[d], true);
        print_message("%.2f m deep: %.3f m/s; shallow %.3f, wave %.3f\n", depths[d], c, shallow,
                      wave);
        assert_true(fabs(shallow / c - 1.0) < 0.01);
        assert_true(fabs(wave / c - 1.0) < 0.01);
    }
}

/* ---- borders ---- */

/* Highest level that remains of a pulse of 1 after it has reached the border. */
static f64 wave_left(WaterBorder border)
{
    enum {
        N = 128
    };
    WaveDef def = wave_def_default();
    def.size[0] = N;
    def.size[1] = 1;
    def.border[0] = def.border[1] = border;
    def.border[2] = def.border[3] = WATER_PERIODIC;
    Wave *wave = wave_create(&def, NULL);
    for (u32 i = 0; i < N; i++) {
        f64 x = (i - 64.0) / 8.0;
        wave_add(wave, i, 0, (f32)(0.01 * exp(-x * x)), 0.0f);
    }
    u32 stride;
    for (u32 t = 0; t < 240; t++) {
        wave_step(wave, tick_s, (f32)g, NULL);
    }
    f64 most = 0.0;
    for (u32 i = 0; i < N; i++) {
        most = fmax(most, fabs((f64)wave_levels(wave, &stride)[i]));
    }
    wave_destroy(wave);
    return most / 0.01;
}

static f64 shallow_left(WaterBorder border)
{
    enum {
        N = 128
    };
    Shallow *shallow = channel(N, 12.8, false, border);
    for (u32 i = 0; i < N; i++) {
        f64 x = (i - 64.0) / 8.0;
        shallow_set(shallow, i, 0, (f32)(1.0 + 0.01 * exp(-x * x)), 0.0f, 0.0f);
    }
    run(shallow, 4.0);
    f64 most = 0.0;
    for (u32 i = 0; i < N; i++) {
        most = fmax(most, fabs(depth_at(shallow, i, false) - 1.0));
    }
    shallow_destroy(shallow);
    return most / 0.01;
}

static void borders_reflect_pass_or_absorb(void **state)
{
    PL_UNUSED(state);
    for (u32 border = 0; border < WATER_BORDER_COUNT; border++) {
        f64 wave = wave_left((WaterBorder)border), shallow = shallow_left((WaterBorder)border);
        print_message("border %u: of a pulse is left %.4f (wave), %.4f (shallow)\n", border, wave,
                      shallow);
        if (border == WATER_ABSORBING) {
            assert_true(wave < 0.01 && shallow < 0.02);
        } else {
            assert_true(wave > 0.4 && shallow > 0.35);
        }
    }
}

/* ---- conservation ---- */

static void wave_volume_stays(void **state)
{
    PL_UNUSED(state);
    for (u32 border = 0; border < 2; border++) {
        WaveDef def = wave_def_default();
        def.size[0] = 75;
        def.size[1] = 40;
        def.border[0] = def.border[1] = def.border[2] = def.border[3] = (WaterBorder)border;
        Wave *wave = wave_create(&def, NULL);
        for (u32 t = 0; t < 2000; t++) {
            if (t % 100 == 0) {
                wave_add(wave, t / 100 * 3, t / 100, 0.1f, 1.0f);
            }
            wave_step(wave, tick_s, (f32)g, NULL);
        }
        WaveSums sums = wave_sums(wave);
        f64 expected = 20 * 0.1 * 0.01;
        print_message("volume after 2000 ticks: off by %.1e\n", sums.volume / expected - 1.0);
        assert_true(fabs(sums.volume / expected - 1.0) < 1e-6);
        assert_null(wave_validate(wave));
        wave_destroy(wave);
    }
}

static void wave_energy_stays(void **state)
{
    PL_UNUSED(state);
    WaveDef def = wave_def_default();
    Wave *wave = wave_create(&def, NULL);
    for (u32 c = 0; c < 64 * 64; c++) {
        f64 x = (c % 64 - 20.0) / 5.0, z = (c / 64 - 30.0) / 5.0;
        wave_add(wave, c % 64, c / 64, (f32)(0.1 * exp(-x * x - z * z)), 0.0f);
    }
    wave_step(wave, tick_s, (f32)g, NULL);
    f64 before = wave_sums(wave).invariant;
    for (u32 t = 0; t < 1000; t++) {
        wave_step(wave, tick_s, (f32)g, NULL);
    }
    assert_true(fabs(wave_sums(wave).invariant / before - 1.0) < 1e-4);
    wave_destroy(wave);
}

/* Water sloshes over dry land and back; on a flat bed with periodic borders momentum is conserved
 * too. */
static void shallow_volume_and_momentum_stay(void **state)
{
    PL_UNUSED(state);
    for (u32 flat = 0; flat < 2; flat++) {
        enum {
            N = 80
        };
        static f32 bed[N * N];
        ShallowDef def = shallow_def_default();
        def.size[0] = def.size[1] = N;
        for (u32 side = 0; side < HEIGHTS_SIDE_COUNT; side++) {
            def.border[side] = flat ? WATER_PERIODIC : WATER_CLOSED;
        }
        Shallow *shallow = shallow_create(&def, NULL);
        u32 seed = 3;
        for (u32 c = 0; c < N * N; c++) {
            bed[c] = flat ? 0.0f : 0.02f * (f32)(c % N) + 0.1f * noise(&seed);
            f32 depth = c % N < N / 2 ? 1.0f : flat ? 0.3f : 0.0f;
            shallow_set(shallow, c % N, c / N, depth, flat ? 1.0f : 0.0f, c / N < 20 ? 0.5f : 0.0f);
        }
        assert_true(shallow_set_bed(shallow, bed));
        ShallowSums before = shallow_sums(shallow);
        for (u32 t = 0; t < 600; t++) {
            shallow_step(shallow, tick_s, (f32)g, NULL);
        }
        ShallowSums after = shallow_sums(shallow);
        print_message("volume off by %.1e; momentum %.6f -> %.6f\n",
                      after.volume / before.volume - 1.0, before.momentum[0], after.momentum[0]);
        assert_true(fabs(after.volume / before.volume - 1.0) < 1e-6);
        for (u32 axis = 0; flat && axis < 2; axis++) {
            assert_true(fabs(after.momentum[axis] - before.momentum[axis]) <
                        1e-5 * before.momentum[0]);
        }
        shallow_destroy(shallow);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dam_breaks_beat_first_order_twice),
        cmocka_unit_test(water_falls_over_edges),
        cmocka_unit_test(fronts_on_dry_land_keep_time),
        cmocka_unit_test(directions_are_equivalent),
        cmocka_unit_test(smooth_waves_are_of_second_order),
        cmocka_unit_test(lakes_stay_at_rest),
        cmocka_unit_test(water_in_a_bowl_keeps_time),
        cmocka_unit_test(flow_jumps_behind_a_bump),
        cmocka_unit_test(bores_obey_belanger),
        cmocka_unit_test(long_waves_run_at_the_root_of_depth),
        cmocka_unit_test(borders_reflect_pass_or_absorb),
        cmocka_unit_test(wave_volume_stays),
        cmocka_unit_test(wave_energy_stays),
        cmocka_unit_test(shallow_volume_and_momentum_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
