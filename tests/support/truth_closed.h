/*
 * truth_closed.h: a closed world of a rigid solver and a particle store for laws of soft bodies in
 * contact, and its energy and momenta.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_TRUTH_CLOSED_H
#define PLENUM_TESTS_SUPPORT_TRUTH_CLOSED_H

#include "server/physics/rigid/collider.h"
#include "server/physics/soft/soft.h"
#include "tests/support/truth.h"

enum {
    CLOSED_BODIES_MAX = 4
};

#define CLOSED_GRAVITY 9.81f /* m/s² */

typedef struct Closed {
    Rigid *rigid;
    RigidCollider bodies_met; /* by the soft bodies */
    Soft *soft;
    f32 tick_s, gravity;
    u32 substeps;
    BodyId bodies[CLOSED_BODIES_MAX];
    u32 body_count;
} Closed;

/* Energy in J (elastic: of soft bodies, soft_elastic_energy) and momenta about the origin. */
typedef struct ClosedSums {
    f64 kinetic, potential, elastic, momentum[3], angular[3];
    f64 fastest; /* m/s */
} ClosedSums;

/* At a random rate, without air. The particle steps are at most `step_s` if 16 per substep
 * suffice. */
Closed closed_make(TruthCase *c, f32 gravity, f32 step_s);
void closed_finish(Closed *of);
/* Its bodies as colliders for soft bodies. */
Collider closed_collider(Closed *of);
void closed_tick(Closed *of);
ClosedSums closed_sums(const Closed *of);
/* A ball, box or capsule of about this radius, m. */
Shape closed_shape(TruthCase *c, f32 size);
/* It collides only with soft bodies and with those of closed_add_floor; at most
 * CLOSED_BODIES_MAX. */
BodyId closed_add_body(Closed *of, Shape shape, f32 mass, Vec3 at, Quat rotation, Vec3 velocity);
/* The plane y = 0. */
void closed_add_floor(Closed *of);
/* Finishes the mesh; false: it could not be added. */
bool closed_add_soft(Closed *of, SoftDef *def, SoftMesh *mesh, SoftRange *range);

#endif
