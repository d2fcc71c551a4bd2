/*
 * manifold_mesh.c: convex shapes on static meshes and terrains, triangle by triangle, in the axes
 * of the mesh with the origin at the convex shape. Only the front of a triangle counts, and
 * contacts never lean over an edge that is not active, so that nothing stumbles over the seams of a
 * flat floor (the idea of active edges: Jolt Physics).
 */
#include "server/physics/rigid/manifold_solid.h"

/* Contact normals this near to a face's (cosine) are the face's: 1.1°. */
#define FACE_COSINE 0.9998f
/* Of a convex shape's size: how far a single point may lie beside the face that bears it. A ball on
 * an edge between nearly flat neighbours is over neither. */
#define FACE_SLACK  0.02f

typedef struct TriangleSearch {
    const Geometry *geometry;
    bool two_sided;
    Vec3 origin; /* of the working axes, in the mesh's frame */
    Solid convex;
    Vec3 inside;   /* a point inside the convex, working axes */
    Bounds bounds; /* grown by the margin, working axes */
    f32 margin;
    Gather gather;
} TriangleSearch;

/* Outward across edge i, in the triangle's plane, unit. */
static Vec3 edge_outward(const Solid *triangle, u32 i)
{
    const Vec3 *v = triangle->hull->vertices;
    Vec3 d = vec3_sub(v[i < 2 ? i + 1 : 0], v[i]);
    return vec3_normalize_or(vec3_cross(d, triangle->hull->normals[0]), vec3_zero());
}

/* The normal without what leans over inactive edges. */
static Vec3 allowed_normal(const Solid *triangle, u8 active, Vec3 n)
{
    Vec3 face = triangle->hull->normals[0];
    if (vec3_dot(n, face) > FACE_COSINE) {
        return face;
    }
    bool changed = false;
    for (u32 i = 0; i < 3; i++) {
        Vec3 outward = edge_outward(triangle, i);
        f32 lean = vec3_dot(n, outward);
        if (!(active & TRIANGLE_EDGE_ACTIVE << i) && lean > 1e-3f) {
            n = vec3_add_scaled(n, -lean, outward);
            changed = true;
        }
    }
    if (!changed) {
        return n;
    }
    n = vec3_normalize_or(n, face);
    return vec3_dot(n, face) > FACE_COSINE ? face : n;
}

/* What the face alone bears: the convex's feature against it. */
static u32 face_points(const TriangleSearch *search, const Solid *triangle, u8 active,
                       ManifoldPoint *points)
{
    Polygon face, feature;
    Vec3 n = triangle->hull->normals[0];
    solid_feature(&search->convex, vec3_neg(n), &feature);
    if (feature.count > 1) {
        solid_polygon(triangle, 0, n, &face);
        return manifold_clip(&face, n, &feature, search->convex.round, search->margin,
                             (feature.id & 127u) << 14, points);
    }
    Vec3 p = feature.corners[0];
    for (u32 i = 0; i < 3; i++) {
        f32 beside = vec3_dot(edge_outward(triangle, i), vec3_sub(p, triangle->hull->vertices[i]));
        f32 slack = active & TRIANGLE_EDGE_ACTIVE << i ? 0.0f : FACE_SLACK * search->convex.extent;
        if (beside > slack) {
            return 0;
        }
    }
    face.count = 0;
    face.corners[0] = triangle->hull->vertices[0];
    return manifold_clip(&face, n, &feature, search->convex.round, search->margin, 0, points);
}

/* Points that are corners of the convex keep their names from triangle to triangle: a rolling ball
 * stays warm over the seams. The greatest part of the normal tells floor from wall. */
static void name_points(u32 triangle, Vec3 n, ManifoldPoint *points, u32 count)
{
    Vec3 a = vec3_abs(n);
    u32 axis = a.x >= a.y && a.x >= a.z ? (n.x < 0.0f ? 0 : 1)
               : a.y >= a.z             ? (n.y < 0.0f ? 2 : 3)
                                        : (n.z < 0.0f ? 4 : 5);
    for (u32 i = 0; i < count; i++) {
        u32 feature = points[i].feature;
        u32 cut = feature & FEATURE_CUT;
        bool corner = (feature & ~FEATURE_INCIDENT) == 0;
        feature = corner ? feature_mix(UINT32_MAX - 1 - axis, feature)
                         : feature_mix(triangle, feature & ~FEATURE_CUT);
        points[i].feature = (feature & ~FEATURE_CUT) | cut;
    }
}

