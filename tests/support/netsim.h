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
    f64 loss;          /* [0, 1], each packet on its own */
    f64 burst;         /* chance that a packet begins a burst in which all are lost */
    f64 burst_packets; /* mean length of a burst */
    f64 duplicate;     /* chance that a packet arrives twice, each with its own jitter */
    f64 delay_ms;      /* one way */
    f64 jitter_ms;     /* further delay, uniform in [0, jitter]: packets overtake each other */
    bool ordered;      /* but not here: who would overtake arrives with the one in front */
    u32 rate_bytes_s;  /* 0: no cap */
    u32 queue_ms;      /* of the rate cap: what would wait longer is dropped; 0: 200 ms */
} NetsimOptions;

typedef struct Netsim Netsim;

/* NULL without memory. */
Netsim *netsim_create(const NetsimOptions *options);
void netsim_destroy(Netsim *netsim); /* NULL is fine */
/* New conditions from now on; packets under way keep theirs. */
void netsim_set(Netsim *netsim, const NetsimOptions *options);
/* Takes a packet (copied, at most NETSIM_PACKET_BYTES_MAX; larger ones are dropped). */
void netsim_send(Netsim *netsim, const void *data, u32 bytes, u64 now_us);
/* Copies the next packet that is due at now_us into out[NETSIM_PACKET_BYTES_MAX] and returns its
 * size, or 0 when none is due. Equal times keep the order of sending. */
u32 netsim_receive(Netsim *netsim, u64 now_us, u8 *out);
/* When the next packet is due; UINT64_MAX when nothing is under way. */
u64 netsim_next_us(const Netsim *netsim);
/* How long a packet sent now would wait in the queue of the rate cap. */
u64 netsim_queue_us(const Netsim *netsim, u64 now_us);

PL_END_C

#endif
