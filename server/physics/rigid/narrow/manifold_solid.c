/*
 * manifold_solid.c: support points, faces and features of convex shapes for contacts.
 */
#include "server/physics/rigid/narrow/manifold_solid.h"

/* ---- boxes and triangles as hulls ---- */

/* Corner i of a box lies at x+ if bit 0 is set, y+ bit 1, z+ bit 2. Faces: −x, +x, −y, +y, −z, +z.
 */
static const u16 box_face_edges[6] = {0, 4, 8, 12, 16, 20};
static const HalfEdge box_edges[24] = {
    {1, 11, 0, 0},  {2, 23, 4, 0},  {3, 12, 6, 0},  {0, 16, 2, 0},  /* 0 4 6 2 */
    {5, 18, 1, 1},  {6, 14, 3, 1},  {7, 21, 7, 1},  {4, 9, 5, 1},   /* 1 3 7 5 */
    {9, 19, 0, 2},  {10, 7, 1, 2},  {11, 20, 5, 2}, {8, 0, 4, 2},   /* 0 1 5 4 */
    {13, 2, 2, 3},  {14, 22, 6, 3}, {15, 5, 7, 3},  {12, 17, 3, 3}, /* 2 6 7 3 */
    {17, 3, 0, 4},  {18, 15, 2, 4}, {19, 4, 3, 4},  {16, 8, 1, 4},  /* 0 2 3 1 */
    {21, 10, 4, 5}, {22, 6, 5, 5},  {23, 13, 7, 5}, {20, 1, 6, 5},  /* 4 5 7 6 */
};
static const Vec3 box_normals[6] = {{-1, 0, 0}, {1, 0, 0},  {0, -1, 0},
                                    {0, 1, 0},  {0, 0, -1}, {0, 0, 1}};
static const u16 triangle_face_edges[2] = {0, 3};
static const HalfEdge triangle_edges[6] = {{1, 5, 0, 0}, {2, 4, 1, 0}, {0, 3, 2, 0},
                                           {4, 2, 0, 1}, {5, 1, 2, 1}, {3, 0, 1, 1}};

static void set_box(Solid *solid, Vec3 half)
{
    Hull *hull = &solid->own;
    for (u32 i = 0; i < 8; i++) {
        solid->own_vertices[i] =
            vec3(i & 1 ? half.x : -half.x, i & 2 ? half.y : -half.y, i & 4 ? half.z : -half.z);
    }
    solid->own_offsets[0] = solid->own_offsets[1] = half.x;
    solid->own_offsets[2] = solid->own_offsets[3] = half.y;
    solid->own_offsets[4] = solid->own_offsets[5] = half.z;
    hull->vertices = solid->own_vertices;
    /* A solid's hull is never written through this pointer. */
    hull->normals = (Vec3 *)(uintptr_t)box_normals;
    hull->offsets = solid->own_offsets;
    hull->face_edges = (u16 *)(uintptr_t)box_face_edges;
    hull->edges = (HalfEdge *)(uintptr_t)box_edges;
    hull->vertex_count = 8;
    hull->face_count = 6;
    hull->edge_count = 24;
    hull->inside = vec3_zero();
    hull->inner_radius = f32_min(half.x, f32_min(half.y, half.z));
    solid->hull = hull;
    solid->extent = hull->inner_radius;
}

void solid_set_triangle(Solid *solid, const Vec3 corners[3])
{
    Hull *hull = &solid->own;
    solid->kind = SOLID_POLYTOPE;
    solid->triangle = true;
    solid->frame.x = vec3(1.0f, 0.0f, 0.0f);
    solid->frame.y = vec3(0.0f, 1.0f, 0.0f);
    solid->frame.z = vec3(0.0f, 0.0f, 1.0f);
    solid->centre = vec3_zero();
    solid->radius = solid->half_height = solid->round = 0.0f;
    for (u32 i = 0; i < 3; i++) {
        solid->own_vertices[i] = corners[i];
    }
    Vec3 ab = vec3_sub(corners[1], corners[0]), ac = vec3_sub(corners[2], corners[0]);
    Vec3 n = vec3_cross(ab, ac);
    f32 longest = vec3_length_squared(vec3_sub(ac, ab));
    longest = f32_max(longest, f32_max(vec3_length_squared(ab), vec3_length_squared(ac)));
    solid->extent = longest > 0.0f ? vec3_length(n) / sqrtf(longest) : 0.0f;
    n = vec3_normalize_or(n, vec3(0.0f, 1.0f, 0.0f));
    solid->own_normals[0] = n;
    solid->own_normals[1] = vec3_neg(n);
    solid->own_offsets[0] = vec3_dot(n, corners[0]);
    solid->own_offsets[1] = -solid->own_offsets[0];
    hull->vertices = solid->own_vertices;
    hull->normals = solid->own_normals;
    hull->offsets = solid->own_offsets;
    hull->face_edges = (u16 *)(uintptr_t)triangle_face_edges;
    hull->edges = (HalfEdge *)(uintptr_t)triangle_edges;
    hull->vertex_count = 3;
    hull->face_count = 2;
    hull->edge_count = 6;
    hull->inside = corners[0];
    hull->inner_radius = 0.0f;
    solid->hull = hull;
}

