/*
 * particles.h: particle systems: emitters, forces, selectable integrators, impacts at the time of
 * contact with all other matter, mutual gravitation, flocks, swarms. All systems share one store;
 * each owns a contiguous range of slots. A slot is free or holds a particle, and its generation
 * changes with each reuse.
 *
 * A tick: particles_stir, particles_begin (particles appear), particles_substep for each substep,
 * particles_end (age, death). Units SI, world axes. No allocation in a tick unless the number of
 * things near particles grows.
 * Layer: server/physics/particles.
 */
#ifndef PLENUM_SERVER_PHYSICS_PARTICLES_PARTICLES_H
#define PLENUM_SERVER_PHYSICS_PARTICLES_PARTICLES_H

#include "server/physics/contact/contact.h"
#include "server/physics/contact/medium.h"
#include "server/physics/particles/emitter.h"
#include "server/physics/state.h"

typedef struct Particles Particles;

enum {
    PARTICLE_SLOT_ALIGN = 8, /* slots of a system begin at multiples: whole vectors */
    PARTICLE_SYSTEMS_MAX = 256,
    PARTICLE_FORCES_MAX = 16, /* of a system */
    PARTICLE_GRABS_MAX = 1024,
};

/* The options of shared/rows/particle_force.def, in SI units. The axis is a unit vector. */
typedef struct ParticleForce {
#define MEMBER(type, name) type name;
#include "shared/rows/particle_force.def"
} ParticleForce;

/* A particle at the start, with the lifetime of its system. */
typedef struct ParticleStart {
#define MEMBER(type, name) type name;
#include "shared/rows/particle_start.def"
} ParticleStart;

/* The options of shared/rows/particles.def, in SI units and radians. */
typedef struct ParticlesDef {
#define SOLVER_ROWS
#define MEMBER(type, name) type name;
#include "shared/rows/particles.def"
    Shape shape;                 /* of the emitter; SHAPE_NONE: a point. Its geometry is borrowed */
    const ParticleForce *forces; /* [force_count] */
    const ParticleStart *starts; /* [start_count], at most `count` */
    u32 force_count, start_count;
    u64 seed;
} ParticlesDef;

/* A grab: a damped spring that accelerates a particle towards a target. */
typedef struct ParticleGrab {
    u32 particle;
    u32 live;
    Vec3 target;   /* m */
    f32 stiffness; /* 1/s² */
    f32 damping;   /* 1/s */
    f32 most_m_s2; /* largest acceleration */
} ParticleGrab;

/* Weights that users may tune while a world runs: factors on the options of all systems. */
typedef struct ParticleTuning {
    f32 rate, drag;
    f32 separation, alignment, cohesion;
    f32 inertia, cognitive, social;
    u32 objective; /* of all swarms; SWARM_OBJECTIVE_COUNT: their own */
} ParticleTuning;

/* The defaults of particles.def. */
ParticlesDef particles_def_default(void);
/* NULL: out of memory. */
Particles *particles_create(void);
void particles_destroy(Particles *particles); /* NULL is fine */
/* Adds a system; *system is its index. 0 or a negative Error with a text that names the member.
 * Outside a tick only. */
int particles_add(Particles *particles, const ParticlesDef *def, u32 *system, ErrorText *error);

void particles_set_gravity(Particles *particles, Vec3 gravity); /* m/s² */
void particles_set_wind(Particles *particles, Vec3 wind);       /* m/s */
/* Particles that leave these bounds (m) die. */
void particles_set_bounds(Particles *particles, Bounds bounds);
void particles_tune(Particles *particles, const ParticleTuning *tuning);
ParticleTuning particles_tuning_default(void);
/* The position that a flock flees in the coming tick; far away: nothing. */
void particles_set_predator(Particles *particles, u32 system, Vec3 position);

/* The media of the tick, before particles_begin: inside a medium, its air drags. Borrowed until the
 * next call. */
void particles_set_media(Particles *particles, const Medium *media, u32 count);
/* Wakes sleeping things that particles will hit in the coming tick of tick_s. */
void particles_stir(Particles *particles, const Collider *colliders, u32 count, f32 tick_s);
/* Emits, and finds what particles may touch. `colliders` are copied; `jobs` may be NULL. */
void particles_begin(Particles *particles, const Collider *colliders, u32 count, f32 tick_s,
                     Jobs *jobs);
void particles_substep(Particles *particles, f32 h);
void particles_end(Particles *particles);

/* Systems added so far. */
u32 particles_systems(const Particles *particles);
/* Slots of all systems, and the range of one: first and number. */
u32 particles_slots(const Particles *particles);
/* Slots that a system of `count` particles takes. */
static inline u32 particles_slots_of(u32 count)
{
    return (count + PARTICLE_SLOT_ALIGN - 1) / PARTICLE_SLOT_ALIGN * PARTICLE_SLOT_ALIGN;
}
u32 particles_first(const Particles *particles, u32 system);
u32 particles_range(const Particles *particles, u32 system);
u32 particles_alive(const Particles *particles, u32 system);
/* Whether all its particles rest: it then costs next to nothing, and wakes when touched. */
bool particles_asleep(const Particles *particles, u32 system);
bool particles_is_alive(const Particles *particles, u32 slot);
/* 0: the slot is free. */
u16 particles_generation(const Particles *particles, u32 slot);
Vec3 particles_position(const Particles *particles, u32 slot); /* m */
Vec3 particles_velocity(const Particles *particles, u32 slot); /* m/s */
f32 particles_mass(const Particles *particles, u32 slot);      /* kg, 0: none */
f32 particles_radius(const Particles *particles, u32 slot);    /* m, of a live particle */
/* Part of the lifetime that has passed, [0, 1]; 0 of particles that live forever. */
f32 particles_age(const Particles *particles, u32 slot);
/* Places a live particle (tests, tools). */
void particles_move(Particles *particles, u32 slot, Vec3 position, Vec3 velocity);
/* Changes the velocity of a live particle by an impulse per its mass (m/s). */
void particles_push(Particles *particles, u32 slot, Vec3 speed);

/* Index, or −1: no capacity, or the slot is free. */
i32 particles_grab_add(Particles *particles, const ParticleGrab *grab);
ParticleGrab *particles_grab(Particles *particles, u32 grab);
void particles_grab_remove(Particles *particles, u32 grab);

/* J, of a system: kinetic and potential energy in gravity, attractors and mutual gravitation (half
 * of it is the other's); of massless particles as if each had 1 kg. */
typedef struct ParticleEnergy {
    f64 kinetic, potential;
} ParticleEnergy;
ParticleEnergy particles_energy(const Particles *particles, u32 system);
/* kg m²/s about the world's origin. */
void particles_angular_momentum(const Particles *particles, u32 system, f64 out[3]);
/* Least value that a swarm has found, and the iterations so far; 0 of others. */
f64 particles_swarm_best(const Particles *particles, u32 system);
u32 particles_swarm_iterations(const Particles *particles, u32 system);
SwarmObjective particles_swarm_objective(const Particles *particles, u32 system);

/* Bytes allocated. */
u64 particles_memory(const Particles *particles);
/* Definitions are not part of the state: the same systems have been added before a load. */
void particles_serialize(Particles *particles, State *state);
/* NULL if the store is consistent between ticks, else the reason. */
const char *particles_validate(const Particles *particles);

#endif
