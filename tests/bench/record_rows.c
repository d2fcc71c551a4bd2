/* record_rows.c: the cost of recording a tick in time and bytes, and the time of a seek. */
#include "protocol/field/quantize.h"
#include "protocol/record/recording.h"
#include "shared/base/clock.h"
#include "shared/math/random.h"
#include "tests/bench/bench.h"
#include "tests/bench/codec_points_world.h"
#include "tests/bench/codec_world.h"
#include "tests/determinism/world_script.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FRAMES = 600,
    SEEK_FRAMES = 3600, /* one minute */
    SEEKS = 40,         /* a run */
    HOUR_MINUTES = 60,
    POINTS_APART = 37, /* of those that are compared */
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

/* A picture every so many ticks, as servers record. */
static void set_rate(RecordingHead *head, u32 ticks)
{
    head->picture_ticks = ticks;
    head->coarse_shift = ticks > 1 ? RECORDING_COARSE_SHIFT_USUAL : 0;
}

typedef struct RecordRow {
    const char *name, *unit;
    f64 each;  /* the rate is per frame and this */
    u32 ticks; /* between pictures */
} RecordRow;

static RecordingHead head_of(const Frame *frame, u32 ticks)
{
    static const u8 nothing[] = "-";
    RecordingHead head = {.tick_rate = 60, .world = {.scene = nothing, .scene_bytes = 1}};
    head.world.fields = frame->fields->fields;
    head.world.field_count = frame->fields->count;
    set_rate(&head, ticks);
    return head;
}

static RecordingWriter *writer_create(const char *path, const RecordingHead *head, const char *name)
{
    ErrorText error = {0};
    RecordingWriter *writer = recording_writer_create(path, head, &error);
    if (writer == NULL) {
        fail(name, &error);
    }
    return writer;
}

/* Samples are microseconds a tick. */
static void record_frames(Bench *bench, const RecordRow *what, Frame **frames, u32 count)
{
    ErrorText error = {0};
    char path[256];
    temporary_path(path, sizeof path);
    RecordingHead head = head_of(frames[0], what->ticks);
    bench_begin(bench);
    while (bench_again(bench)) {
        unlink(path);
        RecordingWriter *writer = writer_create(path, &head, what->name);
        for (u32 i = 0; i < count; i++) {
            u64 began_ns = clock_now_ns();
            if (recording_writer_tick(writer, frames[i], NULL, 0) != 0) {
                fail(what->name, &error);
            }
            bench_sample(bench, (f64)(clock_now_ns() - began_ns) * 1e-3);
        }
        recording_writer_destroy(writer);
    }
    struct stat info = {0};
    stat(path, &info);
    unlink(path);
    f64 rate = (f64)info.st_size / count * what->each;
    BenchRow row = {what->name, count, 1, "us a tick", rate, what->unit};
    bench_print(bench, &row);
}

static u64 bytes_of(const char *path)
{
    struct stat info = {0};
    stat(path, &info);
    return (u64)info.st_size;
}

/* The size of frames that are relative to the one before, without those that are keys. Samples are
 * their bytes. */
static void record_deltas(Bench *bench, const RecordRow *what, Frame **frames, u32 count)
{
    char path[256];
    temporary_path(path, sizeof path);
    unlink(path);
    RecordingHead head = head_of(frames[0], what->ticks);
    RecordingWriter *writer = writer_create(path, &head, what->name);
    u64 before = 0, sum = 0;
    u32 deltas = 0;
    bench_begin(bench);
    for (u32 i = 0; i < count; i++) {
        bool key = recording_writer_key_next(writer, frames[i]);
        if (recording_writer_tick(writer, frames[i], NULL, 0) != 0 ||
            recording_writer_flush(writer) != 0) {
            fail(what->name, &(ErrorText){0});
        }
        u64 bytes = bytes_of(path);
        if (!key) {
            sum += bytes - before;
            deltas++;
            bench_sample(bench, (f64)(bytes - before));
        }
        before = bytes;
    }
    recording_writer_destroy(writer);
    unlink(path);
    BenchRow row = {what->name, deltas, 1, "B a frame", (f64)sum / deltas * what->each, what->unit};
    bench_print(bench, &row);
}

/* Empty frames of a world of one field, from tick 1 on. */
static Frame **frames_of(FieldDesc field, u32 count)
{
    Frame **frames = bench_must(calloc(count, sizeof(Frame *)));
    FieldSet *fields = bench_must(field_set_create(&field, 1));
    for (u32 i = 0; i < count; i++) {
        frames[i] = bench_must(frame_create(fields, i + 1, 0));
    }
    field_set_release(fields);
    return frames;
}

