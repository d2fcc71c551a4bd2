/* test_budget.c: congestion control against a simulated bottleneck; permissions and rates of
 * roles. */
#include "server/host/authorize.h"
#include "server/host/budget.h"
#include "shared/math/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum {
    STEP_MS = 33,
    PACKET = 1200,
    FLOWS_MAX = 3,
    PIPE = 64,         /* steps */
    CLOCKS_MS = 61234, /* the client's clock is ahead, so its timestamps wrap */
};

/* The packets that one flow sent in one step, as the client will report them. */
typedef struct Shipment {
    u32 acked, lost;
    f64 delay_ms; /* one way, to the client */
} Shipment;

/* A flow controlled by Budget, or a simplified TCP Reno (Jacobson 1988): its window halves on loss
 * and grows by one packet each round trip. */
typedef struct Flow {
    Budget budget;
    f64 wants; /* bytes/s; 0: unlimited */
    bool reno;
    f64 window, under_way; /* packets, Reno only */
    u64 window_cut_ms;
    u64 from_ms;
    f64 delivered, sent, unsent;
    Shipment pipe[PIPE];
} Flow;

typedef struct Line {
    f64 bytes_s, queue_s; /* packets that would queue for longer are dropped */
    f64 random_loss;
    u32 path_ms; /* one way, without queueing */
    f64 jitter_up_ms;
    f64 queue; /* bytes */
    Flow flows[FLOWS_MAX];
    u32 count;
    u64 now_ms;
    f64 worst_queue_ms;
    u64 dice;
} Line;

static f64 line_roll(Line *line)
{
    return (f64)random_f32(5, line->dice++);
}

static void line_init(Line *line, f64 bytes_s, f64 queue_s, u32 flows)
{
    memset(line, 0, sizeof *line);
    line->bytes_s = bytes_s;
    line->queue_s = queue_s;
    line->path_ms = 20;
    line->count = flows;
    for (u32 i = 0; i < flows; i++) {
        budget_init(&line->flows[i].budget, 0, BUDGET_MAX_BYTES_S);
        line->flows[i].window = 10.0;
    }
}

static void flow_acknowledges(Line *line, Flow *flow, const Shipment *shipment)
{
    f64 rtt_ms = shipment->delay_ms + line->path_ms;
    if (flow->reno) {
        bool cut = shipment->lost > 0 && (f64)(line->now_ms - flow->window_cut_ms) > rtt_ms;
        flow->under_way -= (f64)shipment->acked + (f64)shipment->lost;
        flow->window = fmax(2.0, flow->window + (f64)shipment->acked / flow->window);
        flow->window *= cut ? 0.5 : 1.0;
        flow->window_cut_ms = cut ? line->now_ms : flow->window_cut_ms;
        return;
    }
    if (shipment->acked + shipment->lost == 0) {
        return;
    }
    u16 sent_ms = (u16)(i64)((f64)line->now_ms - rtt_ms);
    u16 arrived_ms = (u16)(i64)((f64)sent_ms + shipment->delay_ms + CLOCKS_MS);
    u16 held_ms = 7;
    BudgetReport report = {.acked = shipment->acked,
                           .lost = shipment->lost,
                           .acked_bytes = shipment->acked * (PACKET - BUDGET_HEAD_BYTES),
                           .send_ms = (u16)(arrived_ms + held_ms),
                           .echo_ms = (u16)(sent_ms + held_ms),
                           .rtt_ms = rtt_ms + line->jitter_up_ms * line_roll(line)};
    budget_feedback(&flow->budget, &report, line->now_ms);
}

