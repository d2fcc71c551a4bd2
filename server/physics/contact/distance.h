/*
 * distance.h: signed distances from points to shapes, with outward normals.
 * Layer: server/physics/contact.
 */
#ifndef PLENUM_SERVER_PHYSICS_CONTACT_DISTANCE_H
#define PLENUM_SERVER_PHYSICS_CONTACT_DISTANCE_H

#include "server/physics/rigid/narrow/manifold.h"

/* Signed distance (m, negative inside) from a world point to a shape at a pose, and the outward
 * unit normal at the nearest surface point. Meshes have two sides and no inside; terrains are
 * solid below. Beyond `reach` (m, ≥ 0) any larger distance may be returned. */
f32 contact_distance(const ShapePose *pose, Vec3 point, f32 reach, Vec3 *normal);

/* The same for a point that moved from `from` in this step: it stays on its side of a mesh, and
 * deep penetration of a convex shape is measured from the point of entry. swept: also after it
 * left a thin shape on the far side. */
f32 contact_distance_on_way(const ShapePose *pose, Vec3 point, Vec3 from, f32 reach, bool swept,
                            Vec3 *normal);

/* Fraction of the path from `from` to `to` at which it crosses a triangle, including its border
 * with some tolerance, so that nothing slips between two of them; 2: no crossing. */
f32 contact_crossing(const Vec3 corner[3], Vec3 from, Vec3 to);

#endif
