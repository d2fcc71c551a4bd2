/*
 * codec_liquid.c: a small liquid solver to make points that move as those of a liquid do: Macklin
 * and Müller, "Position based fluids" (2013), with the artificial pressure and XSPH viscosity of
 * the paper, in a closed tank. Same seed, same bits.
 */
#include "shared/math/random.h"
#include "tests/bench/bench.h"
#include "tests/bench/codec_points_world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS = 3, /* a frame */
    ITERATIONS = 2,
    NEIGHBOURS_MAX = 128,
};

typedef struct Liquid {
    u32 count, cells[3];
    f32 spacing, h, step_s, tank[3];
    f32 rest, relax, viscosity; /* rest: density of the lattice */
    f32 *at, *was, *velocity;   /* [count][3], in the order of the cells */
    f32 *lambda, *move;         /* [count], [count][3] */
    u32 *id, *cell, *first;     /* particle at a place; its cell; [cells + 1] */
    u32 *neighbours;            /* [count][NEIGHBOURS_MAX] */
    u32 *neighbour_count;
    void *scratch; /* [count][3] of 4 bytes */
} Liquid;

static f32 poly6(f32 r2, f32 h)
{
    f32 d = h * h - r2, h3 = h * h * h;
    return r2 < h * h ? 1.5666815f / (h3 * h3 * h3) * d * d * d : 0.0f;
}

/* dW/dr of the spiky kernel, over r. */
static f32 spiky_slope(f32 r, f32 h)
{
    f32 h3 = h * h * h;
    return r < h ? -14.323945f / (h3 * h3) * (h - r) * (h - r) / (r > 1e-6f ? r : 1e-6f) : 0.0f;
}

static u32 cell_of(const Liquid *l, const f32 *at)
{
    u32 c[3];
    for (u32 a = 0; a < 3; a++) {
        i32 k = (i32)(at[a] / l->h);
        c[a] = k < 0 ? 0 : k >= (i32)l->cells[a] ? l->cells[a] - 1 : (u32)k;
    }
    return c[0] + l->cells[0] * (c[1] + l->cells[1] * c[2]);
}

static void reorder(Liquid *l, void *values, u32 width, const u32 *to)
{
    u32 *from = values, *sorted = l->scratch;
    for (u32 i = 0; i < l->count; i++) {
        memcpy(sorted + (size_t)to[i] * width, from + (size_t)i * width, width * sizeof *from);
    }
    memcpy(from, sorted, (size_t)l->count * width * sizeof *from);
}

/* Particles into the order of their cells (counting sort, stable). */
static void sort_by_cell(Liquid *l)
{
    u32 cells = l->cells[0] * l->cells[1] * l->cells[2], *to = l->neighbour_count;
    memset(l->first, 0, (cells + 1) * sizeof *l->first);
    for (u32 i = 0; i < l->count; i++) {
        l->cell[i] = cell_of(l, l->at + (size_t)i * 3);
        l->first[l->cell[i] + 1]++;
    }
    for (u32 c = 0; c < cells; c++) {
        l->first[c + 1] += l->first[c];
    }
    for (u32 i = 0; i < l->count; i++) {
        to[i] = l->first[l->cell[i]]++;
    }
    memmove(l->first + 1, l->first, cells * sizeof *l->first);
    l->first[0] = 0;
    reorder(l, l->at, 3, to);
    reorder(l, l->was, 3, to);
    reorder(l, l->velocity, 3, to);
    reorder(l, l->id, 1, to);
    reorder(l, l->cell, 1, to);
}

static void find_neighbours(Liquid *l, u32 i)
{
    const f32 *p = l->at + (size_t)i * 3;
    u32 *list = l->neighbours + (size_t)i * NEIGHBOURS_MAX, n = 0;
    u32 c = l->cell[i], x = c % l->cells[0], y = c / l->cells[0] % l->cells[1],
        z = c / l->cells[0] / l->cells[1];
    for (u32 k = z > 0 ? z - 1 : 0; k <= z + 1 && k < l->cells[2]; k++) {
        for (u32 j = y > 0 ? y - 1 : 0; j <= y + 1 && j < l->cells[1]; j++) {
            u32 row = l->cells[0] * (j + l->cells[1] * k);
            u32 from = row + (x > 0 ? x - 1 : 0),
                end = row + (x + 2 < l->cells[0] ? x + 2 : l->cells[0]);
            for (u32 q = l->first[from]; q < l->first[end]; q++) {
                const f32 *o = l->at + (size_t)q * 3;
                f32 dx = p[0] - o[0], dy = p[1] - o[1], dz = p[2] - o[2];
                if (dx * dx + dy * dy + dz * dz < l->h * l->h && q != i && n < NEIGHBOURS_MAX) {
                    list[n++] = q;
                }
            }
        }
    }
    l->neighbour_count[i] = n;
}

