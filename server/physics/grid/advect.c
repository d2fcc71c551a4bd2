/* advect.c: semi-Lagrangian and MacCormack steps. A vector of eight neighbouring cells is traced at
 * once: as neighbours go almost the same way, the cells that they interpolate are two or three per
 * axis at a common offset, loaded as whole vectors and weighted by hat functions. Where neighbours
 * diverge by more than a cell, each is traced alone. */
#include "server/physics/grid/advect.h"

#include <math.h>

/* Where the places of a row lie along an axis: what is traced stays within. */
typedef struct Limits {
    f32 low[3], high[3]; /* in cells */
    bool periodic[3];
} Limits;

/* The cells that eight traces interpolate: offsets lo to lo + count − 1 along each axis. */
typedef struct Taps {
    i32 lo[3], count[3];
    f32x8 weight[3][3];
} Taps;

static Limits limits_of(const AirGrid *grid, u32 place)
{
    Limits limits;
    for (u32 a = 0; a < 3; a++) {
        bool face = place == a;
        f32 n = (f32)grid->n[a];
        bool open[2] = {grid->sides[2 * a] == AIR_OPEN, grid->sides[2 * a + 1] == AIR_OPEN};
        limits.low[a] = face ? 0.0f : open[0] ? -1.0f : -0.5f;
        limits.high[a] = face ? n : open[1] ? n : n - 0.5f;
        limits.periodic[a] = a < grid->dims && grid->sides[2 * a] == AIR_PERIODIC;
        if (limits.periodic[a]) {
            limits.low[a] = -2.0f * n;
            limits.high[a] = 3.0f * n;
        }
    }
    return limits;
}

SIMD_INLINE i32 step_of(const AirGrid *grid, u32 axis)
{
    return axis == 0 ? 1 : axis == 1 ? grid->row : grid->slab;
}

/* Component c at eight places of a kind. */
SIMD_INLINE f32x8 velocity_at(const Advect *advect, u32 c, u32 place, i32 at)
{
    const f32 *v = advect->velocity[c] + at;
    i32 up = step_of(advect->grid, c);
    if (place == c) {
        return air_load(v);
    }
    f32x8 sum = air_load(v) + air_load(v + up);
    if (place == ADVECT_CELLS) {
        return f32x8_set(0.5f) * sum;
    }
    i32 down = step_of(advect->grid, place);
    return f32x8_set(0.25f) * (sum + (air_load(v - down) + air_load(v - down + up)));
}

static const f32x8 lane_numbers = {0, 1, 2, 3, 4, 5, 6, 7};

/* Keeps the traces inside: s becomes the clamped position minus the start. */
SIMD_INLINE f32x8 clamp_trace(const Limits *limits, u32 a, f32x8 start, f32x8 s)
{
    f32x8 end = f32x8_max(start + s, f32x8_set(limits->low[a]));
    return f32x8_min(end, f32x8_set(limits->high[a])) - start;
}

SIMD_INLINE f32 low_of(f32x8 v)
{
    f32x8 a = f32x8_min(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3));
    a = f32x8_min(a, __builtin_shufflevector(a, a, 2, 3, 0, 1, 6, 7, 4, 5));
    return a[0] < a[1] ? a[0] : a[1];
}

SIMD_INLINE i32 floor_of(f32 s)
{
    i32 whole = (i32)s;
    return whole - ((f32)whole > s);
}

/* False: the traces diverge too much, or leave the row's ghosts. */
SIMD_INLINE bool find_taps(const AirGrid *grid, const f32x8 s[3], i32 x, bool deep, Taps *taps)
{
    for (u32 a = 0; a < (deep ? 3 : 2); a++) {
        i32 lo = floor_of(low_of(s[a])), hi = floor_of(-low_of(-s[a]));
        taps->lo[a] = lo;
        taps->count[a] = hi - lo + 2;
        if (hi - lo > 1) {
            return false;
        }
        for (i32 t = 0; t < 3; t++) {
            f32x8 off = f32x8_abs(s[a] - f32x8_set((f32)(lo + t)));
            taps->weight[a][t] = f32x8_max(f32x8_set(1.0f) - off, f32x8_set(0.0f));
        }
    }
    return x + taps->lo[0] >= -AIR_GHOSTS &&
           x + taps->lo[0] + SIMD_LANES + 1 <= grid->n[0] + AIR_GHOSTS;
}

SIMD_INLINE i32 wrap(i32 i, i32 n, bool periodic)
{
    if (periodic) {
        i = i < 0 ? i + n : i >= n ? i - n : i;
        i = i < 0 ? i + n : i >= n ? i - n : i;
    }
    return i;
}

SIMD_INLINE const f32 *tap_row(const AirGrid *grid, const Limits *limits, const f32 *cells, i32 y,
                               i32 z)
{
    y = wrap(y, grid->n[1], limits->periodic[1]);
    z = wrap(z, grid->n[2], limits->periodic[2]);
    return cells + air_at(grid, 0, y, z);
}

