/*
 * soft_crease.h: duplicates the vertices of sharp edges (at rest) of a closed surface, one per
 * side, so that a jelly cube is shaded with faces and not like a cushion.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_SOFT_CREASE_H
#define PLENUM_CLIENT_VIEW_SOFT_CREASE_H

#include "shared/soft/soft_mesh.h"

typedef struct SoftCrease {
    u32 *triangles; /* [triangle_count × 3] with duplicates in place of some vertices; freed by
                      the caller */
    u32 *twin_of;   /* [twin_count] the original of vertex vertex_count + i; freed by the caller */
    u32 twin_count;
} SoftCrease;

/* rest [vertex_count] m, triangles [triangle_count × 3]. False: out of memory; *crease stays
 * empty if there is no crease. */
bool soft_crease_find(SoftCrease *crease, const Vec3 *rest, u32 vertex_count, const u32 *triangles,
                      u32 triangle_count);

#endif
