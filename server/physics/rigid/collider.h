/*
 * collider.h: rigid bodies as colliders for other matter (server/physics/contact). Things are
 * slots.
 *
 * Bodies that other matter may touch take that matter's steps. Their own substep has already moved
 * them all the way; here they return to its start and move on by their share with each step. Each
 * solver that meets bodies has its own RigidCollider.
 * Layer: server/physics/rigid.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_COLLIDER_H
#define PLENUM_SERVER_PHYSICS_RIGID_COLLIDER_H

#include "server/physics/contact/bodies.h"
#include "server/physics/rigid/rigid.h"

#define RIGID_MOVER_NONE UINT32_MAX

/* A body that may be touched or held in this tick and follows the steps of the solver that meets it
 * (collider_mover.c). */
typedef struct RigidMover {
    u32 slot;
    bool once;                    /* it moves once a tick */
    RigidPose from;               /* where its motion begins: in the substep, or in the tick */
    Vec3 before;                  /* m/s, its velocity there, */
    Vec3 before_angular_velocity; /* rad/s */
    RigidPose to;                 /* where its solver has moved it */
    Vec3 way;                     /* m, between the two */
    Vec3 velocity;                /* m/s, after its solver's substep */
    Vec3 angular_velocity;        /* rad/s */
    Vec3 bias;           /* m/s, rad/s: it goes that way faster than its velocity says, where its */
    Vec3 bias_angular;   /* contacts push it out of each other */
    Vec3 shift;          /* m, due to velocity changes by others, */
    Vec3 rotation;       /* rad */
    Vec3 reported_shift; /* and the part already passed to rigid_add_motion */
    Vec3 reported_rotation;
    Vec3 fall;      /* m/s², applied step by step and not at once, */
    Vec3 twist;     /* rad/s² */
    f32 span, left; /* s, of the way */
} RigidMover;

typedef struct RigidCollider {
    Rigid *rigid;       /* borrowed, while it is used */
    Vec3 gravity;       /* m/s², of this tick */
    f32 tick_s;         /* of this tick */
    f32 substep_s;      /* of the bodies */
    RigidMover *movers; /* of this tick */
    u32 *mover_of;      /* [mover_slots] one more than the index of the slot's mover; 0: none */
    u32 mover_count, mover_capacity, mover_slots;
    struct RigidCollider *earlier; /* of the solver that meets the bodies earlier in a substep, or
                                    * NULL */
} RigidCollider;

extern const ColliderOps rigid_collider_ops;

/* The bodies as a collider; borrowed. */
static inline Collider rigid_collider(RigidCollider *bodies)
{
    return (Collider){&rigid_collider_ops, bodies};
}
/* Frees its tables; it can be used again. */
void rigid_collider_finish(RigidCollider *bodies);

/* ---- movers ---- */

/* Discards the movers of the last tick. */
void rigid_movers_clear(RigidCollider *bodies);
/* The mover of a body, created if necessary; RIGID_MOVER_NONE for static bodies. */
u32 rigid_mover(RigidCollider *bodies, u32 slot);
static inline u32 rigid_mover_at(const RigidCollider *bodies, u32 slot)
{
    return slot < bodies->mover_slots ? bodies->mover_of[slot] - 1 : RIGID_MOVER_NONE;
}
/* The bodies go back to where a substep of h s began; before a step of the solver that meets them
 * (gravity), after it, and after the last one, at the end of the substep. */
void rigid_movers_begin(RigidCollider *bodies, f32 h);
void rigid_movers_fall(RigidCollider *bodies, f32 h);
void rigid_movers_step(RigidCollider *bodies, f32 h);
void rigid_movers_end(RigidCollider *bodies);

#endif
