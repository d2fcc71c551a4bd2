/*
 * world_internal.h: internals of a world. Each file of this folder has one topic:
 *   build.c     scene -> kinds of matter, fields, entities
 *   tick.c      the phases of a tick
 *   inputs.c    user inputs
 *   tune.c      parameters                probes.c    measured quantities
 *   frame.c     solvers -> frame          save.c      hash, save, load
 *   validate.c  invariants after a load and after each tick
 *   debug_view.c      the debug picture of the simulation
 *   dump.c      a world as text or JSON
 *   matter.h    interface of kinds of matter; implemented by matter_*.c
 * Layer: server/world, private.
 */
#ifndef PLENUM_SERVER_WORLD_WORLD_INTERNAL_H
#define PLENUM_SERVER_WORLD_WORLD_INTERNAL_H

#include "protocol/stream/entity_list.h"
#include "server/world/matter.h"

enum {
    GRABS_MAX = 1024, /* one grab per user, users ≤ CLIENTS_MAX */
};

/* One user's grab. */
typedef struct Grab {
    u32 user; /* 0: free */
    u32 entity;
    u32 constraint; /* index of the grab constraint in its matter */
    u32 matter;     /* index */
} Grab;

enum {
    MATTER_NONE = 0xFF /* fields of the world itself */
};

/* A probe declared or found by a kind of matter; MATTER_NONE: the scene's. */
typedef struct OwnProbe {
    u32 matter, number;
} OwnProbe;

struct World {
    const Scene *scene;
    Jobs *jobs;
    Matter *matters[MATTERS_MAX];
    u32 matter_count;
    FieldDesc field_descs[FIELDS_MAX]; /* as declared; `fields` is the resulting set */
    u8 field_matter[FIELDS_MAX];       /* index or MATTER_NONE */
    u8 field_dye[FIELDS_MAX];          /* Entity.dye of its entities */
    u32 field_count;
    bool declared_too_much; /* fields, parameters or probes exceeded their limits */
    FieldSet *fields;
    u32 parameters_field, probes_field;
    EntityList entities;
    u64 layout_hash; /* of the sizes of all parts of its state as built: see world_layout_hash */
    u64 entities_hash, entities_hash_version; /* cache of save.c: of that version of the list */
    u32 next_entity;
    u16 generation; /* changes with each build */
    u16 reserved;
    u64 tick;
    f32 values[PARAMETERS_MAX][4];
    ScalarInfo parameters[PARAMETERS_MAX];
    u32 parameter_count;
    ScalarInfo *probes;   /* [probe_count] those of the scene first */
    OwnProbe *own_probes; /* [probe_count] */
    u32 probe_count;
    ErrorText error_text; /* reason of the last failed build, if there is more to say than a code */
    Grab grabs[GRABS_MAX];
    u32 grab_end;
    void *debug;   /* lines and islands, allocated on the first request */
    u32 *order;    /* [INPUTS_PER_TICK_MAX] of this tick's inputs */
    Event *events; /* of this tick */
    u32 event_count, event_capacity;
    WorldObserver *observer; /* NULL: none */
    void *observer_context;
};

/* Calls a function of every kind that implements it, in order. */
#define EACH_MATTER(world, function)                                                               \
    for (u32 matter_i = 0; matter_i < (world)->matter_count; matter_i++) {                         \
        Matter *matter_at = (world)->matters[matter_i];                                            \
        if (matter_at->ops->function != NULL) {                                                    \
            matter_at->ops->function(matter_at);                                                   \
        }                                                                                          \
    }
/* The same with one argument. */
#define EACH_MATTER_WITH(world, function, argument)                                                \
    for (u32 matter_i = 0; matter_i < (world)->matter_count; matter_i++) {                         \
        Matter *matter_at = (world)->matters[matter_i];                                            \
        if (matter_at->ops->function != NULL) {                                                    \
            matter_at->ops->function(matter_at, argument);                                         \
        }                                                                                          \
    }

/* The kind of matter with this name, or NULL. */
const Matter *world_matter_named(const World *world, const char *name);

/* The matter of an entity. */
static inline Matter *world_matter(const World *world, const Entity *entity)
{
    return world->matters[world->field_matter[entity->field]];
}

/* build.c */
int world_build(World *world, const MatterList *kinds, ErrorText *error);
/* Clears everything and fills it again from the scene; new entity ids; events if `notify`. */
int world_rebuild(World *world, bool notify);
/* An EVENT_RESET with that code, and each entity as an EVENT_SPAWN. */
void world_notify_entities(World *world, i32 code);

/* events.c: calls no other file of this folder. */
/* A user holds an entity at an element and a point of it; entity 0: nothing any more. */
void world_grab_event(World *world, u32 user, u32 sequence, u32 entity, u32 element, Vec3 local);
/* A grab ends, by the input with this number or (0) on its own. */
void world_let_go(World *world, Grab *grab, u32 sequence);
/* Releases all grabs of it. */
void world_release_entity(World *world, u32 entity);

/* inputs.c */
void world_inputs(World *world, const Input *inputs, u32 count);

/* tune.c */
void tune_declare(World *world);
void tune_apply(World *world);
/* 0, ERROR_RANGE or ERROR_NOT_FOUND. */
int tune_set(World *world, u32 parameter, const f32 values[4]);

/* save.c: hash over the sizes of all parts of the state in order. That of a world as built differs
 * between builds that lay out their state differently. */
u64 world_layout_hash(World *world);

/* validate.c: whether these parts are consistent, as a tick requires. */
bool world_clocks_hold(const World *world);
bool world_grabs_hold(const World *world);
bool world_entities_hold(const World *world);
bool world_values_hold(const World *world);
/* Aborts (check.h) if the world is inconsistent. The solvers have their own checks. */
void world_validate(const World *world);

/* probes.c */
/* 0 or a negative Error with a text. */
int probes_declare(World *world, ErrorText *error);
/* Measures all probes: values[probe_count]. */
void probes_measure(const World *world, f32 *values);

#endif