static void flow_sends(Line *line, Flow *flow, u32 step)
{
    f64 may = flow->reno ? (flow->window - flow->under_way) * PACKET
                         : (f64)budget_take(&flow->budget, line->now_ms) + BUDGET_HEAD_BYTES;
    flow->unsent += flow->wants * STEP_MS * 0.001;
    f64 wants = flow->wants > 0.0 ? flow->unsent : 1e9;
    Shipment shipment = {0};
    while (may >= PACKET && wants >= PACKET) {
        bool full = line->queue + PACKET > line->bytes_s * line->queue_s;
        bool lost = full || line_roll(line) < line->random_loss;
        line->queue += lost ? 0.0 : PACKET;
        shipment.lost += lost;
        shipment.acked += !lost;
        may -= PACKET;
        flow->under_way++;
        wants -= PACKET;
        flow->unsent -= flow->wants > 0.0 ? PACKET : 0.0;
        flow->sent += PACKET;
        flow->delivered += lost ? 0.0 : PACKET;
        if (!flow->reno) {
            budget_sent(&flow->budget, PACKET - BUDGET_HEAD_BYTES);
        }
    }
    if (!flow->reno && wants >= PACKET) {
        budget_limited(&flow->budget);
    }
    shipment.delay_ms = line->path_ms + line->queue / line->bytes_s * 1000.0;
    u32 later = (u32)((shipment.delay_ms + line->path_ms) / STEP_MS) + 1;
    Shipment *slot = &flow->pipe[(step + u32_min(later, PIPE - 1)) % PIPE];
    slot->acked += shipment.acked;
    slot->lost += shipment.lost;
    slot->delay_ms = shipment.delay_ms;
}

/* Simulates until a time; counters start at zero. */
static void line_play(Line *line, u64 until_ms)
{
    line->worst_queue_ms = 0.0;
    for (u32 i = 0; i < line->count; i++) {
        line->flows[i].delivered = line->flows[i].sent = 0.0;
    }
    for (; line->now_ms < until_ms; line->now_ms += STEP_MS) {
        u32 step = (u32)(line->now_ms / STEP_MS);
        line->queue -= fmin(line->queue, line->bytes_s * STEP_MS * 0.001);
        for (u32 i = 0; i < line->count; i++) {
            Flow *flow = &line->flows[(i + step) % line->count];
            Shipment shipment = flow->pipe[step % PIPE];
            flow->pipe[step % PIPE] = (Shipment){0};
            flow_acknowledges(line, flow, &shipment);
            if (line->now_ms >= flow->from_ms) {
                flow_sends(line, flow, step);
            }
        }
        f64 queue_ms = line->queue / line->bytes_s * 1000.0;
        line->worst_queue_ms = fmax(line->worst_queue_ms, queue_ms);
    }
}

/* Alone on a line with a deep queue: most of the bandwidth is used, and the queue stays short. */
static void test_finds_the_line(void **state)
{
    PL_UNUSED(state);
    static const f64 lines[] = {8000.0, 16000.0, 60000.0, 400000.0, 1500000.0};
    for (u32 i = 0; i < PL_COUNT(lines); i++) {
        Line line;
        line_init(&line, lines[i], 1.0, 1);
        line_play(&line, 20000);
        line_play(&line, 50000);
        f64 share = line.flows[0].delivered / 30.0 / lines[i];
        /* A single 1200-byte packet takes 150 ms on the narrowest line. */
        f64 queue_most = 130.0 + 2.0 * PACKET / lines[i] * 1000.0;
        if (share < 0.75 || line.worst_queue_ms > queue_most) {
            fail_msg("line %.0f: %.0f %% used, queue %.0f ms", lines[i], 100.0 * share,
                     line.worst_queue_ms);
        }
    }
}

