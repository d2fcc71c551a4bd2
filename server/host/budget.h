/*
 * budget.h: how many bytes per second a client gets. Rises slowly while the path is quiet, falls
 * fast when packets are lost or queue up (round trip above its minimum): additive increase,
 * multiplicative decrease, with the queueing delay as the early sign (as LEDBAT, RFC 6817, uses
 * it). Pure: time is an argument. Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_BUDGET_H
#define PLENUM_SERVER_HOST_BUDGET_H

#include "shared/base.h"

enum {
    BUDGET_START_BYTES_S = 1000000 / 8, /* 1 Mbit/s */
    BUDGET_MIN_BYTES_S = 64000 / 8,     /* 64 kbit/s: below it a world cannot be followed */
    BUDGET_MAX_BYTES_S = 20000000 / 8,  /* 20 Mbit/s, the default server maximum */
    BUDGET_EPOCH_MS = 200,              /* decisions are taken this often */
    BUDGET_QUEUE_MS = 60,               /* a standing queue beyond this means: too fast */
};

typedef struct Budget {
    f64 bytes_s; /* what the client may get now */
    f64 max_bytes_s;
    f64 tokens;      /* bytes that may be sent at once */
    u64 last_ms;     /* of budget_take */
    u64 epoch_ms;    /* start of the current epoch */
    u32 acked, lost; /* packets in this epoch */
    f64 rtt_sum_ms;
    u32 rtt_count;
    f64 rtt_min_ms[2]; /* minimum of this and of the former 30 s window */
    u64 rtt_window_ms;
    bool used; /* the budget was the limit in this epoch: only then may it rise */
} Budget;

void budget_init(Budget *budget, u64 now_ms, u32 max_bytes_s);
/* What an acknowledgement told: packets confirmed, packets given up, and a round trip (0: none). */
void budget_feedback(Budget *budget, u32 acked, u32 lost, f64 rtt_ms, u64 now_ms);
/* Bytes that may go out now; call once a snapshot. */
u32 budget_take(Budget *budget, u64 now_ms);
/* Says what really went out and whether more would have been sent. */
void budget_spend(Budget *budget, u32 bytes, bool limited);

#endif
