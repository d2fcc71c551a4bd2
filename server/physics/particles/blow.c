/* blow.c: drag by media (contact/medium.h). Relative to a medium at rest and under a constant pull
 * a a particle has v' = a − k v: within a tick of t its drag is (1 − exp(−k t)) (u + a / k − v) − a
 * t, exactly, which is spread evenly over the tick; the medium loses exactly that. */
#include "server/physics/particles/particles_internal.h"

#include "shared/math/trig.h"

/* A medium faster than this, m/s, wakes the particles in it. */
static const f32 stirring_m_s = 0.3f;

static f32 drag_of(const Particles *p, const ParticleSystem *system)
{
    return system->def.drag * p->tuning.drag;
}

/* s, the part of the tick in which a particle lives. */
static f32 time_of(const Particles *p, u32 slot)
{
    return f32_max(p->tick_s + f32_min(p->ages[slot], 0.0f), 0.0f);
}

static f32 share_of(f32 drag, f32 s)
{
    return 1.0f - trig_exp_f32(-drag * s);
}

static const Medium *medium_of(const Particles *p, u32 slot, Vec3 *velocity)
{
    return p->alive[slot] ? medium_at(p->media, p->medium_count, p->positions[slot], velocity)
                          : NULL;
}

static void couple(Particles *p, ParticleSystem *system)
{
    f32 k = drag_of(p, system);
    for (u32 i = system->first; i < system->first + system->high; i++) {
        Vec3 velocity;
        const Medium *medium = medium_of(p, i, &velocity);
        p->blown[i] = medium != NULL;
        p->gusts[i] = vec3_zero();
        if (medium != NULL) {
            medium->ops->couple(medium->of, p->positions[i],
                                p->masses[i] * share_of(k, time_of(p, i)));
            system->blown = true;
        }
    }
}

/* The system's own vortices and noise move with the medium. */
static Vec3 air_at(const Particles *p, const ParticleSystem *system, u32 slot, Vec3 velocity)
{
    Vec3 own = particles_air(p, system, p->positions[slot]);
    return vec3_add(velocity, vec3_sub(own, p->wind));
}

static void blow(Particles *p, const ParticleSystem *system)
{
    f32 k = drag_of(p, system);
    Vec3 fall = vec3_scale(p->gravity, system->def.gravity_scale);
    for (u32 i = system->first; i < system->first + system->high; i++) {
        f32 s = time_of(p, i), mass = p->masses[i];
        Vec3 velocity;
        const Medium *medium = p->blown[i] && s > 0.0f ? medium_of(p, i, &velocity) : NULL;
        if (medium == NULL) {
            continue;
        }
        Vec3 a = vec3_add(fall, particles_pull(system, p->positions[i]));
        Vec3 towards = vec3_add_scaled(air_at(p, system, i, velocity), 1.0f / k, a);
        Vec3 change = vec3_scale(vec3_sub(towards, p->velocities[i]), share_of(k, s));
        change = vec3_scale(vec3_add_scaled(change, -s, a),
                            medium->ops->share(medium->of, p->positions[i]));
        if (mass > 0.0f) {
            Vec3 asked = vec3_scale(change, -mass);
            change =
                vec3_scale(medium->ops->impulse(medium->of, p->positions[i], asked), -1.0f / mass);
        }
        p->gusts[i] = vec3_scale(change, 1.0f / s);
    }
}

static bool may_blow(const Particles *p, const ParticleSystem *system)
{
    return p->medium_count > 0 && system->def.behavior != PARTICLE_SWARM &&
           drag_of(p, system) > 1e-6f;
}

static bool is_stirred(const Particles *p, const ParticleSystem *system)
{
    for (u32 i = system->first; i < system->first + system->high; i++) {
        Vec3 velocity;
        if (medium_of(p, i, &velocity) != NULL &&
            vec3_length_squared(velocity) > stirring_m_s * stirring_m_s) {
            return true;
        }
    }
    return false;
}

void particles_set_media(Particles *p, const Medium *media, u32 count)
{
    p->medium_count = u32_min(count, MEDIA_MAX);
    for (u32 i = 0; i < p->medium_count; i++) {
        p->media[i] = media[i];
    }
}

void particles_blow(Particles *p)
{
    for (u32 s = 0; s < p->system_count; s++) {
        ParticleSystem *system = &p->systems[s];
        system->blown = false;
        if (!may_blow(p, system)) {
            continue;
        }
        if (system->state.asleep != 0 && is_stirred(p, system)) {
            particles_wake(p, s);
        }
        if (system->state.asleep == 0) {
            couple(p, system);
        }
    }
    for (u32 s = 0; s < p->system_count; s++) {
        if (p->systems[s].blown) {
            blow(p, &p->systems[s]);
        }
    }
}
