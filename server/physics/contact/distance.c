/* distance.c: signed distance of points to shapes, and the outward normal. */
#include "server/physics/contact/distance.h"

#include "server/physics/rigid/narrow/gjk.h"
#include "shared/geometry/geometry.h"
#include "shared/geometry/triangle.h"

static f32 box_distance(Vec3 half, Vec3 p, Vec3 *normal)
{
    Vec3 a = vec3_abs(p);
    Vec3 q = vec3_sub(a, half);
    Vec3 sign =
        vec3(p.x < 0.0f ? -1.0f : 1.0f, p.y < 0.0f ? -1.0f : 1.0f, p.z < 0.0f ? -1.0f : 1.0f);
    if (q.x <= 0.0f && q.y <= 0.0f && q.z <= 0.0f) { /* inside: the nearest face */
        if (q.x >= q.y && q.x >= q.z) {
            *normal = vec3(sign.x, 0.0f, 0.0f);
            return q.x;
        }
        if (q.y >= q.z) {
            *normal = vec3(0.0f, sign.y, 0.0f);
            return q.y;
        }
        *normal = vec3(0.0f, 0.0f, sign.z);
        return q.z;
    }
    Vec3 out = vec3_mul(vec3_max(q, vec3_zero()), sign);
    f32 length = vec3_length(out);
    *normal = vec3_normalize_or(out, vec3(0.0f, 1.0f, 0.0f));
    return length;
}

static f32 ball_distance(Vec3 p, f32 radius, Vec3 *normal)
{
    *normal = vec3_normalize_or(p, vec3(0.0f, 1.0f, 0.0f));
    return vec3_length(p) - radius;
}

/* Solids of revolution are 2-D profiles in (distance from the axis, y). */
typedef struct Profile {
    f32 across, y;
    Vec3 outwards; /* unit, away from the axis */
} Profile;

static Profile profile_of(Vec3 p)
{
    f32 across = sqrtf(p.x * p.x + p.z * p.z);
    Vec3 outwards =
        across > 1e-12f ? vec3(p.x / across, 0.0f, p.z / across) : vec3(1.0f, 0.0f, 0.0f);
    return (Profile){across, p.y, outwards};
}

static f32 cylinder_distance(const Shape *shape, Vec3 p, Vec3 *normal)
{
    Profile at = profile_of(p);
    f32 side = at.across - shape->radius, end = fabsf(at.y) - shape->half_height;
    Vec3 along = vec3(0.0f, at.y < 0.0f ? -1.0f : 1.0f, 0.0f);
    if (side <= 0.0f && end <= 0.0f) {
        *normal = side >= end ? at.outwards : along;
        return f32_max(side, end);
    }
    side = f32_max(side, 0.0f);
    end = f32_max(end, 0.0f);
    f32 distance = sqrtf(side * side + end * end);
    *normal = vec3_normalize_or(vec3_add_scaled(vec3_scale(at.outwards, side), end, along), along);
    return distance;
}

/* The slanted side and the base are segments of the profile; the nearer one is used. */
static f32 cone_distance(const Shape *shape, Vec3 p, Vec3 *normal)
{
    Profile at = profile_of(p);
    f32 r = shape->radius, h = shape->half_height, slant = sqrtf(r * r + 4.0f * h * h);
    /* Outward normal of the side, and the position along it from the rim. */
    f32 nx = 2.0f * h / slant, ny = r / slant;
    f32 over = (at.across - r) * nx + (at.y + h) * ny, below = -h - at.y;
    Vec3 out = vec3_add_scaled(vec3_scale(at.outwards, nx), ny, vec3(0.0f, 1.0f, 0.0f));
    if (over <= 0.0f && below <= 0.0f) {
        *normal = over >= below ? out : vec3(0.0f, -1.0f, 0.0f);
        return f32_max(over, below);
    }
    f32 along = f32_clamp((r - at.across) * ny + (at.y + h) * nx, 0.0f, slant);
    f32 sx = at.across - (r - along * ny), sy = at.y - (along * nx - h);
    f32 bx = f32_max(at.across - r, 0.0f), by = at.y + h;
    bool side = sx * sx + sy * sy <= bx * bx + by * by;
    f32 dx = side ? sx : bx, dy = side ? sy : by;
    *normal =
        vec3_normalize_or(vec3_add_scaled(vec3_scale(at.outwards, dx), dy, vec3(0.0f, 1.0f, 0.0f)),
                          side ? out : vec3(0.0f, -1.0f, 0.0f));
    return sqrtf(dx * dx + dy * dy);
}

/* Inside, the nearest face decides; outside, a face whose interior is below the point, otherwise
 * the general distance of convex shapes. */
