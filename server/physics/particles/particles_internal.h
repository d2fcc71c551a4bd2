/*
 * particles_internal.h: the store of particle systems, for the files of this folder.
 * Layer: server/physics/particles, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_PARTICLES_PARTICLES_INTERNAL_H
#define PLENUM_SERVER_PHYSICS_PARTICLES_PARTICLES_INTERNAL_H

#include "server/physics/contact/particles.h"
#include "server/physics/particles/flock.h"
#include "server/physics/particles/gravity.h"
#include "server/physics/particles/particles.h"
#include "server/physics/particles/swarm.h"
#include "shared/math/random.h"

enum {
    PARTICLES_GRAIN = 1024, /* slots of one job */
    PARTICLES_BUNCHES = 8,  /* bunches of one job */
    PARTICLES_ASKED = 32,   /* particles of which the distances are asked at once */
    COLLIDERS_MAX = 16,
};

/* Accuracy of the place of contact. */
#define PARTICLE_PLACE_M 1e-5f

/* State of a system that survives a tick, besides its slots. */
typedef struct SystemState {
    EmitterState emitter;
    f64 swarm_s; /* since the last iteration of a swarm */
    u64 company; /* of a sleeping system: hash of its forces and surroundings */
    u32 cursor;  /* slot after the last one filled, from `first` */
    u32 alive;
    f32 rest_s; /* since all its particles are still */
    u32 asleep;
} SystemState;

typedef struct ParticleSystem {
    ParticlesDef def; /* forces and starts point into the copies below */
    Emitter emitter;
    ParticleForce forces[PARTICLE_FORCES_MAX];
    ParticleStart *starts;
    u32 first, count; /* slots */
    u32 high;         /* one more than the last slot ever used, from `first` */
    SystemState state;
    Vec3 predator;
    Swarm swarm;
    Bounds rest_bounds; /* m, of the particles of a sleeping system, if: */
    bool bounds_known;
    bool blown; /* some of it is in a medium in this tick */
} ParticleSystem;

/* A particle that appears within the tick. */
typedef struct Newborn {
    u32 slot;
    f32 born_s; /* since the start of the tick */
    Vec3 position, velocity;
} Newborn;

/* Particles of one cell with the things that they may touch in this tick. */
typedef struct NearBunch {
    u32 first, count; /* in `near` */
    u32 first_thing, thing_count;
    f32 fastest_m_s; /* of the things that move, with a margin */
    bool moves;      /* some of the things may move */
} NearBunch;

/* A cell of particles of one system. */
typedef struct Bin {
    f32 fastest2; /* m²/s² */
    u32 count;
    u32 next; /* place in `near` of its next particle; UINT32_MAX: none is near anything */
} Bin;

typedef struct NearThing {
    u32 collider, thing;
    bool moves;
} NearThing;

/* A block of cells with what is near it. */
typedef struct NearBlock {
    Bin all;          /* greatest speed and number of its particles */
    u32 first, count; /* in `found` */
    u32 first_bin;    /* of its cells, if anything is near */
    bool crowded;     /* near more than is listed: its cells search alone */
    bool near;        /* something is */
} NearBlock;

/* A particle of a bunch and where its substep began. */
typedef struct NearParticle {
    u32 slot;
    f32 clear_m; /* path length that it may still travel before it could touch anything */
    bool rests;  /* on one thing that does not move, along: */
    Vec3 normal;
    Vec3 position, velocity;
} NearParticle;

