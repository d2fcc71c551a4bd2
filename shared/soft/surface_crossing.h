/*
 * surface_crossing.h: does a surface cut itself? Exactly, on a grid of 2^20 steps along its longest
 * side: integers have no rounding, so touching is told from passing by.
 * Layer: shared/soft.
 */
#ifndef PLENUM_SHARED_SOFT_SURFACE_CROSSING_H
#define PLENUM_SHARED_SOFT_SURFACE_CROSSING_H

#include "shared/soft/soft_mesh.h"

PL_BEGIN_C
/*
 * Looks for two triangles that cross or touch elsewhere than at corners and edges that they share
 * (triangles flat on the grid count for nothing). 0, or ERROR_FORMAT and "edge 3-8 of
 * triangle 4 crosses triangle 17", ERROR_LIMIT where too many triangles lie in each other's way to
 * try them all, ERROR_MEMORY.
 */
int surface_crossing(const SoftMesh *surface, ErrorText *error);
PL_END_C

#endif
