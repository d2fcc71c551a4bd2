/*
 * coarse.c: pressure of long waves. An iteration of solve.c propagates a change of pressure by a
 * few spacings. So in each iteration the residual is summed over cells of about 64 items, and a
 * piecewise constant pressure solves the sums (aggregation multigrid of two levels, additive; Vaněk
 * et al. 1996 without smoothing). The operator between cells is a Laplacian over the pairs of items
 * (Brookshaw 1985) for such pressures (Galerkin), built once per tick, in one pass: close enough to
 * that of the items for a preconditioner.
 */
#include "server/physics/liquid/grid.h"
#include "server/physics/liquid/near8.h"
#include "shared/base/check.h"
#include "shared/base/memory.h"

#include <string.h>

enum {
    AROUND = 27, /* a cell and its neighbours */
    SELF = 13,
    BINS = 8,       /* cells that an item touches */
    CELLS = 512,    /* of a parallel range */
    ROUNDS_MAX = 32 /* of conjugate gradients */
};

/* Residual, relative to the first one, at which the solver stops. */
static const f64 residual_part = 0.02;
/* Fraction added to the diagonal, for liquids without any surface. */
static const f32 ridge = 1e-3f;

typedef struct LiquidCoarse {
    u32 at;             /* number in the table of coarse cells */
    u32 around[AROUND]; /* cells; their number: empty */
    f32 factor[AROUND]; /* 1/(kg m²) */
    f32 residual, solution, image, rest;
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

static bool grow_cells(Liquid *liquid, u32 count)
{
    return memory_grow((void **)&liquid->coarse, &liquid->coarse_capacity, count, sizeof(Coarse)) &&
           memory_grow((void **)&liquid->coarse_direction, &liquid->coarse_direction_capacity,
                       count + 1, sizeof *liquid->coarse_direction);
}

bool liquid_coarse_reserve(Liquid *liquid)
{
    return memory_grow((void **)&liquid->coarse_table, &liquid->coarse_table_capacity,
                       liquid_cells_most(liquid->slots) / 8, sizeof *liquid->coarse_table) &&
           grow_cells(liquid, liquid->slots / 8 + 64);
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
    if (!grow_cells(liquid, count)) {
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
                liquid->place[i].w = liquid->active[i];
            }
        }
    }
}

/* The nearest border of an item's cell along each axis: its side (0 or −1: the greater) and
 * position, beyond which a neighbour may lie. */
typedef struct Borders {
    f32x8 at[3]; /* m */
    i32x8 side[3];
} Borders;

/* Largest whole number up to x, for |x| < 2^30. */
SIMD_INLINE f32x8 floor_of(f32x8 x)
{
    f32x8 near = __builtin_convertvector(__builtin_convertvector(x, i32x8), f32x8);
    return near - f32x8_and(near > x, f32x8_set(1.0f));
}

SIMD_INLINE Borders borders_of(const f32x8 at[4], f32 fine)
{
    Borders borders;
    f32x8 most = f32x8_set(CELL_AXIS_MAX);
    for (u32 a = 0; a < 3; a++) {
        f32x8 in = floor_of(f32x8_min(f32x8_max(at[a] / fine, -most), most));
        f32x8 cell = 2.0f * floor_of(0.5f * in);
        borders.side[a] = in > cell;
        borders.at[a] = (cell + f32x8_and(borders.side[a], f32x8_set(2.0f))) * fine;
    }
    return borders;
}

/* Contributions of the pairs of items to their cells: the operator of solve.c, for pressures
 * constant in each cell. Bit a of a bin: beyond the border of axis a. */
SIMD_INLINE void bin_slice(Liquid *liquid, u32 first, Kernel kernel, bool mixed)
{
    const Four *places = liquid->place;
    f32x8 at[4], own[4], ways[3], sums[BINS], zero = f32x8_set(0.0f);
    load_fours(places + first, at);
    Borders borders = borders_of(at, liquid_cell_size(liquid));
    traits_of(liquid, first, mixed, own);
    for (u32 b = 0; b < BINS; b++) {
        sums[b] = zero;
    }
    for (u32 a = 0; a < 3; a++) {
        ways[a] = at[a] - borders.at[a];
    }
    const NearRow *end = near_end(liquid, first);
    for (const NearRow *near = near_first(liquid, first); near != end; near++) {
        Near8 n = near_again(places, at, near);
        const f32x8 off[3] = {n.off.x, n.off.y, n.off.z};
        f32x8 c = n.over * n.w;
        if (mixed) {
            f32x8 trait[4];
            gather_near(liquid->trait, near->item, trait);
            c = f32x8_select(trait[1] > zero, c * (0.5f * (trait[1] + own[1])), zero);
        }
        i32x8 beyond[3];
        for (u32 a = 0; a < 3; a++) {
            beyond[a] = ~(borders.side[a] ^ (ways[a] - off[a] >= zero));
        }
        f32x8 parts[BINS] = {c};
        for (u32 a = 0; a < 3; a++) { /* each part is divided by the next axis */
            for (u32 b = 0; b < 1u << a; b++) {
                parts[b | 1u << a] = f32x8_and(beyond[a], parts[b]);
                parts[b] = f32x8_and(~beyond[a], parts[b]);
            }
        }
        for (u32 b = 0; b < BINS; b++) {
            sums[b] += parts[b];
        }
    }
    sums[0] -= mixed ? kernel.scale * own[1] : f32x8_set(kernel.scale);
    for (u32 b = 0; b < BINS; b++) {
        sums[b] = sums[b] * (mixed ? f32x8_set(-2.0f) : -2.0f * own[1]);
    }
    f32x8_transpose(sums);
    for (u32 l = 0; l < SIMD_LANES; l++) {
        u32 side = 0;
        for (u32 a = 0; a < 3; a++) {
            side |= borders.side[a][l] != 0 ? 1u << a : 0;
        }
        liquid->side[first + l] = (u8)side;
        f32x8_store(&liquid->bins[2 * (size_t)(first + l)].x, sums[l]);
    }
}

