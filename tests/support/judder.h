/*
 * judder.h: how evenly motion is shown over a network: a server's snapshots of bodies whose motion
 * is known go through the real sender, arrive as a network of stated parameters lets them, and are
 * shown 60 times a second by the client's timeline or by a naive player. What is shown is
 * differentiated twice at the display's rate and compared with the true acceleration.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_JUDDER_H
#define PLENUM_TESTS_SUPPORT_JUDDER_H

#include "shared/base/base.h"

/* One way, seeded. Every packet takes delay + jitter·u + tail·e more, u uniform in [0, 1) and e of
 * an exponential distribution with mean 1. Stalls come after gap_s·[0.5, 1.5): what is sent
 * meanwhile arrives at once at the end. */
typedef struct JudderNetwork {
    const char *name, *about;
    u64 seed;
    f64 delay_ms, jitter_ms, tail_ms;
    f64 loss;                                                         /* [0, 1] */
    f64 stall_gap_s, stall_ms_min, stall_ms_max;                      /* of the network */
    f64 server_stall_gap_s, server_stall_ms_min, server_stall_ms_max; /* the server stands */
    f64 drift;  /* the server's clock runs faster by this share */
    f64 rate_s; /* > 0: snapshots a second change every rate_s: 60, 20, 30, ... */
    /* Instead of all of these: each packet takes as long as the next of a file of
     * tests/assets/make_arrivals.c, from the top folder. */
    const char *recorded;
} JudderNetwork;

typedef enum JudderPlayer {
    JUDDER_OURS,   /* client/link/timeline.h */
    JUDDER_NEWEST, /* the newest state, as it is */
    JUDDER_FIXED,  /* linear between states, one interval behind the first packet's clock */
    JUDDER_PLAYERS
} JudderPlayer;

/* Peaks are the largest of all pictures from 3 s on. */
typedef struct Judder {
    f64 uniform_m_s2, uniform_p99_m_s2; /* a body at an even 2 m/s: shown acceleration */
    f64 throw_m_s2, throw_p99_m_s2;     /* a bouncing ball in flight: less gravity's 9.81 m/s² */
    f64 angular_acceleration_rad_s2, angular_acceleration_p99_rad_s2; /* a body at an even 6 rad/s
                                                                           */
    f64 depth_mm; /* of the ball under the ground that it bounces off */
    f64 error_mm; /* of the even body against the truth at the shown tick */
    f64 delay_ms; /* mean: what is shown is older than the fastest packet could make it */
    f64 delay_p95_ms;
    f64 starved;    /* share of pictures with nothing newer than what is shown */
    bool went_back; /* time did */
} Judder;

/* The networks: home wifi, LTE and so on. */
extern const JudderNetwork judder_networks[];
extern const u32 judder_network_count;
const JudderNetwork *judder_network(const char *name);
const char *judder_player_name(JudderPlayer player);

/* Plays `seconds` of it. Stops the program where memory is short or a packet does not decode. */
Judder judder_play(const JudderNetwork *network, JudderPlayer player, f64 seconds);

#endif
