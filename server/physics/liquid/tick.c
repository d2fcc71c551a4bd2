/* tick.c: the phases of a tick. */
#include "server/physics/liquid/liquid_internal.h"

#include "server/physics/contact/particles.h"

void liquid_stir(Liquid *liquid, const Collider *colliders, u32 count, f32 tick_s)
{
    PL_UNUSED(liquid);
    PL_UNUSED(colliders);
    PL_UNUSED(count);
    PL_UNUSED(tick_s);
}

void liquid_begin(Liquid *liquid, const Collider *colliders, u32 count, f32 tick_s, Jobs *jobs)
{
    PL_UNUSED(liquid);
    PL_UNUSED(colliders);
    PL_UNUSED(count);
    PL_UNUSED(tick_s);
    PL_UNUSED(jobs);
}

void liquid_substep(Liquid *liquid, f32 h, Vec3 gravity)
{
    for (u32 s = 0; s < liquid->slots; s++) {
        if (liquid->generations[s] != 0) {
            liquid->velocities[s] = vec3_add_scaled(liquid->velocities[s], h, gravity);
            liquid->positions[s] = vec3_add_scaled(liquid->positions[s], h, liquid->velocities[s]);
        }
    }
}

void liquid_finish(Liquid *liquid)
{
    liquid->ticks++;
}

Collider liquid_collider(Liquid *liquid, u32 user)
{
    PL_UNUSED(liquid);
    PL_UNUSED(user);
    return (Collider){&particle_balls_ops, NULL};
}
