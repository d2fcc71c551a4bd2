/* truth_world.c: see truth_world.h. */
#include "tests/support/truth_world.h"

#include <stdlib.h>

TruthWorld truth_world_make(TruthCase *c, u32 bodies, f64 gravity_m_s2, f32 rate, u32 substeps)
{
    truth_say(c, "%g Hz x %u, ", (f64)rate, substeps);
    Rigid *rigid = rigid_create(&(RigidDef){.body_capacity = bodies,
                                            .tick_s = 1.0f / rate,
                                            .substeps = substeps,
                                            .gravity = {0.0f, -(f32)gravity_m_s2, 0.0f},
                                            .joint_capacity = bodies + 1,
                                            .no_sleep = true});
    if (rigid == NULL) {
        abort();
    }
    return (TruthWorld){rigid, (f64)rate, substeps};
}

TruthWorld truth_world_draw(TruthCase *c, u32 bodies, f64 gravity_m_s2, f64 step_s, u32 least)
{
    static const f32 rates[] = {30.0f, 60.0f, 90.0f, 120.0f, 240.0f};
    static const u32 substeps[] = {1, 2, 4, 8, 16};
    u32 first = least > 1;
    f32 rate = rates[truth_pick(c, PL_COUNT(rates))];
    u32 steps = substeps[first + truth_pick(c, PL_COUNT(substeps) - first)];
    while ((f64)rate * (f64)steps * step_s < 0.999) {
        steps *= 2;
    }
    return truth_world_make(c, bodies, gravity_m_s2, rate, steps);
}

u32 truth_world_ticks(const TruthWorld *world, f64 seconds)
{
    return (u32)(seconds * world->rate + 0.5);
}

KitFlight truth_world_throw(TruthWorld *world, TruthCase *c, u32 count, f64 seconds)
{
    f32 angular_velocity = truth_range(c, 1.0f, 10.0f);
    truth_say(c, ", %.1f rad/s", (f64)angular_velocity);
    for (u32 i = 0; i < count; i++) {
        rigid_set_velocity(world->rigid, i, truth_direction(c),
                           vec3_scale(truth_direction(c), angular_velocity));
    }
    for (u32 i = 0; i < truth_world_ticks(world, 0.5); i++) {
        kit_tick(world->rigid);
    }
    KitFlight flight = kit_fly(world->rigid, truth_world_ticks(world, seconds));
    rigid_destroy(world->rigid);
    return flight;
}
