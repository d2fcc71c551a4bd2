/*
 * swarm.h: particle swarm optimization (Kennedy, Eberhart 1995; constriction weights of Clerc,
 * Kennedy 2002) in two dimensions: each particle is attracted by the best position that it has
 * found and by the best one of all. Pure function of definition, seed and iteration.
 * Layer: server/physics/particles.
 */
#ifndef PLENUM_SERVER_PHYSICS_PARTICLES_SWARM_H
#define PLENUM_SERVER_PHYSICS_PARTICLES_SWARM_H

#include "server/physics/state.h"
#include "shared/base/kinds.h"

typedef struct SwarmWeights {
    f32 inertia, cognitive, social;
} SwarmWeights;

/* A place in the plane of the arguments. */
typedef struct SwarmPlace {
    f32 x, y;
} SwarmPlace;

typedef struct Swarm {
    u32 count;
    SwarmPlace *places, *before; /* [count] now, and an iteration ago */
    SwarmPlace *velocities;      /* [count] per iteration */
    SwarmPlace *best;            /* [count] best position of each, */
    f32 *best_values;            /* and its value */
    SwarmPlace leader;           /* the best place of all */
    f32 leader_value;
    u32 iterations;
    SwarmObjective objective;
    u64 seed;
} Swarm;

/* Arguments lie within ± this. */
f32 swarm_domain(SwarmObjective objective);
f64 swarm_value(SwarmObjective objective, f64 x, f64 y);
/* Largest value in the domain. */
f64 swarm_value_max(SwarmObjective objective);

/* Allocates `count` particles, uniform in the domain. False: out of memory. */
bool swarm_init(Swarm *swarm, SwarmObjective objective, u32 count, u64 seed);
void swarm_finish(Swarm *swarm);
/* Starts again, with another objective. */
void swarm_restart(Swarm *swarm, SwarmObjective objective);
void swarm_iterate(Swarm *swarm, const SwarmWeights *weights);
void swarm_serialize(Swarm *swarm, State *state);

#endif
