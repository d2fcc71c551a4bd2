/* smoke_carry.c: transport of velocity, smoke, heat and fuel; fire and cooling. */
#include "server/physics/grid/smoke_internal.h"
#include "shared/base/check.h"

#include <string.h>

enum {
    FLUX_STEPS_MAX = 8,
    FLUX_STEPS_NEAR = 4, /* with so many, nothing gets beyond the next brick */
};
/* Cells per step of fluxes. */
static const f32 courant_most = 0.9f;
/* Less smoke, heat or fuel than this is set to 0: what interpolation leaves far from a plume
 * becomes subnormal, which processors compute slowly. */
static const f32 trace_least = 1e-15f;

static Advect advect_of(const Smoke *smoke, u32 place)
{
    Advect advect = {.grid = &smoke->grid,
                     .scale = smoke->tick_s / smoke->def.spacing,
                     .place = place,
                     .limited = !smoke->def.options.unlimited,
                     .midpoint = smoke->def.options.midpoint};
    for (u32 c = 0; c < smoke->grid.dims; c++) {
        advect.velocity[c] = smoke->velocity[c];
    }
    return advect;
}

/* What the first half of a MacCormack step keeps for the second goes where only pressure computes
 * otherwise. */
static void keep_more(const Smoke *smoke, Advect *advect, bool corrected)
{
    const PressureLevel *top = &smoke->pressure.level[0];
    f32 *const scratch[4] = {top->b, top->r, top->x, smoke->pressure.direction};
    CHECK(!corrected || advect->count <= 2);
    for (u32 f = 0; f < advect->count && corrected && advect->limited; f++) {
        advect->least[f] = scratch[2 * f];
        advect->most[f] = scratch[2 * f + 1];
    }
    for (u32 c = 0, used = 2; c < smoke->grid.dims && corrected; c++) {
        if (advect->place < ADVECT_CELLS && c != advect->place) {
            advect->traced[c] = scratch[used++];
        }
    }
}

/* ---- momentum ---- */

/* Semi-Lagrangian steps do not conserve the carried sum. If nothing flows through sides and the
 * axis is periodic, that is momentum which only bodies and walls along the axis may take: the
 * missing part is restored, distributed in proportion to the change of each cell by the step, so
 * that air at rest stays at rest. */
typedef struct Balance {
    Smoke *smoke;
    u32 axis;
    f32 part; /* fraction of each cell's change that is added, −1..1 */
} Balance;

/* Sum of the change, or of its magnitude. */
static f64 change_of(Smoke *smoke, const AirSpan *span, u32 c, bool size)
{
    const AirGrid *grid = &smoke->grid;
    f64 sum = 0.0;
    for (i32 z = span->z0; z < span->z1; z++) {
        for (i32 y = span->y0; y < span->y1; y++) {
            for (i32 x = span->x0; x < span->x1; x += SIMD_LANES) {
                i32 at = air_at(grid, x, y, z);
                f32x8 change =
                    f32x8_load(smoke->next[c] + at) - f32x8_load(smoke->velocity[c] + at);
                sum += smoke_sum_wide(size ? f32x8_abs(change) : change);
            }
        }
    }
    return sum;
}

static void change_span(void *context, const AirSpan *span, u32 index)
{
    const Balance *balance = (const Balance *)context;
    Smoke *smoke = balance->smoke;
    smoke->pressure.sums[index] = change_of(smoke, span, balance->axis, false);
}

static void size_span(void *context, const AirSpan *span, u32 index)
{
    const Balance *balance = (const Balance *)context;
    Smoke *smoke = balance->smoke;
    smoke->pressure.sums[index] = change_of(smoke, span, balance->axis, true);
}

static void balance_span(void *context, const AirSpan *span, u32 index)
{
    PL_UNUSED(index);
    const Balance *balance = (const Balance *)context;
    const AirGrid *grid = &balance->smoke->grid;
    f32x8 part = f32x8_set(balance->part);
    for (i32 z = span->z0; z < span->z1; z++) {
        for (i32 y = span->y0; y < span->y1; y++) {
            for (i32 x = span->x0; x < span->x1; x += SIMD_LANES) {
                i32 at = air_at(grid, x, y, z);
                f32 *to = balance->smoke->next[balance->axis] + at;
                f32x8 now = f32x8_load(to);
                f32x8 change = now - f32x8_load(balance->smoke->velocity[balance->axis] + at);
                f32x8_store(to, now + part * f32x8_abs(change));
            }
        }
    }
}

