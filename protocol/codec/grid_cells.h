/*
 * grid_cells.h: coding of the values of a chunk, each predicted from the picture in time and from
 * its coded surroundings. For grid_code.c.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_GRID_CELLS_H
#define PLENUM_PROTOCOL_CODEC_GRID_CELLS_H

#include "protocol/codec/grid_symbol.h"

/* Codes or decodes a channel of chunk k of the span. */
void grid_code_cells(GridCodec *codec, u32 k, u32 channel, u8 *now);

#endif
