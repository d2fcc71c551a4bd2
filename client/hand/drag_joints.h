/*
 * drag_joints.h: prediction of bodies jointed to the dragged body, which is shown a round trip
 * ahead of the server's answer: without it a dragged ragdoll would be drawn in pieces.
 *
 * Starting from the shown poses, the grabbed point moves to its predicted position, and the joints
 * between the bodies are restored by position-based projection, one joint after the other (Müller
 * 2020), with masses that increase towards the grab, so that a chain follows its end. Immovable
 * bodies win: a door stays on its hinges. With a zero offset nothing moves.
 * Pure.
 * Layer: client/hand.
 */
#ifndef PLENUM_CLIENT_HAND_DRAG_JOINTS_H
#define PLENUM_CLIENT_HAND_DRAG_JOINTS_H

#include "client/link/timeline.h"
#include "protocol/scene/scene.h"

enum {
    DRAG_BODIES_MAX = 64, /* bodies farther along the joints are treated as immovable */
    DRAG_JOINTS_MAX = 160,
    DRAG_WORLD = 0xFFFF,
};

typedef struct DragBody {
    u32 element;         /* of the field */
    f32 inverse_mass;    /* 1/kg; 0: immovable */
    f32 inverse_inertia; /* 1/(kg m²), about any axis */
    u32 depth;           /* joints between it and the grabbed body */
} DragBody;

typedef struct DragJoint {
    JointKind kind;
    u32 a, b; /* in bodies; DRAG_WORLD: the world */
    Vec3 anchor_a, anchor_b;
    Quat frame_a, frame_b;
} DragJoint;

typedef struct DragJoints {
    u32 entity; /* grabbed; 0: none */
    u32 body_count, joint_count;
    bool stands;                       /* some of the bodies, or the world, are immovable */
    DragBody bodies[DRAG_BODIES_MAX];  /* the grabbed one first */
    DragJoint joints[DRAG_JOINTS_MAX]; /* sorted by distance from it */
} DragJoints;

/* Finds the bodies jointed to the entity `id` by the joints of the scene; entities in id order.
 * Spawned bodies have no joints. */
void drag_joints_find(DragJoints *drag, const Scene *scene, const Entity *entities, u32 count,
                      u32 id);
/* Moves the grabbed body's point `local` by `offset` (m), and the jointed bodies along:
 * poses[capacity] as shown, of the field of the grabbed body. Returns the resulting position of
 * the point. */
Vec3 drag_joints_show(const DragJoints *drag, Vec3 local, Vec3 offset, ShownPose *poses,
                      u32 capacity);

#endif
