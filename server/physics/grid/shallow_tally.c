/* shallow_tally.c: where the momentum of shallow water goes. The step stores the momentum through a
 * face relative to the pressure on either side; the difference of the two goes to the step of the
 * bed there, and the remaining pressure within a cell to the bed's slope. Sums are by rows of
 * tiles, in order. */
#include "server/physics/grid/shallow_internal.h"
#include "shared/base/check.h"

#include <string.h>

void shallow_count(Shallow *of, bool counts)
{
    of->counts = counts;
}

ShallowTaken shallow_taken(const Shallow *of)
{
    return of->taken;
}

void shallow_tally_begin(Shallow *of)
{
    memset(&of->taken, 0, sizeof of->taken);
    memset(of->tallies, 0, of->tiles[1] * sizeof *of->tallies);
}

/* ---- faces at sides ---- */

static f64 pressure_of(const Shallow *of, f32 depth)
{
    return 0.5 * (f64)of->gravity * (f64)depth * (f64)depth;
}

/* For an axis, the flow through the faces of its low and high side: momentum across, relative to
 * the pressure within, and that pressure. */
static void tally_sides(const Shallow *of, ShallowTaken *to, u32 axis, f64 low, f64 high)
{
    bool wraps = of->def.border[2 * axis] == WATER_PERIODIC;
    f64 part = (f64)of->time_s * (f64)of->def.cell_m;
    if (wraps) { /* one face */
        to->bed[axis] += part * (high - low);
        return;
    }
    to->sides[2 * axis][axis] -= part * low;
    to->sides[2 * axis + 1][axis] += part * high;
}

void shallow_tally_faces(const Shallow *of, f32 *const *rows, i32 k, ShallowTaken *to)
{
    bool wraps[2] = {of->def.border[0] == WATER_PERIODIC, of->def.border[2] == WATER_PERIODIC};
    u32 columns = of->def.size[0];
    i32 last = (i32)of->def.size[1] - 1;
    f64 part = (f64)of->time_s * (f64)of->def.cell_m;
    if (!wraps[0]) {
        f64 low = pressure_of(of, rows[ROW_WEST + 1][SHALLOW_MARGIN]);
        f64 high = pressure_of(of, rows[ROW_EAST + 1][SHALLOW_MARGIN + columns - 1]);
        to->sides[0][0] -= part * low;
        to->sides[1][0] += part * high;
        to->bed[0] += part * (low - high);
    }
    for (u32 side = 0; side < 2 && !wraps[1]; side++) {
        const f32 *depth = rows[side == 0 ? ROW_SOUTH : ROW_NORTH + 1] + SHALLOW_MARGIN;
        f64 sum = 0.0, sign = side == 0 ? -1.0 : 1.0;
        for (u32 i = 0; i < columns && k == (side == 0 ? 0 : last); i++) {
            sum += pressure_of(of, depth[i]);
        }
        to->sides[2 + side][1] += sign * part * sum;
        to->bed[1] -= sign * part * sum;
    }
}

/* ---- rows ---- */

/* The momentum that a cell lost besides the flow through its faces and the bed's pressure:
 * friction, damping, limits, rounding. */
static f64 left_out(f64 before, f64 change, f64 after)
{
    return before - change - after;
}

void shallow_tally_row(const Shallow *of, f32 *const *rows, i32 k, ShallowTaken *to)
{
    u32 columns = of->def.size[0];
    i32 last = (i32)of->def.size[1] - 1;
    size_t row = shallow_at(of, 0, k);
    const f32 *h = of->now.depth + row, *u = of->now.u + row, *w = of->now.w + row;
    const f32 *h2 = of->next.depth + row, *u2 = of->next.u + row, *w2 = of->next.w + row;
    f64 ratio = (f64)of->time_s / (f64)of->def.cell_m;
    f64 area = (f64)of->def.cell_m * (f64)of->def.cell_m, part = ratio * area;
    f64 bed[2] = {0.0, 0.0}, rest[2] = {0.0, 0.0}, low[2] = {0.0, 0.0}, high[2] = {0.0, 0.0};
    f64 along[3] = {0.0, 0.0, 0.0}; /* x momentum through low and high z */
    CHECK(k >= 0 && k <= last);
    for (u32 i = 0; i < columns; i++) {
        size_t c = SHALLOW_MARGIN + i;
        bool dry = rows[ROW_DRY][c & ~(size_t)(SIMD_LANES - 1)] != 0.0f;
        f64 x = 0.0, z = 0.0;
        if (!dry) {
            f64 east = (f64)rows[ROW_X + 1][c + 1], west = (f64)rows[ROW_X + 2][c];
            f64 north = (f64)rows[ROW_Z_NEXT + 1][c], south = (f64)rows[ROW_Z + 2][c];
            f64 px = (f64)rows[ROW_BED][c], pz = (f64)rows[ROW_BED + 1][c];
            x = (east - west) + ((f64)rows[ROW_Z_NEXT + 3][c] - (f64)rows[ROW_Z + 3][c]) + px;
            z = ((f64)rows[ROW_X + 3][c + 1] - (f64)rows[ROW_X + 3][c]) + (north - south) + pz;
            /* Faces between cells contribute to both cells; the difference goes to the bed. */
            bed[0] += px + (i + 1 < columns ? east : 0.0) - (i > 0 ? west : 0.0);
            bed[1] += pz + (k < last ? north : 0.0) - (k > 0 ? south : 0.0);
        }
        rest[0] += left_out((f64)h[i] * (f64)u[i], ratio * x, (f64)h2[i] * (f64)u2[i]);
        rest[1] += left_out((f64)h[i] * (f64)w[i], ratio * z, (f64)h2[i] * (f64)w2[i]);
        low[1] += k == 0 ? (f64)rows[ROW_Z + 2][c] : 0.0;
        high[1] += k == last ? (f64)rows[ROW_Z_NEXT + 1][c] : 0.0;
        along[0] += k == 0 ? (f64)rows[ROW_Z + 3][c] : 0.0;
        along[1] += k == last ? (f64)rows[ROW_Z_NEXT + 3][c] : 0.0;
    }
    low[0] = (f64)rows[ROW_X + 2][SHALLOW_MARGIN];
    high[0] = (f64)rows[ROW_X + 1][SHALLOW_MARGIN + columns];
    for (u32 axis = 0; axis < 2; axis++) {
        to->bed[axis] += part * bed[axis];
        to->friction[axis] += area * rest[axis];
        tally_sides(of, to, axis, low[axis], high[axis]);
    }
    if (of->def.border[0] != WATER_PERIODIC) {
        to->sides[0][1] -= part * (f64)rows[ROW_X + 3][SHALLOW_MARGIN];
        to->sides[1][1] += part * (f64)rows[ROW_X + 3][SHALLOW_MARGIN + columns];
    }
    if (of->def.border[2] != WATER_PERIODIC) {
        to->sides[2][0] -= part * along[0];
        to->sides[3][0] += part * along[1];
    }
}

void shallow_tally_end(Shallow *of)
{
    for (u32 z = 0; z < of->tiles[1]; z++) {
        const ShallowTaken *one = &of->tallies[z];
        for (u32 axis = 0; axis < 2; axis++) {
            for (u32 side = 0; side < HEIGHTS_SIDE_COUNT; side++) {
                of->taken.sides[side][axis] += one->sides[side][axis];
            }
            of->taken.bed[axis] += one->bed[axis];
            of->taken.friction[axis] += one->friction[axis];
        }
    }
}
