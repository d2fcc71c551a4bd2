/* grid_rows.c: the time of a step of air on a grid: transport of velocity, smoke and temperature,
 * buoyancy, and pressure to a residual of 1e-3; and a plain scalar solver (Stam 1999 with 40 Jacobi
 * iterations) for comparison. */
#include "server/physics/grid/smoke.h"
#include "shared/base/clock.h"
#include "tests/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WARM_UP = 60, /* steps until the plume is there */
    STEPS = 20    /* of a run */
};

typedef struct Plume {
    u32 dims, n;
    bool sparse;
    SmokeAdvection advection;
    bool flows; /* smoke by conserved fluxes, as in scenes */
} Plume;

static Smoke *plume_of(const Plume *plume)
{
    SmokeDef def = smoke_default();
    f32 side = 1.0f / (f32)plume->n;
    def.dims = plume->dims;
    def.cells[0] = def.cells[1] = def.cells[2] = plume->n;
    def.spacing = side;
    def.awake = !plume->sparse;
    def.sides[3].kind = SMOKE_OPEN;
    def.options.advection = plume->advection;
    def.options.drifts = !plume->flows;
    def.options.viscosity = 0.0f;
    Smoke *smoke = smoke_create(&def, NULL);
    SmokeSource source = {.position = vec3(0.5f, 0.1f, 0.5f),
                          .half = vec3(0.05f, 0.03f, 0.05f),
                          .smoke = 1.0f,
                          .heat = 400.0f,
                          .warmest = 60.0f};
    if (smoke == NULL) {
        fprintf(stderr, "plenum-bench: out of memory\n");
        exit(EXIT_CHECK_FAILED);
    }
    smoke_set_sources(smoke, &source, 1);
    return smoke;
}

/* Minimal memory traffic of a cell per step: velocities twice (transport, projection), carried
 * fields once, and for each iteration of pressure the vectors of conjugate gradients and a V-cycle
 * on its finest grid. */
static u64 bytes_of_cell(const Plume *plume, const SmokeStats *stats)
{
    return sizeof(f32) * (4 * plume->dims + 4 + 18 * stats->iterations);
}

static void measure(Bench *bench, const char *name, const Plume *plume)
{
    for (u32 pass = 0; pass < (bench->threads > 1 ? 2 : 1); pass++) {
        Jobs *jobs = pass ? bench->jobs : NULL;
        SmokeStats stats = {0};
        bench_begin(bench);
        while (bench_again(bench)) {
            Smoke *smoke = plume_of(plume);
            for (u32 t = 0; t < WARM_UP + STEPS; t++) {
                u64 began_ns = clock_now_ns();
                smoke_step(smoke, 1.0f / 120.0f, vec3(0.0f, -9.81f, 0.0f), NULL, 0, jobs);
                if (t >= WARM_UP) {
                    bench_sample(bench, (f64)(clock_now_ns() - began_ns) * 1e-6);
                }
            }
            stats = smoke_stats(smoke);
            if (stats.residual > 1.1e-3f || smoke_validate(smoke) != NULL) {
                fprintf(stderr, "plenum-bench: smoke: residual %g\n", (f64)stats.residual);
                exit(EXIT_CHECK_FAILED);
            }
            smoke_destroy(smoke);
        }
        u64 cells = (u64)stats.cells * stats.awake / stats.bricks; /* that are awake */
        BenchRow row = {
            name,     cells, jobs_threads(jobs), "ms", 1e3 * (f64)cells / bench_median(bench),
            "cells/s"};
        bench_print(bench, &row);
        char share[64];
        snprintf(share, sizeof share, "%s_bandwidth", name);
        if (pass == 0) {
            bench_bandwidth(bench, share, cells, bytes_of_cell(plume, &stats));
        }
    }
}

void bench_grid_smoke2d(Bench *bench)
{
    measure(bench, "grid/smoke2d256", &(Plume){2, 256, false, SMOKE_SEMI_LAGRANGIAN, false});
    measure(bench, "grid/smoke2d256_maccormack", &(Plume){2, 256, false, SMOKE_MACCORMACK, false});
}

void bench_grid_smoke64(Bench *bench)
{
    measure(bench, "grid/smoke64", &(Plume){3, 64, false, SMOKE_SEMI_LAGRANGIAN, false});
    measure(bench, "grid/smoke64_maccormack", &(Plume){3, 64, false, SMOKE_MACCORMACK, false});
}

void bench_grid_sparse(Bench *bench)
{
    measure(bench, "grid/smoke_sparse128", &(Plume){3, 128, true, SMOKE_SEMI_LAGRANGIAN, true});
    measure(bench, "grid/smoke_dense128", &(Plume){3, 128, false, SMOKE_SEMI_LAGRANGIAN, true});
}

/* ---- plain ---- */

typedef struct Plain {
    u32 dims;
    i32 n[3];
    i32 step[3];
    f32 *u[3], *old[3], *p, *p_old, *div, *smoke, *smoke_old, *warm, *warm_old;
} Plain;

