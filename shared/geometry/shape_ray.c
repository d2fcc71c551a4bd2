/*
 * shape_ray.c: ray casts against all shapes. A convex solid is an intersection of simple ones (half
 * spaces, an infinite cylinder, a cone), each of which contains one interval of a line: the hit is
 * the intersection of these intervals.
 */
#include "shared/geometry/local_ray.h"

/* The interval of a line inside everything clipped so far. */
typedef struct RaySpan {
    f64 enter, leave;
    Vec3d normal;  /* of the surface at entry */
    bool touching; /* the line runs along a surface: a ray that starts there is not inside */
    bool empty;
} RaySpan;

static RaySpan span_whole(const LocalRay *ray)
{
    RaySpan span = {-INFINITY, INFINITY, vec3d_neg(ray->direction), false, false};
    return span;
}

static void span_limit(RaySpan *span, f64 enter, f64 leave)
{
    span->enter = enter > span->enter ? enter : span->enter;
    span->leave = leave < span->leave ? leave : span->leave;
}

static void span_reject(RaySpan *span, bool outside, bool touching)
{
    span->empty = span->empty || outside;
    span->touching = span->touching || touching;
}

/* Clips to normal · x ≤ offset. */
static void span_clip_plane(RaySpan *span, const LocalRay *ray, Vec3d normal, f64 offset)
{
    f64 inside = offset - vec3d_dot(normal, ray->origin); /* distance to the plane */
    f64 speed = vec3d_dot(normal, ray->direction);
    if (speed == 0.0) {
        span_reject(span, inside < 0.0, inside == 0.0);
        return;
    }
    f64 t = inside / speed;
    if (speed > 0.0) {
        span->leave = t < span->leave ? t : span->leave;
    } else if (t > span->enter) {
        span->enter = t;
        span->normal = normal;
    }
}

/* Clips to x² + z² ≤ radius², the infinite cylinder about y. */
static void span_clip_cylinder(RaySpan *span, const LocalRay *ray, f64 radius)
{
    Vec3d o = ray->origin, d = ray->direction;
    f64 a = d.x * d.x + d.z * d.z;
    if (!(a > 1e-60)) {
        f64 over = o.x * o.x + o.z * o.z - radius * radius;
        span_reject(span, over > 0.0, over == 0.0);
        return;
    }
    /* Relative to the point nearest to the axis, to keep precision. */
    f64 middle = -(o.x * d.x + o.z * d.z) / a;
    f64 x = o.x + middle * d.x, z = o.z + middle * d.z;
    f64 h = radius * radius - (x * x + z * z);
    if (!(h >= 0.0)) {
        span->empty = true;
        return;
    }
    f64 half = sqrt(h / a);
    if (middle - half > span->enter) {
        span->normal = vec3d(x - half * d.x, 0.0, z - half * d.z);
    }
    span_limit(span, middle - half, middle + half);
}

/* Clips to the infinite cone below its apex, x² + z² ≤ slope² (apex − y)², y ≤ apex. */
static void span_clip_cone(RaySpan *span, const LocalRay *ray, f64 apex, f64 slope)
{
    Vec3d d = ray->direction;
    Vec3d from = vec3d(ray->origin.x, ray->origin.y - apex, ray->origin.z);
    f64 middle = -vec3d_dot(from, d) / vec3d_dot(d, d);
    Vec3d q = vec3d_add_scaled(from, middle, d); /* the point nearest to the apex */
    f64 ss = slope * slope;
    f64 a = d.x * d.x + d.z * d.z - ss * d.y * d.y;
    f64 b = q.x * d.x + q.z * d.z - ss * q.y * d.y;
    f64 c = q.x * q.x + q.z * q.z - ss * q.y * q.y;
    f64 discriminant = b * b - a * c;
    if (a > 0.0 && !(discriminant >= 0.0)) {
        span->empty = true;
        return;
    }
    /* Roots of a t² + 2 b t + c without cancellation; with a = 0 one of them is infinite. */
    f64 s = -(b + copysign(sqrt(discriminant > 0.0 ? discriminant : 0.0), b));
    f64 first = a != 0.0 ? s / a : copysign(INFINITY, d.y);
    f64 second = s != 0.0 ? c / s : 0.0;
    f64 low = first < second ? first : second;
    f64 high = first < second ? second : first;
    if (!(a > 0.0)) { /* inside both nappes beyond the roots: use the lower nappe */
        if (d.y < 0.0) {
            low = a != 0.0 ? high : second;
            high = INFINITY;
        } else {
            high = a != 0.0 ? low : second;
            low = -INFINITY;
        }
    }
    low += middle;
    high += middle;
    if (low > span->enter) {
        Vec3d p = vec3d_add_scaled(from, low, d);
        span->normal = vec3d(p.x, -ss * p.y, p.z);
    }
    span_limit(span, low, high);
    span_clip_plane(span, ray, vec3d(0.0, 1.0, 0.0), apex);
}

