/*
 * mesh_file.h: reads triangles from the bytes of a stranger's file: Wavefront .obj, Stanford .ply
 * (ASCII and binary of both byte orders) and 3D Studio's ASCII .asc. Only shapes: colours, normals,
 * textures and groups are passed over. Numbers are read the same way in every locale. Time and
 * memory are bounded by the bytes and by limits.h.
 * Layer: server/author.
 */
#ifndef PLENUM_SERVER_AUTHOR_MESH_FILE_H
#define PLENUM_SERVER_AUTHOR_MESH_FILE_H

#include "shared/base/error.h"
#include "shared/math/vec.h"

typedef enum MeshFormat {
    MESH_FORMAT_OBJ = 1,
    MESH_FORMAT_PLY = 2,
    MESH_FORMAT_ASC = 3
} MeshFormat;

typedef struct MeshFile {
    MeshFormat format;
    Vec3 *vertices; /* [vertex_count] finite, in the file's units */
    u32 *triangles; /* [triangle_count × 3] indices below vertex_count */
    u32 vertex_count, triangle_count;
} MeshFile;

PL_BEGIN_C
/*
 * Reads `count` bytes. The format is told by the extension of `name` and, where that says nothing,
 * by the content; `name` also begins every error's text, which goes on with the line (or byte) and
 * the field: "cat.obj: line 12: f: vertex 9, expected 1 to 8". Polygons become fans of triangles.
 * 0, or ERROR_FORMAT, _TRUNCATED, _RANGE, _LIMIT, _UNSUPPORTED (no known format), _MEMORY; the file
 * is then empty. The caller frees it with mesh_file_finish. For a body: soft_mesh_triangles.
 */
int mesh_file_read(MeshFile *file, const void *bytes, size_t count, const char *name,
                   ErrorText *error);
void mesh_file_finish(MeshFile *file);
PL_END_C

#endif
