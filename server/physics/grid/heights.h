/*
 * heights.h: borders, limits and memory of grids of water levels.
 * Layer: server/physics (includes shared only).
 */
#ifndef PLENUM_SERVER_PHYSICS_GRID_HEIGHTS_H
#define PLENUM_SERVER_PHYSICS_GRID_HEIGHTS_H

#include "shared/base/error.h"
#include "shared/base/kinds.h"

/* Sides: towards −x, +x, −z, +z. */
enum {
    HEIGHTS_SIDE_COUNT = 4,
    HEIGHTS_SIDE_MAX = 4096 /* cells along one side */
};
/* Smaller cells need more steps than a tick has, larger ones are larger than the world. */
#define HEIGHTS_CELL_MIN_M  0.001f
#define HEIGHTS_CELL_MAX_M  1000.0f
#define HEIGHTS_LEVEL_MAX_M 10000.0f
#define HEIGHTS_DEPTH_MAX_M 10000.0f

/* Checks what all grids have: an error names the member. */
Error heights_check(const u32 size[2], f32 cell_m, const WaterBorder border[HEIGHTS_SIDE_COUNT],
                    ErrorText *error);
/* Zeros, aligned for vectors, to free; NULL: out of memory. */
f32 *heights_zeros(size_t count);

#endif
