/*
 * live_leaf.h: a follower's end of the messages beside a world's stream (live.h): reads those of
 * the publisher, and decides when to send which. Its owner carries the payloads and guards it with
 * a lock of its own; time is an argument.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_LIVE_LEAF_H
#define PLENUM_SERVER_HOST_LIVE_LEAF_H

#include "server/host/authorize.h"
#include "server/host/company.h"
#include "server/host/live.h"

typedef struct LiveLeaf {
    RelayCompany company;
    u64 follower;       /* this one */
    u64 run;            /* of the publisher; 0: none is followed */
    u64 heard_ms;       /* when it last sent its list of users; 0: never */
    u64 named_ms;       /* when our list of users was last sent */
    TokenBucket wanted; /* presences to send: the excess is sent later, or dropped */
    u64 refused;        /* payloads that were no message of a publisher's */
    bool sent_any;      /* since the list of users was empty */
} LiveLeaf;

/* follower: random, not 0. */
void live_leaf_init(LiveLeaf *leaf, u64 follower, u64 now_ms);
void live_leaf_finish(LiveLeaf *leaf);
/* Sets the publisher that is followed now; 0: none, and so no users. */
void live_leaf_follow(LiveLeaf *leaf, u64 run);
/* Handles a payload. 0, or a negative Error: it was refused. */
int live_leaf_receive(LiveLeaf *leaf, const u8 *data, size_t bytes, u64 now_ms);
/* The next payload to send, which the caller frees; NULL data: none is due. Call at least each
 * second. */
LivePayload live_leaf_next(LiveLeaf *leaf, u64 now_ms);

#endif
