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

typedef struct SoftCollider {
    ContactLag lag;
    Soft *soft;                        /* borrowed, during use */
    const struct SoftSurface *surface; /* of the tick, shared by all users; NULL: none */
} SoftCollider;

extern const ColliderOps soft_collider_ops;

/* The soft bodies as a collider; borrowed. */
static inline Collider soft_collider(SoftCollider *bodies)
{
    return (Collider){&soft_collider_ops, bodies};
}

#endif
