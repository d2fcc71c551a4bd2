/* particle_kit.c: see particle_kit.h. */
#include "tests/support/particle_kit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

Particles *particle_kit_alone(const ParticlesDef *def, Vec3 gravity)
{
    Particles *p = particles_create();
    ErrorText error = {0};
    u32 system;
    if (p == NULL || particles_add(p, def, &system, &error) != ERROR_OK) {
        fprintf(stderr, "truth: %s\n", error.text);
        exit(EXIT_FAILURE);
    }
    particles_set_gravity(p, gravity);
    return p;
}

void particle_kit_steps(Particles *particles, u32 steps, f32 h)
{
    for (u32 i = 0; i < steps; i++) {
        particles_begin(particles, NULL, 0, h, NULL);
        particles_substep(particles, h);
        particles_end(particles);
    }
}

void particle_sums_add(ParticleSums *sums, f64 mass_kg, Vec3 position, Vec3 velocity)
{
    const f64 p[3] = {mass_kg * (f64)velocity.x, mass_kg * (f64)velocity.y,
                      mass_kg * (f64)velocity.z};
    const f64 l[3] = {(f64)position.y * p[2] - (f64)position.z * p[1],
                      (f64)position.z * p[0] - (f64)position.x * p[2],
                      (f64)position.x * p[1] - (f64)position.y * p[0]};
    for (u32 i = 0; i < 3; i++) {
        sums->momentum[i] += p[i];
        sums->angular[i] += l[i];
        sums->size += fabs(p[i]);
        sums->turning += fabs(l[i]);
    }
}