static void collide_triangle(TriangleSearch *search, u32 index, const Vec3 corners[3], u8 active)
{
    Solid triangle;
    solid_set_triangle(&triangle, corners);
    if (!(triangle.extent > 0.0f)) {
        return;
    }
    Vec3 face = triangle.hull->normals[0];
    Vec3 low = solid_support(&search->convex, vec3_neg(face));
    if (vec3_dot(face, vec3_sub(low, corners[0])) - search->convex.round > search->margin) {
        return;
    }
    Manifold found = {.count = 0};
    manifold_solids(&triangle, &search->convex, search->margin, &found);
    if (found.count == 0) {
        return;
    }
    ManifoldPoint points[CLIPPED_MAX];
    u32 count = found.count;
    Vec3 n = allowed_normal(&triangle, active, found.normal);
    bool turned = n.x != found.normal.x || n.y != found.normal.y || n.z != found.normal.z;
    if (turned && n.x == face.x && n.y == face.y && n.z == face.z) {
        count = face_points(search, &triangle, active, points);
    } else {
        for (u32 i = 0; i < count; i++) {
            points[i] = found.points[i];
        }
    }
    name_points(index, n, points, count);
    gather_add(&search->gather, n, points, count);
}

static bool visit(void *context, u32 index)
{
    TriangleSearch *search = context;
    Vec3 corners[3];
    bool is_mesh = search->geometry->kind == GEOMETRY_MESH;
    u8 active = is_mesh ? mesh_triangle(&search->geometry->mesh, index, corners)
                        : terrain_triangle(&search->geometry->terrain, index, corners);
    for (u32 i = 0; i < 3; i++) {
        corners[i] = vec3_sub(corners[i], search->origin);
    }
    if (search->two_sided) {
        Vec3 n = vec3_cross(vec3_sub(corners[1], corners[0]), vec3_sub(corners[2], corners[0]));
        if (vec3_dot(n, vec3_sub(search->inside, corners[0])) < 0.0f) {
            Vec3 swap = corners[1];
            corners[1] = corners[2];
            corners[2] = swap;
            active = 7; /* what is concave in front is convex behind */
        }
    }
    collide_triangle(search, index, corners, active);
    return true;
}

static Bounds solid_bounds(const Solid *solid, f32 margin)
{
    f32 grow = solid->round + margin;
    Bounds b;
    b.min.x = solid_support(solid, vec3(-1.0f, 0.0f, 0.0f)).x - grow;
    b.min.y = solid_support(solid, vec3(0.0f, -1.0f, 0.0f)).y - grow;
    b.min.z = solid_support(solid, vec3(0.0f, 0.0f, -1.0f)).z - grow;
    b.max.x = solid_support(solid, vec3(1.0f, 0.0f, 0.0f)).x + grow;
    b.max.y = solid_support(solid, vec3(0.0f, 1.0f, 0.0f)).y + grow;
    b.max.z = solid_support(solid, vec3(0.0f, 0.0f, 1.0f)).z + grow;
    return b;
}

u32 manifold_triangles(const ShapePose *ground, const ShapePose *convex, f32 margin,
                       Manifold *manifolds, u32 capacity)
{
    TriangleSearch search;
    Quat back = quat_conjugate(ground->orientation);
    search.geometry = ground->shape->geometry;
    search.origin =
        quat_rotate_inverse(ground->orientation, vec3_sub(convex->position, ground->position));
    solid_set(&search.convex, convex->shape, vec3_zero(), quat_mul(back, convex->orientation));
    search.inside = search.convex.hull != NULL
                        ? mat3_mul(search.convex.frame, search.convex.hull->inside)
                        : vec3_zero();
    search.margin = margin;
    gather_begin(&search.gather, 0.01f * search.convex.extent);
    Bounds box = solid_bounds(&search.convex, margin);
    box.min = vec3_add(box.min, search.origin);
    box.max = vec3_add(box.max, search.origin);
    if (search.geometry->kind == GEOMETRY_MESH) {
        search.two_sided = !search.geometry->mesh.closed;
        mesh_query(&search.geometry->mesh, box, visit, &search);
    } else {
        /* Solid below: also what has sunk under the surface is pushed up. */
        search.two_sided = false;
        box.max.y = f32_max(box.max.y, search.geometry->terrain.high);
        terrain_query(&search.geometry->terrain, box, visit, &search);
    }
    u32 count = gather_end(&search.gather, manifolds, capacity);
    for (u32 i = 0; i < count; i++) {
        Manifold *m = &manifolds[i];
        m->normal = quat_rotate(ground->orientation, m->normal);
        for (u32 p = 0; p < m->count; p++) {
            m->points[p].position =
                vec3_add(convex->position, quat_rotate(ground->orientation, m->points[p].position));
        }
    }
    return count;
}
