/* test_recorder.c: a slow or full disk never blocks the simulation, and the recording reports its
 * gaps. */
#include "server/host/recorder.h"

#include "shared/base/log.h"
#include "tests/unit/protocol/random_world.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/plenum-test-recorder-XXXXXX";
static char path[128];

/* A disk whose writes block while the gate is closed. */
typedef struct Gate {
    pthread_mutex_t mutex;
    pthread_cond_t opened;
    bool shut;
} Gate;

static void wait_at(void *context)
{
    Gate *gate = context;
    pthread_mutex_lock(&gate->mutex);
    while (gate->shut) {
        pthread_cond_wait(&gate->opened, &gate->mutex);
    }
    pthread_mutex_unlock(&gate->mutex);
}

static void open_gate(Gate *gate)
{
    pthread_mutex_lock(&gate->mutex);
    gate->shut = false;
    pthread_cond_broadcast(&gate->opened);
    pthread_mutex_unlock(&gate->mutex);
}

static RecordingHead head_of(const FieldSet *fields)
{
    RecordingHead head = {.tick_rate = 60, .build = "test"};
    head.world = (MessageWorld){.scene = (const u8 *)"scene",
                                .scene_bytes = 6,
                                .fields = fields->fields,
                                .field_count = fields->count};
    return head;
}

/* A spawn event every tenth tick. */
static void give(Recorder *recorder, FieldSet *fields, u64 tick)
{
    Frame *frame = frame_create(fields, tick, tick % 10 == 0);
    assert_non_null(frame);
    frame_poses(frame, 0)[0] = (QPose){.flags = POSE_LIVE, .generation = 1};
    frame_poses(frame, 0)[0].position[0] = (i32)tick;
    if (frame->event_count > 0) {
        Event *event = &frame->events[0];
        event->kind = EVENT_SPAWN;
        event->entity = (Entity){.id = (u32)tick, .first = (u32)(tick / 10 % 3), .count = 1};
        snprintf(event->entity.name, sizeof event->entity.name, "n%u", (u32)tick);
        event->entity.appearance.shape = (Shape){.kind = SHAPE_SPHERE, .radius = 0.5f};
    }
    Input input = {.kind = INPUT_REMOVE, .user = 3, .sequence = (u32)tick, .entity = 1};
    recorder_tick(recorder, frame, &input, 1);
    frame_release(frame);
}

/* Contents of a recording: ticks, spawn events, and ticks in gaps. */
typedef struct Found {
    u64 ticks, spawns, gap_ticks, notes, newest;
} Found;

static void found_gap(void *context, RecordingGap gap)
{
    ((Found *)context)->gap_ticks += gap.last_tick - gap.first_tick + 1;
}

static void found_note(void *context, const RecordingNote *note)
{
    Found *found = context;
    found->notes++;
    assert_string_equal(note->text, "hello");
}

static Found find_all(const char *file)
{
    Found found = {0};
    ErrorText error = {0};
    RecordingReader *reader = recording_reader_create(file, &error);
    if (reader == NULL) {
        fail_msg("%s", error.text);
    }
    assert_true(recording_reader_info(reader)->clean);
    RecordingVisitor visitor = {.context = &found, .note = found_note, .gap = found_gap};
    assert_int_equal(recording_reader_visit(reader, &visitor), 0);
    Frame *frame;
    while (recording_reader_next(reader, &frame, NULL, NULL) == 0) {
        assert_int_equal(frame_poses(frame, 0)[0].position[0], (i32)frame->tick);
        for (u32 i = 0; i < frame->event_count; i++) {
            found.spawns += frame->events[i].kind == EVENT_SPAWN;
        }
        found.ticks++;
        found.newest = frame->tick;
        frame_release(frame);
    }
    recording_reader_destroy(reader);
    return found;
}

static void test_slow_disk(void **state)
{
    FieldSet *fields = *state;
    Gate gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, true};
    RecordingHead head = head_of(fields);
    const RecorderOptions options = {
        .path = path, .force = true, .ticks_max = 16, .writing = wait_at, .context = &gate};
    Recorder *recorder = recorder_create(&options, &head, NULL);
    assert_non_null(recorder);
    for (u64 tick = 1; tick <= 100; tick++) {
        give(recorder, fields, tick); /* returns although nothing can be written */
    }
    RecordingNote note = {.kind = RECORDING_NOTE_CHAT, .text = "hello"};
    recorder_note(recorder, &note);
    RecorderStats stats;
    recorder_stats(recorder, &stats);
    assert_int_equal(stats.ticks_lost, 100 - 16);
    open_gate(&gate);
    do {
        usleep(1000);
        recorder_stats(recorder, &stats);
    } while (stats.waiting > 0);
    give(recorder, fields, 101);
    recorder_destroy(recorder);
    Found found = find_all(path);
    assert_int_equal(found.ticks, 17);
    assert_int_equal(found.newest, 101);
    assert_int_equal(found.gap_ticks, 100 - 16);
    assert_int_equal(found.spawns, 10); /* also those of dropped ticks */
    assert_int_equal(found.notes, 1);
}

