/* sleep.c: a system whose particles all rest is not simulated: it is not searched or moved (only
 * lifetimes continue) until it emits, is grabbed or pushed, its forces change, or its surroundings
 * change: the set and poses of the immovable things in its bounds. Moving things wake it when they
 * come near a particle. */
#include "server/physics/particles/particles_internal.h"
#include "shared/base/check.h"

#include "shared/base/hash.h"
#include "shared/base/limits.h"

enum {
    COMPANY_MAX = 256 /* things around a system; one with more stays awake */
};

/* Rest of all particles after which a system sleeps, s. */
static const f32 rest_s = 0.5f;
/* A moving thing wakes it within this distance plus its motion in a tick, m. */
static const f32 near_m = 0.05f;
static const f32 still_m_s = 1e-3f;

/* Could it ever sleep? A system driven by other particles cannot. */
static bool may_sleep(const Particles *p, const ParticleSystem *system)
{
    bool held = false;
    for (u32 g = 0; g < p->grab_end && !held; g++) {
        u32 i = p->grabs[g].particle;
        held = p->grabs[g].live != 0 && i >= system->first && i < system->first + system->count;
    }
    bool blown = system->def.noise > 0.0f && system->def.drag > 0.0f; /* which changes in time */
    return system->def.behavior == PARTICLE_FREE && !particles_mutual(system) && !held && !blown;
}

static bool all_still(const Particles *p, const ParticleSystem *system)
{
    for (u32 i = system->first; i < system->first + system->high; i++) {
        if (p->alive[i] && !particle_is_still(p->velocities[i])) {
            return false;
        }
    }
    return true;
}

static void measure_bounds(const Particles *p, ParticleSystem *system)
{
    f32 far = 2.0f * WORLD_EXTENT_MAX_M;
    Vec3 low = vec3(far, far, far), high = vec3(-far, -far, -far);
    for (u32 i = system->first; i < system->first + system->high; i++) {
        if (p->alive[i]) {
            low = vec3_min(low, p->positions[i]);
            high = vec3_max(high, p->positions[i]);
        }
    }
    system->rest_bounds = (Bounds){low, high};
    system->bounds_known = true;
}

/* Is a moving thing near a particle? */
static bool comes_near(Particles *p, const ParticleSystem *system, const Collider *other, u32 thing)
{
    const ParticlesDef *def = &system->def;
    for (u32 i = system->first; i < system->first + system->high; i++) {
        if (!p->alive[i]) {
            continue;
        }
        Vec3 normal, x = p->positions[i];
        f32 reach = def->radius + def->radius_spread + near_m;
        f32 apart = other->ops->distance(other->of, thing, x, reach + 1.0f, &normal);
        if (apart < reach + 1.0f) {
            f32 speed = vec3_length(other->ops->velocity(other->of, thing, x));
            if (apart < reach + 2.0f * speed * p->tick_s) {
                return true;
            }
        }
    }
    return false;
}

/* Hashes the forces on a system, and the immovable things around it. False: a moving thing is near,
 * or there are too many things. */
static bool look_about(Particles *p, ParticleSystem *system, u64 *hash)
{
    u32 found[COMPANY_MAX];
    const f32 forces[7] = {p->gravity.x, p->gravity.y, p->gravity.z,  p->wind.x,
                           p->wind.y,    p->wind.z,    p->tuning.drag};
    *hash = hash_bytes(forces, sizeof forces, 0);
    if (!system->bounds_known) {
        measure_bounds(p, system);
    }
    f32 reach = system->def.radius + system->def.radius_spread + near_m;
    Vec3 r = vec3(reach, reach, reach);
    Bounds box = {vec3_sub(system->rest_bounds.min, r), vec3_add(system->rest_bounds.max, r)};
    Vec3 middle = vec3_scale(vec3_add(box.min, box.max), 0.5f);
    f32 far = vec3_distance(box.min, box.max);
    for (u32 c = 0; c < p->collider_count && system->def.collide; c++) {
        const Collider *other = &p->colliders[c];
        u32 count = other->ops->overlaps(other->of, box, system->def.group, system->def.mask, found,
                                         COMPANY_MAX);
        if (count >= COMPANY_MAX) {
            return false;
        }
        for (u32 t = 0; t < count; t++) {
            Vec3 v = other->ops->velocity(other->of, found[t], middle), normal;
            if (vec3_length_squared(v) > still_m_s * still_m_s) {
                if (comes_near(p, system, other, found[t])) {
                    return false;
                }
                continue;
            }
            struct {
                u32 collider, thing;
                f32 distance;
            } here = {c, found[t], 0.0f};
            here.distance = other->ops->distance(other->of, found[t], middle, far, &normal);
            *hash = hash_bytes(&here, sizeof here, *hash + 1);
        }
    }
    return true;
}

void particles_wake(Particles *p, u32 index)
{
    CHECK(index < p->system_count);
    ParticleSystem *system = &p->systems[index];
    system->state.asleep = 0;
    system->state.rest_s = 0.0f;
    system->bounds_known = false;
}

void particles_wake_touched(Particles *p)
{
    for (u32 s = 0; s < p->system_count; s++) {
        ParticleSystem *system = &p->systems[s];
        u64 company;
        if (system->state.asleep == 0 || system->state.alive == 0) {
            continue;
        }
        if (!look_about(p, system, &company) || company != system->state.company) {
            particles_wake(p, s);
        }
    }
}

void particles_fall_asleep(Particles *p)
{
    for (u32 s = 0; s < p->system_count; s++) {
        ParticleSystem *system = &p->systems[s];
        if (system->state.asleep != 0) {
            continue;
        }
        if (!may_sleep(p, system) || !all_still(p, system)) {
            system->state.rest_s = 0.0f;
            continue;
        }
        system->state.rest_s += p->tick_s;
        system->bounds_known = false;
        if (system->state.rest_s >= rest_s && look_about(p, system, &system->state.company)) {
            system->state.asleep = 1;
        }
    }
}
