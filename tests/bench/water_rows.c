/* water_rows.c: the time of a step of waves and of shallow water on 512² cells, compared with plain
 * scalar loops of the same methods, and as a fraction of the memory bandwidth of a copy. */
#include "server/physics/grid/shallow.h"
#include "server/physics/grid/wave.h"
#include "shared/base/clock.h"
#include "tests/bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    N = 512,
    CELLS = N * N,
    TICKS = 60
};
static const f32 tick_s = 1.0f / 60.0f, g = 9.81f;

static f64 ms_since(u64 began_ns)
{
    return (f64)(clock_now_ns() - began_ns) * 1e-6;
}

static void print_row(Bench *bench, const char *name, Jobs *jobs)
{
    BenchRow row = {
        name, CELLS, jobs_threads(jobs), "ms", 1e3 * (f64)CELLS / bench_median(bench), "cells/s"};
    bench_print(bench, &row);
}

/* ---- waves ---- */

void bench_wave512(Bench *bench)
{
    for (u32 pass = 0; pass < (bench->threads > 1 ? 2 : 1); pass++) {
        Jobs *jobs = pass ? bench->jobs : NULL;
        WaveDef def = wave_def_default();
        def.size[0] = def.size[1] = N;
        Wave *wave = bench_must(wave_create(&def, NULL));
        for (u32 c = 0; c < CELLS; c++) {
            f32 x = (f32)(c % N) / 20.0f - 10.0f, z = (f32)(c / N) / 20.0f - 8.0f;
            wave_add(wave, c % N, c / N, 0.1f * expf(-x * x - z * z), 0.0f);
        }
        bench_begin(bench);
        while (bench_again(bench)) {
            for (u32 t = 0; t < TICKS; t++) {
                u64 began_ns = clock_now_ns();
                wave_step(wave, tick_s, g, jobs);
                bench_sample(bench, ms_since(began_ns) / wave_sums(wave).steps);
            }
        }
        print_row(bench, "grid/wave512", jobs);
        if (pass == 0) {
            bench_bandwidth(bench, "grid/wave512_bandwidth", CELLS, 3 * sizeof(f32));
        }
        wave_destroy(wave);
    }
}

/* As it would be written first. */
static void plain_wave(const f32 *now, f32 *other, f32 coupling)
{
    for (u32 k = 0; k < N; k++) {
        for (u32 i = 0; i < N; i++) {
            u32 c = k * N + i;
            f32 h = now[c], west = i > 0 ? now[c - 1] : h, east = i + 1 < N ? now[c + 1] : h;
            f32 south = k > 0 ? now[c - N] : h, north = k + 1 < N ? now[c + N] : h;
            other[c] = 2.0f * h - other[c] + coupling * (west + east + south + north - 4.0f * h);
        }
    }
}

void bench_wave_plain512(Bench *bench)
{
    f32 *now = bench_get(CELLS, sizeof(f32)), *other = bench_get(CELLS, sizeof(f32));
    now[CELLS / 3] = other[CELLS / 3] = 0.1f;
    bench_begin(bench);
    while (bench_again(bench)) {
        for (u32 t = 0; t < TICKS; t++) {
            u64 began_ns = clock_now_ns();
            plain_wave(now, other, 0.27f);
            bench_sample(bench, ms_since(began_ns));
            f32 *swap = now;
            now = other;
            other = swap;
        }
    }
    print_row(bench, "grid/wave_plain512", NULL);
    free(now);
    free(other);
}

/* ---- shallow water ---- */

static f32 bed_at(u32 i, u32 k)
{
    return 0.3f * sinf((f32)i * 0.05f) * sinf((f32)k * 0.07f);
}
static f32 dam_at(u32 i, u32 k)
{
    return f32_max((i < N / 2 ? 1.0f : 0.1f) - bed_at(i, k), 0.0f);
}

