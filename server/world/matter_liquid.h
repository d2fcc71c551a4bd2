/*
 * matter_liquid.h: liquids and grains as matter of a world, internals:
 *   matter_liquid.c         life cycle, tick, fields, hands, state
 *   matter_liquid_flow.c    what fills, enters and leaves the world
 *   matter_liquid_probes.c  measurements, text dump
 * A scene without them has no solver, no field and no parameter of this kind.
 * Layer: server/world, private.
 */
#ifndef PLENUM_SERVER_WORLD_MATTER_LIQUID_H
#define PLENUM_SERVER_WORLD_MATTER_LIQUID_H

#include "server/physics/liquid/liquid.h"
#include "server/world/matter.h"

enum {
#define PARAMETER_LIQUID(NAME, ...) PARAMETER_##NAME,
#include "shared/rows/parameter.def"
    PARAMETERS_OF_LIQUID
};

/* What a source of the scene has emitted. */
typedef struct SourceClock {
    u64 layers; /* so many whole spacings: counters of its random numbers */
    f32 ahead;  /* spacings beyond them, in [0, 1) */
    u32 reserved;
} SourceClock;

typedef struct MatterLiquid {
    Matter base;
    Liquid *liquid;      /* NULL: the scene has none */
    u32 *entities;       /* [scene->liquid_count] ids; phase i is liquid i of the scene */
    SourceClock *clocks; /* [scene->source_count] */
    u64 ticks;           /* since the scene was built */
    u32 field;           /* points; slot i of the solver is element i */
    u32 parameters[PARAMETERS_OF_LIQUID]; /* indices for world_value */
} MatterLiquid;

extern const MatterOps matter_liquid;

/* The matter is one of liquids (matter_liquid). */
static inline MatterLiquid *liquid_of(Matter *matter)
{
    return (MatterLiquid *)matter;
}
static inline const MatterLiquid *liquid_of_const(const Matter *matter)
{
    return (const MatterLiquid *)matter;
}
static inline const Scene *liquid_scene(const MatterLiquid *m)
{
    return world_scene(m->base.world);
}

/* matter_liquid_flow.c */
int matter_liquid_fill(Matter *matter, ErrorText *error);
/* What the sources emit at the start of a tick; then it counts the tick. `colliders` as in
 * stir. */
void matter_liquid_emit(MatterLiquid *m, const Collider *colliders, u32 count);
/* Removes what is in a drain or out of bounds. */
void matter_liquid_drain(MatterLiquid *m);
/* Particles of a phase as parcels. */
i32 matter_liquid_find_parcels(const Matter *matter, const char *name);
MatterParcel matter_liquid_parcel(const Matter *matter, i32 parcels);
bool matter_liquid_add_parcel(Matter *matter, i32 parcels, Vec3 position, Vec3 velocity);
void matter_liquid_offer_parcels(Matter *matter, i32 parcels,
                                 bool (*take)(void *context, Vec3 position, Vec3 velocity),
                                 void *context);

/* matter_liquid_probes.c */
void matter_liquid_sums(const Matter *matter, MatterSums *sums);
void matter_liquid_stats(const Matter *matter, MatterStats *stats);
bool matter_liquid_measure(const Matter *matter, const SceneProbe *probe, f64 *value);
void matter_liquid_dump_entity(const Matter *matter, const Entity *entity, Dump *dump);

#endif
