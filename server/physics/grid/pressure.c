/* pressure.c: memory of the levels, conjugate gradients, Jacobi. Sums are taken by spans, in order,
 * in doubles. */
#include "server/physics/grid/pressure.h"
#include "shared/base/check.h"

#include <math.h>
#include <string.h>

enum {
    ALIGN = 64,
    COARSEST_CELLS = 4, /* along the longest axis */
};
/* Damping of Jacobi's method: undamped it keeps the checkerboard of a closed box for ever. */
static const f32 jacobi_damping = 0.9f;

/* ---- memory ---- */

static bool can_halve(const AirGrid *grid)
{
    i32 longest = 0;
    for (u32 a = 0; a < grid->dims; a++) {
        longest = i32_max(longest, grid->n[a]);
        if (grid->sides[2 * a] == AIR_PERIODIC && grid->n[a] % (2 * AIR_BRICK) != 0) {
            return false;
        }
    }
    return longest > COARSEST_CELLS;
}

static f32 *take(u8 *at, u64 *used, u64 floats)
{
    f32 *taken = at != NULL ? (f32 *)(void *)(at + *used) : NULL;
    *used += (floats * sizeof(f32) + ALIGN - 1) / ALIGN * ALIGN;
    return taken;
}

static void fill_diagonal(PressureLevel *level)
{
    const AirGrid *grid = &level->grid;
    for (i32 more = 0; more < PRESSURE_ROWS; more++) {
        for (i32 x = 0; x < grid->n[0]; x++) {
            i32 near = 2 * (i32)grid->dims + more - 4;
            near += x == 0 ? air_pressure_side(grid->sides[0]) : 0;
            near += x == grid->n[0] - 1 ? air_pressure_side(grid->sides[1]) : 0;
            near = i32_max(near, 1); /* a single closed cell has no neighbours */
            level->diagonal[more][x] = (f32)near;
            level->inverse[more][x] = 1.0f / (f32)near;
        }
    }
}

u64 air_pressure_place(Pressure *pressure, const AirGrid *grid, u8 *at)
{
    u64 used = 0;
    AirGrid next = *grid;
    pressure->levels = 0;
    for (bool more = true; more && pressure->levels < PRESSURE_LEVELS_MAX;) {
        PressureLevel *level = &pressure->level[pressure->levels++];
        level->grid = next;
        if (pressure->levels > 1) {
            used += air_grid_place(&level->grid, at != NULL ? at + used : NULL);
        }
        level->x = take(at, &used, next.floats);
        level->b = take(at, &used, next.floats);
        level->r = take(at, &used, next.floats);
        level->open = pressure->levels > 1 ? take(at, &used, next.floats) : NULL;
        for (u32 i = 0; i < PRESSURE_ROWS; i++) {
            level->diagonal[i] = take(at, &used, (u64)next.row);
            level->inverse[i] = take(at, &used, (u64)next.row);
        }
        if (at != NULL) {
            fill_diagonal(level);
        }
        more = can_halve(&next);
        i32 half[3];
        for (u32 a = 0; a < 3; a++) {
            half[a] = (next.n[a] + 1) / 2;
        }
        air_grid_init(&next, grid->dims, half, grid->sides);
    }
    pressure->solution = take(at, &used, grid->floats);
    pressure->direction = take(at, &used, grid->floats);
    u64 spans = (u64)grid->bricks[1] * (u64)grid->bricks[2] * (u64)((grid->bricks[0] + 1) / 2);
    pressure->sums = (f64 *)(void *)take(at, &used, 2 * spans);
    pressure->totals = (f64 *)(void *)take(at, &used, 2 * spans);
    pressure->periodic = air_is_periodic(grid);
    used += air_still_place(pressure, grid, at != NULL ? at + used : NULL);
    return used;
}

/* What sleeps must be 0, as those awake read it. */
static void forget_level(PressureLevel *level)
{
    size_t bytes = level->grid.floats * sizeof(f32);
    memset(level->x, 0, bytes);
    memset(level->b, 0, bytes);
    memset(level->r, 0, bytes);
}

void air_pressure_clear(Pressure *pressure)
{
    size_t bytes = pressure->level[0].grid.floats * sizeof(f32);
    for (u32 l = 0; l < pressure->levels; l++) {
        forget_level(&pressure->level[l]);
    }
    memset(pressure->solution, 0, bytes);
    memset(pressure->direction, 0, bytes);
}

