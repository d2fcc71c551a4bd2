/*
 * budget.c: see budget.h. The model: a link carries packets up to its capacity (the knee), the rest
 * waits in a queue before it, and the path itself loses a fraction of the packets. A used budget
 * rises, fast far from the knee and slowly near it; while there is a standing queue it falls below
 * the arrived rate until the queue has drained, and if more is lost than the path's fraction it is
 * lowered for a round trip: if less is lost then, the link was full, otherwise the path loses that
 * much. A queue that stays although the budget was lowered belongs to other flows: then a longer
 * queue is allowed, and the budget rises as TCP does.
 */
#include "server/host/budget.h"
#include "shared/base/check.h"

#include <math.h>

/* ---- durations and counts ---- */

enum {
    SECOND_MS = 1000,                /* a window of losses; a silence */
    BASE_WINDOW_MS = 20 * SECOND_MS, /* a minute of minima: clocks drift by ms, routes change */
    RIVALS_MS = 3 * SECOND_MS,       /* a queue that stays this long belongs to other flows */
    PACKETS = 15,   /* number of packets whose losses are significant: in a flood, and always */
    DELAYS_MIN = 6, /* the minimum of this many is free of jitter */
};

/* ---- bursts ---- */

/* A burst may contain a tenth of a second of bytes, but always one full packet. */
static const f64 burst_s = 0.1;
/* Fraction of the rate for data besides states: states always keep the rest. */
static const f64 owed_share = 0.75;
static const f64 owed_s = 0.25; /* s of the rate at most, more than passes between states */
static const f64 packet_bytes = 1200.0;
/* Packets are limited to this transmission time on the link, unless a single record is longer:
 * at 64 kbit/s 400 bytes, a fifth of which are headers. */
static const f64 packet_s = 0.05;
static const f64 packet_bytes_min = 350.0;

/* ---- rise: fractions of the budget per second, or of the minimum if that is more ---- */

static const f64 rise_far_s = 1.0;      /* doubles, as in slow start */
static const f64 rise_near_s = 0.15;    /* near the knee: past it in a second (BBR probes 1.25) */
static const f64 rise_careful_s = 0.05; /* with a small queue, or near a knee of loss: seen later */
static const f64 knee_past_loss = 1.25; /* of a knee of loss: from here on far again */
/* Limit relative to the arrived rate plus the path's loss: beyond it nothing is known of the
 * link (GCC: 1.5). */
static const f64 rise_known = 1.5;
static const f64 untried_bytes_s = 32000.0;

/* ---- queues ---- */

static const f64 delay_noise_ms = 5.0; /* smaller differences of delays are ignored */
static const f64 drain_most = 0.85;    /* of the arrived rate, as in GCC */
static const f64 drain_least = 0.25;
static const f64 limit_most_ms = 500.0; /* of the queue allowed besides other flows */

/* ---- losses ---- */

static const f64 loss_margin = 0.03;     /* above the known loss: worth an experiment */
static const f64 loss_known_most = 0.35; /* no usable radio link loses more */
static const f64 loss_few = 0.1;
static const f64 loss_flood = 0.5;
static const f64 test_share = 0.7;   /* of the budget, during an experiment */
static const f64 limited_most = 0.8; /* of the snapshots of a window, above which the budget was the
                                      * limit */

/* ---- smoothing, and what "about the same" means ---- */

static const f64 weight_slow = 0.1, weight_fast = 0.4;
static const f64 tolerance = 0.1; /* of a rate: still at it, surely above it */
static const f64 below = 0.95;    /* a little below it */

static f64 f64_between(f64 x, f64 low, f64 high)
{
    return x < low ? low : x > high ? high : x;
}

