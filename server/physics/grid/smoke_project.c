/* smoke_project.c: makes the velocity free of divergence, but for the growth of burning cells. */
#include "server/physics/grid/smoke_internal.h"
#include "shared/base/check.h"

#include <math.h>

/* Rounding of a divergence, in parts of the greatest speed: no use to solve further. */
static const f64 divergence_rounding = 2e-7;

/* Faces towards sleeping bricks above belong to these. */
static void subtract_rim(Smoke *smoke, const AirSpan *span, SmokeTally *tally)
{
    const f32 *pressed = smoke->pressed;
    const AirGrid *grid = &smoke->grid;
    for (u32 c = 0; c < grid->dims; c++) {
        i32 step = smoke_stride(grid, c);
        AirRim rim;
        for (bool more = air_rim_first(grid, span, c, &rim); more;
             more = air_rim_next(grid, &rim)) {
            for (i32 i = 0; i < rim.floats; i++) {
                i32 at = rim.at + i;
                f32 before = smoke->velocity[c][at];
                f32 value = before - (pressed[at] - pressed[at - step]);
                smoke->velocity[c][at] = f32_clamp(value, -SMOKE_SPEED_MAX, SMOKE_SPEED_MAX);
                tally->within[c] += (f64)before;
            }
        }
    }
}

/* Returns the greatest speed. */
SIMD_INLINE f32 subtract_rows(Smoke *smoke, const AirSpan *span, bool deep)
{
    const AirGrid *grid = &smoke->grid;
    const f32x8 limit = f32x8_set(SMOKE_SPEED_MAX);
    const u32 dims = deep ? 3 : 2;
    f32x8 most = f32x8_set(0.0f);
    i32x8 numbers = {0, 1, 2, 3, 4, 5, 6, 7};
    for (i32 z = span->z0; z < span->z1; z++) {
        for (i32 y = span->y0; y < span->y1; y++) {
            for (i32 x = span->x0; x < span->x1; x += SIMD_LANES) {
                i32 at = air_at(grid, x, y, z), left = grid->n[0] - x;
                const f32 *p = smoke->pressed + at;
                f32x8 here = f32x8_load(p);
                i32x8 inside = numbers < (i32x8){left, left, left, left, left, left, left, left};
                for (u32 c = 0; c < dims; c++) {
                    f32 *v = smoke->velocity[c] + at;
                    f32x8 value = f32x8_load(v) - (here - air_load(p - smoke_stride(grid, c)));
                    value = f32x8_max(f32x8_min(value, limit), -limit);
                    f32x8_store(v, value);
                    most = f32x8_max(most, f32x8_and(inside, f32x8_abs(value)));
                }
            }
        }
    }
    f32 greatest = 0.0f;
    for (u32 l = 0; l < SIMD_LANES; l++) {
        greatest = f32_max(greatest, most[l]);
    }
    return greatest;
}

static void subtract_span(void *context, const AirSpan *span, u32 index)
{
    Smoke *smoke = (Smoke *)context;
    bool deep = smoke->grid.dims == 3;
    smoke->most[index] =
        deep ? subtract_rows(smoke, span, true) : subtract_rows(smoke, span, false);
    subtract_rim(smoke, span, &smoke->tallies[index]);
}

/* The high faces of an axis lie beyond its cells. */
static void subtract_faces(Smoke *smoke, u32 axis)
{
    const f32 *pressed = smoke->pressed;
    const AirGrid *grid = &smoke->grid;
    i32 from[3] = {0, 0, 0}, end[3] = {grid->n[0], grid->n[1], grid->n[2]};
    from[axis] = grid->n[axis];
    end[axis] = grid->n[axis] + 1;
    i32 step = smoke_stride(grid, axis);
    for (i32 z = from[2]; z < end[2]; z++) {
        for (i32 y = from[1]; y < end[1]; y++) {
            for (i32 x = from[0]; x < end[0]; x++) {
                i32 at = air_at(grid, x, y, z);
                f32 value = smoke->velocity[axis][at] - (pressed[at] - pressed[at - step]);
                smoke->velocity[axis][at] = f32_clamp(value, -SMOKE_SPEED_MAX, SMOKE_SPEED_MAX);
            }
        }
    }
}

