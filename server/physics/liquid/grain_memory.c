/* grain_memory.c: impulses of contacts from tick to tick, by slots. */
#include "server/physics/liquid/grain.h"
#include "shared/base/check.h"
#include "shared/base/memory.h"

#include <string.h>

static const f32 force_max = 1e12f; /* N */

static u32 key_of(const LiquidPair *pair)
{
    return GRAIN_THING | pair->collider << 27 | (pair->thing & ((1u << 27) - 1));
}

/* Sorts entries by slot, stably: from scratch to memory (counting sort). */
static void sort_memory(Liquid *liquid)
{
    Grains *grains = liquid->contacts;
    u32 *first = grains->memory_first, sum = 0;
    memset(first, 0, (liquid->slots + 1) * sizeof *first);
    for (u32 k = 0; k < grains->memory_count; k++) {
        first[grains->memory_scratch[k].slot]++;
    }
    for (u32 s = 0; s <= liquid->slots; s++) {
        u32 count = first[s];
        first[s] = sum;
        sum += count;
    }
    for (u32 k = 0; k < grains->memory_count; k++) {
        grains->memory[first[grains->memory_scratch[k].slot]++] = grains->memory_scratch[k];
    }
    for (u32 s = liquid->slots; s > 0; s--) {
        first[s] = first[s - 1];
    }
    first[0] = 0;
}

static void keep(Liquid *liquid, u32 slot, u32 with, f32 push, bool slid, Vec3 friction, Vec3 roll)
{
    Grains *grains = liquid->contacts;
    f32 per = 1.0f / grains->h;
    push *= per;
    friction = vec3_scale(friction, per);
    roll = vec3_scale(roll, per);
    if (!(push > 0.0f && push < force_max) || !(vec3_length(friction) < force_max) ||
        !(vec3_length(roll) < force_max) || grains->memory_count == grains->memory_most) {
        return;
    }
    bool thing = (with & GRAIN_THING) != 0, swap = !thing && with < slot;
    u32 low = swap ? with : slot, high = swap ? slot : with;
    grains->memory_scratch[grains->memory_count++] =
        (GrainMemory){.slot = low,
                      .with = high,
                      .generation = liquid->generations[low],
                      .with_generation = thing ? 0 : liquid->generations[high],
                      .push = slid ? -push : push,
                      .friction = swap ? vec3_neg(friction) : friction,
                      .roll = swap ? vec3_neg(roll) : roll};
}

void grains_remember(Liquid *liquid)
{
    Grains *grains = liquid->contacts;
    if (!grains->ready || !(grains->h > 0.0f)) {
        return;
    }
    grains->memory_count = 0;
    for (u32 k = 0; k < grains->held_count; k++) { /* first: bodies are heavy */
        const LiquidPair *pair = &liquid->pairs[k];
        const GrainHeld *held = &grains->held[k];
        keep(liquid, grains->slot_of[pair->item], key_of(pair), held->push, false, held->friction,
             held->roll);
    }
    for (u32 k = 0; k < grains->block_count; k++) {
        const GrainBlock *block = &grains->blocks[k];
        for (u32 l = 0; l < SIMD_LANES && block->a[l] < liquid->items; l++) {
            if (block->push[l] > 0.0f) {
                Vec3 friction =
                    vec3(block->friction.x[l], block->friction.y[l], block->friction.z[l]);
                Vec3 roll = vec3(block->roll.x[l], block->roll.y[l], block->roll.z[l]);
                bool slid = block->mu_now[l] < block->mu_static[l];
                keep(liquid, grains->slot_of[block->a[l]], grains->slot_of[block->b[l]],
                     block->push[l], slid, friction, roll);
            }
        }
    }
    sort_memory(liquid);
}

