/* advect.c: semi-Lagrangian and MacCormack steps. A row is traced first, in chunks; then eight
 * neighbouring cells are interpolated at once: as the traces of neighbours are almost parallel,
 * they need two or three cells per axis at a common offset, loaded as whole vectors and weighted by
 * lane. Where neighbours diverge by more than a cell, each is interpolated alone. */
#include "server/physics/grid/advect.h"

#include <math.h>
#include <string.h>

enum {
    CHUNK = 128, /* cells of a row that are traced at a time */
    VECTORS = CHUNK / SIMD_LANES,
};

/* Range of the places of a row along an axis: traces are clamped to it. */
typedef struct Limits {
    const AirGrid *grid;
    f32 low[3], high[3]; /* in cells */
    bool periodic[3];
} Limits;

static Limits limits_of(const AirGrid *grid, u32 place)
{
    Limits limits = {.grid = grid};
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

/* Component c at eight places of a kind; up and down: strides to the neighbours. */
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
 * of `wide` is set; part: position between the first and the next ones, 0..1 or 0..2. */
typedef struct Window {
    i32 lo[3];
    u32 wide;
    f32x8 part[3];
} Window;

/* False: the traces diverge too much, or leave the row's ghosts. Without branches, which would be
 * mispredicted. */
SIMD_INLINE bool find_window(const AirGrid *grid, const f32x8 s[3], i32 x, bool deep, Window *w)
{
    const f32x8 zero = f32x8_set(0.0f), one = f32x8_set(1.0f), two = f32x8_set(2.0f);
    i32x8 apart = {0};
    u32 torn = 0;
    w->wide = 0;
    for (u32 a = 0; a < (deep ? 3u : 2u); a++) {
        i32 lo = floor_of(s[a][0]);
        f32x8 part = s[a] - f32x8_set((f32)lo);
        u32 low = i32x8_any(part < zero), high = i32x8_any(part > one);
        part += f32x8_set((f32)low);
        apart |= (part < zero) | (part > two);
        torn |= low & high;
        w->wide |= (low | high) << a;
        w->lo[a] = lo - (i32)low;
        w->part[a] = part;
    }
    return !torn && !i32x8_any(apart) && x + w->lo[0] >= -AIR_GHOSTS &&
           x + w->lo[0] + SIMD_LANES + 1 <= grid->n[0] + AIR_GHOSTS;
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
    if (PL_LIKELY(!limits->periodic[1] && !limits->periodic[2])) {
        i32 y = x + (at[1] + w->lo[1]) * grid->row, z = deep ? (at[2] + w->lo[2]) * grid->slab : 0;
        return (Rows){{y, y + grid->row, y + 2 * grid->row},
                      {z, z + grid->slab, z + 2 * grid->slab}};
    }
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

/* A single trace, in scalar code. */
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

/* w: NULL where there is none. */
SIMD_INLINE f32x8 sample(const AirGrid *grid, const Limits *limits, const f32 *cells,
                         const i32 at[3], const f32x8 s[3], const Window *w, bool deep)
{
    f32x8 value = f32x8_set(0.0f);
    if (PL_UNLIKELY(w == NULL)) {
        Range range;
        sample_apart(grid, limits, cells, at, s, &value, &range);
        return value;
    }
    Rows rows = rows_of(grid, limits, at, w, deep);
#define SAMPLE(wide) value = sample_window(cells, &rows, w, wide, deep)
    EACH_SHAPE(w, SAMPLE)
#undef SAMPLE
    return value;
}

SIMD_INLINE f32x8 interpolate(const AirGrid *grid, const Limits *limits, const f32 *cells,
                              const i32 at[3], const f32x8 s[3], bool deep)
{
    Window w;
    bool found = find_window(grid, s, at[0], deep, &w);
    return sample(grid, limits, cells, at, s, found ? &w : NULL, deep);
}

SIMD_INLINE Range range_around(const AirGrid *grid, const Limits *limits, const f32 *cells,
                               const i32 at[3], const Window *w, bool deep)
{
    Range range = {{0}, {0}};
    Rows rows = rows_of(grid, limits, at, w, deep);
#define SAMPLE(wide) range = range_of_window(cells, &rows, w, wide, deep)
    EACH_SHAPE(w, SAMPLE)
#undef SAMPLE
    return range;
}

/* ---- reusing the window of the previous row ---- */

/* Two cells along each axis, without wrapping at a side. In most of the air a vector's traces end
 * in the same window as those of the row before, which then need not be searched. */
typedef struct Lane {
    i32 offset; /* floats from a cell to the window's first */
    f32 lo[3];
    bool open; /* it exists, and lies within the row's ghosts */
} Lane;

static bool wraps(const AirGrid *grid, const Limits *limits, const i32 at[3], const f32 lo[3])
{
    bool any = false;
    for (u32 a = 1; a < grid->dims; a++) {
        i32 i = at[a] + (i32)lo[a];
        any = any || (limits->periodic[a] && (i < 0 || i + 1 >= grid->n[a]));
    }
    return any;
}

/* Before a row of `vectors`. */
static void check_lanes(const AirGrid *grid, const Limits *limits, const i32 at[3], i32 vectors,
                        Lane *lanes)
{
    for (i32 v = 0; v < vectors && (limits->periodic[1] || limits->periodic[2]); v++) {
        lanes[v].open = lanes[v].open && !wraps(grid, limits, at, lanes[v].lo);
    }
}

SIMD_INLINE f32x8 mix(f32x8 a, f32x8 b, f32x8 part)
{
    return a + part * (b - a);
}

SIMD_INLINE f32x8 sample_plane(const f32 *at, i32 row, const f32x8 part[3])
{
    f32x8 low = mix(air_load(at), air_load(at + 1), part[0]);
    f32x8 high = mix(air_load(at + row), air_load(at + row + 1), part[0]);
    return mix(low, high, part[1]);
}

SIMD_INLINE f32x8 sample_lane(const AirGrid *grid, const f32 *at, const f32x8 part[3], bool deep)
{
    f32x8 plane = sample_plane(at, grid->row, part);
    return deep ? mix(plane, sample_plane(at + grid->slab, grid->row, part), part[2]) : plane;
}

SIMD_INLINE Range range_plane(const f32 *at, i32 row)
{
    f32x8 a = air_load(at), b = air_load(at + 1), c = air_load(at + row),
          d = air_load(at + row + 1);
    return (Range){f32x8_min(f32x8_min(a, b), f32x8_min(c, d)),
                   f32x8_max(f32x8_max(a, b), f32x8_max(c, d))};
}

SIMD_INLINE Range range_lane(const AirGrid *grid, const f32 *at, bool deep)
{
    Range range = range_plane(at, grid->row);
    if (deep) {
        Range other = range_plane(at + grid->slab, grid->row);
        range.least = f32x8_min(range.least, other.least);
        range.most = f32x8_max(range.most, other.most);
    }
    return range;
}

/* ---- traces ---- */

/* Displacements, in cells, of a chunk of a row. */
typedef struct Chunk {
    i32 at[3], vectors;
    f32x8 traced[3 * VECTORS]; /* [axis][vector] */
} Chunk;

/* sign: -1 back, 1 forth. */
SIMD_INLINE void trace_chunk(const Advect *advect, const Limits *limits, u32 place, bool deep,
                             f32 sign, Chunk *chunk)
{
    const AirGrid *grid = advect->grid;
    const i32 *at = chunk->at, vectors = chunk->vectors;
    i32 here = air_at(grid, at[0], at[1], at[2]);
    f32x8 scale = f32x8_set(sign * advect->scale);
    for (u32 c = 0; c < (deep ? 3u : 2u); c++) {
        f32x8 start = f32x8_set((f32)at[c]) + (c == 0 ? lane_numbers : f32x8_set(0.0f));
        f32x8 low = f32x8_set(limits->low[c]) - start, high = f32x8_set(limits->high[c]) - start;
        const f32 *v = advect->velocity[c] + here;
        bool keeps = place != c && advect->traced[c] != NULL; /* in the first half, going back */
        i32 up = step_of(grid, c), down = place < ADVECT_CELLS ? step_of(grid, place) : 0;
        for (i32 k = 0; k < vectors; k++, v += SIMD_LANES) {
            f32x8 s;
            if (keeps && sign > 0.0f) {
                s = -f32x8_load(advect->traced[c] + here + k * SIMD_LANES);
            } else {
                s = scale * velocity_at(v, place, c, up, down);
            }
            if (keeps && sign < 0.0f) {
                f32x8_store(advect->traced[c] + here + k * SIMD_LANES, s);
            }
            chunk->traced[c * VECTORS + k] = f32x8_min(f32x8_max(s, low), high);
            if (c == 0) {
                low -= f32x8_set((f32)SIMD_LANES);
                high -= f32x8_set((f32)SIMD_LANES);
            }
        }
    }
}

/* The same through the velocity at the midpoint, of second order. */
static void refine_chunk(const Advect *advect, const Limits *limits, const i32 at[3], i32 vectors,
                         f32 sign, f32x8 *traced)
{
    const AirGrid *grid = advect->grid;
    u32 place = advect->place;
    f32x8 scale = f32x8_set(sign * advect->scale);
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
                f32x8 half = f32x8_set(0.5f) * traced[a * VECTORS + k] + f32x8_set(off);
                middle[a] = clamp_trace(&inside, a, starts[a], half);
            }
            s[c] = scale *
                   interpolate(grid, &inside, advect->velocity[c], first, middle, grid->dims == 3);
        }
        for (u32 a = 0; a < grid->dims; a++) {
            traced[a * VECTORS + k] = clamp_trace(limits, a, starts[a], s[a]);
        }
    }
}

