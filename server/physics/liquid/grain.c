/* grain.c: contacts of grains: memory, and the order of a step. */
#include "server/physics/liquid/grain.h"

#include "server/physics/liquid/near8.h"
#include "shared/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    ALIGN = 64,
    CELL_BITS_MIN = 9
};

/* Part of the skin that grains may move before contacts are searched again. */
static const f32 moved_part = 0.5f;

static u32 cells_most(u32 grains)
{
    u32 bits = CELL_BITS_MIN;
    while (bits < 24 && 1u << bits < 2 * grains) {
        bits++;
    }
    return 1u << bits;
}

/* Lays the arrays out from `at` on; returns the bytes they take. NULL: only that. */
static u64 lay_out(Grains *grains, u8 *at, u64 count, u64 slots)
{
    u64 used = 0, blocks = count * GRAIN_CONTACTS / SIMD_LANES + 2 * GRAIN_COLORS;
    u64 most = cells_most((u32)count), memory = count * 4 + 64;
#define ARRAY(name, items)                                                                         \
    if (at != NULL) {                                                                              \
        grains->name = (void *)(at + used);                                                        \
    }                                                                                              \
    used += ((u64)(items) * sizeof *grains->name + ALIGN - 1) / ALIGN * ALIGN;
    ARRAY(blocks, blocks)
    ARRAY(items, count)
    ARRAY(cell_of, count)
    ARRAY(sorted, count + LIQUID_PAD)
    ARRAY(x, count + 2 * LIQUID_PAD)
    ARRAY(y, count + 2 * LIQUID_PAD)
    ARRAY(z, count + 2 * LIQUID_PAD)
    ARRAY(cell_starts, most + 1)
    ARRAY(partners, count * GRAIN_PARTNERS)
    ARRAY(partner_count, count)
    ARRAY(color_of, count * GRAIN_PARTNERS)
    ARRAY(used, count)
    ARRAY(surface_speed, slots + LIQUID_PAD)
    ARRAY(surface_speeds, slots)
    ARRAY(slot_of, slots)
    ARRAY(memory_first, slots + 1)
    ARRAY(memory, memory)
    ARRAY(memory_scratch, memory)
#undef ARRAY
    if (at != NULL) {
        grains->capacity = (u32)count;
        grains->blocks_most = (u32)blocks;
        grains->cells_most = (u32)most;
        grains->memory_most = (u32)memory;
    }
    return used;
}

static u64 capacity_of(const LiquidDef *def, u64 *slots)
{
    u64 count = 0;
    *slots = 0;
    for (u32 p = 0; p < def->phase_count && p < LIQUID_PHASES_MAX; p++) {
        *slots += def->phases[p].capacity;
        count += def->phases[p].kind == LIQUID_GRAINS ? def->phases[p].capacity : 0;
    }
    return count;
}

/* Contacts with things for which room is reserved, of those that move and of the others. */
static u32 walls_of(u64 count)
{
    return (u32)(count < 8192 ? count : count / 2 + 4096);
}

u64 liquid_grains_bytes(const LiquidDef *def)
{
    u64 slots, count = capacity_of(def, &slots);
    if (count == 0 || count > LIQUID_PARTICLES_MAX) {
        return count * 1024;
    }
    return sizeof(Grains) + lay_out(NULL, NULL, count, slots) +
           walls_of(count) * (2 * sizeof(GrainWall) + sizeof(ContactPlace));
}

bool liquid_grains_create(Liquid *liquid)
{
    u64 slots, count = capacity_of(&liquid->def, &slots);
    if (count == 0) {
        return true;
    }
    Grains *grains = calloc(1, sizeof *grains);
    if (grains == NULL) {
        return false;
    }
    liquid->contacts = grains;
    u64 bytes = lay_out(NULL, NULL, count, slots);
    grains->block = aligned_alloc(ALIGN, bytes);
    if (grains->block == NULL) {
        return false;
    }
    memset(grains->block, 0, bytes);
    lay_out(grains, grains->block, count, slots);
    return memory_grow((void **)&grains->walls, &grains->wall_capacity, walls_of(count),
                       sizeof *grains->walls) &&
           memory_grow((void **)&grains->movers, &grains->mover_capacity, walls_of(count),
                       sizeof *grains->movers) &&
           memory_grow((void **)&grains->places, &grains->place_capacity, walls_of(count),
                       sizeof *grains->places);
}

