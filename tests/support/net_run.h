/*
 * net_run.h: one server and one client on virtual time with a bad network between them: the real
 * budget, sender, chunk cache, receiver and timeline around a generated world, and what the client
 * saw compared with what was. The same case gives the same result each time.
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
    u32 measure_ms;   /* figures are of what is shown after it: the join is over */
    u32 stall_ms[2];  /* from .. to: the client neither reads nor sends */
    u32 change_ms[2]; /* from .. to: the path down is `changed` */
    NetsimOptions changed;
    bool full_detail; /* never coarser */
} NetCase;

typedef struct NetResult {
    u64 desyncs;   /* hashes that differ, missing baselines, and states that are not the
                      server's bit for bit */
    f64 px_median; /* error on the screen of what moves or is wrong, in pixels */
    f64 px_p99;
    f64 delay_ms;   /* playout delay: how old what is shown is, mean, the network's included */
    f64 starved;    /* share of frames that had no later state to go to */
    f64 gap_ms;     /* longest time without a newer snapshot */
    f64 stale_s;    /* longest time that a chunk's change was not known to the client */
    f64 whole_s;    /* when the client first had a state of every chunk; 0: never */
    f64 queue_ms;   /* 95 % quantile of the wait in the capped line */
    f64 kbit_s;     /* state packets with IP, UDP, ENet and seal, sent */
    f64 goodput;    /* of them the share that arrived */
    f64 coarseness; /* mean, 0 (full detail) .. SNAPSHOT_COARSENESS_MAX */
    u64 packets, keys, records, late;
    /* By second of the run: */
    f64 second_px[NET_SECONDS_MAX]; /* 95 % quantile */
    f64 second_kbit[NET_SECONDS_MAX];
    u32 seconds;
} NetResult;

/* Plays the case for as long as the world has frames. False: no memory. */
bool net_run(const NetWorld *world, const NetCase *net_case, NetResult *result);

#endif