/* From a fast line to a narrow one whose queue holds two seconds, and back. */
static void test_standing_queue_drains_and_budget_returns(void **state)
{
    PL_UNUSED(state);
    Line line;
    line_init(&line, 1250000.0, 2.0, 1);
    line_play(&line, 15000);
    line.bytes_s = 32000.0;
    line.queue = fmin(line.queue, 64000.0);
    line_play(&line, 21000);
    line_play(&line, 25000);
    if (line.worst_queue_ms > 200.0 || line.flows[0].delivered / 4.0 < 0.7 * 32000.0) {
        fail_msg("narrow: %.0f bytes/s, queue %.0f ms", line.flows[0].delivered / 4.0,
                 line.worst_queue_ms);
    }
    line.bytes_s = 1250000.0;
    line.queue = 0.0;
    line_play(&line, 32000);
    line_play(&line, 34000);
    if (line.flows[0].delivered / 2.0 < 0.5 * 1250000.0) {
        fail_msg("after recovery: %.0f bytes/s after 7 s", line.flows[0].delivered / 2.0);
    }
}

/* Random loss is not congestion: the budget stays near what the world needs. */
static void test_random_loss_is_not_congestion(void **state)
{
    PL_UNUSED(state);
    static const f64 losses[] = {0.01, 0.05, 0.15, 0.3};
    for (u32 i = 0; i < PL_COUNT(losses); i++) {
        Line line;
        line_init(&line, 1e7, 0.3, 1);
        line.random_loss = losses[i];
        line_play(&line, 15000);
        line_play(&line, 45000);
        f64 sent = line.flows[0].sent / 30.0;
        if (sent < 0.8 * BUDGET_MAX_BYTES_S) {
            fail_msg("loss %.2f: %.0f bytes/s", losses[i], sent);
        }
    }
}

/* A short queue that never delays, so that only loss indicates congestion. Total loss has a
 * bound. */
static void test_short_queue(void **state)
{
    PL_UNUSED(state);
    Line line;
    line_init(&line, 100000.0, 0.05, 1);
    line_play(&line, 15000);
    line_play(&line, 60000);
    f64 share = line.flows[0].delivered / 45.0 / 100000.0;
    f64 lost = 1.0 - line.flows[0].delivered / line.flows[0].sent;
    if (share < 0.7 || lost > 0.12) {
        fail_msg("%.0f %% used, %.1f %% lost", 100.0 * share, 100.0 * lost);
    }
}

/* Jitter on the return path larger than any queue says nothing about the forward path. */
static void test_return_path_does_not_matter(void **state)
{
    PL_UNUSED(state);
    Line line;
    line_init(&line, 1e7, 0.3, 1);
    line.jitter_up_ms = 400.0;
    line_play(&line, 15000);
    line_play(&line, 30000);
    assert_true(line.flows[0].sent / 15.0 > 0.8 * BUDGET_MAX_BYTES_S);
}

/* Two budget flows share a line, the second joining later; and one shares it with a TCP flow that
 * fills the queue. */
static void test_shares_the_line(void **state)
{
    PL_UNUSED(state);
    Line line;
    line_init(&line, 250000.0, 0.3, 2);
    line.flows[1].from_ms = 10000;
    line_play(&line, 30000);
    line_play(&line, 90000);
    f64 first = line.flows[0].delivered, second = line.flows[1].delivered;
    f64 least = fmin(first, second) / (first + second);
    if (least < 0.2 || first + second < 0.75 * 250000.0 * 60.0) {
        fail_msg("shares: %.0f and %.0f bytes/s", first / 60.0, second / 60.0);
    }
    line_init(&line, 250000.0, 0.3, 2);
    line.flows[1].reno = true;
    line.flows[1].from_ms = 5000;
    line_play(&line, 30000);
    line_play(&line, 90000);
    first = line.flows[0].delivered;
    second = line.flows[1].delivered;
    if (first / (first + second) < 0.1 || second / (first + second) < 0.1) {
        fail_msg("beside TCP: %.0f and %.0f bytes/s", first / 60.0, second / 60.0);
    }
}

/* A world at rest sends next to nothing: the budget neither rises nor falls. */
static void test_rest_changes_nothing(void **state)
{
    PL_UNUSED(state);
    Line line;
    line_init(&line, 1e6, 0.3, 1);
    line.flows[0].wants = 3000.0;
    f64 before = line.flows[0].budget.bytes_s;
    line_play(&line, 30000);
    assert_true(line.flows[0].budget.bytes_s == before);
}

