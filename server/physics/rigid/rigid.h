/*
 * rigid.h: rigid bodies with contacts, friction, sleeping and hands that drag. A tick is
 *   rigid_collide, rigid_prepare, substeps times rigid_substep, rigid_finish
 * so that other solvers can share the substeps and pass impulses both ways in between.
 * Units SI, world axes, y up. Nothing is allocated in a tick unless a table must grow.
 * Method: soft-step ("TGS soft", Catto, Solver2D, 2024) in 3-D with one friction patch a manifold.
 * Layer: server/physics (includes shared only).
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_RIGID_H
#define PLENUM_SERVER_PHYSICS_RIGID_RIGID_H

#include "server/physics/state.h"
#include "shared/base/jobs.h"
#include "shared/base/kinds.h"
#include "shared/geometry/shape.h"

typedef struct Rigid Rigid;

/* A body by slot and generation; generation 0 names none. */
typedef struct BodyId {
    u32 slot, generation;
} BodyId;

/* The options of shared/rows/body.def, in SI units; there are their ranges and what they mean.
 * Bodies that are `plain` push others and are pushed, but stacks of both kinds give way by
 * centimetres. */
typedef struct BodyDef {
#define MEMBER(type, name) type name;
#include "shared/rows/body.def"
} BodyDef;

typedef struct RigidDef {
    u32 body_capacity;
    f32 tick_s;
    u32 substeps;
    Vec3 gravity; /* m/s² */
    u32 joint_capacity;
    /* What shapes of a saved state may point to, by Geometry.id. Not owned; may be NULL. */
    const struct Geometry *const *geometries;
    u32 geometry_count;
    RigidMethod method; /* RIGID_IMPULSES: of all bodies; else of those that are not plain */
    u32 iterations;     /* RIGID_IMPULSES, default 10 */
    u32 pyramid_sides;  /* RIGID_IMPULSES: 3..16, default 4 */
    f32 baumgarte;      /* RIGID_IMPULSES: share of an error taken back a tick, [0, 1] */
    bool no_sleep;
    bool no_ccd; /* fast bodies are not swept: a bullet may pass a thin wall */
} RigidDef;

/* A spring from a point of a body to a point of the world (a hand). */
typedef struct RigidGrab {
    BodyId body;
    Vec3 local;    /* m, in the body's frame */
    Vec3 target;   /* m, world */
    f32 frequency; /* Hz */
    f32 damping;   /* ratio */
    f32 force_max; /* N */
    Vec3 impulse;  /* N s of the last substep, for warm starting */
    u32 owner;     /* caller's; grabs are solved in the order they were made */
    u32 live;
} RigidGrab;

/* A contact that began in this tick. */
typedef struct RigidImpact {
    u32 a, b;      /* slots */
    Vec3 position; /* m */
    f32 impulse;   /* N s */
    f32 speed;     /* m/s, approach */
} RigidImpact;

/* A sensor that a body entered or left in this tick (a < b, either is the sensor). */
typedef struct RigidOverlap {
    u32 a, b;   /* slots */
    bool began; /* false: ended */
} RigidOverlap;

enum {
    RIGID_IMPACTS_MAX = 64,
    RIGID_OVERLAPS_MAX = 256,
    RIGID_GRABS_MAX = 1024
};

BodyDef body_def_default(void);
/* NULL: no memory. */
Rigid *rigid_create(const RigidDef *def);
void rigid_destroy(Rigid *rigid); /* NULL is fine */
/* Removes all bodies, contacts and grabs; generations of slots go on. */
void rigid_clear(Rigid *rigid);

/* Is it something that can be simulated? Every number finite, the pose inside the world, sizes at
 * least 0.1 mm, the mass of a dynamic body within 1 mg and 10^6 t, restitution in [0, 1], a shape
 * that may have this motion and that has its geometry. */
bool body_def_is_valid(const BodyDef *def);
/* Takes the lowest free slot. Generation 0 if there is none left or the definition is not sane.
 * Outside a tick only. */
BodyId rigid_add(Rigid *rigid, const BodyDef *def);
void rigid_remove(Rigid *rigid, BodyId body);
bool rigid_alive(const Rigid *rigid, BodyId body);
/* Slots ever used: [0, rigid_slots()). */
u32 rigid_slots(const Rigid *rigid);
/* The live body in a slot, generation 0 if the slot is free. */
BodyId rigid_at(const Rigid *rigid, u32 slot);
u32 rigid_generation(const Rigid *rigid, u32 slot);

