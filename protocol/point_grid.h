/*
 * point_grid.h: what the points coded so far did, by where they were: two hashed grids of cells,
 * the coarser one of four times the edge standing in where the finer knows nothing. Inside
 * point_code.c. Units: sixteenths of a code.
 * Layer: protocol.
 */
#ifndef PLENUM_PROTOCOL_POINT_GRID_H
#define PLENUM_PROTOCOL_POINT_GRID_H

#include "shared/simd.h"

#include <string.h>

enum {
    GRID_CELL_POINTS_MAX = 64, /* later points of a cell tell nothing */
    GRID_BITS_MAX = 15,
    GRID_CELLS_MAX = 1 << GRID_BITS_MAX,
    GRID_PRIOR = 128, /* weight of the coarser cell; a point in the middle of a cell has 512 */
};

/* Lanes: sums of the three components of what the motion was off, of its size, and the points. */
typedef struct PointGrid {
    i32x8 *fine, *coarse; /* [1 << bits], [1 << (bits − 2)] */
    u32 bits, shift;      /* edge of a fine cell: 1 << shift codes */
    i32 usual;            /* size, of all so far */
} PointGrid;

/* How far motion was off what a point's own states say of it (x, y, z), and a size. */
typedef i32 PointOff __attribute__((vector_size(16)));

static inline void point_grid_begin(PointGrid *grid, u32 count, u32 shift)
{
    grid->bits = 6;
    while (grid->bits < GRID_BITS_MAX && 1u << grid->bits < count) {
        grid->bits++;
    }
    grid->shift = shift;
    grid->usual = 64;
    memset(grid->fine, 0, sizeof(i32x8) << grid->bits);
    memset(grid->coarse, 0, sizeof(i32x8) << (grid->bits - 2));
}

/* A row of cells along x; cell x of it is at (row + x) modulo the size of the table. */
static inline u32 point_grid_row(i32 y, i32 z)
{
    return ((u32)y * 0x9E3779B1u + (u32)z * 0x85EBCA77u) >> 12;
}

/* Of the finer (0) or the coarser grid (2). */
static inline u32 point_grid_cell(const PointGrid *grid, const i32 at[3], u32 coarse)
{
    u32 shift = grid->shift + coarse;
    u32 row = point_grid_row(at[1] >> shift, at[2] >> shift);
    return (row + (u32)(at[0] >> shift)) & ((1u << (grid->bits - coarse)) - 1);
}

/* Says what the point that was `at` did. off within ±2^14, size 0..2^14. */
static inline void point_grid_add(PointGrid *grid, const i32 at[3], PointOff off, i32 size)
{
    i32x8 add = {off[0], off[1], off[2], size, 1, 0, 0, 0};
    i32x8 *fine = &grid->fine[point_grid_cell(grid, at, 0)];
    i32x8 *coarse = &grid->coarse[point_grid_cell(grid, at, 2)];
    if ((*fine)[4] < GRID_CELL_POINTS_MAX) {
        *fine += add;
    }
    if ((*coarse)[4] < GRID_CELL_POINTS_MAX) {
        *coarse += add;
    }
    grid->usual += (size - grid->usual) >> 5;
}

/* 2^20 / (n + 1), rounded down, for n = 0..GRID_CELL_POINTS_MAX. */
#define GRID_SHARE_4(n)                                                                            \
    (1 << 20) / ((n) + 1), (1 << 20) / ((n) + 2), (1 << 20) / ((n) + 3), (1 << 20) / ((n) + 4)
#define GRID_SHARE_16(n)                                                                           \
    GRID_SHARE_4(n), GRID_SHARE_4((n) + 4), GRID_SHARE_4((n) + 8), GRID_SHARE_4((n) + 12)
static const i32 point_grid_share[GRID_CELL_POINTS_MAX + 1] = {
    GRID_SHARE_16(0), GRID_SHARE_16(16), GRID_SHARE_16(32), GRID_SHARE_16(48), (1 << 20) / 65};

/* Trilinear mean of the eight cells about `at`. */
static inline PointOff point_grid_near(const PointGrid *grid, const i32 at[3])
{
    u32 mask = (1u << grid->bits) - 1, shift = grid->shift;
    i32 half = shift > 0 ? 1 << (shift - 1) : 0, cell[3], part[3];
    for (u32 a = 0; a < 3; a++) {
        i32 from = at[a] - half;
        cell[a] = from >> shift;
        i32 rest = from & ((1 << shift) - 1); /* in eighths of a cell: */
        part[a] = shift >= 3 ? rest >> (shift - 3) : rest << (3 - shift);
    }
    i32x8 sum = {0};
    for (i32 k = 0; k < 4; k++) {
        i32 y = k & 1, z = k >> 1;
        i32 w = (y ? part[1] : 8 - part[1]) * (z ? part[2] : 8 - part[2]);
        u32 row = point_grid_row(cell[1] + y, cell[2] + z) + (u32)cell[0];
        sum += grid->fine[row & mask] * (w * (8 - part[0])) +
               grid->fine[(row + 1) & mask] * (w * part[0]);
    }
    i32x8 wide = grid->coarse[point_grid_cell(grid, at, 2)];
    wide[3] += grid->usual;
    i64 mean = point_grid_share[wide[4]]; /* one point of nothing is added */
    i64 share = (1 << 30) / (sum[4] + GRID_PRIOR);
    PointOff near = {0};
    for (u32 a = 0; a < 4; a++) {
        i32 far = (i32)(wide[a] * mean >> 20);
        near[a] = (i32)((sum[a] + (i64)GRID_PRIOR * far) * share >> 30);
    }
    return near;
}

#endif