void solid_set(Solid *solid, const Shape *shape, Vec3 position, Quat orientation)
{
    solid->triangle = false;
    solid->frame = mat3_from_quat(orientation);
    solid->centre = position;
    solid->radius = shape->radius;
    solid->half_height = shape->half_height;
    solid->round = 0.0f;
    solid->pose.shape = shape;
    solid->pose.position = position;
    solid->pose.orientation = orientation;
    solid->hull = NULL;
    solid->extent = shape->radius;
    switch (shape->kind) {
    case SHAPE_BOX:
        solid->kind = SOLID_POLYTOPE;
        set_box(solid, shape->half);
        break;
    case SHAPE_HULL:
        solid->kind = SOLID_POLYTOPE;
        solid->hull = &shape->geometry->hull;
        solid->extent = solid->hull->inner_radius;
        break;
    case SHAPE_CAPSULE:
        solid->kind = SOLID_SEGMENT;
        solid->round = shape->radius;
        break;
    case SHAPE_CYLINDER:
        solid->kind = SOLID_CYLINDER;
        solid->extent = f32_min(shape->radius, shape->half_height);
        break;
    case SHAPE_CONE:
        solid->kind = SOLID_CONE;
        solid->extent = f32_min(shape->radius, shape->half_height);
        break;
    default:
        solid->kind = SOLID_POINT;
        solid->round = shape->radius;
        break;
    }
}

/* ---- support points and faces ---- */

static Vec3 to_working(const Solid *solid, Vec3 local)
{
    return vec3_add(solid->centre, mat3_mul(solid->frame, local));
}

static u32 hull_farthest(const Hull *hull, Vec3 d)
{
    u32 best = 0;
    f32 most = -INFINITY;
    for (u32 i = 0; i < hull->vertex_count; i++) {
        f32 along = vec3_dot(hull->vertices[i], d);
        if (along > most) {
            most = along;
            best = i;
        }
    }
    return best;
}

/* A rim point towards d in the plane perpendicular to the axis; a point of the axis for d along
 * it. */
static Vec3 rim_point(const Solid *solid, Vec3 d, f32 y)
{
    f32 across = sqrtf(d.x * d.x + d.z * d.z);
    f32 scale = across > 1e-12f ? solid->radius / across : 0.0f;
    return vec3(d.x * scale, y, d.z * scale);
}

Vec3 solid_support(const Solid *solid, Vec3 n)
{
    f32 h = solid->half_height;
    Vec3 d;
    switch (solid->kind) {
    case SOLID_POINT:
        return solid->centre;
    case SOLID_SEGMENT:
        return vec3_add_scaled(solid->centre, vec3_dot(solid->frame.y, n) >= 0.0f ? h : -h,
                               solid->frame.y);
    case SOLID_POLYTOPE:
        if (solid->triangle) {
            return solid->hull->vertices[hull_farthest(solid->hull, n)];
        }
        d = mat3_mul_transposed(solid->frame, n);
        return to_working(solid, solid->hull->vertices[hull_farthest(solid->hull, d)]);
    case SOLID_CYLINDER:
        d = mat3_mul_transposed(solid->frame, n);
        return to_working(solid, rim_point(solid, d, d.y >= 0.0f ? h : -h));
    default:
        d = mat3_mul_transposed(solid->frame, n);
        return d.y * 2.0f * h >= sqrtf(d.x * d.x + d.z * d.z) * solid->radius
                   ? vec3_add_scaled(solid->centre, h, solid->frame.y)
                   : to_working(solid, rim_point(solid, d, -h));
    }
}

