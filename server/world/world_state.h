/*
 * world_state.h: a world from inside. Each file of this folder is one idea about it:
 *   build.c   scene -> solvers, fields, entities      tick.c    the recipe of a tick
 *   joints.c  joints of a scene, and what breaks      path.c    bodies that follow a path
 *   softs.c   soft bodies of a scene                  look.c    the inside of the simulation, to
 * see inputs.c  what hands do                           fields.c  solvers -> frame tune.c
 * parameters and probes                   save.c    hash, save, load Layer: server/world (private).
 */
#ifndef PLENUM_SERVER_WORLD_WORLD_STATE_H
#define PLENUM_SERVER_WORLD_WORLD_STATE_H

#include "protocol/entity_list.h"
#include "server/physics/rigid/joint.h"
#include "server/physics/rigid/rigid.h"
#include "server/physics/soft/soft.h"
#include "server/world/world.h"

enum {
    HOLDS_MAX = 1024,      /* one hand a user, users ≤ CLIENTS_MAX */
    IMPACTS_TICK_MAX = 16, /* events of one tick: more is noise */
};

/* One user's hand. */
typedef struct Hold {
    u32 user; /* 0: free */
    u32 entity;
    u32 grip; /* of the rigid or soft world */
    u32 soft; /* 1: a particle */
} Hold;

/* What one rigid slot is to the world. */
typedef struct SlotInfo {
    u32 entity; /* id, 0 free */
    u32 owner;  /* user who spawned it, 0 the scene */
} SlotInfo;

typedef enum ParameterId {
    PARAMETER_GRAVITY,
    PARAMETER_WIND,
    PARAMETER_AIR,
    PARAMETER_SUBSTEPS,
    PARAMETER_FRICTION,
    PARAMETER_BOUNCE,
    PARAMETER_STRETCH,
    PARAMETER_BEND,
    PARAMETER_PRESSURE,
    PARAMETER_COUNT
} ParameterId;

/* Fields of every world, in this order; what a world has none of, has no field. Then come "joints":
 * 1 where a joint of the scene holds, 0 where it broke; and "softs": 1 where a soft body of the
 * scene is awake, 0 where it sleeps. */
enum {
    FIELD_BODIES,
    FIELD_PARAMETERS,
    FIELD_PROBES,
    FIELD_POINTS_ALL,
    FIELD_SETS_MAX = FIELD_POINTS_ALL + 3
};

struct World {
    const Scene *scene;
    Jobs *jobs;
    FieldSet *fields;
    u32 joints_field; /* 0: no joints */
    u32 softs_field;  /* 0: no soft bodies */
    Rigid *rigid;
    Soft *soft; /* rebuilt by a reset */
    u32 body_capacity;
    SlotInfo *slots;  /* [body_capacity] */
    SoftRange *softs; /* [scene->soft_count] */
    EntityList entities;
    u32 *soft_entities; /* [scene->soft_count] ids */
    u32 *body_slots;    /* [scene->body_count] slot of a scene's body */
    JointId *joints;    /* [scene->joint_count] */
    u64 built_tick;     /* when the scene was last built: paths begin there */
    u32 next_entity;
    u16 points_generation; /* changes when points jump */
    u16 reserved;
    u64 tick;
    f32 values[PARAMETER_COUNT][4];
    ScalarInfo parameters[PARAMETER_COUNT];
    ScalarInfo *probes; /* [scene->probe_count] */
    ErrorText trouble;  /* why the last build failed, where there is more to say than a code */
    Hold holds[HOLDS_MAX];
    u32 hold_end;
    void *debug;   /* lines and islands, from when somebody first asks */
    u32 *order;    /* [INPUTS_PER_TICK_MAX] of this tick's inputs */
    Event *events; /* of this tick */
    u32 event_count, event_room;
};

/* build.c */
int world_build(World *world, ErrorText *error);
/* Solvers empty and filled again from the scene; new entity ids; events if `tell`. */
int world_rebuild(World *world, bool tell);
/* Adds a body with its entity; 0 and *id, or a negative Error. */
int world_add_body(World *world, const SceneBody *body, const char *name, u32 owner, u32 *id);
void world_remove_entity(World *world, u32 id);

/* inputs.c */
void world_inputs(World *world, const Input *inputs, u32 count);
/* Whoever holds it lets go. */
void world_release_entity(World *world, u32 entity);

/* tune.c */
void tune_describe(World *world);
void tune_apply(World *world);
/* 0, ERROR_RANGE or ERROR_NOT_FOUND. */
int tune_set(World *world, u32 parameter, const f32 values[4]);
/* All probes of the moment: values[scene->probe_count]. */
void tune_probes(const World *world, f32 *values);

/* softs.c: the soft bodies of the scene with their entities; world->trouble says what is wrong. */
int world_add_softs(World *world);

/* joints.c */
int world_add_joints(World *world);
void world_tell_breaks(World *world);

/* path.c */
/* Where body i of the scene is when `tick` ticks have passed since the scene was built. */
Vec3 path_position(const World *world, u32 body, u64 tick);
/* Velocities of the coming tick, so that each is where its path says at the end of it. */
void path_steer(World *world);

/* tick.c: a zeroed event to fill; NULL (the event is lost) without memory. */
Event *world_event(World *world, EventKind kind);

static inline f32 world_tick_s(const World *world)
{
    return 1.0f / (f32)world->scene->tick_rate;
}

#endif
