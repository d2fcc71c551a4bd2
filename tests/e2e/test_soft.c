/*
 * test_soft.c: soft bodies are shared like bodies: one client grabs a vertex of a cube of jelly and
 * pulls it up, the probe of its height follows, and a client that joins later sees the same.
 */
#include "tests/support/process.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

/* Mean height of its points by the report, and by the probe. */
typedef struct Seen {
    f64 position[3], probe;
} Seen;

static Seen seen_by(const char *path, const char *who)
{
    char *report = file_text(path);
    assert_non_null(report);
    if (json_number(report, NULL, "connected", 0) != 1.0 ||
        json_number(report, NULL, "desyncs", 0) != 0.0) {
        fail_msg("%s: not connected, or desyncs: %.600s", who, report);
    }
    Seen seen;
    for (u32 i = 0; i < 3; i++) {
        seen.position[i] = json_number(report, "\"jelly\"", "position", i);
    }
    seen.probe = json_number(report, "\"probes\"", "height", 0);
    printf("%s: at %g %g %g, probe %g\n", who, seen.position[0], seen.position[1], seen.position[2],
           seen.probe);
    free(report);
    return seen;
}

typedef struct Pull {
    Seen before, puller, late;
} Pull;

/* slow: how many times longer the clients stay than a machine that keeps up needs. */
static Pull pull(u32 slow)
{
    Process server, before, puller, late;
    u32 port = server_start(&server, source_path("tests/e2e/scenes/jelly.json"), NULL);
    const char *address = server_address(port);
    const char *script = test_path("pull.jsonl");
    const char *reports[3] = {test_path("before.json"), test_path("puller.json"),
                              test_path("late.json")};
    char stay[2][16];
    snprintf(stay[0], sizeof stay[0], "%u", 9 * slow);
    snprintf(stay[1], sizeof stay[1], "%u", 2 * slow);
    /* From above onto the cube, near a corner of its top; held until the end. */
    file_write(script, "{\"t\":0.5,\"grab\":{\"origin\":[0.35,3,0.35],\"direction\":[0,-1,0]}}\n"
                       "{\"t\":0.7,\"move\":[0.4,0.8,0.4]}\n"
                       "{\"t\":2.0,\"move\":[0.4,1.3,0.4]}\n");
    process_start(&before, "plenum-client", address, "--headless", "--duration", "1", "--report",
                  reports[0], NULL);
    assert_int_equal(process_wait(&before, 60.0), 0);
    process_start(&puller, "plenum-client", address, "--name", "puller", "--headless", "--duration",
                  stay[0], "--do", script, "--report", reports[1], NULL);
    /* The late client joins after the pull, and leaves while the grab lasts. */
    struct timespec pause = {.tv_sec = (time_t)(5 * slow)};
    nanosleep(&pause, NULL);
    process_start(&late, "plenum-client", address, "--name", "late", "--headless", "--duration",
                  stay[1], "--report", reports[2], NULL);
    assert_int_equal(process_wait(&late, 60.0), 0);
    assert_int_equal(process_wait(&puller, 60.0), 0);
    assert_int_equal(process_stop(&server), 0);
    return (Pull){seen_by(reports[0], "before"), seen_by(reports[1], "puller"),
                  seen_by(reports[2], "late")};
}

/* The world of a machine that does not keep up is not yet at rest when the late client leaves. */
static bool at_rest(const Pull *seen)
{
    f64 apart = fabs(seen->late.probe - seen->puller.probe);
    for (u32 i = 0; i < 3; i++) {
        apart = fmax(apart, fabs(seen->late.position[i] - seen->puller.position[i]));
    }
    return apart < 0.005;
}

static void test_a_vertex_is_pulled_and_everybody_sees_it(void **state)
{
    PL_UNUSED(state);
    Pull seen = pull(1);
    for (u32 slow = 2; slow <= 4 && !at_rest(&seen); slow *= 2) {
        seen = pull(slow);
    }
    assert_true(fabs(seen.before.position[1] - 0.41) < 0.03);
    /* A single corner: the mean of all points rises by a little more than a centimetre. */
    assert_true(seen.puller.position[1] > seen.before.position[1] + 0.008);
    assert_true(seen.puller.position[0] > 0.001 && seen.puller.position[2] > 0.001);
    assert_true(fabs(seen.puller.probe - seen.puller.position[1]) < 0.005);
    assert_true(at_rest(&seen));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_vertex_is_pulled_and_everybody_sees_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
