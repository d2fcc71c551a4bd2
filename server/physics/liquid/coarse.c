/*
 * coarse.c: pressure of long waves. Jacobi's method carries a change of pressure by a few spacings
 * in a step; the weight of a deep tank, or a blow, would compress it first. So once in a step the
 * residual is summed over cells of about 64 items, and a pressure constant in each cell solves the
 * sums (aggregation multigrid of two levels, additive; Vaněk et al. 1996 without smoothing, which
 * understates the corrections and so is stable). The operator between cells is that of the items
 * for such pressures (Galerkin), of active items: those with the density of the inside. Others
 * have no pressure, as beyond a free surface.
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

/* Items this much below the density at rest lie at a surface. */
static const f32 surface_excess = -0.12f;
/* Residual, as part of its start, at which the solver stops. */
static const f64 residual_part = 0.02;
/* Part of the exact solution. */
static const f32 relaxation = 0.5f;
/* Added to the diagonal, as part of it: for liquids without any surface. */
static const f32 ridge = 1e-3f;

typedef struct LiquidCoarse {
    u32 at;             /* number in the table of coarse cells */
    u32 around[AROUND]; /* cells; UINT32_MAX: empty */
    f32 factor[AROUND]; /* 1/(kg m²) */
    f32 octant[BINS][36];
    f32 yields;
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

/* Where the second fine cell of a run begins. */
static u32 middle_of(const Liquid *liquid, u32 at, u32 k)
{
    u32 c[3];
    unpack(liquid, at, c);
    u32 y = 2 * c[1] + k % 2, z = 2 * c[2] + k / 2;
    return liquid
        ->cell_starts[(((z << liquid->cell_bits[1] | y) << liquid->cell_bits[0]) | 2 * c[0]) + 1];
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

static void mark_item(Liquid *liquid, u32 i, u32 at)
{
    liquid->coarse_of[i] = at;
    bool fluid = liquid->factors[liquid->phase_of[i]].grains == 0;
    liquid->active[i] = fluid && liquid->excess[i] > surface_excess;
}

/* Index of a pair of bins in the upper half of an 8 × 8 matrix. */
static u32 pair_of(u32 a, u32 b)
{
    u32 low = u32_min(a, b), high = u32_max(a, b);
    return low * BINS - low * (low + 1) / 2 + high;
}

/* What a unit of pressure in each of the cells that an item touches pushes it by: its own cell and
 * those towards its octant, bit k of a bin: beyond the cell along axis k. */
static u32 push_of(const Liquid *liquid, u32 i, Vec3 push[BINS])
{
    const u32 *near = &liquid->near[(size_t)i * LIQUID_NEIGHBOURS_MAX];
    const Four *x = &liquid->place[i];
    u32 bits[2] = {bits_of(liquid, 0), bits_of(liquid, 1)}, used = 1;
    u32 mask[3] = {(1u << bits[0]) - 1, ((1u << bits[1]) - 1) << bits[0],
                   ~0u << (bits[0] + bits[1])};
    f32 per_d = 1.0f / liquid->def.spacing, own = liquid->active[i] ? 1.0f : 0.0f;
    for (u32 k = 0; k < BINS; k++) {
        push[k] = vec3_zero();
    }
    Vec3 all = liquid_wall_slope(liquid, i);
    for (u32 k = 0; k < liquid->near_count[i]; k += SIMD_LANES) {
        Near8 n = near_of(liquid, x, near + k, per_d);
        Vec3x8 g = vec3x8_scale(n.off, n.over);
        for (u32 l = 0; l < SIMD_LANES && k + l < liquid->near_count[i]; l++) {
            u32 j = near[k + l], differs = liquid->coarse_of[j] ^ liquid->coarse_of[i];
            f32 part = liquid->trait[j].x;
            Vec3 slope = vec3(part * g.x[l], part * g.y[l], part * g.z[l]);
            all = vec3_add(all, slope);
            if (liquid->active[j]) {
                u32 bin = (u32)((differs & mask[0]) != 0) | (u32)((differs & mask[1]) != 0) << 1 |
                          (u32)((differs & mask[2]) != 0) << 2;
                push[bin] = vec3_add(push[bin], slope);
                used |= 1u << bin;
            }
        }
    }
    push[0] = vec3_add_scaled(push[0], own, all);
    return used;
}

static void add_item(const Liquid *liquid, u32 i, Coarse *cell, f32 *octant)
{
    const PhaseFactors *phase = &liquid->factors[liquid->phase_of[i]];
    Vec3 push[BINS];
    u32 used = push_of(liquid, i, push);
    f32 scale = phase->part * phase->lightness;
    for (u32 a = 0; a < BINS; a++) {
        for (u32 b = a; b < BINS; b++) {
            if ((used >> a & used >> b & 1) != 0) {
                octant[pair_of(a, b)] += scale * vec3_dot(push[a], push[b]);
            }
        }
    }
    if (liquid->active[i]) { /* walls that yield */
        cell->yields += phase->part * phase->part * liquid_wall_yields(liquid, i);
    }
}

static void mark_cells(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    PL_UNUSED(worker);
    for (u32 c = first; c < end; c++) {
        u32 from[4], to[4];
        runs_of(liquid, liquid->coarse[c].at, from, to);
        for (u32 k = 0; k < 4; k++) {
            for (u32 i = from[k]; i < to[k]; i++) {
                mark_item(liquid, i, liquid->coarse[c].at);
            }
        }
    }
}

static void build_octants(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
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
            u32 middle = middle_of(liquid, cell->at, k);
            for (u32 i = from[k]; i < to[k]; i++) {
                add_item(liquid, i, cell, cell->octant[2 * k + (i >= middle)]);
            }
        }
    }
}

