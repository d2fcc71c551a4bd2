/*
 * tetrahedra_angle.h: dihedral angles of a tetrahedron.
 * Layer: shared/soft.
 */
#ifndef PLENUM_SHARED_SOFT_TETRAHEDRA_ANGLE_H
#define PLENUM_SHARED_SOFT_TETRAHEDRA_ANGLE_H

#include "shared/math/vec.h"

PL_BEGIN_C
/* Cosine of the smallest angle between two of its faces; 2 if its volume is not positive. */
f64 tetrahedron_sharpest_cosine(const Vec3 *points, const u32 corner[4]);
PL_END_C

#endif
