/* shallow_border.c: the ghost cells beyond the border, which reflect waves, wrap them around, or
 * absorb them. Beyond an absorbing border everything continues as in its last cell, so that waves
 * see no change. */
#include "server/physics/grid/shallow_internal.h"

/* The cell that a ghost at `distance` ≥ 1 beyond the first or last of `count` cells repeats. */
static i32 source_of(WaterBorder border, i32 count, i32 distance, bool last)
{
    i32 inward;
    switch (border) {
    case WATER_PERIODIC:
        inward = (count - distance % count) % count;
        break;
    case WATER_CLOSED:
        inward = i32_min(distance - 1, count - 1);
        break;
    default:
        inward = 0;
        break;
    }
    return last ? count - 1 - inward : inward;
}

/* `mirrored`: velocities across a closed border are reversed. */
static void fill_columns(const Shallow *of, f32 *values, bool mirrored)
{
    i32 nx = (i32)of->def.size[0], nz = (i32)of->def.size[1];
    for (u32 side = 0; side < 2; side++) {
        WaterBorder border = of->def.border[side];
        f32 sign = mirrored && border == WATER_CLOSED ? -1.0f : 1.0f;
        for (i32 d = 1; d <= SHALLOW_GHOSTS; d++) {
            i32 from = source_of(border, nx, d, side == 1), to = side == 1 ? nx - 1 + d : -d;
            for (i32 k = 0; k < nz; k++) {
                values[shallow_at(of, to, k)] = sign * values[shallow_at(of, from, k)];
            }
        }
    }
}

static void fill_rows(const Shallow *of, f32 *values, bool mirrored)
{
    i32 nx = (i32)of->def.size[0], nz = (i32)of->def.size[1];
    for (u32 side = 0; side < 2; side++) {
        WaterBorder border = of->def.border[2 + side];
        f32 sign = mirrored && border == WATER_CLOSED ? -1.0f : 1.0f;
        for (i32 d = 1; d <= SHALLOW_GHOSTS; d++) {
            i32 from = source_of(border, nz, d, side == 1), to = side == 1 ? nz - 1 + d : -d;
            const f32 *source = values + shallow_at(of, -SHALLOW_GHOSTS, from);
            f32 *ghost = values + shallow_at(of, -SHALLOW_GHOSTS, to);
            for (i32 i = 0; i < nx + 2 * SHALLOW_GHOSTS; i++) {
                ghost[i] = sign * source[i];
            }
        }
    }
}

void shallow_border(const Shallow *of)
{
    fill_columns(of, of->now.depth, false);
    fill_columns(of, of->now.u, true);
    fill_columns(of, of->now.w, false);
    fill_rows(of, of->now.depth, false);
    fill_rows(of, of->now.u, false);
    fill_rows(of, of->now.w, true);
}

void shallow_border_bed(const Shallow *of)
{
    fill_columns(of, of->bed, false);
    fill_rows(of, of->bed, false);
}
