/*
 * distance.h: signed distances from points to shapes, with outward normals.
 * Layer: server/physics/contact.
 */
#ifndef PLENUM_SERVER_PHYSICS_CONTACT_DISTANCE_H
#define PLENUM_SERVER_PHYSICS_CONTACT_DISTANCE_H

#include "server/physics/contact/contact.h"
#include "shared/geometry/geometry.h"

/* Signed distance (m, negative inside) from a world point to a shape at a pose, and the outward
 * unit normal at the nearest surface point. Meshes have two sides and no inside; terrains are
 * solid below. Beyond `reach` (m, ≥ 0) any larger distance may be returned. */
f32 contact_distance(const ShapePose *pose, Vec3 point, f32 reach, Vec3 *normal);
/* The same, bit for bit, of several points (contact.h). */
void contact_distances(const ShapePose *pose, const ContactPoints *to);

/* The same for a point that moved from `from` in this step: it stays on its side of a mesh, and
 * deep penetration of a convex shape is measured from the point of entry. swept: also after it
 * left a thin shape on the far side. */
f32 contact_distance_on_way(const ShapePose *pose, Vec3 point, Vec3 from, f32 reach, bool swept,
                            Vec3 *normal);

/* Fraction of the path from `from` to `to` at which it crosses a triangle, including its border
 * with some tolerance, so that nothing slips between two of them; 2: no crossing. */
f32 contact_crossing(const Vec3 corner[3], Vec3 from, Vec3 to);

/* A convex shape and a triangle. */
typedef struct ContactSeparation {
    f32 distance;               /* m between the surfaces; negative: depth of penetration */
    Vec3 normal;                /* unit, from the shape to the triangle */
    Vec3 on_shape, on_triangle; /* m, the nearest points of the two, or the deepest */
} ContactSeparation;

/* Separation of a convex shape and a triangle (world corners in any order, two may coincide), if
 * nearer than `reach` m. *apart: a direction from the shape along which the two were farther apart
 * before, or zero; updated. It saves time and does not change the result. NULL: none. */
bool contact_separation(const ShapePose *pose, const Vec3 corners[3], f32 reach, Vec3 *apart,
                        ContactSeparation *separation);
/* The point of a convex shape that is farthest along a direction (not zero). */
Vec3 contact_support(const ShapePose *pose, Vec3 direction);

#endif
