/*
 * manifold_mesh.c: convex shapes on static meshes and terrains, triangle by triangle, in the axes
 * of the mesh with the origin at the convex shape. Only the front of a triangle collides, and
 * contact normals never lean over inactive edges, so nothing stumbles over the seams of a flat
 * floor (active edges as in Jolt Physics).
 */
#include "server/physics/rigid/narrow/manifold_solid.h"

#include "server/physics/tree.h"
#include "shared/geometry/triangle.h"

/* Contact normals within this cosine of a face normal are replaced by it: 1.1°. */
#define FACE_COSINE 0.9998f
/* Behind an open mesh flat edges cannot be distinguished from convex ones: faces are preferred
 * within 11°. */
#define BACK_COSINE 0.98f
/* Relative to a convex shape's size: how far a single point may lie beside its supporting face.
 * A ball on an edge between nearly flat neighbours is above neither. */
#define FACE_SLACK  0.02f

typedef enum TriangleSide {
    SIDE_FRONT, /* the convex is in front: triangles that have it behind them are ignored */
    SIDE_BACK,  /* behind an open mesh: all triangles are flipped */
    SIDE_SUNK   /* under a terrain: every face pushes up */
} TriangleSide;

enum {
    /* Triangles near a convex stored between the two passes; if there are more they are searched
     * again. */
    NEAR_MAX = 512
};

