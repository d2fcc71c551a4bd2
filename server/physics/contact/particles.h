/*
 * particles.h: contact of any particle solver with other matter: candidate pairs of a tick, contact
 * in a step, carrying the others along; and the particles as colliders (balls).
 *
 * A tick of a solver: particle_contacts_stir (in stir), particle_contacts_begin (in begin); in each
 * substep particle_contacts_substep, then for each of its steps particle_contacts_step, the
 * solver's own forces and constraints, particle_contacts_solve, and positions move by h velocity;
 * after the last step particle_contacts_end.
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
    bool swept;      /* collides with anything thin in its path within a step */
    u32 group, mask; /* as for bodies; 0: 1 and all */
} ParticleSet;

/* A particle that may touch a thing in this tick. */
typedef struct ParticlePair {
    u32 particle, collider, thing;
    u16 moves;   /* the thing may move */
    u16 near;    /* in this substep */
    f32 pressed; /* N s, in this step, along: */
    Vec3 normal; /* from the thing */
} ParticlePair;

/* Scratch memory of a tick. Zeroed it is valid. */
typedef struct ParticleContacts {
    Collider colliders[PARTICLE_COLLIDERS_MAX]; /* of this tick */
    u32 collider_count;
    Cells cells;
    ParticlePair *pairs; /* by particle */
    ParticlePair *near;  /* of this substep, same capacity: those with static things first */
    u32 count, capacity, near_count, near_fixed;
    Jobs *jobs;
    f32 tick_s;
} ParticleContacts;

/* Frees all; zeroed, it can be used again. */
void particle_contacts_finish(ParticleContacts *contacts);

/* Wakes things that the particles will hit in the coming tick of tick_s, for things that cannot
 * wake within it. */
void particle_contacts_stir(ParticleContacts *contacts, const ParticleSet *set,
                            const Collider *colliders, u32 count, f32 tick_s);
/* Finds the pairs of a tick. The colliders' begin must have run; they are copied. Out of memory,
 * some pairs are missing. */
void particle_contacts_begin(ParticleContacts *contacts, const ParticleSet *set,
                             const Collider *colliders, u32 count, f32 tick_s, Jobs *jobs);
/* Before the steps of a substep of h s. */
void particle_contacts_substep(ParticleContacts *contacts, const ParticleSet *set, f32 h);
/* Before a step of h s. */
void particle_contacts_step(ParticleContacts *contacts, f32 h);
/* Solves contact in the step: changes velocities, and positions by correction. Then the
 * colliders move. */
void particle_contacts_solve(ParticleContacts *contacts, const ParticleSet *set, f32 h);
/* After the last step of a substep. */
void particle_contacts_end(ParticleContacts *contacts);

/* ---- particles as colliders: balls that do not rotate, so contact friction does not spin them
 * ---- */

typedef struct ParticleBalls {
    ContactLag lag;
    const ParticleSet *set; /* borrowed */
    Cells cells;
    f32 fastest; /* m/s, largest speed at the start of the tick */
    f32 tick_s;
} ParticleBalls;

extern const ColliderOps particle_balls_ops;

/* The balls as a collider; borrowed. */
static inline Collider particle_balls(ParticleBalls *balls)
{
    return (Collider){&particle_balls_ops, balls};
}
void particle_balls_finish(ParticleBalls *balls);

#endif
