/*
 * client_rows.c: how evenly the client shows motion over networks of stated parameters and how much
 * delay that takes, beside playing the newest state and a fixed delay of one interval: simulated,
 * so the figures do not depend on the machine.
 */
#include "tests/bench/bench.h"
#include "tests/support/judder.h"

#include <stdio.h>

#define SECONDS 40.0

void bench_client_judder(Bench *bench)
{
    PL_UNUSED(bench);
    for (u32 n = 0; n < judder_network_count; n++) {
        for (u32 p = 0; p < JUDDER_PLAYERS; p++) {
            Judder j = judder_play(&judder_networks[n], (JudderPlayer)p, SECONDS);
            printf("{\"name\":\"client/judder/%s/%s\",\"n\":%.0f,\"threads\":1,\"median\":%.6g,"
                   "\"unit\":\"ms of delay\",\"delay_p95_ms\":%.6g,\"even_m_s2\":%.6g,"
                   "\"even_p99_m_s2\":%.6g,\"throw_m_s2\":%.6g,\"throw_p99_m_s2\":%.6g,"
                   "\"spin_rad_s2\":%.6g,\"spin_p99_rad_s2\":%.6g,\"depth_mm\":%.6g,"
                   "\"error_mm\":%.6g,\"starved\":%.6g}\n",
                   judder_networks[n].name, judder_player_name((JudderPlayer)p), SECONDS,
                   j.delay_ms, j.delay_p95_ms, j.uniform_m_s2, j.uniform_p99_m_s2, j.throw_m_s2,
                   j.throw_p99_m_s2, j.spin_rad_s2, j.spin_p99_rad_s2, j.depth_mm, j.error_mm,
                   j.starved);
        }
    }
}
