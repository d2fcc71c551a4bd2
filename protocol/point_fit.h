/*
 * point_fit.h: least squares in integers: the weights that the encoder of points sends. Inside
 * point_code.c. Layer: protocol.
 */
#ifndef PLENUM_PROTOCOL_POINT_FIT_H
#define PLENUM_PROTOCOL_POINT_FIT_H

#include "shared/base.h"

enum {
    FIT_MAX = 7
};

/* Normal equations. */
typedef struct PointFit {
    u32 count;
    i64 square[FIT_MAX][FIT_MAX], right[FIT_MAX];
} PointFit;

/* One more equation Σ wₖ termₖ = goal, all within ±2^22, that counts 2^(−2 shift). */
static inline void point_fit_add(PointFit *fit, const i32 *terms, i32 goal, u32 shift)
{
    for (u32 k = 0; k < fit->count; k++) {
        fit->right[k] += (i64)terms[k] * goal >> (2 * shift);
        for (u32 j = 0; j <= k; j++) {
            fit->square[k][j] += (i64)terms[k] * terms[j] >> (2 * shift);
        }
    }
}

/* weights[count] in 65536ths, each within ±8; a weight that nothing is known about is 0. With
 * `positive` none is negative. */
void point_fit_solve(PointFit *fit, bool positive, i32 *weights);

#endif
