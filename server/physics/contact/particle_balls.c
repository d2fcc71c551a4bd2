/* particle_balls.c: particles as colliders (ball.h). */
#include "server/physics/contact/ball.h"
#include "server/physics/contact/particles.h"

void particle_balls_finish(ParticleBalls *balls)
{
    cells_finish(&balls->cells);
    *balls = (ParticleBalls){0};
}

static ContactBall ball_of(const ParticleBalls *balls, u32 i)
{
    const ParticleSet *set = balls->set;
    return (ContactBall){vec3_add_scaled(set->positions[i], -balls->lag.left, set->velocities[i]),
                         set->velocities[i], set->radius};
}

static f32 inverse_mass_of(const ParticleSet *set, u32 i)
{
    return set->inverse_masses != NULL ? set->inverse_masses[i] : set->inverse_mass;
}

static void begin(void *of, Jobs *jobs, f32 tick_s)
{
    ParticleBalls *balls = of;
    const ParticleSet *set = balls->set;
    f32 fastest = 0.0f;
    for (u32 i = 0; i < set->count; i++) {
        fastest = f32_max(fastest, vec3_length_squared(set->velocities[i]));
    }
    balls->lag.left = 0.0f;
    balls->tick_s = tick_s;
    balls->fastest = fastest < INFINITY ? sqrtf(fastest) : 0.0f;
    if (!cells_reserve(&balls->cells, set->count)) {
        balls->cells.count = 0;
        return;
    }
    f32 size = f32_max(2.0f * set->radius + balls->fastest * tick_s, 1e-3f);
    cells_build(&balls->cells, set->positions, sizeof *set->positions, set->count, size, jobs);
}

static u32 overlaps(void *of, Bounds bounds, u32 group, u32 mask, u32 *things, u32 capacity)
{
    const ParticleBalls *balls = of;
    const ParticleSet *set = balls->set;
    if (!contact_groups_meet(set->group, set->mask, group, mask)) {
        return 0;
    }
    Vec3 middle = vec3_scale(vec3_add(bounds.min, bounds.max), 0.5f);
    f32 radius =
        0.5f * vec3_distance(bounds.min, bounds.max) + set->radius + balls->fastest * balls->tick_s;
    u32 count = cells_near(&balls->cells, middle, radius, things, capacity);
    return u32_min(count, capacity);
}

static bool take(void *of, u32 thing)
{
    const ParticleBalls *balls = of;
    return inverse_mass_of(balls->set, thing) > 0.0f;
}

static f32 distance(const void *of, u32 thing, Vec3 point, f32 reach, Vec3 *normal)
{
    PL_UNUSED(reach);
    ContactBall ball = ball_of(of, thing);
    return contact_ball_distance(&ball, point, normal);
}

static Vec3 velocity(const void *of, u32 thing, Vec3 point)
{
    PL_UNUSED(point);
    return ((const ParticleBalls *)of)->set->velocities[thing];
}

static bool touches(const void *of, u32 thing, const struct ShapePose *shape)
{
    ContactBall ball = ball_of(of, thing);
    return contact_ball_touches(&ball, shape);
}

static bool ray_hits(const void *of, u32 thing, Ray ray, f32 max, f32 *distance, Vec3 *normal)
{
    ContactBall ball = ball_of(of, thing);
    return contact_ball_ray(&ball, ball.radius, ray, max, distance, normal);
}

static f32 friction(const void *of, u32 thing)
{
    PL_UNUSED(of);
    PL_UNUSED(thing);
    return 0.0f;
}

static bool may_meet(const void *of, u32 thing, const ContactParticle *particle, f32 h)
{
    ContactBall ball = ball_of(of, thing);
    return contact_ball_may_meet(&ball, particle, h);
}

static bool meet(const void *of, u32 thing, const ContactParticle *particle, f32 h,
                 ContactPlace *place)
{
    ContactBall ball = ball_of(of, thing);
    return contact_ball_meet(&ball, thing, particle, h, place);
}

static void refresh(const void *of, ContactPlace *place)
{
    ContactBall ball = ball_of(of, place->thing);
    place->velocity = place->moving = ball.velocity;
}

static f32 inverse_mass(const void *of, const ContactPlace *place, Vec3 direction)
{
    PL_UNUSED(direction);
    return inverse_mass_of(((const ParticleBalls *)of)->set, place->thing);
}

/* For the rest of the substep it moves with the new velocity. */
static void impulse(void *of, const ContactPlace *place, Vec3 impulse)
{
    const ParticleBalls *balls = of;
    u32 i = place->thing;
    Vec3 change = vec3_scale(impulse, inverse_mass_of(balls->set, i));
    balls->set->velocities[i] = vec3_add(balls->set->velocities[i], change);
    balls->set->positions[i] = vec3_add_scaled(balls->set->positions[i], balls->lag.left, change);
}

const ColliderOps particle_balls_ops = {
    .name = "particles",
    .begin = begin,
    .overlaps = overlaps,
    .take = take,
    .substep_begin = contact_lag_begin,
    .step_end = contact_lag_step,
    .substep_end = contact_lag_end,
    .distance = distance,
    .velocity = velocity,
    .friction = friction,
    .touches = touches,
    .ray = ray_hits,
    .may_meet = may_meet,
    .meet = meet,
    .refresh = refresh,
    .inverse_mass = inverse_mass,
    .impulse = impulse,
};
