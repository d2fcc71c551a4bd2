/*
 * method.h: what the files of the selectable methods share. A body of another method than SOFT_XPBD
 * is solved by one call, which touches nothing of other bodies: bodies run in parallel.
 * Layer: server/physics/soft, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_METHOD_H
#define PLENUM_SERVER_PHYSICS_SOFT_METHOD_H

#include "server/physics/soft/constraint.h"

/* Arrays of [particles] are indexed as soft->points, those of [constraints] as soft->constraints.
 * All but spread is scratch of one tick. */
struct Methods {
    u32 *first_grab; /* [bodies of the store] their first grab or SOFT_NONE */
    u32 next_grab[SOFT_GRABS_MAX];
    f32 *weight; /* [particles] 1/kg, with what a particle is attached to */
    f32 *own;    /* [particles] 1/kg, without */
    f32 (*multiplier)[CONSTRAINT_ROWS_MAX]; /* [constraints] λ so far */
    Vec3 *moved;      /* [particles] m, where a particle would be, less where it is */
    Vec3 *speed;      /* [particles] m/s, to go with that; what an attached one is carried with */
    Vec3 *change;     /* [particles] m/s² */
    Vec3 *drift;      /* [particles] m, by which the displacement is not h × velocity */
    Vec3 *expected;   /* [particles] m/s, the velocity that drift belongs to */
    f32 (*spread)[4]; /* [constraints] 1 / the share of a point's stability: springs.c */
};

/* springs.c: shares, once the body's constraints are known; a step, to velocities and drift. */
void springs_create(const Soft *soft, Methods *methods, const SoftBody *body);
void springs_step(Soft *soft, Methods *methods, const SoftBody *body, f32 h);
/* method_smooth.c: takes a part of the differences of velocity along edges out, without touching
 * momentum, and without touching angular momentum where nothing is pinned. */
void smooth_step(Soft *soft, const SoftBody *body, f32 h);
/* Takes the speed from edges that would stretch them beyond three times their length within h, and
 * from those with limits what would break these. */
void limit_step(Soft *soft, const SoftBody *body, f32 h);

#endif
