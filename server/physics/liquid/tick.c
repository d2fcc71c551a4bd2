/* tick.c: the phases of a tick. */
#include "server/physics/liquid/liquid_internal.h"

#include "shared/base/memory.h"

enum {
    SLOT_SORT_TICKS = 64
};

void liquid_stir(Liquid *liquid, const Collider *colliders, u32 count, f32 tick_s)
{
    PL_UNUSED(liquid);
    PL_UNUSED(colliders);
    PL_UNUSED(count);
    PL_UNUSED(tick_s);
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
    liquid_neighbours(liquid);
    liquid->coarse_stale = true;
    liquid_boundary_begin(liquid);
    u32 ranges = liquid->items / LIQUID_GRAIN + 1;
    if (!memory_grow((void **)&liquid->sums, &liquid->sums_capacity, 2 * ranges,
                     sizeof *liquid->sums)) {
        liquid->in_tick = false;
    }
}

void liquid_substep(Liquid *liquid, f32 h, Vec3 gravity)
{
    if (!liquid->in_tick) {
        return;
    }
    liquid->gravity = gravity;
    u32 steps = liquid->def.iterations;
    f32 step = h / (f32)steps;
    for (u32 c = 0; c < liquid->collider_count; c++) {
        liquid->colliders[c].ops->substep_begin(liquid->colliders[c].of, h);
    }
    for (u32 k = 0; k < steps; k++) {
        for (u32 c = 0; c < liquid->collider_count; c++) {
            liquid->colliders[c].ops->step_begin(liquid->colliders[c].of, step);
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
        sum += liquid->sums[2 * (size_t)r];
        worst = f32_max(worst, liquid->sums[2 * (size_t)r + 1]);
    }
    liquid->density_error = liquid->items != 0 ? sum / (f32)liquid->items : 0.0f;
    liquid->density_error_max = worst;
}

void liquid_finish(Liquid *liquid)
{
    if (liquid->in_tick) {
        liquid_publish(liquid);
        sum_errors(liquid);
        if (liquid->ticks % SLOT_SORT_TICKS == SLOT_SORT_TICKS - 1) {
            liquid_sort_slots(liquid);
        }
    }
    liquid->in_tick = false;
    liquid->ticks++;
}
