/*
 * method.h: what the files of the selectable methods share. A body of another method than SOFT_XPBD
 * is solved by one call, which touches nothing of other bodies: bodies run in parallel.
 * Layer: server/physics/soft (private).
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_METHOD_H
#define PLENUM_SERVER_PHYSICS_SOFT_METHOD_H

#include "server/physics/soft/store.h"

/* Arrays of [particles] are indexed as soft->points, those of [constraints] as soft->constraints;
 * bodies of SOFT_XPBD have theirs too and leave them alone. All is scratch of one step. */
struct Methods {
    u32 *first_grip; /* [bodies of the store] their first grip or SOFT_NONE */
    u32 next_grip[SOFT_GRIPS_MAX];
    Vec3 *moved;     /* [particles] m, where a particle would be, less where it is */
    Vec3 *speed;     /* [particles] m/s, to go with that */
    Vec3 *change;    /* [particles] m/s² */
    Vec3 *drift;     /* [particles] m, by which the displacement is not h × velocity */
    Vec3 *expected;  /* [particles] m/s, the velocity that drift belongs to */
    f32 *weight;     /* [particles] 1/kg, with what a particle is attached to */
    f32 *multiplier; /* [constraints][2] λ so far */
    f32 (
        *spread)[4]; /* [constraints] how much of a particle's stability a spring may use: springs.c
                      */
};

/* A constraint whose points are at their positions + moved: C and its gradients. */
typedef struct Measure {
    f32 value;
    Vec3 gradient[4];
    u32 points;
} Measure;

/* False where there is nothing to do: within its limits, or without a direction. `part` is 0 but
 * for kinds that are several constraints in one. */
bool method_measure(const Soft *soft, const SoftConstraint *of, const Vec3 *moved, u32 part,
                    Measure *measure);
/* Number of scalar constraints in one of this kind. */
u32 method_parts(const SoftConstraint *of);

/* method.c: methods that solve once a tick. springs.c: those that integrate forces. relax.c: one
 * pass of Jakobsen's sticks over a body's constraints, on moved with weight. */
void springs_create(Soft *soft, Methods *methods, const SoftBody *body);
void springs_step(Soft *soft, Methods *methods, const SoftBody *body, f32 h);
void relax_pass(const Soft *soft, Methods *methods, const SoftBody *body, f32 h);
/* method_smooth.c: takes a part of the differences of velocity along edges out, without touching
 * momentum and angular momentum. */
void smooth_step(Soft *soft, const SoftBody *body, f32 h);
/* PBD: goes `part` of the way to C = 0 (Müller et al. 2007, eq. 9). */
void method_project(const SoftConstraint *of, const Measure *measure, Vec3 *moved,
                    const f32 *weight, f32 lambda);
/* Σ w |∇C|² */
f32 method_mobility(const SoftConstraint *of, const Measure *measure, const f32 *weight);

#endif
