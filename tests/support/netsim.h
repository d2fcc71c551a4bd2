/*
 * netsim.h: a seeded bad network for one direction: loss (independent and in bursts), delay,
 * jitter, reordering, duplication and a rate cap with a bounded queue (tail drop). Pure: time is an
 * argument, the same seed and the same sends give the same deliveries. Used in memory and inside a
 * UDP proxy. Loss bursts follow the two-state model of Gilbert 1960.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_NETSIM_H
#define PLENUM_TESTS_SUPPORT_NETSIM_H

#include "shared/base/base.h"

PL_BEGIN_C

enum {
    NETSIM_PACKET_BYTES_MAX = 2048
};

typedef struct NetsimOptions {
    u64 seed;
    f64 loss;          /* [0, 1], independent for each packet */
    f64 burst;         /* probability that a packet starts a burst in which all are lost */
    f64 burst_packets; /* mean length of a burst */
    f64 duplicate;     /* probability that a packet arrives twice, each with its own jitter */
    f64 delay_ms;      /* one way */
    f64 jitter_ms;     /* additional delay, uniform in [0, jitter]: reorders packets */
    bool ordered;      /* no reordering: a packet that would overtake arrives with its
                          predecessor */
    u32 rate_bytes_s;  /* 0: no limit */
    u32 queue_ms;      /* of the rate limit: packets that would wait longer are dropped; 0: 200
                          ms */
} NetsimOptions;

typedef struct Netsim Netsim;

/* NULL: out of memory. */
Netsim *netsim_create(const NetsimOptions *options);
void netsim_destroy(Netsim *netsim); /* NULL is fine */
/* Changes the conditions; packets in flight keep theirs. */
void netsim_set(Netsim *netsim, const NetsimOptions *options);
/* Sends a packet (copied, at most NETSIM_PACKET_BYTES_MAX; larger ones are dropped). */
void netsim_send(Netsim *netsim, const void *data, u32 bytes, u64 now_us);
/* Copies the next packet due at now_us to out[NETSIM_PACKET_BYTES_MAX] and returns its size, or
 * 0 if none is due. Equal times keep the order of sending. */
u32 netsim_receive(Netsim *netsim, u64 now_us, u8 *out);
/* When the next packet is due; UINT64_MAX if none is in flight. */
u64 netsim_next_us(const Netsim *netsim);
/* Queueing delay of a packet sent now. */
u64 netsim_queue_us(const Netsim *netsim, u64 now_us);

PL_END_C

#endif
