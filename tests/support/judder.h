/*
 * judder.h: measures how evenly motion is displayed over a network. Snapshots of bodies with known
 * motion pass through the real sender and a simulated network, and are displayed at 60 Hz by the
 * client's timeline or by a naive player. The displayed positions are differentiated twice at the
 * display rate and compared with the true acceleration.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_JUDDER_H
#define PLENUM_TESTS_SUPPORT_JUDDER_H

#include "shared/base/base.h"

/* One direction, seeded. Each packet is delayed by delay + jitter·u + tail·e, with u uniform in
 * [0, 1) and e exponentially distributed with mean 1. Stalls follow each other after gap_s·[0.5,
 * 1.5); packets sent during one arrive together at its end. */
typedef struct JudderNetwork {
    const char *name, *about;
    u64 seed;
    f64 delay_ms, jitter_ms, tail_ms;
    f64 loss;                                                         /* [0, 1] */
    f64 stall_gap_s, stall_ms_min, stall_ms_max;                      /* of the network */
    f64 server_stall_gap_s, server_stall_ms_min, server_stall_ms_max; /* of the server */
    f64 drift;  /* relative rate error of the server's clock */
    f64 rate_s; /* > 0: the snapshot rate changes every rate_s: 60, 20, 30, ... Hz */
    /* Instead of all of these: packet delays from a file of tests/assets/make_arrivals.c, relative
     * to the top folder. */
    const char *recorded;
} JudderNetwork;

typedef enum JudderPlayer {
    JUDDER_OURS,   /* client/link/timeline.h */
    JUDDER_NEWEST, /* displays the newest state */
    JUDDER_FIXED,  /* interpolates linearly, one interval behind the first packet */
    JUDDER_PLAYERS
} JudderPlayer;

/* Peaks over all frames after 3 s. */
typedef struct Judder {
    f64 uniform_m_s2, uniform_p99_m_s2; /* displayed acceleration of a body at constant 2 m/s */
    f64 throw_m_s2, throw_p99_m_s2;     /* of a bouncing ball in flight, minus gravity */
    f64 angular_acceleration_rad_s2,
        angular_acceleration_p99_rad_s2; /* of a body at constant 6 rad/s
                                                                           */
    f64 depth_mm;                        /* penetration of the ball into the ground */
    f64 error_mm; /* position error of the body at constant velocity at the displayed tick */
    f64 delay_ms; /* mean age of what is displayed, beyond that of the fastest packet */
    f64 delay_p95_ms;
    f64 starved;    /* fraction of frames without a newer state */
    bool went_back; /* display time ran backwards */
} Judder;

/* Home Wi-Fi, LTE and so on. */
extern const JudderNetwork judder_networks[];
extern const u32 judder_network_count;
const JudderNetwork *judder_network(const char *name);
const char *judder_player_name(JudderPlayer player);

/* Simulates `seconds`. Aborts if out of memory or if a packet does not decode. */
Judder judder_play(const JudderNetwork *network, JudderPlayer player, f64 seconds);

#endif
