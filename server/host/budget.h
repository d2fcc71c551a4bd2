/*
 * budget.h: rate control: the bytes per second that a client's link carries, found without filling
 * the link's queue.
 *
 * Delay is the first signal. A client's packets report when the newest state packet arrived on its
 * clock and when it was sent on ours: the difference minus its minimum is the downstream queueing
 * delay, independent of the return path (LEDBAT, RFC 6817: one-way delay, minimum filter against
 * jitter). A standing queue sets the budget below the arrived rate until it has drained (Carlucci
 * 2016, GCC: a fraction of the received rate; BBR, Cardwell 2016: drain, then cruise). Loss is the
 * second. It may be random or caused by a short queue: when it exceeds the known loss of this path,
 * the budget is lowered for a second to see whether less is lost or as much still arrives
 * (experiments as in PCC, Dong 2015). If so, the queue was the cause; if not, that loss rate is
 * accepted from then on and the budget returns. Otherwise a used budget rises: it doubles each
 * second far from the last limit, creeps near it and speeds up again beyond it, but never above 1.5
 * times the arrived rate (GCC): the delays of few packets reveal a queue late.
 * Pure: time is an argument.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_BUDGET_H
#define PLENUM_SERVER_HOST_BUDGET_H

#include "shared/base/limits.h"

enum {
    BUDGET_START_BYTES_S = 1000000 / 8, /* 1 Mbit/s */
    /* 32 kbit/s: the narrowest supported link has 64 kbit/s, and its queue must be able to
     * drain. */
    BUDGET_MIN_BYTES_S = 32000 / 8,
    BUDGET_MAX_BYTES_S = 20000000 / 8,            /* 20 Mbit/s, the default server maximum */
    BUDGET_HEAD_BYTES = 40 + SEAL_OVERHEAD_BYTES, /* IP, UDP, ENet and seal overhead of a packet */
    /* A shorter round trip means loopback or LAN, which carries the maximum: one packet alone
     * takes 1.2 ms at 8 Mbit/s. */
    BUDGET_NEAR_US = 2000,
    BUDGET_FIRST_BYTES = 16000, /* before the first acknowledgement: acceptable for any link (RFC
                                   6928) */
    BUDGET_BEGIN_BYTES_S =
        64000 / 8,         /* minimal assumed bandwidth, however bad the first round trips */
    BUDGET_EPOCH_MS = 200, /* decision interval */
    /* A standing queue beyond this means that the rate is too high. Two snapshots at 30 Hz in a
     * row are 67 ms. */
    BUDGET_QUEUE_MS = 60,
    BUDGET_DELAYS = 3, /* windows of the delay's minimum */
};

/* Contents of an input packet. */
typedef struct BudgetReport {
    u32 acked, lost; /* packets newly confirmed, and newly considered lost */
    u32 acked_bytes; /* payload of the confirmed packets */
    u16 send_ms;     /* InputPacket.send_ms and .echo_ms: their difference is the delay of the */
    u16 echo_ms;     /* newest state packet plus a constant, the clocks' offset */
    f64 rtt_ms;      /* 0: unknown */
} BudgetReport;

typedef struct Budget {
    f64 bytes_s; /* current limit for the client */
    f64 max_bytes_s;
    f64 tokens;  /* bytes that may be sent at once; negative: overdrawn */
    f64 owed;    /* bytes sent beside states, not yet taken from the rate */
    u64 last_ms; /* of budget_take */
    u64 heard_ms;
    u64 begun_ms; /* samples of packets sent before, during a silence, are ignored */
    f64 rtt_ms;   /* smoothed */

    /* the epoch */
    u64 epoch_ms; /* its start */
    u64 acked_bytes, sent_bytes;
    i64 delay_min_ms; /* INT64_MAX: no sample */
    u32 delays;       /* samples */
    bool used;        /* the budget was the limit: only then may it rise */
    u64 first_bytes;  /* sent while the first flight is unconfirmed, */
    u64 first_acked;  /* and confirmed part of it */
    u64 first_ms;     /* time of its first confirmation, 0: not yet */
    bool heard;       /* the first flight was confirmed, or the link's rate became known */
    bool near;        /* had a LAN round trip once since the last silence */
    bool silent;      /* nothing was heard for long: the minimum is sent */
    bool own;         /* set by the owner: the client runs on this machine */

    /* delay */
    i64 delay_ms; /* unwrapped, of the last sample */
    bool delay_known;
    i64 base_ms[BUDGET_DELAYS]; /* minima of this window and those before */
    u64 base_window_ms;
    f64 queue_ms;       /* of the last epoch that had a sample */
    f64 queue_limit_ms; /* above BUDGET_QUEUE_MS while competing flows keep the queue full */
    bool draining;
    u64 lowest_at_ms;    /* when the standing queue last reached a new minimum: */
    f64 lowest_ms;       /* that minimum */
    f64 arrived_bytes_s; /* confirmed rate over some epochs */
    f64 sent_bytes_s;    /* sent rate */
    f64 knee_bytes_s;    /* rate that arrived when the link was last full; 0: unknown */
    bool knee_of_loss;   /* the knee was found by loss: beyond it more is lost, not only queued */

    /* loss */
    u32 acked, lost;        /* packets in this window */
    u64 loss_window_ms;     /* its start */
    f64 loss_known;         /* fraction attributed to the path itself */
    f64 loss;               /* of the last window */
    f64 loss_recent;        /* smoothed over some sixteen packets */
    f64 window_bytes;       /* confirmed in this window */
    f64 window_bytes_s;     /* the budget at its start */
    u32 snapshots, limited; /* in this window; those truncated by the budget */
    u64 test_ms;            /* start of the experiment's window, 0: none */
    f64 test_bytes_s;       /* the budget before it ... */
    f64 test_loss;          /* ... and the loss and arrived rate then */
    f64 test_arrived_bytes_s;
    bool test_limited; /* the budget was the limit throughout */
    bool test_void;    /* it could not be lowered enough for a result */
    bool hold;         /* loss exceeds the known loss: no rise until an experiment decides */
} Budget;

/* Starts at a cautious rate; max_bytes_s bounds it. */
void budget_init(Budget *budget, u64 now_ms, u32 max_bytes_s);
void budget_feedback(Budget *budget, const BudgetReport *report, u64 now_ms);
/* Payload bytes allowed for a snapshot now, 0: send none. Call once per snapshot. With a small
 * budget it waits until a packet is worth its headers, and limits a packet's transmission time. */
u32 budget_take(Budget *budget, u64 now_ms);
/* Reports a sent state packet with `bytes` of payload. */
void budget_sent(Budget *budget, u32 bytes);
/* Rate that other data than states may rely on, bytes/s: little more of the budget than was
 * tried, since their losses and queueing are not measured. */
f64 budget_trusted(const Budget *budget);
/* Reports a packet of another kind on the same link: states get that much less. */
void budget_other(Budget *budget, u32 bytes);
/* Starts the budget when the client has received the world and can send reports. The world's
 * transfer measured bytes_s; 0: it met no limit. rtt_ms 0: unknown. */
void budget_begin(Budget *budget, f64 bytes_s, f64 rtt_ms, u64 now_ms);
/* Reports a loopback or LAN link (BUDGET_NEAR_US), found by a transfer: the client starts at the
 * maximal rate. Reports may find this too: the first ones, or on its own machine any. If it is too
 * much, queues and losses show it as usual; on its own machine only losses: delays there are those
 * of busy processors, which smaller packets do not shorten. */
void budget_near(Budget *budget);
/* Reports that the budget truncated the snapshot. */
void budget_limited(Budget *budget);

#endif
