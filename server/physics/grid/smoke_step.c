/* smoke_step.c: the order of a tick; sources; which bricks are awake. */
#include "server/physics/grid/smoke_internal.h"
#include "shared/base/check.h"

#include <math.h>
#include <string.h>

/* ---- sources ---- */

static bool is_within_source(const SmokeSource *source, Vec3 place, bool deep)
{
    Vec3 off = vec3_sub(place, source->position);
    off.z = deep ? off.z : 0.0f;
    return source->radius > 0.0f
               ? vec3_length_squared(off) <= source->radius * source->radius
               : fabsf(off.x) <= source->half.x && fabsf(off.y) <= source->half.y &&
                     fabsf(off.z) <= source->half.z;
}

/* Cells that a source may reach; false: none. */
static bool source_cells(const Smoke *smoke, const SmokeSource *source, i32 low[3], i32 high[3])
{
    f32 over = 1.0f / smoke->def.spacing;
    f32 radius = source->radius;
    Vec3 half = radius > 0.0f ? vec3(radius, radius, radius) : source->half;
    Vec3 from = vec3_scale(vec3_sub(vec3_sub(source->position, half), smoke->def.low), over);
    Vec3 to = vec3_scale(vec3_sub(vec3_add(source->position, half), smoke->def.low), over);
    const f32 a[3] = {from.x, from.y, from.z}, b[3] = {to.x, to.y, to.z};
    bool any = true;
    for (u32 k = 0; k < 3; k++) {
        f32 n = (f32)smoke->grid.n[k];
        low[k] = (i32)f32_clamp(a[k], 0.0f, n);
        high[k] = i32_min((i32)f32_clamp(b[k] + 1.0f, 0.0f, n), smoke->grid.n[k]);
        if (k >= smoke->grid.dims) {
            low[k] = 0;
            high[k] = 1;
        }
        any = any && low[k] < high[k];
    }
    return any;
}

static void feed_cell(Smoke *smoke, const SmokeSource *source, i32 x, i32 y, i32 z)
{
    const AirGrid *grid = &smoke->grid;
    i32 at = air_at(grid, x, y, z);
    f32 s = smoke->tick_s, share = 1.0f - 1.0f / (1.0f + source->blow * s);
    const f32 wind[3] = {source->velocity.x, source->velocity.y, source->velocity.z};
    smoke->field[SMOKE_SMOKE][at] += source->smoke * s;
    smoke->field[SMOKE_FUEL][at] += source->fuel * s;
    if (smoke->def.dyed) {
        smoke->field[SMOKE_RED][at] += source->color.x * source->smoke * s;
        smoke->field[SMOKE_GREEN][at] += source->color.y * source->smoke * s;
        smoke->field[SMOKE_BLUE][at] += source->color.z * source->smoke * s;
    }
    f32 *warm = &smoke->field[SMOKE_TEMPERATURE][at];
    if (*warm < source->warmest) {
        *warm = f32_min(*warm + source->heat * s, source->warmest);
    }
    for (u32 c = 0; c < grid->dims && share > 0.0f; c++) {
        f32 *v = &smoke->velocity[c][at], before = *v;
        *v += share * (wind[c] - *v);
        smoke->account.given[c] += (f64)*v - (f64)before;
    }
}

static void feed(Smoke *smoke, const SmokeSource *source)
{
    i32 low[3], high[3];
    f32 dx = smoke->def.spacing;
    if (!source_cells(smoke, source, low, high)) {
        return;
    }
    for (i32 z = low[2]; z < high[2]; z++) {
        for (i32 y = low[1]; y < high[1]; y++) {
            for (i32 x = low[0]; x < high[0]; x++) {
                Vec3 off = vec3((f32)x + 0.5f, (f32)y + 0.5f, (f32)z + 0.5f);
                Vec3 place = vec3_add_scaled(smoke->def.low, dx, off);
                if (is_within_source(source, place, smoke->grid.dims == 3)) {
                    feed_cell(smoke, source, x, y, z);
                }
            }
        }
    }
    smoke->burns = smoke->burns || source->fuel > 0.0f;
}