/* From the octants of the cell at `shift` (−1..1 along each axis) that touch the row's cell. */
static void add_octants(const Coarse *other, const i32 shift[3], f32 row[AROUND])
{
    for (u32 o = 0; o < BINS; o++) {
        u32 own = 0;
        bool touches = true;
        for (u32 k = 0; k < 3; k++) {
            i32 side = (o >> k & 1) != 0 ? 1 : -1;
            own |= (u32)(shift[k] != 0) << k;
            touches = touches && (shift[k] == 0 || shift[k] == -side);
        }
        for (u32 b = 0; b < BINS && touches; b++) {
            u32 to = 0, base = 1;
            for (u32 k = 0; k < 3; k++, base *= 3) {
                i32 side = (o >> k & 1) != 0 ? 1 : -1;
                to += base * (u32)(shift[k] + ((b >> k & 1) != 0 ? side : 0) + 1);
            }
            row[to] += other->octant[o][pair_of(own, b)];
        }
    }
}

static void build_rows(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    PL_UNUSED(worker);
    for (u32 c = first; c < end; c++) {
        Coarse *cell = &liquid->coarse[c];
        for (u32 k = 0; k < AROUND; k++) {
            const i32 shift[3] = {(i32)(k % 3) - 1, (i32)(k / 3 % 3) - 1, (i32)(k / 9) - 1};
            if (cell->around[k] != UINT32_MAX) {
                add_octants(&liquid->coarse[cell->around[k]], shift, cell->factor);
            }
        }
        cell->factor[SELF] += cell->yields;
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
    jobs_run(liquid->jobs, liquid->coarse_count, 4, build_octants, liquid);
    jobs_run(liquid->jobs, liquid->coarse_count, 8, build_rows, liquid);
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
                f32 part = liquid->factors[liquid->phase_of[i]].part;
                sum += liquid->active[i] ? part * liquid->change[i].w : 0.0f;
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

/* Linear between the centres of the eight nearest cells: steps would shear the liquid. */
f32 liquid_coarse_pressure(const Liquid *liquid, u32 i)
{
    if (liquid->coarse_count == 0 || !liquid->active[i] || liquid->excess[i] < surface_excess) {
        return 0.0f;
    }
    const Coarse *cell = &liquid->coarse[liquid->coarse_table[liquid->coarse_of[i]]];
    f32 per = 0.5f / liquid_cell_size(liquid), sum = 0.0f, all = 0.0f;
    const f32 at[3] = {liquid->place[i].x * per, liquid->place[i].y * per,
                       liquid->place[i].z * per};
    u32 step[3], base = 1;
    f32 part[3];
    for (u32 k = 0; k < 3; k++, base *= 3) {
        f32 off = at[k] - floorf(at[k]) - 0.5f;
        step[k] = off < 0.0f ? 0u - base : base;
        part[k] = fabsf(off);
    }
    for (u32 b = 0; b < BINS; b++) {
        u32 to = SELF;
        f32 weight = 1.0f;
        for (u32 k = 0; k < 3; k++) {
            bool beyond = (b >> k & 1) != 0;
            to += beyond ? step[k] : 0;
            weight *= beyond ? part[k] : 1.0f - part[k];
        }
        const Coarse *other =
            cell->around[to] != UINT32_MAX ? &liquid->coarse[cell->around[to]] : NULL;
        if (other != NULL && other->factor[SELF] > 0.0f) {
            sum += weight * other->solution;
            all += weight;
        }
    }
    return all > 0.0f ? relaxation * sum / all : 0.0f;
}
