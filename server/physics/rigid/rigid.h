/*
 * rigid.h: rigid bodies with contacts, friction, sleeping and grabs. A tick is
 *   rigid_collide, rigid_prepare, substeps times rigid_substep, rigid_finish
 * so that other solvers can share the substeps and exchange impulses in between.
 * Units SI, world axes, y up. A tick allocates only if a table must grow.
 * Method: soft-step ("TGS soft", Catto, Solver2D, 2024) in 3-D, one friction patch per manifold.
 * Layer: server/physics (includes shared only).
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_RIGID_H
#define PLENUM_SERVER_PHYSICS_RIGID_RIGID_H

#include "server/physics/body_id.h"
#include "server/physics/contact/bodies.h"
#include "server/physics/state.h"
#include "shared/base/jobs.h"
#include "shared/base/kinds.h"
#include "shared/geometry/shape.h"

typedef struct Rigid Rigid;

/* The options of shared/rows/body.def, in SI units, with ranges and meanings documented there.
 * PGS bodies (`pgs`) and others push each other, but mixed stacks compress by centimetres. */
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
    /* Geometries of a loaded state, by Geometry.id. Borrowed; may be NULL. */
    const struct Geometry *const *geometries;
    u32 geometry_count;
    RigidMethod method; /* RIGID_IMPULSES: for all bodies; otherwise for those without `pgs` */
    u32 iterations;     /* RIGID_IMPULSES, default 10 */
    u32 pyramid_sides;  /* RIGID_IMPULSES: 3..16, default 4 */
    f32 baumgarte;      /* RIGID_IMPULSES: fraction of an error corrected per tick, [0, 1] */
    bool no_sleep;
    bool no_ccd; /* disables CCD: a bullet may pass a thin wall */
} RigidDef;

/* A grab constraint: a spring from a point of a body to a world target. */
typedef struct RigidGrab {
    BodyId body;
    Vec3 local;    /* m, in the body's frame */
    Vec3 target;   /* m, world */
    f32 frequency; /* Hz */
    f32 damping;   /* ratio */
    f32 force_max; /* N */
    Vec3 impulse;  /* N s of the last substep, for warm starting */
    u32 owner;     /* the caller's; grabs are solved in the order of creation */
    u32 live;
} RigidGrab;

/* A contact that began in this tick. */
typedef struct RigidImpact {
    u32 a, b;      /* slots */
    Vec3 position; /* m */
    f32 impulse;   /* N s */
    f32 speed;     /* m/s, approach speed */
} RigidImpact;

/* A sensor entered or left by a body in this tick (a < b, either is the sensor). */
typedef struct RigidOverlap {
    u32 a, b;   /* slots */
    bool began; /* false: ended */
} RigidOverlap;

enum {
    RIGID_IMPACTS_MAX = 64,
    RIGID_OVERLAPS_MAX = 256,
    RIGID_GRABS_MAX = 1024
};

/* The defaults of body.def. */
BodyDef body_def_default(void);
/* NULL: no memory. */
Rigid *rigid_create(const RigidDef *def);
void rigid_destroy(Rigid *rigid); /* NULL is fine */
/* Removes all bodies, contacts and grabs; generations of slots continue. */
void rigid_clear(Rigid *rigid);

/* Whether the definition can be simulated: every number finite, the pose inside the world, sizes
 * at least 0.1 mm, the mass of a dynamic body within 1 mg and 10^6 t, restitution in [0, 1], a
 * shape compatible with this motion and with its geometry. */
bool body_def_is_valid(const BodyDef *def);
/* Adds a body in the lowest free slot. Generation 0 if none is free or the definition is
 * invalid. Outside a tick only. */
BodyId rigid_add(Rigid *rigid, const BodyDef *def);
void rigid_remove(Rigid *rigid, BodyId body);
bool rigid_alive(const Rigid *rigid, BodyId body);
/* Slots ever used: [0, rigid_slots()). */
u32 rigid_slots(const Rigid *rigid);
/* The live body in a slot, generation 0 if the slot is free. */
BodyId rigid_at(const Rigid *rigid, u32 slot);
u32 rigid_generation(const Rigid *rigid, u32 slot);