static const GrainMemory *find(const Liquid *liquid, u32 slot, u32 with)
{
    const Grains *grains = liquid->contacts;
    for (u32 k = grains->memory_first[slot]; k < grains->memory_first[slot + 1]; k++) {
        const GrainMemory *entry = &grains->memory[k];
        if (entry->with == with) {
            bool thing = (with & GRAIN_THING) != 0;
            bool same = entry->generation == liquid->generations[slot] &&
                        (thing || entry->with_generation == liquid->generations[with]);
            return same ? entry : NULL;
        }
    }
    return NULL;
}

void grains_recall(Liquid *liquid, GrainBlock *block)
{
    const Grains *grains = liquid->contacts;
    if (grains->memory_count == 0) {
        return;
    }
    f32 h = grains->h;
    for (u32 l = 0; l < SIMD_LANES && block->a[l] < liquid->items; l++) {
        u32 a = grains->slot_of[block->a[l]], b = grains->slot_of[block->b[l]];
        const GrainMemory *entry = find(liquid, u32_min(a, b), u32_max(a, b));
        if (entry != NULL) {
            f32 sign = a < b ? h : -h;
            block->push[l] = fabsf(entry->push) * h;
            block->friction.x[l] = sign * entry->friction.x;
            block->friction.y[l] = sign * entry->friction.y;
            block->friction.z[l] = sign * entry->friction.z;
            block->roll.x[l] = sign * entry->roll.x;
            block->roll.y[l] = sign * entry->roll.y;
            block->roll.z[l] = sign * entry->roll.z;
            block->mu_now[l] = entry->push < 0.0f ? block->mu[l] : block->mu_static[l];
        }
    }
}

bool grains_recall_things(Liquid *liquid)
{
    Grains *grains = liquid->contacts;
    f32 h = grains->h;
    grains->held_count = 0;
    /* Grows together with the pairs. */
    if (!memory_grow((void **)&grains->held, &grains->held_capacity, liquid->pair_capacity,
                     sizeof *grains->held)) {
        return false;
    }
    grains->held_count = liquid->pair_count;
    for (u32 k = 0; k < liquid->pair_count; k++) {
        const LiquidPair *pair = &liquid->pairs[k];
        const GrainMemory *entry = grains->memory_count != 0
                                       ? find(liquid, liquid->slot_of[pair->item], key_of(pair))
                                       : NULL;
        grains->held[k] = (GrainHeld){0};
        if (entry != NULL) {
            grains->held[k] = (GrainHeld){fabsf(entry->push) * h, vec3_scale(entry->friction, h),
                                          vec3_scale(entry->roll, h)};
        }
    }
    return true;
}

void liquid_grains_renumber(Liquid *liquid, const u32 *from, const u32 *to, u32 count)
{
    Grains *grains = liquid->contacts;
    if (grains == NULL) {
        return;
    }
    u32 *now = liquid->cell_of; /* scratch between ticks */
    for (u32 s = 0; s < liquid->slots; s++) {
        now[s] = s;
    }
    for (u32 k = 0; k < count; k++) {
        now[from[k]] = to[k];
        grains->surface_speed[from[k]] =
            (Four){grains->surface_speeds[from[k]].x, grains->surface_speeds[from[k]].y,
                   grains->surface_speeds[from[k]].z, 0};
    }
    for (u32 k = 0; k < count; k++) {
        const Four *surface_speed = &grains->surface_speed[from[k]];
        grains->surface_speeds[to[k]] = vec3(surface_speed->x, surface_speed->y, surface_speed->z);
    }
    for (u32 k = 0; k < grains->memory_count; k++) {
        GrainMemory entry = grains->memory[k];
        CHECK_ITEM(k, entry.slot < liquid->slots);
        entry.slot = now[entry.slot];
        if ((entry.with & GRAIN_THING) == 0) {
            entry.with = now[entry.with];
            if (entry.with < entry.slot) {
                u32 low = entry.with;
                entry.with = entry.slot;
                entry.slot = low;
                entry.friction = vec3_neg(entry.friction);
                entry.roll = vec3_neg(entry.roll);
            }
        }
        grains->memory_scratch[k] = entry;
    }
    sort_memory(liquid);
}

