/* test_health.c: a host's health, in virtual time. */
#include "server/host/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static Host *host_new(void)
{
    Host *host = calloc(1, sizeof *host);
    assert_non_null(host);
    host->spare_fd = host->audit.fd = -1;
    host->now_ms = 1000;
    return host;
}

/* Half a second at a time, world time given up at `share` of real time. */
static void pass(Host *host, f64 seconds, f64 share)
{
    for (f64 s = 0.0; s < seconds; s += 0.5) {
        host->now_ms += 500;
        host->common.status.dropped_s += 0.5 * share;
        health_check(host);
    }
}

static void test_slow_world(void **state)
{
    PL_UNUSED(state);
    Host *host = host_new();
    pass(host, 5.0, 0.5);
    assert_null(health_text(host)); /* a start is not judged */
    pass(host, 10.0, 0.0);
    assert_null(health_text(host));
    pass(host, 60.0, 0.04);
    assert_null(health_text(host));
    pass(host, 10.0, 0.25);
    assert_non_null(health_text(host));
    assert_non_null(strstr(health_text(host), "ran at 75 % of its speed"));
    pass(host, 10.0, 0.0);
    assert_null(health_text(host));
    /* A stall of a moment is told as well, for as long as it is one of the last seconds. */
    host->common.status.dropped_s += 2.0;
    pass(host, 1.0, 0.0);
    assert_non_null(health_text(host));
    pass(host, 10.0, 0.0);
    assert_null(health_text(host));
    close(host->spare_fd);
    free(host);
}

static void test_files(void **state)
{
    PL_UNUSED(state);
    Host *host = host_new();
    host->common.status.recording = true;
    assert_null(health_text(host));
    host->common.status.recording_lost = true;
    assert_non_null(strstr(health_text(host), "waits for free disk space"));
    host->common.status.recording_lost = false;
    assert_null(health_text(host));
    host->common.status.checkpoint_failing = true;
    assert_non_null(strstr(health_text(host), "checkpoint"));
    host->common.status.checkpoint_failing = false;
    host->audit.failing = true;
    assert_non_null(strstr(health_text(host), "audit log"));
    host->audit.failing = false;
    host->stats.write_failures = host->audit.failures = 3; /* long ago */
    assert_null(health_text(host));
    host->common.status.recording_ended = true;
    assert_non_null(strstr(health_text(host), "has ended"));
    free(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_world),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
