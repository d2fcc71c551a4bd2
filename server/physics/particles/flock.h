/*
 * flock.h: accelerations of boids (Reynolds 1987, "Flocks, herds and schools"): separation,
 * alignment and cohesion with those in sight; they flee a given body; speeds stay near a cruising
 * speed.
 * Units SI.
 * Layer: server/physics/particles.
 */
#ifndef PLENUM_SERVER_PHYSICS_PARTICLES_FLOCK_H
#define PLENUM_SERVER_PHYSICS_PARTICLES_FLOCK_H

#include "server/physics/contact/cells.h"

enum {
    FLOCK_SEEN_MAX = 1024 /* others near one cell; more are not seen */
};

typedef struct FlockRules {
    f32 sight;               /* m */
    f32 separation_distance; /* m */
    f32 separation;          /* m/s² at no distance, falling to 0 at that distance */
    f32 alignment;           /* 1/s */
    f32 cohesion;            /* 1/s² */
    f32 homing;              /* 1/s² */
    Vec3 home;               /* m */
    f32 cruise;              /* m/s */
    f32 agility;             /* m/s², largest acceleration */
    Vec3 predator;           /* m */
    f32 flee_distance;       /* m */
} FlockRules;

/* Scratch memory. Zeroed it is valid. */
typedef struct Flock {
    Cells cells;
    Vec3 *positions, *velocities, *pulls; /* [capacity] of the living */
    u32 capacity;
} Flock;

/* Reserves memory for `capacity` boids; false: out of memory. */
bool flock_reserve(Flock *flock, u32 capacity);
/* Writes pulls (m/s²) for positions and velocities [count] of the scratch memory, which the
 * caller has filled. jobs may be NULL. */
void flock_accelerate(Flock *flock, u32 count, const FlockRules *rules, Jobs *jobs);
void flock_finish(Flock *flock);

#endif