static f32 hull_distance(const Shape *shape, Vec3 p, f32 reach, Vec3 *normal)
{
    const Hull *hull = &shape->geometry->hull;
    u32 best = 0;
    f32 most = -INFINITY;
    for (u32 i = 0; i < hull->face_count; i++) {
        f32 d = vec3_dot(hull->normals[i], p) - hull->offsets[i];
        best = d > most ? i : best;
        most = f32_max(most, d);
    }
    *normal = hull->normals[best];
    if (most <= 0.0f || most > reach) {
        return most; /* a lower bound of the outside distance: out of reach anyway */
    }
    Shape dot = {.kind = SHAPE_SPHERE};
    ShapePose at = {&dot, p, quat_identity()}, pose = {shape, vec3_zero(), quat_identity()};
    GjkResult result;
    if (!gjk_separation(&at, &pose, INFINITY, &result)) {
        return most;
    }
    if (result.separation > 0.0f) {
        *normal = vec3_neg(result.normal);
    }
    return f32_max(result.separation, most);
}

/* ---- surfaces: meshes, and terrains from above ---- */

typedef struct SurfaceSearch {
    const Geometry *geometry;
    Vec3 point, from;
    f32 distance2;
    Vec3 nearest, face; /* of the nearest triangle: nearest point, normal */
    f32 crossing;       /* fraction of the path from `from` to `point` at which it crosses the
                           surface, 2: it does not */
    Vec3 through, at;   /* normal and a corner of the crossed triangle */
} SurfaceSearch;

f32 contact_crossing(const Vec3 c[3], Vec3 from, Vec3 to)
{
    const f32 slack = 1e-4f;
    Vec3 d = vec3_sub(to, from), e1 = vec3_sub(c[1], c[0]), e2 = vec3_sub(c[2], c[0]);
    Vec3 p = vec3_cross(d, e2), s = vec3_sub(from, c[0]), q = vec3_cross(s, e1);
    f32 determinant = vec3_dot(e1, p);
    if (determinant == 0.0f) {
        return 2.0f;
    }
    f32 u = vec3_dot(s, p) / determinant, v = vec3_dot(d, q) / determinant;
    f32 t = vec3_dot(e2, q) / determinant;
    bool through = u >= -slack && v >= -slack && u + v <= 1.0f + slack && t >= 0.0f && t <= 1.0f;
    return through ? t : 2.0f;
}

static bool surface_visit(void *context, u32 triangle)
{
    SurfaceSearch *search = context;
    Vec3 c[3];
    if (search->geometry->kind == GEOMETRY_MESH) {
        mesh_triangle(&search->geometry->mesh, triangle, c);
    } else {
        terrain_triangle(&search->geometry->terrain, triangle, c);
    }
    Vec3 normal = vec3_cross(vec3_sub(c[1], c[0]), vec3_sub(c[2], c[0]));
    Vec3 nearest = triangle_nearest(search->point, c);
    f32 distance2 = vec3_length_squared(vec3_sub(search->point, nearest));
    f32 crossing = contact_crossing(c, search->from, search->point);
    if (distance2 < search->distance2) {
        search->distance2 = distance2;
        search->nearest = nearest;
        search->face = normal;
    }
    if (crossing < search->crossing) {
        search->crossing = crossing;
        search->through = normal;
        search->at = c[0];
    }
    return true;
}

/* Meshes are two-sided: the point stays on the side of `from`. A terrain is solid below.
 * Distances beyond `reach` count as infinite. */
static f32 surface_distance(const Geometry *geometry, Vec3 point, Vec3 from, f32 reach,
                            Vec3 *normal)
{
    f32 height;
    if (geometry->kind == GEOMETRY_TERRAIN &&
        terrain_height(&geometry->terrain, point.x, point.z, &height, normal) &&
        point.y <= height) {
        return (point.y - height) * normal->y;
    }
    SurfaceSearch search = {.geometry = geometry,
                            .point = point,
                            .from = from,
                            .distance2 = INFINITY,
                            .crossing = 2.0f};
    Vec3 grow = vec3(reach, reach, reach);
    Bounds box = {vec3_sub(vec3_min(point, from), grow), vec3_add(vec3_max(point, from), grow)};
    if (geometry->kind == GEOMETRY_MESH) {
        mesh_query(&geometry->mesh, box, surface_visit, &search);
    } else {
        terrain_query(&geometry->terrain, box, surface_visit, &search);
    }
    if (search.crossing <= 1.0f) {
        Vec3 n = vec3_normalize_or(search.through, vec3(0.0f, 1.0f, 0.0f));
        *normal = vec3_dot(n, vec3_sub(from, search.at)) < 0.0f ? vec3_neg(n) : n;
        return vec3_dot(*normal, vec3_sub(point, search.at));
    }
    Vec3 face = vec3_normalize_or(search.face, vec3(0.0f, 1.0f, 0.0f));
    *normal = vec3_normalize_or(vec3_sub(point, search.nearest), face);
    return search.distance2 <= reach * reach ? sqrtf(search.distance2) : INFINITY;
}

/* In the shape's own frame. */
static f32 local_distance(const Shape *shape, Vec3 p, Vec3 from, f32 reach, Vec3 *n)
{
    switch (shape->kind) {
    case SHAPE_SPHERE:
        return ball_distance(p, shape->radius, n);
    case SHAPE_BOX:
        return box_distance(shape->half, p, n);
    case SHAPE_CAPSULE:
        p.y -= f32_clamp(p.y, -shape->half_height, shape->half_height);
        return ball_distance(p, shape->radius, n);
    case SHAPE_PLANE:
        return p.y;
    case SHAPE_CYLINDER:
        return cylinder_distance(shape, p, n);
    case SHAPE_CONE:
        return cone_distance(shape, p, n);
    case SHAPE_HULL:
        return hull_distance(shape, p, reach, n);
    case SHAPE_MESH:
    case SHAPE_TERRAIN:
        return surface_distance(shape->geometry, p, from, reach, n);
    default:
        return INFINITY;
    }
}

