/*
 * collider.h: soft bodies as colliders for other matter (server/physics/contact): triangles and
 * segments are two-sided surfaces with thickness, tetrahedra have an inside. A thing is a body.
 *
 * Soft bodies have completed their steps of a substep before others collide with them: others see
 * each point where it was at the start of their own step, at position − left × velocity, and a
 * velocity change by an impulse moves it for the rest of the substep.
 * Layer: server/physics/soft.
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_COLLIDER_H
#define PLENUM_SERVER_PHYSICS_SOFT_COLLIDER_H

#include "server/physics/contact/contact.h"
#include "server/physics/soft/soft.h"
#include "server/physics/tree.h"

/* A triangle (three corners), a segment (two) or a tetrahedron (four) of a body. */
typedef struct SoftFeature {
    u32 point[4];
    u32 corners, body;
} SoftFeature;

typedef struct SoftCollider {
    Soft *soft; /* borrowed, during use */
    SoftFeature *features;
    Bounds *boxes;       /* [feature_count] m, of the tick */
    Bounds *body_bounds; /* [body_capacity] */
    u32 *leaves, *numbers;
    Tree tree; /* of boxes */
    u32 feature_count, feature_capacity, body_capacity;
    f32 left; /* s of the substep by which the points are ahead of the other party */
} SoftCollider;

extern const ColliderOps soft_collider_ops;

static inline Collider soft_collider(SoftCollider *bodies)
{
    return (Collider){&soft_collider_ops, bodies};
}
/* Frees its tables; the zeroed struct can be used again. */
void soft_collider_finish(SoftCollider *bodies);

#endif