/* Least and greatest of the cells that have weight. */
typedef struct Range {
    f32x8 least, most;
} Range;

SIMD_INLINE f32x8 along_x(const Taps *taps, const f32 *row, Range *range)
{
    f32x8 a = air_load(row), b = air_load(row + 1);
    f32x8 sum = taps->weight[0][0] * a + taps->weight[0][1] * b;
    if (taps->count[0] == 2) {
        if (range != NULL) {
            *range = (Range){f32x8_min(a, b), f32x8_max(a, b)};
        }
        return sum;
    }
    f32x8 c = air_load(row + 2);
    if (range != NULL) {
        i32x8 left = taps->weight[0][0] > f32x8_set(0.0f);
        i32x8 right = taps->weight[0][2] > f32x8_set(0.0f);
        f32x8 d = f32x8_select(left, a, b), e = f32x8_select(right, c, b);
        *range = (Range){f32x8_min(b, f32x8_min(d, e)), f32x8_max(b, f32x8_max(d, e))};
    }
    return sum + taps->weight[0][2] * c;
}

SIMD_INLINE f32x8 sample(const AirGrid *grid, const Limits *limits, const Taps *taps,
                         const f32 *cells, const i32 at[3], Range *range)
{
    bool deep = grid->dims == 3;
    f32x8 all = f32x8_set(0.0f);
    for (i32 k = 0; k < (deep ? taps->count[2] : 1); k++) {
        f32x8 plane = f32x8_set(0.0f);
        for (i32 j = 0; j < taps->count[1]; j++) {
            const f32 *row = tap_row(grid, limits, cells, at[1] + taps->lo[1] + j,
                                     deep ? at[2] + taps->lo[2] + k : 0);
            Range here;
            f32x8 weight = taps->weight[1][j];
            plane += weight * along_x(taps, row + at[0] + taps->lo[0], range ? &here : NULL);
            if (range != NULL) {
                weight = deep ? weight * taps->weight[2][k] : weight;
                i32x8 counts = weight > f32x8_set(0.0f);
                range->least =
                    f32x8_min(f32x8_select(counts, here.least, range->least), range->least);
                range->most = f32x8_max(f32x8_select(counts, here.most, range->most), range->most);
            }
        }
        all += deep ? taps->weight[2][k] * plane : plane;
    }
    return all;
}

/* One trace alone: the same by hand. */
static f32 sample_one(const AirGrid *grid, const Limits *limits, const f32 *cells, const i32 at[3],
                      const f32 s[3], f32 *least, f32 *most)
{
    i32 lo[3] = {0, 0, 0};
    f32 part[3] = {0.0f, 0.0f, 0.0f}, sum = 0.0f;
    for (u32 a = 0; a < grid->dims; a++) {
        lo[a] = floor_of(s[a]);
        part[a] = s[a] - (f32)lo[a];
        lo[a] += at[a];
    }
    for (i32 k = 0; k < (grid->dims == 3 ? 2 : 1); k++) {
        for (i32 j = 0; j < 2; j++) {
            const f32 *row = tap_row(grid, limits, cells, lo[1] + j, lo[2] + k);
            for (i32 i = 0; i < 2; i++) {
                f32 weight = (i ? part[0] : 1.0f - part[0]) * (j ? part[1] : 1.0f - part[1]) *
                             (k ? part[2] : 1.0f - part[2]);
                f32 value = row[wrap(lo[0] + i, grid->n[0], limits->periodic[0])];
                sum += weight * value;
                if (weight > 0.0f) {
                    *least = f32_min(value, *least);
                    *most = f32_max(value, *most);
                }
            }
        }
    }
    return sum;
}

static f32x8 sample_apart(const AirGrid *grid, const Limits *limits, const f32 *cells,
                          const i32 at[3], const f32x8 s[3], Range *range)
{
    f32x8 out = f32x8_set(0.0f);
    for (i32 l = 0; l < SIMD_LANES; l++) {
        const i32 here[3] = {at[0] + l, at[1], at[2]};
        const f32 one[3] = {s[0][l], s[1][l], s[2][l]};
        f32 least = INFINITY, most = -INFINITY;
        out[l] = sample_one(grid, limits, cells, here, one, &least, &most);
        if (range != NULL) {
            range->least[l] = least;
            range->most[l] = most;
        }
    }
    return out;
}

SIMD_INLINE f32x8 interpolate(const AirGrid *grid, const Limits *limits, const f32 *cells,
                              const i32 at[3], const f32x8 s[3], Range *range)
{
    Taps taps;
    if (range != NULL) {
        *range = (Range){f32x8_set(INFINITY), f32x8_set(-INFINITY)};
    }
    if (PL_LIKELY(find_taps(grid, s, at[0], grid->dims == 3, &taps))) {
        return sample(grid, limits, &taps, cells, at, range);
    }
    return sample_apart(grid, limits, cells, at, s, range);
}