/* Accessors by slot of a live body. */
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
bool rigid_is_sensor(const Rigid *rigid, u32 slot);
/* Its group and mask. */
void rigid_filter(const Rigid *rigid, u32 slot, u32 *group, u32 *mask);
/* Whether the live body collides with other matter of this group and mask (0: 1 and all).
 * Sensors do not. */
bool rigid_collides_with(const Rigid *rigid, u32 slot, u32 group, u32 mask);
bool rigid_awake(const Rigid *rigid, u32 slot);
/* Velocity of the body's point at world arm r from its centre. */
Vec3 rigid_velocity_at(const Rigid *rigid, u32 slot, Vec3 arm);
/* 1/m + (r × n)ᵀ I⁻¹ (r × n) of a dynamic awake body, else 0. */
f32 rigid_inverse_mass_at(const Rigid *rigid, u32 slot, Vec3 arm, Vec3 direction);
/* Velocity change of the point at world arm r of a dynamic awake body per unit impulse along
 * each axis (1/kg), else 0. */
Symmetric3 rigid_response_at(const Rigid *rigid, u32 slot, Vec3 arm);
/* I⁻¹ m in world axes of a dynamic awake body, else 0. */
Vec3 rigid_rotation_since(const Rigid *rigid, u32 slot, Vec3 moment);
/* Bounds of the body, including the motion of the next tick. */
Bounds rigid_bounds(const Rigid *rigid, u32 slot);

/* m/s, of the centre of mass, and rad/s. */
void rigid_set_velocity(Rigid *rigid, u32 slot, Vec3 velocity, Vec3 angular_velocity);
/* ---- for a solver that shares the substeps ---- */

/* Pose of a body: its centre of mass. */
typedef struct RigidPose {
    Vec3 centre; /* m, world */
    Quat orientation;
} RigidPose;
RigidPose rigid_pose(const Rigid *rigid, u32 slot);
/* Between substeps: temporarily evaluates the body at another pose. The final pose must be the
 * one set by the substep, displaced by at most what is passed to rigid_add_motion. */
void rigid_set_pose(Rigid *rigid, u32 slot, RigidPose pose);
/* Changes the velocity (m/s) and the angular velocity (rad/s); wakes nothing. */
void rigid_add_velocity(Rigid *rigid, u32 slot, Vec3 velocity);
void rigid_add_angular_velocity(Rigid *rigid, u32 slot, Vec3 angular_velocity);
/* Additional motion (m, rad) of a body within the tick beyond its own substeps, for its
 * contacts. */
void rigid_add_motion(Rigid *rigid, u32 slot, Vec3 shift, Vec3 rotation);
/* Whether it moves once per tick, in the first substep, for the whole tick. */
bool rigid_moves_once(const Rigid *rigid, u32 slot);

/* Applies an impulse (N s) at a world arm from the centre; wakes nothing. */
void rigid_impulse(Rigid *rigid, u32 slot, Vec3 arm, Vec3 impulse);
/* Applies a force (N) at a world arm from the centre and a torque (N m) over one tick; wakes the
 * body. */
void rigid_push(Rigid *rigid, u32 slot, Vec3 arm, Vec3 force, Vec3 torque);
/* Sets the velocity of a kinematic body so that it reaches this pose after the next tick. */
void rigid_move_kinematic(Rigid *rigid, u32 slot, Vec3 position, Quat orientation);
void rigid_wake(Rigid *rigid, u32 slot);
void rigid_wake_all(Rigid *rigid);
/* Resets the sleep timer of an awake body. */
void rigid_keep_awake(Rigid *rigid, u32 slot);

/* ---- other matter that sleeps together with bodies: soft bodies, liquids ---- */

