/* advect.c: semi-Lagrangian and MacCormack steps. A row is traced first, in chunks; then eight
 * neighbouring cells interpolate at once: as neighbours go almost the same way, what they need are
 * two or three cells per axis at a common offset, loaded as whole vectors and weighted by lane.
 * Where neighbours diverge by more than a cell, each is interpolated alone. */
#include "server/physics/grid/advect.h"

#include <math.h>

enum {
    CHUNK = 128 /* cells of a row that are traced at a time */
};

/* Where the places of a row lie along an axis: what is traced stays within. */
typedef struct Limits {
    f32 low[3], high[3]; /* in cells */
    bool periodic[3];
} Limits;

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

/* Component c at eight places of a kind; up and down: the steps of c and of the place. */
SIMD_INLINE f32x8 velocity_at(const f32 *v, u32 place, u32 c, i32 up, i32 down)
{
    if (place == c) {
        return air_load(v);
    }
    f32x8 sum = air_load(v) + air_load(v + up);
    if (place == ADVECT_CELLS) {
        return f32x8_set(0.5f) * sum;
    }
    return f32x8_set(0.25f) * (sum + (air_load(v - down) + air_load(v - down + up)));
}

static const f32x8 lane_numbers = {0, 1, 2, 3, 4, 5, 6, 7};

/* Keeps the traces inside: s becomes the clamped position minus the start. */
SIMD_INLINE f32x8 clamp_trace(const Limits *limits, u32 a, f32x8 start, f32x8 s)
{
    f32x8 end = f32x8_max(start + s, f32x8_set(limits->low[a]));
    return f32x8_min(end, f32x8_set(limits->high[a])) - start;
}

SIMD_INLINE i32 floor_of(f32 s)
{
    i32 whole = (i32)s;
    return whole - ((f32)whole > s);
}

/* ---- windows ---- */

/* The cells that eight traces interpolate: two along each axis from `lo` on, or three where a bit
 * of `wide` is set; part: of the way from the first to the next ones, 0..1 or 0..2. */
typedef struct Window {
    i32 lo[3];
    u32 wide;
    f32x8 part[3];
} Window;

/* False: the traces diverge too much, or leave the row's ghosts. */
SIMD_INLINE bool find_window(const AirGrid *grid, const f32x8 s[3], i32 x, bool deep, Window *w)
{
    const f32x8 zero = f32x8_set(0.0f), half = f32x8_set(0.5f), one = f32x8_set(1.0f);
    i32x8 beyond = {0};
    u32 axes = deep ? 3 : 2;
    for (u32 a = 0; a < axes; a++) {
        w->lo[a] = floor_of(s[a][0]);
        w->part[a] = s[a] - f32x8_set((f32)w->lo[a]);
        beyond |= f32x8_abs(w->part[a] - half) > half;
    }
    w->wide = 0;
    if (i32x8_any(beyond)) {
        for (u32 a = 0; a < axes; a++) {
            bool low = i32x8_any(w->part[a] < zero), high = i32x8_any(w->part[a] > one);
            if (low) {
                w->lo[a]--;
                w->part[a] += one;
            }
            w->wide |= (u32)(low || high) << a;
            bool apart = i32x8_any((w->part[a] < zero) | (w->part[a] > f32x8_set(2.0f)));
            if (apart || (low && high)) {
                return false;
            }
        }
    }
    return x + w->lo[0] >= -AIR_GHOSTS && x + w->lo[0] + SIMD_LANES + 1 <= grid->n[0] + AIR_GHOSTS;
}

SIMD_INLINE i32 wrap(i32 i, i32 n, bool periodic)
{
    if (periodic) {
        i = i < 0 ? i + n : i >= n ? i - n : i;
        i = i < 0 ? i + n : i >= n ? i - n : i;
    }
    return i;
}

/* Between two or three values along an axis. Equal values give just that. */
SIMD_INLINE f32x8 blend(const f32x8 v[3], f32x8 part, bool wide)
{
    if (!wide) {
        return v[0] + part * (v[1] - v[0]);
    }
    const f32x8 zero = f32x8_set(0.0f), one = f32x8_set(1.0f);
    f32x8 low = f32x8_max(one - part, zero), high = f32x8_max(part - one, zero);
    return v[1] + (low * (v[0] - v[1]) + high * (v[2] - v[1]));
}

/* Least (most: greatest) of the values with weight along an axis. */
SIMD_INLINE f32x8 extreme(const f32x8 v[3], f32x8 part, bool wide, bool most)
{
    f32x8 other = v[0];
    if (wide) {
        other = f32x8_select(part < f32x8_set(1.0f), v[0], v[2]);
    }
    return most ? f32x8_max(other, v[1]) : f32x8_min(other, v[1]);
}