static f64 sum_spans(Smoke *smoke, AirLoop *loop, Balance *balance)
{
    f64 sum = 0.0;
    air_each(&smoke->grid, smoke->jobs, loop, balance);
    for (u32 s = 0; s < smoke->grid.span_count; s++) {
        sum += smoke->pressure.sums[s];
    }
    return sum;
}

static void keep_momentum(Smoke *smoke, u32 c)
{
    const AirGrid *grid = &smoke->grid;
    bool closed = grid->sides[2 * c] == AIR_PERIODIC;
    for (u32 s = 0; s < 2 * grid->dims; s++) {
        closed = closed && grid->sides[s] != AIR_OPEN;
    }
    if (!closed) {
        return;
    }
    /* Repeated for the remainder left by rounding. */
    for (u32 pass = 0; pass < 2; pass++) {
        Balance balance = {smoke, c, 0.0f};
        f64 gained = sum_spans(smoke, change_span, &balance);
        f64 size = sum_spans(smoke, size_span, &balance);
        if (!(size > 0.0)) {
            return;
        }
        balance.part = (f32)(-gained / size);
        air_each(grid, smoke->jobs, balance_span, &balance);
    }
}

void smoke_clear_rims(const Smoke *smoke, f32 *cells)
{
    for (u32 axis = 0; axis < smoke->grid.dims && smoke->pressure.sparse; axis++) {
        air_rim_copy(&smoke->grid, axis, NULL, cells);
    }
}

void smoke_carry_rims(Smoke *smoke, u32 c)
{
    smoke_clear_rims(smoke, smoke->ahead);
    if (smoke->pressure.sparse) {
        air_rim_copy(&smoke->grid, c, smoke->velocity[c], smoke->next[c]);
        air_rim_copy(&smoke->grid, c, smoke->velocity[c], smoke->ahead);
    }
}

void smoke_carry_velocity(Smoke *smoke)
{
    bool corrected = smoke->def.options.advection == SMOKE_MACCORMACK;
    /* Vorticity forces read values beyond the sides, viscosity the faces there. */
    bool whirls = smoke->def.options.vorticity > 0.0f;
    bool read = whirls || smoke->def.options.viscosity > 0.0f;
    SmokeSides after = whirls ? SMOKE_SIDES_FREE : SMOKE_SIDES_FREE | SMOKE_SIDES_FACES;
    for (u32 c = 0; c < smoke->grid.dims; c++) {
        Advect advect = advect_of(smoke, c);
        advect.count = 1;
        advect.from[0] = smoke->velocity[c];
        advect.to[0] = corrected ? smoke->ahead : smoke->next[c];
        smoke_carry_rims(smoke, c);
        keep_more(smoke, &advect, corrected);
        advect_back(&advect, smoke->jobs);
        if (corrected) {
            smoke_sides(smoke, c, smoke->ahead, (SmokeSides)(SMOKE_SIDES_FREE | SMOKE_SIDES_STILL));
            advect.ahead[0] = smoke->ahead;
            advect.to[0] = smoke->next[c];
            advect_correct(&advect, smoke->jobs);
        }
        keep_momentum(smoke, c);
        if (read) {
            smoke_sides(smoke, c, smoke->next[c], after);
        }
    }
    for (u32 c = 0; c < smoke->grid.dims; c++) {
        smoke_swap(&smoke->velocity[c], &smoke->next[c]);
    }
}

/* Nothing gets beyond the next brick: faces at sides may be faster than those within, as the flow
 * through them is the sum of the flows through the other five faces of their cells. */
static bool is_slow(const Smoke *smoke)
{
    f32 speed = smoke->speed;
    for (u32 s = 0; s < 2 * smoke->grid.dims; s++) {
        speed = f32_max(speed, vec3_length(smoke->def.sides[s].velocity));
    }
    return speed * smoke->tick_s <= smoke->def.spacing;
}

/* Bricks that any of the fields [first, first + count) may reach. */
static const u8 *full_of(Smoke *smoke, u32 first, u32 count)
{
    u8 *full = smoke->full[first];
    for (u32 f = 1; f < count; f++) {
        for (u32 b = 0; b < air_grid_bricks(&smoke->grid); b++) {
            full[b] |= smoke->full[first + f][b];
        }
    }
    return full;
}

