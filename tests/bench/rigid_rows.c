/* rigid_rows.c: the time of a step of the rigid-body scenes, and the memory of a pile of 5000
 * bodies. */
#include "server/physics/rigid/query/query.h"
#include "shared/base/clock.h"
#include "shared/base/stats.h"
#include "shared/math/random.h"
#include "tests/bench/bench.h"
#include "tests/bench/rigid_quality.h"
#include "tests/bench/rigid_world.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    STEPS = 600,
    SETTLED_STEPS = 300, /* the pile of 5000 has fallen */
    RAYS = 1000,         /* of a sample */
};

static f64 timed_tick(Rigid *rigid, Jobs *jobs)
{
    u64 began_ns = clock_now_ns();
    setup_tick(rigid, jobs);
    return (f64)(clock_now_ns() - began_ns) * 1e-6;
}

/* The least median of a run is the row's `best`: a figure that any engine can be asked for. */
static void run_took(Bench *bench, f64 median)
{
    bench->best = bench->row_runs == 1 || median < bench->best ? median : bench->best;
}

/* One run of a scene from its start; samples are ms a step. */
static void run_scene(Bench *bench, const Setup *setup, Jobs *jobs)
{
    Rigid *rigid = setup_rigid(setup, false);
    f64 took_ms[STEPS], slowest = 0.0;
    for (u32 i = 0; i < STEPS; i++) {
        took_ms[i] = timed_tick(rigid, jobs);
        bench_sample(bench, took_ms[i]);
        slowest = took_ms[i] > slowest ? took_ms[i] : slowest;
    }
    f64 median = stats_quantile(took_ms, STEPS, 0.5);
    run_took(bench, median);
    if (bench->row_runs <= bench->runs) { /* a quick row continues for longer: not a line each */
        RigidStats stats;
        rigid_stats(rigid, &stats);
        fprintf(stderr, "rigid/%s, threads %u, run %u: %.3f ms, slowest %.2f, %u touching\n",
                setup->name, jobs_threads(jobs), bench->row_runs, median, slowest, stats.touching);
    }
    rigid_destroy(rigid);
}

static void row(Bench *bench, const char *name, u64 n, u32 threads, const char *unit,
                const char *rate_unit, f64 rate_scale)
{
    char full[64];
    snprintf(full, sizeof full, "rigid/%s", name);
    f64 median = bench_median(bench);
    BenchRow r = {full,     n, threads, unit, median > 0.0 ? rate_scale * (f64)n / median : 0.0,
                  rate_unit};
    bench_print(bench, &r);
}

/* With one thread, and then with all of the bench's. */
static void measure_scene(Bench *bench, const char *name)
{
    Setup *setup = setup_create(name);
    for (u32 pass = 0; pass < (bench->threads > 1 ? 2 : 1); pass++) {
        Jobs *jobs = pass ? bench->jobs : NULL;
        bench_begin(bench);
        while (bench_again(bench)) {
            run_scene(bench, setup, jobs);
        }
        row(bench, name, setup->dynamic_count, jobs_threads(jobs), "ms", "bodies/s", 1e3);
    }
    setup_destroy(setup);
}

void bench_rigid_wall20(Bench *bench)
{
    measure_scene(bench, "wall20");
}
void bench_rigid_wall100(Bench *bench)
{
    measure_scene(bench, "wall100");
}
void bench_rigid_pyr15(Bench *bench)
{
    measure_scene(bench, "pyr15");
}
void bench_rigid_pyr22(Bench *bench)
{
    measure_scene(bench, "pyr22");
}
void bench_rigid_drop1000(Bench *bench)
{
    measure_scene(bench, "drop1000");
}
void bench_rigid_drop5000(Bench *bench)
{
    measure_scene(bench, "drop5000");
}
void bench_rigid_ragdoll200(Bench *bench)
{
    measure_scene(bench, "ragdoll200");
}
void bench_rigid_net50(Bench *bench)
{
    measure_scene(bench, "net50");
}
void bench_rigid_chain1000(Bench *bench)
{
    measure_scene(bench, "chain1000");
}
void bench_rigid_hulls500(Bench *bench)
{
    measure_scene(bench, "hulls500");
}
void bench_rigid_mesh300(Bench *bench)
{
    measure_scene(bench, "mesh300");
}

/* The pile after it has fallen. */
static Rigid *settled_pile(Bench *bench, const Setup *setup)
{
    Rigid *rigid = setup_rigid(setup, false);
    for (u32 i = 0; i < SETTLED_STEPS; i++) {
        if (i % 100 == 0) {
            fprintf(stderr, "rigid/%s: step %u of %u\n", setup->name, i, SETTLED_STEPS);
        }
        setup_tick(rigid, bench->jobs);
    }
    return rigid;
}

void bench_rigid_memory(Bench *bench)
{
    Setup *setup = setup_create("drop5000");
    Rigid *rigid = settled_pile(bench, setup);
    RigidStats stats;
    rigid_stats(rigid, &stats);
    bench_begin(bench);
    bench_sample(bench, (f64)stats.memory_bytes / setup->dynamic_count);
    row(bench, "memory_drop5000", setup->dynamic_count, bench->threads, "bytes", "", 0.0);
    rigid_destroy(rigid);
    setup_destroy(setup);
}

static size_t image_bytes(Rigid *rigid)
{
    State state = {.mode = STATE_COUNT};
    rigid_serialize(rigid, &state);
    return state.used;
}

static u64 state_hash(Rigid *rigid)
{
    State state = {.mode = STATE_HASH};
    rigid_serialize(rigid, &state);
    return state.hash;
}

