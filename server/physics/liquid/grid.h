/*
 * grid.h: the grid of items. It repeats: a cell's number is its coordinates modulo powers of two,
 * chosen from the extent of the liquid, so that rows of cells are contiguous and memory does not
 * depend on positions. Distances are checked, so aliases only cost time.
 * Layer: server/physics/liquid, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_LIQUID_GRID_H
#define PLENUM_SERVER_PHYSICS_LIQUID_GRID_H

#include "server/physics/liquid/kernel.h"
#include "server/physics/liquid/liquid_internal.h"

#define CELL_AXIS_MAX 1e8f

/* Cell of a coordinate; per_cell in 1/m. */
static inline i32 axis_of(f32 x, f32 per_cell)
{
    f32 cell = floorf(x * per_cell);
    return (i32)f32_clamp(cell, -CELL_AXIS_MAX, CELL_AXIS_MAX);
}

/* Cells repeat beyond the size of the table. */
static inline u32 cell_number(const Liquid *liquid, const i32 at[3])
{
    u32 x = (u32)at[0] & ((1u << liquid->cell_bits[0]) - 1);
    u32 y = (u32)at[1] & ((1u << liquid->cell_bits[1]) - 1);
    u32 z = (u32)at[2] & ((1u << liquid->cell_bits[2]) - 1);
    return ((z << liquid->cell_bits[1] | y) << liquid->cell_bits[0]) | x;
}

/* m */
static inline f32 liquid_cell_size(const Liquid *liquid)
{
    return liquid->def.spacing * (KERNEL_REACH + NEIGHBOUR_SLACK);
}

#endif