/* Displacement, in cells, of eight traces; sign −1: back. */
SIMD_INLINE void trace(const Advect *advect, const Limits *limits, u32 place, const i32 at[3],
                       f32 sign, f32x8 s[3])
{
    const AirGrid *grid = advect->grid;
    i32 here = air_at(grid, at[0], at[1], at[2]);
    f32x8 scale = f32x8_set(sign * advect->scale);
    const f32x8 starts[3] = {lane_numbers + f32x8_set((f32)at[0]), f32x8_set((f32)at[1]),
                             f32x8_set((f32)at[2])};
    s[2] = f32x8_set(0.0f);
    for (u32 c = 0; c < grid->dims; c++) {
        s[c] = scale * velocity_at(advect, c, place, here);
    }
    if (advect->midpoint) {
        f32x8 half[3], middle[3];
        for (u32 c = 0; c < 3; c++) {
            half[c] = f32x8_set(0.5f) * s[c];
        }
        for (u32 c = 0; c < grid->dims; c++) {
            Limits inside = limits_of(grid, c);
            for (u32 a = 0; a < grid->dims; a++) {
                f32 off = (a == c ? 0.5f : 0.0f) - (a == place ? 0.5f : 0.0f);
                middle[a] = clamp_trace(&inside, a, starts[a], half[a] + f32x8_set(off));
            }
            middle[2] = grid->dims == 3 ? middle[2] : f32x8_set(0.0f);
            s[c] = scale * interpolate(grid, &inside, advect->velocity[c], at, middle, NULL);
        }
    }
    for (u32 a = 0; a < grid->dims; a++) {
        s[a] = clamp_trace(limits, a, starts[a], s[a]);
    }
}

SIMD_INLINE void back_rows(const Advect *advect, const AirSpan *span, u32 place)
{
    const AirGrid *grid = advect->grid;
    Limits limits = limits_of(grid, place);
    for (i32 z = span->z0; z < span->z1; z++) {
        for (i32 y = span->y0; y < span->y1; y++) {
            for (i32 x = span->x0; x < span->x1; x += SIMD_LANES) {
                const i32 at[3] = {x, y, z};
                f32x8 s[3];
                trace(advect, &limits, place, at, -1.0f, s);
                f32x8 value = interpolate(grid, &limits, advect->from, at, s, NULL);
                f32x8_store(advect->to + air_at(grid, x, y, z), value);
            }
        }
    }
}

SIMD_INLINE void correct_rows(const Advect *advect, const AirSpan *span, u32 place)
{
    const AirGrid *grid = advect->grid;
    Limits limits = limits_of(grid, place);
    for (i32 z = span->z0; z < span->z1; z++) {
        for (i32 y = span->y0; y < span->y1; y++) {
            for (i32 x = span->x0; x < span->x1; x += SIMD_LANES) {
                const i32 at[3] = {x, y, z};
                i32 here = air_at(grid, x, y, z);
                f32x8 s[3];
                trace(advect, &limits, place, at, 1.0f, s);
                f32x8 again = interpolate(grid, &limits, advect->ahead, at, s, NULL);
                f32x8 error = f32x8_load(advect->from + here) - again;
                f32x8 value = f32x8_load(advect->ahead + here) + f32x8_set(0.5f) * error;
                if (advect->limited) {
                    Range range;
                    trace(advect, &limits, place, at, -1.0f, s);
                    interpolate(grid, &limits, advect->from, at, s, &range);
                    value = f32x8_min(f32x8_max(value, range.least), range.most);
                }
                f32x8_store(advect->to + here, value);
            }
        }
    }
}

/* One loop for each place, so that the compiler knows what is averaged. */
#define EACH_PLACE(rows)                                                                           \
    switch (advect->place) {                                                                       \
    case 0:                                                                                        \
        rows(advect, span, 0);                                                                     \
        break;                                                                                     \
    case 1:                                                                                        \
        rows(advect, span, 1);                                                                     \
        break;                                                                                     \
    case 2:                                                                                        \
        rows(advect, span, 2);                                                                     \
        break;                                                                                     \
    default:                                                                                       \
        rows(advect, span, ADVECT_CELLS);                                                          \
        break;                                                                                     \
    }

static void back_span(void *context, const AirSpan *span, u32 index)
{
    PL_UNUSED(index);
    const Advect *advect = (const Advect *)context;
    EACH_PLACE(back_rows)
}

static void correct_span(void *context, const AirSpan *span, u32 index)
{
    PL_UNUSED(index);
    const Advect *advect = (const Advect *)context;
    EACH_PLACE(correct_rows)
}

void advect_back(const Advect *advect, Jobs *jobs)
{
    Advect copy = *advect;
    air_each(advect->grid, jobs, back_span, &copy);
}

void advect_correct(const Advect *advect, Jobs *jobs)
{
    Advect copy = *advect;
    air_each(advect->grid, jobs, correct_span, &copy);
}
