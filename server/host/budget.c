/* budget.c: see budget.h. */
#include "server/host/budget.h"

enum {
    RTT_WINDOW_MS = 30000
};

/* A tenth of a second of bytes may go out in one burst, but always one full packet. */
static const f64 burst_s = 0.1;
static const f64 packet_bytes = 1200.0;
static const f64 rise_bytes_s2 = 40000.0; /* at most 0.32 Mbit/s more each second, ... */
static const f64 rise_share_s = 0.3;      /* ... on narrow lines this share of what it is */
static const f64 loss_tolerated = 0.25;   /* random loss of bad radio is no congestion ... */
static const f64 loss_with_queue = 0.02;  /* ... loss with a growing queue is */

void budget_init(Budget *budget, u64 now_ms, u32 max_bytes_s)
{
    Budget fresh = {0};
    *budget = fresh;
    budget->max_bytes_s = (f64)u32_max(max_bytes_s, BUDGET_MIN_BYTES_S);
    budget->bytes_s =
        BUDGET_START_BYTES_S < budget->max_bytes_s ? BUDGET_START_BYTES_S : budget->max_bytes_s;
    budget->last_ms = now_ms;
    budget->epoch_ms = now_ms;
    budget->rtt_window_ms = now_ms;
    budget->rtt_min_ms[0] = 1e9;
    budget->rtt_min_ms[1] = 1e9;
}

static f64 rtt_minimum(const Budget *budget)
{
    return budget->rtt_min_ms[0] < budget->rtt_min_ms[1] ? budget->rtt_min_ms[0]
                                                         : budget->rtt_min_ms[1];
}

static void decide(Budget *budget, f64 seconds)
{
    f64 total = (f64)budget->acked + (f64)budget->lost;
    f64 loss = total > 0.0 ? (f64)budget->lost / total : 0.0;
    f64 queue_ms =
        budget->rtt_count > 0 ? budget->rtt_sum_ms / budget->rtt_count - rtt_minimum(budget) : 0.0;
    bool queueing = queue_ms > BUDGET_QUEUE_MS;
    if (loss > loss_tolerated || (queueing && loss > loss_with_queue)) {
        budget->bytes_s *= 0.7;
    } else if (queueing) {
        budget->bytes_s *= 0.85;
    } else if (budget->used) {
        f64 rise = budget->bytes_s * rise_share_s;
        budget->bytes_s += (rise < rise_bytes_s2 ? rise : rise_bytes_s2) * seconds;
    }
    if (budget->bytes_s < BUDGET_MIN_BYTES_S) {
        budget->bytes_s = BUDGET_MIN_BYTES_S;
    }
    if (budget->bytes_s > budget->max_bytes_s) {
        budget->bytes_s = budget->max_bytes_s;
    }
}

void budget_feedback(Budget *budget, u32 acked, u32 lost, f64 rtt_ms, u64 now_ms)
{
    budget->acked += acked;
    budget->lost += lost;
    if (rtt_ms > 0.0) {
        budget->rtt_sum_ms += rtt_ms;
        budget->rtt_count++;
        if (now_ms - budget->rtt_window_ms > RTT_WINDOW_MS) {
            budget->rtt_window_ms = now_ms;
            budget->rtt_min_ms[1] = budget->rtt_min_ms[0];
            budget->rtt_min_ms[0] = rtt_ms;
        }
        if (rtt_ms < budget->rtt_min_ms[0]) {
            budget->rtt_min_ms[0] = rtt_ms;
        }
    }
    if (now_ms - budget->epoch_ms >= BUDGET_EPOCH_MS) {
        decide(budget, (f64)u64_min(now_ms - budget->epoch_ms, 1000) / 1000.0);
        budget->epoch_ms = now_ms;
        budget->acked = 0;
        budget->lost = 0;
        budget->rtt_sum_ms = 0.0;
        budget->rtt_count = 0;
        budget->used = false;
    }
}

u32 budget_take(Budget *budget, u64 now_ms)
{
    budget->tokens += (f64)(now_ms - budget->last_ms) / 1000.0 * budget->bytes_s;
    budget->last_ms = now_ms;
    f64 most = budget->bytes_s * burst_s;
    if (most < packet_bytes) {
        most = packet_bytes;
    }
    if (budget->tokens > most) {
        budget->tokens = most;
    }
    return budget->tokens > 0.0 ? (u32)budget->tokens : 0;
}

void budget_spend(Budget *budget, u32 bytes, bool limited)
{
    budget->tokens -= bytes;
    budget->used = budget->used || limited;
}