/* A cell of a coarse level is open if all of what it covers is awake: of level 1 that is one
 * brick's. */
static bool is_open(const PressureLevel *fine, u32 number, i32 x, i32 y, i32 z)
{
    const AirGrid *below = &fine->grid;
    if (number == 1) {
        return air_is_awake(below, x, y, z);
    }
    bool all = true;
    for (u32 child = 0; child < (below->dims == 3 ? 8u : 4u) && all; child++) {
        i32 i = x + (i32)(child & 1), j = y + (i32)(child >> 1 & 1), k = z + (i32)(child >> 2);
        if (i < below->n[0] && j < below->n[1] && k < below->n[2]) {
            all = fine->open[air_at(below, i, j, k)] > 0.0f;
        }
    }
    return all;
}

static void open_level(const PressureLevel *fine, PressureLevel *level, u32 number)
{
    const AirGrid *grid = &level->grid;
    i32 same = number == 1 ? AIR_BRICK / 2 : 1; /* cells alike along x */
    for (u32 s = 0; s < grid->span_count; s++) {
        const AirSpan *span = &grid->spans[s];
        for (i32 z = span->z0; z < span->z1; z++) {
            for (i32 y = span->y0; y < span->y1; y++) {
                const f32 *inverse = level->inverse[air_pressure_row(grid, y, z)];
                f32 *to = level->open + air_at(grid, 0, y, z);
                for (i32 x = span->x0; x < i32_min(span->x1, grid->n[0]); x += same) {
                    bool open = is_open(fine, number, 2 * x, 2 * y, grid->dims == 3 ? 2 * z : 0);
                    for (i32 i = x; i < i32_min(x + same, grid->n[0]); i++) {
                        to[i] = open ? inverse[i] : 0.0f;
                    }
                }
            }
        }
    }
}

/* What changes between awake and asleep must be 0. */
static void forget_brick(PressureLevel *level, i32 x, i32 y, i32 z)
{
    const AirGrid *grid = &level->grid;
    f32 *all[4] = {level->x, level->b, level->r, level->open};
    i32 end[3];
    const i32 at[3] = {x * AIR_BRICK, y * AIR_BRICK, z * AIR_BRICK};
    for (u32 a = 0; a < 3; a++) {
        end[a] = i32_min(at[a] + AIR_BRICK, grid->n[a]);
    }
    for (i32 k = at[2]; k < end[2]; k++) {
        for (i32 j = at[1]; j < end[1]; j++) {
            for (u32 i = 0; i < 4; i++) {
                air_clear(all[i] + air_at(grid, 0, j, k), at[0], at[0] + AIR_BRICK);
            }
        }
    }
}

/* A brick of a level is awake if any that it covers is. */
static void wake_level(const AirGrid *fine, PressureLevel *level)
{
    AirGrid *grid = &level->grid;
    u8 *awake = grid->awake;
    for (i32 z = 0; z < grid->bricks[2]; z++) {
        for (i32 y = 0; y < grid->bricks[1]; y++) {
            for (i32 x = 0; x < grid->bricks[0]; x++, awake++) {
                u8 any = 0;
                for (i32 child = 0; child < 8; child++) {
                    i32 i = 2 * x + (child & 1), j = 2 * y + (child >> 1 & 1),
                        k = 2 * z + child / 4;
                    if (i < fine->bricks[0] && j < fine->bricks[1] && k < fine->bricks[2]) {
                        any |= fine->awake[(k * fine->bricks[1] + j) * fine->bricks[0] + i];
                    }
                }
                if (any != *awake) {
                    forget_brick(level, x, y, z);
                    *awake = any;
                }
            }
        }
    }
    air_grid_spans(grid);
}

