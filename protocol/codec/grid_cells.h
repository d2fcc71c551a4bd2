/*
 * grid_cells.h: how the values of a chunk are coded, each predicted from the picture in time and
 * from what is coded around it. For grid_code.c.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_GRID_CELLS_H
#define PLENUM_PROTOCOL_CODEC_GRID_CELLS_H

#include "protocol/codec/grid_symbol.h"

/* Codes a channel of chunk k of the span, or writes it. */
void grid_code_cells(GridCodec *codec, u32 k, u32 channel, u8 *now);

#endif
