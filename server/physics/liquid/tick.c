/* tick.c: the phases of a tick. */
#include "server/physics/liquid/liquid_internal.h"

#include "shared/base/memory.h"

#include <string.h>

enum {
    SLOT_SORT_TICKS = 64,
    STEPS_MAX = 32, /* of a substep */
    STIR_BLOCK = 128,
    THINGS_MAX = 256,
};

/* Greatest mean of p h² / (ρ spacing²) in a step. */
static const f32 pressure_most = 0.12f;
/* m²/s², pressure over density that is expected of liquid which has none yet: 10 m of water. */
static const f32 standing_most = 100.0f;
/* Greatest way of the fastest item in a step, spacings. */
static const f32 way_most = 0.6f;
/* Things that move this fast wake the liquid. */
#define STIR_M_S 0.01f
/* Greatest viscosity of a step, spacings². */
static const f32 viscosity_most = 0.07f;
/* Kinetic energy per mass at rest, over g · spacing; less for thick liquids with less noise. */
static const f32 rest_part = 1e-4f;
/* Viscosity over ρ sqrt(g spacing³) from which a liquid is thick. */
static const f32 thick_from = 0.06f;

/* Does something move in or near these items? */
static bool is_stirred(const Liquid *liquid, u32 first, u32 end, const Collider *collider,
                       f32 tick_s)
{
    u32 things[THINGS_MAX];
    f32 reach = 2.0f * liquid->def.spacing;
    Bounds bounds = {vec3(INFINITY, INFINITY, INFINITY), vec3(-INFINITY, -INFINITY, -INFINITY)};
    for (u32 i = first; i < end; i++) {
        const Four *x = &liquid->place[i];
        bounds.min = vec3_min(bounds.min, vec3(x->x, x->y, x->z));
        bounds.max = vec3_max(bounds.max, vec3(x->x, x->y, x->z));
    }
    Vec3 grow = vec3(reach, reach, reach);
    bounds = (Bounds){vec3_sub(bounds.min, grow), vec3_add(bounds.max, grow)};
    const LiquidPhaseDef *phase = &liquid->def.phases[liquid->phase_of[first]];
    u32 found = collider->ops->overlaps(collider->of, bounds, phase->group, phase->mask, things,
                                        THINGS_MAX);
    for (u32 t = 0; t < found; t++) {
        for (u32 i = first; i < end; i++) {
            const Four *x = &liquid->place[i];
            ContactParticle particle = {
                .position = vec3(x->x, x->y, x->z), .inverse_mass = 1.0f, .radius = reach};
            Vec3 moving = collider->ops->velocity(collider->of, things[t], particle.position);
            if (vec3_length(moving) < STIR_M_S) {
                break;
            }
            Vec3 normal;
            if (collider->ops->distance(collider->of, things[t], particle.position, 2.0f * reach,
                                        &normal) < reach + vec3_length(moving) * tick_s) {
                return true;
            }
        }
    }
    return false;
}

void liquid_stir(Liquid *liquid, const Collider *colliders, u32 count, f32 tick_s)
{
    if (liquid->count == 0 || liquid_awake(liquid)) {
        return;
    }
    if (liquid->items != liquid->count) { /* after a load */
        liquid->jobs = NULL;
        liquid_sort(liquid);
    }
    for (u32 c = 0; c < u32_min(count, LIQUID_COLLIDERS_MAX); c++) {
        for (u32 i = 0; i < liquid->items && !liquid_awake(liquid); i += STIR_BLOCK) {
            u32 end = u32_min(i + STIR_BLOCK, liquid->items);
            if (is_stirred(liquid, i, end, &colliders[c], tick_s)) {
                liquid_wake(liquid);
            }
        }
    }
}

void liquid_begin(Liquid *liquid, const Collider *colliders, u32 count, f32 tick_s, Jobs *jobs)
{
    liquid->jobs = jobs;
    liquid->tick_s = tick_s;
    liquid->collider_count = 0;
    liquid->touched = false;
    liquid->in_tick = liquid_awake(liquid);
    if (!liquid->in_tick) {
        return;
    }
    liquid->collider_count = u32_min(count, LIQUID_COLLIDERS_MAX);
    for (u32 c = 0; c < liquid->collider_count; c++) {
        liquid->colliders[c] = colliders[c];
        colliders[c].ops->begin(colliders[c].of, jobs, tick_s);
    }
    liquid_sort(liquid);
    liquid->coarse_stale = true;
    liquid_boundary_begin(liquid);
    u32 ranges = liquid->items / LIQUID_GRAIN + 1;
    if (!memory_grow((void **)&liquid->sums, &liquid->sums_capacity, 4 * ranges,
                     sizeof *liquid->sums) ||
        !memory_grow((void **)&liquid->partials, &liquid->partials_capacity, ranges,
                     sizeof *liquid->partials)) {
        liquid->in_tick = false;
    }
}