static void record_cubes(Bench *bench, const char *name, CodecWorld kind)
{
    PoseTrace trace = codec_world(kind, 101, FRAMES);
    FieldDesc field = {.kind = FIELD_POSES,
                       .channels = 1,
                       .name = "cubes",
                       .capacity = trace.count,
                       .quantum = 1.0f / 512.0f};
    Frame **frames = frames_of(field, FRAMES);
    for (u32 i = 0; i < FRAMES; i++) {
        memcpy(frame_poses(frames[i], 0), trace.poses + (size_t)i * trace.count,
               trace.count * sizeof(QPose));
    }
    codec_trace_free(&trace);
    record_frames(bench, &(RecordRow){name, "B/frame", 1.0, 1}, frames, FRAMES);
    bench_frames_free(frames, FRAMES);
}

void bench_record_cubes(Bench *bench)
{
    record_cubes(bench, "record/cubes901_push", CODEC_WORLD_PUSH);
    record_cubes(bench, "record/cubes901_roll", CODEC_WORLD_ROLL);
}

void bench_record_liquid(Bench *bench)
{
    enum {
        POINTS = 20000,
        POINT_FRAMES = 300
    };
    const f64 quantum_m = 0.001;
    PointTrace trace = codec_liquid(100, POINTS, POINT_FRAMES);
    FieldDesc field = {.kind = FIELD_POINTS,
                       .channels = 1,
                       .name = "liquid",
                       .capacity = trace.count,
                       .quantum = (f32)quantum_m};
    Frame **frames = frames_of(field, POINT_FRAMES);
    for (u32 i = 0; i < POINT_FRAMES; i++) {
        QPoint *points = frame_points(frames[i], 0);
        const f32 *at = trace.at + (size_t)i * trace.count * 3;
        for (u32 p = 0; p < trace.count; p++) {
            points[p].generation = 1;
            for (u32 a = 0; a < 3; a++) {
                points[p].position[a] = (i32)floor((f64)at[3 * p + a] / quantum_m + 0.5);
            }
        }
    }
    const f64 bits = 8.0 / trace.count; /* fewer than POINTS: a block of whole layers */
    const RecordRow rows[] = {{"record/liquid20k", "bits/point", bits, 1},
                              {"record/liquid20k_20", "bits/point", bits, 3}};
    for (u32 i = 0; i < PL_COUNT(rows); i++) {
        record_frames(bench, &rows[i], frames, POINT_FRAMES);
    }
    const RecordRow deltas = {"record/liquid20k_deltas", "bits/point", bits, 1};
    record_deltas(bench, &deltas, frames, POINT_FRAMES);
    codec_points_free(&trace);
    bench_frames_free(frames, POINT_FRAMES);
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

static void record_seek(Bench *bench, const char *name, const char *scene_name, u32 frames)
{
    Scene *scene = bench_scene(scene_name);
    ErrorText error = {0};
    char path[256];
    temporary_path(path, sizeof path);
    record_world(bench, scene, path, frames, false);
    RecordingReader *reader = recording_reader_create(path, &error);
    if (reader == NULL) {
        fail("seek", &error);
    }
    bench_begin(bench);
    for (u64 jump = 0; bench_again(bench);) {
        for (u32 i = 0; i < SEEKS; i++) {
            u64 tick = random_u64(1, jump++) % frames;
            u64 began_ns = clock_now_ns();
            seek_once(reader, tick);
            bench_sample(bench, (f64)(clock_now_ns() - began_ns) * 1e-6);
        }
    }
    BenchRow row = {name, frames, 1, "ms", 1e3 / bench_median(bench), "seeks/s"};
    bench_print(bench, &row);
    recording_reader_destroy(reader);
    unlink(path);
    scene_destroy(scene);
}

/* Of smoke, whose voxels take the most time to decode for their bytes. */
void bench_record_seek(Bench *bench)
{
    record_seek(bench, "record/seek", "playground", SEEK_FRAMES);
    record_seek(bench, "record/seek_smoke", "smoke_ball", FRAMES);
}

typedef struct Minute {
    Frame *frames[SEEK_FRAMES];
    Input inputs[SEEK_FRAMES][SCRIPT_INPUTS_MAX];
    u32 counts[SEEK_FRAMES];
} Minute;

/* A minute of three people who drag, throw and push without a pause. */
static Minute *play_minute(World *world)
{
    Minute *minute = bench_must(calloc(1, sizeof *minute));
    for (u32 i = 0; i < SEEK_FRAMES; i++) {
        minute->counts[i] = script_inputs(i, minute->inputs[i]);
        world_tick(world, minute->inputs[i], minute->counts[i]);
        minute->frames[i] = world_frame(world);
    }
    return minute;
}

/* The same frame at a later tick. */
static Frame *frame_later(const Frame *frame, u64 ticks)
{
    FieldSet *fields = (FieldSet *)(uintptr_t)frame->fields; /* as acquiring needs it */
    Frame *copy = bench_must(frame_create(fields, frame->tick + ticks, frame->event_count));
    memcpy(copy->data, frame->data, fields->frame_bytes);
    memcpy(copy->events, frame->events, frame->event_count * sizeof *copy->events);
    memcpy(copy->systems, frame->systems, sizeof copy->systems);
    copy->system_count = frame->system_count;
    copy->world_hash = frame->world_hash;
    return copy;
}

/* Records the minute so many times, as a server does with --record-rate. */
static void record_minutes(const char *path, const RecordingHead *head, const Minute *minute,
                           u32 minutes)
{
    ErrorText error = {0};
    unlink(path);
    RecordingWriter *writer = recording_writer_create(path, head, &error);
    if (writer == NULL) {
        fail("hour", &error);
    }
    for (u32 i = 0; i < minutes * SEEK_FRAMES; i++) {
        u32 at = i % SEEK_FRAMES;
        Frame *frame = frame_later(minute->frames[at], i - at);
        if (recording_writer_tick(writer, frame, minute->inputs[at], minute->counts[at]) != 0) {
            fail("hour", &error);
        }
        frame_release(frame);
    }
    recording_writer_destroy(writer);
}

static RecordingReader *reader_open(const char *path)
{
    ErrorText error = {0};
    RecordingReader *reader = recording_reader_create(path, &error);
    if (reader == NULL) {
        fail("hour", &error);
    }
    return reader;
}

/* Samples how far points between two pictures are from where they were, in mm. */
static void sample_between(Bench *bench, const Frame *got, const Frame *was)
{
    for (u32 f = 0; f < got->fields->count && got->between; f++) {
        const FieldDesc *field = &got->fields->fields[f];
        u32 points = field->kind == FIELD_POINTS ? field->capacity : 0;
        for (u32 i = (u32)(got->tick % POINTS_APART); i < points; i += POINTS_APART) {
            const QPoint *a = frame_points(got, f) + i, *b = frame_points(was, f) + i;
            Vec3 off = vec3_sub(dequantize_position(field, a->position),
                                dequantize_position(field, b->position));
            if (b->generation != 0) {
                bench_sample(bench, 1e3 * (f64)vec3_length(off));
            }
        }
    }
}

static void record_rate(Bench *bench, RecordingHead head, const Minute *minute, const char *path,
                        u32 ticks)
{
    char name[32];
    set_rate(&head, ticks);
    record_minutes(path, &head, minute, 1);
    RecordingReader *reader = reader_open(path);
    bench_begin(bench);
    for (u32 i = 0; i < SEEK_FRAMES; i++) {
        Frame *frame;
        if (recording_reader_next(reader, &frame, NULL, NULL) != 0) {
            exit(EXIT_CHECK_FAILED);
        }
        sample_between(bench, frame, minute->frames[i]);
        frame_release(frame);
    }
    snprintf(name, sizeof name, "record/minute_%u", head.tick_rate / ticks);
    f64 hour_mb = (f64)recording_reader_info(reader)->bytes * 60e-6;
    BenchRow row = {name, SEEK_FRAMES, 1, "mm off", hour_mb, "MB/hour"};
    bench_print(bench, &row);
    recording_reader_destroy(reader);
}

/* A minute with pictures at several rates; and an hour, of the same minute again and again: seeks,
 * and its size on disk. */
void bench_record_hour(Bench *bench)
{
    Scene *scene = bench_scene("playground");
    World *world = bench_world(bench, scene);
    RecordingHead head = {.tick_rate = scene->tick_rate};
    world_describe(world, &head.world);
    size_t entities = head.world.entity_count * sizeof(Entity); /* the world changes its own */
    head.world.entities = memcpy(bench_must(malloc(entities)), head.world.entities, entities);
    char path[256];
    temporary_path(path, sizeof path);
    Minute *minute = play_minute(world);
    for (u32 ticks = 1; ticks <= 4; ticks++) {
        record_rate(bench, head, minute, path, ticks);
    }
    set_rate(&head, 3); /* by default */
    record_minutes(path, &head, minute, HOUR_MINUTES);
    for (u32 i = 0; i < SEEK_FRAMES; i++) {
        frame_release(minute->frames[i]);
    }
    free(minute);
    free((void *)(uintptr_t)head.world.entities);
    world_destroy(world);
    RecordingReader *reader = reader_open(path);
    bench_begin(bench);
    for (u64 jump = 0; bench_again(bench);) {
        for (u32 i = 0; i < SEEKS; i++) {
            u64 tick = 1 + random_u64(2, jump++) % (HOUR_MINUTES * SEEK_FRAMES);
            u64 began_ns = clock_now_ns();
            seek_once(reader, tick);
            bench_sample(bench, (f64)(clock_now_ns() - began_ns) * 1e-6);
        }
    }
    f64 file_mb = (f64)recording_reader_info(reader)->bytes * 1e-6;
    BenchRow row = {"record/hour", HOUR_MINUTES * SEEK_FRAMES, 1, "ms a seek", file_mb, "MB"};
    bench_print(bench, &row);
    recording_reader_destroy(reader);
    unlink(path);
    scene_destroy(scene);
}
