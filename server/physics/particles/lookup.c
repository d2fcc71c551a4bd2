/* lookup.c: accessors of systems, slots and particles. */
#include "server/physics/particles/particles_internal.h"
#include "shared/base/check.h"

bool particles_asleep(const Particles *p, u32 system)
{
    CHECK(system < p->system_count);
    return p->systems[system].state.asleep != 0;
}

u32 particles_systems(const Particles *p)
{
    return p->system_count;
}

u32 particles_slots(const Particles *p)
{
    return p->slots;
}

u32 particles_first(const Particles *p, u32 system)
{
    CHECK(system < p->system_count);
    return p->systems[system].first;
}

u32 particles_range(const Particles *p, u32 system)
{
    CHECK(system < p->system_count);
    return p->systems[system].count;
}

u32 particles_alive(const Particles *p, u32 system)
{
    CHECK(system < p->system_count);
    return p->systems[system].state.alive;
}

bool particles_is_alive(const Particles *p, u32 slot)
{
    CHECK(slot < p->slots);
    return p->alive[slot] != 0;
}

u16 particles_generation(const Particles *p, u32 slot)
{
    CHECK(slot < p->slots);
    return p->alive[slot] ? p->generations[slot] : 0;
}

Vec3 particles_position(const Particles *p, u32 slot)
{
    CHECK(slot < p->slots);
    return p->positions[slot];
}

Vec3 particles_velocity(const Particles *p, u32 slot)
{
    CHECK(slot < p->slots);
    return p->velocities[slot];
}

f32 particles_mass(const Particles *p, u32 slot)
{
    CHECK(slot < p->slots);
    return p->masses[slot];
}

f32 particles_radius(const Particles *p, u32 slot)
{
    CHECK(slot < p->slots);
    return particles_radius_of(p, &p->systems[p->system_of[slot]].def, slot);
}

f32 particles_age(const Particles *p, u32 slot)
{
    CHECK(slot < p->slots);
    return p->lifetimes[slot] > 0.0f ? f32_clamp(p->ages[slot] / p->lifetimes[slot], 0.0f, 1.0f)
                                     : 0.0f;
}
