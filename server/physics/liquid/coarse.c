/*
 * coarse.c: pressure of long waves. A round of solve.c carries a change of pressure by a few
 * spacings. So in each round the residual is summed over cells of about 64 items, and a pressure
 * constant in each cell solves the sums (aggregation multigrid of two levels, additive; Vaněk et
 * al. 1996 without smoothing). The operator between cells is a Laplacian over the pairs of items
 * (Brookshaw 1985) for such pressures (Galerkin), built once a tick: near enough to that of the
 * items for a preconditioner, in one pass.
 */
#include "server/physics/liquid/near8.h"
#include "shared/base/memory.h"

#include <string.h>

enum {
    AROUND = 27, /* a cell and those around it */
    SELF = 13,
    BINS = 8,       /* cells that an item touches */
    ROUNDS_MAX = 32 /* of conjugate gradients */
};

/* Residual, as part of its start, at which the solver stops. */
static const f64 residual_part = 0.02;
/* Added to the diagonal, as part of it: for liquids without any surface. */
static const f32 ridge = 1e-3f;

typedef struct LiquidCoarse {
    u32 at;             /* number in the table of coarse cells */
    u32 around[AROUND]; /* cells; UINT32_MAX: empty */
    f32 factor[AROUND]; /* 1/(kg m²) */
    f32 residual, solution, direction, image, rest;
} Coarse;

static u32 bits_of(const Liquid *liquid, u32 k)
{
    return liquid->cell_bits[k] - 1;
}

static void unpack(const Liquid *liquid, u32 at, u32 out[3])
{
    u32 x = bits_of(liquid, 0), y = bits_of(liquid, 1);
    out[0] = at & ((1u << x) - 1);
    out[1] = at >> x & ((1u << y) - 1);
    out[2] = at >> (x + y);
}

static u32 pack(const Liquid *liquid, const u32 c[3])
{
    u32 x = bits_of(liquid, 0), y = bits_of(liquid, 1), z = bits_of(liquid, 2);
    return (c[0] & ((1u << x) - 1)) | (c[1] & ((1u << y) - 1)) << x |
           (c[2] & ((1u << z) - 1)) << (x + y);
}

/* Items of a coarse cell: four runs of two fine cells each. */
static void runs_of(const Liquid *liquid, u32 at, u32 first[4], u32 end[4])
{
    u32 c[3];
    unpack(liquid, at, c);
    for (u32 k = 0; k < 4; k++) {
        u32 y = 2 * c[1] + k % 2, z = 2 * c[2] + k / 2;
        u32 cell = ((z << liquid->cell_bits[1] | y) << liquid->cell_bits[0]) | 2 * c[0];
        first[k] = liquid->cell_starts[cell];
        end[k] = liquid->cell_starts[cell + 2];
    }
}

static bool find_cells(Liquid *liquid)
{
    u32 table = 1u << (bits_of(liquid, 0) + bits_of(liquid, 1) + bits_of(liquid, 2)), count = 0;
    if (!memory_grow((void **)&liquid->coarse_table, &liquid->coarse_table_capacity, table,
                     sizeof *liquid->coarse_table)) {
        return false;
    }
    for (u32 t = 0; t < table; t++) {
        u32 first[4], end[4], items = 0;
        runs_of(liquid, t, first, end);
        for (u32 k = 0; k < 4; k++) {
            items += end[k] - first[k];
        }
        liquid->coarse_table[t] = items != 0 ? count : UINT32_MAX;
        count += items != 0;
    }
    if (!memory_grow((void **)&liquid->coarse, &liquid->coarse_capacity, count, sizeof(Coarse))) {
        return false;
    }
    liquid->coarse_count = count;
    for (u32 t = 0; t < table; t++) {
        if (liquid->coarse_table[t] != UINT32_MAX) {
            liquid->coarse[liquid->coarse_table[t]] = (Coarse){.at = t};
        }
    }
    return true;
}

