/*
 * grid_fit.h: least squares in integers: the weights of the best linear predictor, for the encoder
 * of grids. Decoders do not need it.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_GRID_FIT_H
#define PLENUM_PROTOCOL_CODEC_GRID_FIT_H

#include "shared/base/base.h"

enum {
    GRID_FIT_MAX = 17,  /* features plus the target */
    GRID_FIT_ROWS = 64, /* buffered before they are summed */
};

typedef struct GridFit {
    u32 count; /* features */
    u32 rows, wide, step;
    u64 cells;
    i64 sums[GRID_FIT_MAX][GRID_FIT_MAX]; /* of products, j ≥ i; the target is the last */
    i32 gathered[GRID_FIT_MAX][GRID_FIT_ROWS * 16];
    i16 narrowed[GRID_FIT_MAX][GRID_FIT_ROWS * 16];
} GridFit;

/* `wide` (8 or 16): cells per row; `step`: number of rows that each row represents. */
void grid_fit_begin(GridFit *fit, u32 count, u32 wide, u32 step);
/* Buffer for the next row of a feature, or of the target (feature `count`): [wide]. */
i32 *grid_fit_row(GridFit *fit, u32 feature);
/* Adds the row in the buffers, with `n` ≤ wide cells. */
void grid_fit_push(GridFit *fit, u32 n);
/* Solves for weights[count] in 256ths, regularized towards start[count]. False: not worth
 * transmitting, the start is as good. */
bool grid_fit_solve(GridFit *fit, const i32 *start, i32 *weights);

#endif
