/*
 * soft_scenes.h: the soft scenes of the targets, as meshes and definitions that any engine can be
 * given: 60 ticks a second, 10 steps a tick, gravity, no air, nothing to collide with. And a heap,
 * for this engine alone.
 * Layer: tests. C and C++.
 */
#ifndef PLENUM_TESTS_BENCH_SOFT_SCENES_H
#define PLENUM_TESTS_BENCH_SOFT_SCENES_H

#include "server/physics/rigid/collider.h"
#include "server/physics/soft/soft.h"

enum {
    SOFT_SETUP_STEPS = 10,
    SOFT_SETUP_BODIES_MAX = 16
};

#define SOFT_SETUP_TICK_S (1.0f / 60.0f)

typedef struct SoftSetup {
    const char *name;
    const char *unit; /* of what its rate counts */
    u32 body_count;
    SoftMesh meshes[SOFT_SETUP_BODIES_MAX];
    SoftDef defs[SOFT_SETUP_BODIES_MAX];
    SoftPin pins[SOFT_SETUP_BODIES_MAX][2];
} SoftSetup;

PL_BEGIN_C
/* cloth50, cloth100: 2 pins, stretch, shear and bending distances; tets5k: a block of Neo-Hookean
 * tetrahedra held by two corners; bodies16: 16 such cubes of 6 x 6 x 6 cells in the air; rope: 10
 * ropes of 1000 points. Ends the program if there is no such scene. */
SoftSetup *soft_setup_create(const char *name);
void soft_setup_destroy(SoftSetup *setup);
/* A store of the scene, built. */
Soft *soft_setup_store(SoftSetup *setup);
void soft_setup_tick(Soft *soft, Jobs *jobs);
/* What the rate counts: tetrahedra, or constraints where there are none. */
u32 soft_setup_size(const SoftSetup *setup, const Soft *soft);

/* A cloth of side × side points, 2 m wide and 1 cm thick, that was dropped on its edge and has come
 * down on the floor in folds upon itself, with 4 substeps of 3 steps as a scene has them. */
typedef struct SoftHeap {
    Rigid *rigid;
    RigidCollider bodies; /* for the cloth */
    Soft *soft;
    u8 *image; /* [bytes] the state at its start */
    size_t bytes;
} SoftHeap;

SoftHeap soft_heap_create(u32 side);
void soft_heap_destroy(SoftHeap *heap);
/* Back to its start. */
void soft_heap_restart(SoftHeap *heap);
void soft_heap_tick(SoftHeap *heap, Jobs *jobs);
PL_END_C

#endif