static f32 compound_distance(const Compound *compound, Vec3 p, f32 reach, Vec3 *normal)
{
    f32 least = INFINITY;
    for (u32 i = 0; i < compound->child_count; i++) {
        const CompoundChild *child = &compound->children[i];
        Vec3 n = vec3(0.0f, 1.0f, 0.0f);
        Vec3 at = quat_rotate_inverse(child->orientation, vec3_sub(p, child->position));
        f32 distance = local_distance(&child->shape, at, at, reach, &n);
        if (distance < least) {
            least = distance;
            *normal = quat_rotate(child->orientation, n);
        }
    }
    return least;
}

/* p, from: in the frame of the shape; see distance_from. */
static inline f32 posed_distance(const ShapePose *pose, Vec3 p, Vec3 from, f32 reach, Vec3 *normal)
{
    Vec3 n = vec3(0.0f, 1.0f, 0.0f);
    f32 distance = pose->shape->kind == SHAPE_COMPOUND
                       ? compound_distance(&pose->shape->geometry->compound, p, reach, &n)
                       : local_distance(pose->shape, p, from, reach, &n);
    *normal = quat_rotate(pose->orientation, n);
    return distance;
}

static inline Vec3 to_local(const ShapePose *pose, Vec3 point)
{
    return quat_rotate_inverse(pose->orientation, vec3_sub(point, pose->position));
}

/* `from`: the point's previous position, which determines the side of a surface. */
static f32 distance_from(const ShapePose *pose, Vec3 point, Vec3 from, f32 reach, Vec3 *normal)
{
    ShapeKind kind = pose->shape->kind;
    Vec3 p = to_local(pose, point);
    bool surface = kind == SHAPE_MESH || kind == SHAPE_TERRAIN; /* others have no sides */
    return posed_distance(pose, p, surface ? to_local(pose, from) : p, reach, normal);
}

f32 contact_distance(const ShapePose *pose, Vec3 point, f32 reach, Vec3 *normal)
{
    Vec3 p = to_local(pose, point);
    return posed_distance(pose, p, p, reach, normal);
}

/* The nearest exit from a convex body may be on its far side: a fast particle leaves where it
 * entered, through the plane of the point nearest to `from`. */
static f32 distance_by_entry(const ShapePose *pose, Vec3 point, Vec3 from, f32 distance,
                             Vec3 *normal)
{
    ShapeKind kind = pose->shape->kind;
    Vec3 n, way = vec3_sub(point, from);
    if (kind == SHAPE_MESH || kind == SHAPE_TERRAIN || kind == SHAPE_PLANE ||
        vec3_length_squared(way) < distance * distance) {
        return distance;
    }
    f32 before = distance_from(pose, from, from, vec3_length(way), &n);
    f32 now = before + vec3_dot(way, n);
    if (!(now < 0.0f) || vec3_dot(n, *normal) > 0.5f) {
        return distance;
    }
    *normal = n;
    return now;
}

/* A particle beyond the far side has passed through the plane of its entry. */
static f32 distance_by_passage(const ShapePose *pose, Vec3 point, Vec3 from, f32 distance,
                               Vec3 *normal)
{
    Vec3 n, way = vec3_sub(point, from);
    f32 length = vec3_length(way), entry;
    if (!(length > 0.0f)) {
        return distance;
    }
    Ray ray = {from, vec3_scale(way, 1.0f / length)};
    if (!shape_ray(pose->shape, pose->position, pose->orientation, ray, length, &entry, &n) ||
        !(entry > 0.0f)) {
        return distance;
    }
    *normal = n;
    return (length - entry) * vec3_dot(ray.direction, n);
}

f32 contact_distance_on_way(const ShapePose *pose, Vec3 point, Vec3 from, f32 reach, bool swept,
                            Vec3 *normal)
{
    f32 distance = distance_from(pose, point, from, reach, normal);
    if (distance < 0.0f) {
        return distance_by_entry(pose, point, from, distance, normal);
    }
    return swept ? distance_by_passage(pose, point, from, distance, normal) : distance;
}

/* ---- triangles ---- */

bool contact_separation(const ShapePose *pose, const Vec3 corners[3], f32 reach, Vec3 *apart,
                        ContactSeparation *separation)
{
    GjkResult result;
    bool near = apart != NULL ? gjk_separation_triangle_again(pose, corners, reach, apart, &result)
                              : gjk_separation_triangle(pose, corners, reach, &result);
    if (!near || !(result.separation < reach)) {
        return false;
    }
    *separation = (ContactSeparation){result.separation, result.normal, result.on_a, result.on_b};
    return true;
}

Vec3 contact_support(const ShapePose *pose, Vec3 direction)
{
    return gjk_support(pose, direction);
}
