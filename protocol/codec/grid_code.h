/*
 * grid_code.h: many chunks of a grid or of scalars in few bytes. Grids: linear filters, fitted by
 * the encoder for each code and sent with it, predict the picture from up to three older states
 * and then each cell from that and the cells coded before it; what is left is coded by mixed
 * contexts (mix.h). Each code decodes alone, given the states. Integers only.
 * Method: filters fitted to what is coded are those of lossless picture coders (Matsuda et al.,
 * MRP, 2005); a picture in time first, then one in space, is ours. PROTOCOL.md, "Code of grids and
 * scalars", is the exact description.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_GRID_CODE_H
#define PLENUM_PROTOCOL_CODEC_GRID_CODE_H

#include "protocol/codec/mix.h"
#include "protocol/field/field.h"

PL_BEGIN_C

enum {
    GRID_STATES = 3,
};

/* What both ends know. */
typedef struct GridSpan {
    const FieldDesc *field; /* FIELD_GRID2, FIELD_GRID3 or FIELD_SCALARS, checked by field_check */
    u32 count;              /* chunks */
    const u16 *chunks;      /* [count] ascending, each once */
    /* Older dense states of those chunks (chunk.h), one after the other in the order of the list,
     * newest first; NULL from the first that is missing. Aligned as their elements. */
    const void *state[GRID_STATES];
    u32 back[GRID_STATES]; /* how many ticks ago each was: ascending, ≥ 1 (no code depends on it) */
} GridSpan;

typedef struct GridCodec GridCodec;
/* Trained tables of this version, or none of them: NULL starts from nothing (for training). The
 * tables are borrowed. NULL: no memory. */
GridCodec *grid_codec_create(const MixTables *start);
void grid_codec_destroy(GridCodec *codec); /* NULL is fine */
/* Rows and sets of the tables that the codec needs. */
void grid_codec_sizes(u32 *rows, u32 *sets);
/* While it learns, what was learned from one code goes on in the next; the tables of the moment. */
void grid_codec_learn(GridCodec *codec, bool learn);
const MixTables *grid_codec_tables(GridCodec *codec);
/* Makes room for spans of the field, so that nothing is allocated later. False: no memory. */
bool grid_codec_reserve(GridCodec *codec, const FieldDesc *field);
/* Bytes of the dense states of the span's chunks: of `now` and of each state. */
size_t grid_span_bytes(const GridSpan *span);

/* Codes the dense states `now`; returns bytes written to out[room], 0 if the room is too small (it
 * stops early then) or there is no memory. The same bytes on every machine. */
u32 grid_encode(GridCodec *codec, const GridSpan *span, const void *now, u8 *out, u32 capacity);
/* Decodes what grid_encode wrote to `now`. Any bytes give some values, in bounded time. False: no
 * memory. */
bool grid_decode(GridCodec *codec, const GridSpan *span, const u8 *code, u32 bytes, void *now);

PL_END_C

#endif
