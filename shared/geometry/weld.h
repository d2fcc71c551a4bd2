/*
 * weld.h: finds coincident vertices.
 * Layer: shared/geometry.
 */
#ifndef PLENUM_SHARED_GEOMETRY_WELD_H
#define PLENUM_SHARED_GEOMETRY_WELD_H

#include "shared/math/vec.h"

PL_BEGIN_C
/* Writes to first[i] the lowest index of a vertex at the position of vertex i: coordinates equal
 * as numbers (−0 is 0) and not NaN. False: out of memory. */
bool weld_vertices(const Vec3 *vertices, u32 count, u32 *first);
PL_END_C

#endif
