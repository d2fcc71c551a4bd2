/* advect_flux.c: conservative transport along one axis at a time. The volume of a cell changes with
 * the divergence of each axis and is 1 again after the last, so that uniform fields stay uniform
 * (Easter 1993, "Two modified versions of Bott's positive-definite numerical advection scheme").
 * The carried amount per volume moves with the volume's flux; nothing crosses the border of a
 * sleeping brick. */
#include "server/physics/grid/advect.h"

static const f32 least_amount = 1e-15f;

SIMD_INLINE i32 step_of(const AirGrid *grid, u32 axis)
{
    return axis == 0 ? 1 : axis == 1 ? grid->row : grid->slab;
}

/* Cells per step, limited. */
SIMD_INLINE f32x8 courant(const Flux *flux, u32 axis, i32 at)
{
    const f32x8 one = f32x8_set(1.0f);
    f32x8 c = f32x8_set(flux->scale) * air_load(flux->velocity[axis] + at);
    return f32x8_max(f32x8_min(c, one), -one);
}

/* Van Leer's slope: the harmonic mean of the differences, 0 at extrema. */
SIMD_INLINE f32x8 slope(f32x8 below, f32x8 above)
{
    const f32x8 zero = f32x8_set(0.0f), tiny = f32x8_set(1e-30f);
    f32x8 product = below * above, sum = below + above;
    i32x8 monotone = product > tiny;
    return f32x8_and(monotone, f32x8_set(2.0f) * product /
                                   f32x8_select(monotone, sum, zero + f32x8_set(1.0f)));
}

/* Flux through the low faces of cells x .. x + 7. */
SIMD_INLINE f32x8 flux_at(const Flux *flux, i32 at)
{
    i32 step = step_of(flux->grid, flux->axis);
    const f32 *c = flux->cells + at;
    const f32x8 half = f32x8_set(0.5f), one = f32x8_set(1.0f), zero = f32x8_set(0.0f);
    f32x8 a = air_load(c - 2 * step), b = air_load(c - step), d = air_load(c),
          e = air_load(c + step);
    if (!i32x8_any((i32x8)(((i32x8)a | (i32x8)b | (i32x8)d | (i32x8)e) != 0))) {
        return zero; /* all neighbours are empty, as in most of the air */
    }
    f32x8 speed = courant(flux, flux->axis, at);
    i32x8 forth = speed > zero;
    f32x8 from = f32x8_select(forth, b, d), sign = f32x8_select(forth, one, -one);
    f32x8 rise = slope(f32x8_select(forth, b - a, e - d), d - b);
    return speed * (from + half * (sign - speed) * rise);
}

/* 0 for faces whose other cell sleeps, in bricks of 8 cells from x on. */
static bool is_shut(const Flux *flux, i32 x, i32 y, i32 z)
{
    const AirGrid *grid = flux->grid;
    return flux->axis == 0   ? !air_is_awake(grid, x - 1, y, z)
           : flux->axis == 1 ? y % AIR_BRICK == 0 && !air_is_awake(grid, x, y - 1, z)
                             : z % AIR_BRICK == 0 && !air_is_awake(grid, x, y, z - 1);
}

static void faces_span(void *context, const AirSpan *span, u32 index)
{
    PL_UNUSED(index);
    const Flux *flux = (const Flux *)context;
    const AirGrid *grid = flux->grid;
    bool along = flux->axis == 0;
    /* One more face beyond the span if no other span computes it. */
    i32 end[3] = {span->x1, span->y1, span->z1};
    i32 last = flux->axis == 1 ? span->y1 : flux->axis == 2 ? span->z1 : 0;
    i32 filled[2];
    air_span_marked(grid, span, flux->full, filled);
    for (i32 z = span->z0; z < end[2]; z++) {
        for (i32 y = span->y0; y < end[1]; y++) {
            f32 *to = flux->fluxes + air_at(grid, 0, y, z);
            air_clear(to, span->x0, filled[0]);
            air_clear(to, filled[1], span->x1);
            for (i32 x = filled[0]; x < filled[1]; x += SIMD_LANES) {
                i32 at = air_at(grid, x, y, z);
                f32x8 value = flux_at(flux, at);
                if ((!along || x == span->x0) && is_shut(flux, x, y, z)) {
                    if (along) {
                        value[0] = 0.0f;
                    } else {
                        value = f32x8_set(0.0f);
                    }
                }
                f32x8_store(flux->fluxes + at, value);
            }
            if (along) {
                i32 at = air_at(grid, span->x1, y, z);
                bool rim = span->x1 >= grid->n[0]; /* else asleep there */
                f32x8_store(flux->fluxes + at, rim ? flux_at(flux, at) : f32x8_set(0.0f));
            }
        }
    }
    for (i32 x = span->x0; x < span->x1 && !along; x += SIMD_LANES) {
        for (i32 o = 0; o < (flux->axis == 1 ? span->z1 - span->z0 : span->y1 - span->y0); o++) {
            i32 y = flux->axis == 1 ? last : span->y0 + o,
                z = flux->axis == 1 ? span->z0 + o : last;
            bool rim = last == grid->n[flux->axis];
            if (rim || !air_is_awake(grid, x, y, z)) {
                i32 at = air_at(grid, x, y, z);
                f32x8_store(flux->fluxes + at, rim ? flux_at(flux, at) : f32x8_set(0.0f));
            }
        }
    }
}

/* Volume of the cells after the axes before `axis`. */
SIMD_INLINE f32x8 volume(const Flux *flux, u32 axis, i32 at)
{
    f32x8 v = f32x8_set(1.0f);
    for (u32 a = 0; a < axis; a++) {
        i32 step = step_of(flux->grid, a);
        v -= courant(flux, a, at + step) - courant(flux, a, at);
    }
    return f32x8_max(v, f32x8_set(0.05f));
}

static void cells_span(void *context, const AirSpan *span, u32 index)
{
    PL_UNUSED(index);
    const Flux *flux = (const Flux *)context;
    const AirGrid *grid = flux->grid;
    i32 step = step_of(grid, flux->axis);
    bool last = flux->axis + 1 == grid->dims;
    /* Smaller amounts would become subnormal numbers, which are slow on most processors. */
    f32x8 most = f32x8_set(flux->most), lowest = f32x8_set(flux->least);
    f32x8 least = f32x8_set(least_amount);
    i32 filled[2];
    air_span_marked(grid, span, flux->full, filled);
    for (i32 z = span->z0; z < span->z1; z++) {
        for (i32 y = span->y0; y < span->y1; y++) {
            for (i32 x = filled[0]; x < filled[1]; x += SIMD_LANES) {
                i32 at = air_at(grid, x, y, z);
                f32x8 here = f32x8_load(flux->cells + at), low = f32x8_load(flux->fluxes + at);
                f32x8 high = air_load(flux->fluxes + at + step);
                if (!i32x8_any((i32x8)(((i32x8)here | (i32x8)low | (i32x8)high) != 0))) {
                    continue;
                }
                f32x8 amount = here * volume(flux, flux->axis, at) - (high - low);
                f32x8 after = last ? f32x8_set(1.0f) : volume(flux, flux->axis + 1, at);
                f32x8 value = amount / after;
                value = f32x8_max(f32x8_min(value, most), lowest);
                value = f32x8_and(f32x8_abs(value) > least, value);
                f32x8_store(flux->cells + at, value);
            }
        }
    }
}

void advect_flux(const Flux *flux, Jobs *jobs)
{
    Flux copy = *flux;
    air_each(flux->grid, jobs, faces_span, &copy);
    air_each(flux->grid, jobs, cells_span, &copy);
}
