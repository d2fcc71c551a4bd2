/*
 * net_matrix.c: `plenum-bench net-matrix`: the picture that a client gets of a moving world through
 * every kind of bad network: one line per combination.
 */
#include "shared/base/options.h"
#include "tests/bench/bench.h"
#include "tests/support/net_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CASES_MAX = 512,
    NAME_MAX_BYTES = 48,
    MEASURE_MS = 6000,
};

typedef struct MatrixCase {
    char name[NAME_MAX_BYTES];
    const NetWorld *world;
    NetCase net;
    NetResult result;
    bool done;
} MatrixCase;

typedef struct Matrix {
    const NetWorld *world;
    MatrixCase cases[CASES_MAX];
    u32 count;
    u32 snapshot_hz;
    u64 seed;
    bool full_detail;
} Matrix;

static const u32 rates_kbit[] = {64, 256, 1000, 10000, 100000};
static const u32 losses[] = {0, 1, 5, 15, 30}; /* percent, down and up */
static const u32 rtts_ms[] = {0, 50, 150, 400};
static const u32 jitters_ms[] = {0, 20, 100}; /* each way */

static NetsimOptions path(const Matrix *matrix, u32 kbit, u32 rtt_ms)
{
    return (NetsimOptions){.seed = matrix->seed + matrix->count * 7919u,
                           .delay_ms = 0.5 * rtt_ms,
                           .rate_bytes_s = kbit * 125u,
                           .queue_ms = 300};
}

/* A case whose path up is as the path down but for the cap. */
static MatrixCase *add(Matrix *matrix, const char *name, const NetsimOptions *down)
{
    if (matrix->count == CASES_MAX) {
        fprintf(stderr, "plenum-bench: too many cases\n");
        exit(EXIT_CHECK_FAILED);
    }
    MatrixCase *c = &matrix->cases[matrix->count++];
    memset(c, 0, sizeof *c);
    snprintf(c->name, sizeof c->name, "%s", name);
    c->world = matrix->world;
    c->net.down = c->net.up = *down;
    c->net.up.seed += 13;
    c->net.up.rate_bytes_s = u32_max(down->rate_bytes_s, 32000);
    c->net.measure_ms = MEASURE_MS;
    c->net.snapshot_hz = matrix->snapshot_hz;
    c->net.full_detail = matrix->full_detail;
    return c;
}

static void add_product(Matrix *matrix)
{
    u32 total = PL_COUNT(rates_kbit) * PL_COUNT(rtts_ms) * PL_COUNT(jitters_ms) * PL_COUNT(losses);
    for (u32 i = 0; i < total; i++) {
        u32 loss = losses[i % PL_COUNT(losses)], rest = i / PL_COUNT(losses);
        u32 jitter_ms = jitters_ms[rest % PL_COUNT(jitters_ms)];
        u32 rtt_ms = rtts_ms[rest / PL_COUNT(jitters_ms) % PL_COUNT(rtts_ms)];
        u32 kbit = rates_kbit[rest / PL_COUNT(jitters_ms) / PL_COUNT(rtts_ms)];
        NetsimOptions down = path(matrix, kbit, rtt_ms);
        down.loss = loss / 100.0;
        down.jitter_ms = jitter_ms;
        down.duplicate = i % 2 == 1 ? 0.05 : 0.0;
        down.ordered = i % 4 >= 2;
        char name[NAME_MAX_BYTES];
        snprintf(name, sizeof name, "%uk/rtt%u/jit%u%s/loss%u%s", kbit, rtt_ms, jitter_ms,
                 jitter_ms > 0 ? (down.ordered ? "o" : "r") : "", loss,
                 down.duplicate > 0 ? "/dup" : "");
        add(matrix, name, &down);
    }
}

static void add_queues(Matrix *matrix)
{
    static const u32 queues_ms[] = {20, 2000}; /* but room for three packets */
    for (u32 i = 0; i < 2 * PL_COUNT(rates_kbit); i++) {
        u32 kbit = rates_kbit[i / 2];
        NetsimOptions down = path(matrix, kbit, 50);
        down.queue_ms = u32_max(queues_ms[i % 2], 3 * 8 * STATE_PACKET_BYTES_MAX / kbit);
        char name[NAME_MAX_BYTES];
        snprintf(name, sizeof name, "%uk/rtt50/%s", kbit, i % 2 == 0 ? "taildrop" : "bloat2s");
        add(matrix, name, &down);
        snprintf(name, sizeof name, "%uk/rtt50/%s/loss5", kbit,
                 i % 2 == 0 ? "taildrop" : "bloat2s");
        down.loss = 0.05;
        add(matrix, name, &down);
    }
}

