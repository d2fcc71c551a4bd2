/*
 * cloud.h: a kind of matter of the tests' own: a thousand points, each on a spring to its place in
 * a lattice. It stands for what a new solver brings: nothing outside these two files knows it.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_CLOUD_H
#define PLENUM_TESTS_SUPPORT_CLOUD_H

#include "server/world/matter.h"

enum {
    CLOUD_SIDE = 10,
    CLOUD_POINTS = CLOUD_SIDE * CLOUD_SIDE * CLOUD_SIDE,
};
#define CLOUD_POINT_KG  0.01f
#define CLOUD_RADIUS_M  0.08f
#define CLOUD_SPRING_HZ 1.0f /* of each point, where "cloud stiffness" is 1 */

extern const MatterOps cloud_matter;
/* The cloud alone, for world_create_with. */
extern const MatterList cloud_kinds;

/* Where a point rests, m. */
Vec3 cloud_place(u32 point);
/* Where it is. */
Vec3 cloud_position(const World *world, u32 point);

#endif
