/*
 * surface.h: collision surfaces of soft bodies in a tick: their triangles, segments and tetrahedra
 * with a tree of their bounds, built once for all kinds that collide with them (collider.c).
 * Layer: server/physics/soft, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_SURFACE_H
#define PLENUM_SERVER_PHYSICS_SOFT_SURFACE_H

#include "server/physics/soft/soft_internal.h"
#include "server/physics/tree.h"

/* A triangle (three corners), a segment (two) or a tetrahedron (four) of a body. */
typedef struct SoftFeature {
    u32 point[4];
    u32 corners, body;
} SoftFeature;

struct SoftSurface {
    SoftFeature *features;
    Bounds *boxes;       /* [feature_count] m, of the tick */
    Bounds *body_bounds; /* [body_capacity] */
    u32 *leaves, *numbers;
    Tree tree; /* of boxes */
    u32 feature_count, feature_capacity, body_capacity;
    bool taken; /* something may be touched in this tick */
    bool loose; /* the boxes of a tick are much larger than their features */
    /* Queries since the boxes were made, by any thread: many are worth boxes of a step. */
    _Atomic u32 queries;
};

/* The surface in the coming tick of tick_s, built by the first caller since soft_stir, soft_begin
 * or soft_substep. NULL: out of memory. */
const SoftSurface *surface_of_tick(Soft *soft, Jobs *jobs, f32 tick_s);
/* Before a step of h s of what meets the surface, `left` s before the points are where they are:
 * boxes of this step, where those of the tick are loose and would all be near everything, or where
 * so much asks for features that tighter boxes pay. */
void surface_step(SoftSurface *surface, const Soft *soft, f32 left, f32 h);
void surface_destroy(SoftSurface *surface); /* NULL is allowed */

#endif
