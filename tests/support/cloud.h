/*
 * cloud.h: a kind of matter defined by the tests: a thousand points, each connected by a spring to
 * its site in a lattice. It stands for a new solver: no other file knows it.
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

/* m, lattice site of a point. */
Vec3 cloud_place(u32 point);
/* m, its current position. */
Vec3 cloud_position(const World *world, u32 point);

#endif
