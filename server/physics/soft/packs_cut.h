/*
 * packs_cut.h: cuts bodies into the pieces of packs.h.
 * Layer: server/physics/soft (private).
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_PACKS_CUT_H
#define PLENUM_SERVER_PHYSICS_SOFT_PACKS_CUT_H

#include "server/physics/soft/packs.h"

/* Fills groups, seams, cut, order and group_of of soft->packs; spans of runs stay empty. 0 or
 * ERROR_MEMORY. */
int packs_cut(Soft *soft);
/* The piece a constraint of cut body `cut` (any number for a whole body) belongs to: groups first,
 * then seams, then the rest of each cut body; SOFT_NONE if all its points are pinned.
 * seam_of [soft->count], SOFT_NONE at first: which seam a particle is taken for. */
u32 packs_place(const Soft *soft, u32 constraint, u32 cut, u32 *seam_of);

#endif
