/*
 * test_judder.c: smoothness of displayed motion over networks of given parameters and over recorded
 * arrival times, and the delay it requires. A body at a constant 2 m/s, a bouncing ball and a body
 * that spins at 6 rad/s are displayed 60 times a second and differentiated twice. Rounding alone,
 * 1/512 m and ten bits of a rotation at 30 states a second, gives 2.7 m/s² and 17 rad/s².
 * Displaying the newest state, or a fixed delay of one interval, breaks the same limits. Prints the
 * table.
 */
#include "tests/support/judder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define SECONDS 40.0

/* Peaks of the uniform and the spinning body; for the ball, which reverses abruptly on the
 * ground, the 99th percentile; nothing may move it into the ground by more than half a quantum,
 * or after a stall, some more. `breaks`: the players that must break a limit. */
typedef struct Limits {
    const char *network;
    f64 even_m_s2, throw_p99_m_s2, angular_acceleration_rad_s2, error_mm, depth_mm, delay_ms,
        starved;
    bool newest_breaks, fixed_breaks;
} Limits;

static const Limits limits[] = {
    {"perfect", 3.5, 6.0, 22.0, 1.5, 1.0, 43.0, 0.0, true, false},
    {"jitter20", 4.5, 6.5, 25.0, 2.5, 1.0, 60.0, 0.01, true, true},
    {"wifi", 4.5, 6.5, 25.0, 6.0, 1.0, 65.0, 0.02, true, true},
    {"lte", 4.5, 7.0, 25.0, 6.5, 1.0, 95.0, 0.02, true, true},
    {"lossy", 4.5, 11.0, 28.0, 5.0, 1.0, 160.0, 0.03, true, true},
    {"drift", 4.5, 6.5, 25.0, 2.5, 1.0, 62.0, 0.01, true, false},
    {"recorded_wifi", 4.5, 6.5, 25.0, 6.0, 1.0, 80.0, 0.03, true, true},
    {"rates", 9.5, 12.0, 55.0, 3.0, 1.0, 70.0, 0.03, true, false},
    /* Several packets in a row were lost behind a queue of 160 ms: it slows down there. */
    {"recorded_mobile", 20.0, 25.0, 60.0, 6.0, 1.0, 140.0, 0.04, true, true},
    /* Time itself stops here: the limits are on deceleration and recovery. */
    {"stalls", 28.0, 90.0, 85.0, 4.0, 5.0, 70.0, 0.4, true, true},
};

static void print_row(const char *network, const char *player, const Judder *j)
{
    print_message("%-15s %-7s %8.2f %8.2f %8.2f %8.2f %8.2f %7.1f %7.1f %8.1f %7.1f %7.2f %%%s\n",
                  network, player, j->uniform_m_s2, j->uniform_p99_m_s2, j->throw_m_s2,
                  j->throw_p99_m_s2, j->angular_acceleration_rad_s2, j->depth_mm, j->error_mm,
                  j->delay_ms, j->delay_p95_ms, j->starved * 100, j->went_back ? " went back" : "");
}

static bool keeps(const Limits *limit, const Judder *j)
{
    return j->uniform_m_s2 <= limit->even_m_s2 && j->throw_p99_m_s2 <= limit->throw_p99_m_s2 &&
           j->angular_acceleration_rad_s2 <= limit->angular_acceleration_rad_s2;
}

static void test_networks(void **state)
{
    (void)state;
    print_message("%-15s %-7s %8s %8s %8s %8s %8s %7s %7s %8s %7s %9s\n", "network", "player",
                  "even", "p99 m/s2", "throw", "p99 m/s2", "rad/s2", "deep mm", "err mm",
                  "delay ms", "p95", "starved");
    for (u32 i = 0; i < PL_COUNT(limits); i++) {
        const Limits *limit = &limits[i];
        const JudderNetwork *network = judder_network(limit->network);
        assert_non_null(network);
        Judder played[JUDDER_PLAYERS];
        for (u32 p = 0; p < JUDDER_PLAYERS; p++) {
            played[p] = judder_play(network, (JudderPlayer)p, SECONDS);
            print_row(limit->network, judder_player_name((JudderPlayer)p), &played[p]);
        }
        const Judder *ours = &played[JUDDER_OURS];
        if (!keeps(limit, ours) || ours->error_mm > limit->error_mm ||
            ours->depth_mm > limit->depth_mm || ours->delay_ms > limit->delay_ms ||
            ours->starved > limit->starved) {
            fail_msg("%s: expected at most %g m/s2, %g m/s2, %g rad/s2, %g mm, %g mm deep, %g ms, "
                     "%g starved",
                     limit->network, limit->even_m_s2, limit->throw_p99_m_s2,
                     limit->angular_acceleration_rad_s2, limit->error_mm, limit->depth_mm,
                     limit->delay_ms, limit->starved);
        }
        assert_false(ours->went_back);
        assert_true(!limit->newest_breaks || !keeps(limit, &played[JUDDER_NEWEST]));
        assert_true(!limit->fixed_breaks || !keeps(limit, &played[JUDDER_FIXED]));
    }
    assert_int_equal(PL_COUNT(limits), judder_network_count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_networks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