/* Without feedback only the minimum is sent; the first feedback restores the start rate at once. */
static void test_silence(void **state)
{
    PL_UNUSED(state);
    Line line;
    line_init(&line, 1e6, 0.3, 1);
    line_play(&line, 10000);
    Budget *budget = &line.flows[0].budget;
    f64 before = budget->bytes_s, sent = 0.0;
    for (; line.now_ms < 15000; line.now_ms += STEP_MS) {
        u32 bytes = budget_take(budget, line.now_ms);
        if (bytes > 0) {
            budget_sent(budget, bytes);
            sent += line.now_ms >= 11500 ? (f64)bytes : 0.0;
        }
    }
    assert_true(sent <= BUDGET_MIN_BYTES_S * 3.5 + 2.0 * PACKET);
    BudgetReport report = {.acked = 1,
                           .lost = 500,
                           .acked_bytes = 1000,
                           .send_ms = (u16)(CLOCKS_MS + 4900),
                           .rtt_ms = 4900.0};
    budget_feedback(budget, &report, line.now_ms);
    f64 again = fmin(0.5 * before, BUDGET_START_BYTES_S);
    assert_true(budget->bytes_s >= again);
    report.lost = 0;
    report.send_ms = (u16)(CLOCKS_MS + 20);
    budget_feedback(budget, &report, line.now_ms + 300);
    assert_true(budget->bytes_s >= 0.8 * again);
}

/* At the minimum budget the loss experiment cannot reduce the rate further, so an unchanged
 * delivery rate proves nothing. Random loss must not be taken for a full queue, or the budget would
 * never rise again. */
static void test_experiment_at_minimum_budget(void **state)
{
    PL_UNUSED(state);
    Line line;
    line_init(&line, 60000.0, 0.5, 1);
    line.random_loss = 0.25;
    Budget *budget = &line.flows[0].budget;
    u64 ms = 0;
    /* As after congestion: held at the minimum until the loss of one window is known. */
    for (; budget->test_ms == 0 && ms < 60000; ms += 33) {
        budget->bytes_s = BUDGET_MIN_BYTES_S;
        line_play(&line, ms);
    }
    assert_true(budget->test_ms != 0 && budget->bytes_s == BUDGET_MIN_BYTES_S);
    line_play(&line, ms + 40000);
    line_play(&line, ms + 50000);
    if (line.flows[0].sent / 10.0 < 0.6 * 60000.0) {
        fail_msg("%.0f bytes/s on a line of 60000, %.2f attributed to random loss",
                 line.flows[0].sent / 10.0, budget->loss_known);
    }
}

/* Sending more without delivering more is no reason to raise the budget: while the queue gives no
 * signal yet, it stays within 1.5 times the delivery rate. */
static void test_rises_with_what_arrives(void **state)
{
    PL_UNUSED(state);
    Budget budget;
    budget_init(&budget, 0, BUDGET_MAX_BYTES_S);
    budget.bytes_s = 10000.0;
    for (u64 now = 100; now < 5000; now += 100) {
        BudgetReport report = {.acked = 2, .acked_bytes = 800, .rtt_ms = 50.0};
        budget_take(&budget, now);
        budget_limited(&budget);
        budget_feedback(&budget, &report, now);
    }
    f64 arrives = 10.0 * (800.0 + 2.0 * BUDGET_HEAD_BYTES);
    assert_true(budget.bytes_s > 10000.0 && budget.bytes_s <= 1.5 * arrives);
}

