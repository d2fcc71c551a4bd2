/* pressure_level.c: a V-cycle of multigrid: sweeps, restriction by the transpose of trilinear
 * interpolation, and on the coarsest level more sweeps. Sweeps down and up are each other's
 * mirror image, so that the cycle is a symmetric operator. */
#include "server/physics/grid/pressure.h"
#include "shared/base/check.h"

enum {
    COARSEST_SWEEPS = 6, /* each way */
};

/* A sweep of a span: red and black cells of its rows in turn, the second colour a row behind. */
typedef struct SweepLevel {
    const Pressure *pressure;
    const PressureLevel *level;
    bool up;            /* black first */
    f64 *sums, *totals; /* of spans: b · x, x; may be NULL */
} SweepLevel;

typedef struct SweepSums {
    f32x8 product, plain; /* b · x, x */
} SweepSums;

/* Adds those of the row. */
SIMD_INLINE void sweep_row(const SweepLevel *sweep, const AirSpan *span, i32 y, i32 z, u32 color,
                           SweepSums *sums)
{
    f32x8 product = sums->product, plain = sums->plain;
    const PressureLevel *level = sweep->level;
    const AirGrid *grid = &level->grid;
    static const i32x8 masks[2] = {{-1, 0, -1, 0, -1, 0, -1, 0}, {0, -1, 0, -1, 0, -1, 0, -1}};
    i32x8 mask = masks[((u32)(y + z) + color) & 1];
    const f32 *inverse = air_pressure_inverse(sweep->pressure, level, y, z);
    i32 at = air_at(grid, 0, y, z);
    bool deep = grid->dims == 3;
    /* Neighbours along x come from vectors loaded before the store: a load across a store just made
     * would wait for it. */
    f32 *to = level->x + at + span->x0;
    f32x8 last = f32x8_load(to - SIMD_LANES), here = f32x8_load(to);
    for (i32 x = span->x0; x < span->x1; x += SIMD_LANES, to += SIMD_LANES) {
        f32x8 next = f32x8_load(to + SIMD_LANES);
        f32x8 low = __builtin_shufflevector(last, here, 7, 8, 9, 10, 11, 12, 13, 14);
        f32x8 high = __builtin_shufflevector(here, next, 1, 2, 3, 4, 5, 6, 7, 8);
        f32x8 sum = (low + high) + (f32x8_load(to - grid->row) + f32x8_load(to + grid->row));
        if (deep) {
            sum += f32x8_load(to - grid->slab) + f32x8_load(to + grid->slab);
        }
        f32x8 b = f32x8_load(level->b + at + x), value = (b + sum) * f32x8_load(inverse + x);
        value = f32x8_select(mask, value, here);
        f32x8_store(to, value);
        product += b * value;
        plain += value;
        last = here;
        here = next;
    }
    *sums = (SweepSums){product, plain};
}

static void sweep_span(void *context, const AirSpan *span, u32 index)
{
    const SweepLevel *sweep = (const SweepLevel *)context;
    u32 first = sweep->up;
    SweepSums first_sums = {f32x8_set(0.0f), f32x8_set(0.0f)}, sums = first_sums;
    for (i32 z = span->z0; z < span->z1 + 1; z++) {
        /* The second colour of slab z − 1 depends on the first of slab z. */
        for (i32 y = span->y0; y < span->y1 && z < span->z1; y++) {
            sweep_row(sweep, span, y, z, first, &first_sums);
        }
        for (i32 y = span->y0; y < span->y1 && z > span->z0; y++) {
            sweep_row(sweep, span, y, z - 1, 1 - first, &sums);
        }
    }
    if (sweep->sums != NULL) {
        sweep->sums[index] = (f64)air_sum8(sums.product);
        sweep->totals[index] = (f64)air_sum8(sums.plain);
    }
}

static void wrap_x(void *context)
{
    const SweepLevel *sweep = (const SweepLevel *)context;
    air_wrap(&sweep->level->grid, sweep->level->x);
}

static void sweep_level(Pressure *pressure, const PressureLevel *level, bool up)
{
    bool last = up && level == &pressure->level[0];
    SweepLevel sweep = {pressure, level, up, last ? pressure->sums : NULL,
                        last ? pressure->totals : NULL};
    air_each_color(&level->grid, pressure->jobs, up, sweep_span, pressure->periodic ? wrap_x : NULL,
                   &sweep);
}

