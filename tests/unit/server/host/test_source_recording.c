/* test_source_recording.c: a recording plays in order, waits while paused, and seeks with the
 * entities of that tick. */
#include "protocol/record/recording.h"
#include "server/host/source.h"
#include "shared/base/clock.h"

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

static void test_seeks_while_paused(void **state)
{
    (void)state;
    SourceWorldOptions options = {.paused = true, .speed = 1.0};
    Source *source = source_recording_create(path, &options, NULL);
    assert_non_null(source);
    assert_int_equal(source->ops->start(source, wake, NULL, NULL), 0);
    Frame *frame = next(source);
    assert_int_equal(frame->tick, 1);
    frame_release(frame);
    assert_int_equal(entities_at(source), 0);
    static const u64 ticks[] = {150, 30, 200, 99, 100};
    for (size_t i = 0; i < PL_COUNT(ticks); i++) {
        f64 time_s = (f64)ticks[i] / 60.0;
        assert_int_equal(source->ops->control(source, 1, CONTROL_SEEK, time_s), 0);
        frame = next(source);
        assert_int_equal(frame->tick, ticks[i]);
        assert_int_equal(frame->events[0].kind, EVENT_RESET);
        assert_int_equal(frame_poses(frame, 0)[0].position[0], ticks[i]);
        frame_release(frame);
        assert_int_equal(entities_at(source), ticks[i] >= SPAWN_TICK);
    }
    assert_int_equal(source->ops->control(source, 1, CONTROL_STEP, 2), 0);
    for (u64 tick = 101; tick <= 102; tick++) {
        frame = next(source);
        assert_int_equal(frame->tick, tick);
        frame_release(frame);
    }
    assert_true(source->ops->control(source, 1, CONTROL_SEEK, -1.0) < 0);
    assert_true(source->ops->control(source, 1, CONTROL_SPEED, 0.0) < 0);
    SourceStatus status;
    source->ops->status(source, &status);
    assert_true(status.status.paused == 1 && status.status.replay == 1);
    source->ops->destroy(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plays_everything_in_order),
        cmocka_unit_test(test_seeks_while_paused),
    };
    return cmocka_run_group_tests(tests, record, tear_down);
}
