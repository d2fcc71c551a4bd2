/*
 * joint.h: joints between two bodies, or between a body and the world. Every joint is a set of soft
 * constraints solved inside the substeps together with the contacts, warm started, with limits,
 * motors and breaking loads. Frames: anchor and frame of each side are in the body's own frame (of
 * its shape, not its centre of mass); the x axis of the frame is the hinge, slide or twist axis; y
 * is the other axis of a universal joint (of side b), and angles are measured from a's y to b's y
 * about x.
 * Method: soft constraints of Catto (GDC 2011), TGS-soft (Solver2D, 2024); ball joints and hinges
 * eight at a time; trees of ball, hinge, slider, distance, universal, fixed and cone-twist joints
 * by a direct factorization (Baraff 1996), so that chains carry any load, without motors and
 * springs, and without limits but those of cone-twist joints and hinges, which act with the answer
 * of the whole tree (Mirtich 1996), rigid and together; clusters with loops too, if they are small
 * or narrow. Dry friction about a point is one block.
 * Layer: server/physics/rigid/joint.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_JOINT_JOINT_H
#define PLENUM_SERVER_PHYSICS_RIGID_JOINT_JOINT_H

#include "server/physics/rigid/rigid.h"

typedef struct JointId {
    u32 slot, generation; /* generation 0 is none */
} JointId;

enum {
    JOINT_LIMITS = 1,   /* lower, upper (and swing) are active */
    JOINT_DRIVE = 2,    /* the motor is active */
    JOINT_SPRUNG = 4,   /* frequency > 0 pulls the free motion to `rest` */
    JOINT_COLLIDES = 8, /* the two bodies collide with each other */
    JOINT_ENABLED = 16, /* if not set: no constraint, but the bodies still do not collide */
    JOINT_FLAGS = 31
};

/* The options of shared/rows/joint.def, in SI units and radians, documented there. Anchors and
 * frames are local; lower, upper and swing are used with JOINT_LIMITS; force_max and torque_max
 * are > 0. Part of saved worlds: members keep their order. */
typedef struct JointDef {
    JointKind kind;
    u32 flags;
    BodyId a, b; /* generation 0: the world, whose frame is the identity */
#define MEMBER(type, name) type name;
#include "shared/rows/joint.def"
} JointDef;

/* Enabled, identity frames, anchors at the origins, no limits, a motor of unbounded strength. */
JointDef joint_def_default(JointKind kind);
/* NULL if the numbers of a definition are valid, otherwise the name of the invalid one
 * ("swing"). Does not check whether the bodies exist. Ranges: angles of limits in [−π, π] and
 * swing in (0, π]; distances ≥ 0; lower ≤ upper; anchors within WORLD_EXTENT_MAX_M; frequency,
 * damping, breaking loads ≥ 0; motor strength > 0. */
const char *joint_def_fault(const JointDef *def);
/* Adds a joint in the lowest free slot; generation 0 if the table (RigidDef.joint_capacity) is
 * full, a body does not exist, both are the world or the same, or joint_def_fault. Wakes the
 * bodies. Outside a tick only, like all functions that change joints. */
JointId rigid_joint_add(Rigid *rigid, const JointDef *def);
void rigid_joint_remove(Rigid *rigid, JointId joint);
bool rigid_joint_alive(const Rigid *rigid, JointId joint);
/* Slots ever used, and the live joint in a slot (generation 0: free). */
u32 rigid_joint_slots(const Rigid *rigid);
JointId rigid_joint_at(const Rigid *rigid, u32 slot);
/* Its definition with current values; NULL if the slot is free. */
const JointDef *rigid_joint_def(const Rigid *rigid, u32 slot);
/* Current angle in (−π, π] (hinge, about x; cone-twist: twist), translation of b along a's x
 * (slider) or distance of the anchors (others). */
f32 rigid_joint_value(const Rigid *rigid, u32 slot);
/* Force (N) and torque (N m) on b in the last tick; distance of the anchors (m). */
Vec3 rigid_joint_force(const Rigid *rigid, u32 slot);
Vec3 rigid_joint_torque(const Rigid *rigid, u32 slot);
f32 rigid_joint_error(const Rigid *rigid, u32 slot);

/* A joint that broke in this tick; its slot is free again. */
typedef struct JointBreak {
    u32 slot, generation, a, b; /* bodies: slots; 0xffffffff: the world */
    Vec3 position;              /* m */
    f32 force, torque;          /* N, N m */
} JointBreak;
/* In slot order. Valid until the next tick. */
const JointBreak *rigid_joint_breaks(const Rigid *rigid, u32 *count);

#endif
