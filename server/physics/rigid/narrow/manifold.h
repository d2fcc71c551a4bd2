/*
 * manifold.h: where two shapes at given poses touch or nearly touch. Pure functions of the shapes
 * and poses: no state is kept from tick to tick, so a restored world goes on bit for bit.
 * Cached separating axes would not pay for their memory: of the time of all pairs, those that are
 * apart take 13 % in a pile of 500 hulls, cylinders and cones, 3 % on a mesh and 25 % among boxes
 * and balls, most of it not in finding the axis. What touches is made cheap by proofs instead:
 * faces and edges that cannot separate are passed over (manifold_solids.c), touches of rims and
 * edges are solved for (manifold_curves.c), triangles within a covered plane are left out
 * (manifold_mesh.c). Manifolds of bodies that lie still against each other go on in recycle.c,
 * apart pairs with them.
 * Layer: server/physics/rigid/narrow.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_NARROW_MANIFOLD_H
#define PLENUM_SERVER_PHYSICS_RIGID_NARROW_MANIFOLD_H

#include "shared/geometry/geometry.h"

enum {
    MANIFOLD_POINTS = 4,
    /* Of one pair of shapes: a box in a corner of a mesh touches three walls, a compound more. */
    MANIFOLDS_MAX = 8
};

/* A shape in the world: the pose of the shape's own frame (not of the centre of mass). */
typedef struct ShapePose {
    const Shape *shape;
    Vec3 position;
    Quat orientation;
} ShapePose;

typedef struct ManifoldPoint {
    Vec3 position;  /* m, world, midway between the surfaces */
    f32 separation; /* m along the normal, negative is overlap */
    u32 feature;    /* which parts of the shapes touch: the same from tick to tick, and different
                       for all points of a pair */
} ManifoldPoint;

typedef struct Manifold {
    Vec3 normal; /* unit, from a to b */
    u32 count;
    Vec3 apart; /* m, from a's centre of mass to b's, as arms see it; left to the caller */
    ManifoldPoint points[MANIFOLD_POINTS];
} Manifold;

/*
 * Writes the manifolds of the pair whose points are nearer than `margin` (m, ≥ 0) and returns how
 * many (0 or 1 for two convex shapes, up to `capacity` ≤ MANIFOLDS_MAX where a mesh, a terrain or a
 * compound takes part; the deepest are kept). Any order of kinds is fine; pairs of two of plane,
 * mesh and terrain have none.
 */
u32 manifold_collide(const ShapePose *a, const ShapePose *b, f32 margin, Manifold *manifolds,
                     u32 capacity);

/* Parts of it, by kind. They expect count = 0 and write at most one manifold. */
void manifold_box_box(const ShapePose *a, const ShapePose *b, f32 margin, Manifold *manifold);
void manifold_box_capsule(const ShapePose *a, const ShapePose *b, f32 margin, Manifold *manifold);

#endif
