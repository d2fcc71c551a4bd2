/*
 * geometry_mass.h: volume, centre and inertia of the solid inside a closed triangle surface, by the
 * divergence theorem in double precision (Mirtich 1996; Eberly, "Polyhedral mass properties"): the
 * sum over the signed tetrahedra of each triangle with a fixed point.
 * Layer: shared/geometry.
 */
#ifndef PLENUM_SHARED_GEOMETRY_GEOMETRY_MASS_H
#define PLENUM_SHARED_GEOMETRY_GEOMETRY_MASS_H

#include "shared/geometry/geometry.h"

typedef struct SolidSum {
    f64 origin[3];    /* m, any fixed point; near the solid for best precision */
    f64 volume;       /* m³ */
    f64 first[3];     /* ∫ x, about the origin */
    f64 second[3][3]; /* ∫ x xᵀ, about the origin; upper triangle */
} SolidSum;

PL_BEGIN_C
void solid_sum_init(SolidSum *sum, Vec3 origin);
/* Corners counter-clockwise from outside. */
void solid_sum_add(SolidSum *sum, Vec3 a, Vec3 b, Vec3 c);
/* Adds a solid of `volume` with its centre and inertia (per density 1, about the centre). */
void solid_sum_add_solid(SolidSum *sum, f32 volume, Vec3 centre, const Symmetric3 *inertia);
/* Writes volume, centre and inertia of the geometry; all zero if the volume is not positive. */
void solid_sum_finish(const SolidSum *sum, Geometry *geometry);
PL_END_C

#endif
