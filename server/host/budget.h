/*
 * budget.h: how many bytes per second a client gets: what its line carries, found without filling
 * the line's queue.
 *
 * Delay is the first sign. A client's packets say when the newest state packet arrived on its clock
 * and when that was sent on ours: the difference, less its minimum, is how long packets queue on
 * the way down, whatever the way back does (LEDBAT, RFC 6817: one-way delay, minimum filter against
 * jitter). A standing queue sets the budget below the rate that arrived, until it has drained
 * (Carlucci 2016, GCC: a share of the received rate; BBR, Cardwell 2016: drain, then cruise).
 * Loss is the second. It may be the air's or a short queue's: when there is more than is known of
 * this path, the budget is lowered for a second to see whether less is lost or as much arrives all
 * the same (experiments as in PCC, Dong 2015). If so it was the queue; if not, that share of loss
 * is taken for granted from then on and the budget returns.
 * Otherwise a budget that is used rises: it doubles each second while far from where it last met a
 * limit, creeps near it and hurries again beyond it, but never over half as much again as arrives
 * (GCC): delays of few packets tell of a queue late.
 * Pure: time is an argument.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_BUDGET_H
#define PLENUM_SERVER_HOST_BUDGET_H

#include "shared/base/limits.h"

enum {
    BUDGET_START_BYTES_S = 1000000 / 8, /* 1 Mbit/s */
    /* 32 kbit/s: the narrowest line worth it is 64 kbit/s, and its queue must be able to drain. */
    BUDGET_MIN_BYTES_S = 32000 / 8,
    BUDGET_MAX_BYTES_S = 20000000 / 8,            /* 20 Mbit/s, the default server maximum */
    BUDGET_HEAD_BYTES = 40 + SEAL_OVERHEAD_BYTES, /* IP, UDP, ENet and seal of a packet */
    /* A shorter round trip is that of a loopback or a LAN, which carries the most there is: a
     * packet alone takes 1.2 ms at 8 Mbit/s. */
    BUDGET_NEAR_US = 2000,
    BUDGET_FIRST_BYTES = 16000, /* before anything was confirmed: little for any line (RFC 6928) */
    BUDGET_BEGIN_BYTES_S =
        64000 / 8,         /* what a line is taken to carry, however bad its first trips */
    BUDGET_EPOCH_MS = 200, /* decisions are taken this often */
    /* A standing queue beyond this means: too fast. Two snapshots at 30 Hz in a row are 67 ms. */
    BUDGET_QUEUE_MS = 60,
    BUDGET_DELAYS = 3, /* windows of the delay's minimum */
};

/* What an input packet told. */
typedef struct BudgetReport {
    u32 acked, lost; /* packets newly confirmed, and given up */
    u32 acked_bytes; /* payload of the confirmed */
    u16 send_ms;     /* InputPacket.send_ms and .echo_ms: their difference is the delay of the */
    u16 echo_ms;     /* newest state packet plus a constant, the clocks' offset */
    f64 rtt_ms;      /* 0: unknown */
} BudgetReport;

typedef struct Budget {
    f64 bytes_s; /* what the client may get now */
    f64 max_bytes_s;
    f64 tokens;  /* bytes that may be sent at once; negative: sent ahead */
    u64 last_ms; /* of budget_take */
    u64 heard_ms;
    u64 begun_ms; /* what lay around during a silence came before this */
    f64 rtt_ms;   /* smoothed */

    /* the epoch */
    u64 epoch_ms; /* its start */
    u64 acked_bytes, sent_bytes;
    i64 delay_min_ms; /* INT64_MAX: no sample */
    u32 delays;       /* samples */
    bool used;        /* the budget was the limit: only then may it rise */
    u64 first_bytes;  /* sent while the first flight is not confirmed, */
    u64 first_acked;  /* and confirmed of it */
    u64 first_ms;     /* when any of it was first, 0: not yet */
    bool heard;       /* as much as it had was, or the line showed what it carries */
    bool near;        /* it had a round trip of a LAN once, since the last silence */
    bool silent;      /* nothing was heard for long: only the least goes out */

    /* delay */
    i64 delay_ms; /* unwrapped, of the last sample */
    bool delay_known;
    i64 base_ms[BUDGET_DELAYS]; /* minima of this window and those before */
    u64 base_window_ms;
    f64 queue_ms;       /* of the last epoch that had a sample */
    f64 queue_limit_ms; /* above BUDGET_QUEUE_MS while others keep the queue full */
    bool draining;
    u64 lowest_at_ms;    /* when the standing queue was last shorter than ever: */
    f64 lowest_ms;       /* so long */
    f64 arrived_bytes_s; /* rate that was confirmed, over some epochs */
    f64 sent_bytes_s;    /* rate that was sent */
    f64 knee_bytes_s;    /* rate that arrived when the line was last full; 0: unknown */
    bool knee_of_loss;   /* it was met by loss: more would be lost beyond it, not only queue */

    /* loss */
    u32 acked, lost;        /* packets in this window */
    u64 loss_window_ms;     /* its start */
    f64 loss_known;         /* share that is the path's own */
    f64 loss;               /* of the last window */
    f64 loss_recent;        /* smoothed over some sixteen packets */
    f64 window_bytes;       /* confirmed in this window */
    f64 window_bytes_s;     /* the budget at its start */
    u32 snapshots, limited; /* in this window; those that the budget cut short */
    u64 test_ms;            /* when the window of the experiment begins, 0: there is none */
    f64 test_bytes_s;       /* the budget before it ... */
    f64 test_loss;          /* ... and what was lost and arrived */
    f64 test_arrived_bytes_s;
    bool test_limited; /* the budget was the limit all the while */
    bool test_void;    /* it could not be lowered enough to see anything */
    bool hold;         /* more was lost than is known: no rise until an experiment tells */
} Budget;

void budget_init(Budget *budget, u64 now_ms, u32 max_bytes_s);
void budget_feedback(Budget *budget, const BudgetReport *report, u64 now_ms);
/* Payload bytes that a snapshot may have now, 0: send none. Call once a snapshot. Where the budget
 * is small it waits until a packet is worth its head, and none is long for the line. */
u32 budget_take(Budget *budget, u64 now_ms);
/* A packet with so many bytes of payload went out. */
void budget_sent(Budget *budget, u32 bytes);
/* What other things than states may count on: little more of the budget than was tried, for what is
 * lost of them and the queue that they make is not seen. Bytes/s. */
f64 budget_trusted(const Budget *budget);
/* So did one of another kind, on the same line: states have that much less. */
void budget_other(Budget *budget, u32 bytes);
/* The client could tell nothing until now, because it knew no world. What brought the world found
 * the line to carry bytes_s; 0: it found no limit. rtt_ms 0: unknown. */
void budget_begin(Budget *budget, f64 bytes_s, f64 rtt_ms, u64 now_ms);
/* The line is a loopback or a LAN (BUDGET_NEAR_US), as a transfer found: the client starts with the
 * most that it may get. The first reports may find that too. Should that be too much after all,
 * queues and losses tell as ever. */
void budget_near(Budget *budget);
/* The snapshot had more to say than the budget allowed. */
void budget_limited(Budget *budget);

#endif
