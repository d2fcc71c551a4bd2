/*
 * matter_water.h: water on grids as matter of a world, internals:
 *   matter_water.c         life cycle, tick, fields, hands, state
 *   matter_water_bed.c     the bed from static bodies and dams
 *   matter_water_build.c   levels, springs, rain, spray; measurements
 *   matter_water_force.c   probes of the forces of water on its sides and bed
 * A scene without waters has no field, parameter or probe of this kind.
 * Layer: server/world, private.
 */
#ifndef PLENUM_SERVER_WORLD_MATTER_WATER_H
#define PLENUM_SERVER_WORLD_MATTER_WATER_H

#include "server/physics/grid/heights_pool.h"
#include "server/world/carried.h"
#include "server/world/grids.h"
#include "server/world/matter.h"

enum {
#define PARAMETER_WATER(NAME, ...) PARAMETER_##NAME,
#include "shared/rows/parameter.def"
    PARAMETERS_OF_WATER
};

typedef enum WaterProbe {
    WATER_PROBE_VOLUME,
    WATER_PROBE_ENERGY,
    WATER_PROBE_GAUGE,
    WATER_PROBE_LOW_X, /* of scenes, "water.low_x"; sides in their order */
    WATER_PROBE_HIGH_X,
    WATER_PROBE_LOW_Z,
    WATER_PROBE_HIGH_Z,
    WATER_PROBE_BED_X,
    WATER_PROBE_BED_Y,
    WATER_PROBE_BED_Z,
    WATER_PROBE_FRICTION_X,
    WATER_PROBE_FRICTION_Z,
    WATER_PROBE_FORCE_X, /* all of these */
    WATER_PROBE_FORCE_Y,
    WATER_PROBE_FORCE_Z,
    WATER_PROBE_MOMENTUM_X,
    WATER_PROBE_MOMENTUM_Z,
    WATER_PROBES
} WaterProbe;

typedef struct OwnWaterProbe {
    WaterProbe kind;
    u32 of; /* water, or gauge of the scene */
} OwnWaterProbe;

/* The spray of a water: parcels of another kind. */
typedef struct WaterSpray {
    Matter *of; /* NULL: nothing */
    i32 parcels;
} WaterSpray;

typedef struct MatterWater {
    Matter base;
    GridList list;                       /* waters of the scene */
    Pool **pools;                        /* [count] */
    WaterSpray *sprays;                  /* [count] */
    u32 *dams;                           /* [scene->dam_count] ids of entities */
    u64 ticks;                           /* since the scene was built */
    u64 drops;                           /* of rain: counter of its random numbers */
    CarriedList carried;                 /* by number of the scene's springs */
    u32 parameters[PARAMETERS_OF_WATER]; /* indices for world_value */
    OwnWaterProbe probes[PROBES_MAX];
    u32 probe_count;
} MatterWater;

extern const MatterOps matter_water;

/* The matter is one of water surfaces (matter_water). */
static inline MatterWater *water_of(Matter *matter)
{
    return (MatterWater *)matter;
}
static inline const MatterWater *water_of_const(const Matter *matter)
{
    return (const MatterWater *)matter;
}
static inline const Scene *water_scene(const MatterWater *m)
{
    return world_scene(m->base.world);
}

/* matter_water_bed.c */
/* Finds the entities of the dams, before the beds. */
void matter_water_find_dams(MatterWater *m);
int matter_water_lay_bed(MatterWater *m, u32 index, ErrorText *error);
/* Recomputes the bed: `but`, an entity that is part of it, is about to be removed. */
void matter_water_find_bed(MatterWater *m, const Entity *but);
/* The bed follows the dams that move, before a tick. */
void matter_water_move_dams(MatterWater *m);

/* matter_water_build.c */
int matter_water_fill(Matter *matter, ErrorText *error);
/* Adds the water of springs and rain in a tick. */
void matter_water_flow(MatterWater *m);
/* Finds the liquids that become the spray of the waters. */
void matter_water_find_sprays(MatterWater *m);
/* Exchanges water with the spray, at the end of a tick. */
void matter_water_exchange(MatterWater *m);
void matter_water_declare_probes(MatterWater *m);
f64 matter_water_measure(const Matter *matter, u32 probe);
/* matter_water_force.c */
i32 matter_water_find_probe(const Matter *matter, const SceneProbe *probe, const char **unit,
                            ErrorText *error);
f64 matter_water_force(const MatterWater *m, OwnWaterProbe own);
/* matter_water_build.c */
void matter_water_sums(const Matter *matter, MatterSums *sums);
void matter_water_stats(const Matter *matter, MatterStats *stats);
void matter_water_dump_entity(const Matter *matter, const Entity *entity, Dump *dump);

#endif