/* One loop per place, so that the averaging is known at compile time. */
SIMD_INLINE void trace(const Advect *advect, const Limits *limits, bool deep, f32 sign,
                       Chunk *chunk)
{
    switch (advect->place) {
    case 0:
        trace_chunk(advect, limits, 0, deep, sign, chunk);
        break;
    case 1:
        trace_chunk(advect, limits, 1, deep, sign, chunk);
        break;
    case 2:
        trace_chunk(advect, limits, 2, deep, sign, chunk);
        break;
    default:
        trace_chunk(advect, limits, ADVECT_CELLS, deep, sign, chunk);
        break;
    }
    if (PL_UNLIKELY(advect->midpoint)) {
        refine_chunk(advect, limits, chunk->at, chunk->vectors, sign, chunk->traced);
    }
}

/* ---- steps ---- */

SIMD_INLINE void load_trace(const f32x8 *traced, bool deep, f32x8 s[3])
{
    s[0] = traced[0];
    s[1] = traced[VECTORS];
    s[2] = deep ? traced[2 * VECTORS] : f32x8_set(0.0f);
}

/* Whether the traces of a vector of the chunk stay in the window; part: position within it. */
SIMD_INLINE bool lane_holds(const Lane *lane, const f32x8 *traced, bool deep, f32x8 part[3])
{
    const f32x8 half = f32x8_set(0.5f);
    i32x8 beyond = {0};
    for (u32 a = 0; a < (deep ? 3u : 2u); a++) {
        part[a] = traced[a * VECTORS] - f32x8_set(lane->lo[a]);
        beyond |= f32x8_abs(part[a] - half) > half;
    }
    return lane->open && !i32x8_any(beyond);
}

