/*
 * grid_filter.h: the filters of the grid codec: how they are fitted, sent and used to predict the
 * picture in time. For grid_code.c.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_GRID_FILTER_H
#define PLENUM_PROTOCOL_CODEC_GRID_FILTER_H

#include "protocol/codec/grid_symbol.h"

/* Fit the filter of a channel to `now`, for the encoder. False: the starting filter is as good. */
bool grid_fit_time(GridCodec *codec, const GridSpan *span, const u8 *now, u32 channel);
bool grid_fit_space(GridCodec *codec, const u8 *now, u32 channel);
/* Codes the `count` weights from `at` (TIME_AT or SPACE_AT) on, which the encoder has fitted if
 * they are its `own`. */
void grid_code_filter(GridCodec *codec, u32 channel, u32 at, u32 count, bool own);
/* The picture that is predicted from the states: of chunks that stay it is what they are; of a
 * chunk without states its base. */
void grid_predict(GridCodec *codec, const GridSpan *span, const u8 *now, const i32 *bases,
                  u32 channel);

#endif
