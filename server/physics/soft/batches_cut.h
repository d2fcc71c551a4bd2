/*
 * batches_cut.h: partitions bodies into the pieces of batches.h.
 * Layer: server/physics/soft, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_BATCHES_CUT_H
#define PLENUM_SERVER_PHYSICS_SOFT_BATCHES_CUT_H

#include "server/physics/soft/batches.h"

/* Fills groups, boundaries, cut, order and group_of of soft->batches; spans of runs stay empty.
 * Returns 0 or ERROR_MEMORY. */
int batches_cut(Soft *soft);
/* Returns the piece of a constraint of cut body `cut` (any number for a whole body): groups
 * first, then boundaries, then the rest of each cut body; SOFT_NONE if all its points are
 * pinned. boundary_of [soft->count], initially SOFT_NONE: the boundary that claimed each
 * particle. */
u32 batches_place(const Soft *soft, u32 constraint, u32 cut, u32 *boundary_of);

#endif
