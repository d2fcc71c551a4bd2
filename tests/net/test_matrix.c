/*
 * test_matrix.c: a moving world streamed to one client in virtual time through bad networks, with
 * limits for what the client sees: a part of `plenum-bench net-matrix`, with a smaller world. No
 * state of the client may ever differ from the server's.
 */
#include "tests/support/net_run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum {
    BODIES = 100,
    SIDE = 24,
    SECONDS = 10,
    MEASURE_MS = 3500,
    STALL_MS = 2000,
    STALL_END_MS = 7000,
};

/* One row: conditions, and limits of the results. 30 snapshots a second; queues of 300 ms where not
 * given. The world needs up to about 300 kbit/s. */
typedef struct Row {
    const char *name;
    u32 kbit; /* 0: no cap */
    u32 queue_ms;
    f64 loss, burst, duplicate;
    u32 rtt_ms, jitter_ms;
    bool ordered;
    u32 up_kbit; /* 0: as downstream, but at least 256 */
    f64 up_loss;
    u32 up_jitter_ms;
    /* limits of the results */
    f64 px_median, px_p99;
    f64 delay_ms;
    f64 starved; /* share of frames */
    f64 stale_s;
    f64 queue_most_ms; /* 95th percentile; 0: no limit */
    f64 coarse;        /* mean; 0: all in full detail */
} Row;

/* clang-format off: a table */
static const Row rows[] = {
    {.name = "perfect",
     .px_median = 0.3,
     .px_p99 = 1,
     .delay_ms = 50,
     .starved = 0.02,
     .stale_s = 0.1,
     .queue_most_ms = 5},
    {.name = "wifi",
     .kbit = 10000,
     .rtt_ms = 50,
     .jitter_ms = 20,
     .loss = 0.01,
     .duplicate = 0.05,
     .px_median = 0.3,
     .px_p99 = 1.5,
     .delay_ms = 110,
     .starved = 0.03,
     .stale_s = 0.2,
     .queue_most_ms = 10},
    {.name = "loss 15 %",
     .kbit = 10000,
     .rtt_ms = 50,
     .loss = 0.15,
     .px_median = 0.5,
     .px_p99 = 6,
     .delay_ms = 110,
     .starved = 0.06,
     .stale_s = 0.4,
     .queue_most_ms = 10},
    {.name = "loss 30 %",
     .kbit = 10000,
     .rtt_ms = 150,
     .loss = 0.30,
     .px_median = 0.6,
     .px_p99 = 10,
     .delay_ms = 230,
     .starved = 0.08,
     .stale_s = 1.0,
     .queue_most_ms = 10},
    {.name = "far",
     .kbit = 10000,
     .rtt_ms = 400,
     .jitter_ms = 100,
     .loss = 0.05,
     .px_median = 0.4,
     .px_p99 = 5,
     .delay_ms = 450,
     .starved = 0.05,
     .stale_s = 0.7,
     .queue_most_ms = 10},
    {.name = "jitter",
     .kbit = 10000,
     .rtt_ms = 50,
     .jitter_ms = 100,
     .ordered = true,
     .px_median = 0.3,
     .px_p99 = 1.5,
     .delay_ms = 220,
     .starved = 0.03,
     .stale_s = 0.3,
     .queue_most_ms = 10},
    {.name = "bursts",
     .kbit = 10000,
     .rtt_ms = 100,
     .burst = 0.01,
     .px_median = 0.5,
     .px_p99 = 40,
     .delay_ms = 160,
     .starved = 0.2,
     .stale_s = 1.0,
     .queue_most_ms = 10,
     .coarse = 1},
    {.name = "128k",
     .kbit = 128,
     .rtt_ms = 50,
     .px_median = 1,
     .px_p99 = 8,
     .delay_ms = 400,
     .starved = 0.06,
     .stale_s = 0.9,
     .queue_most_ms = 200,
     .coarse = 4},
    {.name = "128k bloat",
     .kbit = 128,
     .rtt_ms = 50,
     .queue_ms = 2000,
     .loss = 0.01,
     .px_median = 1,
     .px_p99 = 12,
     .delay_ms = 600,
     .starved = 0.06,
     .stale_s = 0.9,
     .queue_most_ms = 250,
     .coarse = 4},
    {.name = "128k tail drop",
     .kbit = 128,
     .rtt_ms = 50,
     .queue_ms = 230,
     .loss = 0.05,
     .px_median = 1,
     .px_p99 = 12,
     .delay_ms = 400,
     .starved = 0.06,
     .stale_s = 0.9,
     .queue_most_ms = 220,
     .coarse = 4},
    {.name = "64k",
     .kbit = 64,
     .rtt_ms = 50,
     .px_median = 1.5,
     .px_p99 = 30,
     .delay_ms = 500,
     .starved = 0.05,
     .stale_s = 1.2,
     .queue_most_ms = 220,
     .coarse = 5},
    {.name = "64k far",
     .kbit = 64,
     .rtt_ms = 400,
     .loss = 0.05,
     .jitter_ms = 20,
     .px_median = 1.5,
     .px_p99 = 40,
     .delay_ms = 900,
     .starved = 0.08,
     .stale_s = 2.5,
     .queue_most_ms = 450,
     .coarse = 5},
    {.name = "slow return",
     .kbit = 1000,
     .rtt_ms = 50,
     .up_kbit = 32,
     .px_median = 0.3,
     .px_p99 = 3,
     .delay_ms = 120,
     .starved = 0.03,
     .stale_s = 0.3,
     .queue_most_ms = 60},
    {.name = "wild return",
     .kbit = 1000,
     .rtt_ms = 50,
     .up_loss = 0.4,
     .up_jitter_ms = 200,
     .px_median = 0.4,
     .px_p99 = 3,
     .delay_ms = 120,
     .starved = 0.03,
     .stale_s = 0.3,
     .queue_most_ms = 60},
};
/* clang-format on */

