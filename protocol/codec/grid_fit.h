/*
 * grid_fit.h: least squares in integers: the weights of a linear filter that predicts best, for
 * the encoder of grids. The decoder needs none of it.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_GRID_FIT_H
#define PLENUM_PROTOCOL_CODEC_GRID_FIT_H

#include "shared/base/base.h"

enum {
    GRID_FIT_MAX = 17,  /* features and the target */
    GRID_FIT_ROWS = 64, /* that are gathered before they are summed up */
};

typedef struct GridFit {
    u32 count; /* features */
    u32 rows, wide, step;
    u64 cells;
    i64 sums[GRID_FIT_MAX][GRID_FIT_MAX]; /* of products, j ≥ i; the target is the last */
    i32 gathered[GRID_FIT_MAX][GRID_FIT_ROWS * 16];
    i16 narrowed[GRID_FIT_MAX][GRID_FIT_ROWS * 16];
} GridFit;

/* `wide` (8 or 16): cells of a row; `step`: rows that each row stands for. */
void grid_fit_begin(GridFit *fit, u32 count, u32 wide, u32 step);
/* Room for the coming row of a feature, or of the target (feature `count`): [wide]. */
i32 *grid_fit_row(GridFit *fit, u32 feature);
/* The row at grid_fit_row has `n` ≤ wide cells. */
void grid_fit_push(GridFit *fit, u32 n);
/* Solves for weights[count] in 256ths, near to start[count] where the cells do not tell.
 * False: they are not worth sending, the start is as good. */
bool grid_fit_solve(GridFit *fit, const i32 *start, i32 *weights);

#endif
