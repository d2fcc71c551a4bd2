/* liquid_rows.c: the time of a dam break: 5 ms with 5000, 20 000 and 100 000 particles (sort,
 * neighbours, pressures, walls; one step, or two where it is fast), a tick of 1/60 s in four
 * substeps, and a plain scalar solver of four iterations (Macklin & Müller 2013 as written). */
#include "server/physics/contact/cells.h"
#include "shared/base/clock.h"
#include "tests/bench/bench.h"
#include "tests/support/liquid_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TICKS = 60,        /* of a run */
    STEPS = 4,         /* of a tick */
    ASLEEP_MAX = 1800, /* ticks until a tank sleeps */
    NEAR_MAX = 96
};

static const f32 spacing = 0.02f;

/* Particles along each axis, and how time is divided. */
typedef struct Dam {
    u32 x, y, z, substeps;
    f32 tick_s;
} Dam;

/* A block at one end of a tank twice as long. */
static LiquidKit dam(u32 x, u32 y, u32 z)
{
    LiquidDef def = liquid_kit_water(spacing, x * y * z);
    LiquidKit kit = liquid_kit_make(&def, KIT_GRAVITY_M_S2);
    liquid_kit_tank(&kit, vec3(2.0f * (f32)x * spacing, 4.0f * (f32)y * spacing, (f32)z * spacing));
    liquid_kit_fill(&kit, 0, vec3_zero(), x, y, z);
    return kit;
}

/* The first second. */
static void run(Bench *bench, const Dam *size, Jobs *jobs)
{
    LiquidKit kit = dam(size->x, size->y, size->z);
    kit.jobs = jobs;
    kit.tick_s = size->tick_s;
    kit.substeps = size->substeps;
    for (u32 t = 0; (f32)t * size->tick_s < 1.0f; t++) {
        u64 began_ns = clock_now_ns();
        liquid_kit_tick(&kit);
        bench_sample(bench, (f64)(clock_now_ns() - began_ns) * 1e-6);
    }
    liquid_kit_check(&kit);
    liquid_kit_free(&kit);
}

/* With one thread, and then with all of the bench's. */
static void measure(Bench *bench, const char *name, Dam size)
{
    for (u32 pass = 0; pass < (bench->threads > 1 ? 2 : 1); pass++) {
        Jobs *jobs = pass ? bench->jobs : NULL;
        bench_begin(bench);
        while (bench_again(bench)) {
            run(bench, &size, jobs);
        }
        u64 n = (u64)size.x * size.y * size.z;
        BenchRow row = {
            name, n, jobs_threads(jobs), "ms", 1e3 * (f64)n / bench_median(bench), "particles/s"};
        bench_print(bench, &row);
    }
}

void bench_liquid_pbf5k(Bench *bench)
{
    measure(bench, "liquid/pbf5k", (Dam){20, 16, 16, 1, 0.005f});
}

void bench_liquid_pbf20k(Bench *bench)
{
    measure(bench, "liquid/pbf20k", (Dam){36, 20, 28, 1, 0.005f});
}

void bench_liquid_pbf100k(Bench *bench)
{
    measure(bench, "liquid/pbf100k", (Dam){72, 28, 50, 1, 0.005f});
}

void bench_liquid_tick20k(Bench *bench)
{
    measure(bench, "liquid/tick20k", (Dam){36, 20, 28, 4, KIT_TICK_S});
}

/* Liquid that falls into a tank, until it sleeps: the time of a tick then, and its ratio to the
 * median tick before. */
void bench_liquid_asleep20k(Bench *bench)
{
    const u32 x = 36, y = 20, z = 28, n = x * y * z;
    LiquidDef def = liquid_kit_water(spacing, n);
    LiquidKit kit = liquid_kit_make(&def, KIT_GRAVITY_M_S2);
    f64 awake_ms = 0.0;
    liquid_kit_tank(&kit, vec3((f32)x * spacing, 4.0f * (f32)y * spacing, (f32)z * spacing));
    liquid_kit_fill(&kit, 0, vec3(0.0f, spacing, 0.0f), x, y, z);
    for (u32 part = 0; part < 2; part++) {
        bench_begin(bench);
        for (u32 t = 0; part == 0 ? t < ASLEEP_MAX && liquid_awake(kit.liquid) : t < 600; t++) {
            u64 began_ns = clock_now_ns();
            liquid_kit_tick(&kit);
            bench_sample(bench, (f64)(clock_now_ns() - began_ns) * 1e-6);
        }
        awake_ms = part == 0 ? bench_median(bench) : awake_ms;
    }
    if (liquid_awake(kit.liquid)) {
        fprintf(stderr, "plenum-bench: liquid: a tank does not fall asleep\n");
        exit(EXIT_CHECK_FAILED);
    }
    f64 asleep_ms = bench_median(bench);
    BenchRow row = {"liquid/asleep20k", n, 1, "ms", 1e3 * (f64)n / asleep_ms, "particles/s"};
    bench_print(bench, &row);
    bench_begin(bench);
    bench_sample(bench, 100.0 * asleep_ms / awake_ms);
    bench_print(bench, &(BenchRow){"liquid/asleep20k_share", n, 1, "%", 0.0, ""});
    liquid_kit_free(&kit);
}

/* ---- plain ---- */

typedef struct Plain {
    u32 count, *near, *near_count;
    Vec3 *place, *before, *velocity, *shift, size;
    f32 *lambda;
    Cells cells;
} Plain;

