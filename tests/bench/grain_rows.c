/* grain_rows.c: the time of a tick of grains: a block of 20 160 that falls together in the first
 * second, in four steps a tick; while it moves, contacts are searched in each. */
#include "shared/base/clock.h"
#include "tests/bench/bench.h"
#include "tests/support/liquid_kit.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    WIDE = 36,
    HIGH = 20,
    DEEP = 28,
    COUNT = WIDE * HIGH * DEEP
};

static const f32 spacing = 0.02f;

static void run(Bench *bench, Jobs *jobs)
{
    LiquidDef def = {.spacing = spacing, .phase_count = 1};
    def.phases[0] = liquid_phase_default(LIQUID_GRAINS);
    def.phases[0].capacity = COUNT;
    LiquidKit kit = liquid_kit_make(&def, KIT_GRAVITY_M_S2);
    liquid_kit_tank(&kit, vec3(2.0f * WIDE * spacing, 4.0f * HIGH * spacing, DEEP * spacing));
    liquid_kit_fill(&kit, 0, vec3_zero(), WIDE, HIGH, DEEP);
    kit.jobs = jobs;
    for (u32 t = 0; t < 60; t++) {
        u64 began_ns = clock_now_ns();
        liquid_kit_tick(&kit);
        bench_sample(bench, (f64)(clock_now_ns() - began_ns) * 1e-6);
    }
    liquid_kit_check(&kit);
    liquid_kit_free(&kit);
}

/* With one thread, and then with all of the bench's. */
void bench_liquid_grains20k(Bench *bench)
{
    for (u32 pass = 0; pass < (bench->threads > 1 ? 2 : 1); pass++) {
        Jobs *jobs = pass ? bench->jobs : NULL;
        bench_begin(bench);
        while (bench_again(bench)) {
            run(bench, jobs);
        }
        BenchRow row = {
            "liquid/grains20k", COUNT, jobs_threads(jobs), "ms", 1e3 * COUNT / bench_median(bench),
            "grains/s"};
        bench_print(bench, &row);
    }
}