void budget_init(Budget *budget, u64 now_ms, u32 max_bytes_s)
{
    Budget begun = {0};
    *budget = begun;
    budget->max_bytes_s = (f64)u32_max(max_bytes_s, BUDGET_MIN_BYTES_S);
    budget->bytes_s = fmin((f64)BUDGET_START_BYTES_S, budget->max_bytes_s);
    budget->last_ms = budget->heard_ms = budget->epoch_ms = now_ms;
    budget->base_window_ms = budget->loss_window_ms = now_ms;
    budget->delay_min_ms = INT64_MAX;
    budget->queue_limit_ms = BUDGET_QUEUE_MS;
    for (u32 i = 0; i < BUDGET_DELAYS; i++) {
        budget->base_ms[i] = INT64_MAX;
    }
}

static void budget_set(Budget *budget, f64 bytes_s)
{
    budget->bytes_s = f64_between(bytes_s, BUDGET_MIN_BYTES_S, budget->max_bytes_s);
}

/* Bytes that must accumulate before a packet is worth sending. */
static f64 packet_worth(f64 bytes_s)
{
    return f64_between(bytes_s * packet_s, packet_bytes_min, packet_bytes);
}

/* Transmission time of a packet: no queue, but part of each delay sample. */
static f64 packet_ms(const Budget *budget)
{
    return 1000.0 * packet_worth(budget->bytes_s) / budget->bytes_s;
}

static void knee_set(Budget *budget, f64 bytes_s, bool of_loss)
{
    budget->knee_bytes_s = bytes_s;
    budget->knee_of_loss = of_loss;
}

/* ---- delay ---- */

static void delay_sample(Budget *budget, u16 raw, u64 now_ms)
{
    /* Unwrapped: consecutive samples differ by less than half a minute. */
    i64 delay = budget->delay_known ? budget->delay_ms + (i16)(raw - (u16)budget->delay_ms) : raw;
    budget->delay_known = true;
    budget->delays++;
    budget->delay_ms = delay;
    budget->delay_min_ms = delay < budget->delay_min_ms ? delay : budget->delay_min_ms;
    if (now_ms - budget->base_window_ms >= BASE_WINDOW_MS) {
        budget->base_window_ms = now_ms;
        for (u32 i = BUDGET_DELAYS - 1; i > 0; i--) {
            budget->base_ms[i] = budget->base_ms[i - 1];
        }
        budget->base_ms[0] = delay;
    }
    budget->base_ms[0] = delay < budget->base_ms[0] ? delay : budget->base_ms[0];
}

static f64 queue_of(const Budget *budget)
{
    i64 base = budget->base_ms[0];
    for (u32 i = 1; i < BUDGET_DELAYS; i++) {
        base = budget->base_ms[i] < base ? budget->base_ms[i] : base;
    }
    return (f64)(budget->delay_min_ms - base);
}

static bool has_rivals(const Budget *budget)
{
    return budget->queue_limit_ms > BUDGET_QUEUE_MS + delay_noise_ms;
}

/* If the queue does not shrink for seconds although less is sent than arrives, competing flows
 * fill it; yielding to them forever would starve this client (the adaptive threshold of Carlucci
 * 2016). */
static void rivals_measure(Budget *budget, u64 now_ms)
{
    if (!budget->draining || budget->queue_ms < budget->lowest_ms - delay_noise_ms) {
        budget->lowest_ms = budget->queue_ms;
        budget->lowest_at_ms = now_ms;
    } else if (now_ms - budget->lowest_at_ms > RIVALS_MS) {
        f64 wanted = fmin(budget->queue_ms + 2.0 * BUDGET_QUEUE_MS, limit_most_ms);
        budget->queue_limit_ms += weight_slow * fmax(0.0, wanted - budget->queue_limit_ms);
    }
}

