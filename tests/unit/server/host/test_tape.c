/* test_tape.c: a tape returns the frames of a recording in any order, equal to sequential reading,
 * at a bounded cost; a survey lists its events. */
#include "server/host/survey.h"
#include "server/host/tape.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/math/random.h"
#include "tests/unit/protocol/random_world.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    RATE = 60,
    TICKS = 1500,
    GAP_FIRST = 700, /* not recorded: to 719 */
    GAP_TICKS = 20,
    SPAWN_EVERY = 97,
    KEY_TICKS = 5 * RATE
};

static const char *path;

static bool is_recorded(u64 tick)
{
    return tick < TICKS && (tick < GAP_FIRST || tick >= GAP_FIRST + GAP_TICKS);
}

/* Probe: a ramp. Events: an entity every 97 ticks, a break at 300, the strongest impact at 1000. */
static Frame *make_frame(FieldSet *fields, u64 tick)
{
    bool spawn = tick % SPAWN_EVERY == 1, impact = tick % 250 == 0, breaks = tick == 300;
    Frame *frame = frame_create(fields, tick, spawn + impact + breaks);
    assert_non_null(frame);
    Event *event = frame->events;
    if (spawn) {
        event->kind = EVENT_SPAWN;
        event->entity = (Entity){.id = 1 + (u32)tick, .first = (u32)tick % 3, .count = 1};
        snprintf(event->entity.name, sizeof event->entity.name, "n%u", (u32)tick);
        event->entity.appearance.shape = (Shape){.kind = SHAPE_SPHERE, .radius = 0.5f};
        event++;
    }
    if (impact) {
        event->kind = EVENT_IMPACT;
        event->impulse = tick == 1000 ? 50.0f : tick == 250 ? 1.0f : 20.0f;
        event++;
    }
    if (breaks) {
        event->kind = EVENT_BREAK;
    }
    frame_poses(frame, 0)[0] = (QPose){.flags = POSE_LIVE, .generation = 1};
    frame_poses(frame, 0)[0].position[0] = (i32)(tick * 3);
    f32 value = (f32)tick;
    memcpy(frame_field(frame, 1), &value, sizeof value);
    return frame;
}

static int record(void **state)
{
    log_set_level(LOG_QUIET);
    static char name[] = "/tmp/plenum-test-tape-XXXXXX";
    int fd = mkstemp(name);
    close(fd);
    unlink(name);
    path = name;
    FieldDesc descriptions[2] = {field_desc(FIELD_POSES, 3), field_desc(FIELD_SCALARS, 1)};
    FieldSet *fields = field_set_create(descriptions, 2);
    ScalarInfo probe = {.name = "ramp", .components = 1, .field = 1};
    RecordingHead head = {.tick_rate = RATE, .build = "test"};
    head.world = (MessageWorld){.scene = (const u8 *)"scene",
                                .scene_bytes = 6,
                                .fields = fields->fields,
                                .field_count = 2,
                                .probes = &probe,
                                .probe_count = 1};
    RecordingWriter *writer = recording_writer_create(path, &head, NULL);
    assert_non_null(writer);
    for (u64 tick = 0; tick < TICKS; tick++) {
        if (!is_recorded(tick)) {
            continue;
        }
        Frame *frame = make_frame(fields, tick);
        assert_int_equal(recording_writer_tick(writer, frame, NULL, 0), 0);
        frame_release(frame);
        RecordingNote note = {.tick = tick, .kind = RECORDING_NOTE_CHAT, .name = "Ada"};
        snprintf(note.text, sizeof note.text, "look");
        if (tick == 600) {
            assert_int_equal(recording_writer_note(writer, &note), 0);
        }
    }
    assert_int_equal(recording_writer_destroy(writer), 0);
    *state = fields;
    return 0;
}

static int tear_down(void **state)
{
    field_set_release(*state);
    return unlink(path);
}

static void assert_frame(const Frame *frame, u64 tick)
{
    assert_int_equal(frame->tick, tick);
    assert_int_equal(frame_poses(frame, 0)[0].position[0], (i32)(tick * 3));
}

static u64 recorded_from(u64 tick)
{
    while (tick < TICKS && !is_recorded(tick)) {
        tick++;
    }
    return tick;
}

static void test_any_order(void **state)
{
    (void)state;
    Tape *tape = tape_create(path, NULL);
    assert_non_null(tape);
    for (u64 round = 0; round < 300; round++) {
        u64 tick = random_u64(17, round) % (TICKS + 20);
        u64 at = recorded_from(tick);
        Frame *frame;
        int result = tape_at(tape, tick, &frame);
        assert_int_equal(result, at < TICKS ? 0 : ERROR_NOT_FOUND);
        if (result == 0) {
            assert_frame(frame, at);
            frame_release(frame);
        }
        u64 before = u64_min(tick, TICKS);
        while (before > 0 && !is_recorded(before - 1)) {
            before--;
        }
        result = tape_before(tape, tick, &frame);
        assert_int_equal(result, before > 0 ? 0 : ERROR_NOT_FOUND);
        if (result == 0) {
            assert_frame(frame, before - 1);
            frame_release(frame);
        }
        const EntityList *entities;
        assert_int_equal(tape_entities(tape, at < TICKS ? at : TICKS - 1, &entities), 0);
        u32 expected = 0;
        for (u64 t = 0; t <= at && t < TICKS; t++) {
            expected += is_recorded(t) && t % SPAWN_EVERY == 1;
        }
        assert_int_equal(entities->count, expected);
    }
    tape_destroy(tape);
}