/* See IslandMembers in contact/bodies.h. Call before rigid_finish, for this tick; borrowed until it
 * returns. */
void rigid_set_island_members(Rigid *rigid, const IslandMembers *members);
void rigid_link_body(Rigid *rigid, u32 member, u32 slot);
void rigid_carry_body(Rigid *rigid, u32 member, u32 slot);
void rigid_link_members(Rigid *rigid, u32 member, u32 other);
/* Something other than a contact or joint supports the body in this tick, so it may fall asleep.
 * Call before rigid_finish. */
void rigid_hold_up(Rigid *rigid, u32 slot);
/* Whether it is awake and dynamic, or a moving kinematic body. */
bool rigid_stirs(const Rigid *rigid, u32 slot);

void rigid_set_gravity(Rigid *rigid, Vec3 gravity); /* m/s² */
Vec3 rigid_gravity(const Rigid *rigid);
/* 1..SUBSTEPS_MAX; RIGID_IMPULSES always uses one. */
void rigid_set_substeps(Rigid *rigid, u32 substeps);
/* Factor on all friction coefficients, and the minimal restitution of all pairs. */
void rigid_set_materials(Rigid *rigid, f32 friction_scale, f32 restitution_min);
u32 rigid_substeps(const Rigid *rigid);

/* Returns a grab's index, or −1 if all are used. Wakes the body. */
i32 rigid_grab_add(Rigid *rigid, const RigidGrab *grab);
void rigid_grab_remove(Rigid *rigid, u32 grab);
RigidGrab *rigid_grab(Rigid *rigid, u32 grab);

/* Broad phase and narrow phase. */
void rigid_collide(Rigid *rigid, Jobs *jobs);
/* Builds contact rows, wakes islands. */
void rigid_prepare(Rigid *rigid);
/* One substep of tick_s / substeps. */
void rigid_substep(Rigid *rigid);
/* Restitution, persistent impulses, sleeping, impacts. */
void rigid_finish(Rigid *rigid);

/* Strongest impacts of the last tick, ≤ RIGID_IMPACTS_MAX, in slot order. */
const RigidImpact *rigid_impacts(const Rigid *rigid, u32 *count);
/* Sensor events of the last tick, at most RIGID_OVERLAPS_MAX: first bodies that left by a large
 * distance, then the others in the order of (a, b), last those that entered and left within the
 * tick (both at once). */
const RigidOverlap *rigid_sensor_events(const Rigid *rigid, u32 *count);
/* Slots of live bodies whose bounds overlap, ascending, static ones too (planes always); of more
 * than `capacity` the lowest. Returns how many were written. */
u32 rigid_overlaps(Rigid *rigid, Bounds bounds, u32 *slots, u32 capacity);

/* Number of other dynamic bodies in the place of the first body with more than `most`, with its
 * slot, else 0. */
u32 rigid_deepest_overlap(Rigid *rigid, u32 most, u32 *slot);

/* For tests of the balance of energy: from then on sums the work (J) of kinematic bodies, of moving
 * surfaces and of grabs on dynamic bodies. Not part of the state. Bodies of the method IMPULSES and
 * motors of joints are not included. */
void rigid_measure_work(Rigid *rigid, bool on);
f64 rigid_work(const Rigid *rigid);

typedef struct RigidStats {
    u32 bodies, awake, contacts, touching, islands;
    f32 penetration_max; /* m, of the manifolds at the start of the tick */
    u64 memory_bytes;
} RigidStats;
void rigid_stats(Rigid *rigid, RigidStats *stats);

/* Aborts if the world is inconsistent between two ticks: bodies, trees of bounds, pairs with
 * their contacts and kept poses, islands, colours, joints, grabs, and the tick's events. Called
 * by rigid_finish in debug and sanitizer builds. */
void rigid_validate(Rigid *rigid);

/* Serializes the dynamic state. After a load the broad phase is rebuilt; if failed, the rigid
 * world must be cleared. */
void rigid_serialize(Rigid *rigid, State *state);

#endif
