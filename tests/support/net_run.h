/*
 * net_run.h: one server and one client in virtual time over a simulated network: the real budget,
 * sender, chunk cache, receiver and timeline around a generated world. Compares what the client
 * displays with the true states; reproducible.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_NET_RUN_H
#define PLENUM_TESTS_SUPPORT_NET_RUN_H

#include "tests/support/net_world.h"
#include "tests/support/netsim.h"

enum {
    NET_SECONDS_MAX = 64
};

typedef struct NetCase {
    NetsimOptions down, up;
    u32 snapshot_hz;  /* 0: 30 */
    u32 measure_ms;   /* start of the measurement, after joining */
    u32 stall_ms[2];  /* from, to: the client neither reads nor sends */
    u32 change_ms[2]; /* from, to: the downlink has the conditions `changed` */
    NetsimOptions changed;
    bool full_detail; /* no coarse snapshots */
} NetCase;

typedef struct NetResult {
    u64 desyncs;   /* different hashes, missing baselines, and states that differ from the
                      server's in any bit */
    f64 px_median; /* error on the screen of what moves or is wrong, pixels */
    f64 px_p99;
    f64 delay_ms;   /* mean age of what is displayed, including the network's delay */
    f64 starved;    /* fraction of frames without a newer state */
    f64 gap_ms;     /* longest time without a newer snapshot */
    f64 stale_s;    /* longest time until the client knew a chunk's change */
    f64 whole_s;    /* time at which the client had a state of every chunk; 0: never */
    f64 queue_ms;   /* 95 % quantile of the queueing delay */
    f64 kbit_s;     /* sent state packets, including IP, UDP, ENet and seal overhead */
    f64 goodput;    /* fraction of these that arrived */
    f64 coarseness; /* mean, 0 (full detail) .. SNAPSHOT_COARSENESS_MAX */
    u64 packets, keys, records, late;
    /* By second of the run: */
    f64 second_px[NET_SECONDS_MAX]; /* 95 % quantile */
    f64 second_kbit[NET_SECONDS_MAX];
    u32 seconds;
} NetResult;

/* Runs the case until the world has no more frames. False: out of memory. */
bool net_run(const NetWorld *world, const NetCase *net_case, NetResult *result);

#endif
