/*
 * gjk.h: distance, penetration depth and time of impact of two convex shapes. A convex shape is the
 * Minkowski sum of a core (point, segment, box, cylinder, cone, hull, triangle) and a ball of its
 * rounding radius; the algorithms use only support functions of the cores. Pure functions; no
 * allocation. Computations use f64 in axes centred between the shapes, so sizes from 1 mm to 100 m
 * may be mixed; results are as accurate as f32 poses allow. "Convex" below: sphere, box, capsule,
 * cylinder, cone or hull (shape_is_convex).
 * Layer: server/physics/rigid/narrow.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_NARROW_GJK_H
#define PLENUM_SERVER_PHYSICS_RIGID_NARROW_GJK_H

#include "server/physics/rigid/narrow/manifold.h"

typedef struct GjkResult {
    f32 separation; /* m between the surfaces; negative is the penetration depth */
    Vec3 normal;    /* unit, from a to b */
    Vec3 on_a;      /* m, world: the nearest points of the two surfaces */
    Vec3 on_b;      /* (or the deepest): on_b = on_a + separation × normal */
} GjkResult;

/* Support point of a convex shape, including rounding, along `direction` (world, need not be
 * unit, not zero). */
Vec3 gjk_support(const ShapePose *pose, Vec3 direction);

/* Separation of two convex shapes. Apart: the distance (Gilbert, Johnson, Keerthi 1988; the
 * simplex by its Voronoi regions as in van den Bergen 2003). Overlapping: the penetration depth,
 * from the roundings alone if the cores are apart, otherwise by the expanding polytope algorithm
 * (van den Bergen 2001), accurate to 1e-4 of the depth or better. Returns false, without writing
 * *result, as soon as the distance is known to exceed `limit` (m, may be INFINITY). */
bool gjk_separation(const ShapePose *a, const ShapePose *b, f32 limit, GjkResult *result);
/* The same for a triangle as b (two-sided; world corners in any order). */
bool gjk_separation_triangle(const ShapePose *a, const Vec3 corners[3], f32 limit,
                             GjkResult *result);
/* The same for a pair tested repeatedly. *axis (world, from a to b, any length): in, a direction
 * along which the two may be farther apart than `limit`, or zero; out, if the function returns
 * false, one along which they are. Then a single support point of each shape gives the answer;
 * the result does not depend on the axis (van den Bergen 2003 on caching separating axes: they
 * persist between frames). */
bool gjk_separation_triangle_again(const ShapePose *a, const Vec3 corners[3], f32 limit, Vec3 *axis,
                                   GjkResult *result);

/* True if two convex shapes are nearer than `margin` (m, ≥ 0). Cheap: it stops at the first
 * separating axis or enclosing simplex. */
bool gjk_overlap(const ShapePose *a, const ShapePose *b, f32 margin);
bool gjk_overlap_triangle(const ShapePose *a, const Vec3 corners[3], f32 margin);

/* Time of impact of the convex shape a, moving by `motion` (m, without rotation), with the resting
 * convex shape b. Returns true if they touch on the way and writes (any pointer may be NULL):
 *   fraction  of the motion at the first touch, 0..1
 *   normal    unit, outwards from b's surface there (against the motion)
 *   point     m, world, contact point
 * Shapes that overlap at the start hit at fraction 0, with the normal of least penetration. Grazing
 * within about 1e-6 of the sizes may go either way. A motion of 0 tests for overlap.
 * By conservative advancement on the distance along its normal (Mirtich 1996; van den Bergen 2004):
 * it never passes the touch, and ends within 1e-5 of the sizes before it. */
bool gjk_cast(const ShapePose *a, const ShapePose *b, Vec3 motion, f32 *fraction, Vec3 *normal,
              Vec3 *point);
/* The same for a triangle as b, two-sided. */
bool gjk_cast_triangle(const ShapePose *a, const Vec3 corners[3], Vec3 motion, f32 *fraction,
                       Vec3 *normal, Vec3 *point);

#endif
