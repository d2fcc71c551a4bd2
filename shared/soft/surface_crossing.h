/*
 * surface_crossing.h: detects self-intersections of a surface, exactly, on a grid of 2^20 steps
 * along its longest side: integers have no rounding, so touching and missing are distinguished.
 * Layer: shared/soft.
 */
#ifndef PLENUM_SHARED_SOFT_SURFACE_CROSSING_H
#define PLENUM_SHARED_SOFT_SURFACE_CROSSING_H

#include "shared/soft/soft_mesh.h"

PL_BEGIN_C
/* Searches for two triangles that intersect or touch except at shared corners and edges
 * (triangles that are flat on the grid are ignored). 0, or ERROR_FORMAT and "edge 3-8 of
 * triangle 4 crosses triangle 17", ERROR_LIMIT if there are too many candidate pairs,
 * ERROR_MEMORY. */
int surface_crossing(const SoftMesh *surface, ErrorText *error);
PL_END_C

#endif
