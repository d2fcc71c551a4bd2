/* world_rows.c: the time of a tick. Every run starts a fresh world, so that its bodies are
 * awake. */
#include "shared/base/clock.h"
#include "tests/bench/bench.h"

#include <stdio.h>

enum {
    /* Measured ticks of a run, after some in which memory and caches warm up and things begin to
     * touch: the busiest part of these scenes, before anything sleeps. */
    TICKS_BEFORE = 30,
    TICKS_MEASURED = 90,
};

/* period_ns: ticks when they are due, as a server runs them: the thread and its workers sleep
 * between, and the processor cools down; 0: one after the other. */
static void measure_ticks(Bench *bench, const char *name, const char *scene_name, u64 period_ns)
{
    Scene *scene = bench_scene(scene_name);
    WorldStats stats = {0};
    f64 awake = 0.0;
    u32 ticks = 0;
    bench_begin(bench);
    while (bench_again(bench)) {
        World *world = bench_world(bench, scene);
        u64 due_ns = clock_now_ns();
        for (u32 i = 0; i < TICKS_BEFORE + TICKS_MEASURED; i++) {
            if (period_ns > 0) {
                clock_sleep_until_ns(due_ns += period_ns);
            }
            u64 began_ns = clock_now_ns();
            world_tick(world, NULL, 0);
            Frame *frame = world_frame(world);
            f64 took_ms = (f64)(clock_now_ns() - began_ns) * 1e-6;
            frame_release(frame);
            if (i >= TICKS_BEFORE) {
                bench_sample(bench, took_ms);
                world_stats(world, &stats);
                awake += stats.bodies_awake;
                ticks++;
            }
        }
        world_destroy(world);
    }
    /* The rate counts bodies or particles, whichever are more: the tick is spent on those. */
    u64 bodies_awake = (u64)(awake / ticks + 0.5);
    bool bodies = bodies_awake >= stats.particles;
    u64 n = bodies ? bodies_awake : stats.particles;
    f64 seconds = bench_median(bench) * 1e-3;
    BenchRow row = {name,
                    n,
                    bench->threads,
                    "ms",
                    seconds > 0.0 ? (f64)n / seconds : 0.0,
                    bodies ? "bodies/s" : "particles/s"};
    bench_print(bench, &row);
    scene_destroy(scene);
}

void bench_world_playground(Bench *bench)
{
    measure_ticks(bench, "world/playground", "playground", 0);
}

void bench_world_boxes1000(Bench *bench)
{
    measure_ticks(bench, "world/boxes1000", "boxes1000", 0);
}

void bench_world_paced1000(Bench *bench)
{
    measure_ticks(bench, "world/paced1000", "boxes1000", 1000000000 / 60);
}

void bench_world_cloth(Bench *bench)
{
    measure_ticks(bench, "world/cloth", "cloth", 0);
}
