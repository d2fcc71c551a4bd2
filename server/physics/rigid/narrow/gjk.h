/*
 * gjk.h: distance, depth of overlap and time of impact of two convex shapes.
 * A convex shape is the sum of a core (point, segment, box, cylinder, cone, hull, triangle) and a
 * ball of its rounding radius; support functions of the cores are all that is asked of them.
 * Pure functions; nothing is allocated. Inside they compute in f64 in axes centred between the
 * shapes, so sizes from 1 mm to 100 m may be mixed; results are as exact as f32 poses allow.
 * "Convex" below: sphere, box, capsule, cylinder, cone or hull (shape_is_convex).
 * Layer: server/physics/rigid/narrow.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_NARROW_GJK_H
#define PLENUM_SERVER_PHYSICS_RIGID_NARROW_GJK_H

#include "server/physics/rigid/narrow/manifold.h"

typedef struct GjkResult {
    f32 separation; /* m between the surfaces; negative is the least depth of overlap */
    Vec3 normal;    /* unit, from a to b */
    Vec3 on_a;      /* m, world: the points of the two surfaces that are nearest to each other */
    Vec3 on_b;      /* (or deepest in each other): on_b = on_a + separation × normal */
} GjkResult;

/* The point of a convex shape, rounding included, that is farthest along `direction` (world, need
 * not be unit, not zero). */
Vec3 gjk_support(const ShapePose *pose, Vec3 direction);

/*
 * Separation of two convex shapes. Apart: the distance (Gilbert, Johnson, Keerthi 1988; the
 * simplex by its Voronoi regions as in van den Bergen 2003). Overlapping: the shortest way out,
 * by the roundings alone if the cores are apart, else by the expanding polytope (van den Bergen
 * 2001), to 1e-4 of the depth or better. Shapes that are farther apart than `limit` (m, may be
 * INFINITY) return false as soon as that is known, and *result is not written.
 */
bool gjk_separation(const ShapePose *a, const ShapePose *b, f32 limit, GjkResult *result);
/* The same for a triangle as b (both sides count; world corners, need not be counter-clockwise). */
bool gjk_separation_triangle(const ShapePose *a, const Vec3 corners[3], f32 limit,
                             GjkResult *result);
/* The same for a pair that is asked about again and again. *axis (world, from a to b, any length):
 * in, a direction along which the two may be farther apart than `limit`, or zero; out, where the
 * function returns false, one along which they are. One support of each shape along it then
 * answers; the result does not depend on it (van den Bergen 2003, 4.3.5: separating axes are
 * cached because they hold from frame to frame). */
bool gjk_separation_triangle_again(const ShapePose *a, const Vec3 corners[3], f32 limit, Vec3 *axis,
                                   GjkResult *result);

/* Are two convex shapes nearer than `margin` (m, ≥ 0)? The cheap yes or no: it stops at the first
 * separating axis or enclosing simplex. */
bool gjk_overlap(const ShapePose *a, const ShapePose *b, f32 margin);
bool gjk_overlap_triangle(const ShapePose *a, const Vec3 corners[3], f32 margin);

/*
 * Time of impact of the convex shape a that moves by `motion` (m, without turning) with the convex
 * shape b that rests. Returns true if they touch on the way and writes (any pointer may be NULL):
 *   fraction  of the motion at the first touch, 0..1
 *   normal    unit, outwards from b's surface there (against the motion)
 *   point     m, world, where they touch
 * Shapes that overlap at the start hit at fraction 0, with the normal that frees a by the shortest
 * way. Grazing within about 1e-6 of the sizes may go either way. A motion of 0 asks for overlap.
 * By conservative advancement on the distance along its normal (Mirtich 1996; van den Bergen 2004):
 * it never passes the touch, and ends within 1e-5 of the sizes before it.
 */
bool gjk_cast(const ShapePose *a, const ShapePose *b, Vec3 motion, f32 *fraction, Vec3 *normal,
              Vec3 *point);
/* The same for a triangle as b; both sides stop it. */
bool gjk_cast_triangle(const ShapePose *a, const Vec3 corners[3], Vec3 motion, f32 *fraction,
                       Vec3 *normal, Vec3 *point);

#endif
