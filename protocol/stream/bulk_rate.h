/*
 * bulk_rate.h: how fast bulk blocks may go out. The sender models the path by the rate at which
 * blocks arrive and by the least round trip, and paces to that (the idea of BBR, Cardwell et al.
 * 2016), so loss alone does not slow it down: it begins slowly, doubles while the path gives more,
 * drains the queue that this filled, then asks for a little more now and then. What is lost while
 * it asks for less than the path gives is lost at any rate, and sent on top. A queue above
 * BULK_QUEUE_US makes it yield, well before a client's state stream would (budget.h).
 * Pure: time is an argument.
 * Layer: protocol/stream.
 */
#ifndef PLENUM_PROTOCOL_STREAM_BULK_RATE_H
#define PLENUM_PROTOCOL_STREAM_BULK_RATE_H

#include "shared/base/base.h"

enum {
    /* What a path gets before anything is known of it: an ordinary scene in one flight. */
    BULK_FLIGHT_START_BYTES = 40 * 1200,
    BULK_START_BYTES_S = 2000000,
    BULK_FLIGHT_MIN_BYTES = 4 * 1200,
    BULK_MAX_BYTES_S = 100000000 / 8, /* 100 Mbit/s */
    BULK_QUEUE_US = 25000,
    BULK_RATE_ROUNDS = 10,
};

typedef enum BulkPhase {
    BULK_BEGIN, /* doubles in each round trip */
    BULK_DRAIN, /* lets the queue of that empty */
    BULK_CRUISE /* the rate of the path, a quarter more in every eighth round trip */
} BulkPhase;

/* What was known when a packet went out; given back when it is acknowledged. */
typedef struct BulkStamp {
    u64 sent_us;
    u64 first_us;  /* when the packet was sent that was acknowledged last */
    u64 delivered; /* bytes acknowledged, and when the last of them was */
    u64 delivered_us;
    bool idle;  /* there was not enough to send: says nothing about the path */
    bool quiet; /* sent below the path's rate: no queue can have dropped it */
} BulkStamp;

typedef struct BulkRate {
    BulkPhase phase;
    f64 max_bytes_s;
    f64 rounds_bytes_s[BULK_RATE_ROUNDS]; /* best delivery rate of the last round trips, ring */
    f64 tokens;                           /* bytes that pacing lets go now */
    u64 paced_us;                         /* when tokens were counted last */
    u64 flight;                           /* bytes under way */
    u64 delivered, delivered_us, first_us, sent_us;
    u64 idle_until; /* samples are of an idle sender until so much is delivered; 0: none */
    u64 round_end;  /* the round trip ends when a packet sent after so much delivered returns */
    u64 rounds;
    u32 round_lost, round_acked;
    u32 quiet_lost, quiet_acked; /* halved now and then */
    u64 round_rtt_us;            /* least of the running round; UINT64_MAX none */
    f64 full_bytes_s;            /* rate when it last grew by a quarter */
    u32 full_rounds;
    bool yields; /* the last round trip found a queue */
    u32 cycle;
    u64 cycle_us;
    u64 rtt_us, rtt_var_us; /* smoothed; 0 unknown */
    u64 rtt_least_us[2];    /* of this window of 10 s and of the former one */
    u64 rtt_window_us;
    BulkStamp sample; /* newest packet of the acknowledgement that is being read */
    u64 sample_acked;
    bool sample_any;
} BulkRate;

void bulk_rate_init(BulkRate *rate, u32 max_bytes_s, u64 now_us);
/* Bytes that may go out now; a packet may go if this is above 0. */
i64 bulk_rate_allowance(BulkRate *rate, u64 now_us);
void bulk_rate_sent(BulkRate *rate, u32 bytes, BulkStamp *stamp, u64 now_us);
/* There is nothing to send although there is room. */
void bulk_rate_idle(BulkRate *rate);
/* Each packet that an acknowledgement confirms, then the whole: rtt_us of its newest, 0 unknown. */
void bulk_rate_acked(BulkRate *rate, u32 bytes, const BulkStamp *stamp, u64 now_us);
void bulk_rate_ack_end(BulkRate *rate, u64 rtt_us, u64 now_us);
void bulk_rate_lost(BulkRate *rate, u32 bytes, const BulkStamp *stamp);
/* The least round trip of the last 10 to 20 s; 0 unknown. */
u64 bulk_rate_rtt_least_us(const BulkRate *rate);
/* What the path is believed to give; 0 unknown. */
f64 bulk_rate_path_bytes_s(const BulkRate *rate);

#endif
