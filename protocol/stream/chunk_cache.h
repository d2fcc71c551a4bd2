/*
 * chunk_cache.h: encode once, send to many: the spans of the newest frame, coded for all clients on
 * the same baselines, and what all clients share about its chunks. Used by one thread.
 * Layer: protocol/stream.
 */
#ifndef PLENUM_PROTOCOL_STREAM_CHUNK_CACHE_H
#define PLENUM_PROTOCOL_STREAM_CHUNK_CACHE_H

#include "protocol/codec/span.h"
#include "protocol/field/history.h"

PL_BEGIN_C

enum {
    /* Begun frames of which it is known what changed in them. */
    CHUNK_CACHE_STEPS = HISTORY_KEPT + HISTORY_FRAMES,
    CHUNK_REST_MAX = 15,
};

typedef struct SpanCode {
    const u8 *bytes; /* [size], all pointers are borrowed until the cache's next begin */
    u16 size;
    bool fallback;
    bool any_rest;
    u16 count;      /* chunks of the list that it holds, from the first on */
    const u8 *rest; /* [count]: how many ticks ago the chunk last had the state of the newest of
                       the older ticks, all the time since then, ≤ CHUNK_REST_MAX; 0: it left it at
                       once, or that was longer ago */
    u16 hash;       /* span_state_hash of the coded states */
} SpanCode;

/* What a code is made of: ticks newest first, 0 and all after it: none, ticks[0] = 0: a key; what
 * the clients have of them, and what they get. */
typedef struct SpanBase {
    u64 ticks[SPAN_STATES];
    Detail states[SPAN_STATES]; /* 0 where there is no tick */
    Detail detail;
    u8 reserved[4]; /* 0 */
} SpanBase;

PL_STATIC_ASSERT(sizeof(SpanBase) == 32, "no padding: it is compared as memory");

/* What all clients share about a chunk of the newest frame. */
typedef struct ChunkInfo {
    u64 changed;     /* tick of the first begun frame since which the state is what it now is */
    f64 travelled;   /* sum of chunk_state_error between begun frames, ever growing */
    Vec3 centre;     /* m, of the live elements or cells */
    f32 radius;      /* m; < 0: the chunk is nowhere (scalars, or nothing is live) */
    bool decimation; /* as chunk_cache_decimate says */
} ChunkInfo;

typedef struct ChunkCache ChunkCache;
ChunkCache *chunk_cache_create(void); /* NULL: no memory */
void chunk_cache_destroy(ChunkCache *cache);
/* Starts serving codes of history->newest; forgets the former tick's (unless the frame is the
 * same), and marks it in History, which is borrowed until the next begin. Compares the frame with
 * the one begun before; a tick that is not newer or other fields start anew. false: no frame or no
 * memory. */
bool chunk_cache_begin(ChunkCache *cache, History *history);
/* The frame being served, or NULL. Borrowed until the next begin. */
const Frame *chunk_cache_frame(const ChunkCache *cache);
/* Borrowed until the next begin; valid after a begin that returned true. */
const ChunkInfo *chunk_cache_info(const ChunkCache *cache, u32 field, u32 chunk);
/* True if the chunk had one and the same state in all begun frames from tick `from`, which was one,
 * to `to`. False also where that is no longer known. */
bool chunk_cache_constant(const ChunkCache *cache, u32 field, u32 chunk, u64 from, u64 to);
/* True if the frame of that tick can be built upon. */
bool chunk_cache_has(const ChunkCache *cache, u64 tick);

/* Chunks of POINTS that may lose points at a coarse detail: elements first .. first + count belong
 * to a liquid or a cloud. A chunk with others too may not. After a begin with other fields none
 * may.
 */
void chunk_cache_decimate(ChunkCache *cache, u32 field, u32 first, u32 count);
void chunk_cache_decimate_none(ChunkCache *cache);

/* Code of the newest states of chunks[count], ascending, out of `base`; of as many of them, from
 * the first on, as fit into `room` bytes (≥ CHUNK_CODE_BYTES_MAX). The same question is answered
 * without work; one about more chunks is too where a code is full. NULL: a tick has left History,
 * or no memory. */
const SpanCode *chunk_cache_span(ChunkCache *cache, u32 field, const u16 *chunks, u32 count,
                                 const SpanBase *base, u32 capacity);
/* Bytes that a chunk of the field lately took, as a key or out of older states. */
f32 chunk_cache_cost(const ChunkCache *cache, u32 field, const SpanBase *base);
/* Chunks encoded and served since creation (for metrics and tests). */
void chunk_cache_stats(const ChunkCache *cache, u64 *encoded, u64 *served);
/* Stops the program (check.h) unless what it knows of its frame, of the steps before and of the
 * codes of now holds together (chunk_cache_validate.c). */
void chunk_cache_validate(const ChunkCache *cache);

PL_END_C

#endif
