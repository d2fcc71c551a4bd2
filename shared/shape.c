/* shape.c: bounds, mass properties and ray tests of the convex primitives. */
#include "shared/shape.h"

#include "shared/limits.h"

#define PI 3.14159265358979323846f

const char *shape_kind_name(ShapeKind kind)
{
    static const char *const names[] = {"none", "sphere", "box",  "capsule", "plane",   "cylinder",
                                        "cone", "hull",   "mesh", "terrain", "compound"};
    return (u32)kind < PL_COUNT(names) ? names[kind] : "none";
}

f32 shape_volume(const Shape *shape)
{
    f32 r = shape->radius;
    switch (shape->kind) {
    case SHAPE_SPHERE:
        return 4.0f / 3.0f * PI * r * r * r;
    case SHAPE_BOX:
        return 8.0f * shape->half.x * shape->half.y * shape->half.z;
    case SHAPE_CAPSULE:
        return PI * r * r * (2.0f * shape->half_height + 4.0f / 3.0f * r);
    default:
        return 0.0f;
    }
}

/* A cylinder and two half balls that share the mass by volume; each half ball has 2/5 m r² about
 * its ball's centre and its own centre of mass lies 3/8 r outwards (Steiner's theorem). */
static Vec3 capsule_inertia(const Shape *shape, f32 mass_kg)
{
    f32 r = shape->radius;
    f32 height = 2.0f * shape->half_height;
    f32 length = height + 4.0f / 3.0f * r;
    if (!(length > 0.0f)) {
        return vec3_zero();
    }
    f32 cylinder_kg = mass_kg * height / length;
    f32 caps_kg = mass_kg - cylinder_kg;
    f32 along = (0.5f * cylinder_kg + 0.4f * caps_kg) * r * r;
    f32 across = cylinder_kg * (0.25f * r * r + height * height / 12.0f) +
                 caps_kg * (0.4f * r * r + 0.25f * height * height + 0.375f * height * r);
    return vec3(across, along, across);
}

Vec3 shape_inertia(const Shape *shape, f32 mass_kg)
{
    switch (shape->kind) {
    case SHAPE_SPHERE: {
        f32 i = 0.4f * mass_kg * shape->radius * shape->radius;
        return vec3(i, i, i);
    }
    case SHAPE_BOX: {
        Vec3 s = vec3_mul(shape->half, shape->half);
        return vec3_scale(vec3(s.y + s.z, s.x + s.z, s.x + s.y), mass_kg / 3.0f);
    }
    case SHAPE_CAPSULE:
        return capsule_inertia(shape, mass_kg);
    default:
        return vec3_zero();
    }
}

/* Half size of the box around a turned box. */
static Vec3 turned_extent(Vec3 half, Quat orientation)
{
    Mat3 m = mat3_from_quat(orientation);
    Vec3 e = vec3_scale(vec3_abs(m.x), half.x);
    e = vec3_add_scaled(e, half.y, vec3_abs(m.y));
    return vec3_add_scaled(e, half.z, vec3_abs(m.z));
}

Bounds shape_bounds(const Shape *shape, Vec3 position, Quat orientation)
{
    Vec3 extent = vec3_zero();
    f32 r = shape->radius;
    switch (shape->kind) {
    case SHAPE_SPHERE:
        extent = vec3(r, r, r);
        break;
    case SHAPE_BOX:
        extent = turned_extent(shape->half, orientation);
        break;
    case SHAPE_CAPSULE:
        extent = vec3_add(turned_extent(vec3(0.0f, shape->half_height, 0.0f), orientation),
                          vec3(r, r, r));
        break;
    case SHAPE_PLANE:
        position = vec3_zero();
        extent = vec3(WORLD_EXTENT_MAX_M, WORLD_EXTENT_MAX_M, WORLD_EXTENT_MAX_M);
        break;
    default:
        break;
    }
    Bounds bounds = {vec3_sub(position, extent), vec3_add(position, extent)};
    return bounds;
}

/* ---- rays, in the shape's own frame; each writes t and the outward normal ---- */

static bool ray_sphere(Vec3 origin, Vec3 direction, f32 radius, f32 *t, Vec3 *normal)
{
    f32 b = vec3_dot(origin, direction);
    /* The point of the line nearest to the centre: far-away origins lose no digits in b² − c. */
    Vec3 nearest = vec3_add_scaled(origin, -b, direction);
    f32 h = radius * radius - vec3_length_squared(nearest);
    if (!(h >= 0.0f)) {
        return false;
    }
    *t = -b - sqrtf(h);
    *normal = vec3_normalize_or(vec3_add_scaled(origin, *t, direction), vec3_neg(direction));
    return *t >= 0.0f;
}

