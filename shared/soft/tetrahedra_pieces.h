/*
 * tetrahedra_pieces.h: ensures that a connected body stays connected when filled with tetrahedra.
 * Layer: shared/soft.
 */
#ifndef PLENUM_SHARED_SOFT_TETRAHEDRA_PIECES_H
#define PLENUM_SHARED_SOFT_TETRAHEDRA_PIECES_H

#include "shared/soft/soft_mesh.h"

PL_BEGIN_C
/* Counts the bodies enclosed by the closed surface and keeps as many components of the
 * tetrahedra, the largest: small fragments at tips thinner than a cell would fly off. Removes
 * unused points. The mesh may contain only points and tetrahedra at this time. ERROR_RANGE if
 * more than small fragments would be dropped ("falls into 3 pieces"), ERROR_MEMORY. */
int tetrahedra_keep_pieces(SoftMesh *mesh, const SoftMesh *surface, ErrorText *error);
PL_END_C

#endif
