/*
 * calibrate.c: the limits of the machine, to which every other row can be related: multiply-adds in
 * registers, a triad a = b + s c in L2 and in memory, and the transfer of a cache line between
 * cores, which limits the gain of a second thread in short loops.
 */
#include "shared/base/clock.h"
#include "tests/bench/bench.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    CHAINS = 12,            /* independent sums: latency × throughput of an FMA */
    FMA_ROUNDS = 1 << 21,   /* about 10 ms */
    L2_FLOATS = 3 << 13,    /* an array of the triad: 3 × 96 KiB stay in L2 */
    L2_ROUNDS = 400,        /* about 2 ms */
    DRAM_FLOATS = 12 << 20, /* 3 × 48 MiB: beyond every L3 */
    LINE_ROUNDS = 20000,    /* there and back */
    THREADS_MEASURED = 2,
};

/* ---- FMA ---- */

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static f32 fma_chains_avx2(u32 rounds)
{
    __m256 sum[CHAINS];
    for (int i = 0; i < CHAINS; i++) {
        sum[i] = _mm256_set1_ps((f32)i);
    }
    __m256 a = _mm256_set1_ps(0.999f);
    __m256 b = _mm256_set1_ps(0.001f);
    for (u32 r = 0; r < rounds; r++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++) {
            sum[i] = _mm256_fmadd_ps(sum[i], a, b);
        }
    }
    f32 out[8];
    for (int i = 1; i < CHAINS; i++) {
        sum[0] = _mm256_add_ps(sum[0], sum[i]);
    }
    _mm256_storeu_ps(out, sum[0]);
    return out[0] + out[7];
}
#endif

static f32 fma_chains_plain(u32 rounds)
{
    f32 sum[CHAINS * 4] = {0.0f};
    for (u32 r = 0; r < rounds; r++) {
        for (int i = 0; i < CHAINS * 4; i++) {
            sum[i] = sum[i] * 0.999f + 0.001f;
        }
    }
    return sum[0] + sum[CHAINS * 4 - 1];
}

/* Runs the chains and returns how many floating-point operations that were. */
static f64 fma_chains(u32 rounds, f32 *result)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        *result = fma_chains_avx2(rounds);
        return 2.0 * 8.0 * CHAINS * rounds;
    }
#endif
    *result = fma_chains_plain(rounds);
    return 2.0 * 4.0 * CHAINS * rounds;
}

typedef struct FmaLoop {
    f64 operations[THREADS_MEASURED];
    f32 results[THREADS_MEASURED];
} FmaLoop;

static void fma_loop(void *context, u32 first, u32 end, u32 worker)
{
    FmaLoop *loop = context;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        loop->operations[i] = fma_chains(FMA_ROUNDS, &loop->results[i]);
    }
}

/* One measurement: GFLOP/s of `threads` threads together. */
static f64 fma_once(Jobs *jobs, u32 threads)
{
    FmaLoop loop = {0};
    u64 began_ns = clock_now_ns();
    jobs_run(jobs, threads, 1, fma_loop, &loop);
    f64 took_ns = (f64)(clock_now_ns() - began_ns);
    return (loop.operations[0] + loop.operations[1]) / took_ns;
}

f64 bench_fma_gflops(void)
{
    f64 best = 0.0;
    for (int i = 0; i < BENCH_RUNS; i++) {
        f64 rate = fma_once(NULL, 1);
        best = rate > best ? rate : best;
    }
    return best;
}

static u32 threads_to_measure(void)
{
    return sysconf(_SC_NPROCESSORS_ONLN) >= THREADS_MEASURED ? THREADS_MEASURED : 1;
}

void bench_calibrate_fma(Bench *bench)
{
    for (u32 threads = 1; threads <= threads_to_measure(); threads++) {
        Jobs *jobs = jobs_create(threads);
        bench_begin(bench);
        while (bench_again(bench)) {
            bench_sample(bench, fma_once(jobs, threads));
        }
        BenchRow row = {"calibrate/fma",     CHAINS,   threads, "GFLOP/s",
                        bench_median(bench), "GFLOP/s"};
        bench_print(bench, &row);
        jobs_destroy(jobs);
    }
}

