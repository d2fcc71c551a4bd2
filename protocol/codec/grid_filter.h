/*
 * grid_filter.h: the filters of the grid codec: fitting, transmission and prediction in time. For
 * grid_code.c.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_GRID_FILTER_H
#define PLENUM_PROTOCOL_CODEC_GRID_FILTER_H

#include "protocol/codec/grid_symbol.h"

/* Encoder: fit the filter of a channel to `now`. False: the starting filter is as good. */
bool grid_fit_time(GridCodec *codec, const GridSpan *span, const u8 *now, u32 channel);
bool grid_fit_space(GridCodec *codec, const u8 *now, u32 channel);
/* Codes `count` weights from index `at` (TIME_AT or SPACE_AT), fitted by the encoder if `own`. */
void grid_code_filter(GridCodec *codec, u32 channel, u32 at, u32 count, bool own);
/* The picture predicted from the states; unchanged chunks have their values, chunks without
 * states their base. */
void grid_predict(GridCodec *codec, const GridSpan *span, const u8 *now, const i32 *bases,
                  u32 channel);

#endif
