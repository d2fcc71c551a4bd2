/*
 * source_relay.h: a relay: a Source whose frames come from another server, which it follows as one
 * client. It forwards each snapshot when it is complete: the frames are those of the server above,
 * bit for bit, at the same ticks. A server that is lost is looked for until it is found; meanwhile
 * the world stands still, and the clients stay.
 *
 * Trust. What comes from above is checked like all external bytes. Users of the servers above have
 * ids here that no user of this host has: relay_user_here.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_SOURCE_RELAY_H
#define PLENUM_SERVER_HOST_SOURCE_RELAY_H

#include "server/host/source.h"
#include "server/host/upstream.h"

typedef struct RelayOptions {
    UpstreamOptions above;
    const char *record_path; /* NULL: none */
    bool record_force;
    u32 wait_ms; /* for the first world; 0: 30 s */
} RelayOptions;

typedef struct RelayStats {
    u64 frames;  /* made of complete snapshots */
    u64 guessed; /* made of the newest states of each chunk, since no snapshot became complete */
    u64 worlds, sessions; /* begun */
    bool linked;
} RelayStats;

enum {
    /* Ids of users from above have here, in their high bits, one more than they had there. */
    RELAY_LEVEL_SHIFT = 28,
    RELAY_LEVELS_MAX = 15,
};

/* Follows the server that options.above dials; waits until its world is there. NULL with an
 * error. */
Source *source_relay_create(const RelayOptions *options, ErrorText *error);
/* Without a thread and without waiting: the caller polls, for tests in virtual time. The source is
 * to be given to a host when relay_ready. */
Source *source_relay_create_polled(const RelayOptions *options, ErrorText *error);
void relay_poll(Source *source, u64 now_ns);
bool relay_ready(Source *source);
void relay_stats(Source *source, RelayStats *stats);
/* The id here of a user of the server above; 0: none, or too many levels. */
u32 relay_user_here(u32 user_above);

#endif
