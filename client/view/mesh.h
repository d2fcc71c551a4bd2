/*
 * mesh.h: the procedural meshes of the shapes. One vertex rule serves all: a vertex lies at
 * corner · core + radius · normal, so boxes get bevelled edges of any width, spheres and capsules
 * keep their form at any size, and a larger radius gives an outline without gaps.
 *
 *   shape     core                 radius      corner
 *   sphere    0                    r           0
 *   box       half − bevel         bevel       (±1, ±1, ±1)
 *   capsule   (0, half height, 0)  r           (0, ±1, 0)
 *   plane     (extent, 0, extent)  0           (−1..1, 0, −1..1)
 *   others    (1, 1, 1)            0           the vertex itself
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_MESH_H
#define PLENUM_CLIENT_VIEW_MESH_H

#include "shared/base/error.h"
#include "shared/geometry/shape.h"

typedef enum MeshKind {
    MESH_BOX,
    MESH_SPHERE_NEAR, /* fine enough when drawn large */
    MESH_SPHERE_FAR,
    MESH_CAPSULE,
    MESH_PLANE,
    MESH_KIND_COUNT
} MeshKind;

typedef struct MeshVertex {
    Vec3 corner, normal;
    Vec3 out; /* direction of inflation for outlines: the same for all vertices at one position */
} MeshVertex;

typedef struct Mesh {
    MeshVertex *vertices; /* [vertex_count] */
    u32 *indices;         /* [index_count], triangles, counter-clockwise from outside */
    u32 vertex_count, index_count;
} Mesh;

/* 0 or ERROR_MEMORY. */
int mesh_init(Mesh *mesh, MeshKind kind);
/* The surface of a cylinder, a cone, a hull, a mesh or a terrain. 0, ERROR_MEMORY or
 * ERROR_UNSUPPORTED. */
int mesh_init_surface(Mesh *mesh, const Shape *shape);
void mesh_finish(Mesh *mesh);

#endif
