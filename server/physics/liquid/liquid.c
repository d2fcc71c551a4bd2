/* liquid.c: the store: definition, memory, slots. */
#include "server/physics/liquid/liquid_internal.h"
#include "server/physics/option.h"

#include "shared/base/check.h"
#include "shared/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    ALIGN = 64,
    SMALL_STORE = 8192, /* particles */
};

LiquidPhaseDef liquid_phase_default(LiquidKind kind)
{
    LiquidPhaseDef def = {.kind = kind};
#define SOLVER_ROWS
#include "server/physics/option_default_rows.h"
#include "shared/rows/liquid.def"
    if (kind == LIQUID_GRAINS) {
#define SOLVER_ROWS
#include "server/physics/option_default_rows.h"
#include "shared/rows/grains.def"
    }
    return def;
}

void liquid_phase_clamp(LiquidPhaseDef *def)
{
#define SOLVER_ROWS
#define ROW_NUMBER(key, member, unit, scale, initial, also, least, most, bears, doc)               \
    def->member = f32_clamp(def->member, (least) * (scale), (bears) * (scale));
#include "shared/rows/liquid.def"
#define SOLVER_ROWS
#define ROW_NUMBER(key, member, unit, scale, initial, also, least, most, bears, doc)               \
    def->member = f32_clamp(def->member, (least) * (scale), (bears) * (scale));
#include "shared/rows/grains.def"
}

/* ---- definition ---- */

static bool is_within(f32 value, f32 least, f32 most)
{
    return value >= least && value <= most; /* false for NaN */
}

static Error check_options(const LiquidPhaseDef *def, Error result, ErrorText *error)
{
#define SOLVER_ROWS
#include "server/physics/option_check_rows.h"
#undef ROW_WHOLE /* the capacity */
#include "shared/rows/liquid.def"
#define SOLVER_ROWS
#include "server/physics/option_check_rows.h"
#undef ROW_WHOLE
#include "shared/rows/grains.def"
    return result;
}

/* All but the capacity. */
static Error check_phase(const LiquidPhaseDef *def, u32 phase, ErrorText *error)
{
    ErrorText why = {0};
    Error result = (u32)def->kind < LIQUID_KIND_COUNT
                       ? ERROR_OK
                       : error_set(&why, ERROR_RANGE, "no such kind");
    result = check_options(def, result, &why);
    return result == ERROR_OK ? ERROR_OK
                              : error_set(error, result, "phase %u: %s", phase, why.text);
}

Error liquid_check(const LiquidDef *def, ErrorText *error)
{
    if (!is_within(def->spacing, 0.001f, 1.0f)) {
        return error_set(error, ERROR_RANGE, "spacing is %g m, expected 0.001 to 1",
                         (f64)def->spacing);
    }
    if (def->iterations > 16) {
        return error_set(error, ERROR_RANGE, "iterations is %u, expected at most 16",
                         def->iterations);
    }
    if (def->phase_count == 0 || def->phase_count > LIQUID_PHASES_MAX) {
        return error_set(error, ERROR_RANGE, "%u phases, expected 1 to %u", def->phase_count,
                         (u32)LIQUID_PHASES_MAX);
    }
    u64 slots = 0;
    for (u32 p = 0; p < def->phase_count; p++) {
        Error result = check_phase(&def->phases[p], p, error);
        if (result != ERROR_OK) {
            return result;
        }
        if (def->phases[p].capacity == 0) {
            return error_set(error, ERROR_RANGE, "phase %u: capacity is 0", p);
        }
        slots += def->phases[p].capacity;
        if (slots > LIQUID_PARTICLES_MAX) {
            return error_set(error, ERROR_LIMIT,
                             "phase %u: %llu particles with it, the limit is %u", p,
                             (unsigned long long)slots, (u32)LIQUID_PARTICLES_MAX);
        }
    }
    return ERROR_OK;
}

/* ---- memory ---- */

/* Lays the arrays out from `at` on; returns the bytes they take. NULL: only that. */
static u64 lay_out(Liquid *liquid, u8 *at, u64 slots)
{
    u64 used = 0;
#define X(type, name, per)                                                                         \
    if (at != NULL) {                                                                              \
        liquid->name = (type *)(void *)(at + used);                                                \
    }                                                                                              \
    used += (((slots + LIQUID_PAD) * (per) * sizeof(type)) + ALIGN - 1) / ALIGN * ALIGN;
    LIQUID_ARRAYS(X)
#undef X
    return used;
}