static bool ray_box(Vec3 origin, Vec3 direction, Vec3 half, f32 *t, Vec3 *normal)
{
    f32 o[3] = {origin.x, origin.y, origin.z};
    f32 d[3] = {direction.x, direction.y, direction.z};
    f32 e[3] = {half.x, half.y, half.z};
    f32 enter = -1.0f;
    f32 leave = INFINITY;
    int axis = -1;
    for (int i = 0; i < 3; i++) {
        if (d[i] == 0.0f) {
            if (fabsf(o[i]) > e[i]) {
                return false;
            }
            continue;
        }
        f32 near = (-copysignf(e[i], d[i]) - o[i]) / d[i];
        f32 far = (copysignf(e[i], d[i]) - o[i]) / d[i];
        if (near > enter) {
            enter = near;
            axis = i;
        }
        leave = f32_min(leave, far);
    }
    if (axis < 0 || enter < 0.0f || enter > leave) {
        return false;
    }
    f32 n[3] = {0.0f, 0.0f, 0.0f};
    n[axis] = d[axis] > 0.0f ? -1.0f : 1.0f;
    *t = enter;
    *normal = vec3(n[0], n[1], n[2]);
    return true;
}

/* The side of a capsule: an infinite cylinder about y, cut at ±half_height. */
static bool ray_cylinder_side(Vec3 origin, Vec3 direction, f32 radius, f32 half_height, f32 *t,
                              Vec3 *normal)
{
    f32 a = direction.x * direction.x + direction.z * direction.z;
    if (!(a > 1e-12f)) {
        return false;
    }
    f32 b = (origin.x * direction.x + origin.z * direction.z) / a;
    f32 x = origin.x - b * direction.x;
    f32 z = origin.z - b * direction.z;
    f32 h = radius * radius - (x * x + z * z);
    if (!(h >= 0.0f)) {
        return false;
    }
    *t = -b - sqrtf(h / a);
    Vec3 p = vec3_add_scaled(origin, *t, direction);
    if (!(*t >= 0.0f) || fabsf(p.y) > half_height) {
        return false;
    }
    *normal = vec3_normalize_or(vec3(p.x, 0.0f, p.z), vec3_neg(direction));
    return true;
}

static bool ray_capsule(Vec3 origin, Vec3 direction, const Shape *shape, f32 *t, Vec3 *normal)
{
    bool hit = ray_cylinder_side(origin, direction, shape->radius, shape->half_height, t, normal);
    for (int side = -1; side <= 1; side += 2) {
        f32 cap_t;
        Vec3 cap_normal;
        Vec3 from = vec3_sub(origin, vec3(0.0f, (f32)side * shape->half_height, 0.0f));
        if (ray_sphere(from, direction, shape->radius, &cap_t, &cap_normal) &&
            (!hit || cap_t < *t)) {
            *t = cap_t;
            *normal = cap_normal;
            hit = true;
        }
    }
    return hit;
}

/* A plane is solid below y = 0, so a ray from below starts inside. */
static bool ray_plane(Vec3 origin, Vec3 direction, f32 *t, Vec3 *normal)
{
    if (!(direction.y < 0.0f)) {
        return false;
    }
    *t = origin.y / -direction.y;
    *normal = vec3(0.0f, 1.0f, 0.0f);
    return *t >= 0.0f;
}

static bool contains(const Shape *shape, Vec3 p)
{
    f32 r = shape->radius;
    switch (shape->kind) {
    case SHAPE_SPHERE:
        return vec3_length_squared(p) < r * r;
    case SHAPE_BOX:
        return fabsf(p.x) < shape->half.x && fabsf(p.y) < shape->half.y &&
               fabsf(p.z) < shape->half.z;
    case SHAPE_CAPSULE:
        p.y -= f32_clamp(p.y, -shape->half_height, shape->half_height);
        return vec3_length_squared(p) < r * r;
    case SHAPE_PLANE:
        return p.y < 0.0f;
    default:
        return false;
    }
}

bool shape_ray(const Shape *shape, Vec3 position, Quat orientation, Ray ray, f32 max, f32 *distance,
               Vec3 *normal)
{
    Vec3 origin = quat_rotate_inverse(orientation, vec3_sub(ray.origin, position));
    Vec3 direction = quat_rotate_inverse(orientation, ray.direction);
    f32 t = 0.0f;
    Vec3 n = vec3_neg(direction);
    bool hit = contains(shape, origin);
    if (!hit) {
        switch (shape->kind) {
        case SHAPE_SPHERE:
            hit = ray_sphere(origin, direction, shape->radius, &t, &n);
            break;
        case SHAPE_BOX:
            hit = ray_box(origin, direction, shape->half, &t, &n);
            break;
        case SHAPE_CAPSULE:
            hit = ray_capsule(origin, direction, shape, &t, &n);
            break;
        case SHAPE_PLANE:
            hit = ray_plane(origin, direction, &t, &n);
            break;
        default:
            break;
        }
    }
    if (!hit || !(t <= max)) {
        return false;
    }
    if (distance != NULL) {
        *distance = t;
    }
    if (normal != NULL) {
        *normal = quat_rotate(orientation, n);
    }
    return true;
}

f32 shape_reach(const Shape *shape)
{
    switch (shape->kind) {
    case SHAPE_BOX:
        return vec3_length(shape->half);
    case SHAPE_CYLINDER:
    case SHAPE_CONE:
        return sqrtf(shape->radius * shape->radius + shape->half_height * shape->half_height);
    case SHAPE_SPHERE:
    case SHAPE_CAPSULE:
        return shape->radius + shape->half_height;
    default:
        return 0.0f;
    }
}
