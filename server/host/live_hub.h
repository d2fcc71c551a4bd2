/*
 * live_hub.h: the publisher's end of the messages beside a world's stream (live.h): the host's
 * messages for followers wait here for the publisher's thread, and those of followers wait for the
 * host. Both queues are bounded; messages that are too old or too many are dropped, so that no
 * broker and no follower can delay the host. Any thread may call; time is an argument.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_LIVE_HUB_H
#define PLENUM_SERVER_HOST_LIVE_HUB_H

#include "server/host/live.h"

typedef struct LiveHub LiveHub;

/* NULL: out of memory. */
LiveHub *live_hub_create(u64 run);
void live_hub_destroy(LiveHub *hub);

/* ---- the host's side ---- */

/* Sends a payload of live_write, which is the hub's from now on and gets its run. Only the newest
 * roster and presences are kept. */
void live_hub_push(LiveHub *hub, MessageKind kind, LivePayload payload, u64 now_ms);
/* The next payload of a follower, which the caller frees; NULL data: none. */
LivePayload live_hub_received(LiveHub *hub);
/* Payloads that were too large, too many, or for another run. */
u64 live_hub_refused(LiveHub *hub);

/* ---- the publisher's side ---- */

/* The next payload to send, which the caller frees; NULL data: none is due. */
LivePayload live_hub_next(LiveHub *hub, u64 now_ms);
/* A payload came. */
void live_hub_receive(LiveHub *hub, const u8 *data, size_t bytes);

#endif
