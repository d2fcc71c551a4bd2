/*
 * manifold.h: contact manifolds of two shapes at given poses. Pure functions of the shapes and
 * poses: no state is kept from tick to tick, so a restored world continues bit for bit. Caching
 * separating axes would not pay: separated pairs take 13 % of the time of all pairs in a pile of
 * 500 hulls, cylinders and cones, 3 % on a mesh and 25 % among boxes and balls, mostly not for
 * finding the axis. Instead, touching pairs are made cheap by proofs: faces and edges that cannot
 * separate are skipped (manifold_solids.c), contacts of rims and edges are solved directly
 * (manifold_curves.c), triangles within a covered plane are skipped (manifold_mesh.c). Manifolds of
 * bodies at relative rest are reused by recycle.c, including separated pairs.
 * Layer: server/physics/rigid/narrow.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_NARROW_MANIFOLD_H
#define PLENUM_SERVER_PHYSICS_RIGID_NARROW_MANIFOLD_H

#include "shared/geometry/geometry.h"

enum {
    MANIFOLD_POINTS = 4,
    /* Per pair of shapes: a box in a corner of a mesh touches three walls, a compound more. */
    MANIFOLDS_MAX = 8
};

typedef struct ManifoldPoint {
    Vec3 position;  /* m, world, midway between the surfaces */
    f32 separation; /* m along the normal, negative is overlap */
    u32 feature;    /* the touching features of the shapes: persistent, and unique within a pair */
} ManifoldPoint;

typedef struct Manifold {
    Vec3 normal; /* unit, from a to b */
    u32 count;
    Vec3 apart; /* m, from a's centre of mass to b's, as used for arms; set by the caller */
    ManifoldPoint points[MANIFOLD_POINTS];
} Manifold;

/* Writes the manifolds of the pair with points nearer than `margin` (m, ≥ 0) and returns their
 * number (0 or 1 for two convex shapes, up to `capacity` ≤ MANIFOLDS_MAX with a mesh, a terrain
 * or a compound; the deepest are kept). Any order of kinds; pairs of plane, mesh and terrain
 * have none. */
u32 manifold_collide(const ShapePose *a, const ShapePose *b, f32 margin, Manifold *manifolds,
                     u32 capacity);

/* Routines by kind. They expect count = 0 and write at most one manifold. */
void manifold_box_box(const ShapePose *a, const ShapePose *b, f32 margin, Manifold *manifold);
void manifold_box_capsule(const ShapePose *a, const ShapePose *b, f32 margin, Manifold *manifold);

#endif
