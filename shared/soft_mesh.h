/*
 * soft_mesh.h: the rest shape of something soft: points, the surface over them, tetrahedra inside,
 * sticks between them, and the finer mesh that is drawn over it. Physics builds constraints from
 * it, the viewer triangles; both have it from the scene. Lengths in m, in the body's own frame.
 * Makers fill a whole SoftMesh, which the caller frees with soft_mesh_finish; on an error they
 * leave it empty (finish is then harmless) and return a negative code with a text that names the
 * place. Layer: shared.
 */
#ifndef PLENUM_SHARED_SOFT_MESH_H
#define PLENUM_SHARED_SOFT_MESH_H

#include "shared/error.h"
#include "shared/vec.h"

/* Keeps the distance of two points within [low, high]: equal for a stick, low = 0 for a string,
 * high = INFINITY for a strut (Jakobsen 2001: limits of joints are inequality sticks). */
typedef struct SoftStick {
    u32 a, b;
    f32 low, high; /* m, 0 ≤ low ≤ high, high > 0 */
} SoftStick;

/* A vertex of the drawn mesh follows four points with weights that sum to 1 (some may be 0 or
 * negative): the barycentric coordinates in a tetrahedron, or of a triangle. */
typedef struct SoftBind {
    u32 point[4];
    f32 weight[4];
} SoftBind;

typedef struct SoftMesh {
    Vec3 *points;      /* [point_count] m */
    u32 *triangles;    /* [triangle_count × 3] surface, counter-clockwise from outside */
    u32 *tetrahedra;   /* [tetrahedron_count × 4] of positive volume */
    SoftStick *sticks; /* [stick_count] */
    u32 point_count, triangle_count, tetrahedron_count, stick_count;
    u32 grid[2];          /* columns and rows of a rectangle, column fastest; 0: none */
    bool closed;          /* the surface has an inside */
    f32 dihedral_degrees; /* smallest of the tetrahedra, 0 if there are none */
    /* What is drawn instead of the triangles; skin_count 0: they are. */
    SoftBind *skin;      /* [skin_count] */
    u32 *skin_triangles; /* [skin_triangle_count × 3] */
    u32 skin_count, skin_triangle_count;
} SoftMesh;

PL_BEGIN_C
/* A rectangle in the x (columns) and y (rows) plane from the origin; each ≥ 2, sizes > 0. */
int soft_mesh_grid(SoftMesh *mesh, u32 columns, u32 rows, f32 width, f32 height, ErrorText *error);
/* Points (≥ 2) along x from the origin, joined by sticks. */
int soft_mesh_rope(SoftMesh *mesh, u32 points, f32 length, ErrorText *error);
void soft_mesh_finish(SoftMesh *mesh);
PL_END_C

#endif
