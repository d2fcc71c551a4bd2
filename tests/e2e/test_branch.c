/*
 * test_branch.c: a recording is taken over at a tick as a live world, with the same bits as if it
 * had never stopped; the branch records on, names its parent, and verifies; wrong times are refused.
 */
#include "shared/base/base.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCENE "tests/e2e/scenes/drag.json"

static char evening[PATH_BYTES_MAX], again[PATH_BYTES_MAX];

/* The hash after tick 600, with what else is given. */
static void run(char hash[64], const char *record, const char *what, const char *a, const char *b,
                const char *c)
{
    Process server;
    remove(record);
    process_start(&server, "plenum-server", "--listen", "127.0.0.1:0", "--fast", "--hash",
                  "--ticks", "600", "--image-every", "4", "--record", record, what, a, b, c, NULL);
    int code = process_wait(&server, 120.0);
    if (code != 0) {
        char *text = file_text(server.err);
        fail_msg("exit code %d: %s", code, text);
    }
    assert_true(process_line(&server, "hash ", hash, 64, 1.0));
}

/* What a program prints; it must end with `code`. */
static char *says(int code, const char *program, const char *a, const char *b, const char *c,
                  const char *d)
{
    Process process;
    process_start(&process, program, a, b, c, d, NULL);
    int got = process_wait(&process, 120.0);
    char *text = file_text(code == 0 ? process.out : process.err);
    if (got != code) {
        fail_msg("exit code %d, expected %d: %s", got, code, text);
    }
    return text;
}

static void expect(char *text, const char *words)
{
    if (strstr(text, words) == NULL) {
        fail_msg("expected \"%s\" in: %s", words, text);
    }
    free(text);
}

static void test_goes_on_live(void **state)
{
    PL_UNUSED(state);
    char whole[64], branch[64], second[64];
    run(whole, evening, source_path(SCENE), NULL, NULL, NULL);
    expect(says(0, "plenum-tool", "info", evening, NULL, NULL), "images      2 of the world");
    expect(says(0, "plenum-server", "--verify", evening, NULL, NULL), "verify: 601 ticks equal");
    run(branch, again, evening, "--live", "--at", "5s");
    assert_string_equal(branch, whole);
    expect(says(0, "plenum-tool", "info", again, NULL, NULL), "at tick 300");
    expect(says(0, "plenum-server", "--verify", again, NULL, NULL), "verify: 301 ticks equal");
    /* A branch of the branch, from its end less a tick; the parents stay as they are. */
    char third[PATH_BYTES_MAX];
    snprintf(third, sizeof third, "%s", test_path("third.plrec"));
    run(second, third, again, "--live", "--at", "599");
    assert_string_equal(second, whole);
    expect(says(0, "plenum-tool", "info", third, NULL, NULL), "again.plrec at tick 599");
    expect(says(0, "plenum-server", "--verify", evening, NULL, NULL), "verify: 601 ticks equal");
}

/* The way leads from the last image. */
static void test_is_short(void **state)
{
    PL_UNUSED(state);
    Process server;
    process_start(&server, "plenum-server", "--listen", "127.0.0.1:0", "--fast", "--ticks", "505",
                  "--live", "--at", "500", evening, NULL);
    assert_int_equal(process_wait(&server, 120.0), 0);
    expect(file_text(server.err), "is taken over at tick 500, after 20 simulated");
}

static void test_refusals(void **state)
{
    PL_UNUSED(state);
    const char *scene = source_path(SCENE);
    expect(says(3, "plenum-server", "--live", "--at", "601", evening), "ticks 0 to 600");
    expect(says(2, "plenum-server", "--at", "soon", evening, NULL), "neither a tick");
    expect(says(2, "plenum-server", "--at", "5", scene, NULL), "is not a recording");
    expect(says(2, "plenum-server", "--live", scene, NULL, NULL), "is not a recording");
    expect(says(2, "plenum-server", "--verify", "--live", evening, NULL), "no --live");
    expect(says(2, "plenum-server", "--record", again, evening, NULL), "--live goes on");
}

int main(void)
{
    snprintf(evening, sizeof evening, "%s", test_path("evening.plrec"));
    snprintf(again, sizeof again, "%s", test_path("again.plrec"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goes_on_live),
        cmocka_unit_test(test_is_short),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