static void add_bursts(Matrix *matrix)
{
    for (u32 i = 0; i < PL_COUNT(rates_kbit); i++) {
        NetsimOptions down = path(matrix, rates_kbit[i], 100);
        down.burst = 0.01;
        down.burst_packets = 10;
        char name[NAME_MAX_BYTES];
        snprintf(name, sizeof name, "%uk/rtt100/bursts", rates_kbit[i]);
        add(matrix, name, &down);
    }
}

static void add_returns(Matrix *matrix)
{
    for (u32 i = 0; i < PL_COUNT(rates_kbit); i++) {
        NetsimOptions down = path(matrix, rates_kbit[i], 50);
        char name[NAME_MAX_BYTES];
        snprintf(name, sizeof name, "%uk/rtt50/up-slow", rates_kbit[i]);
        MatrixCase *c = add(matrix, name, &down);
        c->net.up.rate_bytes_s = 4000; /* 32 kbit/s: 35 acknowledgements a second */
        c->net.up.queue_ms = 1000;
        snprintf(name, sizeof name, "%uk/rtt50/up-loss40", rates_kbit[i]);
        c = add(matrix, name, &down);
        c->net.up.loss = 0.4;
        snprintf(name, sizeof name, "%uk/rtt50/up-jit200", rates_kbit[i]);
        c = add(matrix, name, &down);
        c->net.up.jitter_ms = 200;
    }
}

/* Conditions that change, or a client that stops: read the seconds. */
static void add_changes(Matrix *matrix)
{
    NetsimOptions down = path(matrix, 10000, 50);
    MatrixCase *c = add(matrix, "10M-256k-10M/rtt50", &down);
    c->net.changed = down;
    c->net.changed.rate_bytes_s = 32000;
    c->net.change_ms[0] = 6000;
    c->net.change_ms[1] = 12000;
    for (u32 i = 1; i < PL_COUNT(rates_kbit); i++) {
        char name[NAME_MAX_BYTES];
        snprintf(name, sizeof name, "%uk/rtt50/stall5s", rates_kbit[i]);
        down = path(matrix, rates_kbit[i], 50);
        c = add(matrix, name, &down);
        c->net.stall_ms[0] = 7000;
        c->net.stall_ms[1] = 12000;
    }
}

static void run_case(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    MatrixCase *cases = context;
    for (u32 i = first; i < end; i++) {
        cases[i].done = net_run(cases[i].world, &cases[i].net, &cases[i].result);
    }
}

static void print_text(const MatrixCase *c, bool seconds)
{
    const NetResult *r = &c->result;
    printf("%-28s %3llu %7.2f %8.2f %6.0f %6.1f %6.0f %6.2f %6.0f %8.0f %5.1f %6llu %6.1f %6.2f\n",
           c->name, (unsigned long long)r->desyncs, r->px_median, r->px_p99, r->delay_ms,
           100 * r->starved, r->gap_ms, r->stale_s, r->queue_ms, r->kbit_s, 100 * r->goodput,
           (unsigned long long)r->keys, r->coarseness, r->whole_s);
    for (u32 s = 0; s < r->seconds && seconds; s++) {
        printf("    second %2u: error %8.2f px, %7.0f kbit/s\n", s, r->second_px[s],
               r->second_kbit[s]);
    }
}

static void print_json(const MatrixCase *c)
{
    const NetResult *r = &c->result;
    printf("{\"name\":\"net-matrix/%s\",\"desyncs\":%llu,\"px_median\":%.2f,\"px_p99\":%.2f,"
           "\"delay_ms\":%.0f,\"starved_pct\":%.1f,\"gap_ms\":%.0f,\"stale_s\":%.2f,"
           "\"queue_ms\":%.0f,\"kbit_s\":%.0f,\"arrived_pct\":%.1f,\"keys\":%llu,\"coarseness\":%."
           "2f,\"whole_s\":%.2f}\n",
           c->name, (unsigned long long)r->desyncs, r->px_median, r->px_p99, r->delay_ms,
           100 * r->starved, r->gap_ms, r->stale_s, r->queue_ms, r->kbit_s, 100 * r->goodput,
           (unsigned long long)r->keys, r->coarseness, r->whole_s);
}

static void keep_wanted(Matrix *matrix, char **wanted, u32 count)
{
    u32 kept = 0;
    for (u32 i = 0; i < matrix->count; i++) {
        bool want = count == 0;
        for (u32 k = 0; k < count; k++) {
            want = want || strstr(matrix->cases[i].name, wanted[k]) != NULL;
        }
        if (want) {
            memmove(&matrix->cases[kept++], &matrix->cases[i], sizeof matrix->cases[i]);
        }
    }
    matrix->count = kept;
}