/* λ of eq. 11, with the density and its gradients over the rest density. */
static void find_lambda(Liquid *l, u32 i)
{
    const f32 *p = l->at + (size_t)i * 3;
    f32 density = poly6(0.0f, l->h), own[3] = {0}, squares = 0.0f;
    for (u32 n = 0; n < l->neighbour_count[i]; n++) {
        const f32 *o = l->at + (size_t)l->neighbours[(size_t)i * NEIGHBOURS_MAX + n] * 3;
        f32 d[3] = {p[0] - o[0], p[1] - o[1], p[2] - o[2]};
        f32 r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        density += poly6(r2, l->h);
        f32 slope = spiky_slope(sqrtf(r2), l->h) / l->rest;
        for (u32 a = 0; a < 3; a++) {
            own[a] += slope * d[a];
        }
        squares += slope * slope * r2;
    }
    squares += own[0] * own[0] + own[1] * own[1] + own[2] * own[2];
    f32 constraint = density / l->rest - 1.0f;
    l->lambda[i] = constraint > 0.0f ? -constraint / (squares + l->relax) : 0.0f;
}

/* Δp of eq. 14 with the tensile correction of eq. 13. */
static void find_move(Liquid *l, u32 i)
{
    const f32 *p = l->at + (size_t)i * 3;
    f32 *move = l->move + (size_t)i * 3, scale = 1.0f / poly6(0.04f * l->h * l->h, l->h);
    memset(move, 0, 3 * sizeof *move);
    for (u32 n = 0; n < l->neighbour_count[i]; n++) {
        u32 j = l->neighbours[(size_t)i * NEIGHBOURS_MAX + n];
        const f32 *o = l->at + (size_t)j * 3;
        f32 d[3] = {p[0] - o[0], p[1] - o[1], p[2] - o[2]};
        f32 r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        f32 w = poly6(r2, l->h) * scale;
        f32 push = -0.0005f * l->spacing * l->spacing * w * w * w * w;
        f32 slope = spiky_slope(sqrtf(r2), l->h) / l->rest;
        for (u32 a = 0; a < 3; a++) {
            move[a] += (l->lambda[i] + l->lambda[j] + push) * slope * d[a];
        }
    }
}

static void keep_inside(const Liquid *l, f32 *p)
{
    for (u32 a = 0; a < 3; a++) {
        f32 low = 0.5f * l->spacing, high = l->tank[a] - low;
        p[a] = p[a] < low ? low : p[a] > high ? high : p[a];
    }
}

/* XSPH (eq. 17): v + c Σ (vⱼ − v) W, into `move`. */
static void smooth_velocity(Liquid *l, u32 i)
{
    f32 *out = l->move + (size_t)i * 3;
    const f32 *p = l->at + (size_t)i * 3, *v = l->velocity + (size_t)i * 3;
    memcpy(out, v, 3 * sizeof *out);
    for (u32 n = 0; n < l->neighbour_count[i]; n++) {
        size_t j = (size_t)l->neighbours[(size_t)i * NEIGHBOURS_MAX + n] * 3;
        f32 d[3] = {p[0] - l->at[j], p[1] - l->at[j + 1], p[2] - l->at[j + 2]};
        f32 w = l->viscosity / l->rest * poly6(d[0] * d[0] + d[1] * d[1] + d[2] * d[2], l->h);
        for (u32 a = 0; a < 3; a++) {
            out[a] += w * (l->velocity[j + a] - v[a]);
        }
    }
}

static void step(Liquid *l)
{
    u32 numbers = l->count * 3;
    memcpy(l->was, l->at, numbers * sizeof *l->at);
    for (u32 i = 0; i < l->count; i++) {
        f32 *v = l->velocity + (size_t)i * 3, *p = l->at + (size_t)i * 3;
        v[1] -= 9.81f * l->step_s;
        for (u32 a = 0; a < 3; a++) {
            p[a] += v[a] * l->step_s;
        }
        keep_inside(l, p);
    }
    sort_by_cell(l);
    for (u32 i = 0; i < l->count; i++) {
        find_neighbours(l, i);
    }
    for (u32 k = 0; k < ITERATIONS; k++) {
        for (u32 i = 0; i < l->count; i++) {
            find_lambda(l, i);
        }
        for (u32 i = 0; i < l->count; i++) {
            find_move(l, i);
        }
        for (u32 i = 0; i < l->count; i++) {
            f32 *p = l->at + (size_t)i * 3, most = 0.05f * l->spacing;
            for (u32 a = 0; a < 3; a++) { /* what leaps overlaps more than before */
                f32 move = l->move[(size_t)i * 3 + a];
                p[a] += move > most ? most : move < -most ? -most : move;
            }
            keep_inside(l, p);
        }
    }
    for (u32 i = 0; i < numbers; i++) {
        l->velocity[i] = (l->at[i] - l->was[i]) / l->step_s;
    }
    for (u32 i = 0; i < l->count; i++) {
        smooth_velocity(l, i);
    }
    memcpy(l->velocity, l->move, numbers * sizeof *l->velocity);
}