void air_pressure_spans(Pressure *pressure, const AirGrid *grid)
{
    CHECK(pressure->levels >= 1 && grid->floats == pressure->level[0].grid.floats);
    pressure->level[0].grid = *grid;
    bool open = false;
    for (u32 l = 1; l < pressure->levels; l++) {
        wake_level(&pressure->level[l - 1].grid, &pressure->level[l]);
    }
    for (u32 b = 0; b < air_grid_bricks(grid) && !open; b++) {
        open = !grid->awake[b];
    }
    pressure->sparse = open;
    for (u32 l = 1; l < pressure->levels && pressure->sparse; l++) {
        open_level(&pressure->level[l - 1], &pressure->level[l], l);
    }
    pressure->closed = true;
    for (u32 s = 0; s < 2 * grid->dims; s++) {
        pressure->closed = pressure->closed && grid->sides[s] != AIR_OPEN;
    }
    pressure->singular = pressure->closed && !open;
    air_still_find(pressure);
}

/* ---- sums ---- */

static f64 total(const Pressure *pressure, const f64 *sums)
{
    f64 sum = 0.0;
    for (u32 s = 0; s < pressure->level[0].grid.span_count; s++) {
        sum += sums[s];
    }
    return sum;
}

#define EACH_VECTOR(grid, span, at)                                                                \
    for (i32 z_ = (span)->z0; z_ < (span)->z1; z_++)                                               \
        for (i32 y_ = (span)->y0; y_ < (span)->y1; y_++)                                           \
            for (i32 at = air_at(grid, (span)->x0, y_, z_), end_ = at + (span)->x1 - (span)->x0;   \
                 at < end_; at += SIMD_LANES)

static void mean_span(void *context, const AirSpan *span, u32 index)
{
    Pressure *pressure = (Pressure *)context;
    f64 sum = 0.0;
    EACH_VECTOR(&pressure->level[0].grid, span, at)
    {
        sum += (f64)air_sum8(f32x8_load(pressure->level[0].b + at));
    }
    pressure->sums[index] = sum;
}

static void subtract_shift(const Pressure *pressure, const AirSpan *span, f32 *cells)
{
    const AirGrid *grid = &pressure->level[0].grid;
    for (i32 z = span->z0; z < span->z1; z++) {
        for (i32 y = span->y0; y < span->y1; y++) {
            f32 *row = cells + air_at(grid, 0, y, z);
            for (i32 x = span->x0; x < i32_min(span->x1, grid->n[0]); x++) {
                row[x] -= pressure->shift;
            }
        }
    }
}

static void shift_span(void *context, const AirSpan *span, u32 index)
{
    PL_UNUSED(index);
    const Pressure *pressure = (const Pressure *)context;
    subtract_shift(pressure, span, pressure->level[0].b);
}

/* Sums: b²; totals: b. */
static void begin_span(void *context, const AirSpan *span, u32 index)
{
    Pressure *pressure = (Pressure *)context;
    f32x8 sum = f32x8_set(0.0f), plain = sum;
    EACH_VECTOR(&pressure->level[0].grid, span, at)
    {
        f32x8 b = f32x8_load(pressure->level[0].b + at);
        sum += b * b;
        plain += b;
    }
    pressure->sums[index] = (f64)air_sum8(sum);
    pressure->totals[index] = (f64)air_sum8(plain);
}

/* Subtracts the shift from the preconditioned residual. */
static void level_span(void *context, const AirSpan *span, u32 index)
{
    PL_UNUSED(index);
    const Pressure *pressure = (const Pressure *)context;
    subtract_shift(pressure, span, pressure->level[0].x);
}

/* The first direction (step 0) is the preconditioned residual. */
static void turn_span(void *context, const AirSpan *span, u32 index)
{
    PL_UNUSED(index);
    Pressure *pressure = (Pressure *)context;
    f32x8 step = f32x8_set(pressure->step);
    bool first = pressure->step == 0.0f;
    EACH_VECTOR(&pressure->level[0].grid, span, at)
    {
        f32x8 x = f32x8_load(pressure->level[0].x + at);
        f32x8 more = first ? f32x8_set(0.0f) : step * f32x8_load(pressure->direction + at);
        f32x8_store(pressure->direction + at, x + more);
    }
}