/* A dam break over hills, half of it dry land; all of it awake. */
void bench_shallow512(Bench *bench)
{
    f32 *bed = bench_get(CELLS, sizeof(f32));
    for (u32 c = 0; c < CELLS; c++) {
        bed[c] = bed_at(c % N, c / N);
    }
    for (u32 pass = 0; pass < (bench->threads > 1 ? 2 : 1); pass++) {
        Jobs *jobs = pass ? bench->jobs : NULL;
        ShallowDef def = shallow_def_default();
        def.size[0] = def.size[1] = N;
        def.awake = true;
        Shallow *shallow = bench_must(shallow_create(&def, NULL));
        shallow_set_bed(shallow, bed);
        bench_begin(bench);
        while (bench_again(bench)) {
            for (u32 c = 0; c < CELLS; c++) {
                shallow_set(shallow, c % N, c / N, dam_at(c % N, c / N), 0.0f, 0.0f);
            }
            for (u32 t = 0; t < TICKS; t++) {
                u64 began_ns = clock_now_ns();
                shallow_step(shallow, tick_s, g, jobs);
                bench_sample(bench, ms_since(began_ns) / shallow_stats(shallow).steps);
            }
        }
        if (shallow_validate(shallow) != NULL) {
            fprintf(stderr, "plenum-bench: shallow water: %s\n", shallow_validate(shallow));
            exit(EXIT_CHECK_FAILED);
        }
        print_row(bench, "grid/shallow512", jobs);
        if (pass == 0) {
            bench_bandwidth(bench, "grid/shallow512_bandwidth", CELLS, 7 * sizeof(f32));
        }
        shallow_destroy(shallow);
    }
    free(bed);
}

/* ---- plain shallow water: slopes, faces, fluxes as they stand in the books ---- */

typedef struct Plain {
    f32 *h, *q, *r, *bed; /* [CELLS] m, m²/s */
    f32 *dh, *dq, *dr;    /* [CELLS] rates */
    f32 *h2, *q2, *r2;    /* [CELLS] of the first stage */
} Plain;

typedef struct PlainSide {
    f32 level, h, u, v;
} PlainSide;

static f32 minmod(f32 a, f32 b)
{
    return a * b <= 0.0f ? 0.0f : fabsf(a) < fabsf(b) ? a : b;
}

/* Values of a cell at its face towards `sign` along `step`; u across the face. */
static PlainSide plain_side(const Plain *p, i32 c, i32 step, f32 sign)
{
    f32 h[3], level[3], u[3], v[3];
    for (i32 n = -1; n <= 1; n++) {
        i32 at = c + n * step;
        at = at < 0 || at >= CELLS ? c : at;
        h[n + 1] = p->h[at];
        level[n + 1] = p->h[at] + p->bed[at];
        f32 inverse = p->h[at] > 1e-4f ? 1.0f / p->h[at] : 0.0f;
        u[n + 1] = (step == 1 ? p->q[at] : p->r[at]) * inverse;
        v[n + 1] = (step == 1 ? p->r[at] : p->q[at]) * inverse;
    }
    f32 half = 0.5f * sign;
    return (PlainSide){level[1] + half * minmod(level[1] - level[0], level[2] - level[1]),
                       h[1] + half * minmod(h[1] - h[0], h[2] - h[1]),
                       u[1] + half * minmod(u[1] - u[0], u[2] - u[1]),
                       v[1] + half * minmod(v[1] - v[0], v[2] - v[1])};
}

