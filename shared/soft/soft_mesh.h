/*
 * soft_mesh.h: the rest shape of something soft: points, the surface over them, tetrahedra inside,
 * sticks between them, and the finer mesh that is drawn over it. Physics builds constraints from
 * it, the viewer triangles; both have it from the scene. Lengths in m, in the body's own frame.
 * Makers fill a whole SoftMesh, which the caller frees with soft_mesh_finish; on an error they
 * leave it empty (finish is then harmless) and return a negative code with a text that names the
 * place.
 * Layer: shared/soft.
 */
#ifndef PLENUM_SHARED_SOFT_SOFT_MESH_H
#define PLENUM_SHARED_SOFT_SOFT_MESH_H

#include "shared/base/error.h"
#include "shared/math/vec.h"

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

/* What soft_mesh_triangles had to repair: worth a warning where a count is not 0. */
typedef struct SoftRepair {
    u32 welded;   /* vertices at the place of an earlier one */
    u32 unused;   /* vertices that no triangle has */
    u32 zero;     /* triangles without area, or given twice */
    u32 reversed; /* triangles turned over, so that neighbours agree and normals point outwards */
} SoftRepair;

enum {
    SOFT_SPHERE_LEVEL_MAX = 7, /* 163 842 points */
    SOFT_SEGMENTS_MAX = 4096
};

PL_BEGIN_C
/* A rectangle in the x (columns) and y (rows) plane from the origin; each ≥ 2, sizes > 0. */
int soft_mesh_grid(SoftMesh *mesh, u32 columns, u32 rows, f32 width, f32 height, ErrorText *error);
/* Points (≥ 2) along x from the origin, joined by sticks. */
int soft_mesh_rope(SoftMesh *mesh, u32 points, f32 length, ErrorText *error);
/* Closed surface about the origin of nearly equal triangles: an icosahedron whose triangles are
 * split in four `level` times, 10 × 4^level + 2 points on the sphere. */
int soft_mesh_sphere(SoftMesh *mesh, f32 radius, u32 level, ErrorText *error);
/* Closed surface about the origin, y its axis: a circle of tube_radius (< radius) led round a
 * circle of `radius`; segments ≥ 3 of each. Points are segments × tube_segments. */
int soft_mesh_torus(SoftMesh *mesh, f32 radius, f32 tube_radius, u32 segments, u32 tube_segments,
                    ErrorText *error);
/* A cylinder's side about the origin, y its axis: rings + 1 circles of `segments` ≥ 3 points, every
 * other one turned by half a segment. Capped: two more points close it. */
int soft_mesh_tube(SoftMesh *mesh, f32 radius, f32 length, u32 segments, u32 rings, bool capped,
                   ErrorText *error);
/* A box about the origin, each side split into cells[i] ≥ 1. Solid: all lattice points and five
 * tetrahedra a cell, mirrored from cell to cell, under the same surface; else the surface only. */
int soft_mesh_box(SoftMesh *mesh, Vec3 size, const u32 cells[3], bool solid, ErrorText *error);
/*
 * From a stranger's triangles: welds equal vertices, drops triangles without area and vertices
 * without triangles, turns triangles so that neighbours agree and closed parts face outwards (parts
 * inside others into them: the wall of a cavity faces into it), and sets `closed`.
 * vertices [vertex_count], triangles [triangle_count × 3]; *repair (may be NULL) says what was
 * done. Refuses: nothing left, too much of it (limits.h), numbers that are not finite or too large,
 * indices out of range, an edge with more than two triangles ("edge 3-8 has 3 triangles", numbers
 * are the caller's), a surface with one side only (Möbius).
 */
int soft_mesh_triangles(SoftMesh *mesh, const Vec3 *vertices, u32 vertex_count,
                        const u32 *triangles, u32 triangle_count, SoftRepair *repair,
                        ErrorText *error);
/*
 * Makes `display` what is drawn of `mesh`: each of its points is bound to the tetrahedron it is in,
 * or the nearest, or, if there are none, to the nearest triangle and the point's height above it.
 * Copies what it needs of `display`; replaces an earlier skin. On an error there is no skin.
 */
int soft_mesh_skin(SoftMesh *mesh, const SoftMesh *display, ErrorText *error);
/* Where the skin is when the points are at `points` [point_count]; writes `out` [skin_count]. */
void soft_mesh_skin_points(const SoftMesh *mesh, const Vec3 *points, Vec3 *out);
/* m³ inside a closed surface, by the divergence theorem; 0 for an open one. */
f64 soft_mesh_volume(const SoftMesh *mesh);
/* Sticks of the ring that they make from the first on: stick i leads from the end of stick i − 1,
 * the last back to the start, and there are no triangles; 0: they make none. A ring in a plane is a
 * ball in two dimensions, and may hold a gas. */
u32 soft_mesh_ring_length(const SoftMesh *mesh);
void soft_mesh_finish(SoftMesh *mesh);
PL_END_C

#endif