static void bin_items(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    Kernel kernel = kernel_of(liquid);
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i += SIMD_LANES) {
        if (liquid->mixed) {
            bin_slice(liquid, i, kernel, true);
        } else {
            bin_slice(liquid, i, kernel, false);
        }
    }
}

/* The row of an active item. */
static void add_item(const Liquid *liquid, u32 i, f32 row[AROUND])
{
    const f32 *bins = &liquid->bins[2 * (size_t)i].x;
    u32 side = liquid->side[i];
    u32 across = (side & 1) != 0 ? 2 : 0, up = (side & 2) != 0 ? 6 : 0;
    u32 deep = (side & 4) != 0 ? 18 : 0;
    for (u32 b = 0; b < BINS; b++) {
        u32 to = (b & 1) != 0 ? across : 1;
        to += (b & 2) != 0 ? up : 3;
        to += (b & 4) != 0 ? deep : 9;
        row[to] -= bins[b];
    }
    row[SELF] += liquid->inertia[i] + liquid->full[i].w;
}

static void build_rows(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    PL_UNUSED(worker);
    for (u32 c = first; c < end; c++) {
        Coarse *cell = &liquid->coarse[c];
        u32 from[4], to[4], at[3];
        unpack(liquid, cell->at, at);
        for (u32 k = 0; k < AROUND; k++) {
            const u32 other[3] = {at[0] + k % 3 - 1, at[1] + k / 3 % 3 - 1, at[2] + k / 9 - 1};
            cell->around[k] =
                u32_min(liquid->coarse_table[pack(liquid, other)], liquid->coarse_count);
        }
        runs_of(liquid, cell->at, from, to);
        for (u32 k = 0; k < 4; k++) {
            for (u32 i = from[k]; i < to[k]; i++) {
                if (liquid->active[i] > 0.0f) {
                    add_item(liquid, i, cell->factor);
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
    CHECK(liquid->coarse_count > 0 && liquid->coarse_count <= liquid->coarse_capacity);
    jobs_run(liquid->jobs, liquid->coarse_count, 8, mark_cells, liquid);
    liquid_pass(liquid, bin_items, liquid);
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

static f32 apply_row(const f32 *direction, const Coarse *cell)
{
    f32 sum = 0.0f;
    for (u32 k = 0; k < AROUND; k++) {
        sum += cell->factor[k] * direction[cell->around[k]];
    }
    return sum;
}

static void apply(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    const f32 *direction = liquid->coarse_direction;
    f64 energy = 0.0;
    PL_UNUSED(worker);
    for (u32 c = first; c < end; c++) {
        liquid->coarse[c].image = apply_row(direction, &liquid->coarse[c]);
        energy += (f64)liquid->coarse[c].image * (f64)direction[c];
    }
    liquid->partials[first / CELLS] = energy;
}

/* Conjugate gradients, scaled by the diagonal. */
static void solve(Liquid *liquid)
{
    Coarse *cells = liquid->coarse;
    f32 *direction = liquid->coarse_direction;
    u32 n = liquid->coarse_count;
    f64 size = 0.0, start;
    for (u32 c = 0; c < n; c++) {
        f32 scale = cells[c].factor[SELF] > 0.0f ? 1.0f / cells[c].factor[SELF] : 0.0f;
        cells[c].solution = 0.0f;
        cells[c].rest = cells[c].residual;
        direction[c] = scale * cells[c].rest;
        size += (f64)cells[c].rest * (f64)direction[c];
    }
    start = size;
    direction[n] = 0.0f;
    for (u32 round = 0; round < ROUNDS_MAX && size > residual_part * residual_part * start;
         round++) {
        f64 energy = 0.0, next = 0.0;
        jobs_run(liquid->jobs, n, CELLS, apply, liquid);
        for (u32 r = 0; r * CELLS < n; r++) {
            energy += liquid->partials[r];
        }
        if (!(energy > 0.0)) {
            break;
        }
        f32 step = (f32)(size / energy);
        for (u32 c = 0; c < n; c++) {
            f32 scale = cells[c].factor[SELF] > 0.0f ? 1.0f / cells[c].factor[SELF] : 0.0f;
            cells[c].solution += step * direction[c];
            cells[c].rest -= step * cells[c].image;
            cells[c].image = scale * cells[c].rest;
            next += (f64)cells[c].rest * (f64)cells[c].image;
        }
        f32 keep = (f32)(next / size);
        for (u32 c = 0; c < n; c++) {
            direction[c] = cells[c].image + keep * direction[c];
        }
        size = next;
    }
}

void liquid_coarse_solve(Liquid *liquid)
{
    jobs_run(liquid->jobs, liquid->coarse_count, 16, restrict_cells, liquid);
    solve(liquid);
}

void liquid_coarse_pressures(const Liquid *liquid, u32 first, u32 count, f32 *out)
{
    for (u32 k = 0; k < count && liquid->coarse_count != 0; k++) {
        u32 c = liquid->coarse_of[first + k];
        CHECK_ITEM(first + k, c < liquid->coarse_count);
        out[k] = liquid->active[first + k] > 0.0f ? liquid->coarse[c].solution : 0.0f;
    }
}
