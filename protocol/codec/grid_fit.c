/* grid_fit.c: see grid_fit.h. */
#include "protocol/codec/grid_fit.h"

#include <string.h>

enum {
    NARROW_BITS = 11, /* of the factors: 256 products fit an i32 */
    RUN = 256,
    WEIGHT_MAX = 4095,
    SCALE_BITS = 40, /* of the sums in the solver */
    PART_BITS = 32,  /* of the factorization */
    COST_BITS = 8,   /* approximate cost of a transmitted weight */
};

typedef __int128 i128;

void grid_fit_begin(GridFit *fit, u32 count, u32 wide, u32 step)
{
    fit->step = step;
    fit->count = count;
    fit->rows = 0;
    fit->wide = wide;
    fit->cells = 0;
    memset(fit->sums, 0, sizeof fit->sums);
}

i32 *grid_fit_row(GridFit *fit, u32 feature)
{
    return &fit->gathered[feature][(size_t)fit->rows * fit->wide];
}

/* Reduces numbers to at most NARROW_BITS bits; returns the shift. */
static u32 narrow(const i32 *in, u32 n, i16 *out)
{
    u32 all = 0, shift = 0;
    for (u32 i = 0; i < n; i++) {
        all |= (u32)(in[i] < 0 ? ~in[i] : in[i]);
    }
    while (all >> shift >= 1u << NARROW_BITS) {
        shift++;
    }
    i32 half = shift > 0 ? 1 << (shift - 1) : 0;
    for (u32 i = 0; i < n; i++) {
        out[i] = (i16)((in[i] + half) >> shift);
    }
    return shift;
}

static i64 product(const i16 *a, const i16 *b, u32 n)
{
    i64 sum = 0;
    for (u32 from = 0; from < n; from += RUN) {
        i32 part = 0;
        for (u32 i = 0; i < RUN; i++) {
            part += (i32)a[from + i] * b[from + i];
        }
        sum += part;
    }
    return sum;
}

static void sum_up(GridFit *fit)
{
    u32 shifts[GRID_FIT_MAX], n = fit->rows * fit->wide, whole = (n + RUN - 1) / RUN * RUN;
    for (u32 k = 0; k <= fit->count; k++) {
        shifts[k] = narrow(fit->gathered[k], n, fit->narrowed[k]);
        memset(fit->narrowed[k] + n, 0, (whole - n) * sizeof(i16));
    }
    for (u32 i = 0; i <= fit->count; i++) {
        for (u32 j = i; j <= fit->count; j++) {
            fit->sums[i][j] += product(fit->narrowed[i], fit->narrowed[j], whole) *
                               ((i64)1 << (shifts[i] + shifts[j]));
        }
    }
    fit->rows = 0;
}

void grid_fit_push(GridFit *fit, u32 n)
{
    for (u32 k = 0; k <= fit->count && n < fit->wide; k++) {
        memset(grid_fit_row(fit, k) + n, 0, (fit->wide - n) * sizeof(i32));
    }
    fit->cells += (u64)n * fit->step;
    fit->rows++;
    if (fit->rows == GRID_FIT_ROWS) {
        sum_up(fit);
    }
}

/* Solves A x = b in place by LDLᵀ (A: upper triangle): x in 2^-PART_BITS. */
static void solve(i64 a[GRID_FIT_MAX][GRID_FIT_MAX], const i64 *b, u32 n, i64 *x)
{
    i64 part[GRID_FIT_MAX][GRID_FIT_MAX], rest[GRID_FIT_MAX] = {0}; /* L in 2^-PART_BITS, D */
    for (u32 j = 0; j < n; j++) {
        i128 d = a[j][j];
        for (u32 k = 0; k < j; k++) {
            i128 l = part[j][k];
            d -= (l * rest[k] >> PART_BITS) * l >> PART_BITS;
        }
        rest[j] = d > 1 ? (i64)d : 1;
        for (u32 i = j + 1; i < n; i++) {
            i128 sum = a[j][i];
            for (u32 k = 0; k < j; k++) {
                sum -= ((i128)part[i][k] * rest[k] >> PART_BITS) * part[j][k] >> PART_BITS;
            }
            part[i][j] = (i64)(sum * ((i128)1 << PART_BITS) / rest[j]);
        }
    }
    i128 y[GRID_FIT_MAX] = {0};
    for (u32 i = 0; i < n; i++) {
        y[i] = b[i];
        for (u32 k = 0; k < i; k++) {
            y[i] -= part[i][k] * y[k] >> PART_BITS;
        }
    }
    for (u32 i = n; i-- > 0;) {
        i128 sum = y[i] * ((i128)1 << PART_BITS) / rest[i];
        for (u32 k = i + 1; k < n; k++) {
            sum -= (i128)part[k][i] * x[k] >> PART_BITS;
        }
        x[i] = (i64)sum;
    }
}

bool grid_fit_solve(GridFit *fit, const i32 *first, i32 *weights)
{
    u32 n = fit->count, shift = 0;
    i32 start[GRID_FIT_MAX];
    if (fit->rows > 0) {
        sum_up(fit);
    }
    i64 most = 0;
    for (u32 i = 0; i <= n; i++) {
        most = fit->sums[i][i] > most ? fit->sums[i][i] : most;
    }
    for (u32 i = 0; i < n; i++) {
        weights[i] = first[i];
        start[i] = first[i] * 256;
    }
    if (n == 0 || fit->cells == 0) {
        return false;
    }
    while (most >> shift >= (i64)1 << SCALE_BITS) {
        shift++;
    }
    u32 up = 0;
    while (most != 0 && shift == 0 && most << up < (i64)1 << (SCALE_BITS - 1)) {
        up++;
    }
    i64 a[GRID_FIT_MAX][GRID_FIT_MAX], slope[GRID_FIT_MAX], x[GRID_FIT_MAX];
    for (u32 i = 0; i <= n; i++) {
        for (u32 j = i; j <= n; j++) {
            a[i][j] = a[j][i] = (fit->sums[i][j] * ((i64)1 << up)) >> shift;
        }
    }
    /* The residual with the starting weights, and its change with the fitted ones. */
    i128 error = (i128)a[n][n] * 65536;
    for (u32 i = 0; i < n; i++) {
        i128 sum = (i128)a[i][n] * 65536;
        error -= (i128)a[i][n] * start[i];
        for (u32 j = 0; j < n; j++) {
            sum -= (i128)a[i][j] * start[j];
        }
        error -= (sum >> 16) * start[i];
        slope[i] = (i64)(sum >> 16);
    }
    for (u32 i = 0; i < n; i++) {
        a[i][i] += (a[i][i] >> 12) + ((i64)1 << 14);
    }
    solve(a, slope, n, x);
    i128 gain = 0;
    for (u32 i = 0; i < n; i++) {
        gain += (i128)x[i] * slope[i] >> (PART_BITS - 16);
        i64 w = (start[i] + (x[i] >> (PART_BITS - 16)) + 128) >> 8;
        weights[i] = (i32)(w > WEIGHT_MAX ? WEIGHT_MAX : w < -WEIGHT_MAX ? -WEIGHT_MAX : w);
    }
    /* The fit saves cells / 2 × log2(error / (error − gain)) bits. */
    if (gain * (i64)fit->cells <= error * (i64)(n * COST_BITS * 7 / 5)) {
        for (u32 i = 0; i < n; i++) {
            weights[i] = first[i];
        }
        return false;
    }
    return true;
}
