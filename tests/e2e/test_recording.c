/*
 * test_recording.c: what is recorded can be replayed, verified and survives a killed server.
 */
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_play(const char *path)
{
    file_write(path, "{\"t\":0.3,\"grab\":\"box-1\"}\n"
                     "{\"t\":0.5,\"move\":[-1,2,1]}\n"
                     "{\"t\":1.5,\"move\":[1,1.5,0]}\n"
                     "{\"t\":2.5,\"release\":true}\n"
                     "{\"t\":2.6,\"push\":\"ball\",\"impulse\":[-2000,0,1000]}\n"
                     "{\"t\":2.8,\"set\":\"gravity\",\"value\":[0,-5,0]}\n");
}

/* Records a short session with inputs; ends the server with `number`. */
static void record(const char *recording, int number)
{
    Process server, client;
    const char *script = test_path("play.jsonl");
    write_play(script);
    u32 port = server_start(&server, "--record", recording,
                            source_path("tests/e2e/scenes/drag.json"), NULL);
    process_start(&client, "plenum-client", server_address(port), "--headless", "--duration", "5",
                  "--do", script, NULL);
    assert_int_equal(process_wait(&client, 60.0), 0);
    process_signal(&server, number);
    int code = process_wait(&server, 30.0);
    assert_int_equal(code, number == SIGKILL ? 128 + SIGKILL : 0);
}

static void verify(const char *recording)
{
    Process server;
    process_start(&server, "plenum-server", "--verify", recording, NULL);
    assert_int_equal(process_wait(&server, 120.0), 0);
}

static f64 replay_ticks(const char *recording)
{
    Process server, client;
    const char *report = test_path("replay.json");
    u32 port = server_start(&server, recording, NULL);
    process_start(&client, "plenum-client", server_address(port), "--headless", "--duration", "3",
                  "--report", report, NULL);
    assert_int_equal(process_wait(&client, 60.0), 0);
    assert_int_equal(process_stop(&server), 0);
    char *text = file_text(report);
    assert_non_null(text);
    assert_true(json_number(text, NULL, "desyncs", 0) == 0.0);
    assert_true(isfinite(json_number(text, "\"box-1\"", "position", 0)));
    f64 snapshots = json_number(text, NULL, "snapshots", 0);
    free(text);
    return snapshots;
}

static void test_clean(void **state)
{
    PL_UNUSED(state);
    char recording[PATH_BYTES_MAX];
    snprintf(recording, sizeof recording, "%s", test_path("clean.plrec"));
    record(recording, SIGTERM);
    verify(recording);
    assert_true(replay_ticks(recording) > 30.0);
    Process tool;
    process_start(&tool, "plenum-tool", "info", recording, NULL);
    assert_int_equal(process_wait(&tool, 20.0), 0);
    char *text = file_text(tool.out);
    assert_non_null(strstr(text, "drag"));
    free(text);
}

static void test_killed(void **state)
{
    PL_UNUSED(state);
    char recording[PATH_BYTES_MAX];
    snprintf(recording, sizeof recording, "%s", test_path("killed.plrec"));
    record(recording, SIGKILL);
    verify(recording);
    assert_true(replay_ticks(recording) > 30.0);
}

/* A recording whose hashes do not match its inputs must fail: change the scene's gravity inside. */
static void test_verify_can_fail(void **state)
{
    PL_UNUSED(state);
    char recording[PATH_BYTES_MAX];
    snprintf(recording, sizeof recording, "%s", test_path("torn.plrec"));
    file_write(recording, "this is no recording");
    Process server;
    process_start(&server, "plenum-server", "--verify", recording, NULL);
    assert_int_equal(process_wait(&server, 20.0), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clean),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_verify_can_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