/* r = A direction; sums: direction · r. */
static void apply_span(void *context, const AirSpan *span, u32 index)
{
    Pressure *pressure = (Pressure *)context;
    const PressureLevel *top = &pressure->level[0];
    const AirGrid *grid = &top->grid;
    const f32x8 zero = f32x8_set(0.0f);
    f32x8 sum = zero;
    for (i32 z = span->z0; z < span->z1; z++) {
        for (i32 y = span->y0; y < span->y1; y++) {
            const f32 *diagonal = top->diagonal[air_pressure_row(grid, y, z)];
            i32 at = air_at(grid, 0, y, z);
            for (i32 x = span->x0; x < span->x1; x += SIMD_LANES) {
                const f32 *from = pressure->direction + at + x;
                f32x8 d = f32x8_load(diagonal + x), value = f32x8_load(from);
                f32x8 near = air_pressure_near(from, grid->row, grid->slab, grid->dims == 3);
                f32x8 product = f32x8_and(d > zero, d * value - near);
                f32x8_store(top->r + at + x, product);
                sum += value * product;
            }
        }
    }
    pressure->sums[index] = (f64)air_sum8(sum);
}

/* Solution and residual take the step; sums: the residual's square; totals: the residual. */
static void step_span(void *context, const AirSpan *span, u32 index)
{
    Pressure *pressure = (Pressure *)context;
    const PressureLevel *top = &pressure->level[0];
    f32x8 step = f32x8_set(pressure->step), sum = f32x8_set(0.0f), plain = sum;
    EACH_VECTOR(&top->grid, span, at)
    {
        f32x8 d = f32x8_load(pressure->direction + at), ad = f32x8_load(top->r + at);
        f32x8 b = f32x8_load(top->b + at) - step * ad;
        f32x8_store(pressure->solution + at, f32x8_load(pressure->solution + at) + step * d);
        f32x8_store(top->b + at, b);
        sum += b * b;
        plain += b;
    }
    pressure->sums[index] = (f64)air_sum8(sum);
    pressure->totals[index] = (f64)air_sum8(plain);
}

/* Where Jacobi's method starts. */
static void nothing_span(void *context, const AirSpan *span, u32 index)
{
    PL_UNUSED(index);
    Pressure *pressure = (Pressure *)context;
    EACH_VECTOR(&pressure->level[0].grid, span, at)
    {
        f32x8_store(pressure->from + at, f32x8_set(0.0f));
    }
}

/* to = damped Jacobi from `from`. Sums: the residual's square. */
static void jacobi_span(void *context, const AirSpan *span, u32 index)
{
    Pressure *pressure = (Pressure *)context;
    const PressureLevel *top = &pressure->level[0];
    const AirGrid *grid = &top->grid;
    const f32x8 zero = f32x8_set(0.0f), damping = f32x8_set(jacobi_damping);
    f32x8 sum = zero;
    for (i32 z = span->z0; z < span->z1; z++) {
        for (i32 y = span->y0; y < span->y1; y++) {
            u32 table = air_pressure_row(grid, y, z);
            i32 at = air_at(grid, 0, y, z);
            for (i32 x = span->x0; x < span->x1; x += SIMD_LANES) {
                const f32 *from = pressure->from + at + x;
                f32x8 d = f32x8_load(top->diagonal[table] + x), value = f32x8_load(from);
                f32x8 near = air_pressure_near(from, grid->row, grid->slab, grid->dims == 3);
                f32x8 r = f32x8_load(top->b + at + x) + near - d * value;
                r = f32x8_and(d > zero, r);
                f32x8 part = damping * f32x8_load(top->inverse[table] + x);
                f32x8_store(pressure->to + at + x, value + part * r);
                sum += r * r;
            }
        }
    }
    pressure->sums[index] = (f64)air_sum8(sum);
}

/* ---- methods ---- */

static f64 sum_of(Pressure *pressure, AirLoop *loop)
{
    air_each(&pressure->level[0].grid, pressure->jobs, loop, pressure);
    return total(pressure, pressure->sums);
}

/* What a closed grid gains has nowhere to go. */
static void center(Pressure *pressure, f64 cells)
{
    bool gains = pressure->closed && pressure->sparse && pressure->gains;
    if ((pressure->singular || gains) && cells > 0.0) {
        f64 sum = sum_of(pressure, mean_span) + (gains ? air_still_gain(pressure) : 0.0);
        pressure->shift = (f32)(sum / cells);
        air_each(&pressure->level[0].grid, pressure->jobs, shift_span, pressure);
    }
}

/* level[0].x = the preconditioned residual; returns b · x. Where x is known up to a constant, that
 * is taken out: rounding gives the residual a mean, of which the cycle makes a large constant that
 * the product with A does not show, and steps that lead away. */
