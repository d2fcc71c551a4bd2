/* point_fit.c: see point_fit.h. */
#include "protocol/point_fit.h"

enum {
    SCALE_BITS = 28, /* of the largest square after scaling */
    ONE_BITS = 16,
    STEP_BITS = 20, /* of the factors of the elimination */
    RIDGE_BITS = 12,
    LIMIT = 8 << ONE_BITS,
    SWEEPS = 40,
};

/* So that no product of the elimination leaves 64 bits. */
static void scale(PointFit *fit)
{
    i64 most = 1;
    u32 shift = 0;
    for (u32 k = 0; k < fit->count; k++) {
        most = fit->square[k][k] > most ? fit->square[k][k] : most;
        i64 right = fit->right[k] < 0 ? -fit->right[k] : fit->right[k];
        most = right > most ? right : most;
    }
    while (most >> shift >= 1ll << SCALE_BITS) {
        shift++;
    }
    for (u32 k = 0; k < fit->count; k++) {
        fit->right[k] >>= shift;
        for (u32 j = 0; j <= k; j++) {
            fit->square[k][j] >>= shift;
            fit->square[j][k] = fit->square[k][j];
        }
        fit->square[k][k] += (fit->square[k][k] >> RIDGE_BITS) + 1;
    }
}

static i32 limited(i64 w, bool positive)
{
    i64 least = positive ? 0 : -LIMIT;
    return (i32)(w < least ? least : w > LIMIT ? LIMIT : w);
}

/* Gauss–Seidel with limits, where none may be negative. */
static void solve_positive(const PointFit *fit, i32 *weights)
{
    for (u32 k = 0; k < fit->count; k++) {
        weights[k] = 0;
    }
    for (u32 sweep = 0; sweep < SWEEPS; sweep++) {
        for (u32 k = 0; k < fit->count; k++) {
            i64 rest = fit->right[k] * (1 << ONE_BITS);
            for (u32 j = 0; j < fit->count; j++) {
                rest -= j != k ? fit->square[k][j] * weights[j] : 0;
            }
            weights[k] = limited(rest / fit->square[k][k], true);
        }
    }
}

void point_fit_solve(PointFit *fit, bool positive, i32 *weights)
{
    scale(fit);
    if (positive) {
        solve_positive(fit, weights);
        return;
    }
    u32 n = fit->count;
    for (u32 k = 0; k < n; k++) { /* rows below k lose their column k */
        i64 pivot = fit->square[k][k] > 0 ? fit->square[k][k] : 1;
        for (u32 i = k + 1; i < n; i++) {
            i64 factor = fit->square[i][k] * (1 << STEP_BITS) / pivot;
            for (u32 j = k; j < n; j++) {
                fit->square[i][j] -= factor * fit->square[k][j] >> STEP_BITS;
            }
            fit->right[i] -= factor * fit->right[k] >> STEP_BITS;
        }
    }
    for (u32 k = n; k-- > 0;) {
        i64 rest = fit->right[k] * (1 << ONE_BITS);
        for (u32 j = k + 1; j < n; j++) {
            rest -= fit->square[k][j] * weights[j];
        }
        weights[k] = limited(rest / (fit->square[k][k] > 0 ? fit->square[k][k] : 1), false);
    }
}
