/* soft_rows.c: the time of a tick of the soft scenes, and the constraints solved per second. */
#include "shared/base/clock.h"
#include "tests/bench/bench.h"
#include "tests/bench/soft_scenes.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    TICKS = 120,     /* of a run */
    HEAP_TICKS = 30, /* of a run of the heap */
};

/* One run of a scene from its start; samples are ms a tick. */
static void run_scene(Bench *bench, SoftSetup *setup, Jobs *jobs)
{
    Soft *soft = soft_setup_store(setup);
    for (u32 i = 0; i < TICKS; i++) {
        u64 began_ns = clock_now_ns();
        soft_setup_tick(soft, jobs);
        bench_sample(bench, (f64)(clock_now_ns() - began_ns) * 1e-6);
    }
    if (!vec3_is_finite(soft_position(soft, soft_particles(soft) - 1))) {
        fprintf(stderr, "plenum-bench: %s went out of range\n", setup->name);
        exit(EXIT_CHECK_FAILED);
    }
    soft_destroy(soft);
}

/* With one thread, and then with all of the bench's. */
static void measure_scene(Bench *bench, const char *name)
{
    SoftSetup *setup = soft_setup_create(name);
    Soft *soft = soft_setup_store(setup);
    u32 size = soft_setup_size(setup, soft);
    fprintf(stderr, "soft/%s: %u particles, %u constraints, %.0f bytes a particle\n", name,
            soft_particles(soft), soft_constraints(soft),
            (f64)soft_memory(soft) / soft_particles(soft));
    soft_destroy(soft);
    for (u32 pass = 0; pass < (bench->threads > 1 ? 2 : 1); pass++) {
        Jobs *jobs = pass ? bench->jobs : NULL;
        bench_begin(bench);
        while (bench_again(bench)) {
            run_scene(bench, setup, jobs);
        }
        char full[64];
        snprintf(full, sizeof full, "soft/%s", name);
        f64 solved = (f64)size * SOFT_SETUP_STEPS;
        BenchRow row = {
            full, size, jobs_threads(jobs), "ms", 1e3 * solved / bench_median(bench), setup->unit};
        bench_print(bench, &row);
    }
    soft_setup_destroy(setup);
}

void bench_soft_cloth50(Bench *bench)
{
    measure_scene(bench, "cloth50");
}
void bench_soft_cloth100(Bench *bench)
{
    measure_scene(bench, "cloth100");
}
void bench_soft_tets5k(Bench *bench)
{
    measure_scene(bench, "tets5k");
}
void bench_soft_bodies16(Bench *bench)
{
    measure_scene(bench, "bodies16");
}
void bench_soft_rope(Bench *bench)
{
    measure_scene(bench, "rope");
}

/* 10 000 points in folds upon themselves: the cost of keeping them apart. */
void bench_soft_heap100(Bench *bench)
{
    SoftHeap heap = soft_heap_create(100);
    u32 points = soft_particles(heap.soft);
    for (u32 pass = 0; pass < (bench->threads > 1 ? 2 : 1); pass++) {
        Jobs *jobs = pass ? bench->jobs : NULL;
        bench_begin(bench);
        while (bench_again(bench)) {
            soft_heap_restart(&heap);
            for (u32 i = 0; i < HEAP_TICKS; i++) {
                u64 began_ns = clock_now_ns();
                soft_heap_tick(&heap, jobs);
                bench_sample(bench, (f64)(clock_now_ns() - began_ns) * 1e-6);
            }
        }
        BenchRow row = {"soft/heap100",
                        points,
                        jobs_threads(jobs),
                        "ms",
                        1e3 * (f64)points / bench_median(bench),
                        "points/s"};
        bench_print(bench, &row);
    }
    soft_heap_destroy(&heap);
}