/* Transports fields [first, first + count) like velocity, without conserving their mass: as many at
 * once as scratch memory permits (drifts_at_once). */
static void drift(Smoke *smoke, u32 first, u32 count)
{
    bool corrected = smoke->def.options.advection == SMOKE_MACCORMACK;
    u32 arrays = smoke->grid.dims + 1, ahead = 0;
    f32 **scratch[] = {&smoke->next[0], &smoke->next[1], &smoke->ahead, &smoke->next[2]};
    Advect advect = advect_of(smoke, ADVECT_CELLS);
    advect.count = count;
    advect.full = is_slow(smoke) ? full_of(smoke, first, count) : NULL;
    for (u32 k = 0; k < arrays; k++) {
        smoke_clear_rims(smoke, *scratch[k]);
    }
    for (u32 f = 0; f < count; f++) {
        smoke_field_ghosts(smoke, smoke->field[first + f]);
        advect.from[f] = smoke->field[first + f];
        advect.to[f] = *scratch[f];
    }
    keep_more(smoke, &advect, corrected);
    advect_back(&advect, smoke->jobs);
    for (u32 f = 0; f < count && corrected; f++) {
        ahead = count;
        smoke_field_ghosts(smoke, *scratch[f]);
        advect.ahead[f] = *scratch[f];
        advect.to[f] = *scratch[ahead + f];
    }
    if (corrected) {
        advect_correct(&advect, smoke->jobs);
    }
    for (u32 f = 0; f < count; f++) {
        smoke_swap(&smoke->field[first + f], scratch[ahead + f]);
    }
}

static u32 drifts_at_once(const Smoke *smoke)
{
    u32 arrays = smoke->grid.dims + 1;
    return smoke->def.options.advection == SMOKE_MACCORMACK ? arrays / 2 : ADVECT_FIELDS;
}

bool smoke_makes_air(const Smoke *smoke)
{
    bool any = smoke->burns && smoke->def.options.expansion > 0.0f;
    for (u32 s = 0; s < 2 * smoke->grid.dims; s++) {
        any = any || vec3_length_squared(smoke->def.sides[s].velocity) > 0.0f;
    }
    return any;
}

/* Pressure cannot always make room for what is made or blown in: then fluxes may take more out of a
 * cell than there is. */
static bool makes_room(const Smoke *smoke)
{
    return smoke_makes_air(smoke) || smoke->residual > 10.0f * smoke->def.options.tolerance;
}

static void flow(Smoke *smoke, SmokeField number)
{
    f32 *field = smoke->field[number];
    const u8 *full = smoke->full[number];
    f32 courant = smoke->speed * smoke->tick_s / smoke->def.spacing;
    f32 wanted = courant / courant_most;
    u32 steps = wanted >= (f32)FLUX_STEPS_MAX ? FLUX_STEPS_MAX : (u32)wanted + 1;
    bool cut = number != SMOKE_TEMPERATURE && (steps == FLUX_STEPS_MAX || makes_room(smoke));
    f32 least = cut ? 0.0f : -SMOKE_FILL_MAX;
    for (u32 k = 0; k < steps; k++) {
        for (u32 axis = 0; axis < smoke->grid.dims; axis++) {
            Flux flux = {.grid = &smoke->grid,
                         .scale = smoke->tick_s / ((f32)steps * smoke->def.spacing),
                         .least = least,
                         .most = SMOKE_FILL_MAX,
                         .axis = axis,
                         .full = steps <= FLUX_STEPS_NEAR ? full : NULL,
                         .cells = field,
                         .fluxes = smoke->ahead};
            for (u32 c = 0; c < smoke->grid.dims; c++) {
                flux.velocity[c] = smoke->velocity[c];
            }
            smoke_field_ghosts(smoke, field);
            advect_flux(&flux, smoke->jobs);
        }
    }
}

