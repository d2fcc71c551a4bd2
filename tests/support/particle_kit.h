/*
 * particle_kit.h: a particle system without bodies, and sums of momentum, for laws of particles.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_PARTICLE_KIT_H
#define PLENUM_TESTS_SUPPORT_PARTICLE_KIT_H

#include "server/physics/particles/particles.h"

/* The caller destroys it; the program ends if the definition is refused. */
Particles *particle_kit_alone(const ParticlesDef *def, Vec3 gravity);
/* Steps of h s, each a tick. */
void particle_kit_steps(Particles *particles, u32 steps, f32 h);

/* Linear and angular momentum about the origin. */
typedef struct ParticleSums {
    f64 momentum[3], angular[3];
    f64 size, turning; /* sums of the magnitudes of the terms */
} ParticleSums;

void particle_sums_add(ParticleSums *sums, f64 mass_kg, Vec3 position, Vec3 velocity);

#endif
