/*
 * soft_crease.h: where a closed surface has an edge at rest, its vertices are drawn once for each
 * side, so that a cube of jelly has faces and not the shading of a cushion.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_SOFT_CREASE_H
#define PLENUM_CLIENT_VIEW_SOFT_CREASE_H

#include "shared/soft/soft_mesh.h"

typedef struct SoftCrease {
    u32 *
        triangles; /* [triangle_count × 3] with twins in place of some vertices; the caller frees */
    u32 *twin_of;  /* [twin_count] the vertex at the place of vertex_count + i; the caller frees */
    u32 twin_count;
} SoftCrease;

/* rest [vertex_count] m, triangles [triangle_count × 3]. False without memory; what is left empty
 * where there is no crease. */
bool soft_crease_find(SoftCrease *crease, const Vec3 *rest, u32 vertex_count, const u32 *triangles,
                      u32 triangle_count);

#endif