static void subtract(Smoke *smoke)
{
    const AirGrid *grid = &smoke->grid;
    air_each(grid, smoke->jobs, subtract_span, smoke);
    smoke->speed = 0.0f;
    for (u32 s = 0; s < grid->span_count; s++) {
        smoke->speed = f32_max(smoke->speed, smoke->most[s]);
    }
    for (u32 c = 0; c < grid->dims; c++) {
        /* Of vectors that exceed the grid, the face has been done. */
        bool done = c == 0 && grid->n[0] % AIR_BRICK != 0;
        if (grid->sides[2 * c + 1] == AIR_OPEN && !done) {
            subtract_faces(smoke, c);
        }
        smoke_sides(smoke, c, smoke->velocity[c], SMOKE_SIDES_KEPT);
    }
}

/* The rows of a span; `deep` by constant, so that loops over components are unrolled. */
SIMD_INLINE void source_rows(Smoke *smoke, const AirSpan *span, u32 index, bool deep)
{
    const AirGrid *grid = &smoke->grid;
    const PressureLevel *top = &smoke->pressure.level[0];
    const f32x8 zero = f32x8_set(0.0f), most = f32x8_set(deep ? 6.0f : 4.0f);
    const u32 dims = deep ? 3 : 2;
    f32x8 sum = zero;
    for (i32 z = span->z0; z < span->z1; z++) {
        for (i32 y = span->y0; y < span->y1; y++) {
            const f32 *diagonal = top->diagonal[air_pressure_row(grid, y, z)];
            f32x8 rows[3] = {zero, zero, zero};
            for (i32 x = span->x0; x < span->x1; x += SIMD_LANES) {
                i32 at = air_at(grid, x, y, z);
                f32x8 b = zero;
                for (u32 c = 0; c < dims; c++) {
                    const f32 *v = smoke->velocity[c] + at;
                    f32x8 here = f32x8_load(v);
                    rows[c] += smoke_inner(grid, c, x, here);
                    b += here - air_load(v + smoke_stride(grid, c));
                }
                if (smoke->burns) {
                    b += f32x8_load(smoke->growth + at);
                }
                f32x8 d = f32x8_load(diagonal + x), kept = f32x8_load(smoke->pressed + at);
                const f32 *p = smoke->pressed + at;
                f32x8 near = air_pressure_near(p, grid->row, grid->slab, deep);
                b = f32x8_and(d > zero, b);
                sum += b * b;
                b -= f32x8_and(d > zero, most * kept - near);
                f32x8_store(top->b + at, b);
            }
            for (u32 c = 0; c < dims; c++) {
                smoke_tally_row(grid, c, y, z, rows[c], smoke->tallies[index].within);
            }
        }
    }
    smoke->pressure.sums[index] = (f64)air_sum8(sum);
}

/* b = growth − divergence, less what the pressure of the last tick takes of it already;
 * pressure.sums: the square of it with that. Tallies velocities before pressure. */
static void source_span(void *context, const AirSpan *span, u32 index)
{
    Smoke *smoke = (Smoke *)context;
    if (smoke->grid.dims == 3) {
        source_rows(smoke, span, index, true);
    } else {
        source_rows(smoke, span, index, false);
    }
}

void smoke_project(Smoke *smoke)
{
    const AirGrid *grid = &smoke->grid;
    const SmokeOptions *options = &smoke->def.options;
    air_each(grid, smoke->jobs, source_span, smoke);
    air_still_source(&smoke->pressure, smoke->velocity);
    smoke->pressure.gains = smoke_makes_air(smoke);
    f64 square = 0.0, cells = 0.0;
    for (u32 s = 0; s < grid->span_count; s++) {
        const AirSpan *span = &grid->spans[s];
        square += smoke->pressure.sums[s];
        cells += (f64)(i32_min(span->x1, grid->n[0]) - span->x0) * (f64)(span->y1 - span->y0) *
                 (f64)(span->z1 - span->z0);
    }
    f64 rms = cells > 0.0 ? sqrt(square / cells) : 0.0;
    f64 least = fmax((f64)options->tolerance * rms, divergence_rounding * (f64)smoke->speed);
    PressureMethod method = options->pressure == SMOKE_MULTIGRID   ? PRESSURE_MULTIGRID
                            : options->pressure == SMOKE_GRADIENTS ? PRESSURE_GRADIENTS
                                                                   : PRESSURE_JACOBI;
    PressureResult result =
        air_pressure_solve(&smoke->pressure, method, least, options->iterations, smoke->jobs);
    CHECK(result.iterations <= options->iterations && result.residual >= 0.0);
    smoke->iterations = result.iterations;
    smoke->residual = rms > 0.0 ? (f32)(result.residual / rms) : 0.0f;
    subtract(smoke);
    air_still_end_tick(&smoke->pressure);
}