static void test_bounds(void **state)
{
    PL_UNUSED(state);
    Budget budget;
    budget_init(&budget, 0, BUDGET_MAX_BYTES_S);
    for (u64 now = 0; now < 60000; now += 100) {
        BudgetReport report = {.acked = 1, .lost = 100, .acked_bytes = 100, .rtt_ms = 2000.0};
        report.send_ms = now > 200 ? 2000 : 0;
        budget_take(&budget, now);
        budget_limited(&budget);
        budget_feedback(&budget, &report, now);
    }
    assert_true(budget.bytes_s == (f64)BUDGET_MIN_BYTES_S);
    budget_init(&budget, 0, BUDGET_MAX_BYTES_S);
    for (u64 now = 0; now < 60000; now += 100) {
        BudgetReport report = {
            .acked = 100, .acked_bytes = (u32)(0.1 * budget.bytes_s), .rtt_ms = 10.0};
        budget_take(&budget, now);
        budget_limited(&budget);
        budget_feedback(&budget, &report, now);
    }
    assert_true(budget.bytes_s == (f64)BUDGET_MAX_BYTES_S);
    /* After a pause of any length: a single burst. */
    assert_true(budget_take(&budget, 100000000) <= BUDGET_MAX_BYTES_S / 10);
}

/* Round trips below 2 ms mean loopback or a LAN: the first report raises the budget to the maximum,
 * once. After that, measurements count as usual. */
static void test_local_network(void **state)
{
    PL_UNUSED(state);
    Budget budget;
    budget_init(&budget, 0, BUDGET_MAX_BYTES_S);
    BudgetReport report = {.acked = 1, .acked_bytes = 1000, .rtt_ms = 2.0};
    budget_feedback(&budget, &report, 20);
    assert_true(budget.bytes_s == (f64)BUDGET_START_BYTES_S);
    report.rtt_ms = 1.0;
    budget_feedback(&budget, &report, 40);
    assert_true(budget.bytes_s == (f64)BUDGET_MAX_BYTES_S);
    for (u64 now = 100; now < 3000; now += 50) { /* most of it is lost */
        report = (BudgetReport){.acked = 5, .lost = 20, .acked_bytes = 6000, .rtt_ms = 1.0};
        budget_take(&budget, now);
        budget_limited(&budget);
        budget_feedback(&budget, &report, now);
    }
    assert_true(budget.bytes_s < 0.2 * BUDGET_MAX_BYTES_S);
}

/* Client and server on one machine that is busy: each waits for a processor, for half a second at
 * times. Once a report was fast, delays and silences no longer lower the rate; losses do. To a
 * client elsewhere the same delays are a queue. */
static void test_busy_machine(void **state)
{
    PL_UNUSED(state);
    for (u32 own = 0; own < 2; own++) {
        Budget budget;
        budget_init(&budget, 0, BUDGET_MAX_BYTES_S);
        budget.own = own != 0;
        for (u64 now = 0; now < 10000; now += 50) {
            bool fast = now == 2000, late = now > 4000 && now < 8000;
            BudgetReport report = {.acked = 1, .acked_bytes = 1000, .rtt_ms = fast ? 1.0 : 40.0};
            report.send_ms = now % 400 == 0 ? 0 : late ? 450 : 100;
            report.send_ms = report.send_ms != 0 && now > 200 ? report.send_ms : 1;
            report.lost = now == 150;
            budget_take(&budget, now);
            budget_limited(&budget);
            if (now < 8500 || now > 9800) { /* and a silence */
                budget_feedback(&budget, &report, now);
            }
        }
        assert_true(own ? budget.bytes_s == (f64)BUDGET_MAX_BYTES_S
                        : budget.bytes_s < 0.1 * BUDGET_MAX_BYTES_S);
        for (u64 now = 10000; now < 13000; now += 50) { /* most of it is lost */
            BudgetReport report = {.acked = 5, .lost = 20, .acked_bytes = 6000, .rtt_ms = 40.0};
            budget_take(&budget, now);
            budget_limited(&budget);
            budget_feedback(&budget, &report, now);
        }
        assert_true(budget.bytes_s < 0.2 * BUDGET_MAX_BYTES_S);
    }
}

