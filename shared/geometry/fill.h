/*
 * fill.h: points that fill a convex shape at a spacing: a cubic lattice in the shape's frame,
 * centred, so that each point stands for spacing³ of the volume.
 * Layer: shared/geometry.
 */
#ifndef PLENUM_SHARED_GEOMETRY_FILL_H
#define PLENUM_SHARED_GEOMETRY_FILL_H

#include "shared/geometry/shape.h"

PL_BEGIN_C

/* A convex shape at a pose. */
typedef struct FillVolume {
    Shape shape;
    Vec3 position; /* m */
    Quat orientation;
} FillVolume;

/* Whether a world point is in the volume, its surface included. The half-space below a plane is
 * its inside; other shapes that are not convex contain nothing. */
bool fill_contains(const FillVolume *volume, Vec3 point);
/* Number of lattice points to be tested: an upper limit of the number of points, computed
 * directly. */
u64 fill_cells(const FillVolume *volume, f32 spacing_m);
/* Calls `visit` for each point of the lattice in the volume, x fastest, then z, then y: layer by
 * layer. Stops if it returns false; returns whether none did. */
bool fill_visit(const FillVolume *volume, f32 spacing_m, bool (*visit)(void *context, Vec3 point),
                void *context);

PL_END_C

#endif
