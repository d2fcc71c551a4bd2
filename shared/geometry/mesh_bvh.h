/*
 * mesh_bvh.h: builds the bounding volume tree of a triangle mesh.
 * Layer: shared/geometry.
 */
#ifndef PLENUM_SHARED_GEOMETRY_MESH_BVH_H
#define PLENUM_SHARED_GEOMETRY_MESH_BVH_H

#include "shared/geometry/geometry.h"

PL_BEGIN_C
/* Allocates and fills `order` and `nodes` from vertices and triangles (at least one), splitting
 * by the surface area heuristic with bins (Wald 2007). Deterministic. False: out of memory;
 * geometry_destroy frees what was allocated. */
bool mesh_bvh_build(TriangleMesh *mesh);
PL_END_C

#endif
