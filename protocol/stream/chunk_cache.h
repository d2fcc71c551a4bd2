/*
 * chunk_cache.h: encode once, send to many: caches the spans of the newest frame, coded for all
 * clients with the same baselines, and per-chunk data shared by all clients. Used by one thread.
 * Layer: protocol/stream.
 */
#ifndef PLENUM_PROTOCOL_STREAM_CHUNK_CACHE_H
#define PLENUM_PROTOCOL_STREAM_CHUNK_CACHE_H

#include "protocol/codec/span.h"
#include "protocol/field/history.h"

PL_BEGIN_C

enum {
    /* Number of begun frames whose changes are tracked. */
    CHUNK_CACHE_STEPS = HISTORY_KEPT + HISTORY_FRAMES,
    CHUNK_REST_MAX = 15,
};

typedef struct SpanCode {
    const u8 *bytes; /* [size], all pointers are borrowed until the cache's next begin */
    u16 size;
    bool fallback;
    bool any_rest;
    u16 count;      /* number of leading chunks of the list that it contains */
    const u8 *rest; /* [count]: ticks since the chunk last had the state of the newest baseline,
                       held until then, ≤ CHUNK_REST_MAX; 0: it changed at once, or longer ago */
    u16 hash;       /* span_state_hash of the coded states */
} SpanCode;

/* Key of a code: baseline ticks, newest first, 0 from the first unused on, ticks[0] = 0: a key;
 * details of the baselines and of the new states. */
typedef struct SpanBase {
    u64 ticks[SPAN_STATES];
    Detail states[SPAN_STATES]; /* 0 where there is no tick */
    Detail detail;
    u8 reserved[4]; /* 0 */
} SpanBase;

PL_STATIC_ASSERT(sizeof(SpanBase) == 32, "no padding: it is compared as memory");

/* Data of a chunk of the newest frame shared by all clients. */
typedef struct ChunkInfo {
    u64 changed;     /* tick of the first begun frame since which the state is unchanged */
    f64 travelled;   /* sum of chunk_state_error between begun frames, monotonic */
    Vec3 centre;     /* m, of live elements or cells */
    f32 radius;      /* m; < 0: no position (scalars, or nothing is live) */
    bool decimation; /* set by chunk_cache_decimate */
} ChunkInfo;

typedef struct ChunkCache ChunkCache;
ChunkCache *chunk_cache_create(void); /* NULL: out of memory */
void chunk_cache_destroy(ChunkCache *cache);
/* Starts serving codes of history->newest; discards those of the former tick (unless the frame
 * is the same), and marks the frame in History, which is borrowed until the next begin. Compares
 * the frame with the one begun before; a tick that is not newer or different fields restart the
 * stream. false: no frame or out of memory. */
bool chunk_cache_begin(ChunkCache *cache, History *history);
/* Makes `to` serve the frame of `from`, with its data on chunks but without codes: for another
 * thread. `history` has the same frames as that of `from`, and is borrowed until the next begin or
 * copy. False: no frame or out of memory. */
bool chunk_cache_copy(ChunkCache *to, const ChunkCache *from, const History *history);
/* The frame being served, or NULL. Borrowed until the next begin. */
const Frame *chunk_cache_frame(const ChunkCache *cache);
/* Borrowed until the next begin; valid after a begin that returned true. */
const ChunkInfo *chunk_cache_info(const ChunkCache *cache, u32 field, u32 chunk);
/* True if the chunk's state was constant in all begun frames from tick `from`, itself begun, to
 * `to`. Also false where this is no longer known. */
bool chunk_cache_constant(const ChunkCache *cache, u32 field, u32 chunk, u64 from, u64 to);
/* True if the frame of that tick can serve as a baseline. */
bool chunk_cache_has(const ChunkCache *cache, u64 tick);

/* Marks the chunks of POINTS that may be decimated at a coarse detail: elements first .. first +
 * count belong to a liquid or a cloud. Chunks that also contain other elements may not. A begin
 * with other fields clears the marks. */
void chunk_cache_decimate(ChunkCache *cache, u32 field, u32 first, u32 count);
void chunk_cache_decimate_none(ChunkCache *cache);

/* Code of the newest states of chunks[count], ascending, relative to `base`; of as many leading
 * chunks as fit into `room` bytes (≥ CHUNK_CODE_BYTES_MAX). Equal requests are answered from the
 * cache, also requests for more chunks where a code is full. NULL: a tick has left History, or
 * out of memory. */
const SpanCode *chunk_cache_span(ChunkCache *cache, u32 field, const u16 *chunks, u32 count,
                                 const SpanBase *base, u32 capacity);
/* Recent average bytes per chunk of the field, as a key or delta-coded. */
f32 chunk_cache_cost(const ChunkCache *cache, u32 field, const SpanBase *base);
/* Chunks encoded and served since creation (for metrics and tests). */
void chunk_cache_stats(const ChunkCache *cache, u64 *encoded, u64 *served);
/* Aborts (check.h) if the data on its frame, earlier steps and current codes is inconsistent
 * (chunk_cache_validate.c). */
void chunk_cache_validate(const ChunkCache *cache);

PL_END_C

#endif