Vec3 solid_middle(const Solid *solid, f32 *radius)
{
    *radius = 0.0f;
    switch (solid->kind) {
    case SOLID_POLYTOPE:
        *radius = solid->hull->inner_radius;
        return solid->triangle ? solid->hull->inside : to_working(solid, solid->hull->inside);
    case SOLID_CYLINDER:
        *radius = solid->extent;
        return solid->centre;
    default: /* for cones and capsules only the axis matters */
        return solid->centre;
    }
}

u32 solid_face_count(const Solid *solid)
{
    switch (solid->kind) {
    case SOLID_POLYTOPE:
        return solid->triangle ? 1 : solid->hull->face_count;
    case SOLID_CYLINDER:
        return 2; /* below, above */
    case SOLID_CONE:
        return 1;
    default:
        return 0;
    }
}

Vec3 solid_face(const Solid *solid, u32 face, Vec3 *on)
{
    if (solid->kind == SOLID_POLYTOPE) {
        const Hull *hull = solid->hull;
        const Vec3 *v = &hull->vertices[hull->edges[hull->face_edges[face]].origin];
        *on = solid->triangle ? *v : to_working(solid, *v);
        return solid->triangle ? hull->normals[face] : mat3_mul(solid->frame, hull->normals[face]);
    }
    Vec3 n = face == 0 ? vec3_neg(solid->frame.y) : solid->frame.y;
    *on = vec3_add_scaled(solid->centre, solid->half_height, n);
    return n;
}

f32 solid_outside(const Solid *solid, Vec3 p, u32 *face)
{
    Vec3 d = mat3_mul_transposed(solid->frame, vec3_sub(p, solid->centre));
    f32 h = solid->half_height, most = -INFINITY;
    *face = UINT32_MAX;
    if (solid->kind == SOLID_POLYTOPE) {
        const Hull *hull = solid->hull;
        for (u32 f = 0; f < hull->face_count; f++) {
            f32 outside = vec3_dot(hull->normals[f], d) - hull->offsets[f];
            if (outside > most) {
                most = outside;
                *face = f;
            }
        }
        return most;
    }
    f32 across = sqrtf(d.x * d.x + d.z * d.z);
    if (solid->kind == SOLID_CYLINDER) {
        f32 cap = fabsf(d.y) - h, side = across - solid->radius;
        *face = cap >= side ? (d.y >= 0.0f ? 1 : 0) : UINT32_MAX;
        return f32_max(cap, side);
    }
    if (solid->kind == SOLID_CONE) {
        f32 slant = sqrtf(solid->radius * solid->radius + 4.0f * h * h);
        f32 base = -h - d.y, side = (across * 2.0f * h + (d.y - h) * solid->radius) / slant;
        *face = base >= side ? 0 : UINT32_MAX;
        return f32_max(base, side);
    }
    return INFINITY;
}

/* ---- features ---- */

/* A disc that leans less than this (sine) on the contact has its corners fixed to the solid, so
 * that they are constant at rest; above twice that the first corner is the lowest point. */
#define DISC_LEAN 0.02f

static void disc(const Solid *solid, f32 side, Vec3 lean, u32 count, Polygon *polygon)
{
    static const f32 cosine[16] = {1.0f,  0.92387953f,  0.70710678f,  0.38268343f,
                                   0.0f,  -0.38268343f, -0.70710678f, -0.92387953f,
                                   -1.0f, -0.92387953f, -0.70710678f, -0.38268343f,
                                   0.0f,  0.38268343f,  0.70710678f,  0.92387953f};
    Vec3 n = vec3_scale(solid->frame.y, side);
    Vec3 centre = vec3_add_scaled(solid->centre, solid->half_height, n);
    Vec3 across = vec3_add_scaled(lean, -vec3_dot(lean, n), n);
    f32 sine = vec3_length(across);
    /* The nearest of the solid's own quadrants. */
    f32 x = vec3_dot(across, solid->frame.x), z = vec3_dot(across, solid->frame.z);
    bool along_x = fabsf(x) >= fabsf(z);
    Vec3 quarter = along_x ? solid->frame.x : solid->frame.z;
    bool negative = (along_x ? x : z) < 0.0f;
    quarter = negative ? vec3_neg(quarter) : quarter;
    f32 share = f32_clamp(sine / DISC_LEAN - 1.0f, 0.0f, 1.0f);
    Vec3 first = quarter;
    if (share > 0.0f) {
        first = vec3_scale(quarter, 1.0f - share);
        first = vec3_normalize_or(vec3_add_scaled(first, share / sine, across), quarter);
    }
    Vec3 second = vec3_cross(n, first);
    /* About n, quadrants are ordered x, z, −x, −z below and x, −z, −x, z above. */
    u32 rotation = (along_x ? 0u : 4u) + (negative ? 8u : 0u);
    if (!along_x && side > 0.0f) {
        rotation ^= 8u;
    }
    polygon->count = count;
    polygon->id = side > 0.0f ? 1 : 0;
    /* The clipping polygon is circumscribed to the disc, so that points on the rim are never
     * cut. */
    f32 radius = solid->radius * (count == DISC_CLIP_CORNERS ? 1.01959f : 1.0f);
    for (u32 k = 0; k < count; k++) {
        u32 i = k * (16 / count);
        Vec3 p = vec3_add_scaled(centre, cosine[i] * radius, first);
        polygon->corners[k] = vec3_add_scaled(p, cosine[(i + 12) % 16] * radius, second);
        /* While it leans the corners are labelled by their position, otherwise by the solid's
         * own. */
        polygon->labels[k] = (u8)(share > 0.5f ? 16 + i : (i + rotation) % 16);
    }
}

