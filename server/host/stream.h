/*
 * stream.h: one stream of frames as replicated to its viewers: its source, the frames of the last
 * seconds, the encoded chunks of the newest, and the packed world for joining users. A host has one
 * that all share, and one for each session that left it (own_time.c). Private to the host's parts
 * (session.h).
 * Layer: server/host, private.
 */
#ifndef PLENUM_SERVER_HOST_STREAM_H
#define PLENUM_SERVER_HOST_STREAM_H

#include "protocol/scene/scene.h"
#include "protocol/stream/bulk.h"
#include "protocol/stream/chunk_cache.h"
#include "protocol/stream/entity_list.h"
#include "server/host/source.h"

typedef struct Stream {
    Source *source; /* owned; NULL: there is no stream */
    SourceStatus status;
    MessageStatus status_sent;
    History history;
    EntityList entities; /* as of the newest frame */
    u8 epoch;
    ChunkCache *cache;
    u64 cache_tick;
    bool cache_begun;
    u64 frame_hash;       /* of the cache's frame, for relays; 0: not computed */
    u64 decimate_version; /* version of the entities marked for decimation in the cache */
    BulkContent *world;   /* the description of `world_epoch`, packed for all joining clients; NULL:
                           none */
    u8 world_epoch;
    BulkPacker *packer; /* while it is packed, of world_clear; else NULL */
    u8 *world_clear;
    Event *world_tail; /* [WORLD_TAIL_MAX] spawns and removals since it was described */
    u32 world_tail_count;
    u64 snapshot_ns, status_ms; /* when the next is due */
    /* ---- of a session's own stream ---- */
    u64 opened_ms;
    bool abandoned;          /* nobody watches it: it ends as soon as its source can */
    PlaySegment common_sent; /* the common stream's, as sent to its session */
} Stream;

enum {
    /* After so many spawns and removals the world is packed again, if somebody joins. */
    WORLD_TAIL_MAX = 256,
};

/* Begins an empty stream of a source, which it takes over, also on failure. scene: borrowed, of the
 * entities; may be set later. False: out of memory, all is freed. */
bool stream_init(Stream *stream, Source *source, const Scene *scene);
/* Destroys the source, too. Fine for one without a source. */
void stream_finish(Stream *stream);

#endif
