/*
 * batches_cut.h: cuts bodies into the pieces of batches.h.
 * Layer: server/physics/soft, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_BATCHES_CUT_H
#define PLENUM_SERVER_PHYSICS_SOFT_BATCHES_CUT_H

#include "server/physics/soft/batches.h"

/* Fills groups, boundaries, cut, order and group_of of soft->batches; spans of runs stay empty. 0
 * or ERROR_MEMORY. */
int batches_cut(Soft *soft);
/* The piece a constraint of cut body `cut` (any number for a whole body) belongs to: groups first,
 * then boundaries, then the rest of each cut body; SOFT_NONE if all its points are pinned.
 * boundary_of [soft->count], SOFT_NONE at first: which boundary a particle is taken for. */
u32 batches_place(const Soft *soft, u32 constraint, u32 cut, u32 *boundary_of);

#endif