static int run_matrix(Matrix *matrix, u32 threads, bool json, bool seconds)
{
    Jobs *jobs = jobs_create(threads);
    u32 desyncs = 0;
    if (!json) {
        printf("%-28s %3s %7s %8s %6s %6s %6s %6s %6s %8s %5s %6s %6s %6s\n", "case", "bad", "px50",
               "px99", "delay", "starv%", "gap ms", "stale", "queue", "kbit/s", "arr%", "keys",
               "coarse", "whole");
    }
    for (u32 at = 0; at < matrix->count; at += threads) {
        u32 count = u32_min(threads, matrix->count - at);
        jobs_run(jobs, count, 1, run_case, matrix->cases + at);
        for (u32 i = at; i < at + count; i++) {
            const MatrixCase *c = &matrix->cases[i];
            if (json) {
                print_json(c);
            } else {
                print_text(c, seconds);
            }
            fflush(stdout);
            desyncs += !c->done || c->result.desyncs != 0;
        }
    }
    jobs_destroy(jobs);
    return desyncs != 0 ? EXIT_CHECK_FAILED : EXIT_OK;
}

int bench_net_matrix_command(int argc, char **argv)
{
    u32 threads = 1, ticks_s = 16, bodies = 901, side = 64, snapshot_hz = 30;
    u64 seed = 1;
    bool json = false, seconds = false, full_detail = false;
    const Option rows[] = {
        {"threads", 't', OPTION_U32, &threads, 1, THREADS_MAX, "N", "combinations at a time"},
        {"seconds", 's', OPTION_U32, &ticks_s, 8, NET_SECONDS_MAX, "S", "of each"},
        {"bodies", 0, OPTION_U32, &bodies, 1, 20000, "N", "in the world"},
        {"side", 0, OPTION_U32, &side, 8, 256, "N", "edge of the sheet of points, of 8s"},
        {"snapshot-rate", 0, OPTION_U32, &snapshot_hz, 1, 60, "HZ", "snapshots a second"},
        {"seed", 0, OPTION_U64, &seed, 0, 0, "N", "of world and network"},
        {"json", 0, OPTION_FLAG, &json, 0, 0, NULL, "a line of JSON for each"},
        {"full-detail", 0, OPTION_FLAG, &full_detail, 0, 0, NULL, "never coarser, only rarer"},
        {"by-second", 0, OPTION_FLAG, &seconds, 0, 0, NULL, "error and rate of every second too"},
    };
    const OptionTable table = {
        .program = "plenum-bench net-matrix",
        .synopsis = "[options] [PART...]",
        .about = "Plays a moving world to one client on virtual time through combinations of loss, "
                 "delay, jitter,\nreordering, duplication, caps and queues (those whose names have "
                 "a PART), and prints for each:\nstates that are not the server's (must be 0), "
                 "error on the screen (px: median, 99 %), how old\nwhat is shown is (ms), share of "
                 "frames without a later state, longest wait for a snapshot (ms),\nlongest that "
                 "a change of a chunk was unknown (s), wait in the line (ms, 95 %), kbit/s sent,\n"
                 "share that arrived, key chunks, how coarse (0: full detail, at most 5), when the "
                 "picture was first\nwhole (s).",
        .rows = rows,
        .count = PL_COUNT(rows),
        .operands_max = 64,
    };
    ErrorText error = {0};
    char **wanted = NULL;
    u32 count = 0;
    int result = options_parse(&table, argc, argv, &wanted, &count, &error);
    if (result != 0) {
        if (result < 0) {
            fprintf(stderr, "plenum-bench net-matrix: %s\n", error.text);
        }
        return result < 0 ? EXIT_USAGE : EXIT_OK;
    }
    Matrix *matrix = calloc(1, sizeof *matrix);
    NetWorld *world = net_world_create(bodies, side / 8 * 8, ticks_s * NET_WORLD_HZ, seed);
    if (matrix == NULL || world == NULL) {
        fprintf(stderr, "plenum-bench: out of memory\n");
        exit(EXIT_CHECK_FAILED);
    }
    matrix->world = world;
    matrix->seed = seed;
    matrix->snapshot_hz = snapshot_hz;
    matrix->full_detail = full_detail;
    add_product(matrix);
    add_queues(matrix);
    add_bursts(matrix);
    add_returns(matrix);
    add_changes(matrix);
    keep_wanted(matrix, wanted, count);
    result = run_matrix(matrix, threads, json, seconds);
    net_world_destroy(world);
    free(matrix);
    return result;
}
