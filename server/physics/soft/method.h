/*
 * method.h: shared declarations of the selectable methods. A body of a method other than SOFT_XPBD
 * is solved by one call, which accesses no other body: bodies run in parallel.
 * Layer: server/physics/soft, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_METHOD_H
#define PLENUM_SERVER_PHYSICS_SOFT_METHOD_H

#include "server/physics/soft/constraint.h"

/* Arrays of [particles] are indexed as soft->points, those of [constraints] as
 * soft->constraints. All but spread and stable is scratch memory of one tick. */
struct Methods {
    u32 *first_grab; /* [bodies of the store] their first grab or SOFT_NONE */
    u32 next_grab[SOFT_GRABS_MAX];
    f32 *weight; /* [particles] 1/kg, with the body a particle is attached to */
    f32 *own;    /* [particles] 1/kg, alone */
    f32 (*multiplier)[CONSTRAINT_ROWS_MAX]; /* [constraints] λ so far */
    Vec3 *moved;      /* [particles] m, displacement from the current position */
    Vec3 *speed;      /* [particles] m/s, the matching velocity; of attached ones that of the
                         anchor */
    Vec3 *change;     /* [particles] m/s² */
    Vec3 *drift;      /* [particles] m, displacement in excess of h × velocity */
    Vec3 *expected;   /* [particles] m/s, the velocity that drift belongs to */
    f32 (*spread)[4]; /* [constraints] 1 / the share of a point's stability: springs.c */
    f32 (*stable)[2]; /* [bodies of the store] s², the square of the longest step that the springs
                         of stretch, and of bending, bear as they are */
};

/* springs.c: computes shares, once the body's constraints are known; a step, which writes
 * velocities and drift. */
void springs_create(const Soft *soft, Methods *methods, const SoftBody *body);
/* s, of a step for which a body's springs are not softened more than they must be. */
f32 springs_longest_step(const Soft *soft, const Methods *methods, const SoftBody *body);
void springs_step(Soft *soft, Methods *methods, const SoftBody *body, f32 h);
/* method_smooth.c: damps velocity differences along edges; preserves momentum, and angular
 * momentum of unpinned bodies. */
void smooth_step(Soft *soft, const SoftBody *body, f32 h);
/* Removes the speed that would stretch edges beyond three times their length within h, or
 * violate stretch limits. What is beyond already may not go on, and is pulled back slowly. */
void limit_step(Soft *soft, const SoftBody *body, f32 h);

#endif
