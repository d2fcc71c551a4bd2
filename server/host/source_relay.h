/*
 * source_relay.h: a relay: a Source whose frames come from another server, which it follows as a
 * client. It forwards each complete snapshot: the frames are those of the server above, bit for bit
 * and at the same ticks. If the connection is lost it reconnects, for as long as it takes; until
 * then the world stands still and clients stay connected.
 *
 * Trust. Data from above is validated like all external input. Users of the servers above are given
 * ids that no user of this host has: relay_user_here (company.h).
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
    u32 record_rate; /* RecorderOptions.picture_rate */
    u32 wait_ms;     /* time-out for the first world; 0: 30 s */
} RelayOptions;

typedef struct RelayStats {
    u64 frames;           /* from complete snapshots */
    u64 guessed;          /* from the newest state of each chunk, since no snapshot was complete */
    u64 worlds, sessions; /* begun */
    bool linked;
} RelayStats;

/* Follows the server that options.above dials, as a relay; waits for its world. NULL with an
 * error. */
Source *source_relay_create(const RelayOptions *options, ErrorText *error);
/* Without a thread and without waiting: the caller polls, for tests in virtual time. Give the
 * source to a host once relay_ready. */
Source *source_relay_create_polled(const RelayOptions *options, ErrorText *error);
void relay_poll(Source *source, u64 now_ns);
bool relay_ready(Source *source);
void relay_stats(Source *source, RelayStats *stats);

#endif
