/*
 * joint.h: joints between two bodies, or between a body and the world. Every joint is a set of soft
 * constraints solved inside the substeps beside the contacts, warm started, with limits, motors and
 * a load at which it breaks.
 * Frames: anchor and frame of each side are in the body's own frame (of its shape, not its centre
 * of mass); the x axis of the frame is the hinge axis, the slide axis and the twist axis; y is the
 * other axis of a universal joint (of side b) and angles are measured from a's y to b's y about x.
 * Method: soft constraints of Catto (GDC 2011), TGS-soft (Solver2D, 2024); ball joints and hinges
 * eight at a time, trees of balls, hinges, sliders, rods, universal and fixed joints without
 * limits, motors and springs by a direct factorization (Baraff 1996), so that chains hold whatever
 * hangs on them; clusters with loops too, where they are small or narrow.
 * Layer: server/physics/rigid/joint.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_JOINT_JOINT_H
#define PLENUM_SERVER_PHYSICS_RIGID_JOINT_JOINT_H

#include "server/physics/rigid/rigid.h"

typedef struct JointId {
    u32 slot, generation; /* generation 0 names none */
} JointId;

enum {
    JOINT_LIMITS = 1,   /* lower, upper (and swing) hold */
    JOINT_DRIVE = 2,    /* the motor runs */
    JOINT_SPRUNG = 4,   /* frequency > 0 pulls the free motion to `rest` */
    JOINT_COLLIDES = 8, /* the two bodies may touch each other */
    JOINT_ENABLED = 16, /* not enabled: holds nothing, but the bodies still do not touch */
    JOINT_FLAGS = 31
};

/* The options of shared/rows/joint.def, in SI units and radians; there is what they mean. Anchors
 * and frames are local; lower, upper and swing hold with JOINT_LIMITS; force_max and torque_max are
 * > 0. Bytes of saved worlds: members keep their order. */
typedef struct JointDef {
    JointKind kind;
    u32 flags;
    BodyId a, b; /* generation 0: the world, whose frame is the identity */
#define MEMBER(type, name) type name;
#include "shared/rows/joint.def"
} JointDef;

/* Enabled, identity frames, anchors at the origins, no limits, a motor of no bounded strength. */
JointDef joint_def_default(JointKind kind);
/* NULL if the numbers of a definition can be used, else what is wrong with them ("swing"). Looks at
 * numbers only, not at whether the bodies live. Ranges: angles of limits in [−π, π] and swing in
 * (0, π]; distances ≥ 0; lower ≤ upper; anchors within WORLD_EXTENT_MAX_M; frequency, damping,
 * breaking loads ≥ 0; what a motor may give > 0. */
const char *joint_def_fault(const JointDef *def);
/* Takes the lowest free slot; generation 0 if the table (RigidDef.joint_capacity) is full, a body
 * is not alive, both are the world or the same, or joint_def_fault. Wakes the bodies. Outside a
 * tick only, as all that changes joints. */
JointId rigid_joint_add(Rigid *rigid, const JointDef *def);
void rigid_joint_remove(Rigid *rigid, JointId joint);
bool rigid_joint_alive(const Rigid *rigid, JointId joint);
/* Slots ever used, and the live joint in a slot (generation 0: free). */
u32 rigid_joint_slots(const Rigid *rigid);
JointId rigid_joint_at(const Rigid *rigid, u32 slot);
/* Its definition with the values of now; NULL if the slot is free. */
const JointDef *rigid_joint_def(const Rigid *rigid, u32 slot);
/* Angle in (−π, π] (hinge, about x; cone-twist: twist), shift of b along a's x (slider) or distance
 * of the anchors (the others) now. */
f32 rigid_joint_value(const Rigid *rigid, u32 slot);
/* Force (N) and torque (N m) on b in the last tick; how far the anchors are apart (m). */
Vec3 rigid_joint_force(const Rigid *rigid, u32 slot);
Vec3 rigid_joint_torque(const Rigid *rigid, u32 slot);
f32 rigid_joint_error(const Rigid *rigid, u32 slot);

/* A joint that broke in this tick; its slot is free again. */
typedef struct JointBreak {
    u32 slot, generation, a, b; /* bodies: slots; 0xffffffff: the world */
    Vec3 position;              /* m */
    f32 force, torque;          /* N, N m */
} JointBreak;
/* In slot order. Gone with the next tick. */
const JointBreak *rigid_joint_breaks(const Rigid *rigid, u32 *count);

#endif
