/*
 * test_broker.c: worlds published to a NATS broker and followed from it: the programs themselves,
 * and a real nats-server with a store of its own. The broker is killed, stopped and flooded.
 */
#include "protocol/record/recording.h"
#include "server/host/broker.h"
#include "tests/support/broker_rig.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SCENE "shared/scenes/cradle.json"

/* All frames of `leaf` are frames of `root`, bit for bit; returns their number. `missing`: how many
 * ticks between the first and the last are not there. */
static u32 same_frames(const char *root, const char *leaf, u64 *missing)
{
    ErrorText error = {0};
    RecordingReader *a = recording_reader_create(root, &error);
    RecordingReader *b = recording_reader_create(leaf, &error);
    if (a == NULL || b == NULL) {
        fail_msg("%s", error.text);
    }
    u32 count = 0;
    u64 last = 0;
    Frame *frame, *other = NULL;
    *missing = 0;
    while (recording_reader_next(b, &frame, NULL, NULL) == 0) {
        *missing += count > 0 ? frame->tick - last - 1 : 0;
        last = frame->tick;
        while (other == NULL || other->tick < frame->tick) {
            frame_release(other);
            other = NULL;
            if (recording_reader_next(a, &other, NULL, NULL) != 0) {
                fail_msg("the root has no tick %llu", (unsigned long long)frame->tick);
            }
        }
        assert_true(other->tick == frame->tick);
        assert_true(other->world_hash == frame->world_hash);
        assert_true(frame_hash(other) == frame_hash(frame));
        frame_release(frame);
        count++;
    }
    frame_release(other);
    recording_reader_destroy(a);
    recording_reader_destroy(b);
    return count;
}

/* A world is followed from its first tick: the archive is the recording, and can be verified; and
 * from a point in the middle, by an ordinary client. */
static void test_archive_and_replay(void **state)
{
    PL_UNUSED(state);
    RigBroker broker;
    Process root, archive, later, client;
    char http[32], root_file[PATH_BYTES_MAX], leaf_file[PATH_BYTES_MAX];
    u32 port = rig_free_port(http, sizeof http);
    snprintf(root_file, sizeof root_file, "%s", test_path("archive-root.plrec"));
    snprintf(leaf_file, sizeof leaf_file, "%s", test_path("archive-leaf.plrec"));
    rig_broker_new(&broker, "archive");
    (void)server_start(&root, "--http", http, "--publish", broker.url, "--publish-age", "600",
                       "--record", root_file, SCENE, NULL);
    rig_metric_wait(port, "plenum_broker_ticks_total", 150.0);
    (void)server_start(&archive, "--at", "0", "--speed", "4", "--record", leaf_file, broker.url,
                       NULL);
    u32 late = server_start(&later, "--at", "100", broker.url, NULL);
    process_start(&client, "plenum-client", "--headless", "--duration", "2", "--report",
                  test_path("later.json"), server_address(late), NULL);
    assert_int_equal(process_wait(&client, 60.0), 0);
    char *report = file_text(test_path("later.json"));
    assert_non_null(report);
    assert_true(json_number(report, NULL, "desyncs", 0) == 0.0);
    assert_true(json_number(report, NULL, "malformed", 0) == 0.0);
    f64 last = json_number(report, NULL, "tick_last", 0);
    assert_true(last > 100.0);
    assert_true(last < rig_metric(port, "plenum_world_tick"));
    free(report);
    assert_int_equal(process_stop(&later), 0);
    assert_int_equal(process_stop(&archive), 0);
    assert_int_equal(process_stop(&root), 0);
    u64 missing;
    assert_true(same_frames(root_file, leaf_file, &missing) > 60);
    assert_int_equal(missing, 0);
    Process verify;
    process_start(&verify, "plenum-server", "--verify", leaf_file, NULL);
    assert_int_equal(process_wait(&verify, 60.0), 0);
    rig_broker_down(&broker, SIGTERM);
}

/* The broker dies and comes back; no tick is missing where it is followed. */
static void test_restart(void **state)
{
    PL_UNUSED(state);
    RigBroker broker;
    Process root, leaf;
    char http[32], leaf_http[32], root_file[PATH_BYTES_MAX], leaf_file[PATH_BYTES_MAX];
    u32 port = rig_free_port(http, sizeof http),
        leaf_port = rig_free_port(leaf_http, sizeof leaf_http);
    snprintf(root_file, sizeof root_file, "%s", test_path("restart-root.plrec"));
    snprintf(leaf_file, sizeof leaf_file, "%s", test_path("restart-leaf.plrec"));
    rig_broker_new(&broker, "restart");
    (void)server_start(&root, "--http", http, "--publish", broker.url, "--record", root_file, SCENE,
                       NULL);
    (void)server_start(&leaf, "--http", leaf_http, "--record", leaf_file, broker.url, NULL);
    rig_metric_wait(leaf_port, "plenum_broker_ticks_total", 60.0);
    rig_broker_down(&broker, SIGKILL);
    rig_metric_wait(port, "plenum_broker_failing", 1.0);
    rig_broker_up(&broker);
    f64 tick = rig_metric(port, "plenum_world_tick");
    rig_metric_wait(leaf_port, "plenum_world_tick", tick + 60.0);
    assert_true(rig_metric(port, "plenum_broker_lost_ticks_total") == 0.0);
    assert_true(rig_metric(port, "plenum_broker_failing") == 0.0);
    assert_int_equal(process_stop(&leaf), 0);
    assert_int_equal(process_stop(&root), 0);
    u64 missing;
    assert_true(same_frames(root_file, leaf_file, &missing) > 100);
    assert_int_equal(missing, 0);
    char *said = file_text(leaf.err);
    assert_non_null(strstr(said, "is reachable again"));
    free(said);
    rig_broker_down(&broker, SIGTERM);
}