/* ---- residual ---- */

static void residual_span(void *context, const AirSpan *span, u32 index)
{
    PL_UNUSED(index);
    const SweepLevel *sweep = (const SweepLevel *)context;
    const PressureLevel *level = sweep->level;
    const AirGrid *grid = &level->grid;
    bool deep = grid->dims == 3;
    const f32x8 zero = f32x8_set(0.0f);
    for (i32 z = span->z0; z < span->z1; z++) {
        for (i32 y = span->y0; y < span->y1; y++) {
            const f32 *diagonal = level->diagonal[air_pressure_row(grid, y, z)];
            const f32 *inverse = air_pressure_inverse(sweep->pressure, level, y, z);
            i32 at = air_at(grid, 0, y, z);
            for (i32 x = span->x0; x < span->x1; x += SIMD_LANES) {
                f32x8 near = air_pressure_near(level->x + at + x, grid->row, grid->slab, deep);
                f32x8 d = f32x8_load(diagonal + x), value = f32x8_load(level->x + at + x);
                f32x8 r = f32x8_load(level->b + at + x) + near - d * value;
                f32x8_store(level->r + at + x, f32x8_and(f32x8_load(inverse + x) > zero, r));
            }
        }
    }
}

/* ---- between levels ---- */

typedef struct Transfer {
    const Pressure *pressure;
    const PressureLevel *fine, *coarse;
} Transfer;

/* Rows of weights 1, 3, 3, 1 along y, and z, summed at a vector of fine cells. */
SIMD_INLINE f32x8 fold(const f32 *r, i32 row, i32 slab, bool deep)
{
    const f32x8 three = f32x8_set(3.0f);
    f32x8 sums[4] = {f32x8_set(0.0f)};
    for (i32 k = 0; k < (deep ? 4 : 1); k++) {
        const f32 *at = r + k * slab;
        sums[k] = (air_load(at) + air_load(at + 3 * row)) +
                  three * (air_load(at + row) + air_load(at + 2 * row));
    }
    return deep ? (sums[0] + sums[3]) + three * (sums[1] + sums[2]) : sums[0];
}

static void restrict_span(void *context, const AirSpan *span, u32 index)
{
    PL_UNUSED(index);
    const Transfer *transfer = (const Transfer *)context;
    const AirGrid *fine = &transfer->fine->grid, *coarse = &transfer->coarse->grid;
    bool deep = fine->dims == 3;
    /* 4 times the mean: the equation is multiplied by the square of the cells' size. */
    const f32x8 part = f32x8_set(deep ? 4.0f / 512.0f : 4.0f / 64.0f), three = f32x8_set(3.0f);
    for (i32 z = span->z0; z < span->z1; z++) {
        for (i32 y = span->y0; y < span->y1; y++) {
            i32 to = air_at(coarse, 0, y, z);
            const f32 *inverse = air_pressure_inverse(transfer->pressure, transfer->coarse, y, z);
            const f32 *from = transfer->fine->r + air_at(fine, -1, 2 * y - 1, deep ? 2 * z - 1 : 0);
            for (i32 x = span->x0; x < span->x1; x += SIMD_LANES) {
                f32x8 s[4]; /* from 2 x − 1, + 8, 2 x + 1, + 8 */
                for (i32 k = 0; k < 4; k++) {
                    s[k] = fold(from + 2 * x + k / 2 * 2 + k % 2 * 8, fine->row, fine->slab, deep);
                }
                f32x8 a = __builtin_shufflevector(s[0], s[1], 0, 2, 4, 6, 8, 10, 12, 14);
                f32x8 b = __builtin_shufflevector(s[0], s[1], 1, 3, 5, 7, 9, 11, 13, 15);
                f32x8 c = __builtin_shufflevector(s[2], s[3], 0, 2, 4, 6, 8, 10, 12, 14);
                f32x8 d = __builtin_shufflevector(s[2], s[3], 1, 3, 5, 7, 9, 11, 13, 15);
                f32x8 sum = ((a + d) + three * (b + c)) * part;
                i32x8 inside = f32x8_load(inverse + x) > f32x8_set(0.0f);
                f32x8_store(transfer->coarse->b + to + x, f32x8_and(inside, sum));
                f32x8_store(transfer->coarse->x + to + x, f32x8_set(0.0f));
            }
        }
    }
}