/* ---- operator ---- */

static void mark_cells(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    PL_UNUSED(worker);
    for (u32 c = first; c < end; c++) {
        u32 from[4], to[4];
        runs_of(liquid, liquid->coarse[c].at, from, to);
        for (u32 k = 0; k < 4; k++) {
            for (u32 i = from[k]; i < to[k]; i++) {
                liquid->coarse_of[i] = c;
                liquid->place[i].w = liquid->active[i] ? 1.0f : 0.0f;
            }
        }
    }
}

/* The nearest border of an item's cell along an axis, and on which side it lies (0 or 1): what a
 * neighbour may be beyond. */
static u32 border_of(f32 x, f32 fine, f32 *border)
{
    f32 at = floorf(x / fine), cell = floorf(0.5f * at);
    u32 side = at > 2.0f * cell;
    *border = (2.0f * cell + 2.0f * (f32)side) * fine;
    return side;
}

/* The row of an active item: the operator of solve.c, for pressures constant in each cell. */
SIMD_INLINE void add_item(const Liquid *liquid, u32 i, f32 fine, bool mixed, f32 row[AROUND])
{
    const u32 *near = near_list(liquid, i);
    const Four *x = &liquid->place[i];
    Kernel kernel = kernel_of(liquid);
    Vec3 border;
    const u32 side[3] = {border_of(x->x, fine, &border.x), border_of(x->y, fine, &border.y),
                         border_of(x->z, fine, &border.z)};
    f32x8 sums[BINS], zero = f32x8_set(0.0f);
    f32 light = liquid->trait[i].y, scale = -2.0f * (mixed ? 1.0f : light);
    for (u32 b = 0; b < BINS; b++) {
        sums[b] = zero;
    }
    for (u32 k = 0; k < liquid->near_count[i]; k += SIMD_LANES) {
        Near8 n = near_of(liquid, x, near + k, kernel);
        f32x8 c = n.over * n.w, ways[3] = {(x->x - border.x) - n.off.x, (x->y - border.y) - n.off.y,
                                           (x->z - border.z) - n.off.z};
        if (mixed) {
            f32x8 trait[4];
            gather_fours(liquid->trait, near + k, trait);
            c = f32x8_select(trait[1] > zero, c * (0.5f * (trait[1] + light)), zero);
        }
        i32x8 beyond[3];
        for (u32 a = 0; a < 3; a++) {
            beyond[a] = side[a] != 0 ? ways[a] >= zero : ways[a] < zero;
        }
        for (u32 b = 0; b < BINS; b++) {
            f32x8 part = c;
            for (u32 a = 0; a < 3; a++) {
                part = (b >> a & 1) != 0 ? f32x8_and(beyond[a], part) : f32x8_and(~beyond[a], part);
            }
            sums[b] += part;
        }
    }
    for (u32 b = 0; b < BINS; b++) {
        u32 to = 0, base = 1;
        for (u32 a = 0; a < 3; a++, base *= 3) {
            to += base * ((b >> a & 1) != 0 ? 2 * side[a] : 1);
        }
        f32 self = b == 0 ? kernel.scale * (mixed ? light : 1.0f) : 0.0f;
        row[to] -= scale * (sum_lanes(sums[b]) - self);
    }
    row[SELF] += liquid->inertia[i] + liquid_wall_yields(liquid, i);
}