static void plain_face(Plain *p, i32 c, i32 step, f32 rate)
{
    i32 d = c + step;
    PlainSide a = plain_side(p, c, step, 1.0f), b = plain_side(p, d, step, -1.0f);
    f32 bed = f32_max(a.level - a.h, b.level - b.h);
    f32 ha = f32_max(a.level - bed, 0.0f), hb = f32_max(b.level - bed, 0.0f);
    f32 ca = sqrtf(g * ha), cb = sqrtf(g * hb);
    f32 slow = f32_min(f32_min(a.u - ca, b.u - cb), 0.0f);
    f32 fast = f32_max(f32_max(a.u + ca, b.u + cb), 0.0f), width = fast - slow;
    f32 qa = ha * a.u, qb = hb * b.u, fa = qa * a.u + 0.5f * g * ha * ha;
    f32 fb = qb * b.u + 0.5f * g * hb * hb;
    f32 volume = 0.0f, across = 0.0f;
    if (width > 1e-9f) {
        volume = (fast * qa - slow * qb + fast * slow * (hb - ha)) / width;
        across = (fast * fa - slow * fb + fast * slow * (qb - qa)) / width;
    }
    f32 along = volume * (volume > 0.0f ? a.v : b.v);
    f32 *q = step == 1 ? p->dq : p->dr, *r = step == 1 ? p->dr : p->dq;
    p->dh[c] -= rate * volume;
    p->dh[d] += rate * volume;
    /* The pressure of the bed: of the cut depth, and of the slope between faces. */
    q[c] -= rate * (across + 0.5f * g * (a.h * a.h - ha * ha));
    q[d] += rate * (across + 0.5f * g * (b.h * b.h - hb * hb));
    q[c] += rate * 0.5f * g * (a.h + p->h[c]) * (p->bed[c] - (a.level - a.h));
    q[d] -= rate * 0.5f * g * (b.h + p->h[d]) * (p->bed[d] - (b.level - b.h));
    r[c] -= rate * along;
    r[d] += rate * along;
}

static void plain_rates(Plain *p, f32 rate)
{
    memset(p->dh, 0, CELLS * sizeof(f32));
    memset(p->dq, 0, CELLS * sizeof(f32));
    memset(p->dr, 0, CELLS * sizeof(f32));
    for (i32 k = 0; k < N; k++) {
        for (i32 i = 0; i < N; i++) {
            if (i + 1 < N) {
                plain_face(p, k * N + i, 1, rate);
            }
            if (k + 1 < N) {
                plain_face(p, k * N + i, N, rate);
            }
        }
    }
}

/* Heun: two stages, and their mean. */
static void plain_step(Plain *p, f32 rate)
{
    f32 *all[3][3] = {{p->h, p->dh, p->h2}, {p->q, p->dq, p->q2}, {p->r, p->dr, p->r2}};
    for (u32 stage = 0; stage < 2; stage++) {
        for (u32 n = 0; n < 3 && stage == 0; n++) {
            memcpy(all[n][2], all[n][0], CELLS * sizeof(f32));
        }
        plain_rates(p, rate);
        for (u32 n = 0; n < 3; n++) {
            for (u32 c = 0; c < CELLS; c++) {
                f32 next = all[n][0][c] + all[n][1][c];
                next = stage == 0 ? next : 0.5f * (all[n][2][c] + next);
                all[n][0][c] = n == 0 ? f32_max(next, 0.0f) : next;
            }
        }
    }
}

void bench_shallow_plain512(Bench *bench)
{
    Plain p = {0};
    f32 **all[] = {&p.h, &p.q, &p.r, &p.bed, &p.dh, &p.dq, &p.dr, &p.h2, &p.q2, &p.r2};
    for (u32 n = 0; n < PL_COUNT(all); n++) {
        *all[n] = bench_get(CELLS, sizeof(f32));
    }
    for (u32 c = 0; c < CELLS; c++) {
        p.bed[c] = bed_at(c % N, c / N);
        p.h[c] = dam_at(c % N, c / N);
    }
    bench_begin(bench);
    while (bench_again(bench)) {
        for (u32 t = 0; t < TICKS / 4; t++) {
            u64 began_ns = clock_now_ns();
            plain_step(&p, 0.04f);
            bench_sample(bench, ms_since(began_ns));
        }
    }
    print_row(bench, "grid/shallow_plain512", NULL);
    for (u32 n = 0; n < PL_COUNT(all); n++) {
        free(*all[n]);
    }
}
