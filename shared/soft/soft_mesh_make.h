/*
 * soft_mesh_make.h: helpers of the constructors of soft_mesh.h: allocation, the edges of a surface,
 * and line–triangle tests.
 * Layer: shared/soft.
 */
#ifndef PLENUM_SHARED_SOFT_SOFT_MESH_MAKE_H
#define PLENUM_SHARED_SOFT_SOFT_MESH_MAKE_H

#include "shared/soft/soft_mesh.h"

/* One side of a triangle, from its corner side % 3 to the next. */
typedef struct SurfaceSide {
    u32 high;  /* the higher of its two points */
    u32 third; /* the opposite corner */
    u32 side;  /* 3 × triangle + side */
} SurfaceSide;

/* Sides sorted by their lower point, then by `high`, `third` and `side`: those of one edge are
 * adjacent. */
typedef struct SurfaceEdges {
    u32 *start;         /* [point_count + 1] the first side of each lower point */
    SurfaceSide *sides; /* [3 × triangle_count] */
} SurfaceEdges;

PL_BEGIN_C
/* Empties the mesh and allocates for the given numbers of points, triangles and tetrahedra;
 * counts are 0. */
int soft_mesh_begin(SoftMesh *mesh, size_t points, size_t triangles, size_t tetrahedra,
                    ErrorText *error);
/* Frees the mesh and sets the out-of-memory error. */
int soft_mesh_no_memory(SoftMesh *mesh, ErrorText *error);
/* True for a valid length: more than 0, at most the size of a world. */
bool soft_mesh_is_length(f32 x);
/* Sorts the sides of triangles [triangle_count × 3]; triangles with skip[t] != 0 are ignored
 * (NULL: none). False: out of memory; surface_edges_finish is valid either way. */
bool surface_edges_build(SurfaceEdges *edges, const u32 *triangles, u32 triangle_count,
                         u32 point_count, const u8 *skip);
void surface_edges_finish(SurfaceEdges *edges);
PL_END_C

/* First side after those of the edge that starts at `side`; `end` is the end of its point's
 * sides. */
static inline u32 surface_edge_end(const SurfaceEdges *edges, u32 side, u32 end)
{
    u32 next = side + 1;
    while (next < end && edges->sides[next].high == edges->sides[side].high) {
        next++;
    }
    return next;
}

/* Appends a point (m) and returns its index; the arrays are large enough. */
static inline u32 soft_mesh_add_point(SoftMesh *mesh, Vec3 point)
{
    mesh->points[mesh->point_count] = point;
    return mesh->point_count++;
}

/* Appends a triangle; counter-clockwise seen from outside. */
static inline void soft_mesh_add_triangle(SoftMesh *mesh, u32 a, u32 b, u32 c)
{
    u32 *corner = &mesh->triangles[3 * (size_t)mesh->triangle_count++];
    corner[0] = a;
    corner[1] = b;
    corner[2] = c;
}

/* Appends a tetrahedron of positive volume. */
static inline void soft_mesh_add_tetrahedron(SoftMesh *mesh, u32 a, u32 b, u32 c, u32 d)
{
    u32 *corner = &mesh->tetrahedra[4 * (size_t)mesh->tetrahedron_count++];
    corner[0] = a;
    corner[1] = b;
    corner[2] = c;
    corner[3] = d;
}

#endif