typedef struct Range {
    f32x8 least, most;
} Range;

/* Start of the rows of a window, floats from its cell 0, 0, 0. */
typedef struct Rows {
    i32 y[3], z[3];
} Rows;

SIMD_INLINE Rows rows_of(const AirGrid *grid, const Limits *limits, const i32 at[3],
                         const Window *w, bool deep)
{
    Rows rows = {{0}, {0}};
    i32 x = grid->origin + at[0] + w->lo[0];
    for (i32 j = 0; j < 3; j++) {
        rows.y[j] = x + wrap(at[1] + w->lo[1] + j, grid->n[1], limits->periodic[1]) * grid->row;
        if (deep) {
            rows.z[j] = wrap(at[2] + w->lo[2] + j, grid->n[2], limits->periodic[2]) * grid->slab;
        }
    }
    return rows;
}

SIMD_INLINE f32x8 sample_window(const f32 *cells, const Rows *rows, const Window *w, u32 wide,
                                bool deep)
{
    f32x8 planes[3];
    for (i32 k = 0; k < (deep ? 2 + (i32)(wide >> 2) : 1); k++) {
        f32x8 lines[3];
        for (i32 j = 0; j < 2 + (i32)(wide >> 1 & 1); j++) {
            const f32 *row = cells + rows->y[j] + rows->z[k];
            f32x8 v[3] = {air_load(row), air_load(row + 1)};
            if (wide & 1) {
                v[2] = air_load(row + 2);
            }
            lines[j] = blend(v, w->part[0], wide & 1);
        }
        planes[k] = blend(lines, w->part[1], wide >> 1 & 1);
    }
    return deep ? blend(planes, w->part[2], wide >> 2) : planes[0];
}

SIMD_INLINE Range range_of_window(const f32 *cells, const Rows *rows, const Window *w, u32 wide,
                                  bool deep)
{
    f32x8 least[3], most[3];
    for (i32 k = 0; k < (deep ? 2 + (i32)(wide >> 2) : 1); k++) {
        f32x8 lows[3], highs[3];
        for (i32 j = 0; j < 2 + (i32)(wide >> 1 & 1); j++) {
            const f32 *row = cells + rows->y[j] + rows->z[k];
            f32x8 v[3] = {air_load(row), air_load(row + 1)};
            if (wide & 1) {
                v[2] = air_load(row + 2);
            }
            lows[j] = extreme(v, w->part[0], wide & 1, false);
            highs[j] = extreme(v, w->part[0], wide & 1, true);
        }
        least[k] = extreme(lows, w->part[1], wide >> 1 & 1, false);
        most[k] = extreme(highs, w->part[1], wide >> 1 & 1, true);
    }
    if (!deep) {
        return (Range){least[0], most[0]};
    }
    return (Range){extreme(least, w->part[2], wide >> 2, false),
                   extreme(most, w->part[2], wide >> 2, true)};
}

