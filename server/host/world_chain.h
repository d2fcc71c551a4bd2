/*
 * world_chain.h: the worlds of a source that follows another one (source_relay.c, source_broker.c):
 * its thread adds them, newest last; the host takes frames and needs the world that each is of, and
 * none before it.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_WORLD_CHAIN_H
#define PLENUM_SERVER_HOST_WORLD_CHAIN_H

#include "server/host/world_copy.h"

#include <pthread.h>

typedef struct WorldChain {
    WorldCopy *newest; /* the follower's; NULL before the first */
    /* ---- the host's ---- */
    WorldCopy *taken;    /* of the last frame taken; the oldest world kept */
    EntityList entities; /* after that frame */
    u64 tick;            /* of that frame */
} WorldChain;

/* By the follower; owns the world. The mutex is that of the frames between the two. */
void world_chain_add(WorldChain *chain, WorldCopy *world, pthread_mutex_t *mutex);
/* By the host, with each frame in order, which may be NULL: none. */
void world_chain_take(WorldChain *chain, const Frame *frame, pthread_mutex_t *mutex);
/* As a source describes its world (source.h). */
void world_chain_describe(const WorldChain *chain, MessageWorld *out);
void world_chain_finish(WorldChain *chain);

#endif