/* Position of a vector's window. */
typedef enum Found {
    FOUND_LANE,  /* that of its lane */
    FOUND_OTHER, /* in the Window given */
    FOUND_NONE
} Found;

/* Finds the window of a vector that is not in that of the row before. */
static __attribute__((noinline)) Found find_lane(const Limits *limits, const i32 first[3],
                                                 const f32x8 *traced, Lane *lane, Window *w)
{
    const AirGrid *grid = limits->grid;
    f32x8 s[3];
    bool deep = grid->dims == 3;
    load_trace(traced, deep, s);
    memset(lane, 0, sizeof *lane);
    if (!(deep ? find_window(grid, s, first[0], true, w)
               : find_window(grid, s, first[0], false, w))) {
        return FOUND_NONE;
    }
    if (w->wide != 0) {
        return FOUND_OTHER;
    }
    for (u32 a = 0; a < grid->dims; a++) {
        lane->lo[a] = (f32)w->lo[a];
        lane->offset += w->lo[a] * step_of(grid, a);
    }
    lane->open = !wraps(grid, limits, first, lane->lo);
    return lane->open ? FOUND_LANE : FOUND_OTHER;
}

SIMD_INLINE Found keep_lane(const Limits *limits, const i32 first[3], const f32x8 *traced,
                            bool deep, Lane *lane, f32x8 part[3], Window *w)
{
    if (PL_LIKELY(lane_holds(lane, traced, deep, part))) {
        return FOUND_LANE;
    }
    Found found = find_lane(limits, first, traced, lane, w);
    return found == FOUND_LANE && !lane_holds(lane, traced, deep, part) ? FOUND_NONE : found;
}

