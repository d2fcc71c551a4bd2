/*
 * mesh.c: builds triangle meshes: checks them, finds adjacent triangles (vertices at the same
 * position count as one), and derives edge flags and volume.
 */
#include "shared/geometry/mesh_bvh.h"

#include "shared/base/limits.h"
#include "shared/geometry/geometry_mass.h"
#include "shared/geometry/weld.h"

#include <stdlib.h>
#include <string.h>

/* A triangle lower than this fraction of its longest edge has no usable normal. */
#define SLIVER_TOLERANCE 1e-6
/* cos 1°: edges with smaller angles are flat. */
#define FLAT_COSINE      0.99984769515639124
/* Coplanar triangles: cosines differ from 1 by no more (about 1e-5 rad). */
#define PLANE_TOLERANCE  1e-10

/* One side of a triangle, sorted next to the others between the same two vertices. */
typedef struct MeshEdge {
    u64 key;  /* the lower welded vertex in the high half, the higher one in the low half */
    u32 side; /* 3 × triangle + side */
} MeshEdge;

typedef struct MeshMaker {
    const Vec3 *vertices;
    const u32 *triangles;
    u32 vertex_count, triangle_count;
    u32 *welded;     /* [vertex_count] the first vertex at the same position */
    MeshEdge *edges; /* [edge_count ≤ 3 × triangle_count] sorted */
    u8 *flags;       /* [triangle_count] edge flags, TRIANGLE_DROPPED */
    u32 edge_count;
    bool closed;
} MeshMaker;

enum {
    /* Two coincident corners: not part of the surface. */
    TRIANGLE_COLLAPSED = 0x40,
    /* No area: part of the surface for edges and volume, but not in the mesh. */
    TRIANGLE_SLIVER = 0x80,
    TRIANGLE_DROPPED = TRIANGLE_COLLAPSED | TRIANGLE_SLIVER
};

static Error check_mesh(const MeshMaker *maker, ErrorText *error)
{
    if (maker->triangle_count < 1 || maker->triangle_count > MESH_TRIANGLES_MAX) {
        return error_set(error, ERROR_LIMIT, "mesh: %u triangles, expected 1 to %d",
                         maker->triangle_count, MESH_TRIANGLES_MAX);
    }
    if (maker->vertex_count < 3 || maker->vertex_count > MESH_VERTICES_MAX) {
        return error_set(error, ERROR_LIMIT, "mesh: %u vertices, expected 3 to %d",
                         maker->vertex_count, MESH_VERTICES_MAX);
    }
    for (u32 i = 0; i < maker->vertex_count; i++) {
        Vec3 v = maker->vertices[i];
        Vec3 a = vec3_abs(v);
        if (!(a.x <= WORLD_EXTENT_MAX_M && a.y <= WORLD_EXTENT_MAX_M &&
              a.z <= WORLD_EXTENT_MAX_M)) {
            return error_set(error, ERROR_RANGE,
                             "mesh: vertex %u (%g, %g, %g), expected numbers within ±%g m", i,
                             (f64)v.x, (f64)v.y, (f64)v.z, (f64)WORLD_EXTENT_MAX_M);
        }
    }
    for (u32 i = 0; i < 3 * maker->triangle_count; i++) {
        if (maker->triangles[i] >= maker->vertex_count) {
            return error_set(error, ERROR_RANGE, "mesh: triangle %u: vertex %u, expected below %u",
                             i / 3, maker->triangles[i], maker->vertex_count);
        }
    }
    return ERROR_OK;
}

static void from_corner(const MeshMaker *maker, u32 triangle, u32 corner, f64 out[3])
{
    Vec3 a = maker->vertices[maker->triangles[3 * triangle]];
    Vec3 p = maker->vertices[maker->triangles[3 * triangle + corner]];
    out[0] = (f64)p.x - (f64)a.x;
    out[1] = (f64)p.y - (f64)a.y;
    out[2] = (f64)p.z - (f64)a.z;
}