static void wake_source(Smoke *smoke, const SmokeSource *source)
{
    i32 low[3], high[3];
    if (source_cells(smoke, source, low, high)) {
        for (i32 z = low[2] / AIR_BRICK; z <= (high[2] - 1) / AIR_BRICK; z++) {
            for (i32 y = low[1] / AIR_BRICK; y <= (high[1] - 1) / AIR_BRICK; y++) {
                for (i32 x = low[0] / AIR_BRICK; x <= (high[0] - 1) / AIR_BRICK; x++) {
                    smoke->busy[(z * smoke->grid.bricks[1] + y) * smoke->grid.bricks[0] + x] = 1;
                }
            }
        }
    }
}

/* ---- sleep ---- */

static void busy_span(void *context, const AirSpan *span, u32 index)
{
    PL_UNUSED(index);
    Smoke *smoke = (Smoke *)context;
    const AirGrid *grid = &smoke->grid;
    f32x8 slow = f32x8_set(SMOKE_QUIET_M_S), cool = f32x8_set(SMOKE_QUIET_K);
    f32x8 thin = f32x8_set(SMOKE_QUIET_KG_M3);
    for (i32 x = span->x0; x < span->x1; x += AIR_BRICK) {
        i32x8 any = {0};
        for (i32 z = span->z0; z < span->z1; z++) {
            for (i32 y = span->y0; y < span->y1; y++) {
                i32 at = air_at(grid, x, y, z);
                any |= f32x8_load(smoke->field[SMOKE_SMOKE] + at) > thin;
                any |= f32x8_load(smoke->field[SMOKE_FUEL] + at) > thin;
                any |= f32x8_abs(f32x8_load(smoke->field[SMOKE_TEMPERATURE] + at)) > cool;
                for (u32 c = 0; c < grid->dims; c++) {
                    any |= f32x8_abs(f32x8_load(smoke->velocity[c] + at)) > slow;
                }
            }
        }
        smoke->busy[smoke_brick(grid, x, span->y0, span->z0)] = i32x8_any(any);
    }
}

static void wake_sides(Smoke *smoke)
{
    const AirGrid *grid = &smoke->grid;
    for (u32 s = 0; s < 2 * grid->dims; s++) {
        const SmokeSide *side = &smoke->def.sides[s];
        if (side->kind != SMOKE_CLOSED || vec3_length_squared(side->velocity) == 0.0f) {
            continue;
        }
        i32 low[3] = {0, 0, 0}, high[3] = {grid->bricks[0], grid->bricks[1], grid->bricks[2]};
        low[s / 2] = s % 2 != 0 ? grid->bricks[s / 2] - 1 : 0;
        high[s / 2] = low[s / 2] + 1;
        for (i32 z = low[2]; z < high[2]; z++) {
            for (i32 y = low[1]; y < high[1]; y++) {
                memset(smoke->busy + (z * grid->bricks[1] + y) * grid->bricks[0] + low[0], 1,
                       (size_t)(high[0] - low[0]));
            }
        }
    }
}

static void clear_cells(const AirGrid *grid, f32 *cells, const i32 low[3], const i32 high[3])
{
    for (i32 z = low[2]; z < high[2]; z++) {
        for (i32 y = low[1]; y < high[1]; y++) {
            memset(cells + air_at(grid, low[0], y, z), 0, (size_t)(high[0] - low[0]) * sizeof(f32));
        }
    }
}

/* Cells of a brick; along x all lanes of its vectors. */
static void brick_cells(const AirGrid *grid, const i32 brick[3], i32 low[3], i32 high[3])
{
    for (u32 a = 0; a < 3; a++) {
        low[a] = brick[a] * AIR_BRICK;
        high[a] = a == 0 ? low[a] + AIR_BRICK : i32_min(low[a] + AIR_BRICK, grid->n[a]);
    }
}

