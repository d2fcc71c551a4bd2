/*
 * geometry.h: shapes with vertex data: convex hulls, triangle meshes, terrains and compounds. A
 * Geometry is immutable; a scene owns a list of them and shapes point to them. Local frame: that of
 * the given points, not recentred.
 * Layer: shared/geometry.
 */
#ifndef PLENUM_SHARED_GEOMETRY_GEOMETRY_H
#define PLENUM_SHARED_GEOMETRY_GEOMETRY_H

#include "shared/base/error.h"
#include "shared/geometry/shape.h"

typedef enum GeometryKind {
    GEOMETRY_HULL = 1,
    GEOMETRY_MESH = 2,
    GEOMETRY_TERRAIN = 3,
    GEOMETRY_COMPOUND = 4
} GeometryKind;

/* Minimal extent (longest side of the bounds) of a hull or mesh, and minimal spacing of a
 * terrain: below it volumes lose precision. Coordinates are limited to ±WORLD_EXTENT_MAX_M. */
#define GEOMETRY_EXTENT_MIN_M 1e-4f

enum {
    /* A hull's features are numbered in bytes, and its support point is a linear search. */
    HULL_VERTICES_MAX = 64,
    HULL_FACES_MAX = 2 * HULL_VERTICES_MAX - 4,
    HULL_EDGES_MAX = 2 * (3 * HULL_VERTICES_MAX - 6), /* half-edges */
    HULL_POINTS_MAX = 1 << 20,                        /* of the input point cloud */
    MESH_TRIANGLES_MAX = 1 << 20,
    MESH_VERTICES_MAX = 3 * MESH_TRIANGLES_MAX,
    TERRAIN_SIDE_MAX = 2049,
    COMPOUND_CHILDREN_MAX = 64
};

typedef struct HalfEdge {
    u16 next, twin; /* half-edges: the next one around the face, the opposite one */
    u8 origin;      /* vertex */
    u8 face;
} HalfEdge;

/* Counter-clockwise faces seen from outside; coplanar triangles are merged into polygons. */
typedef struct Hull {
    Vec3 *vertices;  /* [vertex_count] m */
    Vec3 *normals;   /* [face_count] unit, outwards */
    f32 *offsets;    /* [face_count] m: normal · x = offset on the face */
    u16 *face_edges; /* [face_count] a half-edge of the face */
    HalfEdge *edges; /* [edge_count] */
    u32 vertex_count, face_count, edge_count;
    Vec3 inside;      /* m, a point well inside */
    f32 inner_radius; /* m, radius of a ball about `inside` within the hull */
} Hull;

/* Flags of a triangle's three edges (bit i: from vertex i to vertex i + 1). */
enum {
    TRIANGLE_EDGE_ACTIVE = 1, /* << i: convex or open edge: contacts may push across it; inactive
                                 edges are flat or concave, where only the face normal is used */
    TRIANGLE_EDGE_FLAT = 8    /* << i: the adjacent triangle is coplanar (set for meshes only) */
};

/* Bounding volume tree over triangles: binary, depth first. */
typedef struct MeshNode {
    Bounds bounds; /* m */
    u32 first;     /* leaf: first in `order`; inner: index of the right child (left is next) */
    u32 count;     /* leaf: triangles; inner: 0 */
} MeshNode;

typedef struct TriangleMesh {
    Vec3 *vertices;  /* [vertex_count] m */
    u32 *triangles;  /* [triangle_count × 3] vertex indices, counter-clockwise from the front */
    u8 *edge_flags;  /* [triangle_count] */
    u32 *order;      /* [triangle_count] triangles in leaf order */
    MeshNode *nodes; /* [node_count] */
    u32 vertex_count, triangle_count, node_count;
    bool closed; /* every edge has exactly two triangles with opposite directions */
} TriangleMesh;

/* Heights over a grid in the x–z plane: sample (i, j) lies at x = (i − (columns − 1)/2) spacing,
 * z = (j − (rows − 1)/2) spacing, y = heights[j × columns + i]. Each cell is two triangles,
 * split from (i, j) to (i + 1, j + 1). Solid below the surface. */