static NetsimOptions path_of(const Row *row, u64 seed)
{
    return (NetsimOptions){.seed = seed,
                           .loss = row->loss,
                           .burst = row->burst,
                           .burst_packets = 10,
                           .duplicate = row->duplicate,
                           .delay_ms = 0.5 * row->rtt_ms,
                           .jitter_ms = row->jitter_ms,
                           .ordered = row->ordered,
                           .rate_bytes_s = row->kbit * 125,
                           .queue_ms = row->queue_ms != 0 ? row->queue_ms : 300};
}

static void test_rows(void **state)
{
    const NetWorld *world = *state;
    u32 failed = 0;
    for (u32 i = 0; i < PL_COUNT(rows); i++) {
        const Row *row = &rows[i];
        NetCase net = {
            .down = path_of(row, 100 + i), .up = path_of(row, 200 + i), .measure_ms = MEASURE_MS};
        net.up.rate_bytes_s = row->kbit == 0 ? 0 : u32_max(net.up.rate_bytes_s, 32000);
        if (row->up_kbit != 0) {
            net.up.rate_bytes_s = row->up_kbit * 125;
            net.up.queue_ms = 1000;
        }
        net.up.loss += row->up_loss;
        net.up.jitter_ms += row->up_jitter_ms;
        NetResult r;
        assert_true(net_run(world, &net, &r));
        bool good = r.desyncs == 0 && r.px_median <= row->px_median && r.px_p99 <= row->px_p99 &&
                    r.delay_ms <= row->delay_ms && r.starved <= row->starved &&
                    r.stale_s <= row->stale_s && r.coarseness <= row->coarse &&
                    (row->queue_most_ms == 0 || r.queue_ms <= row->queue_most_ms);
        print_message(
            "%-14s %s: %u desyncs, %.2f px median, %.1f px 99 %%, delay %.0f ms, "
            "%.1f %% starved, gap %.0f ms, stale %.2f s, queue %.0f ms, %.0f kbit/s, coarse %.1f\n",
            row->name, good ? "ok" : "FAILED", (u32)r.desyncs, r.px_median, r.px_p99, r.delay_ms,
            100 * r.starved, r.gap_ms, r.stale_s, r.queue_ms, r.kbit_s, r.coarseness);
        failed += !good;
    }
    assert_int_equal(failed, 0);
}

static void expect_second(const NetResult *r, u32 second, f64 most)
{
    if (r->seconds <= second || r->second_px[second] > most) {
        fail_msg("second %u: 95 %% of what moves within %.2f px, wanted %.2f", second,
                 r->second_px[second], most);
    }
}

/* Five seconds of silence from a client that reads nothing: packets sent meanwhile are outdated.
 * Within a second of its return the picture is good. */
static void test_stalled_client(void **state)
{
    const NetWorld *world = *state;
    Row row = {.kbit = 1000, .rtt_ms = 50};
    NetCase net = {.down = path_of(&row, 1),
                   .up = path_of(&row, 5),
                   .measure_ms = MEASURE_MS,
                   .stall_ms = {STALL_MS, STALL_END_MS}};
    NetResult r;
    assert_true(net_run(world, &net, &r));
    assert_int_equal(r.desyncs, 0);
    expect_second(&r, STALL_END_MS / 1000 + 1, 3.0);
    /* Without acknowledgements next to nothing was sent. */
    for (u32 s = STALL_MS / 1000 + 2; s < STALL_END_MS / 1000; s++) {
        assert_true(r.second_kbit[s] < 40.0);
    }
}

/* The large world of plenum-bench net-matrix, whose motion needs 1 Mbit/s: after the stall buffered
 * packets arrive in a burst. A second later the picture is as good as without the stall. */