/* A standing queue: reduce below the arrived rate, so that it drains within about a second. */
static void congestion(Budget *budget, u64 now_ms)
{
    rivals_measure(budget, now_ms);
    budget->heard = true;
    f64 share = f64_between(1.0 - budget->queue_ms / 1000.0, drain_least, drain_most);
    share = has_rivals(budget) ? drain_most : share;
    /* Our own queue if the budget is the limit or more is sent than gets through. */
    bool ours = budget->used || budget->sent_bytes_s > (1.0 + tolerance) * budget->arrived_bytes_s;
    if (ours && budget->arrived_bytes_s > 0.0) {
        knee_set(budget, budget->arrived_bytes_s, false);
        budget_set(budget, fmin(budget->bytes_s, share * budget->arrived_bytes_s));
    } else {
        /* A competing flow's queue, or the budget is far above the sent rate. */
        budget_set(budget, budget->bytes_s * below);
    }
    budget->draining = true;
}

/* Bytes/s by which a used budget rises each second. */
static f64 rise_of(const Budget *budget)
{
    if (has_rivals(budget)) {
        /* As in TCP: one more packet per round trip. */
        f64 rtt_s = fmax(budget->rtt_ms, 50.0) / 1000.0;
        return packet_bytes / (rtt_s * rtt_s);
    }
    f64 share = rise_far_s;
    if (budget->knee_bytes_s > 0.0 && budget->bytes_s > (1.0 - tolerance) * budget->knee_bytes_s) {
        f64 past = budget->knee_of_loss ? knee_past_loss : 1.0;
        f64 near_s = budget->knee_of_loss ? rise_careful_s : rise_near_s;
        f64 beyond = f64_between(budget->bytes_s / budget->knee_bytes_s - past, 0.0, 1.0);
        share = near_s + (rise_far_s - near_s) * beyond;
    }
    share = budget->queue_ms > 0.5 * BUDGET_QUEUE_MS ? rise_careful_s : share;
    return fmax(budget->bytes_s * share, 0.25 * BUDGET_MIN_BYTES_S);
}

static void calm(Budget *budget, f64 seconds)
{
    if (budget->draining && budget->queue_ms > 3.0 * delay_noise_ms + 0.5 * packet_ms(budget) &&
        !has_rivals(budget)) {
        return;
    }
    if (budget->draining && !has_rivals(budget)) {
        budget_set(budget, fmax(budget->bytes_s, below * budget->knee_bytes_s));
    }
    budget->draining = false;
    if (budget->queue_ms < 0.3 * budget->queue_limit_ms) {
        budget->queue_limit_ms += weight_slow * ((f64)BUDGET_QUEUE_MS - budget->queue_limit_ms);
    }
    if (!budget->used || budget->hold) {
        return;
    }
    f64 risen = budget->bytes_s + rise_of(budget) * seconds;
    f64 most = rise_known * budget->arrived_bytes_s / (1.0 - budget->loss_known);
    budget_set(budget, fmax(budget->bytes_s, fmin(risen, most)));
}

/* ---- loss ---- */

static bool window_limited(const Budget *budget)
{
    return (f64)budget->limited >= limited_most * (f64)budget->snapshots;
}

/* Ends the experiment. If losses came from the queue, there are far fewer now, or as much
 * arrives. */
static void test_decide(Budget *budget, f64 arrived_bytes_s)
{
    bool fewer = budget->loss < 0.35 * budget->test_loss;
    /* The arrived rate measures the link only if the budget limited it. */
    bool as_much = budget->test_limited && !budget->test_void && window_limited(budget) &&
                   arrived_bytes_s > (0.5 + 0.5 * test_share) * budget->test_arrived_bytes_s;
    if (fewer) {
        /* Or a burst is over: the rise will show it. */
        knee_set(budget, budget->test_arrived_bytes_s / (1.0 - budget->loss_known), true);
    } else if (as_much) {
        knee_set(budget, arrived_bytes_s / (1.0 - budget->loss_known), true);
        budget_set(budget, fmin(budget->bytes_s, budget->knee_bytes_s));
    } else {
        /* If the world did not fill the budget all the time, this is only a hint. */
        bool sure = budget->test_limited && window_limited(budget);
        f64 known = sure ? budget->loss : fmin(budget->loss, budget->loss_known + loss_margin);
        budget->loss_known = fmin(known, loss_known_most);
        budget_set(budget, fmax(budget->bytes_s, budget->test_bytes_s));
    }
    budget->test_ms = 0;
    budget->hold = false;
}