/* In either direction a frame is rarely decoded more than once. */
static void test_cost(void **state)
{
    (void)state;
    Tape *tape = tape_create(path, NULL);
    Frame *frame;
    for (u64 tick = TICKS; tape_before(tape, tick, &frame) == 0;) {
        tick = frame->tick;
        frame_release(frame);
    }
    assert_in_range(tape_decoded(tape), TICKS - GAP_TICKS, TICKS + TICKS / 20);
    for (u64 tick = 0; tape_at(tape, tick, &frame) == 0;) {
        tick = frame->tick + 1;
        frame_release(frame);
    }
    assert_true(tape_decoded(tape) <= 2 * TICKS + TICKS / 10);
    /* A seek decodes at most one key interval. */
    u64 decoded = tape_decoded(tape);
    for (u64 round = 0; round < 50; round++) {
        assert_int_equal(tape_at(tape, random_u64(3, round) % 690, &frame), 0);
        frame_release(frame);
        assert_true(tape_decoded(tape) - decoded <= KEY_TICKS);
        decoded = tape_decoded(tape);
    }
    tape_destroy(tape);
}

/* One corrupted byte loses the frames up to the next key, in both directions. */
static void test_damage(void **state)
{
    (void)state;
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    long at = ftell(file) / 2;
    fseek(file, at, SEEK_SET);
    int old = fgetc(file);
    fseek(file, at, SEEK_SET);
    fputc(old ^ 16, file);
    fflush(file);
    Tape *tape = tape_create(path, NULL);
    assert_non_null(tape);
    Frame *frame;
    u64 count[2] = {0, 0}, missed = 0, next = 0;
    for (u64 tick = 0; tape_at(tape, tick, &frame) == 0;) {
        missed += frame->tick - next > GAP_TICKS;
        tick = next = frame->tick + 1;
        assert_frame(frame, tick - 1);
        frame_release(frame);
        count[0]++;
    }
    assert_int_equal(next, TICKS);
    for (u64 tick = TICKS; tape_before(tape, tick, &frame) == 0;) {
        tick = frame->tick;
        assert_frame(frame, tick);
        frame_release(frame);
        count[1]++;
    }
    assert_true(missed <= 1);
    assert_in_range(count[0], TICKS - GAP_TICKS - KEY_TICKS, TICKS - GAP_TICKS - 1);
    assert_int_equal(count[1], count[0]);
    tape_destroy(tape);
    fseek(file, at, SEEK_SET);
    fputc(old, file);
    fclose(file);
}

static void ignore(void *context)
{
    (void)context;
}

static const SurveyMark *mark_of(const MessageSurvey *survey, u32 kind)
{
    for (u32 i = 0; i < survey->mark_count; i++) {
        assert_true(i == 0 || survey->marks[i].tick >= survey->marks[i - 1].tick);
        if (survey->marks[i].kind == kind) {
            return &survey->marks[i];
        }
    }
    fail_msg("no mark of kind %u", kind);
    return NULL;
}

static void test_survey(void **state)
{
    (void)state;
    Survey *survey = survey_create(path, ignore, NULL);
    assert_non_null(survey);
    MessageSurvey found;
    while (survey_get(survey, &found) == 0) {
        clock_sleep_until_ns(clock_now_ns() + 1000000);
    }
    assert_int_equal(found.first_tick, 0);
    assert_int_equal(found.last_tick, TICKS - 1);
    assert_int_equal(found.probes, 1);
    assert_int_equal(found.samples, SURVEY_SAMPLES_MAX);
    for (u32 i = 0; i < found.samples; i++) {
        f64 tick = (f64)i * (TICKS - 1) / (found.samples - 1);
        assert_true((f64)found.values[i] >= tick - 1.0 &&
                    (f64)found.values[i] <= tick + GAP_TICKS + 1.0);
    }
    assert_int_equal(mark_of(&found, MARK_BREAK)->tick, 300);
    assert_int_equal(mark_of(&found, MARK_CHAT)->tick, 600);
    assert_string_equal(mark_of(&found, MARK_CHAT)->text, "Ada: look");
    u32 impacts = 0;
    for (u32 i = 0; i < found.mark_count; i++) {
        impacts += found.marks[i].kind == MARK_IMPACT;
    }
    assert_int_equal(impacts, 5); /* 0, 500, 750, 1000, 1250; not the weak one at 250 */
    RecordingNote note = {.tick = 123, .kind = RECORDING_NOTE_BOOKMARK, .text = "here"};
    survey_add(survey, &note);
    assert_int_equal(survey_get(survey, &found), 2);
    assert_int_equal(mark_of(&found, MARK_BOOKMARK)->tick, 123);
    survey_destroy(survey);
    survey_destroy(survey_create(path, ignore, NULL)); /* stopped while reading */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_cost),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_survey),
    };
    return cmocka_run_group_tests(tests, record, tear_down);
}
