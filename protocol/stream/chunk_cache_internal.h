/*
 * chunk_cache_internal.h: internals of a chunk cache, for chunk_cache.c and chunk_cache_validate.c.
 * Layer: protocol/stream, private.
 */
#ifndef PLENUM_PROTOCOL_STREAM_CHUNK_CACHE_INTERNAL_H
#define PLENUM_PROTOCOL_STREAM_CHUNK_CACHE_INTERNAL_H

#include "protocol/stream/chunk_cache.h"

enum {
    ARENA_BLOCK_BYTES = 128 << 10,
    FRAMES = 1 + SPAN_STATES,
    WORDS = CHUNK_CACHE_STEPS / 64,
};

typedef struct ArenaBlock {
    struct ArenaBlock *next;
    u32 used;
    u32 reserved;
    u8 bytes[ARENA_BLOCK_BYTES];
} ArenaBlock;

typedef struct CacheEntry {
    struct CacheEntry *next;
    SpanBase base;
    u32 capacity;
    bool full; /* further chunks would not have fitted */
    const u16 *chunks;
    SpanCode code;
} CacheEntry;

typedef struct CacheChunk {
    ChunkInfo info;
    u64 changes[WORDS]; /* bit i: the state changed in the frame begun i steps ago */
    u64 older;          /* tick of its newest change not covered by `changes`, 0: none */
    u64 stamp;          /* `codes` are of this begin */
    CacheEntry *codes;
} CacheChunk;

struct ChunkCache {
    const History *history;
    Frame *frame; /* owned reference */
    u64 stamp;
    u64 steps[CHUNK_CACHE_STEPS]; /* ticks of begun frames, slot step % CHUNK_CACHE_STEPS */
    u64 step;                     /* number of the newest step, from 1 at the start of the stream */
    u32 first[FIELDS_MAX];        /* index of the field's first chunk in chunks[] */
    u32 chunk_total;
    CacheChunk *chunks;
    ArenaBlock *blocks, *block; /* all, and the one being filled */
    SpanCoder *coder;
    /* Bytes per chunk: delta-coded, as a key; by shift. */
    f32 cost[FIELDS_MAX][2][DETAIL_SHIFT_MAX + 1];
    u8 *states[FRAMES]; /* dense, of a span being coded */
    u64 encoded, served;
};

#endif