u64 liquid_bytes(const LiquidDef *def)
{
    u64 slots = 0;
    for (u32 p = 0; p < def->phase_count && p < LIQUID_PHASES_MAX; p++) {
        slots += def->phases[p].capacity;
    }
    return sizeof(Liquid) + lay_out(NULL, NULL, slots) + liquid_grains_bytes(def) +
           slots * (sizeof(LiquidPair) + 8 * sizeof(u32)) + slots * (sizeof(u32) + 40) +
           SMALL_STORE * 64 +
           (slots / 2 + 2 * SMALL_STORE) * (2 * sizeof(LiquidPair) + sizeof(LiquidMover));
}

/* Capacity for the data of a tick, so that it rarely grows: pairs with things, with those that may
 * move, and the largest tables of cells. In a small store every particle may touch several. */
static bool reserve(Liquid *liquid)
{
    u32 slots = liquid->slots, small = u32_min(slots, SMALL_STORE);
    return memory_grow((void **)&liquid->pairs, &liquid->pair_capacity, slots + 3 * small,
                       sizeof *liquid->pairs) &&
           memory_grow((void **)&liquid->movers, &liquid->mover_capacity, slots / 2 + 2 * small,
                       sizeof *liquid->movers) &&
           memory_grow((void **)&liquid->mover_keys, &liquid->mover_key_capacity,
                       slots / 2 + 2 * small, sizeof *liquid->mover_keys) &&
           memory_grow((void **)&liquid->cell_starts, &liquid->cell_capacity,
                       liquid_cells_most(slots), sizeof *liquid->cell_starts) &&
           liquid_coarse_reserve(liquid) &&
           memory_grow((void **)&liquid->search_starts, &liquid->search_capacity,
                       liquid_cells_most(slots), sizeof *liquid->search_starts) &&
           liquid_boundary_reserve(liquid, (slots + small) / 4) && liquid_sleep_reserve(liquid);
}

/* Stiffness of the pairs of a surface, N/m, per surface tension: such that drops oscillate with the
 * period of Rayleigh (1879), mean of drops of 5 to 8 spacings. */
static const f32 cohesion_per_tension = 1.1f;

/* Fraction of the solver's least viscosity that maximal vorticity removes: more would add
 * energy. */
static const f32 vorticity_part = 0.6f;

void liquid_factors(Liquid *liquid)
{
    f32 d = liquid->def.spacing, volume = d * d * d;
    liquid->mixed = liquid->grains;
    for (u32 p = 0; p < liquid->def.phase_count; p++) {
        const LiquidPhaseDef *phase = &liquid->def.phases[p];
        bool grains = phase->kind == LIQUID_GRAINS;
        f32 packed = grains ? LIQUID_GRAIN_PACKED : 1.0f;
        liquid->factors[p] = (PhaseFactors){
            .part = packed,
            .mass = phase->density * volume * packed,
            .lightness = 1.0f / (phase->density * volume),
            .damping = 1.0f - vorticity_part * phase->vorticity,
            .viscosity = grains ? 0.0f : phase->viscosity,
            .cohesion = grains ? 0.0f : cohesion_per_tension * phase->surface_tension,
            .radius = grains ? 0.49f * d : 0.2f * d, /* contacts keep grains at 0.5 */
            .grains = grains};
        liquid->mixed = liquid->mixed || phase->density != liquid->def.phases[0].density;
    }
}

Liquid *liquid_create(const LiquidDef *def, ErrorText *error)
{
    if (liquid_check(def, error) != ERROR_OK) {
        return NULL;
    }
    Liquid *liquid = calloc(1, sizeof *liquid);
    if (liquid == NULL) {
        error_set(error, ERROR_MEMORY, "out of memory for the liquid");
        return NULL;
    }
    liquid->def = *def;
    liquid->def.iterations = u32_max(def->iterations, 1);
    for (u32 p = 0; p < def->phase_count; p++) {
        liquid->first[p + 1] = liquid->first[p] + def->phases[p].capacity;
        liquid->grains = liquid->grains || def->phases[p].kind == LIQUID_GRAINS;
        liquid->fluids = liquid->fluids || def->phases[p].kind == LIQUID_FLUID;
    }
    liquid->slots = liquid->first[def->phase_count];
    u64 bytes = lay_out(NULL, NULL, liquid->slots);
    liquid->memory = memory_arrays(bytes);
    if (liquid->memory == NULL) {
        error_set(error, ERROR_MEMORY, "out of memory for %u particles", liquid->slots);
        free(liquid);
        return NULL;
    }
    lay_out(liquid, liquid->memory, liquid->slots);
    if (!reserve(liquid) || !liquid_grains_create(liquid)) {
        error_set(error, ERROR_MEMORY, "out of memory for %u particles", liquid->slots);
        liquid_destroy(liquid);
        return NULL;
    }
    liquid_factors(liquid);
    liquid_clear(liquid);
    return liquid;
}