/* Steps in a substep of h s: as many as asked for, or as pressure and viscosity need. */
static u32 steps_of(const Liquid *liquid, f32 h)
{
    f64 sum = 0.0;
    f32 d = liquid->def.spacing, thickest = 0.0f;
    u32 count = 0;
    for (u32 i = 0; i < liquid->items; i++) {
        const PhaseFactors *phase = &liquid->factors[liquid->phase_of[i]];
        f32 pressure = liquid->pressure[i] * phase->lightness * d * d * d;
        count += pressure > 0.0f;
        sum += (f64)pressure;
        thickest = f32_max(thickest, phase->viscosity * phase->lightness * d * d * d);
    }
    f32 mean = count != 0 ? (f32)(sum / (f64)count) : 0.0f;
    if (count == 0) { /* as if it stood */
        Vec3 g = vec3_abs(liquid->gravity);
        mean = 0.5f * (g.x * liquid->extent[0] + g.y * liquid->extent[1] + g.z * liquid->extent[2]);
        mean = f32_min(mean, standing_most);
    }
    f32 pressed = sqrtf(mean / pressure_most) * h / d,
        thick = thickest * h / (d * d * viscosity_most),
        fast = liquid->fastest * h / (way_most * d);
    pressed = f32_max(pressed, fast);
    f32 most = f32_min(f32_max(pressed, thick), (f32)STEPS_MAX - 1.0f);
    u32 needed = most > 0.0f ? (u32)most + 1 : 1;
    return u32_max(liquid->def.iterations, needed);
}

void liquid_substep(Liquid *liquid, f32 h, Vec3 gravity)
{
    if (!liquid->in_tick) {
        return;
    }
    liquid->gravity = gravity;
    liquid->span = h;
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

static bool is_quiet(const Liquid *liquid)
{
    f64 energy = 0.0;
    f32 g = vec3_length(liquid->gravity), d = liquid->def.spacing, thickest = 0.0f;
    for (u32 i = 0; i < liquid->items; i++) {
        const Four *v = &liquid->motion[i];
        const PhaseFactors *phase = &liquid->factors[liquid->phase_of[i]];
        energy += 0.5 * (f64)(v->x * v->x + v->y * v->y + v->z * v->z);
        thickest = f32_max(thickest, phase->viscosity * phase->lightness);
    }
    f32 thick = thickest * d * d * d / (thick_from * sqrtf(g * d * d * d) + 1e-20f);
    f32 scale = f32_max(thick, 1.0f);
    return energy < (f64)(rest_part * g * d / (scale * scale)) * (f64)liquid->items;
}

static bool is_held(const Liquid *liquid)
{
    return liquid->hand_end != 0 || liquid->touched;
}

/* All of it sleeps at once. */
static void rest(Liquid *liquid)
{
    liquid->quiet_ticks = !is_held(liquid) && is_quiet(liquid) ? liquid->quiet_ticks + 1 : 0;
    if ((f32)liquid->quiet_ticks * liquid->tick_s >= LIQUID_REST_S) {
        liquid->awake = 0;
        for (u32 i = 0; i < liquid->items; i++) {
            liquid->motion[i] = (Four){0.0f, 0.0f, 0.0f, 0.0f};
        }
        memset(liquid->velocities, 0, liquid->slots * sizeof *liquid->velocities);
    }
}

void liquid_finish(Liquid *liquid)
{
    if (liquid->in_tick) {
        liquid_publish(liquid);
        sum_errors(liquid);
        rest(liquid);
        liquid_grains_finish(liquid);
        if (liquid->ticks % SLOT_SORT_TICKS == SLOT_SORT_TICKS - 1) {
            liquid_sort_slots(liquid);
        }
    }
    liquid->in_tick = false;
    liquid->ticks++;
}
