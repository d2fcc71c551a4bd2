/* surface_crossing.c: candidate pairs of triangles from a tree, tested with exact determinants. */
#include "shared/soft/surface_crossing.h"

#include "shared/geometry/mesh_bvh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Differences of coordinates are at most 2^20: a determinant of three is at most 6 × 2^60,
     * and each of its sums of three products at most 3 × 2^61 < 2^63. */
    GRID = 1 << 20,
    /* Limit of tested pairs: a few seconds. */
    PAIRS_MAX = 1 << 26
};

typedef struct Point {
    i64 x, y, z;
} Point;

typedef struct TriangleCorners {
    Point p[3];
    Point normal;
} TriangleCorners;

typedef struct CrossingSearch {
    const TriangleMesh *mesh; /* on the grid */
    const u8 *flat;           /* [triangle_count] */
    TriangleCorners own;
    u32 triangle, found; /* found: UINT32_MAX for none */
    u32 edge;            /* of `triangle` starting at this corner, or 3 + the corner of `found` */
    u64 pairs;
} CrossingSearch;

static Point minus(Point a, Point b)
{
    return (Point){a.x - b.x, a.y - b.y, a.z - b.z};
}

static Point cross(Point a, Point b)
{
    return (Point){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static i64 dot(Point a, Point b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static int sign(i64 x)
{
    return (x > 0) - (x < 0);
}

static bool same(Point a, Point b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

static TriangleCorners corners_of(const TriangleMesh *mesh, u32 triangle)
{
    TriangleCorners c;
    for (u32 i = 0; i < 3; i++) {
        Vec3 v = mesh->vertices[mesh->triangles[3 * (size_t)triangle + i]];
        c.p[i] = (Point){(i64)v.x, (i64)v.y, (i64)v.z};
    }
    c.normal = cross(minus(c.p[1], c.p[0]), minus(c.p[2], c.p[0]));
    return c;
}

/* Side of the triangle's plane on which p lies. */
static int side_of(const TriangleCorners *triangle, Point p)
{
    return sign(dot(triangle->normal, minus(p, triangle->p[0])));
}

/* ---- in one plane ------------------------------------------------------------------------- */

/* Projection along the axis of the normal's largest component, which preserves the triangle's
 * area. */
static Point flatten(const TriangleCorners *triangle, Point p)
{
    i64 x = llabs(triangle->normal.x), y = llabs(triangle->normal.y), z = llabs(triangle->normal.z);
    if (x >= y && x >= z) {
        return (Point){p.y, p.z, 0};
    }
    return y >= z ? (Point){p.z, p.x, 0} : (Point){p.x, p.y, 0};
}

static int turn(Point a, Point b, Point c)
{
    return sign((b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x));
}

static bool between(Point a, Point b, Point p)
{
    return (a.x <= b.x ? a.x <= p.x && p.x <= b.x : b.x <= p.x && p.x <= a.x) &&
           (a.y <= b.y ? a.y <= p.y && p.y <= b.y : b.y <= p.y && p.y <= a.y);
}

static bool segments_meet(Point a, Point b, Point c, Point d)
{
    int abc = turn(a, b, c), abd = turn(a, b, d), cda = turn(c, d, a), cdb = turn(c, d, b);
    if (abc * abd < 0 && cda * cdb < 0) {
        return true;
    }
    return (abc == 0 && between(a, b, c)) || (abd == 0 && between(a, b, d)) ||
           (cda == 0 && between(c, d, a)) || (cdb == 0 && between(c, d, b));
}

static bool flat_segment_meets(const TriangleCorners *triangle, Point p, Point q)
{
    Point t[3];
    p = flatten(triangle, p);
    q = flatten(triangle, q);
    for (u32 i = 0; i < 3; i++) {
        t[i] = flatten(triangle, triangle->p[i]);
    }
    int a = turn(t[0], t[1], p), b = turn(t[1], t[2], p), c = turn(t[2], t[0], p);
    bool inside = (a >= 0 && b >= 0 && c >= 0) || (a <= 0 && b <= 0 && c <= 0);
    return inside || segments_meet(p, q, t[0], t[1]) || segments_meet(p, q, t[1], t[2]) ||
           segments_meet(p, q, t[2], t[0]);
}

/* ---- in space ----------------------------------------------------------------------------- */

static bool segment_meets(const TriangleCorners *triangle, Point p, Point q)
{
    int from = side_of(triangle, p), to = side_of(triangle, q);
    if (from * to > 0) {
        return false;
    }
    if (from == 0 && to == 0) {
        return flat_segment_meets(triangle, p, q);
    }
    int around[3];
    for (u32 i = 0; i < 3; i++) {
        Point a = minus(triangle->p[i], p), b = minus(triangle->p[(i + 1) % 3], p);
        around[i] = sign(dot(cross(minus(q, p), a), b));
    }
    return (around[0] >= 0 && around[1] >= 0 && around[2] >= 0) ||
           (around[0] <= 0 && around[1] <= 0 && around[2] <= 0);
}

static bool all_on_one_side(const TriangleCorners *plane, const TriangleCorners *other)
{
    int a = side_of(plane, other->p[0]), b = side_of(plane, other->p[1]);
    int c = side_of(plane, other->p[2]);
    return (a > 0 && b > 0 && c > 0) || (a < 0 && b < 0 && c < 0);
}

/* Neighbours at an edge cross only if one is folded onto the other. */
static bool folded(const TriangleCorners *a, const TriangleCorners *b, u32 a_free, u32 b_free)
{
    if (side_of(a, b->p[b_free]) != 0) {
        return false;
    }
    Point from = flatten(a, a->p[(a_free + 1) % 3]), to = flatten(a, a->p[(a_free + 2) % 3]);
    return turn(from, to, flatten(a, a->p[a_free])) == turn(from, to, flatten(a, b->p[b_free]));
}

/* Whether the edge of a starting at this corner, or that of b at corner + 3, intersects the
 * other triangle. */
static bool edge_meets(const TriangleCorners *a, const TriangleCorners *b, u32 edge)
{
    const TriangleCorners *of = edge < 3 ? a : b, *other = edge < 3 ? b : a;
    return segment_meets(other, of->p[edge % 3], of->p[(edge + 1) % 3]);
}

/* *edge is the one that passes through the other triangle, numbered as for edge_meets. */
static bool triangles_cross(const TriangleCorners *a, const TriangleCorners *b, u32 *edge)
{
    if (all_on_one_side(a, b) || all_on_one_side(b, a)) {
        return false;
    }
    bool a_shared[3] = {false}, b_shared[3] = {false};
    u32 shared = 0, a_free = 0, b_free = 0;
    for (u32 i = 0; i < 3; i++) {
        for (u32 k = 0; k < 3; k++) {
            if (same(a->p[i], b->p[k])) {
                a_shared[i] = b_shared[k] = true;
                shared++;
            }
        }
    }
    for (u32 i = 0; i < 3; i++) {
        /* The single corner: the shared one of one, the unshared one of two. */
        a_free = a_shared[i] == (shared == 1) ? i : a_free;
        b_free = b_shared[i] == (shared == 1) ? i : b_free;
    }
    *edge = (a_free + 1) % 3; /* opposite to that corner: the unshared edge, or the shared one */
    if (shared == 1) {
        u32 of_b = 3 + (b_free + 1) % 3;
        if (edge_meets(a, b, *edge)) {
            return true;
        }
        *edge = of_b;
        return edge_meets(a, b, of_b);
    }
    if (shared == 2) {
        return folded(a, b, a_free, b_free);
    }
    for (u32 i = 0; i < 6 && shared == 0; i++) {
        *edge = i;
        if (edge_meets(a, b, i)) {
            return true;
        }
    }
    return shared == 3;
}

static bool try_pair(void *context, u32 triangle)
{
    CrossingSearch *search = context;
    search->pairs++;
    if (triangle > search->triangle && !search->flat[triangle]) {
        TriangleCorners other = corners_of(search->mesh, triangle);
        u32 edge;
        if (triangle < search->found && triangles_cross(&search->own, &other, &edge)) {
            search->found = triangle;
            search->edge = edge;
        }
    }
    return search->pairs <= PAIRS_MAX;
}

static int search_all(const TriangleMesh *mesh, u8 *flat, ErrorText *error)
{
    CrossingSearch search = {.mesh = mesh, .flat = flat, .found = UINT32_MAX};
    for (u32 t = 0; t < mesh->triangle_count; t++) {
        TriangleCorners c = corners_of(mesh, t);
        flat[t] = c.normal.x == 0 && c.normal.y == 0 && c.normal.z == 0;
    }
    for (u32 t = 0; t < mesh->triangle_count; t++) {
        if (flat[t]) {
            continue;
        }
        const u32 *c = &mesh->triangles[3 * (size_t)t];
        Vec3 p = mesh->vertices[c[0]], q = mesh->vertices[c[1]], r = mesh->vertices[c[2]];
        Bounds box = {vec3_min(p, vec3_min(q, r)), vec3_max(p, vec3_max(q, r))};
        search.own = corners_of(mesh, t);
        search.triangle = t;
        mesh_query(mesh, box, try_pair, &search);
        if (search.found != UINT32_MAX) {
            u32 of = search.edge < 3 ? t : search.found;
            const u32 *corner = &mesh->triangles[3 * (size_t)of];
            return error_set(error, ERROR_FORMAT, "edge %u-%u of triangle %u crosses triangle %u",
                             corner[search.edge % 3], corner[(search.edge + 1) % 3], of,
                             of == t ? search.found : t);
        }
        if (search.pairs > PAIRS_MAX) {
            return error_set(error, ERROR_LIMIT,
                             "too many candidate pairs of triangles (at triangle %u of %u)", t,
                             mesh->triangle_count);
        }
    }
    return ERROR_OK;
}

/* Vertices on the grid as f32, which represents such numbers exactly. */
static void to_grid(const SoftMesh *surface, Vec3 *out)
{
    Vec3 low = surface->points[0], high = low;
    for (u32 i = 1; i < surface->point_count; i++) {
        low = vec3_min(low, surface->points[i]);
        high = vec3_max(high, surface->points[i]);
    }
    f64 x = (f64)high.x - (f64)low.x, y = (f64)high.y - (f64)low.y, z = (f64)high.z - (f64)low.z;
    f64 longest = fmax(x, fmax(y, z)), scale = longest > 0.0 ? GRID / longest : 0.0;
    for (u32 i = 0; i < surface->point_count; i++) {
        Vec3 p = surface->points[i];
        out[i] = vec3((f32)floor(((f64)p.x - (f64)low.x) * scale + 0.5),
                      (f32)floor(((f64)p.y - (f64)low.y) * scale + 0.5),
                      (f32)floor(((f64)p.z - (f64)low.z) * scale + 0.5));
    }
}

int surface_crossing(const SoftMesh *surface, ErrorText *error)
{
    if (surface->triangle_count == 0) {
        return ERROR_OK;
    }
    int code = ERROR_OK;
    TriangleMesh mesh = {.vertices = malloc(surface->point_count * sizeof(Vec3)),
                         .triangles = surface->triangles,
                         .vertex_count = surface->point_count,
                         .triangle_count = surface->triangle_count};
    u8 *flat = calloc(surface->triangle_count, 1);
    if (mesh.vertices == NULL || flat == NULL) {
        code = error_set(error, ERROR_MEMORY, "out of memory in the search for crossings");
    } else {
        mesh.edge_flags = flat;
        to_grid(surface, mesh.vertices);
        code = mesh_bvh_build(&mesh)
                   ? search_all(&mesh, flat, error)
                   : error_set(error, ERROR_MEMORY, "out of memory in the search for crossings");
    }
    free(mesh.vertices);
    free(mesh.order);
    free(mesh.nodes);
    free(flat);
    return code;
}
