/*
 * bulk_rate.h: congestion control of bulk transfers. The sender models the path by its delivery
 * rate and minimal round trip and paces accordingly (the idea of BBR, Cardwell et al. 2016), so
 * loss alone does not slow it down: it starts slowly, doubles while the delivery rate grows, drains
 * the queue that this created, then probes for more from time to time. Loss that occurs while
 * sending below the path's rate is taken as independent of congestion, and the lost data is sent on
 * top. A queue above BULK_QUEUE_US makes it back off, well before a client's state stream would
 * (budget.h).
 * Pure: time is an argument.
 * Layer: protocol/stream.
 */
#ifndef PLENUM_PROTOCOL_STREAM_BULK_RATE_H
#define PLENUM_PROTOCOL_STREAM_BULK_RATE_H

#include "shared/base/base.h"

enum {
    /* Initial window before the path is known: an ordinary scene in one flight. */
    BULK_FLIGHT_START_BYTES = 40 * 1200,
    BULK_START_BYTES_S = 2000000,
    BULK_FLIGHT_MIN_BYTES = 4 * 1200,
    BULK_MAX_BYTES_S = 100000000 / 8, /* 100 Mbit/s */
    BULK_QUEUE_US = 25000,
    BULK_RATE_ROUNDS = 10,
};

typedef enum BulkPhase {
    BULK_BEGIN, /* doubles each round trip */
    BULK_DRAIN, /* drains the resulting queue */
    BULK_CRUISE /* the path's rate, 25 % more in every eighth round trip */
} BulkPhase;

/* State when a packet was sent, returned with its acknowledgement. */
typedef struct BulkStamp {
    u64 sent_us;
    u64 first_us;  /* send time of the packet acknowledged last */
    u64 delivered; /* bytes acknowledged, and the time of the last acknowledgement */
    u64 delivered_us;
    bool idle;  /* application limited: no information about the path */
    bool quiet; /* sent below the path's rate: no queue of ours can have dropped it */
} BulkStamp;

typedef struct BulkRate {
    BulkPhase phase;
    f64 max_bytes_s;
    f64 rounds_bytes_s[BULK_RATE_ROUNDS]; /* best delivery rate of the last round trips, ring */
    f64 tokens;                           /* bytes that pacing currently allows */
    u64 paced_us;                         /* time of the last token update */
    u64 flight;                           /* bytes in flight */
    u64 delivered, delivered_us, first_us, sent_us;
    u64 idle_until; /* samples are application limited until this many bytes are delivered; 0:
                       none */
    u64 round_end;  /* the round ends when a packet sent after this many delivered bytes is
                       acknowledged */
    u64 rounds;
    u32 round_lost, round_acked;
    u32 quiet_lost, quiet_acked; /* halved periodically */
    u64 round_rtt_us;            /* minimum of the current round; UINT64_MAX none */
    f64 full_bytes_s;            /* rate at its last growth by 25 % */
    u32 full_rounds;
    bool yields; /* the last round found a queue */
    u32 cycle;
    u64 cycle_us;
    u64 rtt_us, rtt_var_us; /* smoothed; 0 unknown */
    u64 rtt_least_us[2];    /* of the current window of 10 s and of the previous one */
    u64 rtt_window_us;
    BulkStamp sample; /* newest packet of the acknowledgement being processed */
    u64 sample_acked;
    bool sample_any;
} BulkRate;

/* Starts slowly; max_bytes_s bounds the rate. */
void bulk_rate_init(BulkRate *rate, u32 max_bytes_s, u64 now_us);
/* Bytes that may be sent now; a packet may be sent if this is positive. */
i64 bulk_rate_allowance(BulkRate *rate, u64 now_us);
void bulk_rate_sent(BulkRate *rate, u32 bytes, BulkStamp *stamp, u64 now_us);
/* Reports that the sender is application limited: nothing to send although the window is open. */
void bulk_rate_idle(BulkRate *rate);
/* Call for each packet that an acknowledgement confirms, then once for the whole: rtt_us of its
 * newest, 0 unknown. */
void bulk_rate_acked(BulkRate *rate, u32 bytes, const BulkStamp *stamp, u64 now_us);
void bulk_rate_ack_end(BulkRate *rate, u64 rtt_us, u64 now_us);
void bulk_rate_lost(BulkRate *rate, u32 bytes, const BulkStamp *stamp);
/* Minimal round trip of the last 10 to 20 s; 0 unknown. */
u64 bulk_rate_rtt_least_us(const BulkRate *rate);
/* Estimated bandwidth of the path; 0 unknown. */
f64 bulk_rate_path_bytes_s(const BulkRate *rate);

#endif
