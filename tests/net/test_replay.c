/*
 * test_replay.c: several clients watch a recording in step, whenever they joined, in any direction;
 * the displayed values match the formulas that were recorded. A bookmark by one reaches all and the
 * file. In real time, as the source uses its own clock.
 */
#include "client/link/timeline.h"
#include "protocol/record/recording.h"
#include "server/host/source.h"
#include "shared/base/log.h"
#include "tests/support/field_source.h"
#include "tests/support/replay_rig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    TICKS = 600,
    VIEWERS = 3
};

static bool all_have_marks(Connection **clients, u32 count)
{
    for (u32 c = 0; c < count; c++) {
        const MessageSurvey *survey = connection_survey(clients[c], NULL);
        if (survey == NULL || survey->mark_count == 0) {
            return false;
        }
    }
    return true;
}

/* All stand at the same tick, at most that one. */
static bool stand(Connection **clients, u32 count, f64 most)
{
    f64 tick = replay_tick(clients[0]);
    bool all = tick <= most && fabs(tick - round(tick)) < 1e-9;
    for (u32 c = 1; c < count; c++) {
        all = all && fabs(replay_tick(clients[c]) - tick) < 1e-9;
    }
    return all;
}

static void test_in_step(void **state)
{
    (void)state;
    FieldSet *fields = field_source_fields();
    const char *path = replay_record(fields, TICKS);
    ErrorText error = {0};
    SourceWorldOptions options = {.speed = 1.0};
    JoinRig rig = {0};
    NetsimOptions line = {.delay_ms = 1};
    join_rig_start_with(&rig, source_recording_create(path, &options, &error));
    Connection *clients[VIEWERS];
    clients[0] = join_rig_connect(&rig, &line, &line);
    clients[1] = join_rig_connect(&rig, &line, &line);
    REPLAY_UNTIL(replay_run(&rig, clients, 2, 20),
                 connection_state(clients[0]) == CONNECTION_LIVE &&
                     connection_state(clients[1]) == CONNECTION_LIVE &&
                     replay_tick(clients[1]) >= 10.0);
    u32 worlds = connection_worlds(clients[1]), epoch = connection_epoch(clients[1]);

    assert_int_equal(connection_control(clients[0], CONTROL_PAUSE, 0.0), 0);
    assert_int_equal(connection_control(clients[0], CONTROL_SEEK, 6.0), 0);
    replay_until_all_show(&rig, clients, 2, 360.0);
    assert_int_equal(connection_status(clients[1])->paused, 1); /* the pause survives the seek */
    assert_int_equal(connection_control(clients[0], CONTROL_STEP, -3.0), 0);
    replay_until_all_show(&rig, clients, 2, 357.0);
    clients[2] = join_rig_connect(&rig, &line, &line); /* joins late */
    replay_until_all_show(&rig, clients, VIEWERS, 357.0);

    assert_int_equal(connection_control(clients[0], CONTROL_SPEED, -1.0), 0);
    assert_int_equal(connection_control(clients[0], CONTROL_RESUME, 0.0), 0);
    REPLAY_UNTIL(replay_run(&rig, clients, VIEWERS, 20), replay_tick(clients[1]) <= 340.0);
    assert_int_equal(connection_control(clients[0], CONTROL_PAUSE, 0.0), 0);
    REPLAY_UNTIL(replay_run(&rig, clients, VIEWERS, 20), connection_status(clients[0])->paused);
    /* Behind a slow server clients may have gone further back than it. */
    REPLAY_UNTIL(replay_run(&rig, clients, VIEWERS, 20), stand(clients, VIEWERS, 356.0));
    replay_until_all_show(&rig, clients, VIEWERS, round(replay_tick(clients[0])));
    /* No seek, step or reversal began a new epoch. */
    assert_int_equal(connection_worlds(clients[1]), worlds);
    assert_int_equal(connection_epoch(clients[1]), epoch);

    assert_int_equal(connection_bookmark(clients[1], 123, "the splash"), 0);
    REPLAY_UNTIL(replay_run(&rig, clients, VIEWERS, 20), all_have_marks(clients, VIEWERS));
    for (u32 c = 0; c < VIEWERS; c++) {
        const MessageSurvey *survey = connection_survey(clients[c], NULL);
        assert_int_equal(survey->last_tick, TICKS - 1);
        assert_int_equal(survey->mark_count, 1);
        assert_int_equal(survey->marks[0].tick, 123);
        assert_string_equal(survey->marks[0].text, "the splash");
        connection_destroy(clients[c]);
    }
    join_rig_stop(&rig);
    RecordingReader *reader = recording_reader_create(path, &error);
    assert_true(recording_reader_info(reader)->clean);
    assert_int_equal(recording_reader_info(reader)->ticks, TICKS);
    recording_reader_destroy(reader);
    unlink(path);
    field_set_release(fields);
}

int main(void)
{
    log_set_level(LOG_WARN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
