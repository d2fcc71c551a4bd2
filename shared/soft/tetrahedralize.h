/*
 * tetrahedralize.h: fills a closed surface with tetrahedra: a body-centred cubic lattice, cut and
 * snapped to the surface (isosurface stuffing: Labelle & Shewchuk 2007), which bounds all dihedral
 * angles: none is smaller than 10.5°, whatever the surface. Edges and corners of the surface are
 * rounded within a cell, and parts thinner than a cell are lost; the skin keeps both.
 * Deterministic.
 * Layer: shared/soft.
 */
#ifndef PLENUM_SHARED_SOFT_TETRAHEDRALIZE_H
#define PLENUM_SHARED_SOFT_TETRAHEDRALIZE_H

#include "shared/soft/soft_mesh.h"

enum {
    TETRAHEDRALIZE_RESOLUTION_MIN = 2,
    TETRAHEDRALIZE_RESOLUTION_MAX = 128
};

PL_BEGIN_C
/* Fills `surface` (closed, as made by soft_mesh_triangles) with lattice cubes, `resolution` of
 * them along its longest side. Writes a complete mesh: points, tetrahedra, their boundary as
 * triangles, dihedral_degrees, and the surface as its skin. The caller frees it. Errors: an open
 * surface ("edge 3-8 has 1 triangle"), a self-intersecting one ("triangles 4 and 17 cross"),
 * resolution out of range, little or nothing of it as thick as a cell, a body that falls into
 * pieces (small fragments at thin tips are dropped), more tetrahedra than TETRAHEDRA_MAX, out of
 * memory. */
int tetrahedralize(SoftMesh *mesh, const SoftMesh *surface, u32 resolution, ErrorText *error);
/* Smallest dihedral angle of all tetrahedra, in degrees; 0 if there are none or one is flat or
 * inverted. points [..], tetrahedra [count × 4]. */
f32 tetrahedra_dihedral_degrees(const Vec3 *points, const u32 *tetrahedra, u32 count);
PL_END_C

#endif
