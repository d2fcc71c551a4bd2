/*
 * distance.h: signed distances from points to shapes, with the way out.
 * Layer: server/physics/contact.
 */
#ifndef PLENUM_SERVER_PHYSICS_CONTACT_DISTANCE_H
#define PLENUM_SERVER_PHYSICS_CONTACT_DISTANCE_H

#include "server/physics/rigid/narrow/manifold.h"

/* Signed distance (m, negative inside) from a world point to a shape at a pose, and the outward
 * unit normal at the nearest surface point. Meshes have two sides and no inside; terrains are solid
 * below. What is farther than `reach` (m, ≥ 0) may be said to be anything farther. */
f32 contact_distance(const ShapePose *pose, Vec3 point, f32 reach, Vec3 *normal);

/* The same of a point that came from `from` in this step: it stays on the side of a mesh that it
 * came from, and what has come far into a convex shape is seen from where it came in. swept: also
 * what has come out on the far side of a thin one. */
f32 contact_distance_on_way(const ShapePose *pose, Vec3 point, Vec3 from, f32 reach, bool swept,
                            Vec3 *normal);

/* Share of the way from `from` to `to` at which it goes through a triangle, its rim included with
 * some slack, so that nothing slips between two of them; 2: it does not. */
f32 contact_crossing(const Vec3 corner[3], Vec3 from, Vec3 to);

#endif