/* The hit of a ray with the solid: its entry ahead, or distance 0 from inside. */
static bool span_hit(const RaySpan *span, const LocalRay *ray, f64 *t, Vec3d *normal)
{
    if (span->empty || !(span->enter <= span->leave)) {
        return false;
    }
    if (span->enter >= 0.0) {
        *t = span->enter;
        *normal = vec3d_normalize_or(span->normal, vec3d_neg(ray->direction));
        return true;
    }
    *t = 0.0;
    *normal = vec3d_neg(ray->direction);
    return span->leave > 0.0 && !span->touching;
}

/* ---- the solids ---- */

static bool ray_sphere(const LocalRay *ray, Vec3d centre, f64 radius, f64 *t, Vec3d *normal)
{
    Vec3d from = vec3d_sub(ray->origin, centre);
    f64 dd = vec3d_dot(ray->direction, ray->direction);
    f64 middle = -vec3d_dot(from, ray->direction) / dd;
    Vec3d nearest = vec3d_add_scaled(from, middle, ray->direction);
    f64 h = radius * radius - vec3d_dot(nearest, nearest);
    if (!(h >= 0.0)) {
        return false;
    }
    f64 half = sqrt(h / dd);
    RaySpan span = span_whole(ray);
    span_limit(&span, middle - half, middle + half);
    span.normal = vec3d_add_scaled(nearest, -half, ray->direction);
    return span_hit(&span, ray, t, normal);
}

static bool ray_box(const LocalRay *ray, Vec3 half, f64 *t, Vec3d *normal)
{
    RaySpan span = span_whole(ray);
    for (int side = -1; side <= 1; side += 2) {
        span_clip_plane(&span, ray, vec3d(side, 0.0, 0.0), (f64)half.x);
        span_clip_plane(&span, ray, vec3d(0.0, side, 0.0), (f64)half.y);
        span_clip_plane(&span, ray, vec3d(0.0, 0.0, side), (f64)half.z);
    }
    return span_hit(&span, ray, t, normal);
}

static void clip_to_height(RaySpan *span, const LocalRay *ray, f64 half_height)
{
    span_clip_plane(span, ray, vec3d(0.0, 1.0, 0.0), half_height);
    span_clip_plane(span, ray, vec3d(0.0, -1.0, 0.0), half_height);
}

static bool ray_cylinder(const LocalRay *ray, const Shape *shape, f64 *t, Vec3d *normal)
{
    RaySpan span = span_whole(ray);
    clip_to_height(&span, ray, (f64)shape->half_height);
    span_clip_cylinder(&span, ray, (f64)shape->radius);
    return span_hit(&span, ray, t, normal);
}

static bool ray_cone(const LocalRay *ray, const Shape *shape, f64 *t, Vec3d *normal)
{
    f64 h = (f64)shape->half_height;
    if (!(h > 0.0)) {
        return false;
    }
    RaySpan span = span_whole(ray);
    span_clip_plane(&span, ray, vec3d(0.0, -1.0, 0.0), h);
    span_clip_cone(&span, ray, h, (f64)shape->radius / (2.0 * h));
    return span_hit(&span, ray, t, normal);
}

/* The nearest hit of a capsule's cylinder and two balls. */
static bool ray_capsule(const LocalRay *ray, const Shape *shape, f64 *t, Vec3d *normal)
{
    bool hit = ray_cylinder(ray, shape, t, normal);
    for (int side = -1; side <= 1; side += 2) {
        f64 cap_t;
        Vec3d cap_normal;
        Vec3d centre = vec3d(0.0, side * (f64)shape->half_height, 0.0);
        if (ray_sphere(ray, centre, (f64)shape->radius, &cap_t, &cap_normal) &&
            (!hit || cap_t < *t)) {
            *t = cap_t;
            *normal = cap_normal;
            hit = true;
        }
    }
    return hit;
}