/* Reads by slot of a live body. */
Vec3 rigid_position(const Rigid *rigid, u32 slot); /* of the origin of its shape */
Vec3 rigid_centre(const Rigid *rigid, u32 slot);   /* of mass, world */
Quat rigid_orientation(const Rigid *rigid, u32 slot);
Vec3 rigid_velocity(const Rigid *rigid, u32 slot); /* of the centre of mass */
Vec3 rigid_angular_velocity(const Rigid *rigid, u32 slot);
f32 rigid_mass(const Rigid *rigid, u32 slot); /* kg, 0: static or kinematic */
/* About the centre of mass, in the axes of the shape. */
Symmetric3 rigid_inertia(const Rigid *rigid, u32 slot);
f32 rigid_friction(const Rigid *rigid, u32 slot);
f32 rigid_gravity_scale(const Rigid *rigid, u32 slot);
const Shape *rigid_shape(const Rigid *rigid, u32 slot);
BodyMotion rigid_motion(const Rigid *rigid, u32 slot);
/* Does the live body push other matter with this group and mask (0: 1 and all)? Sensors do not. */
bool rigid_meets(const Rigid *rigid, u32 slot, u32 group, u32 mask);
bool rigid_awake(const Rigid *rigid, u32 slot);
/* Velocity of the point of the body at world arm r from its centre. */
Vec3 rigid_velocity_at(const Rigid *rigid, u32 slot, Vec3 arm);
/* 1/m + (r × n)ᵀ I⁻¹ (r × n) of a dynamic awake body, else 0. */
f32 rigid_inverse_mass_at(const Rigid *rigid, u32 slot, Vec3 arm, Vec3 direction);
/* By how much a unit impulse along each axis changes the velocity of the point at world arm r of a
 * dynamic awake body (1/kg), else 0. */
Symmetric3 rigid_response_at(const Rigid *rigid, u32 slot, Vec3 arm);
/* I⁻¹ m in world axes of a dynamic awake body, else 0. */
Vec3 rigid_rotation_since(const Rigid *rigid, u32 slot, Vec3 moment);
/* Bounds of the body, with the motion of a tick ahead. */
Bounds rigid_bounds(const Rigid *rigid, u32 slot);

void rigid_set_velocity(Rigid *rigid, u32 slot, Vec3 velocity, Vec3 angular_velocity);
/* ---- for a solver that shares the substeps ---- */

/* Where a body is: its centre of mass. */
typedef struct RigidPose {
    Vec3 centre; /* m, world */
    Quat orientation;
} RigidPose;
RigidPose rigid_pose(const Rigid *rigid, u32 slot);
/* Between substeps: where the body is looked at. Where it is left has to be where the substep has
 * put it, moved by no more than what rigid_add_motion is told. */
void rigid_set_pose(Rigid *rigid, u32 slot, RigidPose pose);
/* Changes the velocity (m/s), the angular velocity (rad/s); wakes nothing. */
void rigid_add_velocity(Rigid *rigid, u32 slot, Vec3 velocity);
void rigid_add_angular_velocity(Rigid *rigid, u32 slot, Vec3 angular_velocity);
/* Motion (m, rad) of a body within the tick beyond that of its own substeps: contacts count it. */
void rigid_add_motion(Rigid *rigid, u32 slot, Vec3 shift, Vec3 rotation);
/* Does it move once a tick, in the first substep, for all of it? */
bool rigid_moves_once(const Rigid *rigid, u32 slot);

/* Impulse (N s) at a world arm from the centre; wakes nothing. */
void rigid_impulse(Rigid *rigid, u32 slot, Vec3 arm, Vec3 impulse);
/* Force (N) at a world arm from the centre and torque (N m) over one tick; wakes the body. */
void rigid_push(Rigid *rigid, u32 slot, Vec3 arm, Vec3 force, Vec3 torque);
/* Where a kinematic body is to be after the next tick: sets the velocity that brings it there. */
void rigid_move_kinematic(Rigid *rigid, u32 slot, Vec3 position, Quat orientation);
void rigid_wake(Rigid *rigid, u32 slot);
void rigid_wake_all(Rigid *rigid);
/* Restarts the time to sleep of an awake body. */
void rigid_keep_awake(Rigid *rigid, u32 slot);