/* ---- triad ---- */

typedef struct Triad {
    f32 *a[THREADS_MEASURED], *b[THREADS_MEASURED], *c[THREADS_MEASURED];
    u32 floats;
    u32 rounds;
} Triad;

static void triad_loop(void *context, u32 first, u32 end, u32 worker)
{
    Triad *triad = context;
    PL_UNUSED(worker);
    for (u32 t = first; t < end; t++) {
        f32 *restrict a = triad->a[t];
        const f32 *restrict b = triad->b[t];
        const f32 *restrict c = triad->c[t];
        for (u32 r = 0; r < triad->rounds; r++) {
            f32 s = (f32)r;
            for (u32 i = 0; i < triad->floats; i++) {
                a[i] = b[i] + s * c[i];
            }
            __asm__ volatile("" : : "r"(a) : "memory"); /* the next round is not this one again */
        }
    }
}

static f32 *floats_create(u32 count)
{
    f32 *floats = aligned_alloc(64, count * sizeof(f32));
    if (floats == NULL) {
        fprintf(stderr, "plenum-bench: out of memory\n");
        exit(EXIT_CHECK_FAILED);
    }
    for (u32 i = 0; i < count; i++) {
        floats[i] = (f32)(i & 7u);
    }
    return floats;
}

/* Three arrays a thread; bytes count two reads and one write, as STREAM does. */
static void measure_triad(Bench *bench, const char *name, u32 floats, u32 rounds)
{
    for (u32 threads = 1; threads <= threads_to_measure(); threads++) {
        Jobs *jobs = jobs_create(threads);
        Triad triad = {.floats = floats, .rounds = rounds};
        for (u32 t = 0; t < threads; t++) {
            triad.a[t] = floats_create(floats);
            triad.b[t] = floats_create(floats);
            triad.c[t] = floats_create(floats);
        }
        bench_begin(bench);
        while (bench_again(bench)) {
            u64 began_ns = clock_now_ns();
            jobs_run(jobs, threads, 1, triad_loop, &triad);
            f64 bytes = 3.0 * sizeof(f32) * (f64)floats * rounds * threads;
            bench_sample(bench, bytes / (f64)(clock_now_ns() - began_ns));
        }
        BenchRow row = {name,   3ull * sizeof(f32) * floats, threads,
                        "GB/s", bench_median(bench),         "GB/s"};
        bench_print(bench, &row);
        for (u32 t = 0; t < threads; t++) {
            free(triad.a[t]);
            free(triad.b[t]);
            free(triad.c[t]);
        }
        jobs_destroy(jobs);
    }
}

void bench_calibrate_l2(Bench *bench)
{
    measure_triad(bench, "calibrate/l2", L2_FLOATS, L2_ROUNDS);
}

void bench_calibrate_dram(Bench *bench)
{
    measure_triad(bench, "calibrate/dram", DRAM_FLOATS, 1);
}

/* ---- from core to core ---- */

typedef struct Line {
    _Alignas(64) _Atomic u32 turn;
} Line;

/* Two threads that alternate. */
static void line_loop(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    PL_UNUSED(end);
    Line *line = context;
    for (u32 i = 0; i < LINE_ROUNDS; i++) {
        while (atomic_load_explicit(&line->turn, memory_order_acquire) != 2 * i + first) {
        }
        atomic_store_explicit(&line->turn, 2 * i + first + 1, memory_order_release);
    }
}

void bench_calibrate_line(Bench *bench)
{
    if (threads_to_measure() < 2) {
        return;
    }
    Jobs *jobs = jobs_create(2);
    bench_begin(bench);
    while (bench_again(bench)) {
        Line line = {0};
        u64 began_ns = clock_now_ns();
        jobs_run(jobs, 2, 1, line_loop, &line);
        bench_sample(bench, (f64)(clock_now_ns() - began_ns) / (2.0 * LINE_ROUNDS));
    }
    BenchRow row = {"calibrate/line", 1, 2, "ns", 0.0, ""};
    bench_print(bench, &row);
    jobs_destroy(jobs);
}
