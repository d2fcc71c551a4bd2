/*
 * test_relays.c: the programs themselves: a server, a relay, a relay of that, and a client below.
 * The server is killed and restarted at its address; the client stays and sees it continue.
 */
#include "tests/support/process.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_restart_below(void **state)
{
    PL_UNUSED(state);
    Process root, first, second, client;
    char line[256];
    setenv("XDG_STATE_HOME", test_folder(), 1);
    u32 port = server_start(&root, "shared/scenes/cradle.json", NULL);
    char address[64], above[80];
    snprintf(address, sizeof address, "%s", server_address(port));
    snprintf(above, sizeof above, "plenum://%s", address);
    u32 port1 = server_start(&first, above, NULL);
    snprintf(above, sizeof above, "plenum://%s", server_address(port1));
    u32 port2 = server_start(&second, above, NULL);
    process_start(&client, "plenum-client", "--headless", "--duration", "12", "--report",
                  test_path("report.json"), server_address(port2), NULL);
    /* Killed, so that it cannot notify its clients. */
    assert_true(process_line(&first, "ready ", line, sizeof line, 5.0));
    process_signal(&root, SIGKILL);
    (void)process_wait(&root, 5.0);
    process_start(&root, "plenum-server", "--listen", address, "shared/scenes/cradle.json", NULL);
    assert_int_equal(process_wait(&client, 60.0), 0);
    char *report = file_text(test_path("report.json"));
    assert_non_null(report);
    assert_true(json_number(report, NULL, "duration_s", 0) >= 12.0);
    assert_true(json_number(report, NULL, "desyncs", 0) == 0.0);
    assert_true(json_number(report, NULL, "malformed", 0) == 0.0);
    /* Of the new world, which has run for some seconds by then. */
    assert_true(json_number(report, NULL, "tick_last", 0) > 60.0);
    free(report);
    assert_int_equal(process_stop(&second), 0);
    assert_int_equal(process_stop(&first), 0);
    assert_int_equal(process_stop(&root), 0);
    report = file_text(first.err);
    assert_non_null(report);
    assert_non_null(strstr(report, "looking for it again"));
    free(report);
}

/* Unsupported options are refused at startup. */
static void test_refusals(void **state)
{
    PL_UNUSED(state);
    Process relay;
    process_start(&relay, "plenum-server", "--listen", "127.0.0.1:0", "--checkpoint",
                  test_path("kept"), "plenum://127.0.0.1:9", NULL);
    assert_int_equal(process_wait(&relay, 10.0), 2);
    process_start(&relay, "plenum-server", "--listen", "127.0.0.1:0",
                  "plenum://127.0.0.1:9#notakey", NULL);
    assert_int_equal(process_wait(&relay, 10.0), 2);
    process_start(&relay, "plenum-server", "--listen", "127.0.0.1:0", "--paused",
                  "plenum://127.0.0.1:9", NULL);
    assert_int_equal(process_wait(&relay, 10.0), 2);
    process_start(&relay, "plenum-server", "--listen", "127.0.0.1:0", "--relay-name", "x",
                  "shared/scenes/cradle.json", NULL);
    assert_int_equal(process_wait(&relay, 10.0), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_restart_below),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
