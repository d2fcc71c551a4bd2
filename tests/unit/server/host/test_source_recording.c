/* test_source_recording.c: a recording plays in order, waits while paused, and seeks with the
 * entities of that tick. */
#include "protocol/record/recording.h"
#include "server/host/source.h"
#include "shared/base/clock.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    TICKS = 200,
    SPAWN_TICK = 100
};

static const char *path;

static void wake(void *context)
{
    (void)context;
}

static int record(void **state)
{
    (void)state;
    static char name[] = "/tmp/plenum-test-source-XXXXXX";
    int fd = mkstemp(name);
    close(fd);
    unlink(name); /* the writer makes it */
    path = name;
    FieldDesc field = {.kind = FIELD_POSES, .channels = 1, .name = "bodies", .capacity = 8};
    field.quantum = 0.002f;
    FieldSet *fields = field_set_create(&field, 1);
    RecordingHead head = {.tick_rate = 60, .build = "test"};
    head.world = (MessageWorld){.epoch = 1,
                                .scene = (const u8 *)"s",
                                .scene_bytes = 1,
                                .fields = fields->fields,
                                .field_count = 1};
    RecordingWriter *writer = recording_writer_create(path, &head, NULL);
    assert_non_null(writer);
    for (u64 tick = 1; tick <= TICKS; tick++) {
        Frame *frame = frame_create(fields, tick, tick == SPAWN_TICK);
        frame_poses(frame, 0)[0].flags = POSE_LIVE;
        frame_poses(frame, 0)[0].position[0] = (i32)tick;
        if (tick == SPAWN_TICK) {
            Entity *entity = &frame->events[0].entity;
            frame->events[0].kind = EVENT_SPAWN;
            *entity = (Entity){.id = 5, .name = "late", .count = 1};
            entity->appearance.kind = APPEARANCE_SHAPE;
        }
        assert_int_equal(recording_writer_tick(writer, frame, NULL, 0), 0);
        frame_release(frame);
    }
    assert_int_equal(recording_writer_destroy(writer), 0);
    field_set_release(fields);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

/* The next frame, or NULL when the source has finished; a deaf source ends in the time-out of the
 * runner. */
static Frame *next(Source *source)
{
    for (;;) {
        Frame *frame = source->ops->take(source);
        SourceStatus status;
        source->ops->status(source, &status);
        if (frame != NULL || status.finished) {
            return frame != NULL ? frame : source->ops->take(source);
        }
        clock_sleep_until_ns(clock_now_ns() + 1000000);
    }
}

static void test_plays_everything_in_order(void **state)
{
    (void)state;
    SourceWorldOptions options = {.fast = true, .speed = 1.0};
    ErrorText error = {0};
    Source *source = source_recording_create(path, &options, &error);
    assert_non_null(source);
    assert_int_equal(source->ops->start(source, wake, NULL, &error), 0);
    u64 tick = 0;
    for (Frame *frame = next(source); frame != NULL; frame = next(source)) {
        assert_int_equal(frame->tick, ++tick);
        assert_int_equal(frame_poses(frame, 0)[0].position[0], tick);
        frame_release(frame);
    }
    assert_int_equal(tick, TICKS);
    source->ops->destroy(source);
}

static u32 entities_at(Source *source)
{
    MessageWorld world;
    source->ops->describe(source, &world);
    return world.entity_count;
}

static Source *open_paused(f64 speed)
{
    SourceWorldOptions options = {.paused = true, .speed = speed};
    Source *source = source_recording_create(path, &options, NULL);
    assert_non_null(source);
    assert_int_equal(source->ops->start(source, wake, NULL, NULL), 0);
    Frame *frame = next(source);
    assert_int_equal(frame->tick, 1);
    frame_release(frame);
    assert_int_equal(entities_at(source), 0);
    return source;
}

/* Paused where it was asked to begin, and not one tick later. */
static void test_begins_where_asked(void **state)
{
    (void)state;
    SourceWorldOptions options = {.paused = true, .speed = 1.0, .at = "37"};
    Source *source = source_recording_create(path, &options, NULL);
    assert_non_null(source);
    assert_int_equal(source->ops->start(source, wake, NULL, NULL), 0);
    Frame *frame = next(source);
    assert_int_equal(frame_poses(frame, 0)[0].position[0], 37);
    frame_release(frame);
    clock_sleep_until_ns(clock_now_ns() + 100000000);
    assert_null(source->ops->take(source));
    assert_int_equal(source->ops->control(source, 1, CONTROL_STEP, 1.0), 0);
    frame = next(source);
    assert_int_equal(frame_poses(frame, 0)[0].position[0], 38);
    frame_release(frame);
    source->ops->destroy(source);
}

/* The recorded tick that a frame of the stream shows, by the status and by its content. */
static u64 shown_tick(Source *source, const Frame *frame)
{
    SourceStatus status;
    source->ops->status(source, &status);
    const PlaySegment *play = &status.status.play;
    u64 shown = (u64)frame_poses(frame, 0)[0].position[0];
    /* Frames from before the last jump belong to another segment. */
    if (frame->tick >= play->stream_tick) {
        i64 tick = (i64)play->tick + play->direction * (i64)(frame->tick - play->stream_tick);
        assert_int_equal(tick, shown);
    }
    assert_int_equal(entities_at(source), shown >= SPAWN_TICK);
    return shown;
}

/* The next frame must show this tick, later in the stream than `*stream_tick`, which it becomes. */
static void expect(Source *source, u64 tick, u64 *stream_tick)
{
    Frame *frame = next(source);
    assert_int_equal(shown_tick(source, frame), tick);
    assert_true(frame->tick > *stream_tick);
    *stream_tick = frame->tick;
    frame_release(frame);
}

static void test_seeks_and_steps_while_paused(void **state)
{
    (void)state;
    Source *source = open_paused(1.0);
    u64 stream_tick = 1;
    static const u64 ticks[] = {150, 30, 200, 99, 100};
    for (size_t i = 0; i < PL_COUNT(ticks); i++) {
        f64 time_s = (f64)ticks[i] / 60.0;
        assert_int_equal(source->ops->control(source, 1, CONTROL_SEEK, time_s), 0);
        expect(source, ticks[i], &stream_tick);
    }
    assert_int_equal(source->ops->control(source, 1, CONTROL_STEP, 2), 0);
    expect(source, 101, &stream_tick);
    expect(source, 102, &stream_tick);
    assert_int_equal(source->ops->control(source, 1, CONTROL_STEP, -4), 0);
    for (u64 tick = 101; tick >= 98; tick--) {
        expect(source, tick, &stream_tick);
    }
    /* Around the spawn, where the list of entities changes. */
    assert_int_equal(source->ops->control(source, 1, CONTROL_SEEK, SPAWN_TICK / 60.0), 0);
    expect(source, SPAWN_TICK, &stream_tick);
    assert_int_equal(source->ops->control(source, 1, CONTROL_STEP, -1), 0);
    expect(source, SPAWN_TICK - 1, &stream_tick);
    assert_int_equal(source->ops->control(source, 1, CONTROL_STEP, 1), 0);
    expect(source, SPAWN_TICK, &stream_tick);
    assert_true(source->ops->control(source, 1, CONTROL_SEEK, -1.0) < 0);
    assert_true(source->ops->control(source, 1, CONTROL_SPEED, 0.0) < 0);
    assert_true(source->ops->control(source, 1, CONTROL_SPEED, (f64)NAN) < 0);
    assert_true(source->ops->control(source, 1, CONTROL_STEP, 0.0) < 0);
    SourceStatus status;
    source->ops->status(source, &status);
    assert_true(status.status.paused == 1 && status.status.replay == 1);
    source->ops->destroy(source);
}

static SourceStatus status_of(Source *source)
{
    SourceStatus status;
    source->ops->status(source, &status);
    return status;
}

/* Backwards from the end to the start, where it stops; then it can be played forwards. */
static void test_backwards(void **state)
{
    (void)state;
    Source *source = open_paused(1.0);
    u64 stream_tick = 1;
    assert_int_equal(source->ops->control(source, 1, CONTROL_SEEK, TICKS / 60.0), 0);
    expect(source, TICKS, &stream_tick);
    assert_int_equal(source->ops->control(source, 1, CONTROL_SPEED, -16.0), 0);
    assert_int_equal(source->ops->control(source, 1, CONTROL_RESUME, 0.0), 0);
    u64 shown = TICKS, frames = 0;
    while (shown > 1) {
        Frame *frame = next(source);
        u64 tick = shown_tick(source, frame);
        assert_true(tick < shown);
        assert_int_equal(frame->tick - stream_tick, shown - tick); /* as far as it moved */
        shown = tick;
        stream_tick = frame->tick;
        frame_release(frame);
        frames++;
    }
    assert_true(frames > TICKS / 6); /* at this speed some are left out */
    while (!status_of(source).status.paused) {
        clock_sleep_until_ns(clock_now_ns() + 1000000);
    }
    assert_false(status_of(source).finished); /* ends, but serves on */
    assert_int_equal(source->ops->control(source, 1, CONTROL_SPEED, 1.0), 0);
    assert_int_equal(source->ops->control(source, 1, CONTROL_RESUME, 0.0), 0);
    expect(source, 2, &stream_tick);
    expect(source, 3, &stream_tick);
    source->ops->destroy(source);
}

static void test_loop(void **state)
{
    (void)state;
    Source *source = open_paused(4.0);
    u64 stream_tick = 1;
    assert_int_equal(source->ops->control(source, 1, CONTROL_LOOP_FIRST, 100 / 60.0), 0);
    assert_int_equal(source->ops->control(source, 1, CONTROL_LOOP_LAST, 104 / 60.0), 0);
    assert_int_equal(source->ops->control(source, 1, CONTROL_SEEK, 102 / 60.0), 0);
    expect(source, 102, &stream_tick);
    assert_int_equal(status_of(source).status.loop_first, 100);
    assert_int_equal(source->ops->control(source, 1, CONTROL_RESUME, 0.0), 0);
    static const u64 forwards[] = {103, 104, 100, 101, 102, 103, 104, 100};
    for (size_t i = 0; i < PL_COUNT(forwards); i++) {
        Frame *frame = next(source);
        assert_int_equal(frame_poses(frame, 0)[0].position[0], forwards[i]);
        frame_release(frame);
    }
    assert_int_equal(source->ops->control(source, 1, CONTROL_LOOP_LAST, 0.0), 0);
    assert_int_equal(status_of(source).status.loop_last, 0); /* none */
    source->ops->destroy(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plays_everything_in_order),
        cmocka_unit_test(test_begins_where_asked),
        cmocka_unit_test(test_seeks_and_steps_while_paused),
        cmocka_unit_test(test_backwards),
        cmocka_unit_test(test_loop),
    };
    return cmocka_run_group_tests(tests, record, tear_down);
}
