/*
 * test_share.c: the purpose of the project: one server, three clients, one of them with a window;
 * one user carries a box from A to B and all see it arrive, at bit-identical displayed positions.
 */
#include "client/view/view.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const f64 target[3] = {2.0, 0.5, 0.0};

static void write_drag(const char *path)
{
    file_write(path, "{\"t\":1.0,\"grab\":\"box-1\"}\n"
                     "{\"t\":1.2,\"move\":[-2,1.5,0]}\n"
                     "{\"t\":2.0,\"move\":[2,1.5,0]}\n"
                     "{\"t\":3.5,\"move\":[2,0.5,0]}\n"
                     "{\"t\":4.5,\"release\":true}\n");
}

static void check_report(const char *path, const char *who)
{
    char *report = file_text(path);
    assert_non_null(report);
    if (json_number(report, NULL, "connected", 0) != 1.0 ||
        json_number(report, NULL, "snapshots", 0) < 60.0) {
        fail_msg("%s: not enough received: %.600s", who, report);
    }
    if (json_number(report, NULL, "desyncs", 0) != 0.0) {
        fail_msg("%s: desyncs: %.600s", who, report);
    }
    for (u32 i = 0; i < 3; i++) {
        f64 got = json_number(report, "\"box-1\"", "position", i);
        if (!(fabs(got - target[i]) < 0.25)) {
            fail_msg("%s: box-1 coordinate %u: expected %g, got %g", who, i, target[i], got);
        }
    }
    free(report);
}

/* Mean difference and the share of pixels that differ visibly: tolerates rounding at edges, but not
 * a missing body, shadow or cloth. */
static void compare_pictures(const char *got_path, const char *expected_path)
{
    ErrorText error = {0};
    u32 width, height, expected_width, expected_height;
    u8 *got = png_read(got_path, &width, &height, &error);
    if (got == NULL) {
        fail_msg("%s: %s", got_path, error.text);
    }
    if (getenv("UPDATE_EXPECTED") != NULL) {
        assert_int_equal(png_write(expected_path, got, width, height, &error), 0);
        free(got);
        return;
    }
    u8 *expected = png_read(expected_path, &expected_width, &expected_height, &error);
    if (expected == NULL) {
        fail_msg("%s: %s", expected_path, error.text);
    }
    assert_int_equal(width, expected_width);
    assert_int_equal(height, expected_height);
    u64 sum = 0, off = 0;
    for (u32 i = 0; i < width * height; i++) {
        i32 worst = 0;
        for (u32 c = 0; c < 3; c++) {
            i32 difference = abs((i32)got[i * 3 + c] - (i32)expected[i * 3 + c]);
            sum += (u64)difference;
            worst = i32_max(worst, difference);
        }
        off += worst > 48;
    }
    f64 mean = (f64)sum / (3.0 * width * height);
    f64 share = (f64)off / (f64)(width * height);
    printf("picture: mean difference %.2f of 255, %.2f %% of pixels differ visibly\n", mean,
           100.0 * share);
    if (mean > 3.0 || share > 0.015) {
        fail_msg("picture %s differs from %s: mean %.2f, share %.4f", got_path, expected_path, mean,
                 share);
    }
    free(got);
    free(expected);
}

static void test_three_clients(void **state)
{
    PL_UNUSED(state);
    Process server, dragger, watcher, window;
    u32 port = server_start(&server, source_path("tests/e2e/scenes/drag.json"), NULL);
    const char *address = server_address(port);
    const char *script = test_path("drag.jsonl");
    const char *picture = test_path("window.png");
    const char *reports[3] = {test_path("dragger.json"), test_path("watcher.json"),
                              test_path("window.json")};
    write_drag(script);
    process_start(&window, "xvfb-run", "-a", "-s", "-screen 0 1024x768x24",
                  program_path("plenum-client"), address, "--name", "window", "--size", "640x360",
                  "--no-hud", "--screenshot", picture, "--at", "12", "--duration", "13", "--report",
                  reports[2], NULL);
    process_start(&watcher, "plenum-client", address, "--name", "watcher", "--headless",
                  "--duration", "12", "--report", reports[1], NULL);
    process_start(&dragger, "plenum-client", address, "--name", "dragger", "--headless",
                  "--duration", "10", "--do", script, "--report", reports[0], NULL);
    assert_int_equal(process_wait(&dragger, 60.0), 0);
    assert_int_equal(process_wait(&watcher, 60.0), 0);
    assert_int_equal(process_wait(&window, 120.0), 0);
    assert_int_equal(process_stop(&server), 0);
    check_report(reports[0], "dragger");
    check_report(reports[1], "watcher");
    check_report(reports[2], "window");
    /* All end on the same frame of a resting box: equal numbers, not approximately equal ones. */
    char *a = file_text(reports[0]), *b = file_text(reports[1]), *c = file_text(reports[2]);
    for (u32 i = 0; i < 3; i++) {
        f64 x = json_number(a, "\"box-1\"", "position", i);
        assert_true(x == json_number(b, "\"box-1\"", "position", i));
        assert_true(x == json_number(c, "\"box-1\"", "position", i));
    }
    free(a);
    free(b);
    free(c);
    compare_pictures(picture, source_path("tests/e2e/expected/drag.png"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_three_clients)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
