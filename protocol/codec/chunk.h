/*
 * chunk.h: division of fields into chunks, and the plain code of a single chunk.
 *
 * A chunk is the unit of acknowledgement and priority. Sizes are chosen so that the largest key
 * chunk fits one packet: 64 poses, 64 points, 16 × 16 cells, 8 × 8 × 8 voxels, 64 scalars. Chunks
 * sent together are coded together where that is smaller: span.h. The state of a chunk is its
 * elements copied to a dense array (clipped at the edges of grids).
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_CHUNK_H
#define PLENUM_PROTOCOL_CODEC_CHUNK_H

#include "protocol/field/history.h"

PL_BEGIN_C

enum {
    CHUNK_POSES = 64,
    CHUNK_POINTS = 64,
    CHUNK_CELLS_EDGE = 16,
    CHUNK_VOXELS_EDGE = 8,
    CHUNK_SCALARS = 64,
    /* Maximal dense state of a chunk (64 × 20 bytes of poses) and maximal code. */
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
/* The chunk that contains an element, and the element's index in it. */
u32 chunk_of(const FieldDesc *field, u32 element, u32 *i);
/* Copies field elements to a dense state, and back; `elements` is a Frame's field pointer. */
void chunk_gather(const FieldDesc *field, u32 chunk, const void *elements, void *state);
void chunk_scatter(const FieldDesc *field, u32 chunk, const void *state, void *elements);
/* The same for one number per element. */
void chunk_scatter_f32(const FieldDesc *field, u32 chunk, const f32 *dense, f32 *elements);

/* Codes a dense state as a key (baseline NULL) or as a delta against `baseline` (dense, same
 * chunk). Returns the bytes written to out[CHUNK_CODE_BYTES_MAX] (≥ 1, ≤ CHUNK_CODE_BYTES_MAX).
 * Deterministic. Positions must lie within ±POSITION_CODE_MAX and pose flags within
 * POSE_FLAGS_MASK, as the quantizer and the decoder guarantee (checked). Format: PROTOCOL.md,
 * "Chunk codes". */
u32 chunk_encode(const FieldDesc *field, u32 chunk, const void *state, const void *baseline,
                 u8 *out);
/* Decodes the output of chunk_encode. Returns the bytes used (> 0) or a negative Error; hostile
 * input never causes an access out of bounds and gives some state or an error. */
int chunk_decode(const FieldDesc *field, u32 chunk, const u8 *code, u32 code_bytes,
                 const void *baseline, void *state);
/* Distance of two dense states: of the element with the largest distance, in metres (poses: plus
 * half a metre per radian of rotation; 1 m for elements that appear or disappear), units of
 * channel 0 (grids), or 1 per change (scalars). */
f32 chunk_state_error(const FieldDesc *field, u32 chunk, const void *a, const void *b);

PL_END_C

#endif
