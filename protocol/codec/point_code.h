/*
 * point_code.h: many points in few bytes. Where a point goes is predicted from states that both
 * ends have (its velocity, and how that changed) and from points that are coded already: those that
 * were near in space (Shepard's interpolation, 1968) and those near in the order, of which a sheet
 * has rows: how they moved, and where they were beside it. The weights of all that are fitted
 * together by the encoder, once a code, and sent. Of the rest its size is a symbol of two adaptive
 * contexts that the expected size chooses, and its lower bits are as they are. Each code decodes
 * alone, given those states. Decoding is in integers only. PROTOCOL.md, "Code of points", has every
 * bit.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_POINT_CODE_H
#define PLENUM_PROTOCOL_CODEC_POINT_CODE_H

#include "protocol/field/field.h"

PL_BEGIN_C

enum {
    POINT_SPAN_MAX = 32768,
    POINT_STATES = 3,
    POINT_ROWS = 841, /* of the tables: contexts of symbols */
    POINT_ROW = 16,   /* symbols */
    POINT_FLAGS = 96,
};

/* What both ends know. */
typedef struct PointSpan {
    u32 count; /* points, ≤ POINT_SPAN_MAX */
    /* Older states of the same slots, newest first, NULL from the first that is not there, and how
     * many ticks ago each was (ascending, ≥ 1, < 2^24). */
    const QPoint *state[POINT_STATES];
    u32 back[POINT_STATES];
} PointSpan;

/* The start of a code. */
typedef struct PointTables {
    u16 ends[POINT_ROWS * POINT_ROW]; /* of the symbols' parts, in 32768ths, ascending in a row */
    u16 flags[POINT_FLAGS];           /* chances of 1, in 65536ths */
} PointTables;

typedef struct PointCodec PointCodec;
/* The tables are borrowed; NULL: all symbols are alike (for training). NULL: no memory. */
PointCodec *point_codec_create(const PointTables *start);
void point_codec_destroy(PointCodec *codec); /* NULL is fine */
/* From now on it counts what it codes. False: no memory. */
bool point_codec_learn(PointCodec *codec);
/* Tables of what it has counted. */
void point_codec_tables(const PointCodec *codec, PointTables *tables);

/* Codes now[span->count]; returns bytes written to out[room], 0 if the room is too small (it stops
 * early then). Positions must lie within ±POSITION_CODE_MAX; a free slot is coded as all zero. */
u32 point_encode(PointCodec *codec, const PointSpan *span, const QPoint *now, u8 *out,
                 u32 capacity);
/* Decodes what point_encode wrote. Any bytes give some points, each within the field's limits (free
 * slots all zero), in bounded time. */
void point_decode(PointCodec *codec, const PointSpan *span, const u8 *code, u32 bytes, QPoint *now);

PL_END_C

#endif