/* The next brick along an axis, around a periodic side: 0: none, 1: asleep, 2: awake. */
static u32 next_brick(const AirGrid *grid, const i32 brick[3], u32 axis, i32 by)
{
    i32 at[3] = {brick[0], brick[1], brick[2]}, n = grid->bricks[axis];
    at[axis] += by;
    if (at[axis] < 0 || at[axis] >= n) {
        if (grid->sides[2 * axis] != AIR_PERIODIC) {
            return 0;
        }
        at[axis] = (at[axis] + n) % n;
    }
    return 1 + grid->awake[(at[2] * grid->bricks[1] + at[1]) * grid->bricks[0] + at[0]];
}

/* Bricks that fall asleep are cleared: their contents are below the limits. Faces towards awake
 * bricks below them stay: pressure there continues to move them. */
static void empty_brick(Smoke *smoke, const i32 brick[3])
{
    const AirGrid *grid = &smoke->grid;
    i32 low[3], high[3];
    brick_cells(grid, brick, low, high);
    clear_cells(grid, smoke->pressed, low, high);
    clear_cells(grid, smoke->growth, low, high);
    for (u32 f = 0; f < smoke_fields(smoke); f++) {
        clear_cells(grid, smoke->field[f], low, high);
    }
    for (u32 c = 0; c < grid->dims; c++) {
        i32 from[3] = {low[0], low[1], low[2]}, end[3] = {high[0], high[1], high[2]};
        from[c] += next_brick(grid, brick, c, -1) == 2;
        clear_cells(grid, smoke->velocity[c], from, end);
        u32 above = next_brick(grid, brick, c, 1);
        if (above < 2) { /* upper faces, which no other brick owns now */
            from[c] =
                above == 1 && brick[c] + 1 == grid->bricks[c] ? 0 : i32_min(end[c], grid->n[c]);
            end[c] = from[c] + 1;
            clear_cells(grid, smoke->velocity[c], from, end);
            clear_cells(grid, smoke->next[c], from, end);
        }
    }
}

/* After a step arrays are zero in sleeping bricks, as their neighbours read them. */
static void empty_scratch(Smoke *smoke, const i32 brick[3])
{
    const AirGrid *grid = &smoke->grid;
    f32 *all[8] = {smoke->ahead, smoke->pressure.level[0].x, smoke->pressure.level[0].b,
                   smoke->pressure.level[0].r, smoke->pressure.direction};
    u32 count = 5;
    for (u32 c = 0; c < grid->dims; c++) {
        all[count++] = smoke->next[c];
    }
    i32 low[3], high[3];
    brick_cells(grid, brick, low, high);
    for (u32 k = 0; k < count; k++) {
        clear_cells(grid, all[k], low, high);
    }
}

/* Of all bricks: 1: woke, 2: fell asleep. */
static void empty_changed(Smoke *smoke, const u8 *changes)
{
    const i32 *n = smoke->grid.bricks;
    for (i32 b = 0; b < n[0] * n[1] * n[2]; b++) {
        const i32 at[3] = {b % n[0], b / n[0] % n[1], b / n[0] / n[1]};
        if (changes[b] != 0) {
            empty_scratch(smoke, at);
        }
        if (changes[b] == 2) {
            empty_brick(smoke, at);
        }
    }
}

/* May air arrive from beyond the next brick? */
static bool is_fast(const Smoke *smoke)
{
    f32 speed = smoke->speed, cells = (f32)(AIR_BRICK - 2);
    for (u32 i = 0; i < smoke->source_count; i++) {
        speed = f32_max(speed, vec3_length(smoke->sources[i].velocity));
    }
    return speed * smoke->tick_s > cells * smoke->def.spacing;
}

