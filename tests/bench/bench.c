/* bench.c: samples, rows and worlds of plenum-bench. */
#include "tests/bench/bench.h"
#include "server/author/scene_load.h"

#include "shared/base/clock.h"
#include "shared/base/stats.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void bench_begin(Bench *bench)
{
    bench->sample_count = 0;
    bench->row_runs = 0;
    bench->best = 0.0;
    bench->row_began_ns = clock_now_ns();
}

void bench_sample(Bench *bench, f64 value)
{
    if (bench->sample_count < BENCH_SAMPLES_MAX) {
        bench->samples[bench->sample_count++] = value;
    }
}

bool bench_again(Bench *bench)
{
    f64 took_s = (f64)(clock_now_ns() - bench->row_began_ns) * 1e-9;
    if (bench->row_runs >= bench->runs && took_s >= bench->seconds) {
        return false;
    }
    bench->row_runs++;
    return true;
}

f64 bench_median(Bench *bench)
{
    return stats_quantile(bench->samples, bench->sample_count, 0.5);
}

void bench_print(Bench *bench, const BenchRow *row)
{
    f64 median = bench_median(bench);
    f64 p99 = stats_quantile(bench->samples, bench->sample_count, 0.99);
    printf("{\"name\":\"%s\",\"n\":%" PRIu64 ",\"threads\":%u,\"median\":%.6g,\"p99\":%.6g,"
           "\"unit\":\"%s\",\"rate\":%.6g,\"rate_unit\":\"%s\",\"per_fma\":%.6g",
           row->name, row->n, row->threads, median, p99, row->unit, row->rate, row->rate_unit,
           bench->fma_gflops > 0.0 ? row->rate / bench->fma_gflops : 0.0);
    if (bench->best > 0.0) {
        printf(",\"best\":%.6g", bench->best);
    }
    printf("}\n");
    fflush(stdout);
}

enum {
    COPY_BYTES_MAX = 64 << 20 /* beyond all caches; more has the same bandwidth */
};

void bench_bandwidth(Bench *bench, const char *name, u64 cells, u64 bytes_of_cell)
{
    f64 step_s = 1e-3 * bench_median(bench), best_s = 1e9;
    u64 all = cells * bytes_of_cell / 2; /* that a copy reads, and writes */
    size_t bytes = (size_t)(all < COPY_BYTES_MAX ? all : COPY_BYTES_MAX);
    char *from = bench_get(bytes, 1), *to = bench_get(bytes, 1);
    for (u32 k = 0; k < 40; k++) {
        u64 began_ns = clock_now_ns();
        memcpy(to, from, bytes);
        from[k] = to[k + 1];
        best_s = fmin(best_s, (f64)(clock_now_ns() - began_ns) * 1e-9);
    }
    bench_begin(bench);
    bench_sample(bench, 100.0 * best_s * (f64)all / (f64)bytes / step_s);
    BenchRow row = {name, cells, 1, "%", 0.0, ""};
    bench_print(bench, &row);
    free(from);
    free(to);
}

Scene *bench_scene(const char *name)
{
    static const char *const folders[] = {"shared/scenes", PLENUM_DATADIR "/scenes"};
    ErrorText error = {0};
    for (u32 i = 0; i < PL_COUNT(folders); i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s.json", folders[i], name);
        if (access(path, R_OK) == 0) {
            Scene *scene = scene_load(path, &error);
            if (scene != NULL) {
                return scene;
            }
            fprintf(stderr, "plenum-bench: %s\n", error.text);
            exit(EXIT_INPUT);
        }
    }
    fprintf(stderr,
            "plenum-bench: no scene %s.json in shared/scenes or %s: run it from the source "
            "tree or install it\n",
            name, folders[1]);
    exit(EXIT_INPUT);
}

World *bench_world(Bench *bench, const Scene *scene)
{
    ErrorText error = {0};
    World *world = world_create(scene, bench->jobs, &error);
    if (world == NULL) {
        fprintf(stderr, "plenum-bench: %s\n", error.text);
        exit(EXIT_INPUT);
    }
    return world;
}

Frame **bench_frames(Bench *bench, const Scene *scene, u32 count)
{
    World *world = bench_world(bench, scene);
    Frame **frames = calloc(count, sizeof(Frame *));
    for (u32 i = 0; frames != NULL && i < count; i++) {
        if (i > 0) {
            world_tick(world, NULL, 0);
        }
        frames[i] = world_frame(world);
        if (frames[i] == NULL) {
            frames = NULL;
        }
    }
    if (frames == NULL) {
        fprintf(stderr, "plenum-bench: out of memory\n");
        exit(EXIT_CHECK_FAILED);
    }
    world_destroy(world);
    return frames;
}

void bench_frames_free(Frame **frames, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        frame_release(frames[i]);
    }
    free(frames);
}

void *bench_must(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "plenum-bench: out of memory\n");
        exit(EXIT_CHECK_FAILED);
    }
    return memory;
}

void *bench_get(size_t count, size_t bytes)
{
    return bench_must(calloc(count, bytes));
}

bool bench_write(const char *path, const u8 *content, size_t size)
{
    FILE *file = size != 0 ? fopen(path, "wb") : NULL;
    bool good = file != NULL && fwrite(content, size, 1, file) == 1;
    good = file != NULL && fclose(file) == 0 && good;
    if (!good) {
        fprintf(stderr, "plenum-bench: %s: cannot be written\n", path);
    }
    return good;
}
