/*
 * matter_smoke.h: air with smoke, heat and fire as matter of a world, internals:
 *   matter_smoke.c         life cycle, tick, fields, hands, state
 *   matter_smoke_probes.c  measurements, text dump
 * A scene without it has no solver, no field and no parameter of this kind.
 * Layer: server/world, private.
 */
#ifndef PLENUM_SERVER_WORLD_MATTER_SMOKE_H
#define PLENUM_SERVER_WORLD_MATTER_SMOKE_H

#include "server/physics/grid/smoke.h"
#include "server/world/carried.h"
#include "server/world/grids.h"
#include "server/world/matter.h"

enum {
#define PARAMETER_SMOKE(NAME, ...) SMOKE_PARAMETER_##NAME,
#include "shared/rows/parameter.def"
    PARAMETERS_OF_SMOKE
};
enum {
    SMOKE_HANDS_MAX = 8,   /* of a grid: the sources that the scene does not use */
    SMOKE_PROBES_MAX = 64, /* that the scene names */
};

/* A user who holds the air: a source of smoke that blows the way it is moved. */
typedef struct SmokeHand {
    u32 live, grid;
    Vec3 place, target; /* m */
    Vec3 color;         /* of its smoke, linear, [0, 1] */
} SmokeHand;

/* What a probe of the scene measures. */
typedef struct SmokeProbe {
    u32 quantity, grid;
    i32 body;   /* index in bodies, or −1 */
    Vec3 place; /* m, of a velocity */
} SmokeProbe;

typedef struct MatterSmoke {
    Matter base;
    GridList list; /* smokes of the scene */
    Smoke *grids[SCENE_SMOKES_MAX];
    u32 dyes[SCENE_SMOKES_MAX]; /* their fields of green and blue; FIELDS_MAX: not dyed */
    u64 ticks;                  /* since the scene was built */
    SmokeHand hands[SMOKE_HANDS_MAX];
    CarriedList carried;                 /* source: grid · SCENE_SMOKE_SOURCES_MAX + number */
    u32 parameters[PARAMETERS_OF_SMOKE]; /* indices for world_value */
    SmokeProbe probes[SMOKE_PROBES_MAX];
    u32 probe_count;
} MatterSmoke;

extern const MatterOps matter_smoke;

/* The matter is one of air (matter_smoke). */
static inline MatterSmoke *smoke_of(Matter *matter)
{
    return (MatterSmoke *)matter;
}
static inline const MatterSmoke *smoke_of_const(const Matter *matter)
{
    return (const MatterSmoke *)matter;
}
static inline const Scene *smoke_scene(const MatterSmoke *m)
{
    return world_scene(m->base.world);
}

/* matter_smoke_probes.c */
void matter_smoke_sums(const Matter *matter, MatterSums *sums);
void matter_smoke_stats(const Matter *matter, MatterStats *stats);
i32 matter_smoke_find_probe(const Matter *matter, const SceneProbe *probe, const char **unit,
                            ErrorText *error);
f64 matter_smoke_measure(const Matter *matter, u32 probe);
void matter_smoke_dump_entity(const Matter *matter, const Entity *entity, Dump *dump);

#endif
