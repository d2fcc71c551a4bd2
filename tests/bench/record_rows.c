/* record_rows.c: what recording a tick costs, and how long a jump in a recording takes. */
#include "protocol/record/recording.h"
#include "shared/base/clock.h"
#include "shared/math/random.h"
#include "tests/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FRAMES = 600,
    SEEK_FRAMES = 3600, /* one minute */
    SEEKS = 40,         /* a run */
};

static void fail(const char *what, const ErrorText *error)
{
    fprintf(stderr, "plenum-bench: %s: %s\n", what, error->text);
    exit(EXIT_CHECK_FAILED);
}

/* A path of a file that does not last: "$TMPDIR/plenum-bench-XXXXXX". */
static void temporary_path(char *path, size_t bytes)
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, bytes, "%s/plenum-bench-XXXXXX", folder != NULL ? folder : "/tmp");
    int file = mkstemp(path);
    if (file < 0) {
        fprintf(stderr, "plenum-bench: cannot create %s\n", path);
        exit(EXIT_CHECK_FAILED);
    }
    close(file);
}

/* Records `count` ticks of a fresh world; a sample for each tick if asked. */
static void record_world(Bench *bench, const Scene *scene, const char *path, u32 count,
                         bool sampled)
{
    ErrorText error = {0};
    World *world = bench_world(bench, scene);
    RecordingHead head = {.tick_rate = scene->tick_rate};
    world_describe(world, &head.world);
    unlink(path); /* of the run before */
    RecordingWriter *writer = recording_writer_create(path, &head, &error);
    if (writer == NULL) {
        fail("record", &error);
    }
    for (u32 i = 0; i < count; i++) {
        if (i > 0) {
            world_tick(world, NULL, 0);
        }
        Frame *frame = world_frame(world);
        u64 began_ns = clock_now_ns();
        int result = recording_writer_tick(writer, frame, NULL, 0);
        if (result == 0 && i % scene->tick_rate == 0) {
            result = recording_writer_flush(writer);
        }
        if (sampled) {
            bench_sample(bench, (f64)(clock_now_ns() - began_ns) * 1e-3);
        }
        frame_release(frame);
        if (result < 0) {
            error_set(&error, (Error)result, "%s", error_name((Error)result));
            fail("record", &error);
        }
    }
    recording_writer_destroy(writer);
    world_destroy(world);
}

void bench_record_write(Bench *bench)
{
    Scene *scene = bench_scene("playground");
    char path[256];
    temporary_path(path, sizeof path);
    bench_begin(bench);
    while (bench_again(bench)) {
        record_world(bench, scene, path, FRAMES, true);
    }
    struct stat info = {0};
    stat(path, &info);
    BenchRow row = {"record/write", FRAMES, 1, "us a tick", (f64)info.st_size / FRAMES, "B/tick"};
    bench_print(bench, &row);
    unlink(path);
    scene_destroy(scene);
}

static void seek_once(RecordingReader *reader, u64 tick)
{
    Frame *frame = NULL;
    if (recording_reader_seek(reader, tick) < 0 ||
        recording_reader_next(reader, &frame, NULL, NULL) < 0 || frame->tick != tick) {
        fprintf(stderr, "plenum-bench: seek to a tick of the recording failed\n");
        exit(EXIT_CHECK_FAILED);
    }
    frame_release(frame);
}

void bench_record_seek(Bench *bench)
{
    Scene *scene = bench_scene("playground");
    ErrorText error = {0};
    char path[256];
    temporary_path(path, sizeof path);
    record_world(bench, scene, path, SEEK_FRAMES, false);
    RecordingReader *reader = recording_reader_create(path, &error);
    if (reader == NULL) {
        fail("seek", &error);
    }
    bench_begin(bench);
    for (u64 jump = 0; bench_again(bench);) {
        for (u32 i = 0; i < SEEKS; i++) {
            u64 tick = random_u64(1, jump++) % SEEK_FRAMES;
            u64 began_ns = clock_now_ns();
            seek_once(reader, tick);
            bench_sample(bench, (f64)(clock_now_ns() - began_ns) * 1e-6);
        }
    }
    BenchRow row = {"record/seek", SEEK_FRAMES, 1, "ms", 1e3 / bench_median(bench), "seeks/s"};
    bench_print(bench, &row);
    recording_reader_destroy(reader);
    unlink(path);
    scene_destroy(scene);
}