SIMD_INLINE void keep_range(const Advect *advect, u32 f, i32 here, Range range)
{
    f32x8_store(advect->least[f] + here, range.least);
    f32x8_store(advect->most[f] + here, range.most);
}

/* A vector in any window, or none (NULL). */
static __attribute__((noinline)) void back_vector(const Advect *advect, const Limits *limits,
                                                  const i32 first[3], const f32x8 *traced,
                                                  const Window *w)
{
    const AirGrid *grid = advect->grid;
    bool deep = grid->dims == 3;
    i32 here = air_at(grid, first[0], first[1], first[2]);
    f32x8 s[3];
    load_trace(traced, deep, s);
    for (u32 f = 0; f < advect->count; f++) {
        const f32 *from = advect->from[f];
        f32x8 value;
        if (PL_UNLIKELY(w == NULL)) {
            Range range = {f32x8_set(INFINITY), f32x8_set(-INFINITY)};
            sample_apart(grid, limits, from, first, s, &value, &range);
            if (advect->least[f] != NULL) {
                keep_range(advect, f, here, range);
            }
        } else {
            value = sample(grid, limits, from, first, s, w, deep);
            if (advect->least[f] != NULL) {
                keep_range(advect, f, here, range_around(grid, limits, from, first, w, deep));
            }
        }
        f32x8_store(advect->to[f] + here, value);
    }
}

/* What tracing forth again (`again`) shows, where the result stays within the range. */
SIMD_INLINE f32x8 corrected(const Advect *advect, u32 f, i32 here, f32x8 again)
{
    f32x8 once = f32x8_load(advect->ahead[f] + here);
    f32x8 value = once + f32x8_set(0.5f) * (f32x8_load(advect->from[f] + here) - again);
    if (!advect->limited) {
        return value;
    }
    i32x8 within = (value >= f32x8_load(advect->least[f] + here)) &
                   (value <= f32x8_load(advect->most[f] + here));
    return f32x8_select(within, value, once);
}

/* In any window, or none (NULL). */
static __attribute__((noinline)) void correct_vector(const Advect *advect, const Limits *limits,
                                                     const i32 first[3], const f32x8 *traced,
                                                     const Window *w)
{
    const AirGrid *grid = advect->grid;
    bool deep = grid->dims == 3;
    i32 here = air_at(grid, first[0], first[1], first[2]);
    f32x8 forth[3];
    load_trace(traced, deep, forth);
    for (u32 f = 0; f < advect->count; f++) {
        f32x8 again = sample(grid, limits, advect->ahead[f], first, forth, w, deep);
        f32x8_store(advect->to[f] + here, corrected(advect, f, here, again));
    }
}