static void test_begin(Budget *budget, f64 arrived_bytes_s, u64 now_ms)
{
    budget->test_bytes_s = budget->bytes_s;
    budget->test_loss = budget->loss;
    budget->test_arrived_bytes_s = arrived_bytes_s;
    budget->test_limited = window_limited(budget);
    budget_set(budget, budget->bytes_s * test_share);
    budget->test_void = budget->bytes_s > (1.0 - tolerance) * budget->test_bytes_s;
    /* Earlier packets must be acknowledged or given up first: a round trip plus the timeout. */
    budget->test_ms = now_ms + (u64)(2.0 * budget->rtt_ms) + 100;
}

static void window_begin(Budget *budget, u64 from_ms)
{
    budget->loss_window_ms = from_ms;
    budget->acked = budget->lost = 0;
    budget->snapshots = budget->limited = 0;
    budget->window_bytes = 0.0;
    budget->window_bytes_s = budget->bytes_s;
}

/* Ends a loss window. */
static void loss_decide(Budget *budget, u64 now_ms)
{
    budget->heard = true;
    f64 total = (f64)budget->acked + (f64)budget->lost;
    f64 seconds = (f64)(now_ms - budget->loss_window_ms) / 1000.0;
    f64 arrived_bytes_s = budget->window_bytes / seconds;
    budget->loss = (f64)budget->lost / total;
    f64 noise = 2.5 * sqrt(fmax(budget->loss * (1.0 - budget->loss), 0.01) / total);
    f64 excess = budget->loss - budget->loss_known;
    if (budget->test_ms != 0) {
        test_decide(budget, arrived_bytes_s);
    } else if (budget->loss > loss_flood) {
        budget_set(budget, fmin(arrived_bytes_s, test_share * budget->bytes_s));
        if (!budget->draining) {
            knee_set(budget, arrived_bytes_s, true);
        }
    } else if (excess > fmax(loss_margin, noise) && budget->limited > 0 && !budget->draining) {
        /* The arrived rate of a rising budget is not comparable: hold the budget for one window
         * first. */
        bool steady = budget->bytes_s <= (1.0 + tolerance) * budget->window_bytes_s;
        budget->hold = true;
        if (!steady) {
            window_begin(budget, now_ms + (u64)budget->rtt_ms);
            return;
        }
        test_begin(budget, arrived_bytes_s, now_ms);
    } else {
        budget->hold = false;
        budget->loss_known += weight_slow * fmin(excess, 0.0);
    }
    window_begin(budget, now_ms);
}

static void loss_update(Budget *budget, const BudgetReport *report, u64 now_ms)
{
    if (budget->test_ms > now_ms) {
        window_begin(budget, now_ms);
        return;
    }
    budget->acked += report->acked;
    budget->lost += report->lost;
    budget->window_bytes += (f64)report->acked_bytes + (f64)report->acked * BUDGET_HEAD_BYTES;
    u64 long_ms = now_ms - budget->loss_window_ms;
    u32 total = budget->acked + budget->lost;
    bool flood = total >= PACKETS && (f64)budget->lost > loss_flood * (f64)total;
    if ((long_ms >= SECOND_MS && total >= 2 * PACKETS) || (long_ms >= BUDGET_EPOCH_MS && flood)) {
        loss_decide(budget, now_ms);
    }
}

/* ---- reports ---- */

static void rate_follow(f64 *rate, f64 sample)
{
    *rate += (*rate > 0.0 ? weight_fast : 1.0) * (sample - *rate);
}