/* ---- others that rest with bodies and sleep with them: soft bodies ---- */

/* What stays within rigid_rest_way for this time, twice on end, is at rest (s). */
#define RIGID_REST_S 0.35f
/* m, of any of its points; held: it touches something, else it hangs. */
f32 rigid_rest_way(f32 gravity_m_s2, bool held);

typedef struct IslandMember {
    bool awake;  /* the others are not looked at */
    bool rests;  /* long enough to sleep */
    bool held;   /* the world holds it up, or nothing has to */
    bool sleeps; /* written by rigid_finish: falls asleep now */
} IslandMember;

typedef struct IslandMembers {
    IslandMember *members; /* [count] */
    u32 count;
    /* Called where somebody is tired: names all that touch by the two below. */
    void (*link)(void *context, Rigid *rigid);
    void *context;
} IslandMembers;

/* Before rigid_finish, for this tick; borrowed until it has returned. */
void rigid_set_island_members(Rigid *rigid, const IslandMembers *members);
void rigid_link_body(Rigid *rigid, u32 member, u32 slot);
void rigid_link_members(Rigid *rigid, u32 member, u32 other);
/* Is it awake and dynamic, or a kinematic body on its way? */
bool rigid_stirs(const Rigid *rigid, u32 slot);

void rigid_set_gravity(Rigid *rigid, Vec3 gravity);
/* 1..SUBSTEPS_MAX; RIGID_IMPULSES always has one. */
void rigid_set_substeps(Rigid *rigid, u32 substeps);
/* Factor on all friction coefficients, and the least restitution of all pairs. */
void rigid_set_materials(Rigid *rigid, f32 friction_scale, f32 restitution_min);
u32 rigid_substeps(const Rigid *rigid);

/* Returns a grab's index, or −1 when all are taken. The body wakes. */
i32 rigid_grab_add(Rigid *rigid, const RigidGrab *grab);
void rigid_grab_remove(Rigid *rigid, u32 grab);
RigidGrab *rigid_grab(Rigid *rigid, u32 grab);

/* Broad phase and narrow phase. */
void rigid_collide(Rigid *rigid, Jobs *jobs);
/* Contact rows, islands that wake. */
void rigid_prepare(Rigid *rigid);
/* One substep of tick_s / substeps. */
void rigid_substep(Rigid *rigid);
/* Restitution, impulses kept for the next tick, sleeping, impacts. */
void rigid_finish(Rigid *rigid);

/* Strongest impacts of the last tick, ≤ RIGID_IMPACTS_MAX, in slot order. */
const RigidImpact *rigid_impacts(const Rigid *rigid, u32 *count);
/* Sensors entered and left in the last tick, at most RIGID_OVERLAPS_MAX: first those that were left
 * far behind, then the others in the order of (a, b), last those that something fast entered and
 * left within the tick (both at once). */
const RigidOverlap *rigid_sensor_events(const Rigid *rigid, u32 *count);
/* Slots of live bodies whose bounds overlap, ascending, static ones too (planes always); of more
 * than `capacity` the lowest. Returns how many were written. */
u32 rigid_overlaps(Rigid *rigid, Bounds bounds, u32 *slots, u32 capacity);

/* How many other dynamic bodies are in the place of one: the number for the first body that has
 * more than `most`, with its slot, else 0. */
u32 rigid_deepest_overlap(Rigid *rigid, u32 most, u32 *slot);

typedef struct RigidStats {
    u32 bodies, awake, contacts, touching, islands;
    f32 penetration_max; /* m, of the manifolds at the start of the tick */
    u64 memory_bytes;
} RigidStats;
void rigid_stats(Rigid *rigid, RigidStats *stats);

/* Stops the program where the world between two ticks is not as it should be: bodies, trees of
 * bounds, pairs with their contacts and kept poses, islands, colours, joints, hands, and what is
 * told of the tick. rigid_finish calls it in debug and sanitizer builds. */
void rigid_validate(Rigid *rigid);

/* Walks the dynamic state. After a load the broad phase is rebuilt; failed: the rigid world must be
 * cleared. */
void rigid_serialize(Rigid *rigid, State *state);

#endif