void solid_polygon(const Solid *solid, u32 face, Vec3 lean, Polygon *polygon)
{
    if (solid->kind != SOLID_POLYTOPE) {
        disc(solid, face == 0 ? -1.0f : 1.0f, lean, DISC_CLIP_CORNERS, polygon);
        return;
    }
    const Hull *hull = solid->hull;
    u32 first = hull->face_edges[face], edge = first;
    polygon->count = 0;
    polygon->id = face;
    do {
        u32 at = polygon->count++;
        Vec3 v = hull->vertices[hull->edges[edge].origin];
        polygon->corners[at] = solid->triangle ? v : to_working(solid, v);
        polygon->labels[at] = (u8)(hull->edges[edge].origin);
        edge = hull->edges[edge].next;
    } while (edge != first && polygon->count < POLYGON_MAX);
}

static void feature_segment(Vec3 a, Vec3 b, u32 id, Polygon *polygon)
{
    polygon->count = 2;
    polygon->id = id;
    polygon->corners[0] = a;
    polygon->corners[1] = b;
    polygon->labels[0] = 0;
    polygon->labels[1] = 1;
}

void solid_feature(const Solid *solid, Vec3 n, Polygon *polygon)
{
    f32 h = solid->half_height;
    switch (solid->kind) {
    case SOLID_POINT:
        polygon->count = 1;
        polygon->id = 0;
        polygon->corners[0] = solid->centre;
        polygon->labels[0] = 0;
        return;
    case SOLID_SEGMENT:
        feature_segment(vec3_add_scaled(solid->centre, -h, solid->frame.y),
                        vec3_add_scaled(solid->centre, h, solid->frame.y), 0, polygon);
        return;
    case SOLID_POLYTOPE: {
        Vec3 d = solid->triangle ? n : mat3_mul_transposed(solid->frame, n);
        u32 face = 0;
        f32 most = -INFINITY;
        for (u32 f = 0; f < solid->hull->face_count; f++) {
            f32 along = vec3_dot(solid->hull->normals[f], d);
            if (along > most) {
                most = along;
                face = f;
            }
        }
        solid_polygon(solid, face, n, polygon);
        return;
    }
    default:
        break;
    }
    /* The cap or the side, whichever faces n more. */
    Vec3 d = mat3_mul_transposed(solid->frame, n);
    f32 across = sqrtf(d.x * d.x + d.z * d.z);
    if (solid->kind == SOLID_CYLINDER) {
        if (fabsf(d.y) > across) {
            disc(solid, d.y > 0.0f ? 1.0f : -1.0f, n, DISC_CORNERS, polygon);
        } else {
            Vec3 low = rim_point(solid, d, -h);
            feature_segment(to_working(solid, low), to_working(solid, vec3(low.x, h, low.z)), 2,
                            polygon);
        }
        return;
    }
    f32 slant = sqrtf(solid->radius * solid->radius + 4.0f * h * h);
    if (-d.y > (across * 2.0f * h + d.y * solid->radius) / slant) {
        disc(solid, -1.0f, n, DISC_CORNERS, polygon);
    } else {
        feature_segment(to_working(solid, rim_point(solid, d, -h)),
                        vec3_add_scaled(solid->centre, h, solid->frame.y), 2, polygon);
    }
}