static f64 precondition(Pressure *pressure, u32 levels, f64 cells)
{
    f64 rest = total(pressure, pressure->totals);
    air_pressure_cycle(pressure, levels);
    f64 product = total(pressure, pressure->sums) + air_still_precondition(pressure);
    if (pressure->singular) {
        f64 mean = total(pressure, pressure->totals) / cells;
        pressure->shift = (f32)mean;
        air_each(&pressure->level[0].grid, pressure->jobs, level_span, pressure);
        product -= mean * rest;
    }
    return product;
}

static PressureResult by_gradients(Pressure *pressure, u32 levels, f64 cells, f64 least, u32 most)
{
    const AirGrid *grid = &pressure->level[0].grid;
    f64 square = sum_of(pressure, begin_span) + air_still_begin(pressure), weight = 0.0;
    PressureResult result = {0, square};
    air_ghosts_clear(grid, pressure->direction);
    while (square > least && result.iterations < most) {
        f64 next = precondition(pressure, levels, cells);
        pressure->step = weight > 0.0 ? (f32)(next / weight) : 0.0f;
        weight = next;
        air_each(grid, pressure->jobs, turn_span, pressure);
        air_still_turn(pressure);
        if (pressure->periodic) {
            air_wrap(grid, pressure->direction);
        }
        f64 bend = sum_of(pressure, apply_span) + air_still_apply(pressure);
        if (!(bend > 0.0) || !(weight > 0.0)) {
            break; /* exhausted by rounding */
        }
        pressure->step = (f32)(weight / bend);
        square = sum_of(pressure, step_span) + air_still_step(pressure);
        result.iterations++;
    }
    air_still_end(pressure, false);
    result.residual = square;
    return result;
}

/* solution += from */
static void add_span(void *context, const AirSpan *span, u32 index)
{
    PL_UNUSED(index);
    Pressure *pressure = (Pressure *)context;
    EACH_VECTOR(&pressure->level[0].grid, span, at)
    {
        f32x8 sum = f32x8_load(pressure->solution + at) + f32x8_load(pressure->from + at);
        f32x8_store(pressure->solution + at, sum);
    }
}

static PressureResult by_jacobi(Pressure *pressure, f64 least, u32 most)
{
    const AirGrid *grid = &pressure->level[0].grid;
    f64 square = sum_of(pressure, begin_span) + air_still_begin(pressure);
    PressureResult result = {0, square};
    pressure->from = pressure->direction;
    pressure->to = pressure->level[0].x;
    air_each(grid, pressure->jobs, nothing_span, pressure);
    air_ghosts_clear(grid, pressure->from);
    air_ghosts_clear(grid, pressure->to);
    while (square > least && result.iterations < most) {
        if (pressure->periodic) {
            air_wrap(grid, pressure->from);
        }
        square = sum_of(pressure, jacobi_span) + air_still_jacobi(pressure, jacobi_damping);
        f32 *swap = pressure->from;
        pressure->from = pressure->to;
        pressure->to = swap;
        result.iterations++;
    }
    air_each(grid, pressure->jobs, add_span, pressure);
    air_still_end(pressure, true);
    result.residual = square;
    return result;
}

PressureResult air_pressure_solve(Pressure *pressure, PressureMethod method, f64 tolerance,
                                  u32 most, Jobs *jobs)
{
    const AirGrid *grid = &pressure->level[0].grid;
    pressure->jobs = jobs;
    f64 cells = 0.0;
    for (u32 s = 0; s < grid->span_count; s++) {
        const AirSpan *span = &grid->spans[s];
        cells += (f64)(i32_min(span->x1, grid->n[0]) - span->x0) * (f64)(span->y1 - span->y0) *
                 (f64)(span->z1 - span->z0);
    }
    center(pressure, cells);
    f64 least = tolerance * tolerance * cells;
    PressureResult result =
        method == PRESSURE_JACOBI
            ? by_jacobi(pressure, least, most)
            : by_gradients(pressure, method == PRESSURE_MULTIGRID ? pressure->levels : 1, cells,
                           least, most);
    result.residual = cells > 0.0 ? sqrt(result.residual / cells) : 0.0;
    air_ghosts(grid, pressure->solution, air_pressure_beyond);
    return result;
}
