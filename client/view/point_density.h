/*
 * point_density.h: how many points are around a place and how they move on average: a grid of
 * nodes 4 radii apart, found by hash, to which each point adds its volume and momentum with
 * trilinear weights. A place within a liquid or a heap has about eight points around it, one at a
 * surface four. No OpenGL.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_POINT_DENSITY_H
#define PLENUM_CLIENT_VIEW_POINT_DENSITY_H

#include "shared/math/vec.h"

typedef struct DensityNode {
    i32 cell[3];
    u32 stamp;       /* of the frame in which it was used last */
    f32 points;      /* at rest */
    f32 momentum[3]; /* points times m/s */
    f32 square;      /* points times speed squared */
} DensityNode;

/* The nodes around the cell that was queried last: points that follow each other are near. */
typedef struct DensityCorners {
    i32 low[3];
    DensityNode *nodes[8]; /* NULL: nothing there */
} DensityCorners;

typedef struct PointDensity {
    DensityNode *nodes; /* [node_count], a power of two */
    u32 node_count, stamp;
    f32 per_m; /* nodes */
    DensityCorners added, asked;
    bool any_added, any_asked;
} PointDensity;

/* What is around a place. */
typedef struct DensitySample {
    f32 points;    /* at rest */
    f32 itself;    /* of which a single point there */
    Vec3 velocity; /* m/s, mean; of nothing: zero */
    f32 spread;    /* m/s, root mean square of the differences from it */
} DensitySample;

/* Clears all and reserves memory for `count` points of this radius (m, positive). Zero-initialized
 * structs are valid. False: out of memory. */
bool point_density_begin(PointDensity *density, u32 count, f32 radius);
/* Adds a point that counts for `points`; at most the reserved number. */
void point_density_add(PointDensity *density, Vec3 position, Vec3 velocity, f32 points);
DensitySample point_density_at(PointDensity *density, Vec3 position);
/* True if a place is hidden: there are points on all six sides of it, 4 to 8 radii away. */
bool point_density_hides(PointDensity *density, Vec3 position);
void point_density_finish(PointDensity *density);

#endif