/* Updates the generations in memory after slots got new ones. */
void liquid_grains_renumbered(Liquid *liquid)
{
    Grains *grains = liquid->contacts;
    for (u32 k = 0; grains != NULL && k < grains->memory_count; k++) {
        GrainMemory *entry = &grains->memory[k];
        entry->generation = liquid->generations[entry->slot];
        bool thing = (entry->with & GRAIN_THING) != 0;
        entry->with_generation = thing ? 0 : liquid->generations[entry->with];
    }
}

void liquid_grains_forget(Liquid *liquid)
{
    Grains *grains = liquid->contacts;
    if (grains != NULL) {
        grains->memory_count = grains->held_count = grains->block_count = 0;
        grains->h = 0.0f;
        grains->ready = false;
        memset(grains->surface_speeds, 0, liquid->slots * sizeof *grains->surface_speeds);
    }
}

void liquid_grains_remove(Liquid *liquid, u32 slot)
{
    CHECK(slot < liquid->slots);
    if (liquid->contacts != NULL) {
        liquid->contacts->surface_speeds[slot] = vec3_zero();
    }
}

static bool is_good(const Liquid *liquid, const GrainMemory *entry, u32 before)
{
    bool thing = (entry->with & GRAIN_THING) != 0;
    return entry->slot < liquid->slots && entry->slot >= before &&
           (thing || (entry->with < liquid->slots && entry->with > entry->slot)) &&
           fabsf(entry->push) < force_max && vec3_length(entry->friction) < force_max &&
           vec3_length(entry->roll) < force_max;
}

static void serialize_surface_speeds(Liquid *liquid, State *state)
{
    Grains *grains = liquid->contacts;
    for (u32 p = 0; p < liquid->def.phase_count; p++) {
        u32 first = liquid->first[p], end = liquid->first[p + 1];
        while (end > first && liquid->issued[end - 1] == 0) {
            end--;
        }
        if (liquid->def.phases[p].kind != LIQUID_GRAINS || state->failed) {
            continue;
        }
        state_bytes(state, grains->surface_speeds + first,
                    (end - first) * sizeof *grains->surface_speeds);
        for (u32 s = first; s < end && state->mode == STATE_LOAD && !state->failed; s++) {
            f32 most = liquid->generations[s] != 0 ? 2.0f * SPEED_MAX_M_S : 0.0f;
            state->failed = !(vec3_length(grains->surface_speeds[s]) <= most);
        }
    }
}

void liquid_grains_serialize(Liquid *liquid, State *state)
{
    Grains *grains = liquid->contacts;
    if (grains == NULL) {
        return;
    }
    if (state->mode == STATE_LOAD) {
        grains->memory_count = 0;
        grains->ready = false;
        grains->held_count = grains->block_count = 0;
        memset(grains->surface_speeds, 0, liquid->slots * sizeof *grains->surface_speeds);
    }
    serialize_surface_speeds(liquid, state);
    state_bytes(state, &grains->h, sizeof grains->h);
    state_count(state, &grains->memory_count, grains->memory_most);
    u32 count = state->failed ? 0 : grains->memory_count, before = 0;
    if (state->mode != STATE_LOAD) {
        state_bytes(state, grains->memory, count * sizeof *grains->memory);
        return;
    }
    state_bytes(state, grains->memory_scratch, count * sizeof *grains->memory_scratch);
    bool good = grains->h >= 0.0f && grains->h <= 10.0f;
    for (u32 k = 0; k < count && good && !state->failed; k++) {
        good = is_good(liquid, &grains->memory_scratch[k], before);
        before = grains->memory_scratch[k].slot;
    }
    if (!good || state->failed) {
        state->failed = true;
        grains->memory_count = 0;
        grains->h = 0.0f;
        return;
    }
    sort_memory(liquid);
}