static void walk_timed(Bench *bench, Rigid *rigid, StateMode mode, Jobs *jobs, u8 *image,
                       size_t bytes)
{
    State state = {.mode = mode, .data = image, .bytes = bytes, .jobs = jobs};
    u64 began_ns = clock_now_ns();
    rigid_serialize(rigid, &state);
    f64 took_ms = (f64)(clock_now_ns() - began_ns) * 1e-6;
    bench_sample(bench, took_ms);
    run_took(bench, took_ms);
    if (state.failed) {
        fprintf(stderr, "plenum-bench: the image of the rigid world is refused\n");
        exit(EXIT_CHECK_FAILED);
    }
}

/* Bytes of an image, saving into memory that is there already, and loading into a world that runs:
 * both as a rewind would do it. */
void bench_rigid_save(Bench *bench)
{
    Setup *setup = setup_create("drop5000");
    Rigid *rigid = settled_pile(bench, setup), *other = setup_rigid(setup, false);
    size_t bytes = image_bytes(rigid);
    u8 *image = calloc(1, bytes);
    if (!image) {
        fprintf(stderr, "plenum-bench: out of memory\n");
        exit(EXIT_CHECK_FAILED);
    }
    bench_begin(bench);
    while (bench_again(bench)) {
        walk_timed(bench, rigid, STATE_SAVE, NULL, image, bytes);
    }
    row(bench, "save_drop5000", bytes, 1, "ms", "bytes/s", 1e3);
    for (u32 pass = 0; pass < (bench->threads > 1 ? 2 : 1); pass++) {
        Jobs *jobs = pass ? bench->jobs : NULL;
        bench_begin(bench);
        while (bench_again(bench)) {
            walk_timed(bench, other, STATE_LOAD, jobs, image, bytes);
        }
        row(bench, "load_drop5000", bytes, jobs_threads(jobs), "ms", "bytes/s", 1e3);
    }
    for (u32 i = 0; i < 10; i++) {
        setup_tick(rigid, NULL);
        setup_tick(other, bench->jobs);
    }
    if (state_hash(rigid) != state_hash(other)) {
        fprintf(stderr, "plenum-bench: the loaded world goes another way\n");
        exit(EXIT_CHECK_FAILED);
    }
    free(image);
    rigid_destroy(rigid);
    rigid_destroy(other);
    setup_destroy(setup);
}

/* The top of the highest body that moves. */
static f32 pile_top(const Rigid *rigid, const Setup *setup)
{
    f32 top = 0.0f;
    for (u32 i = 0; i < setup->body_count; i++) {
        const SetupBody *body = &setup->bodies[i];
        f32 y = rigid_position(rigid, i).y + shape_reach(&body->shape);
        top = body->mass_kg > 0.0f ? f32_max(top, y) : top;
    }
    return top;
}

/* Rays of 50 m from above the pile at places within it. */
void bench_rigid_ray(Bench *bench)
{
    Setup *setup = setup_create("drop5000");
    Rigid *rigid = settled_pile(bench, setup);
    f32 top = pile_top(rigid, setup);
    u64 counter = 0;
    bench_begin(bench);
    while (bench_again(bench)) {
        u32 hits = 0;
        Ray rays[RAYS];
        for (u32 i = 0; i < RAYS; i++, counter += 6) {
            rays[i].origin = vec3(random_range(1, counter, -9.0f, 9.0f),
                                  top + random_range(1, counter + 1, 0.0f, 10.0f),
                                  random_range(1, counter + 2, -9.0f, 9.0f));
            Vec3 at = vec3(random_range(1, counter + 3, -9.0f, 9.0f),
                           random_range(1, counter + 4, 0.0f, 0.5f * top),
                           random_range(1, counter + 5, -9.0f, 9.0f));
            rays[i].direction =
                vec3_normalize_or(vec3_sub(at, rays[i].origin), vec3(0.0f, -1.0f, 0.0f));
        }
        u64 began_ns = clock_now_ns();
        for (u32 i = 0; i < RAYS; i++) {
            QueryHit hit;
            hits += rigid_ray(rigid, rays[i], 50.0f, NULL, &hit) ? 1 : 0;
        }
        f64 took_us = (f64)(clock_now_ns() - began_ns) * 1e-3 / RAYS;
        bench_sample(bench, took_us);
        run_took(bench, took_us);
        if (hits == 0) {
            fprintf(stderr, "plenum-bench: rays hit nothing\n");
            exit(EXIT_CHECK_FAILED);
        }
    }
    row(bench, "ray_drop5000", 1, 1, "us", "rays/s", 1e6);
    rigid_destroy(rigid);
    setup_destroy(setup);
}

/* What a pyramid costs that sleeps. */
void bench_rigid_sleeping(Bench *bench)
{
    Setup *setup = setup_create("pyr22");
    Rigid *rigid = setup_rigid(setup, true);
    RigidStats stats = {.awake = 1};
    u32 steps = 0;
    for (; steps < STEPS && stats.awake > 0; steps++) {
        setup_tick(rigid, bench->jobs);
        rigid_stats(rigid, &stats);
    }
    fprintf(stderr, "rigid/sleeping_pyr22: %u awake after %u steps\n", stats.awake, steps);
    bench_begin(bench);
    while (bench_again(bench)) {
        for (u32 i = 0; i < 10; i++) {
            bench_sample(bench, timed_tick(rigid, bench->jobs));
        }
    }
    row(bench, "sleeping_pyr22", setup->dynamic_count, bench->threads, "ms", "bodies/s", 1e3);
    rigid_destroy(rigid);
    setup_destroy(setup);
}

void bench_rigid_quality(Bench *bench)
{
    PL_UNUSED(bench);
    quality_print(&engine_plenum);
}