/* Bricks that contain something, and those near them, are awake. */
static void settle(Smoke *smoke)
{
    const AirGrid *grid = &smoke->grid;
    if (smoke->def.awake) {
        return;
    }
    memset(smoke->busy, 0, air_grid_bricks(grid));
    air_each(grid, smoke->jobs, busy_span, smoke);
    wake_sides(smoke);
    for (u32 i = 0; i < smoke->source_count; i++) {
        wake_source(smoke, &smoke->sources[i]);
    }
    for (u32 i = 0; i < smoke->contact_count; i++) {
        smoke->busy[smoke->contacts[i].brick] |= smoke->contacts[i].moves;
    }
    air_bricks_spread(grid, smoke->busy);
    bool changed = false, fell = false;
    for (u32 b = 0; b < air_grid_bricks(grid); b++) {
        u8 now = smoke->busy[b] != 0, before = grid->awake[b];
        grid->awake[b] = now;
        smoke->busy[b] = now == before ? 0 : now ? 1 : 2;
        changed = changed || now != before;
        fell = fell || now < before;
    }
    if (changed) {
        empty_changed(smoke, smoke->busy);
    }
    /* Bricks that fell asleep leave stale ghosts, and fast air may arrive from far away. */
    air_grid_fill_all(&smoke->grid, fell || is_fast(smoke));
    smoke->pressure.level[0].grid = smoke->grid;
    if (changed) {
        air_grid_spans(&smoke->grid);
        air_pressure_spans(&smoke->pressure, &smoke->grid);
    }
}

/* ---- tick ---- */

/* The stored pressure belongs to a tick of another length. */
static void rescale(Smoke *smoke)
{
    if (smoke->last_s > 0.0f && smoke->last_s != smoke->tick_s) {
        f32 factor = smoke->tick_s / smoke->last_s;
        for (u32 i = 0; i < smoke->grid.floats; i++) {
            smoke->pressed[i] *= factor;
        }
    }
    smoke->last_s = smoke->tick_s;
}

void smoke_step(Smoke *smoke, f32 s, Vec3 gravity, const Collider *colliders, u32 count, Jobs *jobs)
{
    CHECK(s > 0.0f && vec3_is_finite(gravity));
    CHECK(count == 0 || colliders != NULL);
    smoke->tick_s = s;
    smoke_uncouple(smoke);
    smoke->gravity = gravity;
    smoke->jobs = jobs;
    smoke->colliders = colliders;
    smoke->collider_count = u32_min(count, SMOKE_COLLIDERS_MAX);
    smoke_find_spans(smoke);
    smoke_find_contacts(smoke);
    settle(smoke);
    if (smoke->grid.span_count == 0) {
        smoke->speed = smoke->residual = 0.0f;
        smoke->iterations = smoke->drag_count = 0;
        smoke->last_s = s;
        smoke_tally_begin(smoke);
        smoke_tally_end(smoke);
        return;
    }
    rescale(smoke);
    air_still_begin_tick(&smoke->pressure);
    smoke_tally_begin(smoke);
    for (u32 i = 0; i < smoke->source_count; i++) {
        feed(smoke, &smoke->sources[i]);
    }
    smoke_burn(smoke);
    for (u32 f = 0; f < smoke_fields(smoke); f++) {
        smoke_field_ghosts(smoke, smoke->field[f]);
    }
    for (u32 c = 0; c < smoke->grid.dims; c++) {
        smoke_sides(smoke, c, smoke->velocity[c], SMOKE_SIDES_STILL);
    }
    smoke_carry_velocity(smoke);
    smoke_forces(smoke);
    smoke_viscosity(smoke);
    for (u32 c = 0; c < smoke->grid.dims; c++) {
        smoke_sides(smoke, c, smoke->velocity[c],
                    (SmokeSides)(SMOKE_SIDES_FREE | SMOKE_SIDES_FACES));
    }
    smoke_obstacles(smoke);
    smoke_project(smoke);
    smoke_tally_end(smoke);
    smoke_carry_fields(smoke);
    smoke->colliders = NULL;
    smoke->collider_count = 0;
}
