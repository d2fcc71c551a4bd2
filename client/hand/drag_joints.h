/*
 * drag_joints.h: what hangs on a body that the hand holds. The held body is shown a round trip
 * ahead of the server's answer; what it is joined to comes along, or a dragged ragdoll would be
 * drawn in pieces.
 *
 * From the shown poses the held point goes to where it is predicted, and the joints between the
 * bodies are brought back to what they were by moving and turning these as little as their masses
 * let them (positions projected one joint after the other: Müller 2020), the nearer to the hand the
 * heavier, so that a chain follows its end. What is joined to something that stands gives way: a
 * door stays in its hinges. Where nothing is offset nothing moves.
 * Pure.
 * Layer: client/hand.
 */
#ifndef PLENUM_CLIENT_HAND_DRAG_JOINTS_H
#define PLENUM_CLIENT_HAND_DRAG_JOINTS_H

#include "client/link/timeline.h"
#include "protocol/scene/scene.h"

enum {
    DRAG_BODIES_MAX = 64, /* what is farther along the joints stands for this purpose */
    DRAG_JOINTS_MAX = 160,
    DRAG_WORLD = 0xFFFF,
};

typedef struct DragBody {
    u32 element;         /* of the field */
    f32 inverse_mass;    /* 1/kg; 0: stands */
    f32 inverse_inertia; /* 1/(kg m²), about any axis */
    u32 depth;           /* joints between it and the held body */
} DragBody;

typedef struct DragJoint {
    JointKind kind;
    u32 a, b; /* in bodies; DRAG_WORLD: the world */
    Vec3 anchor_a, anchor_b;
    Quat frame_a, frame_b;
} DragJoint;

typedef struct DragJoints {
    u32 entity; /* held; 0: none */
    u32 body_count, joint_count;
    bool stands;                       /* some of the bodies, or the world itself, do not move */
    DragBody bodies[DRAG_BODIES_MAX];  /* the held one first */
    DragJoint joints[DRAG_JOINTS_MAX]; /* the nearest to it first */
} DragJoints;

/* What hangs on the entity `id` by the joints of the scene; entities in id order. What was spawned
 * later has no joints. */
void drag_joints_find(DragJoints *drag, const Scene *scene, const Entity *entities, u32 count,
                      u32 id);
/* Moves the held body's point `local` by `offset` (m), and the others along: poses[capacity] as
 * shown, of the field of the held body, which the entities lie in. Returns where the point is then.
 */
Vec3 drag_joints_show(const DragJoints *drag, Vec3 local, Vec3 offset, ShownPose *poses,
                      u32 capacity);

#endif
