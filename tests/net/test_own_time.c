/*
 * test_own_time.c: a user leaves the common time of a recording, controls their own time and
 * returns; the others are not affected. Limits, the end of a session while away, and requests that
 * make no sense. In real time, as the source uses its own clock.
 */
#include "client/link/timeline.h"
#include "server/host/session.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "tests/support/field_source.h"
#include "tests/support/replay_rig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    TICKS = 600,
    VIEWERS = 2,
    STAY_MS = 2000, /* as long nobody returns */
};

typedef struct Stage {
    JoinRig rig;
    FieldSet *fields;
    char path[80];
    Connection *clients[VIEWERS];
    char said[TEXT_BYTES_MAX]; /* the newest notice to the first client */
} Stage;

/* Runs until the condition holds. */
#define UNTIL(stage, condition) REPLAY_UNTIL(stage_run(stage, 10), condition)

static void stage_run(Stage *stage, u32 ms)
{
    ConnectionNews news;
    replay_run(&stage->rig, stage->clients, VIEWERS, ms);
    while (stage->clients[0] != NULL && connection_news(stage->clients[0], &news)) {
        if (news.text[0] != 0) {
            memcpy(stage->said, news.text, sizeof stage->said);
        }
    }
}

static void until_shows(Stage *stage, u32 client, f64 tick)
{
    replay_until_shown(&stage->rig, stage->clients, VIEWERS, client, client + 1, tick);
}

/* The host has heard that the world of the client's stream arrived, at least so long ago. The
 * client shows its first states earlier. */
static bool settled(const Stage *stage, u32 client, u32 stay_ms)
{
    const Host *host = stage->rig.host;
    for (u32 i = 0; i < host->peer_capacity; i++) {
        const Session *session = &host->sessions[i];
        if (session->state == SESSION_LIVE &&
            session->user == connection_user(stage->clients[client])) {
            return session->world_here && host->now_ms - session->here_ms >= stay_ms;
        }
    }
    return false;
}

/* No stream is left of who returned: it lives until its thread has decoded what it was at. */
static bool streams_are_free(const Stage *stage)
{
    const Host *host = stage->rig.host;
    u32 used = 0;
    for (u32 i = 0; i < host->options.own_times; i++) {
        used += host->owns[i].source != NULL;
    }
    return used == 0;
}

static bool said(const Stage *stage, const char *text)
{
    return strstr(stage->said, text) != NULL;
}

static char recording[64];

/* One for all cases: to encode it takes most of a minute under tsan. */
static int record(void **state)
{
    (void)state;
    FieldSet *fields = field_source_fields();
    snprintf(recording, sizeof recording, "%s", replay_record(fields, TICKS));
    field_set_release(fields);
    return 0;
}

static int forget(void **state)
{
    (void)state;
    return unlink(recording);
}

/* Two participants before a recording that stands still at tick 120. */
static void stage_start(Stage *stage, u32 own_times)
{
    ErrorText error = {0};
    SourceWorldOptions options = {.speed = 1.0, .paused = true};
    HostOptions host = {.open_role = ROLE_PARTICIPANT, .own_times = own_times};
    NetsimOptions line = {.delay_ms = 1};
    memset(stage, 0, sizeof *stage);
    stage->fields = field_source_fields();
    snprintf(stage->path, sizeof stage->path, "%s-again", recording);
    assert_int_equal(link(recording, stage->path), 0);
    Source *source = source_recording_create(stage->path, &options, &error);
    assert_non_null(source);
    join_rig_start_options(&stage->rig, source, &host);
    for (u32 i = 0; i < VIEWERS; i++) {
        stage->clients[i] = join_rig_connect(&stage->rig, &line, &line);
    }
    UNTIL(stage, stage->rig.host->common.history.newest != NULL); /* its first step is made */
    assert_int_equal(source->ops->control(source, 0, CONTROL_SEEK, 2.0), 0);
    replay_until_all_show(&stage->rig, stage->clients, VIEWERS, 120.0);
    for (u32 i = 0; i < VIEWERS; i++) {
        UNTIL(stage, settled(stage, i, 0));
    }
}

static void stage_stop(Stage *stage)
{
    for (u32 i = 0; i < VIEWERS; i++) {
        ConnectionStats stats = {0};
        if (stage->clients[i] != NULL) {
            connection_stats(stage->clients[i], &stats);
        }
        assert_int_equal(stats.desyncs, 0);
        connection_destroy(stage->clients[i]);
    }
    join_rig_stop(&stage->rig);
    unlink(stage->path);
    field_set_release(stage->fields);
}

