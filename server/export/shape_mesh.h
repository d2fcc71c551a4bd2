/*
 * shape_mesh.h: triangles and normals of every kind of shape, in the shape's own frame.
 * Layer: server/export, private.
 */
#ifndef PLENUM_SERVER_EXPORT_SHAPE_MESH_H
#define PLENUM_SERVER_EXPORT_SHAPE_MESH_H

#include "shared/mesh/mesh_shapes.h"

/* Half the side of the square that stands for an infinite plane, m. */
#define EXPORT_PLANE_HALF_M 100.0f

PL_BEGIN_C
/* On an error the mesh is empty. The caller frees it with surface_mesh_finish. */
Error export_shape_mesh(SurfaceMesh *surface, const Shape *shape);
/* Normals of vertices under triangles: the mean of their faces weighted by area; 0, 1, 0 where
 * there is none. normals [vertex_count]. */
void export_normals(const Vec3 *points, u32 vertex_count, const u32 *triangles, u32 index_count,
                    Vec3 *normals);
PL_END_C

#endif