static void test_stalled_client_of_a_large_world(void **state)
{
    PL_UNUSED(state);
    NetWorld *world = net_world_create(901, 64, 10 * NET_WORLD_HZ + 1, 1);
    assert_non_null(world);
    Row row = {.kbit = 1000, .rtt_ms = 50};
    NetCase net = {.down = path_of(&row, 1), .up = path_of(&row, 5), .measure_ms = MEASURE_MS};
    NetResult steady, stalled;
    assert_true(net_run(world, &net, &steady));
    net.stall_ms[0] = 3000;
    net.stall_ms[1] = 8000;
    assert_true(net_run(world, &net, &stalled));
    assert_int_equal(steady.desyncs + stalled.desyncs, 0);
    expect_second(&stalled, 8, fmax(1.25 * steady.second_px[8], 1.0));
    expect_second(&stalled, 9, fmax(1.25 * steady.second_px[9], 1.0));
    net_world_destroy(world);
}

/* The large world needs fifteen times the bandwidth of these lines: states are coarser and rarer,
 * and yet each change arrives within a bound. */
static void test_large_world_on_narrow_lines(void **state)
{
    PL_UNUSED(state);
    static const Row lines[] = {
        {.name = "64k",
         .kbit = 64,
         .rtt_ms = 50,
         .px_median = 2,
         .px_p99 = 40,
         .starved = 0.08,
         .stale_s = 3},
        {.name = "64k worst",
         .kbit = 64,
         .rtt_ms = 400,
         .loss = 0.3,
         .px_median = 3,
         .px_p99 = 80,
         .starved = 0.15,
         .stale_s = 8},
    };
    static const f64 whole_s[] = {4.0, 7.0}; /* until the first complete picture */
    NetWorld *world = net_world_create(901, 64, 12 * NET_WORLD_HZ, 1);
    assert_non_null(world);
    for (u32 i = 0; i < PL_COUNT(lines); i++) {
        const Row *row = &lines[i];
        NetCase net = {.down = path_of(row, 7), .up = path_of(row, 8), .measure_ms = 7000};
        NetResult r;
        assert_true(net_run(world, &net, &r));
        print_message(
            "large, %-10s: %.2f px median, %.1f px 99 %%, %.1f %% starved, stale %.2f s, %.0f "
            "kbit/s, coarse %.1f, whole after %.1f s\n",
            row->name, r.px_median, r.px_p99, 100 * r.starved, r.stale_s, r.kbit_s, r.coarseness,
            r.whole_s);
        assert_int_equal(r.desyncs, 0);
        assert_true(r.px_median <= row->px_median && r.px_p99 <= row->px_p99);
        assert_true(r.stale_s <= row->stale_s && r.starved <= row->starved);
        assert_true(r.whole_s > 0.0 && r.whole_s <= whole_s[i]);
        /* Less frequent states alone would be worse. */
        NetResult full;
        net.full_detail = true;
        assert_true(i > 0 || net_run(world, &net, &full));
        assert_true(i > 0 || r.px_median + r.stale_s < 0.8 * (full.px_median + full.stale_s));
    }
    net_world_destroy(world);
}

/* Ten megabits drop to 128 kbit/s for four seconds, with a deep queue, and recover. */
static void test_line_changes(void **state)
{
    const NetWorld *world = *state;
    Row row = {.kbit = 10000, .rtt_ms = 50};
    NetCase net = {.down = path_of(&row, 3),
                   .up = path_of(&row, 4),
                   .measure_ms = MEASURE_MS,
                   .change_ms = {2000, 6000}};
    net.changed = net.down;
    net.changed.rate_bytes_s = 16000;
    NetResult r;
    assert_true(net_run(world, &net, &r));
    assert_int_equal(r.desyncs, 0);
    expect_second(&r, 5, 30.0);
    expect_second(&r, SECONDS - 2, 1.0);
}

/* The same case gives the same run. */
static void test_repeatable(void **state)
{
    const NetWorld *world = *state;
    Row row = {.kbit = 1000, .rtt_ms = 150, .jitter_ms = 50, .loss = 0.05};
    NetCase net = {.down = path_of(&row, 3), .up = path_of(&row, 4), .measure_ms = MEASURE_MS};
    NetResult a, b;
    assert_true(net_run(world, &net, &a) && net_run(world, &net, &b));
    assert_memory_equal(&a, &b, sizeof a);
}

static int world_make(void **state)
{
    *state = net_world_create(BODIES, SIDE, SECONDS * NET_WORLD_HZ, 1);
    return *state != NULL ? 0 : -1;
}

static int world_end(void **state)
{
    net_world_destroy(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_stalled_client),
        cmocka_unit_test(test_stalled_client_of_a_large_world),
        cmocka_unit_test(test_large_world_on_narrow_lines),
        cmocka_unit_test(test_line_changes),
        cmocka_unit_test(test_repeatable),
    };
    return cmocka_run_group_tests(tests, world_make, world_end);
}