void smoke_carry_fields(Smoke *smoke)
{
    u32 fields = smoke->burns ? SMOKE_RED : SMOKE_FUEL; /* without dye */
    bool drifts = smoke->def.options.drifts;
    u32 together = drifts_at_once(smoke);
    for (u32 f = 0; f < fields && drifts; f += together) {
        drift(smoke, f, u32_min(together, fields - f));
    }
    for (u32 f = 0; f < fields && !drifts; f++) {
        flow(smoke, (SmokeField)f);
    }
    u32 dyes = smoke_fields(smoke);
    for (u32 f = SMOKE_RED; f < dyes && drifts; f += together) {
        drift(smoke, f, u32_min(together, dyes - f));
    }
    for (u32 f = SMOKE_RED; f < dyes && !drifts; f++) {
        flow(smoke, (SmokeField)f);
    }
}

/* ---- fire ---- */

static void burn_span(void *context, const AirSpan *span, u32 index)
{
    PL_UNUSED(index);
    Smoke *smoke = (Smoke *)context;
    const SmokeOptions *o = &smoke->def.options;
    const AirGrid *grid = &smoke->grid;
    f32 s = smoke->tick_s;
    const f32x8 zero = f32x8_set(0.0f);
    f32x8 colder = f32x8_set(1.0f / (1.0f + o->cooling * s));
    f32x8 fainter = f32x8_set(1.0f / (1.0f + o->fading * s));
    f32x8 part = f32x8_set(f32_min(o->burn_rate * s, 1.0f));
    f32x8 warmest = f32x8_set(SMOKE_WARMTH_MAX), fullest = f32x8_set(SMOKE_FILL_MAX);
    f32x8 least = f32x8_set(trace_least);
    f32x8 grows = f32x8_set(o->expansion * smoke->def.spacing / s);
    u32 first = smoke_brick(grid, 0, span->y0, span->z0);
    for (i32 z = span->z0; z < span->z1; z++) {
        for (i32 y = span->y0; y < span->y1; y++) {
            for (i32 x = span->x0; x < span->x1; x += SIMD_LANES) {
                i32 at = air_at(grid, x, y, z);
                u32 brick = first + (u32)(x / AIR_BRICK);
                f32x8 warm = f32x8_load(smoke->field[SMOKE_TEMPERATURE] + at) * colder;
                f32x8 dust = f32x8_load(smoke->field[SMOKE_SMOKE] + at) * fainter;
                if (smoke->burns) {
                    f32x8 fuel = f32x8_load(smoke->field[SMOKE_FUEL] + at);
                    f32x8 burnt =
                        f32x8_and(warm > f32x8_set(o->ignition), part * f32x8_max(fuel, zero));
                    warm += f32x8_set(o->heat) * burnt;
                    dust += f32x8_set(o->soot) * burnt;
                    fuel = f32x8_min(fuel - burnt, fullest);
                    fuel = f32x8_and(f32x8_abs(fuel) > least, fuel);
                    f32x8_store(smoke->field[SMOKE_FUEL] + at, fuel);
                    smoke->full[SMOKE_FUEL][brick] |= i32x8_any(fuel != zero);
                    f32x8_store(smoke->growth + at, grows * burnt);
                }
                warm = f32x8_max(f32x8_min(warm, warmest), -warmest);
                warm = f32x8_and(f32x8_abs(warm) > least, warm);
                dust = f32x8_and(f32x8_abs(dust) > least, dust);
                smoke->full[SMOKE_TEMPERATURE][brick] |= i32x8_any(warm != zero);
                smoke->full[SMOKE_SMOKE][brick] |= i32x8_any(dust != zero);
                f32x8_store(smoke->field[SMOKE_TEMPERATURE] + at, warm);
                f32x8_store(smoke->field[SMOKE_SMOKE] + at, f32x8_min(dust, fullest));
                for (u32 f = SMOKE_RED; f < smoke_fields(smoke); f++) { /* soot is black */
                    f32x8 dye = f32x8_load(smoke->field[f] + at) * fainter;
                    dye = f32x8_and(f32x8_abs(dye) > least, f32x8_min(dye, fullest));
                    f32x8_store(smoke->field[f] + at, dye);
                    smoke->full[f][brick] |= i32x8_any(dye != zero);
                }
            }
        }
    }
}

void smoke_burn(Smoke *smoke)
{
    for (u32 f = 0; f < smoke_fields(smoke); f++) {
        memset(smoke->full[f], 0, air_grid_bricks(&smoke->grid));
    }
    air_each(&smoke->grid, smoke->jobs, burn_span, smoke);
    for (u32 f = 0; f < smoke_fields(smoke); f++) {
        air_bricks_spread(&smoke->grid, smoke->full[f]);
    }
}
