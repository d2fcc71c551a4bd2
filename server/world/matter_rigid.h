/*
 * matter_rigid.h: rigid bodies and joints as matter of a world, internals:
 *   matter_rigid.c         life cycle, tick, fields, state
 *   matter_rigid_build.c   bodies of a scene          matter_rigid_joints.c  its joints, breaking
 *   matter_rigid_path.c    bodies that follow a path  matter_rigid_hands.c   grabs and spawning
 *   matter_rigid_probes.c  measurements, debug lines  matter_rigid_dump.c    text dump
 *   matter_rigid_sensors.c other matter in sensors
 * Layer: server/world, private.
 */
#ifndef PLENUM_SERVER_WORLD_MATTER_RIGID_H
#define PLENUM_SERVER_WORLD_MATTER_RIGID_H

#include "server/physics/rigid/joint/joint.h"
#include "server/world/matter.h"

/* The world's data of one rigid slot. */
typedef struct SlotInfo {
    u32 entity; /* id, 0 free */
    u32 owner;  /* user who spawned it, 0 the scene */
} SlotInfo;

/* An entity of another kind in a sensor: ids. Serialized: no padding. */
typedef struct Sensed {
    u32 sensor, entity;
} Sensed;

enum {
    SENSED_MAX = 1024 /* of one world at a time; more are not noticed */
};

enum {
#define PARAMETER_RIGID(NAME, ...) PARAMETER_##NAME,
#include "shared/rows/parameter.def"
    PARAMETERS_OF_RIGID
};

typedef struct MatterRigid {
    Matter base;
    Rigid *rigid;
    u32 capacity;     /* bodies */
    SlotInfo *slots;  /* [capacity] */
    u32 *body_slots;  /* [scene->body_count] slot of each scene body */
    JointId *joints;  /* [scene->joint_count] */
    u64 built_tick;   /* when the scene was last built: start time of paths */
    u32 field;        /* poses */
    u32 joints_field; /* 1 where a joint of the scene holds, 0 where it broke; FIELDS_MAX: none */
    u32 parameters[PARAMETERS_OF_RIGID];  /* indices for world_value */
    RigidCollider colliders[MATTERS_MAX]; /* [user] */
    RigidCollider *users[MATTERS_MAX];    /* the kinds' colliders of the bodies, or NULL */
    /* [SENSED_MAX] twice: [sensed_count] of the last tick, and scratch; NULL: none to sense. */
    Sensed *sensed;
    u32 *things; /* scratch */
    u32 sensed_count;
    void *debug; /* debug lines and islands, allocated at the first request */
} MatterRigid;

extern const MatterOps matter_rigid;

/* Of a world; always its first kind. */
MatterRigid *world_matter_rigid(const World *world);

/* The matter is one of rigid bodies (matter_rigid). */
static inline MatterRigid *rigid_of(Matter *matter)
{
    return (MatterRigid *)matter;
}
static inline const MatterRigid *rigid_of_const(const Matter *matter)
{
    return (const MatterRigid *)matter;
}
static inline const Scene *rigid_scene(const MatterRigid *m)
{
    return world_scene(m->base.world);
}

/* matter_rigid_build.c */
RigidDef rigid_def_of_scene(const Scene *scene, u32 body_capacity, f32 tick_s);
/* Adds a body with its entity; 0 and *id, or a negative Error. */
int matter_rigid_add(MatterRigid *m, const SceneBody *body, const char *name, u32 owner, u32 *id);
int matter_rigid_fill(Matter *matter, ErrorText *error);
int matter_rigid_check(Matter *matter, ErrorText *error);

/* matter_rigid_joints.c */
int matter_rigid_add_joints(MatterRigid *m);
void matter_rigid_report_breaks(const MatterRigid *m);

/* matter_rigid_sensors.c */
/* 0 or ERROR_MEMORY; once the fields of all kinds are declared. */
int matter_rigid_sensors_reserve(MatterRigid *m);
void matter_rigid_sensors_report(MatterRigid *m);
void matter_rigid_sensors_serialize(MatterRigid *m, State *state);

/* matter_rigid_path.c */
/* Position of scene body i, `tick` ticks after the scene was built. */
Vec3 path_position(const Scene *scene, u32 body, u64 tick);
/* Sets velocities such that each body is at its path position at the end of the coming tick. */
void matter_rigid_steer(Matter *matter);

/* matter_rigid_hands.c */
Vec3 matter_rigid_point(const Matter *matter, const Entity *entity, const Input *input);
i32 matter_rigid_grab(Matter *matter, const Entity *entity, const Input *input);
void matter_rigid_drag(Matter *matter, u32 constraint, Vec3 target);
void matter_rigid_release(Matter *matter, u32 constraint);
bool matter_rigid_holds(const Matter *matter, u32 constraint);
void matter_rigid_push(Matter *matter, const Entity *entity, const Input *input, Vec3 impulse);
u32 matter_rigid_spawned(const Matter *matter, u32 user);
int matter_rigid_spawn(Matter *matter, const ScenePrefab *prefab, const Input *input, u32 *entity);
void matter_rigid_remove(Matter *matter, const Entity *entity);

/* matter_rigid_probes.c */
void matter_rigid_sums(const Matter *matter, MatterSums *sums);
void matter_rigid_stats(const Matter *matter, MatterStats *stats);
bool matter_rigid_measure(const Matter *matter, const SceneProbe *probe, f64 *value);
u32 matter_rigid_lines(Matter *matter, u32 mask, DebugLine *lines, u32 capacity);
u32 matter_rigid_islands(Matter *matter, DebugIsland *islands, u32 capacity);

/* matter_rigid_dump.c */
void matter_rigid_dump_entity(const Matter *matter, const Entity *entity, Dump *dump);
void matter_rigid_dump(const Matter *matter, Dump *dump);

#endif