typedef struct Terrain {
    f32 *heights; /* [rows × columns] m */
    u32 columns, rows;
    f32 spacing; /* m */
    f32 low, high;
    /* Min and max over blocks of 2^k cells, finest (2×2 cells) first: rays and box queries use
     * them for culling. */
    f32 *ranges; /* [range_count × 2] */
    u32 range_count;
} Terrain;

typedef struct CompoundChild {
    Shape shape; /* convex: not a plane, mesh, terrain or compound */
    Vec3 position;
    Quat orientation;
} CompoundChild;

typedef struct Compound {
    CompoundChild *children; /* [child_count] */
    u32 child_count;
} Compound;

typedef struct Geometry {
    GeometryKind kind;
    u32 id; /* assigned by the owner: index in its list; sent and saved */
    Bounds bounds;
    f32 reach; /* m, maximal distance from the origin of its frame */
    /* Per density 1 kg/m³, about `centre`, in the local axes; zero for terrains and open meshes. */
    f32 volume;
    Vec3 centre;
    Symmetric3 inertia;
    union {
        Hull hull;
        TriangleMesh mesh;
        Terrain terrain;
        Compound compound;
    };
} Geometry;

PL_BEGIN_C
/* Constructors copy and check their arguments and return NULL with an error that gives the
 * location ("vertex 7", "triangle 12", "edge 3-8"). geometry_destroy(NULL) is fine. */

/* Convex hull of a point cloud by quickhull (Barber, Dobkin, Huhdanpaa 1996) with faces merged
 * within a tolerance of 1e-5 of the extent. Hulls of more than `vertex_limit`
 * (4..HULL_VERTICES_MAX) vertices are simplified greedily with minimal loss of volume. Error:
 * fewer than 4 points, non-finite numbers, or flat within 1e-4 of the extent. */
Geometry *geometry_hull(const Vec3 *points, u32 count, u32 vertex_limit, ErrorText *error);
/* Triangles of zero area are dropped and counted in *dropped (may be NULL). Error: indices out
 * of range, no triangle left, non-finite numbers, too many. */
Geometry *geometry_mesh(const Vec3 *vertices, u32 vertex_count, const u32 *triangles,
                        u32 triangle_count, u32 *dropped, ErrorText *error);
Geometry *geometry_terrain(const f32 *heights, u32 columns, u32 rows, f32 spacing,
                           ErrorText *error);
/* Children's geometries (hulls) must outlive the compound. Where children overlap, the volume
 * and its mass count twice. Error: a child is not convex, or its size or pose is out of range. */
Geometry *geometry_compound(const CompoundChild *children, u32 count, ErrorText *error);
void geometry_destroy(Geometry *geometry);
/* Bytes of memory. */
u64 geometry_bytes(const Geometry *geometry);

/* Index of the hull's vertex farthest along `direction` (need not be unit); the lowest if equal. */
u32 hull_support(const Hull *hull, Vec3 direction);

/* Calls visit(context, triangle) for each triangle whose bounds overlap the box, in leaf order;
 * stops when visit returns false. */
typedef bool TriangleVisit(void *context, u32 triangle);
void mesh_query(const TriangleMesh *mesh, Bounds box, TriangleVisit *visit, void *context);
/* Triangles of the terrain are numbered 2 × (j × (columns − 1) + i) and + 1. */
void terrain_query(const Terrain *terrain, Bounds box, TriangleVisit *visit, void *context);
/* The corners of a triangle, counter-clockwise from the front (above), and its edge flags. */
static inline u8 mesh_triangle(const TriangleMesh *mesh, u32 triangle, Vec3 corners[3])
{
    const u32 *corner = &mesh->triangles[3 * triangle];
    corners[0] = mesh->vertices[corner[0]];
    corners[1] = mesh->vertices[corner[1]];
    corners[2] = mesh->vertices[corner[2]];
    return mesh->edge_flags[triangle];
}
u8 terrain_triangle(const Terrain *terrain, u32 triangle, Vec3 corners[3]);
/* Height of the surface at (x, z) and its unit normal (may be NULL); false outside the grid. */
bool terrain_height(const Terrain *terrain, f32 x, f32 z, f32 *height, Vec3 *normal);
PL_END_C

#endif