static void control(Stage *stage, u32 client, ControlKind kind, f64 value)
{
    stage->said[0] = 0;
    assert_int_equal(connection_control(stage->clients[client], kind, value), 0);
}

static OwnTime own_time(const Stage *stage, u32 client)
{
    return connection_status(stage->clients[client])->own_time;
}

/* How many users are on their own by the list that this client has. */
static u32 listed_away(const Stage *stage, u32 client)
{
    u32 count, away = 0;
    const UserInfo *users = connection_users(stage->clients[client], &count);
    for (u32 i = 0; i < count; i++) {
        away += users[i].own_time;
    }
    return away;
}

static bool same_picture(const Stage *stage)
{
    for (u32 i = 0; i < stage->fields->fields[FIELD_SWARM].capacity; i++) {
        ShownPoint a, b;
        bool shown = timeline_point(connection_timeline(stage->clients[0]), FIELD_SWARM, i, &a);
        if (timeline_point(connection_timeline(stage->clients[1]), FIELD_SWARM, i, &b) != shown ||
            (shown && vec3_distance(a.position, b.position) != 0.0f)) {
            return false;
        }
    }
    return true;
}

/* To the last bit, once the details are there. */
static void both_show_same(Stage *stage, f64 tick)
{
    replay_until_all_show(&stage->rig, stage->clients, VIEWERS, tick);
    UNTIL(stage, same_picture(stage));
}

static void test_leave_and_return(void **state)
{
    (void)state;
    Stage stage;
    stage_start(&stage, 2);
    Connection *away = stage.clients[0], *stays = stage.clients[1];
    Source *common = stage.rig.source;
    assert_int_equal(own_time(&stage, 0), OWN_TIME_OFFERED);
    u32 epoch = connection_epoch(stays), away_epoch = connection_epoch(away);
    u32 worlds = connection_worlds(away);
    PlaySegment before = connection_status(stays)->play;

    control(&stage, 0, CONTROL_LEAVE, 0.0);
    UNTIL(&stage, own_time(&stage, 0) == OWN_TIME_AWAY && connection_epoch(away) != away_epoch);
    UNTIL(&stage, listed_away(&stage, 0) == 1 && listed_away(&stage, 1) == 1);
    until_shows(&stage, 0, 120.0); /* it begins where the others are */
    assert_int_equal(own_time(&stage, 1), OWN_TIME_OFFERED);
    control(&stage, 0, CONTROL_SEEK, 6.0);
    until_shows(&stage, 0, 360.0);
    control(&stage, 0, CONTROL_STEP, -3.0);
    until_shows(&stage, 0, 357.0);
    control(&stage, 0, CONTROL_SPEED, -1.0);
    control(&stage, 0, CONTROL_RESUME, 0.0);
    UNTIL(&stage, replay_tick(away) < 330.0);
    control(&stage, 0, CONTROL_SEEK, -1.0);
    UNTIL(&stage, said(&stage, "refused"));

    /* Those who stayed got the same stream all the time, and not a frame of the other. */
    PlaySegment after = connection_status(stays)->play;
    assert_memory_equal(&before, &after, sizeof before);
    assert_int_equal(connection_epoch(stays), epoch);
    assert_true(fabs(replay_tick(stays) - 120.0) < 1e-9);
    assert_int_equal(connection_status(stays)->paused, 1);
    assert_true(connection_status(stays)->speed == 1.0f);
    assert_true(fabs(connection_common_tick(away) - 120.0) < 1e-9);

    /* The common time moves only for them; the user who is away is told its position. */
    assert_int_equal(common->ops->control(common, 0, CONTROL_SEEK, 4.0), 0);
    until_shows(&stage, 1, 240.0);
    UNTIL(&stage, fabs(connection_common_tick(away) - 240.0) < 1e-9);
    assert_int_equal(connection_status(away)->paused, 0);

    UNTIL(&stage, settled(&stage, 0, STAY_MS));
    control(&stage, 0, CONTROL_RETURN, 0.0);
    UNTIL(&stage, own_time(&stage, 0) == OWN_TIME_OFFERED);
    UNTIL(&stage, listed_away(&stage, 0) == 0 && listed_away(&stage, 1) == 0);
    both_show_same(&stage, 240.0);
    assert_int_equal(common->ops->control(common, 0, CONTROL_STEP, 5.0), 0);
    both_show_same(&stage, 245.0);
    assert_int_equal(connection_worlds(away), worlds); /* nothing was loaded again */
    assert_int_equal(connection_epoch(stays), epoch);

    /* Many times: the streams are given back, and the epochs go round. */
    for (u32 i = 0; i < 4; i++) {
        UNTIL(&stage, settled(&stage, 0, 0) && streams_are_free(&stage));
        control(&stage, 0, CONTROL_LEAVE, 0.0);
        UNTIL(&stage, own_time(&stage, 0) == OWN_TIME_AWAY);
        control(&stage, 0, CONTROL_SEEK, 1.0 + i);
        until_shows(&stage, 0, 60.0 + 60.0 * i);
        UNTIL(&stage, settled(&stage, 0, STAY_MS));
        control(&stage, 0, CONTROL_RETURN, 0.0);
        UNTIL(&stage, own_time(&stage, 0) == OWN_TIME_OFFERED);
        both_show_same(&stage, 245.0);
    }
    stage_stop(&stage);
}

