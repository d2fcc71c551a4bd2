/*
 * tetrahedra_pieces.h: what is in one piece must stay so when it is filled with tetrahedra.
 * Layer: shared/soft.
 */
#ifndef PLENUM_SHARED_SOFT_TETRAHEDRA_PIECES_H
#define PLENUM_SHARED_SOFT_TETRAHEDRA_PIECES_H

#include "shared/soft/soft_mesh.h"

PL_BEGIN_C
/*
 * Counts the bodies that the closed surface encloses and keeps as many pieces of the tetrahedra,
 * the largest: crumbs at tips that are thinner than a cell would fly off. Points that nothing has
 * are removed. Only points and tetrahedra may be there yet. ERROR_RANGE if what is to be dropped is
 * more than crumbs ("falls into 3 pieces"), ERROR_MEMORY.
 */
int tetrahedra_keep_pieces(SoftMesh *mesh, const SoftMesh *surface, ErrorText *error);
PL_END_C

#endif
