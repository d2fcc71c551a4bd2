/*
 * matter_soft.h: soft bodies as matter of a world, internals:
 *   matter_soft.c        life cycle, tick, fields, grabs, probes, state
 *   matter_soft_build.c  soft bodies of a scene   matter_soft_dump.c  text dump
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

typedef struct MatterSoft {
    Matter base;
    Soft *soft;             /* replaced at a reset */
    Soft *next;             /* for the pending reset; NULL otherwise */
    SoftRange *soft_bodies; /* [scene->soft_count] */
    u32 *entities;          /* [scene->soft_count] ids */
    u32 field;              /* points; FIELDS_MAX: the scene has none */
    u32 awake_field;        /* 1 where a soft body of the scene is awake; FIELDS_MAX: none */
    SoftCollider colliders[MATTERS_MAX]; /* [user] */
    u32 parameters[PARAMETERS_OF_SOFT];  /* indices for world_value */
} MatterSoft;

extern const MatterOps matter_soft;

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
int matter_soft_fill(Matter *matter, ErrorText *error);

/* matter_soft_dump.c */
void matter_soft_dump_entity(const Matter *matter, const Entity *entity, Dump *dump);

#endif
