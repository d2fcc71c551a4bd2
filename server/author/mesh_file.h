/*
 * mesh_file.h: reads triangles from untrusted files: Wavefront .obj, Stanford .ply (ASCII and
 * binary of both byte orders) and 3D Studio's ASCII .asc. Only geometry: colours, normals, textures
 * and groups are skipped. Numbers are parsed independently of the locale. Time and memory are
 * bounded by the file size and by limits.h.
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
/* Reads `count` bytes. The format is determined by the extension of `name` or else by the
 * content; `name` also starts every error text, followed by the line (or byte) and the field:
 * "cat.obj: line 12: f: vertex 9, expected 1 to 8". Polygons become triangle fans. 0, or
 * ERROR_FORMAT, _TRUNCATED, _RANGE, _LIMIT, _UNSUPPORTED (unknown format), _MEMORY; the file is
 * then empty. The caller frees it with mesh_file_finish. For a body: soft_mesh_triangles. */
int mesh_file_read(MeshFile *file, const void *bytes, size_t count, const char *name,
                   ErrorText *error);
void mesh_file_finish(MeshFile *file);
PL_END_C

#endif
