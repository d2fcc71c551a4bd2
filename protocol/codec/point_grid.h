/*
 * point_grid.h: motion of the points coded so far, by position: a hashed grid of cells, each with
 * its two newest points. Of up to sixteen points in the eight cells around a position near ones
 * have most influence (weights 1 / d⁴, as in Shepard's interpolation, 1968). Private to
 * point_code.c. Motion is in sixteenths of a code.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_POINT_GRID_H
#define PLENUM_PROTOCOL_CODEC_POINT_GRID_H

#include "shared/math/simd.h"

#include <string.h>

enum {
    GRID_BITS_MAX = 15,
    GRID_CELLS_MAX = 1 << GRID_BITS_MAX,
    GRID_CELL_POINTS = 2,
    GRID_EDGE_BITS = 6,
    GRID_SHIFT_MIN = 3,
    GRID_PART_BITS = 3,    /* positions are in eighths of a cell */
    GRID_NEAR_SQUARE = 4,  /* eighths²: limits the weight of very near points */
    GRID_SQUARE_MAX = 256, /* eighths²: beyond it points have no influence */
    GRID_WEIGHTS = 2 * GRID_SQUARE_MAX + 1,
    GRID_WEIGHT_MAX = 2047, /* so that no sum of sixteen exceeds 32 bits */
    GRID_PRIOR = 6, /* weight of a virtual neighbour that moves like the point itself; one a cell
                       away: 14 */
    GRID_INVERSE_BITS = 16,
};

/* Three numbers; the fourth lane is unused, or a size. */
typedef i32 i32x4 __attribute__((vector_size(16)));
typedef i16 i16x8 __attribute__((vector_size(16)));
typedef u32 u32x8 __attribute__((vector_size(32)));
typedef u16 u16x8 __attribute__((vector_size(16)));

/* Lanes of a point's data, and of the weighted mean over neighbours. */
enum {
    NEAR_OFF = 0,    /* three: error of the predicted motion */
    NEAR_SIZE = 3,   /* error of the prediction from neighbours */
    NEAR_WEIGHT = 4, /* 1 */
    NEAR_MOTION = 5, /* three: own motion; in the mean: its excess over that of the point */
    HINT_SIZES = 4,
};

typedef struct PointHint {
    i16x8 hint;
    u16x8 at; /* low bits of the position; lane 3 is 0; from HINT_SIZES on the error of the
                 prediction from neighbours by axis */
} PointHint;

/* What neighbours tell of a point: weighted means. */
typedef struct PointNear {
    i32x8 mean;  /* NEAR_… */
    i32x4 sizes; /* errors of the predictions from neighbours, by axis */
} PointNear;

typedef struct PointGrid {
    /* [(1 << bits) + 1] the two newest points + 1, 16 bits each, the newest in the low bits; the
     * last cell stays empty. */
    u32 *cells;
    PointHint *hints; /* [points] */
    u32 bits;
    u32 shift; /* a cell has an edge of (1 << shift) / parts codes, 4 ≤ parts < 8 */
    i32 parts;
    i32 usual; /* mean size over all points so far */
} PointGrid;

/* Sets the edge by its number in a header: four per octave, ascending. */
static inline void point_grid_edge(PointGrid *grid, u32 edge)
{
    grid->shift = GRID_SHIFT_MIN + (edge >> 2);
    grid->parts = 7 - (i32)(edge & 3);
}

/* Empty, with as many cells as points, at least 64; edge: see point_grid_edge. */
static inline void point_grid_begin(PointGrid *grid, u32 count, u32 edge)
{
    grid->bits = 6;
    while (grid->bits < GRID_BITS_MAX && 1u << grid->bits < count) {
        grid->bits++;
    }
    point_grid_edge(grid, edge);
    grid->usual = 64;
    memset(grid->cells, 0, sizeof(u32) * ((1u << grid->bits) + 1));
}

/* A position in eighths of a cell. Codes are within ±2^28. */
static inline i32x4 point_grid_place(const PointGrid *grid, i32x4 at)
{
    return at * grid->parts >> (grid->shift - GRID_PART_BITS);
}

/* A row of cells along x; its cell x is at (row + x) modulo the size of the table. */
static inline u32 point_grid_row(i32 y, i32 z)
{
    return ((u32)y * 0x9E3779B1u + (u32)z * 0x85EBCA77u) >> 12;
}

