/*
 * test_bad_network.c: 20 % loss, 100 ms of jitter (so that packets are reordered), duplicates: two
 * clients join, one carries the box, and all end on the same frame.
 */
#include "tests/support/process.h"
#include "tests/support/udp_proxy.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * A dragged body follows the cursor before the server's answer is displayed. How much earlier, and
 * how close it stays to the target, is measured in simulated time by the unit test of
 * client/hand/drag.h: here the load of the machine has an influence.
 */
static void check_hand(const char *report)
{
    f64 shown_ms = json_number(report, "\"hand\"", "shown_moves_ms", 0);
    f64 server_ms = json_number(report, "\"hand\"", "server_moves_ms", 0);
    f64 shown_m = json_number(report, "\"hand\"", "shown_from_target_m", 0);
    f64 server_m = json_number(report, "\"hand\"", "server_from_target_m", 0);
    printf(
        "dragged box moves after %.0f ms (server's answer %.0f), %.3f m from the target (%.3f)\n",
        shown_ms, server_ms, shown_m, server_m);
    if (!(server_ms > 80.0 && shown_ms < server_ms)) {
        fail_msg("%s", report);
    }
    assert_true(shown_m < 1.0 && server_m < 1.0);
}

static void play(const NetsimOptions *options, f64 drag_s, f64 loss_min)
{
    Process server, hand, eyes, direct;
    UdpProxy proxy;
    u32 port = server_start(&server, source_path("tests/e2e/scenes/drag.json"), NULL);
    assert_true(udp_proxy_start(&proxy, port, options));
    const char *script = test_path("drag.jsonl");
    file_write(script, "{\"t\":1.0,\"grab\":\"box-1\"}\n"
                       "{\"t\":1.5,\"move\":[-2,1.5,0]}\n"
                       "{\"t\":3.0,\"move\":[2,1.5,0]}\n"
                       "{\"t\":5.0,\"move\":[2,0.5,0]}\n"
                       "{\"t\":6.5,\"release\":true}\n");
    char duration[2][16];
    snprintf(duration[0], sizeof duration[0], "%g", drag_s);
    /* The watcher may join much earlier than the hand, and must see the end. */
    snprintf(duration[1], sizeof duration[1], "%g", drag_s + 6.0);
    const char *reports[3] = {test_path("hand.json"), test_path("eyes.json"),
                              test_path("direct.json")};
    process_start(&hand, "plenum-client", server_address(proxy.port), "--headless", "--name",
                  "hand", "--duration", duration[0], "--do", script, "--report", reports[0], NULL);
    process_start(&eyes, "plenum-client", server_address(proxy.port), "--headless", "--name",
                  "eyes", "--duration", duration[1], "--report", reports[1], NULL);
    assert_int_equal(process_wait(&hand, 90.0), 0);
    assert_int_equal(process_wait(&eyes, 90.0), 0);
    process_start(&direct, "plenum-client", server_address(port), "--headless", "--duration", "1",
                  "--report", reports[2], NULL);
    assert_int_equal(process_wait(&direct, 60.0), 0);
    udp_proxy_stop(&proxy);
    assert_int_equal(process_stop(&server), 0);
    char *truth = file_text(reports[2]);
    assert_non_null(truth);
    for (u32 r = 0; r < 2; r++) {
        char *report = file_text(reports[r]);
        assert_non_null(report);
        if (r == 0) {
            check_hand(report);
        }
        if (json_number(report, NULL, "desyncs", 0) != 0.0 ||
            json_number(report, NULL, "snapshots", 0) < 60.0) {
            fail_msg("report %u: %.500s", r, report);
        }
        f64 packets = json_number(report, NULL, "packets_in", 0);
        f64 lost = json_number(report, NULL, "packets_lost", 0);
        printf("client %u: %.0f packets, %.0f lost\n", r, packets, lost);
        assert_true(lost >= loss_min * packets); /* the network really was bad */
        for (u32 i = 0; i < 3; i++) {
            f64 got = json_number(report, "\"box-1\"", "position", i);
            f64 expected = json_number(truth, "\"box-1\"", "position", i);
            if (got != expected) {
                fail_msg("client %u, box-1 coordinate %u: expected %.9g, got %.9g", r, i, expected,
                         got);
            }
        }
        free(report);
    }
    assert_true(fabs(json_number(truth, "\"box-1\"", "position", 0) - 2.0) < 0.3);
    free(truth);
}

static void test_loss_and_jitter(void **state)
{
    PL_UNUSED(state);
    NetsimOptions bad = {
        .seed = 7, .loss = 0.2, .delay_ms = 20.0, .jitter_ms = 100.0, .duplicate = 0.02};
    play(&bad, 10.0, 0.04);
}

static void test_narrow_line(void **state)
{
    PL_UNUSED(state);
    NetsimOptions narrow = {.seed = 11, .delay_ms = 30.0, .rate_bytes_s = 24000, .queue_ms = 300};
    play(&narrow, 10.0, 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loss_and_jitter),
        cmocka_unit_test(test_narrow_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
