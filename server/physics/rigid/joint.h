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
 * Layer: server/physics/rigid.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_JOINT_H
#define PLENUM_SERVER_PHYSICS_RIGID_JOINT_H

#include "server/physics/rigid/rigid.h"

typedef enum JointKind {
    JOINT_NONE = 0,
    JOINT_BALL = 1,     /* anchors together */
    JOINT_HINGE = 2,    /* ball, and x axes together; angle has limits, motor, spring */
    JOINT_SLIDER = 3,   /* all but the shift along x, which has limits, motor, spring */
    JOINT_FIXED = 4,    /* anchors and frames together */
    JOINT_DISTANCE = 5, /* lower ≤ |anchors' distance| ≤ upper: a rod (equal), a rope (lower 0) */
    JOINT_CONE_TWIST = 6, /* ball; x axes within the swing cone; twist within the limits */
    JOINT_UNIVERSAL = 7,  /* ball; a's x stays perpendicular to b's y (cardan) */
    JOINT_MOTOR = 8,      /* drives relative velocity and pose with bounded force and torque */
    JOINT_SPRING = 9,     /* spring along the line between the anchors, rest length `rest` */
    JOINT_KIND_COUNT
} JointKind;

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

typedef struct JointDef {
    JointKind kind;
    u32 flags;
    BodyId a, b;             /* generation 0: the world, whose frame is the identity */
    Vec3 anchor_a, anchor_b; /* m, local */
    Quat frame_a, frame_b;
    f32 lower, upper;                /* rad or m */
    f32 swing;                       /* rad, half angle of the cone, (0, π] */
    f32 speed;                       /* rad/s or m/s, of the motor */
    f32 force_max;                   /* N m or N of the motor, > 0 */
    f32 rest;                        /* rad or m */
    f32 frequency;                   /* Hz of the spring's motion of the two bodies alone */
    f32 damping;                     /* its ratio, 1: critical */
    f32 break_force;                 /* N, 0: never */
    f32 break_torque;                /* N m, 0: never */
    Vec3 motor_velocity, motor_spin; /* JOINT_MOTOR: of b against a, in a's frame; with `frequency`
                                        also the pose of b's frame is pulled onto a's */
    f32 torque_max;                  /* N m, JOINT_MOTOR */
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
/* Changes what may change while it lives: flags, limits, motor, spring, breaking. Wakes. */
bool rigid_joint_tune(Rigid *rigid, u32 slot, const JointDef *def);
/* Angle in (−π, π] (hinge, about x; cone-twist: twist), shift of b along a's x (slider) or distance
 * of the anchors (the others) now. */
f32 rigid_joint_value(const Rigid *rigid, u32 slot);
/* The two anchors in the world now, m. */
void rigid_joint_anchors(const Rigid *rigid, u32 slot, Vec3 *a, Vec3 *b);
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
