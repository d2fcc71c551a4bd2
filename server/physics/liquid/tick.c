/* tick.c: the phases of a tick. */
#include "server/physics/liquid/liquid_internal.h"

#include "shared/base/check.h"
#include "shared/base/memory.h"

#include <string.h>

enum {
    SLOT_SORT_TICKS = 64,
    STEPS_MAX = 32, /* of a substep */
};

/* Greatest mean of p h² / (ρ spacing²) in a step. */
static const f32 pressure_most = 0.12f;
/* m²/s², pressure over density assumed for a liquid that has none yet: 10 m of water. */
static const f32 standing_most = 100.0f;
/* Maximal motion of the fastest item in a step, spacings. */
static const f32 way_most = 0.6f;
/* σ / (ρ g spacing²) below which surface tension is omitted. */
static const f32 tension_least = 0.005f;

void liquid_begin(Liquid *liquid, const Collider *colliders, u32 count, f32 tick_s, Jobs *jobs)
{
    CHECK(tick_s > 0.0f);
    CHECK(!liquid->in_tick); /* liquid_finish has ended the last one */
    liquid->jobs = jobs;
    liquid->tick_s = tick_s;
    liquid->collider_count = 0;
    liquid->touched = false;
    count = u32_min(count, LIQUID_COLLIDERS_MAX);
    count = liquid_boundary_meet(liquid, colliders, count) ? count : 0;
    liquid->in_tick = liquid_awake(liquid);
    if (!liquid->in_tick) {
        if (liquid->shown_stale || liquid->items != 0) { /* what later kinds meet */
            liquid_sort(liquid);
        }
        return;
    }
    liquid->collider_count = count;
    for (u32 c = 0; c < liquid->collider_count; c++) {
        liquid->colliders[c] = colliders[c];
        colliders[c].ops->begin(colliders[c].of, jobs, tick_s);
    }
    liquid_sort(liquid);
    liquid->coarse_stale = true;
    liquid_boundary_begin(liquid);
    liquid_load_supports(liquid);
    u32 ranges = liquid->items / LIQUID_GRAIN + 1;
    if (!memory_grow((void **)&liquid->sums, &liquid->sums_capacity, 4 * ranges,
                     sizeof *liquid->sums) ||
        !memory_grow((void **)&liquid->partials, &liquid->partials_capacity, ranges,
                     sizeof *liquid->partials)) {
        liquid->in_tick = false;
    }
}

/* Of a range: pressures over density, and how many there are. */
static void sum_pressures(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    f32 d = liquid->def.spacing;
    f64 sum = 0.0;
    u32 count = 0;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        const PhaseFactors *phase = &liquid->factors[liquid->phase_of[i]];
        f32 pressure = liquid->pressure[i] * phase->lightness * d * d * d;
        count += pressure > 0.0f;
        sum += (f64)pressure;
    }
    liquid->partials[first / LIQUID_GRAIN] = sum;
    liquid->sums[4 * (size_t)(first / LIQUID_GRAIN)] = (f32)count;
}

/* Steps in a substep of h s: the number requested, or more if pressure and speed require it. */
static u32 steps_of(Liquid *liquid, f32 h)
{
    f64 sum = 0.0;
    f32 d = liquid->def.spacing;
    u32 count = 0;
    jobs_run(liquid->jobs, liquid->items, LIQUID_GRAIN, sum_pressures, liquid);
    for (u32 r = 0; r * LIQUID_GRAIN < liquid->items; r++) {
        sum += liquid->partials[r];
        count += (u32)liquid->sums[4 * (size_t)r];
    }
    f32 mean = count != 0 ? (f32)(sum / (f64)count) : 0.0f;
    if (count == 0) { /* as if it stood */
        Vec3 g = vec3_abs(liquid->gravity);
        mean = 0.5f * (g.x * liquid->extent[0] + g.y * liquid->extent[1] + g.z * liquid->extent[2]);
        mean = f32_min(mean, standing_most);
    }
    f32 pressed = sqrtf(mean / pressure_most) * h / d;
    f32 fast = liquid->fastest * h / (way_most * d);
    f32 most = f32_min(f32_max(pressed, fast), (f32)STEPS_MAX - 1.0f);
    u32 needed = most > 0.0f ? (u32)most + 1 : 1;
    return u32_max(liquid->def.iterations, needed);
}

/* Whether some surface tension exceeds this fraction of the weight of a cube of one spacing over
 * its edge: the capillary length is then 0.07 spacings or longer. */
static bool tension_matters(const Liquid *liquid)
{
    f32 d = liquid->def.spacing, weight = tension_least * d * d * vec3_length(liquid->gravity);
    bool matters = false;
    for (u32 p = 0; p < liquid->def.phase_count; p++) {
        const LiquidPhaseDef *phase = &liquid->def.phases[p];
        matters = matters ||
                  (phase->kind == LIQUID_FLUID && phase->surface_tension > weight * phase->density);
    }
    return matters;
}

void liquid_substep(Liquid *liquid, f32 h, Vec3 gravity)
{
    if (!liquid->in_tick) {
        return;
    }
    CHECK(h > 0.0f && vec3_is_finite(gravity));
    liquid->gravity = gravity;
    liquid->span = h;
    liquid->cohesive = tension_matters(liquid);
    u32 steps = liquid->fluids ? steps_of(liquid, h) : liquid->def.iterations;
    liquid->steps = steps;
    f32 step = h / (f32)steps;
    for (u32 c = 0; c < liquid->collider_count; c++) {
        liquid->colliders[c].ops->substep_begin(liquid->colliders[c].of, h);
    }
    for (u32 k = 0; k < steps; k++) {
        for (u32 c = 0; c < liquid->collider_count; c++) {
            collider_step_begin(&liquid->colliders[c], step);
        }
        liquid_step(liquid, step);
        for (u32 c = 0; c < liquid->collider_count; c++) {
            liquid->colliders[c].ops->step_end(liquid->colliders[c].of, step);
        }
    }
    for (u32 c = 0; c < liquid->collider_count; c++) {
        liquid->colliders[c].ops->substep_end(liquid->colliders[c].of);
    }
    liquid_load_supports(liquid);
}

static void sum_errors(Liquid *liquid)
{
    f32 sum = 0.0f, worst = 0.0f;
    for (u32 r = 0; r * LIQUID_GRAIN < liquid->items; r++) {
        sum += liquid->sums[4 * (size_t)r];
        worst = f32_max(worst, liquid->sums[4 * (size_t)r + 1]);
    }
    liquid->density_error = liquid->items != 0 ? sum / (f32)liquid->items : 0.0f;
    liquid->density_error_max = worst;
}

void liquid_finish(Liquid *liquid)
{
    if (liquid->in_tick) {
        liquid_publish(liquid);
        sum_errors(liquid);
        liquid_fall_asleep(liquid);
        liquid_grains_finish(liquid);
        if (liquid->ticks % SLOT_SORT_TICKS == SLOT_SORT_TICKS - 1) {
            liquid_sort_slots(liquid);
            liquid->sleepers_stale = liquid->shown_stale = true;
        }
    }
    liquid->in_tick = false;
    liquid->ticks++;
}