void liquid_destroy(Liquid *liquid)
{
    if (liquid != NULL) {
        liquid_grains_destroy(liquid);
        free(liquid->memory);
        free(liquid->cell_starts);
        free(liquid->search_starts);
        free(liquid->pairs);
        free(liquid->movers);
        free(liquid->mover_keys);
        free(liquid->point_loads);
        free(liquid->finds);
        free(liquid->blocks);
        free(liquid->cell_parents);
        free(liquid->pools);
        free(liquid->members);
        free(liquid->coarse);
        free(liquid->coarse_table);
        free(liquid->coarse_direction);
        for (u32 i = 0; i < LIQUID_USERS_MAX; i++) {
            cells_finish(&liquid->users[i].cells);
        }
        free(liquid->sums);
        free(liquid->partials);
        free(liquid);
    }
}

void liquid_clear(Liquid *liquid)
{
    for (u32 slot = 0; slot < liquid->slots; slot++) {
        liquid_remove(liquid, slot);
    }
    for (u32 p = 0; p < liquid->def.phase_count; p++) {
        liquid->lowest[p] = liquid->first[p];
    }
    memset(liquid->hands, 0, sizeof liquid->hands);
    liquid->hand_end = 0;
    liquid_grains_forget(liquid);
    liquid_wake(liquid);
}

bool liquid_set_phase(Liquid *liquid, u32 phase, const LiquidPhaseDef *def)
{
    if (phase >= liquid->def.phase_count) {
        return false;
    }
    const LiquidPhaseDef *before = &liquid->def.phases[phase];
    if (check_phase(def, phase, NULL) != ERROR_OK || def->kind != before->kind ||
        def->capacity != before->capacity) {
        return false;
    }
    liquid->def.phases[phase] = *def;
    liquid_factors(liquid);
    liquid_wake(liquid);
    return true;
}

/* ---- slots ---- */

static bool is_in_world(Vec3 position, Vec3 velocity)
{
    Vec3 p = vec3_abs(position), v = vec3_abs(velocity);
    f32 far = f32_max(p.x, f32_max(p.y, p.z)), fast = f32_max(v.x, f32_max(v.y, v.z));
    return vec3_is_finite(position) && vec3_is_finite(velocity) && far <= WORLD_EXTENT_MAX_M &&
           fast <= SPEED_MAX_M_S;
}

/* 16 bits: 0 means free and is skipped. */
static u16 next_generation(Liquid *liquid, u32 slot)
{
    u16 next = (u16)(liquid->issued[slot] + 1);
    liquid->issued[slot] = next != 0 ? next : 1;
    return liquid->issued[slot];
}

i32 liquid_spawn(Liquid *liquid, u32 phase, Vec3 position, Vec3 velocity)
{
    if (phase >= liquid->def.phase_count || !is_in_world(position, velocity)) {
        return -1;
    }
    u32 slot = liquid->lowest[phase], end = liquid->first[phase + 1];
    while (slot < end && liquid->generations[slot] != 0) {
        slot++;
    }
    liquid->lowest[phase] = slot;
    if (slot == end) {
        return -1;
    }
    liquid->generations[slot] = next_generation(liquid, slot);
    liquid->positions[slot] = position;
    liquid->velocities[slot] = velocity;
    liquid->pressures[slot] = 0.0f;
    liquid->live[phase]++;
    liquid->count++;
    liquid_wake_slot(liquid, slot);
    return (i32)slot;
}

void liquid_remove(Liquid *liquid, u32 slot)
{
    if (slot >= liquid->slots || liquid->generations[slot] == 0) {
        return;
    }
    u32 phase = liquid_phase_of(liquid, slot);
    liquid_grains_remove(liquid, slot);
    liquid_wake_slot(liquid, slot);
    liquid->generations[slot] = 0;
    liquid->positions[slot] = liquid->velocities[slot] = vec3_zero();
    liquid->pressures[slot] = 0.0f;
    liquid->lowest[phase] = u32_min(liquid->lowest[phase], slot);
    liquid->live[phase]--;
    liquid->count--;
}

void liquid_set(Liquid *liquid, u32 slot, Vec3 position, Vec3 velocity)
{
    if (slot < liquid->slots && liquid->generations[slot] != 0 && is_in_world(position, velocity)) {
        liquid->positions[slot] = position;
        liquid->velocities[slot] = velocity;
        liquid_wake_slot(liquid, slot);
    }
}
