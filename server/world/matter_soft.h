/*
 * matter_soft.h: soft bodies as matter of a world, internals:
 *   matter_soft.c        life cycle, tick, fields, grabs, probes, state
 *   matter_soft_build.c  soft bodies of a scene   matter_soft_dump.c  text dump
 *   matter_soft_spawn.c  prefabs: the spares of a scene, spawned and removed
 * Layer: server/world, private.
 */
#ifndef PLENUM_SERVER_WORLD_MATTER_SOFT_H
#define PLENUM_SERVER_WORLD_MATTER_SOFT_H

#include "server/physics/soft/collider.h"
#include "server/world/matter.h"

enum {
#define PARAMETER_SOFT(NAME, ...) PARAMETER_##NAME,
#include "shared/rows/parameter.def"
    PARAMETERS_OF_SOFT
};

/* A soft body that a prefab holds ready. Serialized: no padding. */
typedef struct SoftSpare {
    u32 entity;     /* id, 0: absent */
    u32 owner;      /* user who spawned it */
    u32 generation; /* of its points, 16 bits: changes with each spawn */
} SoftSpare;

typedef struct MatterSoft {
    Matter base;
    Soft *soft;             /* replaced at a reset */
    Soft *next;             /* for the pending reset; NULL otherwise */
    SoftRange *soft_bodies; /* [scene->soft_count + spare_count] */
    SoftSpare *spares;      /* [spare_count] by prefab */
    u32 spare_count;
    u32 *entities;   /* [scene->soft_count] ids */
    u32 field;       /* points; FIELDS_MAX: the scene has none */
    u32 awake_field; /* 1 where a soft body of the scene is awake; FIELDS_MAX: none */
    SoftCollider colliders[MATTERS_MAX]; /* [user] */
    u32 parameters[PARAMETERS_OF_SOFT];  /* indices for world_value */
} MatterSoft;

extern const MatterOps matter_soft;

/* The matter is one of soft bodies (matter_soft). */
static inline MatterSoft *soft_of(Matter *matter)
{
    return (MatterSoft *)matter;
}
static inline const MatterSoft *soft_of_const(const Matter *matter)
{
    return (const MatterSoft *)matter;
}

/* Of a world; always its second kind. */
MatterSoft *world_matter_soft(const World *world);
static inline Soft *world_soft(const World *world)
{
    return world_matter_soft(world)->soft;
}

/* matter_soft_build.c */
/* The entity of a soft body of the scene. */
int matter_soft_add_entity(MatterSoft *m, const SceneSoft *soft, u32 index);

/* One soft body, with its pins; without an entity. */
int matter_soft_add(MatterSoft *m, const SceneSoft *soft, SoftRange *range, ErrorText *error);

/* matter_soft_spawn.c */
u32 matter_soft_spare_count(const Scene *scene);
u64 matter_soft_spare_points(const Scene *scene);
/* Adds the spares of all prefabs; before soft_build. After it they are taken away. */
int matter_soft_add_spares(MatterSoft *m, ErrorText *error);
void matter_soft_remove_spares(MatterSoft *m);
int matter_soft_spawn(Matter *matter, const ScenePrefab *prefab, const Input *input, u32 *entity);
u32 matter_soft_spawned(const Matter *matter, u32 user);
/* Only what was spawned. */
bool matter_soft_can_remove(const Matter *matter, const Entity *entity);
void matter_soft_remove(Matter *matter, const Entity *entity);
/* Removes spawned bodies whose middle has left the scene's bounds. */
void matter_soft_report(Matter *matter);
/* Whether the entity is that of a spare. */
bool matter_soft_owns_spare(const MatterSoft *m, const Entity *entity);
/* After a load: the number of spares with an entity, and whether those are the ones present. */
bool matter_soft_count_spares(const MatterSoft *m, u32 *live);

/* matter_soft_dump.c */
void matter_soft_dump_entity(const Matter *matter, const Entity *entity, Dump *dump);

#endif
