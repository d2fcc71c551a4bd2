/*
 * grid_code.h: compresses many chunks of a grid or of scalars. Grids: linear filters, fitted by the
 * encoder for each code and transmitted with it, predict the picture from up to three older states
 * and then each cell from that and its causal neighbours; the residuals are coded with mixed
 * contexts (mix.h). Each code decodes independently, given the states. Integers only.
 * Method: transmitted fitted filters are used by lossless image coders (Matsuda et al., MRP, 2005);
 * the combination of a filter in time with one in space is ours. PROTOCOL.md, "Code of grids and
 * scalars", is the exact specification.
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

/* Known to both ends. */
typedef struct GridSpan {
    const FieldDesc *field; /* FIELD_GRID2, FIELD_GRID3 or FIELD_SCALARS, checked by field_check */
    u32 count;              /* chunks */
    const u16 *chunks;      /* [count] ascending, each once */
    /* Older dense states of those chunks (chunk.h), concatenated in list order, newest first;
     * NULL from the first missing one. Aligned as their elements. */
    const void *state[GRID_STATES];
    u32 back[GRID_STATES]; /* ages in ticks, ascending, ≥ 1 (no code depends on them) */
} GridSpan;

typedef struct GridCodec GridCodec;
/* `start`: the trained tables of this version, borrowed, or NULL for untrained ones (for
 * training). NULL: out of memory. */
GridCodec *grid_codec_create(const MixTables *start);
void grid_codec_destroy(GridCodec *codec); /* NULL is fine */
/* Rows and sets of the tables that the codec needs. */
void grid_codec_sizes(u32 *rows, u32 *sets);
/* Begins a chain: from now on adaptation continues from one code to the next, first from the
 * starting tables, and filters begin as the last ones were. Codes of a chain decode in their order
 * only. A code that did not fit breaks it: begin again. */
void grid_codec_chain(GridCodec *codec);
/* Training: a chain whose filters change slowly. */
void grid_codec_train(GridCodec *codec);
/* The tables as they are now. */
const MixTables *grid_codec_tables(GridCodec *codec);
/* Allocates for the largest spans of the field, so that coding allocates nothing. False: out of
 * memory. */
bool grid_codec_reserve(GridCodec *codec, const FieldDesc *field);
/* Bytes of the dense states of the span's chunks: of `now` and of each state. */
size_t grid_span_bytes(const GridSpan *span);

/* Codes the dense states `now`; returns the bytes written to out[room], 0 if they do not fit (it
 * then stops early) or out of memory. The same bytes on every machine. */
u32 grid_encode(GridCodec *codec, const GridSpan *span, const void *now, u8 *out, u32 capacity);
/* Decodes the output of grid_encode into `now`. Any input gives some values, in bounded time.
 * False: out of memory. */
bool grid_decode(GridCodec *codec, const GridSpan *span, const u8 *code, u32 bytes, void *now);

PL_END_C

#endif
