/* point_fit.c: see point_fit.h. */
#include "protocol/codec/point_fit.h"

enum {
    SWEEPS = 40,
};

/* Relative to the squares: weights determined only by noise stay near 0. */
#define RIDGE (1.0 / (1 << 16))

typedef struct Normal {
    f64 square[FIT_MAX][FIT_MAX], right[FIT_MAX];
} Normal;

static f64 sum_lanes(FitLanes v)
{
    return (v[0] + v[1]) + (v[2] + v[3]);
}

static void gather(const PointFit *fit, Normal *normal)
{
    for (u32 k = 0; k < fit->count; k++) {
        normal->right[k] = sum_lanes(fit->right[k]);
        for (u32 j = 0; j <= k; j++) {
            normal->square[k][j] = normal->square[j][k] = sum_lanes(fit->square[k][j]);
        }
    }
    for (u32 k = 0; k < fit->count; k++) {
        normal->square[k][k] += normal->square[k][k] * RIDGE + 1e-9;
    }
}

static f64 limited(f64 w, bool positive, f64 limit)
{
    f64 least = positive ? 0.0 : -limit;
    return w < least ? least : w > limit ? limit : w;
}

/* Projected Gauss–Seidel with limits, for non-negative weights. */
static void solve_positive(const Normal *normal, u32 count, f64 limit, f64 *weights)
{
    for (u32 k = 0; k < count; k++) {
        weights[k] = 0.0;
    }
    for (u32 sweep = 0; sweep < SWEEPS; sweep++) {
        for (u32 k = 0; k < count; k++) {
            f64 rest = normal->right[k];
            for (u32 j = 0; j < count; j++) {
                rest -= j != k ? normal->square[k][j] * weights[j] : 0.0;
            }
            weights[k] = limited(rest / normal->square[k][k], true, limit);
        }
    }
}

void point_fit_solve(const PointFit *fit, bool positive, f64 limit, f64 *weights)
{
    Normal normal;
    u32 n = fit->count;
    gather(fit, &normal);
    if (positive) {
        solve_positive(&normal, n, limit, weights);
        return;
    }
    for (u32 k = 0; k < n; k++) { /* rows below k lose their column k */
        for (u32 i = k + 1; i < n; i++) {
            f64 factor = normal.square[i][k] / normal.square[k][k];
            for (u32 j = k; j < n; j++) {
                normal.square[i][j] -= factor * normal.square[k][j];
            }
            normal.right[i] -= factor * normal.right[k];
        }
    }
    for (u32 k = n; k-- > 0;) {
        f64 rest = normal.right[k];
        for (u32 j = k + 1; j < n; j++) {
            rest -= normal.square[k][j] * weights[j];
        }
        weights[k] = limited(rest / normal.square[k][k], false, limit);
    }
}