static void epoch_end(Budget *budget, u64 now_ms)
{
    f64 seconds = (f64)(now_ms - budget->epoch_ms) / 1000.0;
    rate_follow(&budget->arrived_bytes_s, (f64)budget->acked_bytes / seconds);
    rate_follow(&budget->sent_bytes_s, (f64)budget->sent_bytes / seconds);
    if (budget->delay_min_ms != INT64_MAX) {
        budget->queue_ms = queue_of(budget);
    }
    bool waits = budget->own && budget->near; /* for a processor, not in a queue */
    if (budget->queue_ms > budget->queue_limit_ms && !waits) {
        congestion(budget, now_ms);
    } else {
        calm(budget, fmin(seconds, 1.0));
    }
    budget->epoch_ms = now_ms;
    budget->acked_bytes = budget->sent_bytes = 0;
    budget->delay_min_ms = INT64_MAX;
    budget->delays = 0;
    budget->used = false;
}

/* The minimum of few delays includes jitter: under high loss an epoch takes longer, since a
 * falsely detected queue would narrow the budget and so give still fewer samples. */
static bool epoch_is_over(const Budget *budget, u64 now_ms)
{
    u64 long_ms = now_ms - budget->epoch_ms;
    bool sure = budget->loss_recent < loss_few || budget->delays >= DELAYS_MIN;
    return long_ms >= BUDGET_EPOCH_MS && (sure || long_ms >= 4 * BUDGET_EPOCH_MS);
}

/* After a silence, losses and delays during it carry no information about the link. */
static void silence_end(Budget *budget, u64 now_ms)
{
    budget->silent = false;
    budget->epoch_ms = now_ms;
    budget->acked_bytes = budget->sent_bytes = 0;
    budget->delay_min_ms = INT64_MAX;
    budget->delays = 0;
    budget->queue_ms = 0.0;
    budget->arrived_bytes_s = budget->sent_bytes_s = 0.0;
    budget->test_ms = 0;
    budget->hold = false;
    budget->draining = false;
    budget->near = budget->near && budget->own;
    /* The link may have changed, but not within a machine: restart as at the beginning, or with
     * half of the former rate (RFC 2861). */
    if (!budget->near) {
        budget_set(budget, fmin(0.5 * budget->bytes_s, (f64)BUDGET_START_BYTES_S));
    }
    /* The losses are reported during the next round trip. */
    budget->begun_ms = now_ms + (u64)budget->rtt_ms + BUDGET_EPOCH_MS;
    window_begin(budget, budget->begun_ms);
}

/* Loss over the last dozens of packets, to judge the significance of few samples. */
static void recent_follow(Budget *budget, const BudgetReport *report, u64 now_ms)
{
    u32 total = report->acked + report->lost;
    if (total == 0 || now_ms < budget->begun_ms) {
        return;
    }
    f64 weight = fmin((f64)total / PACKETS, 1.0);
    budget->loss_recent += weight * ((f64)report->lost / (f64)total - budget->loss_recent);
}

void budget_feedback(Budget *budget, const BudgetReport *report, u64 now_ms)
{
    budget->heard_ms = now_ms;
    if (budget->silent) {
        silence_end(budget, now_ms);
    }
    if (report->rtt_ms > 0.0) {
        budget->rtt_ms +=
            (budget->rtt_ms > 0.0 ? weight_slow : 1.0) * (report->rtt_ms - budget->rtt_ms);
    }
    if (report->acked > 0 && now_ms >= budget->begun_ms) {
        delay_sample(budget, (u16)(report->send_ms - report->echo_ms), now_ms);
    }
    bool untried = budget->own || (budget->knee_bytes_s == 0.0 && report->lost == 0);
    if (!budget->near && untried && report->rtt_ms > 0.0 &&
        report->rtt_ms * 1000.0 < (f64)BUDGET_NEAR_US) {
        budget_near(budget);
    }
    budget->first_acked += report->acked_bytes + (u64)report->acked * BUDGET_HEAD_BYTES;
    budget->first_ms = budget->first_ms == 0 && report->acked > 0 ? now_ms : budget->first_ms;
    bool waited = budget->first_ms != 0 && now_ms - budget->first_ms > SECOND_MS;
    budget->heard = budget->heard || waited || budget->first_acked >= BUDGET_FIRST_BYTES;
    recent_follow(budget, report, now_ms);
    budget->acked_bytes += report->acked_bytes + (u64)report->acked * BUDGET_HEAD_BYTES;
    if (now_ms >= budget->loss_window_ms) {
        loss_update(budget, report, now_ms);
    }
    if (epoch_is_over(budget, now_ms)) {
        epoch_end(budget, now_ms);
    }
}