struct Particles {
    /* [capacity] by slot; those of free slots are zero but for the generation */
    Vec3 *positions;  /* m */
    Vec3 *velocities; /* m/s */
    f32 *ages;        /* s */
    f32 *lifetimes;   /* s; 0: forever */
    f32 *masses;      /* kg */
    u16 *generations; /* counts reuse; never 0 once used */
    u8 *alive;
    u8 *system_of; /* the slot's system */
    u32 slots, capacity;
    ParticleSystem *systems;
    u32 system_count, system_capacity;
    Vec3 gravity, wind;
    Bounds bounds;
    ParticleTuning tuning;
    f64 time_s;
    ParticleGrab *grabs;
    u32 grab_end;
    /* ---- of the tick ---- */
    Jobs *jobs;
    f32 tick_s, elapsed_s;
    Collider colliders[COLLIDERS_MAX];
    u32 collider_count;
    Newborn *newborn;
    u32 newborn_count, newborn_capacity;
    Bin *bins;
    u32 bin_capacity;
    u32 *bin_of;       /* [capacity] in the search: block and cell of it, then the bin */
    Vec3 *live_places; /* [live_count] of particles that may collide */
    u32 *live_slots;
    u32 live_count, live_capacity;
    NearBunch *bunches;
    u32 bunch_count, bunch_capacity;
    NearThing *things;
    u32 thing_count, thing_capacity;
    NearBlock *blocks;
    u32 block_capacity;
    NearThing *found; /* of blocks */
    u32 found_count, found_capacity;
    NearParticle *near;
    u32 *near_slots;  /* [near_capacity] of what shares a cell with something, */
    f32 *near_speeds; /* m/s; their places are in live_places */
    u32 near_count, near_capacity;
    ParticleContacts sleepers; /* search for things to wake */
    Vec3 *live_velocities;     /* [live_count] */
    /* ---- mutual ---- */
    Gravity gravity_tree;
    Vec3 *mutual_places, *mutual_pulls, *mutual_second; /* [mutual_count] */
    f32 *mutual_masses;
    u32 *mutual_slots;
    u32 mutual_count, mutual_capacity;
    Vec3 *extra;  /* [capacity] m/s², of what depends on other particles, at the start */
    Vec3 *middle; /* and at the middle of a step */
    Vec3 *gusts;  /* [capacity] m/s² in this tick, of systems in a medium */
    u8 *blown;    /* [capacity] in a medium */
    Medium media[MEDIA_MAX];
    u32 medium_count;
    Flock flock;
};

/* blow.c: drag of this tick by media. */
void particles_blow(Particles *particles);
/* force.c: m/s of the air, and the acceleration of a system's forces without air. */
Vec3 particles_air(const Particles *particles, const ParticleSystem *system, Vec3 position);
Vec3 particles_pull(const ParticleSystem *system, Vec3 position);
/* m²/s² per kg: potential of the attractors. */
f64 particles_potential(const ParticleSystem *system, Vec3 position);

/* check.c: 0, or ERROR_RANGE with a text that names the member. */
int particles_check(const ParticlesDef *def, ErrorText *error);

/* integrate.c: moves all particles of all systems by a step of h s, freely. */
void particles_integrate(Particles *particles, f32 h);

/* sleep.c: after the emission of a tick wakes systems that something touches; at its end puts those
 * that rest to sleep. */
void particles_wake(Particles *particles, u32 system);
void particles_wake_touched(Particles *particles);
void particles_fall_asleep(Particles *particles);
/* Slower than any force would make it in a tick. */
static inline bool particle_is_still(Vec3 velocity)
{
    return vec3_length_squared(velocity) <= 1e-10f;
}

/* search.c: bunches of the tick, with what they may touch. */
void particles_find_near(Particles *particles);
/* bounce.c: impacts. */
/* Adds to the accelerations of flocks: away from what is near. */
void particles_avoid(Particles *particles);
void particles_bounce_begin(Particles *particles);  /* before integration */
void particles_bounce(Particles *particles, f32 h); /* after it */

/* m; the largest of a system: radius + radius_spread. */
static inline f32 particles_radius_of(const Particles *p, const ParticlesDef *def, u32 slot)
{
    if (!(def->radius_spread > 0.0f)) {
        return def->radius;
    }
    f32 spread = def->radius_spread / def->radius;
    return def->radius * random_point_size(p->generations[slot], slot, spread);
}

/* Whether its particles attract each other. */
static inline bool particles_mutual(const ParticleSystem *system)
{
    return system->def.gravitation > 0.0f;
}

#endif