/* A plane is solid below y = 0, so a ray from below starts inside. */
static bool ray_plane(const LocalRay *ray, f64 *t, Vec3d *normal)
{
    RaySpan span = span_whole(ray);
    span_clip_plane(&span, ray, vec3d(0.0, 1.0, 0.0), 0.0);
    return span_hit(&span, ray, t, normal);
}

static bool ray_hull(const LocalRay *ray, const Hull *hull, f64 *t, Vec3d *normal)
{
    RaySpan span = span_whole(ray);
    for (u32 i = 0; i < hull->face_count; i++) {
        span_clip_plane(&span, ray, vec3d_from(hull->normals[i]), (f64)hull->offsets[i]);
    }
    return span_hit(&span, ray, t, normal);
}

/* ---- all shapes ---- */

static Vec3d rotation(Quat q, Vec3d v)
{
    Vec3d u = vec3d((f64)q.x, (f64)q.y, (f64)q.z);
    Vec3d c = vec3d_cross(u, v);
    Vec3d r = vec3d_add_scaled(v, 2.0 * (f64)q.w, c);
    return vec3d_add_scaled(r, 2.0, vec3d_cross(u, c));
}

static LocalRay into_frame(const LocalRay *ray, Vec3 position, Quat orientation)
{
    Quat inverse = quat_conjugate(orientation);
    LocalRay local = {rotation(inverse, vec3d_sub(ray->origin, vec3d_from(position))),
                      rotation(inverse, ray->direction)};
    return local;
}

static bool ray_shape(const LocalRay *ray, const Shape *shape, f64 max, f64 *t, Vec3d *normal);

static bool ray_compound(const LocalRay *ray, const Compound *compound, f64 max, f64 *t,
                         Vec3d *normal)
{
    bool hit = false;
    for (u32 i = 0; i < compound->child_count; i++) {
        const CompoundChild *child = &compound->children[i];
        LocalRay local = into_frame(ray, child->position, child->orientation);
        f64 child_t;
        Vec3d child_normal;
        if (ray_shape(&local, &child->shape, max, &child_t, &child_normal) &&
            (!hit || child_t < *t)) {
            *t = child_t;
            *normal = rotation(child->orientation, child_normal);
            hit = true;
        }
    }
    return hit;
}

static bool ray_shape(const LocalRay *ray, const Shape *shape, f64 max, f64 *t, Vec3d *normal)
{
    switch (shape->kind) {
    case SHAPE_SPHERE:
        return ray_sphere(ray, vec3d(0.0, 0.0, 0.0), (f64)shape->radius, t, normal);
    case SHAPE_BOX:
        return ray_box(ray, shape->half, t, normal);
    case SHAPE_CAPSULE:
        return ray_capsule(ray, shape, t, normal);
    case SHAPE_PLANE:
        return ray_plane(ray, t, normal);
    case SHAPE_CYLINDER:
        return ray_cylinder(ray, shape, t, normal);
    case SHAPE_CONE:
        return ray_cone(ray, shape, t, normal);
    case SHAPE_HULL:
        return ray_hull(ray, &shape->geometry->hull, t, normal);
    case SHAPE_MESH:
        return mesh_ray(&shape->geometry->mesh, ray, max, t, normal);
    case SHAPE_TERRAIN:
        return terrain_ray(&shape->geometry->terrain, ray, max, t, normal);
    case SHAPE_COMPOUND:
        return ray_compound(ray, &shape->geometry->compound, max, t, normal);
    default:
        return false;
    }
}

bool shape_ray(const Shape *shape, Vec3 position, Quat orientation, Ray ray, f32 max, f32 *distance,
               Vec3 *normal)
{
    LocalRay world = {vec3d_from(ray.origin), vec3d_from(ray.direction)};
    LocalRay local = into_frame(&world, position, orientation);
    f64 dd = vec3d_dot(local.direction, local.direction);
    f64 t = 0.0;
    Vec3d n = vec3d_neg(local.direction);
    if (!(dd > 0.0 && isfinite(dd) && isfinite(vec3d_dot(local.origin, local.origin)))) {
        return false;
    }
    if (!ray_shape(&local, shape, (f64)max, &t, &n) || !(t <= (f64)max)) {
        return false;
    }
    if (distance != NULL) {
        *distance = (f32)t;
    }
    if (normal != NULL) {
        *normal = vec3d_to_f32(rotation(orientation, n));
    }
    return true;
}
