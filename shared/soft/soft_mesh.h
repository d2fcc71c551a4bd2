/*
 * soft_mesh.h: the rest shape of a soft body: points, the surface over them, tetrahedra inside,
 * sticks between them, and the finer mesh drawn over it. Physics builds constraints from it, the
 * viewer triangles; both get it from the scene. Lengths in m, in the body's own frame. Constructors
 * fill a SoftMesh, which the caller frees with soft_mesh_finish; on an error they leave it empty
 * (finish is then harmless) and return a negative code with a text that gives the location.
 * Layer: shared/soft.
 */
#ifndef PLENUM_SHARED_SOFT_SOFT_MESH_H
#define PLENUM_SHARED_SOFT_SOFT_MESH_H

#include "shared/base/error.h"
#include "shared/math/vec.h"

/* Keeps the distance of two points within [low, high]: equal for a stick, low = 0 for a string,
 * high = INFINITY for a strut (Jakobsen 2001: joint limits are inequality sticks). */
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
    bool closed;          /* the surface encloses a volume */
    f32 dihedral_degrees; /* smallest of the tetrahedra, 0 if there are none */
    /* Drawn instead of the triangles; skin_count 0: no skin. */
    SoftBind *skin;      /* [skin_count] */
    u32 *skin_triangles; /* [skin_triangle_count × 3] */
    u32 skin_count, skin_triangle_count;
} SoftMesh;

/* Repairs made by soft_mesh_triangles: non-zero counts deserve a warning. */
typedef struct SoftRepair {
    u32 welded;   /* vertices coincident with an earlier one */
    u32 unused;   /* vertices without triangles */
    u32 zero;     /* triangles without area, or duplicates */
    u32 reversed; /* triangles flipped for consistent outward orientation */
} SoftRepair;

enum {
    SOFT_SPHERE_LEVEL_MAX = 7, /* 163 842 points */
    SOFT_SEGMENTS_MAX = 4096
};

PL_BEGIN_C
/* A rectangle in the x (columns) and y (rows) plane from the origin; each ≥ 2, sizes > 0. */
int soft_mesh_grid(SoftMesh *mesh, u32 columns, u32 rows, f32 width, f32 height, ErrorText *error);
/* Points (≥ 2) along x from the origin, connected by sticks. */
int soft_mesh_rope(SoftMesh *mesh, u32 points, f32 length, ErrorText *error);
/* Closed surface about the origin of nearly equal triangles: an icosahedron subdivided `level`
 * times, 10 × 4^level + 2 points on the sphere. */
int soft_mesh_sphere(SoftMesh *mesh, f32 radius, u32 level, ErrorText *error);
/* Closed surface about the origin with axis y: a circle of tube_radius (< radius) swept around a
 * circle of `radius`; segments ≥ 3 of each. Points are segments × tube_segments. */
int soft_mesh_torus(SoftMesh *mesh, f32 radius, f32 tube_radius, u32 segments, u32 tube_segments,
                    ErrorText *error);
/* A cylinder's side about the origin with axis y: rings + 1 circles of `segments` ≥ 3 points,
 * every other one rotated by half a segment. Capped: two more points close it. */
int soft_mesh_tube(SoftMesh *mesh, f32 radius, f32 length, u32 segments, u32 rings, bool capped,
                   ErrorText *error);
/* A box about the origin, each side divided into cells[i] ≥ 1. Solid: all lattice points and
 * five tetrahedra per cell, mirrored from cell to cell, under the same surface; otherwise the
 * surface only. */
int soft_mesh_box(SoftMesh *mesh, Vec3 size, const u32 cells[3], bool solid, ErrorText *error);
/* Builds a surface from untrusted triangles: welds equal vertices, drops triangles without area
 * and unused vertices, orients triangles consistently and closed parts outwards (parts inside
 * others inwards: the walls of cavities), and sets `closed`. vertices [vertex_count], triangles
 * [triangle_count × 3]; *repair (may be NULL) counts repairs. Refuses: nothing left, limits
 * exceeded (limits.h), non-finite or too large numbers, indices out of range, an edge with more
 * than two triangles ("edge 3-8 has 3 triangles", the caller's numbers), a one-sided surface
 * (Möbius). */
int soft_mesh_triangles(SoftMesh *mesh, const Vec3 *vertices, u32 vertex_count,
                        const u32 *triangles, u32 triangle_count, SoftRepair *repair,
                        ErrorText *error);
/* Makes `display` the drawn mesh of `mesh`: each of its points is bound to the tetrahedron that
 * contains it, or the nearest one, or, without tetrahedra, to the nearest triangle with a height
 * above it. Copies what it needs of `display`; replaces an earlier skin. On an error there is no
 * skin. */
int soft_mesh_skin(SoftMesh *mesh, const SoftMesh *display, ErrorText *error);
/* Skin positions for points at `points` [point_count]; writes `out` [skin_count]. */
void soft_mesh_skin_points(const SoftMesh *mesh, const Vec3 *points, Vec3 *out);
/* m³ inside a closed surface, by the divergence theorem; 0 for an open one. */
f64 soft_mesh_volume(const SoftMesh *mesh);
/* Number of sticks of a ring that starts with the first stick: stick i starts where stick i − 1
 * ends, the last one returns to the start, and there are no triangles; 0: no ring. A planar ring
 * is a two-dimensional ball, and may contain a gas. */
u32 soft_mesh_ring_length(const SoftMesh *mesh);
void soft_mesh_finish(SoftMesh *mesh);
PL_END_C

#endif
