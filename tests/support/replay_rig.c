/* replay_rig.c: see replay_rig.h. */
#include "tests/support/replay_rig.h"

#include "client/link/timeline.h"
#include "protocol/record/recording.h"
#include "shared/base/clock.h"
#include "tests/support/field_source.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define MS_NS      1000000ull
#define GIVE_UP_NS 300000000000ull

const char *replay_record(FieldSet *fields, u32 ticks)
{
    static char path[64];
    snprintf(path, sizeof path, "%s", "/tmp/plenum-test-replay-XXXXXX");
    u64 zero = 0;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    unlink(path); /* the recorder must create it */
    Source *source = field_source_create(&zero, &zero);
    RecordingHead head = {.tick_rate = FIELD_SOURCE_HZ, .build = "test"};
    source->ops->describe(source, &head.world);
    Entity entities[FIELD_SOURCE_FIELDS];
    field_source_entities(entities);
    head.world.epoch = 1;
    RecordingWriter *writer = recording_writer_create(path, &head, NULL);
    assert_non_null(writer);
    for (u64 tick = 0; tick < ticks; tick++) {
        Frame *frame = field_source_frame(fields, tick);
        assert_int_equal(recording_writer_tick(writer, frame, NULL, 0), 0);
        frame_release(frame);
    }
    assert_int_equal(recording_writer_destroy(writer), 0);
    source->ops->destroy(source);
    return path;
}

void replay_run(JoinRig *rig, Connection **clients, u32 count, u32 ms)
{
    u64 end_ns = rig->now_ns + ms * MS_NS, poll_ms = rig->poll_ms;
    while (rig->now_ns < end_ns) {
        u64 now_ns = clock_now_ns();
        if (now_ns > rig->now_ns + 2 * MS_NS) {
            rig->now_ns = now_ns - MS_NS;
            rig->poll_ms = 1; /* whatever was skipped */
        }
        clock_sleep_until_ns(rig->now_ns);
        join_rig_step(rig, clients, count);
        rig->poll_ms = poll_ms;
    }
}

f64 replay_tick(Connection *client)
{
    return connection_recorded_tick(client, timeline_tick(connection_timeline(client)));
}

static bool shows(Connection *client, f64 tick)
{
    ShownPoint point;
    Vec3 wanted = field_swarm(20, tick / FIELD_SOURCE_HZ);
    return connection_state(client) == CONNECTION_LIVE && fabs(replay_tick(client) - tick) < 1e-9 &&
           timeline_point(connection_timeline(client), FIELD_SWARM, 20, &point) &&
           vec3_distance(point.position, wanted) < 0.02f;
}

void replay_until_shown(JoinRig *rig, Connection **clients, u32 count, u32 first, u32 end, f64 tick)
{
    u64 begun_ns = clock_now_ns();
    for (u32 c = first; c < end;) {
        if (clock_now_ns() - begun_ns > GIVE_UP_NS) {
            fail_msg("client %u stands at tick %.6f instead of %.6f", c, replay_tick(clients[c]),
                     tick);
        }
        replay_run(rig, clients, count, 20);
        c = shows(clients[c], tick) ? c + 1 : first;
    }
}

void replay_until_all_show(JoinRig *rig, Connection **clients, u32 count, f64 tick)
{
    replay_until_shown(rig, clients, count, 0, count, tick);
}
