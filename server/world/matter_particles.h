/*
 * matter_particles.h: particle systems as matter of a world, internals:
 *   matter_particles.c         life cycle, tick, hands, state
 *   matter_particles_build.c   fields, parameters, probes and systems of a scene
 *   matter_particles_write.c   points and surfaces for clients, measurements, text dump
 * Layer: server/world, private.
 */
#ifndef PLENUM_SERVER_WORLD_MATTER_PARTICLES_H
#define PLENUM_SERVER_WORLD_MATTER_PARTICLES_H

#include "server/physics/particles/particles.h"
#include "server/world/matter.h"

enum {
#define PARAMETER_PARTICLES(NAME, ...) PARTICLES_##NAME,
#include "shared/rows/parameter.def"
    PARAMETERS_OF_PARTICLES
};

enum {
    SURFACE_SIDE = 96, /* samples along a side of a swarm's surface */
    PARTICLE_PROBES_MAX = 256,
    /* Slots up to which the energy of mutual attraction is summed over all pairs each tick. */
    PARTICLE_PAIRS_MAX = 256,
};

typedef enum ParticleProbe {
    PARTICLE_PROBE_COUNT,
    PARTICLE_PROBE_ENERGY,
    PARTICLE_PROBE_ANGULAR_MOMENTUM,
    PARTICLE_PROBE_BEST,
    PARTICLE_PROBE_ITERATIONS
} ParticleProbe;

typedef struct OwnParticleProbe {
    ParticleProbe kind;
    u32 system;
} OwnParticleProbe;

/* The surface of a swarm. */
typedef struct SwarmSurface {
    u32 system, field;
    u32 objective; /* of the codes; SWARM_OBJECTIVE_COUNT: none yet */
    u16 *codes;    /* [SURFACE_SIDE²] quantized heights */
} SwarmSurface;

typedef struct MatterParticles {
    Matter base;
    Particles *particles; /* replaced at a reset */
    Particles *next;      /* for the pending reset; NULL otherwise */
    u32 *entities;        /* [systems + surfaces] ids */
    u32 field;            /* points; FIELDS_MAX: the scene has none */
    SwarmSurface *surfaces;
    u32 surface_count;
    u32 parameters[PARAMETERS_OF_PARTICLES]; /* indices for world_value; UINT32_MAX: not declared */
    OwnParticleProbe probes[PARTICLE_PROBES_MAX];
    u32 probe_count;
} MatterParticles;

extern const MatterOps matter_particles;

/* The matter is one of particle systems (matter_particles). */
static inline MatterParticles *particles_of(Matter *matter)
{
    return (MatterParticles *)matter;
}
static inline const MatterParticles *particles_of_const(const Matter *matter)
{
    return (const MatterParticles *)matter;
}
static inline const Scene *particles_scene(const MatterParticles *m)
{
    return world_scene(m->base.world);
}

/* matter_particles_build.c */
void matter_particles_declare(Matter *matter);
int matter_particles_fill(Matter *matter, ErrorText *error);

/* matter_particles_write.c */
void matter_particles_write(const Matter *matter, Frame *frame);
void matter_particles_sums(const Matter *matter, MatterSums *sums);
void matter_particles_stats(const Matter *matter, MatterStats *stats);
f64 matter_particles_measure(const Matter *matter, u32 probe);
void matter_particles_dump_entity(const Matter *matter, const Entity *entity, Dump *dump);
/* Heights of a swarm's surface for its present objective. */
void matter_particles_shape_surface(const MatterParticles *m, SwarmSurface *surface);

#endif
