/* smoke_carry.c: transport of velocity, smoke, heat and fuel; fire and cooling. */
#include "server/physics/grid/smoke_internal.h"

enum {
    FLUX_STEPS_MAX = 8
};
/* Cells per step of fluxes. */
static const f32 courant_most = 0.9f;
/* Less smoke, warmth or fuel than this is none: what interpolation leaves far about a plume becomes
 * subnormal, which processors compute slowly. */
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

void smoke_carry_velocity(Smoke *smoke)
{
    bool corrected = smoke->def.options.advection == SMOKE_MACCORMACK;
    for (u32 c = 0; c < smoke->grid.dims; c++) {
        Advect advect = advect_of(smoke, c);
        advect.count = 1;
        advect.from[0] = smoke->velocity[c];
        advect.to[0] = corrected ? smoke->ahead : smoke->next[c];
        advect_back(&advect, smoke->jobs);
        if (corrected) {
            smoke_sides(smoke, c, smoke->ahead, (SmokeSides)(SMOKE_SIDES_FREE | SMOKE_SIDES_STILL));
            advect.ahead[0] = smoke->ahead;
            advect.to[0] = smoke->next[c];
            advect_correct(&advect, smoke->jobs);
        }
        smoke_sides(smoke, c, smoke->next[c], SMOKE_SIDES_FREE);
    }
    for (u32 c = 0; c < smoke->grid.dims; c++) {
        smoke_swap(&smoke->velocity[c], &smoke->next[c]);
    }
}

/* Fields [first, first + count) like velocity, without keeping their mass: as many at once as there
 * is scratch memory for. */
static void drift(Smoke *smoke, u32 first, u32 count)
{
    bool corrected = smoke->def.options.advection == SMOKE_MACCORMACK;
    f32 **scratch[] = {&smoke->next[0], &smoke->next[1], &smoke->ahead};
    Advect advect = advect_of(smoke, ADVECT_CELLS);
    advect.count = count;
    for (u32 f = 0; f < count; f++) {
        smoke_field_ghosts(smoke, smoke->field[first + f]);
        advect.from[f] = smoke->field[first + f];
        advect.to[f] = *scratch[f];
    }
    advect_back(&advect, smoke->jobs);
    if (corrected) { /* one field then, with three to use */
        smoke_field_ghosts(smoke, smoke->next[0]);
        advect.ahead[0] = smoke->next[0];
        advect.to[0] = smoke->next[1];
        advect_correct(&advect, smoke->jobs);
    }
    for (u32 f = 0; f < count; f++) {
        smoke_swap(&smoke->field[first + f], scratch[f + corrected]);
    }
}

static void flow(Smoke *smoke, f32 *field)
{
    f32 courant = smoke->speed * smoke->tick_s / smoke->def.spacing;
    f32 wanted = courant / courant_most;
    u32 steps = wanted >= (f32)FLUX_STEPS_MAX ? FLUX_STEPS_MAX : (u32)wanted + 1;
    for (u32 k = 0; k < steps; k++) {
        for (u32 axis = 0; axis < smoke->grid.dims; axis++) {
            Flux flux = {.grid = &smoke->grid,
                         .scale = smoke->tick_s / ((f32)steps * smoke->def.spacing),
                         .most = SMOKE_FILL_MAX,
                         .axis = axis,
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
    u32 fields = smoke->burns ? SMOKE_FIELDS : SMOKE_FUEL; /* which is the last */
    u32 together = smoke->def.options.advection == SMOKE_MACCORMACK ? 1 : fields;
    for (u32 f = 0; f < fields && smoke->def.options.drifts; f += together) {
        drift(smoke, f, together);
    }
    for (u32 f = 0; f < fields && !smoke->def.options.drifts; f++) {
        flow(smoke, smoke->field[f]);
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
    for (i32 z = span->z0; z < span->z1; z++) {
        for (i32 y = span->y0; y < span->y1; y++) {
            for (i32 x = span->x0; x < span->x1; x += SIMD_LANES) {
                i32 at = air_at(grid, x, y, z);
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
                    f32x8_store(smoke->growth + at, grows * burnt);
                }
                warm = f32x8_max(f32x8_min(warm, warmest), -warmest);
                warm = f32x8_and(f32x8_abs(warm) > least, warm);
                dust = f32x8_and(f32x8_abs(dust) > least, dust);
                f32x8_store(smoke->field[SMOKE_TEMPERATURE] + at, warm);
                f32x8_store(smoke->field[SMOKE_SMOKE] + at, f32x8_min(dust, fullest));
            }
        }
    }
}

void smoke_burn(Smoke *smoke)
{
    air_each(&smoke->grid, smoke->jobs, burn_span, smoke);
}
