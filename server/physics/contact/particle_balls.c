/* particle_balls.c: particles as colliders. They have no spin, so impulses act through both
 * centres. */
#include "server/physics/contact/distance.h"
#include "server/physics/contact/particles.h"

void particle_balls_finish(ParticleBalls *balls)
{
    cells_finish(&balls->cells);
    *balls = (ParticleBalls){0};
}

/* Position of a particle at the time of the other party's step. */
static Vec3 place_of(const ParticleBalls *balls, u32 i)
{
    return vec3_add_scaled(balls->set->positions[i], -balls->lag.left, balls->set->velocities[i]);
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
    u32 own_group = set->group != 0 ? set->group : 1, own_mask = set->mask != 0 ? set->mask : ~0u;
    if ((own_group & (mask != 0 ? mask : ~0u)) == 0 ||
        ((group != 0 ? group : 1u) & own_mask) == 0) {
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
    const ParticleBalls *balls = of;
    Vec3 off = vec3_sub(point, place_of(balls, thing));
    PL_UNUSED(reach);
    *normal = vec3_normalize_or(off, vec3(0.0f, 1.0f, 0.0f));
    return vec3_length(off) - balls->set->radius;
}

static Vec3 velocity(const void *of, u32 thing, Vec3 point)
{
    PL_UNUSED(point);
    return ((const ParticleBalls *)of)->set->velocities[thing];
}

static bool touches(const void *of, u32 thing, const struct ShapePose *shape)
{
    const ParticleBalls *balls = of;
    f32 radius = balls->set->radius;
    Vec3 normal;
    return contact_distance(shape, place_of(balls, thing), radius, &normal) < radius;
}

static bool ray_hits(const void *of, u32 thing, Ray ray, f32 max, f32 *distance, Vec3 *normal)
{
    const ParticleBalls *balls = of;
    Shape ball = {.kind = SHAPE_SPHERE, .radius = balls->set->radius};
    return shape_ray(&ball, place_of(balls, thing), quat_identity(), ray, max, distance, normal);
}

static f32 friction(const void *of, u32 thing)
{
    PL_UNUSED(of);
    PL_UNUSED(thing);
    return 0.0f;
}

static bool may_meet(const void *of, u32 thing, const ContactParticle *particle, f32 h)
{
    Vec3 normal, moving = velocity(of, thing, particle->position);
    f32 speed = vec3_distance(moving, particle->velocity);
    return distance(of, thing, particle->position, INFINITY, &normal) <
           particle->radius + (speed + CONTACT_MARGIN_M_S) * h;
}

static bool meet(const void *of, u32 thing, const ContactParticle *particle, f32 h,
                 ContactPlace *place)
{
    const ParticleBalls *balls = of;
    f32 gap = distance(of, thing, particle->position, INFINITY, &place->normal);
    place->thing = thing;
    place->velocity = place->moving = balls->set->velocities[thing];
    place->free = vec3_zero();
    place->keeps = true;
    Vec3 against = vec3_sub(particle->velocity, place->velocity);
    place->distance = gap + h * vec3_dot(against, place->normal);
    return place->distance < particle->radius;
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
    .inverse_mass = inverse_mass,
    .impulse = impulse,
};