static void build_rows(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    f32 fine = liquid_cell_size(liquid);
    PL_UNUSED(worker);
    for (u32 c = first; c < end; c++) {
        Coarse *cell = &liquid->coarse[c];
        u32 from[4], to[4], at[3];
        unpack(liquid, cell->at, at);
        for (u32 k = 0; k < AROUND; k++) {
            const u32 other[3] = {at[0] + k % 3 - 1, at[1] + k / 3 % 3 - 1, at[2] + k / 9 - 1};
            cell->around[k] = liquid->coarse_table[pack(liquid, other)];
        }
        runs_of(liquid, cell->at, from, to);
        for (u32 k = 0; k < 4; k++) {
            for (u32 i = from[k]; i < to[k]; i++) {
                if (liquid->active[i] && liquid->mixed) {
                    add_item(liquid, i, fine, true, cell->factor);
                } else if (liquid->active[i]) {
                    add_item(liquid, i, fine, false, cell->factor);
                }
            }
        }
        cell->factor[SELF] *= 1.0f + ridge;
    }
}

void liquid_coarse_build(Liquid *liquid)
{
    if (!find_cells(liquid)) {
        liquid->coarse_count = 0;
        return;
    }
    jobs_run(liquid->jobs, liquid->coarse_count, 8, mark_cells, liquid);
    jobs_run(liquid->jobs, liquid->coarse_count, 4, build_rows, liquid);
}

/* ---- solution ---- */

static void restrict_cells(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    PL_UNUSED(worker);
    for (u32 c = first; c < end; c++) {
        u32 from[4], to[4];
        f32 sum = 0.0f;
        runs_of(liquid, liquid->coarse[c].at, from, to);
        for (u32 k = 0; k < 4; k++) {
            for (u32 i = from[k]; i < to[k]; i++) {
                sum += liquid->residual[i];
            }
        }
        liquid->coarse[c].residual = sum;
    }
}

static f32 apply_row(const Liquid *liquid, const Coarse *cell)
{
    f32 sum = 0.0f;
    for (u32 k = 0; k < AROUND; k++) {
        if (cell->around[k] != UINT32_MAX) {
            sum += cell->factor[k] * liquid->coarse[cell->around[k]].direction;
        }
    }
    return sum;
}

/* Conjugate gradients, scaled by the diagonal. */
static void solve(Liquid *liquid)
{
    Coarse *cells = liquid->coarse;
    u32 n = liquid->coarse_count;
    f64 size = 0.0, start;
    for (u32 c = 0; c < n; c++) {
        f32 scale = cells[c].factor[SELF] > 0.0f ? 1.0f / cells[c].factor[SELF] : 0.0f;
        cells[c].solution = 0.0f;
        cells[c].rest = cells[c].residual;
        cells[c].direction = scale * cells[c].rest;
        size += (f64)cells[c].rest * (f64)cells[c].direction;
    }
    start = size;
    for (u32 round = 0; round < ROUNDS_MAX && size > residual_part * residual_part * start;
         round++) {
        f64 energy = 0.0, next = 0.0;
        for (u32 c = 0; c < n; c++) {
            cells[c].image = apply_row(liquid, &cells[c]);
            energy += (f64)cells[c].image * (f64)cells[c].direction;
        }
        if (!(energy > 0.0)) {
            break;
        }
        f32 step = (f32)(size / energy);
        for (u32 c = 0; c < n; c++) {
            f32 scale = cells[c].factor[SELF] > 0.0f ? 1.0f / cells[c].factor[SELF] : 0.0f;
            cells[c].solution += step * cells[c].direction;
            cells[c].rest -= step * cells[c].image;
            cells[c].image = scale * cells[c].rest;
            next += (f64)cells[c].rest * (f64)cells[c].image;
        }
        f32 keep = (f32)(next / size);
        for (u32 c = 0; c < n; c++) {
            cells[c].direction = cells[c].image + keep * cells[c].direction;
        }
        size = next;
    }
}

void liquid_coarse_solve(Liquid *liquid)
{
    jobs_run(liquid->jobs, liquid->coarse_count, 16, restrict_cells, liquid);
    solve(liquid);
}

f32 liquid_coarse_pressure(const Liquid *liquid, u32 i)
{
    if (liquid->coarse_count == 0 || !liquid->active[i]) {
        return 0.0f;
    }
    return liquid->coarse[liquid->coarse_of[i]].solution;
}