/* A stopped broker accepts nothing and closes no connection: the world continues, and reports it.
 * What the queue could not hold is named, and the stream continues with a key. */
static void test_stopped(void **state)
{
    PL_UNUSED(state);
    RigBroker broker;
    Process root, leaf;
    char http[32], leaf_http[32];
    u32 port = rig_free_port(http, sizeof http),
        leaf_port = rig_free_port(leaf_http, sizeof leaf_http);
    rig_broker_new(&broker, "stopped");
    (void)server_start(&root, "--http", http, "--publish", broker.url, "--speed", "8", SCENE, NULL);
    (void)server_start(&leaf, "--http", leaf_http, broker.url, NULL);
    rig_metric_wait(leaf_port, "plenum_broker_ticks_total", 60.0);
    process_signal(&broker.process, SIGSTOP);
    f64 tick = rig_metric(port, "plenum_world_tick");
    /* More than the queue holds: ten seconds of the world's time, of which eight pass in one. */
    rig_metric_wait(port, "plenum_world_tick", tick + 900.0);
    rig_metric_wait(port, "plenum_broker_lost_ticks_total", 1.0);
    assert_true(rig_metric(port, "plenum_broker_failing") == 1.0);
    assert_true(rig_metric(port, "plenum_healthy") == 0.0);
    process_signal(&broker.process, SIGCONT);
    tick = rig_metric(port, "plenum_world_tick");
    rig_metric_wait(leaf_port, "plenum_world_tick", tick + 60.0);
    rig_metric_wait(port, "plenum_healthy", 1.0);
    assert_int_equal(process_stop(&leaf), 0);
    assert_int_equal(process_stop(&root), 0);
    char *said = file_text(root.err);
    assert_non_null(strstr(said, "are not published"));
    free(said);
    rig_broker_down(&broker, SIGTERM);
}

/* Invalid messages of anyone who may publish there are counted and skipped. */
static void test_flood(void **state)
{
    enum {
        FOREIGN = 5000,
        FORGED = 50
    };
    PL_UNUSED(state);
    RigBroker broker;
    Process root, leaf;
    char leaf_http[32];
    u32 leaf_port = rig_free_port(leaf_http, sizeof leaf_http);
    rig_broker_new(&broker, "flood");
    (void)server_start(&root, "--publish", broker.url, SCENE, NULL);
    (void)server_start(&leaf, "--http", leaf_http, broker.url, NULL);
    int fd = rig_tcp(broker.port, NULL);
    static const char hello[] = "CONNECT {\"verbose\":false}\r\n";
    static const char junk[] = "PUB plenum.flood.tick 5\r\nhello\r\n";
    assert_true(write(fd, hello, sizeof hello - 1) == sizeof hello - 1);
    for (u32 i = 0; i < FOREIGN; i++) {
        assert_true(write(fd, junk, sizeof junk - 1) == sizeof junk - 1);
    }
    /* Well-formed headers, and blocks that are none. */
    ErrorText error = {0};
    BrokerOptions options = {.name = "forger"};
    assert_int_equal(broker_address(broker.url, &options.address, &error), 0);
    Broker *forger = broker_create(&options, &error);
    assert_non_null(forger);
    assert_true(broker_ready(forger, &error));
    u8 blocks[4096];
    memset(blocks, 0x5a, sizeof blocks);
    for (u32 i = 0; i < FORGED; i++) {
        BrokerMessage m = {.run = 7 + i,
                           .number = 1 + i,
                           .tick = i,
                           .tick_rate = 60,
                           .parts = 1 + i % 3,
                           .start = i % 2 == 0,
                           .data = blocks,
                           .bytes = sizeof blocks};
        assert_int_equal(broker_publish(forger, &m, 5000, &error), 0);
    }
    broker_destroy(forger);
    broker_library_close();
    rig_metric_wait(leaf_port, "plenum_broker_damaged_total", FOREIGN + FORGED / 6);
    /* It continues with the next message to start at. */
    f64 tick = rig_metric(leaf_port, "plenum_world_tick");
    rig_metric_wait(leaf_port, "plenum_world_tick", tick + 30.0);
    close(fd);
    assert_int_equal(process_stop(&leaf), 0);
    assert_int_equal(process_stop(&root), 0);
    rig_broker_down(&broker, SIGTERM);
}

static void refused(const char *option, const char *value, const char *operand)
{
    Process server;
    process_start(&server, "plenum-server", "--listen", "127.0.0.1:0", option, value, operand,
                  NULL);
    assert_int_equal(process_wait(&server, 20.0), 2);
}

static void test_refusals(void **state)
{
    PL_UNUSED(state);
    refused("--publish", "http://127.0.0.1/x", SCENE);
    refused("--publish", "nats://127.0.0.1", SCENE);
    refused("--publish", "nats://127.0.0.1/a.b", SCENE);
    refused("--publish", "nats://127.0.0.1/*", SCENE);
    refused("--publish", "nats://127.0.0.1/x", "plenum://127.0.0.1:9");
    refused("--publish", "nats://127.0.0.1/x", "nats://127.0.0.1/y");
    refused("--publish", "nats://ada:sesame42@127.0.0.1/x", SCENE);
    refused("--publish-age", "60", SCENE);
    refused("--broker-ca", "x", SCENE);
    refused("--ticks", "5", "nats://127.0.0.1/x");
    refused("--speed", "2", "nats://127.0.0.1/x");
    refused("--checkpoint", "x", "nats://127.0.0.1/x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_archive_and_replay),
        cmocka_unit_test(test_restart),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_flood),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
