/*
 * follow.h: turns a broker's messages into frames: joins parts, restores their order, and has the
 * reader of recordings decode the blocks. Where messages are missing or damaged, it waits for the
 * next one from which a follower can start; the frame after that carries the changes since.
 * Messages are untrusted: a bad one can only end the current stream.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_FOLLOW_H
#define PLENUM_SERVER_HOST_FOLLOW_H

#include "server/host/broker.h"
#include "server/host/world_copy.h"

#include "protocol/record/recording.h"

typedef struct FollowHandler {
    void *context;
    /* The frames from now on are of this world, which is the handler's. */
    void (*world)(void *context, WorldCopy *world, const RecordingHead *head);
    /* The next frame, which is the handler's, and its inputs, borrowed. Users have the ids of the
     * publisher. If `anew`, it does not continue from the last one: it begins with EVENT_RESET. */
    void (*frame)(void *context, Frame *frame, bool anew, const Input *inputs, u32 count);
} FollowHandler;

typedef struct FollowStats {
    u64 messages, frames;
    u64 repeated; /* messages had before */
    u64 skipped;  /* not in order, until one to start at */
    u64 damaged;
} FollowStats;

typedef struct Follow Follow;
/* NULL: out of memory. */
Follow *follow_create(const FollowHandler *handler);
void follow_destroy(Follow *follow);
/* Handles a message or a part of one. 0, ERROR_STATE: out of order, or a repeat; ERROR_FORMAT and
 * others: damaged. */
int follow_message(Follow *follow, const BrokerMessage *message);
const FollowStats *follow_stats(const Follow *follow);

#endif