static void test_complete(void **state)
{
    FieldSet *fields = *state;
    RecordingHead head = head_of(fields);
    const RecorderOptions options = {.path = path, .force = true, .complete = true, .ticks_max = 4};
    Recorder *recorder = recorder_create(&options, &head, NULL);
    assert_non_null(recorder);
    for (u64 tick = 1; tick <= 500; tick++) {
        give(recorder, fields, tick);
    }
    recorder_destroy(recorder);
    Found found = find_all(path);
    assert_int_equal(found.ticks, 500);
    assert_int_equal(found.gap_ticks, 0);
}

/* The file size limit acts like a full disk. */
static void test_full_disk(void **state)
{
    FieldSet *fields = *state;
    RecordingHead head = head_of(fields);
    const RecorderOptions options = {
        .path = path, .force = true, .complete = true, .ticks_max = 32};
    Recorder *recorder = recorder_create(&options, &head, NULL);
    assert_non_null(recorder);
    struct rlimit usual, full;
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
    full = usual;
    full.rlim_cur = (rlim_t)status.st_size + 100;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
    RecorderStats stats = {0};
    u64 tick = 1;
    for (; !stats.stuck; tick++) { /* detected at the first flush */
        give(recorder, fields, tick);
        usleep(2000);
        recorder_stats(recorder, &stats);
    }
    for (u32 i = 0; i < 100; i++) {
        give(recorder, fields, tick++); /* does not block, even with `complete` set */
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
    while (stats.stuck || stats.waiting > 0) { /* retried every second */
        usleep(10000);
        recorder_stats(recorder, &stats);
    }
    give(recorder, fields, tick);
    recorder_destroy(recorder);
    Found found = find_all(path);
    assert_int_equal(found.newest, tick);
    assert_true(found.gap_ticks >= 100 - 32);
    assert_int_equal(found.ticks + found.gap_ticks, tick);
    assert_int_equal(found.spawns, tick / 10);
}

static void test_names(void **state)
{
    FieldSet *fields = *state;
    RecordingHead head = head_of(fields);
    ErrorText error = {0};
    char name[160];
    unlink(path); /* left by an earlier test */
    for (u32 i = 1; i <= 3; i++) {
        const RecorderOptions options = {.path = path};
        Recorder *recorder = recorder_create(&options, &head, &error);
        assert_non_null(recorder);
        snprintf(name, sizeof name, i > 1 ? "%s/evening-%u.plrec" : "%s/evening.plrec", folder, i);
        assert_string_equal(recorder_path(recorder), name);
        give(recorder, fields, i);
        recorder_destroy(recorder);
        assert_int_equal(find_all(name).newest, i);
    }
    for (u32 i = 1; i <= 3; i++) {
        snprintf(name, sizeof name, i > 1 ? "%s/evening-%u.plrec" : "%s/evening.plrec", folder, i);
        unlink(name);
    }
    const RecorderOptions nowhere = {.path = "/proc/evening.plrec"}; /* cannot be written to */
    assert_null(recorder_create(&nowhere, &head, &error));
    assert_non_null(strstr(error.text, "/proc/evening.plrec"));
    const RecorderOptions device = {.path = "/dev/null", .force = true};
    assert_null(recorder_create(&device, &head, &error));
    assert_int_equal(access("/dev/null", F_OK), 0);
}

static int set_up(void **state)
{
    log_set_level(LOG_QUIET);
    FieldDesc poses = field_desc(FIELD_POSES, 3);
    *state = field_set_create(&poses, 1);
    bool made = mkdtemp(folder) != NULL;
    snprintf(path, sizeof path, "%s/evening.plrec", folder);
    return *state == NULL || !made;
}

static int tear_down(void **state)
{
    field_set_release(*state);
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_disk),
        cmocka_unit_test(test_complete),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
