/* particles.c: contact of any solver's particles with colliders. */
#include "server/physics/contact/particles.h"

#include "shared/base/check.h"
#include "shared/base/memory.h"

#include <stdlib.h>

enum {
    THINGS_MAX = 1024, /* of one collider, near one cell of particles */
    GRAIN = 128,
};

/* Speed that a particle may gain within a tick and within a substep. */
static const f32 margin_m_s = 2.0f;
/* Size of the cells whose particles share one search, in radii. */
static const f32 cell_radii = 4.0f;

void particle_contacts_finish(ParticleContacts *contacts)
{
    cells_finish(&contacts->cells);
    free(contacts->pairs);
    free(contacts->near);
    *contacts = (ParticleContacts){0};
}

static f32 inverse_mass_of(const ParticleSet *set, u32 i)
{
    return set->inverse_masses != NULL ? set->inverse_masses[i] : set->inverse_mass;
}

/* ---- search ---- */

static bool reserve(ParticleContacts *contacts, u32 count)
{
    u32 near = contacts->capacity;
    return memory_grow((void **)&contacts->pairs, &contacts->capacity, count,
                       sizeof *contacts->pairs) &&
           memory_grow((void **)&contacts->near, &near, count, sizeof *contacts->near);
}

/* Particles of one cell, which query the colliders once. */
typedef struct Bunch {
    const u32 *particles; /* [count] */
    u32 count;
    Bounds bounds; /* m, of their possible positions within the tick */
} Bunch;

static bool next_bunch(const Cells *cells, const ParticleSet *set, f32 tick_s, Bunch *bunch)
{
    u32 first =
        bunch->particles == NULL ? 0 : (u32)(bunch->particles - cells->order) + bunch->count;
    if (first == cells->count) {
        return false;
    }
    u32 end = first;
    Vec3 at = cells->places[first];
    Bounds bounds = {at, at};
    f32 fastest = 0.0f;
    for (; end < cells->count && cells->keys[end] == cells->keys[first]; end++) {
        bounds.min = vec3_min(bounds.min, cells->places[end]);
        bounds.max = vec3_max(bounds.max, cells->places[end]);
        fastest = f32_max(fastest, vec3_length_squared(set->velocities[cells->order[end]]));
    }
    f32 margin = set->radius + (sqrtf(fastest) + margin_m_s) * tick_s;
    Vec3 grow = vec3(margin, margin, margin);
    *bunch = (Bunch){cells->order + first,
                     end - first,
                     {vec3_sub(bounds.min, grow), vec3_add(bounds.max, grow)}};
    return true;
}

static bool sort_particles(ParticleContacts *contacts, const ParticleSet *set)
{
    if (!cells_reserve(&contacts->cells, set->count)) {
        contacts->cells.count = 0;
        return false;
    }
    f32 size = f32_max(cell_radii * set->radius, 1e-3f);
    cells_build(&contacts->cells, set->positions, sizeof *set->positions, set->count, size,
                contacts->jobs);
    return true;
}

static ContactParticle particle_of(const ParticleSet *set, u32 i)
{
    return (ContactParticle){.position = set->positions[i],
                             .velocity = set->velocities[i],
                             .inverse_mass = inverse_mass_of(set, i),
                             .radius = set->radius,
                             .swept = set->swept,
                             .friction = set->friction,
                             .static_friction = set->static_friction,
                             .stiffness = set->stiffness};
}

static bool may_meet(const Collider *collider, u32 thing, const ParticleSet *set, u32 i, f32 h)
{
    ContactParticle particle = particle_of(set, i);
    return collider->ops->may_meet(collider->of, thing, &particle, h);
}

static void wake_near(const Collider *collider, const ParticleSet *set, const Bunch *bunch,
                      f32 tick_s)
{
    const ColliderOps *ops = collider->ops;
    u32 things[THINGS_MAX];
    u32 found =
        ops->overlaps(collider->of, bunch->bounds, set->group, set->mask, things, THINGS_MAX);
    for (u32 t = 0; t < found; t++) {
        for (u32 i = 0; i < bunch->count && ops->asleep(collider->of, things[t]); i++) {
            u32 particle = bunch->particles[i];
            if (vec3_length(set->velocities[particle]) > CONTACT_WAKE_M_S &&
                may_meet(collider, things[t], set, particle, tick_s)) {
                ops->wake(collider->of, things[t]);
            }
        }
    }
}

void particle_contacts_stir(ParticleContacts *contacts, const ParticleSet *set,
                            const Collider *colliders, u32 count, f32 tick_s)
{
    contacts->jobs = NULL;
    if (set->count == 0 || !sort_particles(contacts, set)) {
        return;
    }
    for (u32 c = 0; c < count; c++) {
        const Collider *collider = &colliders[c];
        const ColliderOps *ops = collider->ops;
        if (ops->asleep == NULL || !ops->asleep(collider->of, CONTACT_ANY)) {
            continue;
        }
        ops->begin(collider->of, NULL, tick_s);
        Bunch bunch = {0};
        while (next_bunch(&contacts->cells, set, tick_s, &bunch)) {
            wake_near(collider, set, &bunch, tick_s);
        }
    }
}

