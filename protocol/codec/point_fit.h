/*
 * point_fit.h: weighted least squares: the weights that the encoder of points transmits. Decoders
 * read them and never fit, so this may use floating point; + − × ÷ only, the same bits everywhere.
 * Private to point_code.c.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_POINT_FIT_H
#define PLENUM_PROTOCOL_CODEC_POINT_FIT_H

#include "shared/math/simd.h"

enum {
    FIT_MAX = 16
};

typedef f64 FitLanes __attribute__((vector_size(32)));

/* Normal equations, four systems at once, one per lane. Only the lower triangle of the first
 * `count` rows is used. */
typedef struct PointFit {
    u32 count;
    FitLanes square[FIT_MAX][FIT_MAX], right[FIT_MAX];
} PointFit;

/* No equations yet; `count` unknowns. */
SIMD_INLINE void point_fit_begin(PointFit *fit, u32 count)
{
    const FitLanes none = {0};
    fit->count = count;
    for (u32 k = 0; k < count; k++) {
        fit->right[k] = none;
        for (u32 j = 0; j <= k; j++) {
            fit->square[k][j] = none;
        }
    }
}

/* Adds one equation per lane, Σ wₖ termₖ = goal, with fit->count terms and weight `share`. */
SIMD_INLINE void point_fit_add(PointFit *fit, u32 count, const FitLanes *terms, FitLanes goal,
                               f64 share)
{
    for (u32 k = 0; k < count; k++) {
        FitLanes term = terms[k] * share;
        fit->right[k] += term * goal;
        for (u32 j = 0; j <= k; j++) {
            fit->square[k][j] += term * terms[j];
        }
    }
}

/* Solves for weights[count], each within ±limit; undetermined weights are 0. `positive`: none is
 * negative. */
void point_fit_solve(const PointFit *fit, bool positive, f64 limit, f64 *weights);

#endif
