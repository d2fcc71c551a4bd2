/* lookup.c: accessors of phases, slots and particles. */
#include "server/physics/liquid/liquid_internal.h"

#include "shared/base/check.h"

const LiquidPhaseDef *liquid_phase(const Liquid *liquid, u32 phase)
{
    CHECK(phase < liquid->def.phase_count);
    return &liquid->def.phases[phase];
}

u32 liquid_phases(const Liquid *liquid)
{
    return liquid->def.phase_count;
}

f32 liquid_spacing(const Liquid *liquid)
{
    return liquid->def.spacing;
}

u32 liquid_slots(const Liquid *liquid)
{
    return liquid->slots;
}

u32 liquid_first(const Liquid *liquid, u32 phase)
{
    CHECK(phase <= liquid->def.phase_count);
    return liquid->first[phase];
}

u32 liquid_phase_of(const Liquid *liquid, u32 slot)
{
    CHECK(slot < liquid->slots);
    u32 p = 0;
    while (p + 1 < liquid->def.phase_count && slot >= liquid->first[p + 1]) {
        p++;
    }
    return p;
}

u32 liquid_count(const Liquid *liquid, u32 phase)
{
    if (phase == LIQUID_ANY) {
        return liquid->count;
    }
    return phase < liquid->def.phase_count ? liquid->live[phase] : 0;
}

const Vec3 *liquid_positions(const Liquid *liquid)
{
    return liquid->positions;
}

const Vec3 *liquid_velocities(const Liquid *liquid)
{
    return liquid->velocities;
}

const u16 *liquid_generations(const Liquid *liquid)
{
    return liquid->generations;
}

f32 liquid_particle_mass(const Liquid *liquid, u32 phase)
{
    CHECK(phase < liquid->def.phase_count);
    return liquid->factors[phase].mass;
}

f32 liquid_pressure(const Liquid *liquid, u32 slot)
{
    CHECK(slot < liquid->slots);
    return slot < liquid->slots ? liquid->pressures[slot] : 0.0f;
}