typedef struct TriangleSearch {
    const Geometry *geometry;
    TriangleSide side;
    u32 near_count;
    u32 near[NEAR_MAX];
    bool wants_side;
    f32 nearest, height; /* m² to the nearest triangle, m above its plane */
    Vec3 origin;         /* of the working axes, in the mesh's frame */
    Solid convex;
    Vec3 inside;        /* a point inside the convex, working axes */
    Bounds own;         /* of the convex in its own axes, with the margin */
    Vec3 below;         /* normal of the last triangle tested by is_covered, and */
    Polygon side_below; /* the side of the convex facing it */
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

/* The contact normal without components over inactive edges. The touching feature along n is the
 * triangle's support: its face, an edge or a corner. A corner with one active edge is on a
 * ridge, where the normal is perpendicular to that edge. */
static Vec3 allowed_normal(const Solid *triangle, u8 active, Vec3 n)
{
    const Vec3 *v = triangle->hull->vertices;
    Vec3 face = triangle->hull->normals[0];
    if (vec3_dot(n, face) > FACE_COSINE) {
        return face;
    }
    f32 along[3] = {vec3_dot(n, v[0]), vec3_dot(n, v[1]), vec3_dot(n, v[2])};
    u32 corner =
        along[0] >= along[1] ? (along[0] >= along[2] ? 0 : 2) : (along[1] >= along[2] ? 1 : 2);
    u32 edges[2] = {corner, corner > 0 ? corner - 1 : 2};
    bool is_active[2];
    for (u32 i = 0; i < 2; i++) {
        u32 from = edges[i], to = from < 2 ? from + 1 : 0, other = from == corner ? to : from;
        is_active[i] = (active & TRIANGLE_EDGE_ACTIVE << edges[i]) != 0;
        if (along[corner] - along[other] <= 1e-3f * vec3_distance(v[corner], v[other])) {
            return is_active[i] ? n : face;
        }
    }
    if (is_active[0] == is_active[1]) {
        return is_active[0] ? n : face;
    }
    Vec3 outward = edge_outward(triangle, edges[is_active[0] ? 0 : 1]);
    f32 lean = vec3_dot(n, outward), up = vec3_dot(n, face);
    if (!(lean > 0.0f && up > 0.0f)) {
        return face;
    }
    n = vec3_add_scaled(vec3_scale(face, up), lean, outward);
    n = vec3_normalize_or(n, face);
    return vec3_dot(n, face) > FACE_COSINE ? face : n;
}

/* Contacts of the face alone: the convex's feature against it. */
static u32 face_points(const TriangleSearch *search, const Solid *triangle, u8 active,
                       ManifoldPoint *points)
{
    Polygon face, feature;
    Vec3 n = triangle->hull->normals[0];
    ClipLimits limits = {.round = search->convex.round, .margin = search->margin};
    solid_feature(&search->convex, vec3_neg(n), &feature);
    if (feature.count > 1) {
        solid_polygon(triangle, 0, n, &face);
        return manifold_clip(&face, n, &feature, &limits, (feature.id & 127u) << 14, points);
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
    return manifold_clip(&face, n, &feature, &limits, 0, points);
}

/* Points that are corners of the convex keep their ids across triangles, so a rolling body keeps
 * its warm starting over seams. The largest component of the normal distinguishes floor from
 * wall. */
static void name_points(u32 triangle, Vec3 n, ManifoldPoint *points, u32 count)
{
    Vec3 a = vec3_abs(n);
    u32 axis = a.x >= a.y && a.x >= a.z ? (n.x < 0.0f ? 0 : 1)
               : a.y >= a.z             ? (n.y < 0.0f ? 2 : 3)
                                        : (n.z < 0.0f ? 4 : 5);
    for (u32 i = 0; i < count; i++) {
        u32 feature = points[i].feature;
        /* Corners of triangles are as transient as cuts for a body moving over them. */
        u32 cut = feature & (FEATURE_CUT | FEATURE_OF_FACE) ? FEATURE_CUT : 0;
        bool corner = cut == 0 && (feature & ~FEATURE_INCIDENT) == 0;
        feature = corner ? feature_mix(UINT32_MAX - 1 - axis, feature)
                         : feature_mix(triangle, feature & ~FEATURE_CUT);
        points[i].feature = (feature & ~FEATURE_CUT) | cut;
    }
}

/* The axis from the triangle's nearest point `on` to the point inside the convex: it separates
 * most pairs that are apart, and is exact for a ball. Returns the separation along it. */
static f32 nearest_axis(const TriangleSearch *search, Vec3 on, Vec3 *n)
{
    const Solid *convex = &search->convex;
    *n = vec3_sub(search->inside, on);
    f32 distance = vec3_length(*n);
    if (!(distance > 1e-5f * convex->extent)) {
        return -INFINITY;
    }
    *n = vec3_scale(*n, 1.0f / distance);
    if (convex->kind == SOLID_POINT) {
        return distance - convex->round;
    }
    Vec3 low = solid_support(convex, vec3_neg(*n));
    return vec3_dot(*n, vec3_sub(low, on)) - convex->round;
}

static void touch_triangle(const TriangleSearch *search, const Solid *triangle, Manifold *found)
{
    if (search->convex.kind == SOLID_POINT) {
        Vec3 on = triangle_nearest(search->inside, triangle->hull->vertices);
        f32 separation = nearest_axis(search, on, &found->normal);
        if (separation > -INFINITY) {
            found->count = 1;
            found->points[0] =
                (ManifoldPoint){.position = vec3_add_scaled(on, 0.5f * separation, found->normal),
                                .separation = separation,
                                .feature = 3u << 29};
            return;
        }
    }
    manifold_solids(triangle, &search->convex, search->margin, found);
}

/* Whether the triangle lies within a plane of triangles and entirely below the side of the
 * convex resting on it. Then it adds nothing: the outermost points of their common part are
 * corners of that side, or on the rim of either, where other triangles have them. This applies
 * to all but a few triangles below a slab on a finely tessellated floor. */
static bool is_covered(TriangleSearch *search, const Vec3 corners[3], u8 flags)
{
    Polygon *side = &search->side_below;
    if (flags != 7u * TRIANGLE_EDGE_FLAT || search->convex.kind == SOLID_POINT) {
        return false;
    }
    Vec3 n = vec3_cross(vec3_sub(corners[1], corners[0]), vec3_sub(corners[2], corners[0]));
    if (!(vec3_dot(n, search->below) > 0.999999f * vec3_length(n))) {
        search->below = vec3_normalize_or(n, vec3_zero());
        solid_feature(&search->convex, vec3_neg(search->below), side);
    }
    for (u32 e = 0; e < side->count && side->count > 2; e++) {
        Vec3 from = side->corners[e], to = side->corners[e + 1 < side->count ? e + 1 : 0];
        Vec3 outward = vec3_cross(n, vec3_sub(to, from)); /* the side is clockwise about n */
        for (u32 i = 0; i < 3; i++) {
            if (!(vec3_dot(outward, vec3_sub(corners[i], from)) < 0.0f)) {
                return false;
            }
        }
    }
    return side->count > 2;
}

static void collide_triangle(TriangleSearch *search, u32 index, const Vec3 corners[3], u8 flags)
{
    Solid triangle;
    u8 active = flags & (7u * TRIANGLE_EDGE_ACTIVE);
    if (search->side == SIDE_FRONT && is_covered(search, corners, flags)) {
        return;
    }
    solid_set_triangle(&triangle, corners);
    if (!(triangle.extent > 0.0f)) {
        return;
    }
    Vec3 face = triangle.hull->normals[0];
    Vec3 low = solid_support(&search->convex, vec3_neg(face));
    bool behind = vec3_dot(face, vec3_sub(search->inside, corners[0])) < 0.0f;
    if (vec3_dot(face, vec3_sub(low, corners[0])) - search->convex.round > search->margin ||
        (behind && search->side != SIDE_SUNK)) {
        return;
    }
    ManifoldPoint points[CLIPPED_MAX];
    u32 count = 0;
    Vec3 n = face;
    if (search->side == SIDE_SUNK || active == 0) { /* only the face may push */
        count = face_points(search, &triangle, active, points);
    } else {
        Manifold found = {.count = 0};
        touch_triangle(search, &triangle, &found);
        if (found.count == 0) {
            return;
        }
        n = allowed_normal(&triangle, active, found.normal);
        if (search->side == SIDE_BACK && vec3_dot(n, face) > BACK_COSINE) {
            count = face_points(search, &triangle, 0, points);
            n = count > 0 ? face : n;
        }
        bool face_only = n.x == face.x && n.y == face.y && n.z == face.z;
        bool same = n.x == found.normal.x && n.y == found.normal.y && n.z == found.normal.z;
        if (count == 0 && face_only && (!same || search->convex.kind == SOLID_POINT)) {
            count = face_points(search, &triangle, active, points);
        } else if (count == 0) {
            for (; count < found.count; count++) {
                points[count] = found.points[count];
            }
        }
    }
    name_points(index, n, points, count);
    gather_add(&search->gather, n, points, count);
}

static u8 triangle_of(const TriangleSearch *search, u32 index, Vec3 corners[3])
{
    u8 active = search->geometry->kind == GEOMETRY_MESH
                    ? mesh_triangle(&search->geometry->mesh, index, corners)
                    : terrain_triangle(&search->geometry->terrain, index, corners);
    for (u32 i = 0; i < 3; i++) {
        corners[i] = vec3_sub(corners[i], search->origin);
    }
    return active;
}

static bool visit(void *context, u32 index)
{
    TriangleSearch *search = context;
    Vec3 corners[3];
    u8 active = triangle_of(search, index, corners);
    if (search->side == SIDE_BACK) {
        Vec3 swap = corners[1];
        corners[1] = corners[2];
        corners[2] = swap;
        active = 7; /* concave from the front is convex from behind */
    }
    collide_triangle(search, index, corners, active);
    return true;
}

/* Whether all corners are beyond one side of the convex's own bounds. A wide body that leans a
 * little, or lies on bumps, is near most triangles below it but touches few. */
static bool is_beside(const TriangleSearch *search, const Vec3 v[3])
{
    const Mat3 *frame = &search->convex.frame;
    Vec3 p = mat3_mul_transposed(*frame, v[0]), low = p, high = p;
    for (u32 i = 1; i < 3; i++) {
        p = mat3_mul_transposed(*frame, v[i]);
        low = vec3_min(low, p);
        high = vec3_max(high, p);
    }
    Bounds of_triangle = {low, high};
    return !bounds_overlap(&of_triangle, &search->own);
}

/* Whether the triangle may be the nearest one so far, by its bounds. */
static bool may_be_nearest(const TriangleSearch *search, const Vec3 v[3])
{
    Vec3 low = vec3_min(v[0], vec3_min(v[1], v[2])), high = vec3_max(v[0], vec3_max(v[1], v[2]));
    Vec3 p = search->inside, on = vec3_max(low, vec3_min(p, high));
    return search->wants_side &&
           !(vec3_length_squared(vec3_sub(p, on)) > 1.0001f * search->nearest);
}

/* Of several triangles that share the nearest point (an edge, a corner) the one with the
 * farthest plane decides on which side of an open mesh the convex is. */
static void note_nearest(TriangleSearch *search, const Vec3 v[3], Vec3 on)
{
    Vec3 p = search->inside;
    f32 distance = vec3_length_squared(vec3_sub(p, on)), slack = 1e-5f * search->nearest;
    if (distance < search->nearest + slack || search->nearest == INFINITY) {
        Vec3 n = vec3_cross(vec3_sub(v[1], v[0]), vec3_sub(v[2], v[0]));
        f32 height = vec3_dot(vec3_normalize_or(n, vec3_zero()), vec3_sub(p, v[0]));
        if (distance < search->nearest - slack || fabsf(height) > fabsf(search->height)) {
            search->nearest = f32_min(search->nearest, distance);
            search->height = height;
        }
    }
}

/* The first pass: finds near triangles, and the nearest one. */
static bool visit_near(void *context, u32 index)
{
    TriangleSearch *search = context;
    Vec3 v[3], n;
    u8 flags = triangle_of(search, index, v);
    bool nearest = may_be_nearest(search, v), beside = is_beside(search, v);
    bool near = !beside, flat = flags == 7u * TRIANGLE_EDGE_FLAT; /* is_covered is more precise */
    if (nearest || (near && !flat)) {
        Vec3 on = triangle_nearest(search->inside, v);
        note_nearest(search, v, on);
        near = near && (flat || nearest_axis(search, on, &n) < search->margin);
    }
    if (near && search->near_count <= NEAR_MAX) {
        if (search->near_count < NEAR_MAX) {
            search->near[search->near_count] = index;
        }
        search->near_count++; /* NEAR_MAX + 1: too many */
    }
    return true;
}

static void query(TriangleSearch *search, Bounds box, TriangleVisit *visitor)
{
    if (search->geometry->kind == GEOMETRY_MESH) {
        mesh_query(&search->geometry->mesh, box, visitor, search);
    } else {
        terrain_query(&search->geometry->terrain, box, visitor, search);
    }
}

static bool is_sunk(const TriangleSearch *search)
{
    if (search->geometry->kind != GEOMETRY_TERRAIN) {
        return false;
    }
    Vec3 p = vec3_add(search->origin, search->inside);
    f32 height;
    return terrain_height(&search->geometry->terrain, p.x, p.z, &height, NULL) && p.y < height;
}

static void search_ground(TriangleSearch *search, Bounds box)
{
    search->side = SIDE_FRONT;
    search->near_count = 0;
    search->nearest = INFINITY;
    search->height = 0.0f;
    if (is_sunk(search)) {
        search->side = SIDE_SUNK;
        box.max.y = f32_max(box.max.y, search->geometry->terrain.high); /* the shape may be far
                                                                           above */
        query(search, box, visit);
        return;
    }
    search->wants_side = search->geometry->kind == GEOMETRY_MESH && !search->geometry->mesh.closed;
    query(search, box, visit_near);
    if (search->wants_side && search->height < 0.0f) {
        search->side = SIDE_BACK;
    }
    if (search->near_count > NEAR_MAX) {
        query(search, box, visit);
        return;
    }
    for (u32 i = 0; i < search->near_count; i++) {
        visit(search, search->near[i]);
    }
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
    search.below = vec3_zero();
    search.origin =
        quat_rotate_inverse(ground->orientation, vec3_sub(convex->position, ground->position));
    solid_set(&search.convex, convex->shape, vec3_zero(), quat_mul(back, convex->orientation));
    search.inside = search.convex.hull != NULL
                        ? mat3_mul(search.convex.frame, search.convex.hull->inside)
                        : vec3_zero();
    search.margin = margin;
    search.own = bounds_grow(shape_bounds(convex->shape, vec3_zero(), quat_identity()), margin);
    gather_begin(&search.gather, 0.01f * search.convex.extent);
    Bounds box = solid_bounds(&search.convex, margin);
    box.min = vec3_add(box.min, search.origin);
    box.max = vec3_add(box.max, search.origin);
    search_ground(&search, box);
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