static f32 plain_sample(const Plain *plain, const f32 *cells, f32 at[3])
{
    i32 low[3] = {0, 0, 0};
    f32 part[3] = {0.0f, 0.0f, 0.0f}, sum = 0.0f;
    for (u32 a = 0; a < plain->dims; a++) {
        f32 x = f32_clamp(at[a], 0.0f, (f32)plain->n[a] - 1.001f);
        low[a] = (i32)x;
        part[a] = x - (f32)low[a];
    }
    const f32 *base = cells + low[0] + low[1] * plain->step[1] + low[2] * plain->step[2];
    for (u32 corner = 0; corner < (plain->dims == 3 ? 8u : 4u); corner++) {
        f32 weight = 1.0f;
        i32 off = 0;
        for (u32 a = 0; a < plain->dims; a++) {
            u32 high = corner >> a & 1;
            weight *= high ? part[a] : 1.0f - part[a];
            off += high ? plain->step[a] : 0;
        }
        sum += weight * base[off];
    }
    return sum;
}

static void plain_advect(const Plain *plain, const f32 *from, f32 *to, f32 scale)
{
    for (i32 z = 0; z < plain->n[2]; z++) {
        for (i32 y = 0; y < plain->n[1]; y++) {
            for (i32 x = 0; x < plain->n[0]; x++) {
                i32 i = x + y * plain->step[1] + z * plain->step[2];
                f32 at[3] = {(f32)x, (f32)y, (f32)z};
                for (u32 a = 0; a < plain->dims; a++) {
                    at[a] -= scale * plain->old[a][i];
                }
                to[i] = plain_sample(plain, from, at);
            }
        }
    }
}

static void plain_project(Plain *plain)
{
    i32 low_z = plain->dims == 3 ? 1 : 0, high_z = plain->dims == 3 ? plain->n[2] - 1 : 1;
    for (u32 pass = 0; pass < 42; pass++) {
        for (i32 z = low_z; z < high_z; z++) {
            for (i32 y = 1; y < plain->n[1] - 1; y++) {
                for (i32 x = 1; x < plain->n[0] - 1; x++) {
                    i32 i = x + y * plain->step[1] + z * plain->step[2];
                    f32 sum = 0.0f;
                    for (u32 a = 0; a < plain->dims; a++) {
                        i32 s = plain->step[a];
                        if (pass == 0) {
                            sum += plain->u[a][i + s] - plain->u[a][i];
                        } else if (pass == 41) {
                            plain->u[a][i] -= plain->p[i] - plain->p[i - s];
                        } else {
                            sum += plain->p[i - s] + plain->p[i + s];
                        }
                    }
                    if (pass == 0) {
                        plain->div[i] = sum;
                    } else if (pass < 41) {
                        plain->p_old[i] = (sum - plain->div[i]) / (2.0f * (f32)plain->dims);
                    }
                }
            }
        }
        if (pass > 0 && pass < 41) {
            f32 *swap = plain->p;
            plain->p = plain->p_old;
            plain->p_old = swap;
        }
    }
}

static void plain_step(Plain *plain, size_t bytes)
{
    for (u32 a = 0; a < plain->dims; a++) {
        memcpy(plain->old[a], plain->u[a], bytes);
    }
    for (u32 a = 0; a < plain->dims; a++) {
        plain_advect(plain, plain->old[a], plain->u[a], 0.5f);
    }
    memcpy(plain->smoke_old, plain->smoke, bytes);
    plain_advect(plain, plain->smoke_old, plain->smoke, 0.5f);
    memcpy(plain->warm_old, plain->warm, bytes);
    plain_advect(plain, plain->warm_old, plain->warm, 0.5f);
    for (size_t i = 0; i < bytes / sizeof(f32); i++) {
        plain->u[1][i] += 0.01f * plain->warm[i];
    }
    plain_project(plain);
}

static void plain_measure(Bench *bench, const char *name, u32 dims, i32 n)
{
    Plain plain = {.dims = dims, .n = {n, n, dims == 3 ? n : 1}, .step = {1, n, n * n}};
    size_t cells = (size_t)n * (size_t)n * (dims == 3 ? (size_t)n : 1);
    f32 **all[13] = {&plain.p,         &plain.p_old, &plain.div,     &plain.smoke,
                     &plain.smoke_old, &plain.warm,  &plain.warm_old};
    u32 count = 7;
    for (u32 a = 0; a < dims; a++) {
        all[count++] = &plain.u[a];
        all[count++] = &plain.old[a];
    }
    for (u32 k = 0; k < count; k++) {
        *all[k] = bench_get(cells, sizeof(f32));
    }
    for (size_t i = cells / 3; i < cells / 2; i++) {
        plain.warm[i] = (f32)(i % 7);
    }
    bench_begin(bench);
    while (bench_again(bench)) {
        for (u32 t = 0; t < STEPS; t++) {
            u64 began_ns = clock_now_ns();
            plain_step(&plain, cells * sizeof(f32));
            bench_sample(bench, (f64)(clock_now_ns() - began_ns) * 1e-6);
        }
    }
    BenchRow row = {name, cells, 1, "ms", 1e3 * (f64)cells / bench_median(bench), "cells/s"};
    bench_print(bench, &row);
    for (u32 k = 0; k < count; k++) {
        free(*all[k]);
    }
}

void bench_grid_plain(Bench *bench)
{
    plain_measure(bench, "grid/smoke_plain2d256", 2, 256);
    plain_measure(bench, "grid/smoke_plain64", 3, 64);
}