/* On a narrow line packets are kept short, but long enough that their payload outweighs the
 * header. */
static void test_narrow_packets(void **state)
{
    PL_UNUSED(state);
    Budget budget;
    budget_init(&budget, 0, BUDGET_MIN_BYTES_S);
    u32 packets = 0;
    for (u64 now = 0; now < 10000; now += 17) {
        u32 bytes = budget_take(&budget, now);
        if (bytes == 0) {
            continue;
        }
        assert_in_range(bytes + BUDGET_HEAD_BYTES, 300, 500);
        budget_sent(&budget, bytes);
        packets++;
        BudgetReport report = {.acked = 1, .acked_bytes = bytes, .rtt_ms = 50.0};
        budget_feedback(&budget, &report, now);
    }
    assert_in_range(packets, 90, 140);
}

/* Until the first acknowledgement little is sent, however large the budget; then sending
 * continues. */
static void test_unconfirmed_bytes(void **state)
{
    PL_UNUSED(state);
    Budget budget;
    budget_init(&budget, 0, BUDGET_MAX_BYTES_S);
    u32 sent = 0;
    u64 now_ms = 0;
    for (; now_ms < 900; now_ms += STEP_MS) {
        u32 allowed = budget_take(&budget, now_ms);
        if (allowed > 0) {
            budget_sent(&budget, allowed);
            sent += allowed;
        }
    }
    /* Beyond that at most one burst. */
    assert_in_range(sent, BUDGET_FIRST_BYTES / 2, BUDGET_FIRST_BYTES + BUDGET_START_BYTES_S / 10);
    BudgetReport report = {.acked = 1, .acked_bytes = 1000, .rtt_ms = 400.0};
    budget_feedback(&budget, &report, now_ms);
    assert_true(budget_take(&budget, now_ms + STEP_MS) > 0);
}

/* Bytes/s of states that a budget allows beside `other` bytes/s of messages, for 20 s at 5, 30 or
 * 60 snapshots a second, to a client that never reports or one whose line is free. */
static f64 beside(f64 other, u32 hz, bool reports, f64 *rate)
{
    enum {
        SECONDS = 20,
        MESSAGE = 100
    };
    Budget budget;
    f64 taken = 0.0, due = 0.0;
    budget_init(&budget, 1000, 1000000);
    for (u32 i = 1; i <= SECONDS * hz; i++) {
        u64 now_ms = 1000 + (u64)i * 1000 / hz;
        for (due += other / hz; due >= MESSAGE; due -= MESSAGE) {
            budget_other(&budget, MESSAGE - BUDGET_HEAD_BYTES);
        }
        u32 allowed = budget_take(&budget, now_ms);
        if (allowed > 0) {
            budget_sent(&budget, allowed);
            taken += allowed + BUDGET_HEAD_BYTES;
        }
        if (reports) {
            BudgetReport report = {.acked = allowed > 0, .acked_bytes = allowed, .rtt_ms = 20.0};
            report.send_ms = report.echo_ms = (u16)now_ms;
            budget_feedback(&budget, &report, now_ms);
        }
    }
    *rate = budget.silent ? (f64)BUDGET_MIN_BYTES_S : budget.bytes_s;
    return taken / SECONDS;
}

/* Whatever is said beside them, states get through: a client that got none had nothing to report,
 * and without reports stayed at the least rate, which messages alone used up. */
static void test_messages_leave_room(void **state)
{
    PL_UNUSED(state);
    static const u32 rates[] = {5, 30, 60};
    for (u32 i = 0; i < 300; i++) {
        f64 rate, other = 100.0 * exp((f64)random_f32(7, i) * log(3000.0)); /* to 300 kB/s */
        u32 hz = rates[i % 3];
        f64 states = beside(other, hz, false, &rate);
        assert_true(states > 0.2 * BUDGET_MIN_BYTES_S);
        states = beside(other, hz, true, &rate);
        assert_true(states > 0.2 * BUDGET_MIN_BYTES_S);
        /* And they make room for messages, as far as these leave them a quarter. */
        assert_true(states + fmin(other, 0.75 * rate) < 1.1 * rate + 2 * PACKET);
    }
}