/* Of a fine cell the nearer and the farther coarse cell weigh 3 to 1 along each axis. */
static void prolong_span(void *context, const AirSpan *span, u32 index)
{
    PL_UNUSED(index);
    const Transfer *transfer = (const Transfer *)context;
    const AirGrid *fine = &transfer->fine->grid, *coarse = &transfer->coarse->grid;
    bool deep = fine->dims == 3;
    const f32x8 near = f32x8_set(0.75f), far = f32x8_set(0.25f);
    for (i32 z = span->z0; z < span->z1; z++) {
        for (i32 y = span->y0; y < span->y1; y++) {
            f32 *to = transfer->fine->x + air_at(fine, 0, y, z);
            const f32 *from = transfer->coarse->x + air_at(coarse, -1, y / 2, z / 2);
            const f32 *inverse = air_pressure_inverse(transfer->pressure, transfer->fine, y, z);
            i32 row = y % 2 != 0 ? coarse->row : -coarse->row;
            i32 slab = z % 2 != 0 ? coarse->slab : -coarse->slab;
            for (i32 x = span->x0; x < span->x1; x += SIMD_LANES) {
                const f32 *at = from + x / 2;
                f32x8 v = near * air_load(at) + far * air_load(at + row);
                if (deep) {
                    f32x8 w = near * air_load(at + slab) + far * air_load(at + slab + row);
                    v = near * v + far * w;
                }
                f32x8 a = __builtin_shufflevector(v, v, 1, 1, 2, 2, 3, 3, 4, 4);
                f32x8 b = __builtin_shufflevector(v, v, 0, 2, 1, 3, 2, 4, 3, 5);
                i32x8 inside = f32x8_load(inverse + x) > f32x8_set(0.0f);
                f32x8 sum = f32x8_load(to + x) + f32x8_and(inside, near * a + far * b);
                f32x8_store(to + x, sum);
            }
        }
    }
}

/* ---- cycle ---- */

static void clear_span(void *context, const AirSpan *span, u32 index)
{
    PL_UNUSED(index);
    const PressureLevel *level = (const PressureLevel *)context;
    for (i32 z = span->z0; z < span->z1; z++) {
        for (i32 y = span->y0; y < span->y1; y++) {
            air_clear(level->x + air_at(&level->grid, 0, y, z), span->x0, span->x1);
        }
    }
}

void air_pressure_cycle(Pressure *pressure, u32 levels)
{
    CHECK(levels >= 1 && levels <= pressure->levels);
    Jobs *jobs = pressure->jobs;
    PressureLevel *top = &pressure->level[0];
    air_each(&top->grid, jobs, clear_span, top);
    air_ghosts_clear(&top->grid, top->x);
    for (u32 l = 0; l + 1 < levels; l++) {
        PressureLevel *level = &pressure->level[l], *next = level + 1;
        sweep_level(pressure, level, false);
        SweepLevel rest = {pressure, level, false, NULL, NULL};
        air_each(&level->grid, jobs, residual_span, &rest);
        air_ghosts(&level->grid, level->r, air_pressure_folded);
        Transfer transfer = {pressure, level, next};
        air_each(&next->grid, jobs, restrict_span, &transfer);
        air_ghosts_clear(&next->grid, next->x);
    }
    u32 sweeps = levels > 1 ? COARSEST_SWEEPS : 1;
    for (u32 k = 0; k < 2 * sweeps; k++) {
        sweep_level(pressure, &pressure->level[levels - 1], k >= sweeps);
    }
    for (u32 l = levels - 1; l-- > 0;) {
        PressureLevel *level = &pressure->level[l], *next = level + 1;
        air_ghosts(&next->grid, next->x, air_pressure_beyond);
        Transfer transfer = {pressure, level, next};
        air_each(&level->grid, jobs, prolong_span, &transfer);
        if (pressure->periodic) {
            air_wrap(&level->grid, level->x);
        }
        sweep_level(pressure, level, true);
    }
}