static void add_pairs(ParticleContacts *contacts, const ParticleSet *set, const Bunch *bunch)
{
    u32 things[PARTICLE_COLLIDERS_MAX * THINGS_MAX], first[PARTICLE_COLLIDERS_MAX + 1] = {0};
    for (u32 c = 0; c < contacts->collider_count; c++) {
        const Collider *collider = &contacts->colliders[c];
        first[c + 1] = first[c] + collider->ops->overlaps(collider->of, bunch->bounds, set->group,
                                                          set->mask, things + first[c], THINGS_MAX);
    }
    u32 all = first[contacts->collider_count];
    for (u32 i = 0; i < bunch->count && all != 0; i++) {
        if (!reserve(contacts, contacts->count + all)) {
            return;
        }
        u32 particle = bunch->particles[i];
        for (u32 c = 0; c < contacts->collider_count; c++) {
            const Collider *collider = &contacts->colliders[c];
            for (u32 t = first[c]; t < first[c + 1]; t++) {
                if (may_meet(collider, things[t], set, particle, contacts->tick_s)) {
                    bool moves = collider->ops->take(collider->of, things[t]);
                    contacts->pairs[contacts->count++] = (ParticlePair){
                        .particle = particle, .collider = c, .thing = things[t], .moves = moves};
                }
            }
        }
    }
}

void particle_contacts_begin(ParticleContacts *contacts, const ParticleSet *set,
                             const Collider *colliders, u32 count, f32 tick_s, Jobs *jobs)
{
    CHECK(tick_s > 0.0f && (count == 0 || colliders != NULL));
    contacts->collider_count = u32_min(count, PARTICLE_COLLIDERS_MAX);
    contacts->count = contacts->near_count = contacts->near_fixed = 0;
    contacts->jobs = jobs;
    contacts->tick_s = tick_s;
    for (u32 c = 0; c < contacts->collider_count; c++) {
        contacts->colliders[c] = colliders[c];
        colliders[c].ops->begin(colliders[c].of, jobs, tick_s);
    }
    if (set->count == 0 || !reserve(contacts, set->count) || !sort_particles(contacts, set)) {
        return;
    }
    Bunch bunch = {0};
    while (next_bunch(&contacts->cells, set, tick_s, &bunch)) {
        add_pairs(contacts, set, &bunch);
    }
}

/* ---- substeps ---- */

typedef struct ParticlePass {
    ParticleContacts *contacts;
    const ParticleSet *set;
    f32 h; /* s */
} ParticlePass;

static void measure(void *context, u32 first, u32 end, u32 worker)
{
    const ParticlePass *pass = context;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        ParticlePair *pair = &pass->contacts->pairs[i];
        pair->near = may_meet(&pass->contacts->colliders[pair->collider], pair->thing, pass->set,
                              pair->particle, pass->h);
    }
}

void particle_contacts_substep(ParticleContacts *contacts, const ParticleSet *set, f32 h)
{
    for (u32 c = 0; c < contacts->collider_count; c++) {
        contacts->colliders[c].ops->substep_begin(contacts->colliders[c].of, h);
    }
    CHECK(h > 0.0f);
    ParticlePass pass = {contacts, set, h};
    jobs_run(contacts->jobs, contacts->count, GRAIN, measure, &pass);
    contacts->near_count = 0;
    for (u16 moves = 0; moves < 2; moves++) {
        for (u32 i = 0; i < contacts->count; i++) {
            if (contacts->pairs[i].near != 0 && contacts->pairs[i].moves == moves) {
                contacts->near[contacts->near_count++] = contacts->pairs[i];
            }
        }
        contacts->near_fixed = moves == 0 ? contacts->near_count : contacts->near_fixed;
    }
    CHECK(contacts->near_fixed <= contacts->near_count && contacts->near_count <= contacts->count);
}

void particle_contacts_step(ParticleContacts *contacts, f32 h)
{
    for (u32 c = 0; c < contacts->collider_count; c++) {
        collider_step_begin(&contacts->colliders[c], h);
    }
}

static void solve(void *context, void *item)
{
    const ParticlePass *pass = context;
    const ParticleSet *set = pass->set;
    ParticlePair *pair = item;
    u32 i = pair->particle;
    ContactParticle particle = particle_of(set, i);
    pair->pressed = 0.0f;
    if (contact_particle(&pass->contacts->colliders[pair->collider], pair->thing, &particle,
                         pass->h)) {
        set->positions[i] = particle.position;
        set->velocities[i] = particle.velocity;
        pair->pressed = particle.pressed;
        pair->normal = particle.normal;
    }
}

void particle_contacts_solve(ParticleContacts *contacts, const ParticleSet *set, f32 h)
{
    ParticlePass pass = {contacts, set, h};
    ContactList list = {.items = contacts->near,
                        .bytes = sizeof *contacts->near,
                        .count = contacts->near_count,
                        .fixed = contacts->near_fixed,
                        .solve = solve,
                        .context = &pass};
    contact_solve_list(&list, contacts->jobs);
    for (u32 c = 0; c < contacts->collider_count; c++) {
        contacts->colliders[c].ops->step_end(contacts->colliders[c].of, h);
    }
}

void particle_contacts_end(ParticleContacts *contacts)
{
    for (u32 c = 0; c < contacts->collider_count; c++) {
        contacts->colliders[c].ops->substep_end(contacts->colliders[c].of);
    }
}