static f64 dot(const f64 a[3], const f64 b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Twice the area as a vector, and the longest edge squared. */
static f64 triangle_normal(const MeshMaker *maker, u32 triangle, f64 normal[3])
{
    f64 u[3], v[3];
    from_corner(maker, triangle, 1, u);
    from_corner(maker, triangle, 2, v);
    f64 w[3] = {v[0] - u[0], v[1] - u[1], v[2] - u[2]};
    normal[0] = u[1] * v[2] - u[2] * v[1];
    normal[1] = u[2] * v[0] - u[0] * v[2];
    normal[2] = u[0] * v[1] - u[1] * v[0];
    return fmax(dot(u, u), fmax(dot(v, v), dot(w, w)));
}

static u32 welded_corner(const MeshMaker *maker, u32 side)
{
    return maker->welded[maker->triangles[side]];
}

/* The corner where a side ends. */
static u32 side_end(u32 side)
{
    return side % 3 == 2 ? side - 2 : side + 1;
}

static void sort_out_triangles(MeshMaker *maker)
{
    maker->edge_count = 0;
    for (u32 t = 0; t < maker->triangle_count; t++) {
        u32 corner[3];
        for (u32 i = 0; i < 3; i++) {
            corner[i] = welded_corner(maker, 3 * t + i);
        }
        if (corner[0] == corner[1] || corner[1] == corner[2] || corner[2] == corner[0]) {
            maker->flags[t] = TRIANGLE_COLLAPSED;
            continue;
        }
        f64 normal[3];
        f64 longest = triangle_normal(maker, t, normal);
        bool sliver = !(sqrt(dot(normal, normal)) > SLIVER_TOLERANCE * longest);
        maker->flags[t] = sliver ? TRIANGLE_SLIVER : 0;
        for (u32 i = 0; i < 3; i++) {
            u32 a = corner[i], b = corner[(i + 1) % 3];
            MeshEdge *edge = &maker->edges[maker->edge_count++];
            edge->key = (u64)u32_min(a, b) << 32 | u32_max(a, b);
            edge->side = 3 * t + i;
        }
    }
}

static int compare_edges(const void *left, const void *right)
{
    const MeshEdge *a = left, *b = right;
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return a->side < b->side ? -1 : a->side > b->side ? 1 : 0;
}

/* Whether contacts may push across the edge between two triangles: convex by more than 1°. */
static bool edge_is_active(const MeshMaker *maker, u32 side, u32 other)
{
    u32 t = side / 3, u = other / 3;
    if ((maker->flags[t] | maker->flags[u]) & TRIANGLE_SLIVER) {
        return true;
    }
    f64 n[3], m[3];
    triangle_normal(maker, t, n);
    triangle_normal(maker, u, m);
    if (dot(n, m) > FLAT_COSINE * sqrt(dot(n, n) * dot(m, m))) {
        return false;
    }
    Vec3 a = maker->vertices[maker->triangles[side]];
    Vec3 p = maker->vertices[maker->triangles[side_end(side_end(other))]];
    f64 d[3] = {(f64)p.x - (f64)a.x, (f64)p.y - (f64)a.y, (f64)p.z - (f64)a.z};
    return !(dot(n, d) > 0.0);
}

/* Whether the two triangles are coplanar. */
static bool edge_is_flat(const MeshMaker *maker, u32 side, u32 other)
{
    u32 t = side / 3, u = other / 3;
    f64 n[3], m[3];
    if ((maker->flags[t] | maker->flags[u]) & TRIANGLE_SLIVER) {
        return false;
    }
    triangle_normal(maker, t, n);
    triangle_normal(maker, u, m);
    return dot(n, m) > (1.0 - PLANE_TOLERANCE) * sqrt(dot(n, n) * dot(m, m));
}

static void flag_edge(MeshMaker *maker, u32 side, u32 flag)
{
    maker->flags[side / 3] |= (u8)(flag << side % 3);
}

static void connect(MeshMaker *maker)
{
    maker->closed = maker->edge_count > 0;
    for (u32 first = 0, end; first < maker->edge_count; first = end) {
        end = first + 1;
        while (end < maker->edge_count && maker->edges[end].key == maker->edges[first].key) {
            end++;
        }
        u32 side = maker->edges[first].side;
        bool active = true, flat = false;
        if (end - first == 2 &&
            welded_corner(maker, side) != welded_corner(maker, maker->edges[first + 1].side)) {
            active = edge_is_active(maker, side, maker->edges[first + 1].side);
            flat = !active && edge_is_flat(maker, side, maker->edges[first + 1].side);
        } else {
            maker->closed = false;
        }
        for (u32 i = first; i < end && (active || flat); i++) {
            flag_edge(maker, maker->edges[i].side,
                      active ? TRIANGLE_EDGE_ACTIVE : TRIANGLE_EDGE_FLAT);
        }
    }
}

static void measure(const MeshMaker *maker, Geometry *geometry)
{
    Vec3 low = maker->vertices[maker->triangles[0]], high = low;
    for (u32 i = 0; i < 3 * maker->triangle_count; i++) {
        if (!(maker->flags[i / 3] & TRIANGLE_DROPPED)) {
            Vec3 v = maker->vertices[maker->triangles[i]];
            low = vec3_min(low, v);
            high = vec3_max(high, v);
            geometry->reach = f32_max(geometry->reach, vec3_length(v));
        }
    }
    geometry->bounds.min = low;
    geometry->bounds.max = high;
    if (!maker->closed) {
        return;
    }
    SolidSum sum;
    solid_sum_init(&sum, vec3_scale(vec3_add(low, high), 0.5f));
    for (u32 t = 0; t < maker->triangle_count; t++) {
        const u32 *corner = &maker->triangles[3 * t];
        solid_sum_add(&sum, maker->vertices[corner[0]], maker->vertices[corner[1]],
                      maker->vertices[corner[2]]);
    }
    solid_sum_finish(&sum, geometry);
}

static Error fill(const MeshMaker *maker, Geometry *geometry, u32 kept, ErrorText *error)
{
    TriangleMesh *mesh = &geometry->mesh;
    mesh->vertices = malloc(maker->vertex_count * sizeof *mesh->vertices);
    mesh->triangles = malloc(3 * (size_t)kept * sizeof *mesh->triangles);
    mesh->edge_flags = malloc(kept);
    if (mesh->vertices == NULL || mesh->triangles == NULL || mesh->edge_flags == NULL) {
        return error_set(error, ERROR_MEMORY, "mesh: out of memory");
    }
    memcpy(mesh->vertices, maker->vertices, maker->vertex_count * sizeof *mesh->vertices);
    mesh->vertex_count = maker->vertex_count;
    for (u32 t = 0; t < maker->triangle_count; t++) {
        if (!(maker->flags[t] & TRIANGLE_DROPPED)) {
            u32 at = mesh->triangle_count++;
            memcpy(&mesh->triangles[3 * at], &maker->triangles[3 * t], 3 * sizeof(u32));
            mesh->edge_flags[at] = maker->flags[t];
        }
    }
    mesh->closed = maker->closed;
    measure(maker, geometry);
    Vec3 size = vec3_sub(geometry->bounds.max, geometry->bounds.min);
    f32 extent = f32_max(f32_max(size.x, size.y), size.z);
    if (!(extent >= GEOMETRY_EXTENT_MIN_M)) {
        return error_set(error, ERROR_RANGE, "mesh: extent of %g m, expected at least %g m",
                         (f64)extent, (f64)GEOMETRY_EXTENT_MIN_M);
    }
    if (!mesh_bvh_build(mesh)) {
        return error_set(error, ERROR_MEMORY, "mesh: out of memory");
    }
    return ERROR_OK;
}

static Geometry *make(MeshMaker *maker, u32 *dropped, ErrorText *error)
{
    if (!weld_vertices(maker->vertices, maker->vertex_count, maker->welded)) {
        error_set(error, ERROR_MEMORY, "mesh: out of memory");
        return NULL;
    }
    sort_out_triangles(maker);
    qsort(maker->edges, maker->edge_count, sizeof *maker->edges, compare_edges);
    connect(maker);
    u32 kept = 0;
    for (u32 t = 0; t < maker->triangle_count; t++) {
        kept += (maker->flags[t] & TRIANGLE_DROPPED) ? 0 : 1;
    }
    if (dropped != NULL) {
        *dropped = maker->triangle_count - kept;
    }
    if (kept == 0) {
        error_set(error, ERROR_RANGE, "mesh: none of the %u triangles has an area",
                  maker->triangle_count);
        return NULL;
    }
    Geometry *geometry = calloc(1, sizeof *geometry);
    if (geometry == NULL) {
        error_set(error, ERROR_MEMORY, "mesh: out of memory");
        return NULL;
    }
    geometry->kind = GEOMETRY_MESH;
    if (fill(maker, geometry, kept, error) != ERROR_OK) {
        geometry_destroy(geometry);
        return NULL;
    }
    return geometry;
}

Geometry *geometry_mesh(const Vec3 *vertices, u32 vertex_count, const u32 *triangles,
                        u32 triangle_count, u32 *dropped, ErrorText *error)
{
    MeshMaker maker = {.vertices = vertices,
                       .triangles = triangles,
                       .vertex_count = vertex_count,
                       .triangle_count = triangle_count};
    if (dropped != NULL) {
        *dropped = 0;
    }
    if (check_mesh(&maker, error) != ERROR_OK) {
        return NULL;
    }
    Geometry *geometry = NULL;
    maker.welded = malloc(vertex_count * sizeof *maker.welded);
    maker.edges = malloc(3 * (size_t)triangle_count * sizeof *maker.edges);
    maker.flags = malloc(triangle_count);
    if (maker.welded == NULL || maker.edges == NULL || maker.flags == NULL) {
        error_set(error, ERROR_MEMORY, "mesh: out of memory");
    } else {
        geometry = make(&maker, dropped, error);
    }
    free(maker.welded);
    free(maker.edges);
    free(maker.flags);
    return geometry;
}
