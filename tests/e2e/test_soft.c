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

static void test_a_vertex_is_pulled_and_everybody_sees_it(void **state)
{
    PL_UNUSED(state);
    Process server, before, puller, late;
    u32 port = server_start(&server, source_path("tests/e2e/scenes/jelly.json"), NULL);
    const char *address = server_address(port);
    const char *script = test_path("pull.jsonl");
    const char *reports[3] = {test_path("before.json"), test_path("puller.json"),
                              test_path("late.json")};
    /* From above onto the cube, near a corner of its top; held until the end. */
    file_write(script, "{\"t\":0.5,\"grab\":{\"origin\":[0.35,3,0.35],\"direction\":[0,-1,0]}}\n"
                       "{\"t\":0.7,\"move\":[0.4,0.8,0.4]}\n"
                       "{\"t\":2.0,\"move\":[0.4,1.3,0.4]}\n");
    process_start(&before, "plenum-client", address, "--headless", "--duration", "1", "--report",
                  reports[0], NULL);
    assert_int_equal(process_wait(&before, 60.0), 0);
    process_start(&puller, "plenum-client", address, "--name", "puller", "--headless", "--duration",
                  "9", "--do", script, "--report", reports[1], NULL);
    /* The late client joins after the pull, and leaves while the grab lasts. */
    struct timespec pause = {.tv_sec = 5};
    nanosleep(&pause, NULL);
    process_start(&late, "plenum-client", address, "--name", "late", "--headless", "--duration",
                  "2", "--report", reports[2], NULL);
    assert_int_equal(process_wait(&late, 60.0), 0);
    assert_int_equal(process_wait(&puller, 60.0), 0);
    assert_int_equal(process_stop(&server), 0);
    Seen first = seen_by(reports[0], "before"), pulled = seen_by(reports[1], "puller");
    Seen last = seen_by(reports[2], "late");
    assert_true(fabs(first.position[1] - 0.41) < 0.03);
    /* A single corner: the mean of all points rises by a little more than a centimetre. */
    assert_true(pulled.position[1] > first.position[1] + 0.008);
    assert_true(pulled.position[0] > 0.001 && pulled.position[2] > 0.001);
    assert_true(fabs(pulled.probe - pulled.position[1]) < 0.005);
    for (u32 i = 0; i < 3; i++) {
        assert_true(fabs(last.position[i] - pulled.position[i]) < 0.005);
    }
    assert_true(fabs(last.probe - pulled.probe) < 0.005);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_vertex_is_pulled_and_everybody_sees_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
