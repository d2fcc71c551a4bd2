/* contact.c: contact of a particle with any other matter in a step. */
#include "server/physics/contact/bodies.h"
#include "server/physics/contact/deep.h"

#include <string.h>

enum {
    LIST_GRAIN = 256 /* contacts of a job */
};

/* Part of the penetration corrected in a step. */
static const f32 apart_part = 0.2f;

void contact_normal(const ContactNormal *of, f32 h, f32 *push, f32 *apart)
{
    /* Outside, the particle may approach as far as the surface; inside, not at all. */
    *push = f32_max(of->approach - f32_max(of->gap, 0.0f) / h, 0.0f);
    /* Depth at the end of the step: the part due to the bias, and a part of the previous depth. */
    f32 depth = h * (of->approach - *push + of->bias) - of->gap;
    f32 old = f32_min(-apart_part * of->gap, CONTACT_APART_M_S * h);
    *apart = f32_max(f32_min(depth, f32_max(old, 0.0f) + f32_max(h * of->bias, 0.0f)), 0.0f);
}

/* ---- rest ---- */

/* Low speed alone does not mean rest: a body that starts to slide, fall or tip is slow, and so
 * is a pendulum at its turning point. A body rests if it stays in place for a time in which the
 * smallest relevant acceleration, this fraction of gravity, would have moved it away, even if it
 * happened to reverse in between; and if it is supported against gravity. */
static const f32 rest_share = 1.0f / 1500.0f;
/* Jointed bodies without contact swing with whatever energy they have. */
static const f32 swing_share = 1.0f / 20000.0f;
static const f32 rest_gravity_m_s2 = 9.81f; /* larger gravity does not increase the tolerance */
static const f32 rest_least_m = CONTACT_REST_LEAST_M;

f32 contact_rest_way(f32 gravity, bool held)
{
    f32 least = (held ? rest_share : swing_share) * f32_min(gravity, rest_gravity_m_s2);
    return f32_max(0.5f * least * CONTACT_REST_S * CONTACT_REST_S, rest_least_m);
}

/* ---- lists of contacts ---- */

static u32 particle_at(const ContactList *list, u32 i)
{
    u32 particle;
    memcpy(&particle, (const char *)list->items + (size_t)i * list->bytes, sizeof particle);
    return particle;
}

/* The first index from `at` at which a new particle begins: moves the ends of a range for one
 * job. */
static u32 boundary(const ContactList *list, u32 at)
{
    while (at > 0 && at < list->fixed && particle_at(list, at - 1) == particle_at(list, at)) {
        at++;
    }
    return at;
}

static void solve_range(const ContactList *list, u32 first, u32 end)
{
    for (u32 i = first; i < end; i++) {
        list->solve(list->context, (char *)list->items + (size_t)i * list->bytes);
    }
}

static void solve_fixed(void *context, u32 first, u32 end, u32 worker)
{
    const ContactList *list = context;
    PL_UNUSED(worker);
    solve_range(list, boundary(list, first), boundary(list, end));
}

void contact_solve_list(ContactList *list, Jobs *jobs)
{
    jobs_run(jobs, list->fixed, LIST_GRAIN, solve_fixed, list);
    solve_range(list, list->fixed, list->count);
}

/* ---- carry ---- */

void contact_lag_begin(void *of, f32 h)
{
    ((ContactLag *)of)->left = h;
}

void contact_lag_step(void *of, f32 h)
{
    ContactLag *lag = of;
    lag->left = f32_max(lag->left - h, 0.0f);
}

void contact_lag_end(void *of)
{
    ((ContactLag *)of)->left = 0.0f;
}

/* ---- a contact ---- */

/* Changes the particle's velocity relative to the place by `speed`, split by inverse mass;
 * returns the impulse, N s. */
static f32 exchange(const Collider *collider, const ContactPlace *place, ContactParticle *particle,
                    Vec3 direction, f32 speed)
{
    f32 inverse_mass = collider->ops->inverse_mass(collider->of, place, direction);
    f32 impulse = speed / (particle->inverse_mass + inverse_mass);
    particle->velocity =
        vec3_add_scaled(particle->velocity, impulse * particle->inverse_mass, direction);
    if (inverse_mass > 0.0f) {
        collider->ops->impulse(collider->of, place, vec3_scale(direction, -impulse));
    }
    return impulse;
}

/* Positional correction along the normal, split by inverse mass. */
static void push_apart(const Collider *collider, ContactPlace *place, ContactParticle *particle,
                       f32 apart)
{
    f32 w = particle->inverse_mass, inverse_mass = 0.0f;
    if (!particle->yields) {
        inverse_mass = collider->ops->inverse_mass(collider->of, place, place->normal);
    }
    Vec3 impulse_m = vec3_scale(place->normal, -apart / (w + inverse_mass));
    particle->position = vec3_add_scaled(particle->position, -w, impulse_m);
    if (inverse_mass > 0.0f) {
        collider->ops->push(collider->of, place, impulse_m, particle);
    }
}

/* Static friction stops the whole slip, kinetic friction as much as the normal impulse allows. */
static void rub(const Collider *collider, const ContactPlace *place, ContactParticle *particle,
                Vec3 slip, f32 push)
{
    f32 slipped = vec3_length(slip);
    if (!(slipped > 1e-6f) || !(push > 0.0f)) {
        return;
    }
    f32 mu = collider->ops->friction(collider->of, place->thing);
    f32 holds = sqrtf(f32_max(particle->friction, particle->static_friction) * mu) * push;
    f32 rubs = sqrtf(particle->friction * mu) * push;
    exchange(collider, place, particle, vec3_scale(slip, -1.0f / slipped),
             slipped <= holds ? slipped : f32_min(slipped, rubs));
}

bool contact_particle(const Collider *collider, u32 thing, ContactParticle *particle, f32 h)
{
    ContactPlace place;
    if (particle->inverse_mass <= 0.0f ||
        !collider->ops->meet(collider->of, thing, particle, h, &place)) {
        return false;
    }
    Vec3 normal = place.normal, against = vec3_sub(particle->velocity, place.velocity);
    f32 depth = particle->radius - place.distance, approach = -vec3_dot(against, normal);
    if (approach > CONTACT_WAKE_M_S && collider->ops->wake != NULL) {
        collider->ops->wake(collider->of, thing);
    }
    f32 closing = -vec3_dot(vec3_sub(particle->velocity, place.moving), normal);
    f32 push, apart = 0.0f;
    if (particle->stiffness > 0.0f) { /* XPBD of a spring k d² / 2 (Macklin 2016, eq. 18) */
        f32 w = particle->inverse_mass + collider->ops->inverse_mass(collider->of, &place, normal);
        push = depth * w / (h * (w + 1.0f / (particle->stiffness * h * h)));
    } else {
        ContactNormal of = {h * closing - depth, approach, closing - approach};
        contact_normal(&of, h, &push, &apart);
        if (-of.gap > particle->radius) {
            apart = contact_deep_apart(&of, approach, apart, h);
        }
    }
    if (push > 0.0f) {
        particle->pressed = exchange(collider, &place, particle, normal, push);
        particle->normal = normal;
    }
    if (apart > 0.0f && !place.keeps) {
        push_apart(collider, &place, particle, apart);
    }
    Vec3 slip = vec3_add_scaled(against, approach, normal);
    slip = vec3_add_scaled(slip, -vec3_dot(slip, place.free), place.free);
    rub(collider, &place, particle, slip, push);
    return true;
}