/* A vector of cells in the window of its lane. */
SIMD_INLINE void back_lane(const Advect *advect, u32 f, i32 here, i32 offset, const f32x8 part[3],
                           bool deep)
{
    const f32 *cells = advect->from[f] + here + offset;
    f32x8 value = sample_lane(advect->grid, cells, part, deep);
    if (advect->least[f] != NULL) {
        keep_range(advect, f, here, range_lane(advect->grid, cells, deep));
    }
    f32x8_store(advect->to[f] + here, value);
}

SIMD_INLINE void correct_lane(const Advect *advect, u32 f, i32 here, i32 offset,
                              const f32x8 part[3], bool deep)
{
    f32x8 again = sample_lane(advect->grid, advect->ahead[f] + here + offset, part, deep);
    f32x8_store(advect->to[f] + here, corrected(advect, f, here, again));
}

/* Carries a chunk (`back`), or corrects what was carried. */
SIMD_INLINE void step_chunk(const Advect *advect, const Limits *limits, Chunk *chunk, bool back,
                            bool deep, Lane lanes[VECTORS])
{
    const AirGrid *grid = advect->grid;
    const i32 *at = chunk->at;
    check_lanes(grid, limits, at, chunk->vectors, lanes);
    trace(advect, limits, deep, back ? -1.0f : 1.0f, chunk);
    for (i32 v = 0; v < chunk->vectors; v++) {
        const i32 first[3] = {at[0] + v * SIMD_LANES, at[1], at[2]};
        i32 here = air_at(grid, first[0], first[1], first[2]);
        Lane *lane = &lanes[v];
        f32x8 part[3];
        Window w;
        Found found = keep_lane(limits, first, &chunk->traced[v], deep, lane, part, &w);
        if (found != FOUND_LANE) {
            (back ? back_vector : correct_vector)(advect, limits, first, &chunk->traced[v],
                                                  found == FOUND_NONE ? NULL : &w);
            continue;
        }
        for (u32 f = 0; f < advect->count; f++) {
            if (back) {
                back_lane(advect, f, here, lane->offset, part, deep);
            } else {
                correct_lane(advect, f, here, lane->offset, part, deep);
            }
        }
    }
}

/* Cells in which nothing is carried. */
static void clear_rest(const Advect *advect, const AirSpan *span, const i32 filled[2])
{
    for (i32 z = span->z0; z < span->z1; z++) {
        for (i32 y = span->y0; y < span->y1; y++) {
            i32 row = air_at(advect->grid, 0, y, z);
            for (u32 f = 0; f < advect->count; f++) {
                air_clear(advect->to[f] + row, span->x0, filled[0]);
                air_clear(advect->to[f] + row, filled[1], span->x1);
            }
        }
    }
}

/* The chunks of a span, row after row. */
SIMD_INLINE void step_span(const Advect *advect, const AirSpan *span, bool back)
{
    Limits limits = limits_of(advect->grid, advect->place);
    i32 filled[2];
    air_span_marked(advect->grid, span, advect->full, filled);
    clear_rest(advect, span, filled);
    for (i32 x = filled[0]; x < filled[1]; x += CHUNK) {
        Lane lanes[VECTORS];
        memset(lanes, 0, sizeof lanes);
        for (i32 z = span->z0; z < span->z1; z++) {
            for (i32 y = span->y0; y < span->y1; y++) {
                Chunk chunk;
                chunk.at[0] = x;
                chunk.at[1] = y;
                chunk.at[2] = z;
                chunk.vectors = i32_min(CHUNK, filled[1] - x) / SIMD_LANES;
                if (advect->grid->dims == 3) {
                    step_chunk(advect, &limits, &chunk, back, true, lanes);
                } else {
                    step_chunk(advect, &limits, &chunk, back, false, lanes);
                }
            }
        }
    }
}

static void back_span(void *context, const AirSpan *span, u32 index)
{
    PL_UNUSED(index);
    step_span((const Advect *)context, span, true);
}

static void correct_span(void *context, const AirSpan *span, u32 index)
{
    PL_UNUSED(index);
    step_span((const Advect *)context, span, false);
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
