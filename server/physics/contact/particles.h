/*
 * particles.h: what every particle solver does about other matter: which particle may meet which
 * thing in a tick, contact in a step, the others brought along; and the particles offered to others
 * as balls.
 *
 * A tick of a solver: particle_contacts_stir (in stir), particle_contacts_begin (in begin); in each
 * substep particle_contacts_substep, then for each of its steps particle_contacts_step, what acts
 * on the particles by themselves, particle_contacts_solve, and positions move on by h velocity;
 * after the last particle_contacts_end.
 * Layer: server/physics/contact.
 */
#ifndef PLENUM_SERVER_PHYSICS_CONTACT_PARTICLES_H
#define PLENUM_SERVER_PHYSICS_CONTACT_PARTICLES_H

#include "server/physics/contact/cells.h"
#include "server/physics/contact/contact.h"

enum {
    PARTICLE_COLLIDERS_MAX = 16
};

/* Particles of one kind: arrays of their solver. */
typedef struct ParticleSet {
    Vec3 *positions;           /* [count] m */
    Vec3 *velocities;          /* [count] m/s */
    const f32 *inverse_masses; /* [count] 1/kg, 0: fixed; NULL: all the same */
    f32 inverse_mass;          /* 1/kg */
    u32 count;
    f32 radius; /* m */
    f32 friction, static_friction;
    f32 stiffness;   /* N/m of contacts, 0: hard */
    bool swept;      /* nothing thin is passed within a step */
    u32 group, mask; /* as of bodies; 0: 1 and all */
} ParticleSet;

/* A particle that may meet a thing in this tick. */
typedef struct ParticlePair {
    u32 particle, collider, thing;
    u16 moves;   /* the thing may */
    u16 near;    /* in this substep */
    f32 pressed; /* N s, in this step, along: */
    Vec3 normal; /* from the thing */
} ParticlePair;

/* Nothing in it outlives a tick. Zeroed it is ready. */
typedef struct ParticleContacts {
    Collider colliders[PARTICLE_COLLIDERS_MAX]; /* of this tick */
    u32 collider_count;
    Cells cells;
    ParticlePair *pairs; /* by particle */
    ParticlePair
        *near; /* of this substep, with the same room: first what meets nothing that moves */
    u32 count, capacity, near_count, near_fixed;
    Jobs *jobs;
    f32 tick_s;
} ParticleContacts;

void particle_contacts_finish(ParticleContacts *contacts);

/* Wakes what the particles hit in the coming tick of tick_s, for things that cannot wake within
 * it. */
void particle_contacts_stir(ParticleContacts *contacts, const ParticleSet *set,
                            const Collider *colliders, u32 count, f32 tick_s);
/* Finds the pairs of a tick. The colliders' own tables are made; they are copied. Without memory
 * some pairs are missing. */
void particle_contacts_begin(ParticleContacts *contacts, const ParticleSet *set,
                             const Collider *colliders, u32 count, f32 tick_s, Jobs *jobs);
/* Before the steps of a substep of h s. */
void particle_contacts_substep(ParticleContacts *contacts, const ParticleSet *set, f32 h);
/* Before a step of h s. */
void particle_contacts_step(ParticleContacts *contacts, f32 h);
/* Contact in the step: changes velocities, and positions of what is pushed apart. Then the others
 * move on. */
void particle_contacts_solve(ParticleContacts *contacts, const ParticleSet *set, f32 h);
/* After the last step of a substep. */
void particle_contacts_end(ParticleContacts *contacts);

/* ---- particles as what others meet: balls without spin, so they do not rub ---- */

typedef struct ParticleBalls {
    const ParticleSet *set; /* borrowed */
    Cells cells;
    f32 fastest; /* m/s, of any at the start of the tick */
    f32 tick_s;
    f32 left; /* s of the substep, by which the particles are ahead of who meets them */
} ParticleBalls;

extern const ColliderOps particle_balls_ops;

static inline Collider particle_balls(ParticleBalls *balls)
{
    return (Collider){&particle_balls_ops, balls};
}
void particle_balls_finish(ParticleBalls *balls);

#endif