static void test_limits(void **state)
{
    (void)state;
    Stage stage;
    stage_start(&stage, 1);
    control(&stage, 1, CONTROL_LEAVE, 0.0);
    UNTIL(&stage, own_time(&stage, 1) == OWN_TIME_AWAY);
    control(&stage, 0, CONTROL_LEAVE, 0.0);
    UNTIL(&stage, said(&stage, "1 users already control"));
    assert_int_equal(own_time(&stage, 0), OWN_TIME_OFFERED);
    assert_int_equal(stage.rig.host->own_count, 1);

    /* A user who disconnects while away leaves no stream behind. */
    connection_destroy(stage.clients[1]);
    NetsimOptions line = {.delay_ms = 1};
    stage.clients[1] = join_rig_connect(&stage.rig, &line, &line);
    UNTIL(&stage, stage.rig.host->own_count == 0 && streams_are_free(&stage));
    UNTIL(&stage, connection_state(stage.clients[1]) == CONNECTION_LIVE);
    control(&stage, 0, CONTROL_LEAVE, 0.0);
    UNTIL(&stage, own_time(&stage, 0) == OWN_TIME_AWAY);
    control(&stage, 0, CONTROL_SEEK, 5.0);
    until_shows(&stage, 0, 300.0);
    stage_stop(&stage);

    stage_start(&stage, 0);
    assert_int_equal(own_time(&stage, 0), OWN_TIME_NONE);
    control(&stage, 0, CONTROL_LEAVE, 0.0);
    UNTIL(&stage, said(&stage, "no time of one's own"));
    assert_int_equal(own_time(&stage, 0), OWN_TIME_NONE);
    stage_stop(&stage);
}

static void test_nonsense(void **state)
{
    (void)state;
    Stage stage;
    stage_start(&stage, 2);
    control(&stage, 0, CONTROL_SEEK, 3.0); /* the common time is the operators' */
    UNTIL(&stage, said(&stage, "refused"));
    control(&stage, 0, CONTROL_RETURN, 0.0);
    UNTIL(&stage, said(&stage, "already in the common time"));
    control(&stage, 0, CONTROL_LEAVE, 0.0);
    control(&stage, 0, CONTROL_RETURN, 0.0); /* late packets of before could be on their way */
    UNTIL(&stage, said(&stage, "wait a moment"));
    control(&stage, 0, CONTROL_LEAVE, 0.0);
    UNTIL(&stage, said(&stage, "already left the common time"));
    control(&stage, 0, CONTROL_SPEED, 1000.0);
    UNTIL(&stage, said(&stage, "refused"));
    control(&stage, 0, CONTROL_BACK, 1.0);
    UNTIL(&stage, said(&stage, "refused"));
    control(&stage, 0, CONTROL_SEEK, 1e6); /* behind the end: the end */
    until_shows(&stage, 0, TICKS - 1.0);
    assert_true(fabs(replay_tick(stage.clients[1]) - 120.0) < 1e-9);
    stage_stop(&stage);
}

/* The file is gone: the user returns to the common time. */
static void test_unreadable(void **state)
{
    (void)state;
    Stage stage;
    stage_start(&stage, 1);
    unlink(stage.path);
    control(&stage, 0, CONTROL_LEAVE, 0.0);
    UNTIL(&stage, said(&stage, "cannot be read"));
    UNTIL(&stage, own_time(&stage, 0) == OWN_TIME_OFFERED && stage.rig.host->own_count == 0);
    both_show_same(&stage, 120.0);
    stage_stop(&stage);
}

int main(void)
{
    log_set_level(LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leave_and_return),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_unreadable),
    };
    return cmocka_run_group_tests(tests, record, forget);
}
