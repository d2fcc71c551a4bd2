/*
 * test_bad_network.c: 20 % loss, 100 ms of jitter (so that packets are reordered), duplicates: two
 * clients join, one carries the box, and all end on the same frame.
 */
#include "shared/base/clock.h"
#include "tests/support/pages.h"
#include "tests/support/process.h"
#include "tests/support/udp_proxy.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static u64 world_tick(u32 http)
{
    static char page[64 << 10];
    page_get(http, "/metrics", page, sizeof page);
    const char *line = strstr(page, "\nplenum_world_tick ");
    assert_non_null(line);
    return strtoull(line + strlen("\nplenum_world_tick "), NULL, 10);
}

/* Until both clients are there, and then so long by the clock, which the script goes by, and by
 * that of the world, which is slower where a busy machine cannot keep up. */
static void pass(u32 http, f64 seconds)
{
    assert_true(page_says(http, "/metrics", "\nplenum_clients 2\n"));
    u64 tick = world_tick(http) + (u64)(60.0 * seconds);
    u64 begun_ns = clock_now_ns();
    clock_sleep_until_ns(begun_ns + (u64)(1e9 * seconds));
    while (world_tick(http) < tick) {
        assert_true(clock_now_ns() - begun_ns < 300000000000ull);
        clock_sleep_until_ns(clock_now_ns() + 50000000);
    }
}

static void play(const NetsimOptions *options, f64 drag_s, f64 loss_min)
{
    Process server, hand, eyes, direct;
    UdpProxy proxy;
    char address[64];
    u32 http = free_port();
    snprintf(address, sizeof address, "%s", server_address(http));
    u32 port =
        server_start(&server, "--http", address, source_path("tests/e2e/scenes/drag.json"), NULL);
    assert_true(udp_proxy_start(&proxy, port, options));
    const char *script = test_path("drag.jsonl");
    file_write(script, "{\"t\":1.0,\"grab\":\"box-1\"}\n"
                       "{\"t\":1.5,\"move\":[-2,1.5,0]}\n"
                       "{\"t\":3.0,\"move\":[2,1.5,0]}\n"
                       "{\"t\":5.0,\"move\":[2,0.5,0]}\n"
                       "{\"t\":6.5,\"release\":true}\n");
    const char *reports[3] = {test_path("hand.json"), test_path("eyes.json"),
                              test_path("direct.json")};
    process_start(&hand, "plenum-client", server_address(proxy.port), "--headless", "--name",
                  "hand", "--do", script, "--report", reports[0], NULL);
    process_start(&eyes, "plenum-client", server_address(proxy.port), "--headless", "--name",
                  "eyes", "--report", reports[1], NULL);
    pass(http, drag_s);
    assert_int_equal(process_stop(&hand), 0);
    assert_int_equal(process_stop(&eyes), 0);
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
