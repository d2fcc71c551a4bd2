/*
 * pose_code.h: many poses in few bytes: motion predicted from states that both ends have and from
 * the motion of neighbours that are coded already, the rest coded by mixed context models
 * (mix.h). Each code decodes alone, given those states. Integers only.
 * Method: Fiedler's snapshot compression challenge (2015) and Giesen's entry to it for the idea of
 * adaptive binary models; rigid motion of neighbours and judging predictors by how they would have
 * done a step before are ours. Byte by byte: PROTOCOL.md, "Code of poses".
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

/* What both ends know. */
typedef struct PoseSpan {
    u32 count;         /* poses, ≤ POSE_SPAN_MAX */
    u32 rotation_bits; /* of a component: 10 as quantize_rotation has them; 9: 0..511 for ±√½ */
    u32 rotation_shift; /* all states have these low bits of each component at their half: not coded
                           */
    /* Older states of the same slots, newest first, NULL from the first that is not there, and how
     * many ticks ago each was (ascending, ≥ 1). */
    const QPose *state[POSE_STATES];
    u32 back[POSE_STATES];
} PoseSpan;

typedef struct PoseCodec PoseCodec;
/* Trained tables of this version, or none of them: NULL starts from nothing (for training). The
 * tables are borrowed. NULL: no memory. */
PoseCodec *pose_codec_create(const MixTables *start);
void pose_codec_destroy(PoseCodec *codec); /* NULL is fine */
/* Rows and sets of the tables that the codec needs. */
void pose_codec_sizes(u32 *rows, u32 *sets);
/* While it learns, what was learned from one code goes on in the next; the tables of the moment. */
void pose_codec_learn(PoseCodec *codec, bool learn);
const MixTables *pose_codec_tables(PoseCodec *codec);

/* Codes now[span->count]; returns bytes written to out[room], 0 if the room is too small. */
u32 pose_encode(PoseCodec *codec, const PoseSpan *span, const QPose *now, u8 *out, u32 capacity);
/* Decodes what pose_encode wrote. Any bytes give some poses, each within the field's limits
 * (POSITION_CODE_MAX, POSE_FLAGS_MASK), in bounded time. */
void pose_decode(PoseCodec *codec, const PoseSpan *span, const u8 *code, u32 bytes, QPose *now);

PL_END_C

#endif
