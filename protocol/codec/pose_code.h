/*
 * pose_code.h: compresses many poses: motion is predicted from states known to both ends and from
 * the motion of already coded neighbours; residuals are coded with mixed context models (mix.h).
 * Each code decodes independently, given those states. Integers only.
 * Method: Fiedler's snapshot compression challenge (2015) and Giesen's entry to it for the idea of
 * adaptive binary models; rigid motion of neighbours and rating predictors by their error in the
 * previous step are ours. Specification: PROTOCOL.md, "Code of poses".
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_POSE_CODE_H
#define PLENUM_PROTOCOL_CODEC_POSE_CODE_H

#include "protocol/codec/mix.h"
#include "protocol/field/field.h"

PL_BEGIN_C

enum {
    POSE_SPAN_MAX = 1024,
    POSE_STATES = 3,
};

/* Known to both ends. */
typedef struct PoseSpan {
    u32 count;          /* poses, ≤ POSE_SPAN_MAX */
    u32 rotation_bits;  /* per component: 10 as in quantize_rotation; 9: 0..511 for ±√½ */
    u32 rotation_shift; /* low bits of each component that are at their middle in all states: not
                           coded */
    /* Older states of the same slots, newest first, NULL from the first missing one, and their
     * ages in ticks (ascending, ≥ 1). */
    const QPose *state[POSE_STATES];
    u32 back[POSE_STATES];
} PoseSpan;

typedef struct PoseCodec PoseCodec;
/* `start`: the trained tables of this version, borrowed, or NULL for untrained ones (for
 * training). NULL: out of memory. */
PoseCodec *pose_codec_create(const MixTables *start);
void pose_codec_destroy(PoseCodec *codec); /* NULL is fine */
/* Rows and sets of the tables that the codec needs. */
void pose_codec_sizes(u32 *rows, u32 *sets);
/* Begins a chain: from now on adaptation continues from one code to the next, first from the
 * starting tables. Codes of a chain decode in their order only. A code that did not fit breaks it:
 * begin again. Of recordings and training. */
void pose_codec_chain(PoseCodec *codec);
/* The tables as they are now. */
const MixTables *pose_codec_tables(PoseCodec *codec);

/* Codes now[span->count]; returns the bytes written to out[room], 0 if they do not fit. */
u32 pose_encode(PoseCodec *codec, const PoseSpan *span, const QPose *now, u8 *out, u32 capacity);
/* Decodes the output of pose_encode. Any input gives some poses, each within the field's limits
 * (POSITION_CODE_MAX, POSE_FLAGS_MASK), in bounded time. */
void pose_decode(PoseCodec *codec, const PoseSpan *span, const u8 *code, u32 bytes, QPose *now);

PL_END_C

#endif