/* ---- spending ---- */

/* Without reports the rate is the least: messages must not keep it from carrying states, or their
 * receiver could never report. */
static f64 rate_now(const Budget *budget)
{
    return budget->silent ? (f64)BUDGET_MIN_BYTES_S : budget->bytes_s;
}

u32 budget_take(Budget *budget, u64 now_ms)
{
    CHECK(now_ms >= budget->last_ms && now_ms >= budget->heard_ms);
    u64 timeout_ms = SECOND_MS + (u64)(2.0 * budget->rtt_ms);
    budget->silent = budget->silent || now_ms - budget->heard_ms > timeout_ms;
    f64 bytes_s = rate_now(budget), gained = (f64)(now_ms - budget->last_ms) / 1000.0 * bytes_s;
    f64 paid = fmin(budget->owed, owed_share * gained);
    budget->owed -= paid;
    budget->tokens += gained - paid;
    budget->last_ms = now_ms;
    budget->tokens = fmin(budget->tokens, fmax(bytes_s * burst_s, packet_bytes));
    /* After the first flight the window doubles with confirmations (slow start, RFC 5681). */
    if (!budget->heard && !budget->silent &&
        budget->first_bytes >= BUDGET_FIRST_BYTES + 2 * budget->first_acked) {
        return 0;
    }
    if (budget->tokens < packet_worth(bytes_s)) {
        budget->used = budget->used || budget->tokens < 0.0;
        return 0;
    }
    budget->snapshots++;
    CHECK(budget->tokens >= BUDGET_HEAD_BYTES);
    return (u32)budget->tokens - BUDGET_HEAD_BYTES;
}

f64 budget_trusted(const Budget *budget)
{
    return fmin(budget->bytes_s, fmax(untried_bytes_s, 2.0 * budget->arrived_bytes_s));
}

void budget_other(Budget *budget, u32 bytes)
{
    f64 rate = rate_now(budget), cost = (f64)bytes + BUDGET_HEAD_BYTES;
    f64 now = f64_between(budget->tokens - packet_worth(rate), 0.0, cost);
    budget->tokens -= now;
    budget->owed = fmin(budget->owed + cost - now, owed_s * rate);
}

void budget_begin(Budget *budget, f64 bytes_s, f64 rtt_ms, u64 now_ms)
{
    budget->rtt_ms = budget->rtt_ms > 0.0 ? budget->rtt_ms : rtt_ms;
    if (bytes_s > 0.0) {
        budget_set(budget, fmin(budget->bytes_s, fmax(bytes_s, (f64)BUDGET_BEGIN_BYTES_S)));
    }
    budget->heard_ms = budget->last_ms = now_ms;
    budget->silent = false;
    budget->first_bytes = budget->first_acked = 0;
    /* Losses of the first flight only show that it was too large, which is known. */
    budget->begun_ms = now_ms + (u64)budget->rtt_ms + BUDGET_EPOCH_MS;
    window_begin(budget, budget->begun_ms);
}

void budget_near(Budget *budget)
{
    budget->heard = budget->near = true;
    budget_set(budget, budget->max_bytes_s);
}

void budget_sent(Budget *budget, u32 bytes)
{
    budget->tokens -= (f64)bytes + BUDGET_HEAD_BYTES;
    budget->sent_bytes += bytes + BUDGET_HEAD_BYTES;
    budget->first_bytes += budget->heard ? 0 : bytes + BUDGET_HEAD_BYTES;
}

void budget_limited(Budget *budget)
{
    budget->used = true;
    budget->limited++;
}
