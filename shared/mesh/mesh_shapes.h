/*
 * mesh_shapes.h: triangle meshes of shapes, drawn by the viewer and used by scenes to build meshes:
 * hull, cylinder, cone, terrain, triangle mesh, and a gutter swept along a path for marble runs.
 * Lengths in metres, in the shape's own frame. The functions fill a SurfaceMesh, which the caller
 * frees with surface_mesh_finish; on an error they leave it empty (finish is then harmless) and
 * return a negative code.
 * Layer: shared/mesh.
 */
#ifndef PLENUM_SHARED_MESH_MESH_SHAPES_H
#define PLENUM_SHARED_MESH_MESH_SHAPES_H

#include "shared/geometry/geometry.h"

enum {
    SURFACE_SEGMENTS_MAX = 256,
    TRACK_POINTS_MAX = 16384,
    TRACK_SEGMENTS_MAX = 64
};

/* Vertices are duplicated at sharp edges, so that each has one normal. To make a TriangleMesh,
 * pass positions and indices to geometry_mesh, which welds equal positions. */
typedef struct SurfaceMesh {
    Vec3 *positions; /* [vertex_count] m */
    Vec3 *normals;   /* [vertex_count] unit, outwards */
    u32 *indices;    /* [index_count] three per triangle, counter-clockwise from outside */
    u32 vertex_count, index_count;
} SurfaceMesh;

/* A gutter: half a pipe, open above, with vertical walls on both sides; closed, visible and solid
 * from all sides. The options of shared/rows/track.def that concern its section; the last point of
 * a closed one connects to the first, which is given once. */
typedef struct TrackProfile {
#define SOLVER_ROWS
#define MEMBER(type, name) type name;
#include "shared/rows/track.def"
} TrackProfile;

/* A regular icosahedron, from which spheres are divided: corners at the same distance of 0 (not 1),
 * faces counter-clockwise from outside. */
extern const Vec3 ICOSAHEDRON_POINTS[12];
extern const u8 ICOSAHEDRON_FACES[20][3];

PL_BEGIN_C
/* With flat faces. */
Error surface_mesh_hull(SurfaceMesh *surface, const Hull *hull);
/* Smooth sides of `segments` (3..SURFACE_SEGMENTS_MAX) and flat ends; y is the axis. */
Error surface_mesh_cylinder(SurfaceMesh *surface, f32 radius, f32 half_height, u32 segments);
/* Smooth side with its apex at y = +half_height, flat base at y = −half_height. */
Error surface_mesh_cone(SurfaceMesh *surface, f32 radius, f32 half_height, u32 segments);
/* Smooth surface over every `step`-th sample (≥ 1; always including the last row and column),
 * triangulated like the terrain: with step 1 exactly its triangles. */
Error surface_mesh_terrain(SurfaceMesh *surface, const Terrain *terrain, u32 step);
/* Edges with an angle above `crease_radians` (π: none) stay sharp. */
Error surface_mesh_triangles(SurfaceMesh *surface, const TriangleMesh *mesh, f32 crease_radians);
/* Cylinder, cone, hull, terrain or mesh with default parameters for the functions above;
 * ERROR_UNSUPPORTED for other kinds. */
Error surface_mesh_shape(SurfaceMesh *surface, const Shape *shape);
/* Sweeps the profile along the path: point i is the lowest point of the inside, where a ball
 * rolls; cross sections are upright, in the plane that bisects adjacent segments. Errors: fewer
 * than 2 points (3 if closed), more than TRACK_POINTS_MAX, non-finite numbers, coincident
 * points, a segment steeper than 80°, a turn sharper than 100°. */
Error surface_mesh_track(SurfaceMesh *surface, const Vec3 *points, u32 count,
                         const TrackProfile *profile, ErrorText *error);
void surface_mesh_finish(SurfaceMesh *surface);

/* Points of the curve through the given points (centripetal Catmull–Rom: Yuksel, Schaefer,
 * Keyser 2011), `steps` (≥ 1) per segment. Writes to `out`, of sufficient size, and returns
 * their number: (count − 1) × steps + 1 for an open path, count × steps for a closed one. */
u32 path_smooth(const Vec3 *points, u32 count, bool closed, u32 steps, Vec3 *out);
PL_END_C

#endif