/* Cell of a place (point_grid_place) in the table. */
static inline u32 point_grid_cell(const PointGrid *grid, i32x4 place)
{
    i32x4 cell = place >> GRID_PART_BITS;
    return (point_grid_row(cell[1], cell[2]) + (u32)cell[0]) & ((1u << grid->bits) - 1);
}

/* Low bits of a position. Points 2^13 cells away appear near, with little harm. */
SIMD_INLINE u16x8 point_grid_low(i32x4 place)
{
#if defined(__AVX__)
    const __m128i low = _mm_setr_epi8(0, 1, 4, 5, 8, 9, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    return (u16x8)_mm_shuffle_epi8((__m128i)place, low);
#else
    return (u16x8){(u16)place[0], (u16)place[1], (u16)place[2]};
#endif
}

/* Lanes in the order of NEAR_…, of numbers within 16 bits. */
SIMD_INLINE i16x8 point_grid_lanes(i32x4 off, i32 size, i32x4 motion)
{
    off[3] = size;
#if defined(__SSE2__)
    __m128i rotated = _mm_shuffle_epi32((__m128i)motion, _MM_SHUFFLE(2, 1, 0, 3));
    i32x4 high = (i32x4)rotated;
    high[0] = 1;
    return (i16x8)_mm_packs_epi32((__m128i)off, (__m128i)high);
#else
    return (i16x8){(i16)off[0], (i16)off[1],    (i16)off[2],    (i16)off[3],
                   1,           (i16)motion[0], (i16)motion[1], (i16)motion[2]};
#endif
}

/* Own motion in its lanes. */
SIMD_INLINE i32x8 point_grid_motion(i32x4 motion)
{
    return (i32x8){0, 0, 0, 0, 0, motion[0], motion[1], motion[2]};
}

/* Four numbers of 0..2^16 − 1 into the high lanes. */
SIMD_INLINE u16x8 point_grid_high(u16x8 low, i32x4 numbers)
{
    u16x8 high = {0, 0, 0, 0, (u16)numbers[0], (u16)numbers[1], (u16)numbers[2], 0};
    return low | high;
}

/* Adds point i at this position. off and motion within ±2^14, size and sizes 0..2^14. */
SIMD_INLINE void point_grid_add(PointGrid *grid, u32 i, i32x4 place, i32x4 off, i32 size,
                                i32x4 sizes, i32x4 motion)
{
    grid->hints[i].at = point_grid_high(point_grid_low(place), sizes);
    grid->hints[i].hint = point_grid_lanes(off, size, motion);
    u32 *cell = &grid->cells[point_grid_cell(grid, place)];
    *cell = *cell << 16 | (i + 1);
    grid->usual += (size - grid->usual) >> 5;
}

/* The points + 1 in the eight cells around a position, 0: none; returns a bit mask of those
 * present. */
SIMD_INLINE u32 point_grid_about(const PointGrid *grid, i32x4 place, u16 found[16])
{
    const u32 mask = (1u << grid->bits) - 1, *rows[4];
    i32x4 from = (place - (1 << (GRID_PART_BITS - 1))) >> GRID_PART_BITS;
    for (i32 k = 0; k < 4; k++) {
        u32 row = point_grid_row(from[1] + (k & 1), from[2] + (k >> 1));
        rows[k] = &grid->cells[(row + (u32)from[0]) & mask];
    }
#if defined(__SSE2__)
    __m128i row[4], none = _mm_setzero_si128();
    for (u32 k = 0; k < 4; k++) {
        row[k] = _mm_loadl_epi64((const __m128i *)(const void *)rows[k]);
    }
    __m128i low = _mm_unpacklo_epi64(row[0], row[1]), high = _mm_unpacklo_epi64(row[2], row[3]);
    memcpy(found, &low, sizeof low);
    memcpy(found + 8, &high, sizeof high);
    none = _mm_packs_epi16(_mm_cmpeq_epi16(low, none), _mm_cmpeq_epi16(high, none));
    return ~(u32)_mm_movemask_epi8(none) & 0xFFFF;
#else
    u32 there = 0;
    for (u32 k = 0; k < 16; k++) {
        found[k] = (u16)(rows[k / 4][k / 2 & 1] >> (16 * (k & 1)));
        there |= (u32)(found[k] != 0) << k;
    }
    return there;
#endif
}

/* Squared distance of two positions in eighths of a cell, or GRID_SQUARE_MAX or more if large. */
SIMD_INLINE u32 point_grid_square(u16x8 a, u16x8 b)
{
    i16x8 far = (i16x8)(a - b);
#if defined(__AVX__)
    __m128i squares = _mm_madd_epi16((__m128i)far, (__m128i)far);
    squares = _mm_min_epu32(squares, _mm_set1_epi32(GRID_SQUARE_MAX));
    u64 two = (u64)_mm_cvtsi128_si64(squares);
    return (u32)two + (u32)(two >> 32);
#else
    u32 x = (u32)(far[0] * far[0]), y = (u32)(far[1] * far[1]), z = (u32)(far[2] * far[2]);
    u32 flat = x + y;
    return (flat < GRID_SQUARE_MAX ? flat : GRID_SQUARE_MAX) +
           (z < GRID_SQUARE_MAX ? z : GRID_SQUARE_MAX);
#endif
}

/* 2^16 / n for n = 128..255. */
#define GRID_INVERSE_4(n)                                                                          \
    (1 << 16) / (n), (1 << 16) / ((n) + 1), (1 << 16) / ((n) + 2), (1 << 16) / ((n) + 3)
#define GRID_INVERSE_16(n)                                                                         \
    GRID_INVERSE_4(n), GRID_INVERSE_4((n) + 4), GRID_INVERSE_4((n) + 8), GRID_INVERSE_4((n) + 12)
#define GRID_INVERSE_64(n)                                                                         \
    GRID_INVERSE_16(n), GRID_INVERSE_16((n) + 16), GRID_INVERSE_16((n) + 32),                      \
        GRID_INVERSE_16((n) + 48)
static const u16 point_grid_inverse[128] = {GRID_INVERSE_64(128), GRID_INVERSE_64(192)};

/* The sizes of a hint. */
SIMD_INLINE i32x4 point_grid_sizes(const PointHint *hint)
{
#if defined(__AVX__)
    return (i32x4)_mm_cvtepu16_epi32(_mm_srli_si128((__m128i)hint->at, 2 * HINT_SIZES));
#else
    return (i32x4){hint->at[HINT_SIZES], hint->at[HINT_SIZES + 1], hint->at[HINT_SIZES + 2], 0};
#endif
}

/* Weighted means over the neighbours of a point with its position and own motion (within ±2^14),
 * including a virtual neighbour that moves like it. Lane NEAR_WEIGHT is undefined. */
SIMD_INLINE PointNear point_grid_near(const PointGrid *grid, const i32 *weights, i32x4 place,
                                      i32x4 motion)
{
    u16 found[16];
    u16x8 at = point_grid_low(place);
    i32x8 sum = {0, 0, 0, grid->usual * GRID_PRIOR, 0, 0, 0, 0};
    i32x4 sizes = grid->usual * (GRID_PRIOR / 3) + (i32x4){0};
    for (u32 there = point_grid_about(grid, place, found); there != 0; there &= there - 1) {
        const PointHint *near = &grid->hints[found[__builtin_ctz(there)] - 1];
        i32 weight = weights[point_grid_square(at, near->at)];
        sum += __builtin_convertvector(near->hint, i32x8) * weight;
        sizes += point_grid_sizes(near) * weight;
    }
    i32 weight = sum[NEAR_WEIGHT];
    sum -= point_grid_motion(motion) * weight;
    u32 all = (u32)weight + GRID_PRIOR, length = 32 - (u32)__builtin_clz(all);
    i32 inverse = point_grid_inverse[(all << 8 >> length) - 128];
    if (length >= 6) {
        sum >>= (i32)(length - 6);
        sizes >>= (i32)(length - 6);
    } else {
        sum *= 1 << (6 - length);
        sizes *= 1 << (6 - length);
    }
    return (PointNear){sum * inverse >> (GRID_INVERSE_BITS - 2),
                       sizes * inverse >> (GRID_INVERSE_BITS - 2)};
}

/* weights[GRID_WEIGHTS] by the squared distance. */
static inline void point_grid_weights(i32 *weights)
{
    for (u32 s = 0; s < GRID_WEIGHTS; s++) {
        u32 by = s + GRID_NEAR_SQUARE, weight = 65536 / (by * by);
        weights[s] =
            s >= GRID_SQUARE_MAX ? 0 : (i32)(weight < GRID_WEIGHT_MAX ? weight : GRID_WEIGHT_MAX);
    }
}

#endif