void liquid_grains_destroy(Liquid *liquid)
{
    if (liquid->contacts != NULL) {
        free(liquid->contacts->block);
        free(liquid->contacts->walls);
        free(liquid->contacts->movers);
        free(liquid->contacts->places);
        free(liquid->contacts->held);
        free(liquid->contacts);
    }
}

/* ---- step ---- */

static void fall(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        Four *v = &liquid->motion[i];
        Vec3 now = vec3_add_scaled(vec3_of(v), liquid->h, liquid->gravity);
        *v = (Four){now.x, now.y, now.z, v->w};
        liquid->excess[i] = 0.0f;
        liquid_boundary_item(liquid, i); /* distances of things */
    }
}

void liquid_grains_fall(Liquid *liquid, f32 h)
{
    liquid->h = h;
    liquid_boundary_step(liquid);
    jobs_run(liquid->jobs, liquid->items, LIQUID_GRAIN, fall, liquid);
    liquid_hands_step(liquid, h);
}

static f32 fastest_of(const Liquid *liquid)
{
    const Grains *grains = liquid->contacts;
    f32 most = 0.0f;
    for (u32 k = 0; k < grains->count; k++) {
        most = f32_max(most, vec3_length_squared(vec3_of(&liquid->motion[grains->items[k]])));
    }
    return sqrtf(most);
}

static void load_surface_speeds(Liquid *liquid)
{
    Grains *grains = liquid->contacts;
    for (u32 i = 0; i < liquid->items; i++) {
        Vec3 surface_speed = grains->surface_speeds[liquid->slot_of[i]];
        grains->surface_speed[i] = (Four){surface_speed.x, surface_speed.y, surface_speed.z, 0.0f};
    }
    for (u32 i = liquid->items; i < liquid->items + LIQUID_PAD; i++) {
        grains->surface_speed[i] = (Four){0.0f, 0.0f, 0.0f, 0.0f};
    }
}

/* Angular velocities are limited like velocities. */
static void store_surface_speeds(Liquid *liquid)
{
    Grains *grains = liquid->contacts;
    for (u32 k = 0; k < grains->count; k++) {
        u32 i = grains->items[k];
        Vec3 surface_speed = vec3_of(&grains->surface_speed[i]);
        f32 size = vec3_length(surface_speed);
        surface_speed =
            size > SPEED_MAX_M_S ? vec3_scale(surface_speed, SPEED_MAX_M_S / size) : surface_speed;
        bool good = liquid_awake(liquid) && size - size == 0.0f;
        grains->surface_speeds[grains->slot_of[i]] = good ? surface_speed : vec3_zero();
    }
}

void liquid_grains_step(Liquid *liquid, f32 h)
{
    Grains *grains = liquid->contacts;
    if (grains == NULL) {
        return;
    }
    if (!grains->ready) { /* items are new */
        load_surface_speeds(liquid);
        if (!grains_recall_things(liquid)) {
            return;
        }
        grains_search(liquid);
    } else if (grains->moved > moved_part * GRAIN_SKIN * liquid->def.spacing) {
        grains_remember(liquid);
        grains_search(liquid);
    }
    if (grains->count == 0 || !grains_find_walls(liquid)) {
        return;
    }
    f32 scale = grains->h > 0.0f ? h / grains->h : 0.0f;
    grains_warm(liquid, scale);
    grains_meet_movers(liquid);
    grains_warm_walls(liquid, scale);
    u32 sweeps = grains_bear_heavy(liquid) ? GRAIN_SWEEPS_HEAVY : GRAIN_SWEEPS;
    for (u32 k = 0; k < sweeps; k++) {
        grains_sweep_movers(liquid);
        grains_sweep_walls(liquid);
        grains_sweep(liquid);
    }
    grains_sweep_walls(liquid);
    grains_hold_walls(liquid);
    grains->h = h;
    grains->moved += fastest_of(liquid) * h;
}

void liquid_grains_finish(Liquid *liquid)
{
    if (liquid->contacts != NULL && liquid->contacts->ready) {
        grains_remember(liquid);
        store_surface_speeds(liquid);
        liquid->contacts->ready = false;
    }
}

Vec3 liquid_grains_surface_speed(const Liquid *liquid, u32 slot)
{
    return liquid->contacts != NULL ? liquid->contacts->surface_speeds[slot] : vec3_zero();
}