/* One case for each shape of a window, so that its loops are unrolled. */
#define EACH_SHAPE(w, call)                                                                        \
    switch ((w)->wide) {                                                                           \
    case 0:                                                                                        \
        call(0);                                                                                   \
        break;                                                                                     \
    case 1:                                                                                        \
        call(1);                                                                                   \
        break;                                                                                     \
    case 2:                                                                                        \
        call(2);                                                                                   \
        break;                                                                                     \
    case 3:                                                                                        \
        call(3);                                                                                   \
        break;                                                                                     \
    case 4:                                                                                        \
        call(4);                                                                                   \
        break;                                                                                     \
    case 5:                                                                                        \
        call(5);                                                                                   \
        break;                                                                                     \
    case 6:                                                                                        \
        call(6);                                                                                   \
        break;                                                                                     \
    default:                                                                                       \
        call(7);                                                                                   \
        break;                                                                                     \
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
            i32 y = wrap(lo[1] + j, grid->n[1], limits->periodic[1]);
            i32 z = wrap(lo[2] + k, grid->n[2], limits->periodic[2]);
            const f32 *row = cells + air_at(grid, 0, y, z);
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

static void sample_apart(const AirGrid *grid, const Limits *limits, const f32 *cells,
                         const i32 at[3], const f32x8 s[3], f32x8 *out, Range *range)
{
    for (i32 l = 0; l < SIMD_LANES; l++) {
        const i32 here[3] = {at[0] + l, at[1], at[2]};
        const f32 one[3] = {s[0][l], s[1][l], s[2][l]};
        f32 least = INFINITY, most = -INFINITY;
        (*out)[l] = sample_one(grid, limits, cells, here, one, &least, &most);
        range->least[l] = least;
        range->most[l] = most;
    }
}

SIMD_INLINE f32x8 interpolate(const AirGrid *grid, const Limits *limits, const f32 *cells,
                              const i32 at[3], const f32x8 s[3], bool deep)
{
    Window w;
    f32x8 value = f32x8_set(0.0f);
    if (PL_UNLIKELY(!find_window(grid, s, at[0], deep, &w))) {
        Range range;
        sample_apart(grid, limits, cells, at, s, &value, &range);
        return value;
    }
    Rows rows = rows_of(grid, limits, at, &w, deep);
#define SAMPLE(wide) value = sample_window(cells, &rows, &w, wide, deep)
    EACH_SHAPE(&w, SAMPLE)
#undef SAMPLE
    return value;
}

SIMD_INLINE Range range_around(const AirGrid *grid, const Limits *limits, const f32 *cells,
                               const i32 at[3], const f32x8 s[3], bool deep)
{
    Window w;
    Range range = {f32x8_set(INFINITY), f32x8_set(-INFINITY)};
    if (PL_UNLIKELY(!find_window(grid, s, at[0], deep, &w))) {
        f32x8 value;
        sample_apart(grid, limits, cells, at, s, &value, &range);
        return range;
    }
    Rows rows = rows_of(grid, limits, at, &w, deep);
#define SAMPLE(wide) range = range_of_window(cells, &rows, &w, wide, deep)
    EACH_SHAPE(&w, SAMPLE)
#undef SAMPLE
    return range;
}

/* ---- traces ---- */

/* Displacements, in cells, of a chunk of a row. */
typedef struct Chunk {
    f32 sign; /* −1: back */
    f32x8 s[3][CHUNK / SIMD_LANES];
} Chunk;

SIMD_INLINE void trace_chunk(const Advect *advect, const Limits *limits, u32 place, const i32 at[3],
                             i32 vectors, bool deep, Chunk *chunk)
{
    const AirGrid *grid = advect->grid;
    i32 here = air_at(grid, at[0], at[1], at[2]);
    f32x8 scale = f32x8_set(chunk->sign * advect->scale);
    for (u32 c = 0; c < (deep ? 3 : 2); c++) {
        const f32x8 low = f32x8_set(limits->low[c]), high = f32x8_set(limits->high[c]);
        f32x8 start = f32x8_set((f32)at[c]) + (c == 0 ? lane_numbers : f32x8_set(0.0f));
        const f32 *v = advect->velocity[c] + here;
        i32 up = step_of(grid, c), down = place < ADVECT_CELLS ? step_of(grid, place) : 0;
        for (i32 k = 0; k < vectors; k++, v += SIMD_LANES) {
            f32x8 s = scale * velocity_at(v, place, c, up, down);
            chunk->s[c][k] = f32x8_min(f32x8_max(start + s, low), high) - start;
            if (c == 0) {
                start += f32x8_set((f32)SIMD_LANES);
            }
        }
    }
}

/* Those through the velocity half way, of second order. */
static void refine_chunk(const Advect *advect, const Limits *limits, const i32 at[3], i32 vectors,
                         Chunk *chunk)
{
    const AirGrid *grid = advect->grid;
    u32 place = advect->place;
    f32x8 scale = f32x8_set(chunk->sign * advect->scale);
    for (i32 k = 0; k < vectors; k++) {
        const i32 first[3] = {at[0] + k * SIMD_LANES, at[1], at[2]};
        const f32x8 starts[3] = {lane_numbers + f32x8_set((f32)first[0]), f32x8_set((f32)at[1]),
                                 f32x8_set((f32)at[2])};
        f32x8 s[3], middle[3];
        for (u32 c = 0; c < grid->dims; c++) {
            Limits inside = limits_of(grid, c);
            middle[2] = f32x8_set(0.0f);
            for (u32 a = 0; a < grid->dims; a++) {
                f32 off = (a == c ? 0.5f : 0.0f) - (a == place ? 0.5f : 0.0f);
                f32x8 half = f32x8_set(0.5f) * chunk->s[a][k] + f32x8_set(off);
                middle[a] = clamp_trace(&inside, a, starts[a], half);
            }
            s[c] = scale *
                   interpolate(grid, &inside, advect->velocity[c], first, middle, grid->dims == 3);
        }
        for (u32 a = 0; a < grid->dims; a++) {
            chunk->s[a][k] = clamp_trace(limits, a, starts[a], s[a]);
        }
    }
}

/* One loop for each place, so that the compiler knows what is averaged. */
SIMD_INLINE void trace(const Advect *advect, const Limits *limits, const i32 at[3], i32 vectors,
                       bool deep, Chunk *chunk)
{
    switch (advect->place) {
    case 0:
        trace_chunk(advect, limits, 0, at, vectors, deep, chunk);
        break;
    case 1:
        trace_chunk(advect, limits, 1, at, vectors, deep, chunk);
        break;
    case 2:
        trace_chunk(advect, limits, 2, at, vectors, deep, chunk);
        break;
    default:
        trace_chunk(advect, limits, ADVECT_CELLS, at, vectors, deep, chunk);
        break;
    }
    if (advect->midpoint) {
        refine_chunk(advect, limits, at, vectors, chunk);
    }
}

/* ---- steps ---- */

SIMD_INLINE void load_trace(const Chunk *chunk, i32 v, bool deep, f32x8 s[3])
{
    s[0] = chunk->s[0][v];
    s[1] = chunk->s[1][v];
    s[2] = deep ? chunk->s[2][v] : f32x8_set(0.0f);
}

SIMD_INLINE void back_chunk(const Advect *advect, const Limits *limits, const i32 at[3],
                            i32 vectors, bool deep)
{
    const AirGrid *grid = advect->grid;
    Chunk chunk;
    chunk.sign = -1.0f;
    trace(advect, limits, at, vectors, deep, &chunk);
    for (i32 v = 0; v < vectors; v++) {
        const i32 first[3] = {at[0] + v * SIMD_LANES, at[1], at[2]};
        i32 here = air_at(grid, first[0], first[1], first[2]);
        f32x8 s[3];
        Window w;
        load_trace(&chunk, v, deep, s);
        if (PL_UNLIKELY(!find_window(grid, s, first[0], deep, &w))) {
            for (u32 f = 0; f < advect->count; f++) {
                f32x8 value;
                Range range;
                sample_apart(grid, limits, advect->from[f], first, s, &value, &range);
                f32x8_store(advect->to[f] + here, value);
            }
            continue;
        }
        Rows rows = rows_of(grid, limits, first, &w, deep);
#define SAMPLE(wide)                                                                               \
    for (u32 f = 0; f < advect->count; f++) {                                                      \
        f32x8_store(advect->to[f] + here, sample_window(advect->from[f], &rows, &w, wide, deep));  \
    }
        EACH_SHAPE(&w, SAMPLE)
#undef SAMPLE
    }
}

SIMD_INLINE void correct_chunk(const Advect *advect, const Limits *limits, const i32 at[3],
                               i32 vectors, bool deep)
{
    const AirGrid *grid = advect->grid;
    Chunk forth, back;
    forth.sign = 1.0f;
    back.sign = -1.0f;
    trace(advect, limits, at, vectors, deep, &forth);
    if (advect->limited) {
        trace(advect, limits, at, vectors, deep, &back);
    }
    for (i32 v = 0; v < vectors; v++) {
        const i32 first[3] = {at[0] + v * SIMD_LANES, at[1], at[2]};
        i32 here = air_at(grid, first[0], first[1], first[2]);
        f32x8 s[3];
        for (u32 f = 0; f < advect->count; f++) {
            load_trace(&forth, v, deep, s);
            f32x8 again = interpolate(grid, limits, advect->ahead[f], first, s, deep);
            f32x8 once = f32x8_load(advect->ahead[f] + here);
            f32x8 half = f32x8_set(0.5f) * (f32x8_load(advect->from[f] + here) - again);
            if (advect->limited) {
                load_trace(&back, v, deep, s);
                Range range = range_around(grid, limits, advect->from[f], first, s, deep);
                f32x8 value = once + half;
                half = f32x8_and((value >= range.least) & (value <= range.most), half);
            }
            f32x8_store(advect->to[f] + here, once + half);
        }
    }
}

/* Calls for the chunks of a span. */
#define EACH_CHUNK(advect, span, call)                                                             \
    Limits limits = limits_of((advect)->grid, (advect)->place);                                    \
    for (i32 z = (span)->z0; z < (span)->z1; z++) {                                                \
        for (i32 y = (span)->y0; y < (span)->y1; y++) {                                            \
            for (i32 x = (span)->x0; x < (span)->x1; x += CHUNK) {                                 \
                const i32 at[3] = {x, y, z};                                                       \
                i32 vectors = i32_min(CHUNK, (span)->x1 - x) / SIMD_LANES;                         \
                if ((advect)->grid->dims == 3) {                                                   \
                    call(advect, &limits, at, vectors, true);                                      \
                } else {                                                                           \
                    call(advect, &limits, at, vectors, false);                                     \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

static void back_span(void *context, const AirSpan *span, u32 index)
{
    PL_UNUSED(index);
    const Advect *advect = (const Advect *)context;
    EACH_CHUNK(advect, span, back_chunk)
}

static void correct_span(void *context, const AirSpan *span, u32 index)
{
    PL_UNUSED(index);
    const Advect *advect = (const Advect *)context;
    EACH_CHUNK(advect, span, correct_chunk)
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
