/*
 * mesh_surface.h: helpers to assemble surfaces for mesh_shapes.h.
 * Layer: shared/mesh.
 */
#ifndef PLENUM_SHARED_MESH_MESH_SURFACE_H
#define PLENUM_SHARED_MESH_MESH_SURFACE_H

#include "shared/mesh/mesh_shapes.h"

PL_BEGIN_C
/* Allocates for the given numbers (each > 0); the surface's counts start at zero and grow as
 * data is added. On ERROR_MEMORY the surface is empty. */
Error surface_begin(SurfaceMesh *surface, size_t vertices, size_t indices);
PL_END_C

/* Appends a vertex and returns its index; the arrays are large enough. */
static inline u32 add_vertex(SurfaceMesh *surface, Vec3 position, Vec3 normal)
{
    surface->positions[surface->vertex_count] = position;
    surface->normals[surface->vertex_count] = normal;
    return surface->vertex_count++;
}

/* Appends a triangle; counter-clockwise seen from outside. */
static inline void add_triangle(SurfaceMesh *surface, u32 a, u32 b, u32 c)
{
    u32 *index = &surface->indices[surface->index_count];
    index[0] = a;
    index[1] = b;
    index[2] = c;
    surface->index_count += 3;
}

/* Corners counter-clockwise from outside. */
static inline void add_quad(SurfaceMesh *surface, u32 a, u32 b, u32 c, u32 d)
{
    add_triangle(surface, a, b, c);
    add_triangle(surface, a, c, d);
}

#endif