/* A block at one end of the tank, or with every third seed in its middle and above the floor. */
static void fill(Liquid *l, u64 seed, const u32 block[3])
{
    f32 from[3] = {0.5f, 0.5f, 0.5f};
    if (seed % 3 == 2) {
        from[0] += 0.3f * ((f32)block[0]);
        from[1] += 6.0f;
    }
    for (u32 i = 0; i < l->count; i++) {
        u32 at[3] = {i % block[0], i / block[0] % block[1], i / block[0] / block[1]};
        for (u32 a = 0; a < 3; a++) {
            f32 off = random_range(seed, i * 3 + a, -0.02f, 0.02f);
            l->at[(size_t)i * 3 + a] = ((f32)at[a] + from[a] + off) * l->spacing;
        }
        l->id[i] = i;
    }
}

static void prepare(Liquid *l, u64 seed, u32 particles)
{
    l->spacing = random_range(seed, 1u << 30, 0.02f, 0.055f);
    f32 slim = random_range(seed, 2u << 30, 0.6f, 1.0f);
    f32 tall = random_range(seed, 3u << 30, 0.9f, 1.6f);
    f32 side = cbrtf((f32)particles / (slim * tall));
    u32 block[3] = {(u32)side, (u32)(side * tall), (u32)(side * slim)};
    l->count = block[0] * block[1] * block[2];
    l->h = 2.0f * l->spacing;
    l->step_s = 1.0f / 60.0f / STEPS;
    f32 longer = random_range(seed, 4u << 30, 2.0f, 3.5f);
    l->tank[0] = longer * (f32)block[0] * l->spacing;
    l->tank[1] = 3.0f * (f32)block[1] * l->spacing;
    l->tank[2] = (f32)block[2] * l->spacing;
    l->viscosity = random_range(seed, 5ull << 30, 0.02f, 0.4f);
    for (i32 x = -2; x <= 2; x++) {
        for (i32 y = -2; y <= 2; y++) {
            for (i32 z = -2; z <= 2; z++) {
                f32 r2 = (f32)(x * x + y * y + z * z) * l->spacing * l->spacing;
                l->rest += poly6(r2, l->h);
            }
        }
    }
    f32 slope = spiky_slope(l->spacing, l->h) * l->spacing / l->rest;
    l->relax = 0.5f * slope * slope; /* half a neighbour in the sum of squares */
    for (u32 a = 0; a < 3; a++) {
        l->cells[a] = (u32)(l->tank[a] / l->h) + 1;
    }
    u32 n = l->count;
    l->at = bench_get(n, 3 * sizeof(f32));
    l->was = bench_get(n, 3 * sizeof(f32));
    l->velocity = bench_get(n, 3 * sizeof(f32));
    l->move = bench_get(n, 3 * sizeof(f32));
    l->lambda = bench_get(n, sizeof(f32));
    l->id = bench_get(n, sizeof(u32));
    l->cell = bench_get(n, sizeof(u32));
    l->first = bench_get(l->cells[0] * l->cells[1] * l->cells[2] + 2, sizeof(u32));
    l->neighbours = bench_get(n, NEIGHBOURS_MAX * sizeof(u32));
    l->neighbour_count = bench_get(n, sizeof(u32));
    l->scratch = bench_get(n, 3 * sizeof(f32));
    fill(l, seed, block);
}

PointTrace codec_liquid(u64 seed, u32 particles, u32 frames)
{
    Liquid l = {0};
    prepare(&l, seed, particles);
    PointTrace trace = {bench_get((size_t)frames * l.count, 3 * sizeof(f32)), frames, l.count};
    for (u32 f = 0; f < frames; f++) {
        f32 *out = trace.at + (size_t)f * l.count * 3;
        for (u32 i = 0; i < l.count; i++) {
            memcpy(out + (size_t)l.id[i] * 3, l.at + (size_t)i * 3, 3 * sizeof *out);
        }
        for (u32 s = 0; s < STEPS; s++) {
            step(&l);
        }
    }
    void *owned[] = {l.at,    l.was,        l.velocity,        l.move,   l.lambda, l.id, l.cell,
                     l.first, l.neighbours, l.neighbour_count, l.scratch};
    for (u32 i = 0; i < PL_COUNT(owned); i++) {
        free(owned[i]);
    }
    return trace;
}

void codec_points_free(PointTrace *trace)
{
    free(trace->at);
    *trace = (PointTrace){NULL, 0, 0};
}