static f32 spiky_slope(f32 r, f32 h)
{
    f32 a = f32_max(h - r, 0.0f);
    return -45.0f / (3.14159265f * h * h * h * h * h * h) * a * a;
}

static f32 poly6(f32 r, f32 h)
{
    f32 a = f32_max(h * h - r * r, 0.0f), h3 = h * h * h;
    return 315.0f / (64.0f * 3.14159265f * h3 * h3 * h3) * a * a * a;
}

static void plain_iterate(Plain *plain, f32 h)
{
    f32 volume = spacing * spacing * spacing;
    for (u32 i = 0; i < plain->count; i++) {
        f32 density = 0.0f, squares = 0.0f;
        Vec3 sum = vec3_zero();
        for (u32 k = 0; k < plain->near_count[i]; k++) {
            Vec3 off = vec3_sub(plain->place[i], plain->place[plain->near[i * NEAR_MAX + k]]);
            f32 r = vec3_length(off);
            density += volume * poly6(r, h);
            if (r > 1e-9f) {
                Vec3 slope = vec3_scale(off, volume * spiky_slope(r, h) / r);
                sum = vec3_add(sum, slope);
                squares += vec3_length_squared(slope);
            }
        }
        f32 excess = f32_max(density - 1.0f, 0.0f);
        plain->lambda[i] = -excess / (squares + vec3_length_squared(sum) + 10.0f);
    }
    for (u32 i = 0; i < plain->count; i++) {
        Vec3 shift = vec3_zero();
        for (u32 k = 0; k < plain->near_count[i]; k++) {
            u32 j = plain->near[i * NEAR_MAX + k];
            Vec3 off = vec3_sub(plain->place[i], plain->place[j]);
            f32 r = vec3_length(off);
            if (r > 1e-9f) {
                f32 strength =
                    (plain->lambda[i] + plain->lambda[j]) * volume * spiky_slope(r, h) / r;
                shift = vec3_add_scaled(shift, strength, off);
            }
        }
        plain->shift[i] = shift;
    }
    for (u32 i = 0; i < plain->count; i++) {
        Vec3 at = vec3_add(plain->place[i], plain->shift[i]);
        at = vec3_max(at, vec3_zero());
        plain->place[i] = vec3_min(at, plain->size);
    }
}

static void plain_tick(Plain *plain)
{
    f32 tick = KIT_TICK_S, h = 2.0f * spacing;
    for (u32 i = 0; i < plain->count; i++) {
        plain->velocity[i].y -= KIT_GRAVITY_M_S2 * tick;
        plain->before[i] = plain->place[i];
        plain->place[i] = vec3_add_scaled(plain->place[i], tick, plain->velocity[i]);
    }
    cells_build(&plain->cells, plain->place, sizeof(Vec3), plain->count, h, NULL);
    for (u32 i = 0; i < plain->count; i++) {
        u32 found =
            cells_near(&plain->cells, plain->place[i], h, plain->near + i * NEAR_MAX, NEAR_MAX);
        plain->near_count[i] = u32_min(found, NEAR_MAX);
    }
    for (u32 k = 0; k < STEPS; k++) {
        plain_iterate(plain, h);
    }
    for (u32 i = 0; i < plain->count; i++) {
        plain->velocity[i] = vec3_scale(vec3_sub(plain->place[i], plain->before[i]), 1.0f / tick);
    }
}

void bench_liquid_plain20k(Bench *bench)
{
    const u32 x = 36, y = 20, z = 28;
    u32 n = x * y * z;
    Plain plain = {.count = n};
    plain.near = bench_get((size_t)n * NEAR_MAX, sizeof(u32));
    plain.near_count = bench_get(n, sizeof(u32));
    plain.place = bench_get(n, sizeof(Vec3));
    plain.before = bench_get(n, sizeof(Vec3));
    plain.velocity = bench_get(n, sizeof(Vec3));
    plain.shift = bench_get(n, sizeof(Vec3));
    plain.lambda = bench_get(n, sizeof(f32));
    plain.size = vec3(2.0f * (f32)x * spacing, 9.0f, (f32)z * spacing);
    if (!cells_reserve(&plain.cells, n)) {
        exit(EXIT_CHECK_FAILED);
    }
    bench_begin(bench);
    while (bench_again(bench)) {
        for (u32 i = 0; i < n; i++) {
            Vec3 at = vec3((f32)(i % x) + 0.5f, (f32)(i / x % y) + 0.5f, (f32)(i / x / y) + 0.5f);
            plain.place[i] = vec3_scale(at, spacing);
            plain.velocity[i] = vec3_zero();
        }
        for (u32 t = 0; t < TICKS; t++) {
            u64 began_ns = clock_now_ns();
            plain_tick(&plain);
            bench_sample(bench, (f64)(clock_now_ns() - began_ns) * 1e-6);
        }
    }
    BenchRow row = {"liquid/plain20k", n, 1, "ms", 1e3 * (f64)n / bench_median(bench),
                    "particles/s"};
    bench_print(bench, &row);
    cells_finish(&plain.cells);
    void *all[] = {plain.near,     plain.near_count, plain.place, plain.before,
                   plain.velocity, plain.shift,      plain.lambda};
    for (u32 k = 0; k < PL_COUNT(all); k++) {
        free(all[k]);
    }
}
