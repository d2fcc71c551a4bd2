/*
 * point_code.h: compresses many points. The motion of a point is predicted from states known to
 * both ends (its velocity and acceleration) and from already coded points: neighbours in space
 * (Shepard's interpolation, 1968) and neighbours by index, where a sheet has rows: their motion and
 * their relative positions. The encoder fits the weights of all these terms once per code and
 * transmits them. A residual is a symbol with two adaptive contexts selected by the size that is
 * expected of its axis and, where that is small, by what rounding took from the prediction, which
 * tells its sign; lower bits are raw. Each code decodes independently, given those states.
 * Decoding uses integers only. PROTOCOL.md, "Code of points", specifies every bit.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_POINT_CODE_H
#define PLENUM_PROTOCOL_CODEC_POINT_CODE_H

#include "protocol/field/field.h"

PL_BEGIN_C

enum {
    POINT_SPAN_MAX = 32768,
    POINT_STATES = 3,
    POINT_ROWS = 1441, /* of the tables: contexts of symbols */
    POINT_ROW = 16,    /* symbols */
    POINT_FLAGS = 96,
    POINT_CHUNK = 64,
    POINT_SLOTS = 1 << 15, /* of which a chain remembers how well they were predicted */
};

/* Known to both ends. */
typedef struct PointSpan {
    u32 count; /* points, ≤ POINT_SPAN_MAX */
    /* Older states of the same slots, newest first, NULL from the first missing one, and their
     * ages in ticks (ascending, ≥ 1, < 2^24). */
    const QPoint *state[POINT_STATES];
    u32 back[POINT_STATES];
    /* The numbers of its chunks of POINT_CHUNK points, by which a chain knows slots again, and the
     * field that they are of. NULL: the code is not of a chain. */
    const u16 *chunks;
    u32 field;
} PointSpan;

/* Initial probabilities of a code. */
typedef struct PointTables {
    u16 ends[POINT_ROWS * POINT_ROW]; /* cumulative frequencies of the symbols, in 32768ths,
                                         ascending in a row */
    u16 flags[POINT_FLAGS];           /* probabilities of 1, in 65536ths */
} PointTables;

typedef struct PointCodec PointCodec;
/* Borrows the tables; NULL: uniform symbols (for training). NULL: out of memory. */
PointCodec *point_codec_create(const PointTables *start);
void point_codec_destroy(PointCodec *codec); /* NULL is fine */
/* Begins a chain: from now on adaptation continues from one code to the next, first from the
 * starting tables. Codes of a chain decode in their order only. A code that did not fit breaks it:
 * begin again. */
void point_codec_chain(PointCodec *codec);
/* Training: counts symbols from now on. False: out of memory. */
bool point_codec_learn(PointCodec *codec);
/* Tables from the counts. */
void point_codec_tables(const PointCodec *codec, PointTables *tables);

/* Codes now[span->count]; returns the bytes written to out[room], 0 if they do not fit (it then
 * stops early). Positions must lie within ±POSITION_CODE_MAX; a free slot is coded as all zero. */
u32 point_encode(PointCodec *codec, const PointSpan *span, const QPoint *now, u8 *out,
                 u32 capacity);
/* Decodes the output of point_encode. Any input gives some points, each within the field's
 * limits (free slots all zero), in bounded time. */
void point_decode(PointCodec *codec, const PointSpan *span, const u8 *code, u32 bytes, QPoint *now);

PL_END_C

#endif
