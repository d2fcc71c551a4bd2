/*
 * chunk.h: fields cut into chunks, one chunk coded to bytes and back, and the cache that encodes
 * once for all clients on the same baseline.
 *
 * A chunk is the unit of acknowledgement and priority. Sizes are chosen so that the worst key chunk
 * fits one packet: 64 poses, 64 points, 16 × 16 cells, 8 × 8 × 8 voxels, 64 scalars.
 * The state of a chunk is its elements copied to a dense array (edges of grids are clipped).
 * Layer: protocol.
 */
#ifndef PLENUM_PROTOCOL_CHUNK_H
#define PLENUM_PROTOCOL_CHUNK_H

#include "protocol/history.h"

PL_BEGIN_C

enum {
    CHUNK_POSES = 64,
    CHUNK_POINTS = 64,
    CHUNK_CELLS_EDGE = 16,
    CHUNK_VOXELS_EDGE = 8,
    CHUNK_SCALARS = 64,
    /* Largest dense state of a chunk (64 × 20 bytes of poses) and its largest code. */
    CHUNK_STATE_BYTES_MAX = 1280,
    CHUNK_CODE_BYTES_MAX = 1136,
};

/* Number of chunks of a field. */
u32 chunk_count(const FieldDesc *field);
/* Elements in chunk c (the last chunks and the edges of grids are smaller). */
u32 chunk_elements(const FieldDesc *field, u32 chunk);
/* Bytes of chunk c's dense state. */
u32 chunk_state_bytes(const FieldDesc *field, u32 chunk);
/* Index in the field of element i of chunk c. */
u32 chunk_element_index(const FieldDesc *field, u32 chunk, u32 i);
/* Field elements -> dense state and back; `elements` is a Frame's field pointer. */
void chunk_gather(const FieldDesc *field, u32 chunk, const void *elements, void *state);
void chunk_scatter(const FieldDesc *field, u32 chunk, const void *state, void *elements);

/* Codes a dense state as key (baseline NULL) or delta against `baseline` (dense, same chunk).
 * Returns bytes written (≥ 1, ≤ CHUNK_CODE_BYTES_MAX) into out[CHUNK_CODE_BYTES_MAX].
 * Deterministic. Positions must lie within ±POSITION_CODE_MAX and pose flags within
 * POSE_FLAGS_MASK, as the quantizer and the decoder guarantee (checked). The format is described
 * in PROTOCOL.md, "Chunk codes". */
u32 chunk_encode(const FieldDesc *field, u32 chunk, const void *state, const void *baseline,
                 u8 *out);
/* Decodes exactly what chunk_encode wrote. Returns bytes used (> 0) or a negative Error; hostile
 * bytes never read or write out of bounds and always give some state or an error. */
int chunk_decode(const FieldDesc *field, u32 chunk, const u8 *code, u32 code_bytes,
                 const void *baseline, void *state);
/* 32-bit hash of a dense state, for desync checks. */
u32 chunk_state_hash(const FieldDesc *field, u32 chunk, const void *state);
/* How far apart two dense states are: the largest element's distance in metres (poses: plus half a
 * metre a radian of turn; 1 m for what appears or disappears), units of channel 0 (grids), or 1 per
 * change (scalars). */
f32 chunk_state_error(const FieldDesc *field, u32 chunk, const void *a, const void *b);

/* ---- encode once, send to many ---- */

#define CHUNK_ERROR_KEY 1e6f /* ChunkCode.error of keys */

typedef struct ChunkCode {
    const u8 *bytes; /* borrowed until the cache's next begin */
    u16 size;
    u8 still; /* ticks just before `tick` at which the chunk equalled the baseline's state, ≤ 15 */
    u8 reserved;
    u32 hash;  /* chunk_state_hash of the coded state */
    f32 error; /* chunk_state_error of the baseline against the state; CHUNK_ERROR_KEY for keys */
} ChunkCode;

/* What all clients share about a chunk of the newest frame. */
typedef struct ChunkInfo {
    u64 changed;   /* tick of the first begun frame since which the state is what it now is */
    f64 travelled; /* sum of chunk_state_error between begun frames, ever growing */
    Vec3 centre;   /* m, of the live elements or cells */
    f32 radius;    /* m; < 0: the chunk is nowhere (scalars, or nothing is live) */
} ChunkInfo;

typedef struct ChunkCache ChunkCache;
ChunkCache *chunk_cache_create(void); /* NULL: no memory */
void chunk_cache_destroy(ChunkCache *cache);
/* Starts serving codes of history->newest; forgets the former tick's (unless the frame is the
 * same). History is borrowed until the next begin. Compares the frame with the one begun before; a
 * tick that is not newer or other fields start anew. false: no frame or no memory. */
bool chunk_cache_begin(ChunkCache *cache, const History *history);
/* The frame being served, or NULL. Borrowed until the next begin. */
const Frame *chunk_cache_frame(const ChunkCache *cache);
/* Code of (field, chunk) of the newest frame against the frame at baseline_tick (0 = key). Encodes
 * at most once per chunk and baseline state: ticks between which the chunk did not change share one
 * code. A baseline that has left History still serves if it was begun here and the chunk did not
 * change between it and a frame of History; otherwise NULL (also: no memory). */
const ChunkCode *chunk_cache_get(ChunkCache *cache, u32 field, u32 chunk, u64 baseline_tick);
/* True if the chunk's state at the two ticks is the same bytes (both in History). */
bool chunk_cache_same(const ChunkCache *cache, u32 field, u32 chunk, u64 tick_a, u64 tick_b);
/* Borrowed until the next begin; valid after a begin that returned true. */
const ChunkInfo *chunk_cache_info(const ChunkCache *cache, u32 field, u32 chunk);
/* Encodings made and served since creation (for metrics and tests). */
void chunk_cache_stats(const ChunkCache *cache, u64 *encoded, u64 *served);

PL_END_C

#endif