static void test_roles(void **state)
{
    PL_UNUSED(state);
    Permissions permissions;
    Input input = {.kind = INPUT_GRAB};
    permissions_init(&permissions, ROLE_VIEWER, 0);
    assert_int_equal(authorize_input(&permissions, &input, 0), ERROR_DENIED);
    permissions_init(&permissions, ROLE_PARTICIPANT, 0);
    assert_int_equal(authorize_input(&permissions, &input, 0), 0);
    input.kind = INPUT_RESET;
    assert_int_equal(authorize_input(&permissions, &input, 0), ERROR_DENIED);
    assert_int_equal(authorize_control(&permissions, CONTROL_PAUSE, false, 0), ERROR_DENIED);
    permissions_init(&permissions, ROLE_OPERATOR, 0);
    assert_int_equal(authorize_input(&permissions, &input, 0), 0);
    assert_int_equal(authorize_control(&permissions, CONTROL_PAUSE, false, 0), 0);
    input.kind = INPUT_KIND_COUNT;
    assert_int_equal(authorize_input(&permissions, &input, 0), ERROR_DENIED);
}

static void test_rates(void **state)
{
    PL_UNUSED(state);
    Permissions permissions;
    Input push = {.kind = INPUT_PUSH}, release = {.kind = INPUT_RELEASE};
    permissions_init(&permissions, ROLE_PARTICIPANT, 0);
    u32 taken = 0;
    for (u32 i = 0; i < 10000; i++) { /* 10 s, one a millisecond: a burst of 60, then 30 a second */
        taken += authorize_input(&permissions, &push, i) == 0;
    }
    assert_in_range(taken, 358, 361);
    /* A grab also pays for its release, which is never refused; releasing nothing has a cost. */
    Input grab = {.kind = INPUT_GRAB};
    permissions_init(&permissions, ROLE_PARTICIPANT, 0);
    taken = 0;
    for (u32 i = 0; i < 10000; i++) {
        if (authorize_input(&permissions, &grab, i) == 0) {
            taken++;
            assert_int_equal(authorize_input(&permissions, &release, i), 0);
        }
    }
    assert_in_range(taken, 178, 181);
    permissions_init(&permissions, ROLE_PARTICIPANT, 0);
    taken = 0;
    for (u32 i = 0; i < 1000; i++) {
        taken += authorize_input(&permissions, &release, 0) == 0;
    }
    assert_int_equal(taken, 60);
    u32 packets = 0;
    while (rate_limit_packet(&permissions, 100, 20000)) {
        packets++;
    }
    assert_in_range(packets, 599, 601);
    for (u32 i = 0; i < MALFORMED_MAX; i++) {
        assert_true(rate_limit_malformed(&permissions));
    }
    assert_false(rate_limit_malformed(&permissions));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_the_line),
        cmocka_unit_test(test_standing_queue_drains_and_budget_returns),
        cmocka_unit_test(test_random_loss_is_not_congestion),
        cmocka_unit_test(test_short_queue),
        cmocka_unit_test(test_return_path_does_not_matter),
        cmocka_unit_test(test_shares_the_line),
        cmocka_unit_test(test_rest_changes_nothing),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_experiment_at_minimum_budget),
        cmocka_unit_test(test_rises_with_what_arrives),
        cmocka_unit_test(test_local_network),
        cmocka_unit_test(test_busy_machine),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_narrow_packets),
        cmocka_unit_test(test_unconfirmed_bytes),
        cmocka_unit_test(test_messages_leave_room),
        cmocka_unit_test(test_roles),
        cmocka_unit_test(test_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
