/* distance_wide.c: distances of many points to a thing, eight at a time, bit for bit those of
 * distance.c: the same operations in the same order. */
#include "server/physics/contact/distance.h"

#include "shared/math/simd.h"

SIMD_INLINE Vec3x8 rotate(Quat q, Vec3x8 v)
{
    Vec3x8 u = vec3x8_set(vec3(q.x, q.y, q.z));
    Vec3x8 t = vec3x8_scale(vec3x8_cross(u, v), f32x8_set(2.0f));
    return vec3x8_add(vec3x8_add_scaled(v, f32x8_set(q.w), t), vec3x8_cross(u, t));
}

SIMD_INLINE Vec3x8 either(i32x8 mask, Vec3x8 a, Vec3x8 b)
{
    return (Vec3x8){f32x8_select(mask, a.x, b.x), f32x8_select(mask, a.y, b.y),
                    f32x8_select(mask, a.z, b.z)};
}

/* As vec3_normalize_or. */
SIMD_INLINE Vec3x8 unit_or(Vec3x8 v, f32x8 length, Vec3x8 fallback)
{
    return either(length > f32x8_set(1e-20f), vec3x8_scale(v, f32x8_set(1.0f) / length), fallback);
}

SIMD_INLINE f32x8 ball(f32 radius, Vec3x8 p, Vec3x8 *normal)
{
    f32x8 length = f32x8_sqrt(vec3x8_dot(p, p));
    *normal = unit_or(p, length, vec3x8_set(vec3(0.0f, 1.0f, 0.0f)));
    return length - f32x8_set(radius);
}

SIMD_INLINE f32x8 capsule(const Shape *shape, Vec3x8 p, Vec3x8 *normal)
{
    f32x8 end = f32x8_set(shape->half_height);
    p.y -= f32x8_min(f32x8_max(p.y, -end), end);
    return ball(shape->radius, p, normal);
}

SIMD_INLINE f32x8 box(Vec3 half, Vec3x8 p, Vec3x8 *normal)
{
    const f32x8 zero = f32x8_set(0.0f), one = f32x8_set(1.0f);
    Vec3x8 a = {f32x8_abs(p.x), f32x8_abs(p.y), f32x8_abs(p.z)};
    Vec3x8 q = vec3x8_sub(a, vec3x8_set(half));
    Vec3x8 sign = {f32x8_select(p.x < zero, -one, one), f32x8_select(p.y < zero, -one, one),
                   f32x8_select(p.z < zero, -one, one)};
    i32x8 inside = (q.x <= zero) & (q.y <= zero) & (q.z <= zero);
    i32x8 by_x = (q.x >= q.y) & (q.x >= q.z), by_y = (q.y >= q.z) & ~by_x, by_z = ~(by_x | by_y);
    f32x8 nearest = f32x8_select(by_x, q.x, f32x8_select(by_y, q.y, q.z));
    Vec3x8 face = {f32x8_and(by_x, sign.x), f32x8_and(by_y, sign.y), f32x8_and(by_z, sign.z)};
    Vec3x8 out = {f32x8_max(q.x, zero) * sign.x, f32x8_max(q.y, zero) * sign.y,
                  f32x8_max(q.z, zero) * sign.z};
    f32x8 length = f32x8_sqrt(vec3x8_dot(out, out));
    *normal = either(inside, face, unit_or(out, length, vec3x8_set(vec3(0.0f, 1.0f, 0.0f))));
    return f32x8_select(inside, nearest, length);
}

/* Eight distances; normals if an array for them is given. */
SIMD_INLINE f32x8 eight(const ShapePose *pose, const Vec3 *points, Vec3 *normals)
{
    const Shape *shape = pose->shape;
    Vec3x8 p = vec3x8_sub(vec3x8_load(points), vec3x8_set(pose->position));
    Vec3x8 n = vec3x8_set(vec3(0.0f, 1.0f, 0.0f));
    p = rotate(quat_conjugate(pose->orientation), p);
    f32x8 found = shape->kind == SHAPE_PLANE    ? p.y
                  : shape->kind == SHAPE_BOX    ? box(shape->half, p, &n)
                  : shape->kind == SHAPE_SPHERE ? ball(shape->radius, p, &n)
                                                : capsule(shape, p, &n);
    if (normals != NULL) {
        vec3x8_store(normals, rotate(pose->orientation, n));
    }
    return found;
}

void contact_distances(const ShapePose *pose, const ContactPoints *to)
{
    ShapeKind kind = pose->shape->kind;
    bool wide =
        kind == SHAPE_PLANE || kind == SHAPE_BOX || kind == SHAPE_SPHERE || kind == SHAPE_CAPSULE;
    u32 whole = wide ? to->count / SIMD_LANES * SIMD_LANES : 0;
    for (u32 i = 0; i < whole; i += SIMD_LANES) {
        f32x8 found = eight(pose, to->points + i, to->normals != NULL ? to->normals + i : NULL);
        memcpy(to->distances + i, &found, sizeof found);
    }
    u32 rest = to->count - whole;
    if (wide && rest > SIMD_LANES / 4) {
        Vec3 points[SIMD_LANES] = {{0.0f, 0.0f, 0.0f}}, normals[SIMD_LANES];
        memcpy(points, to->points + whole, rest * sizeof(Vec3));
        f32x8 found = eight(pose, points, to->normals != NULL ? normals : NULL);
        memcpy(to->distances + whole, &found, rest * sizeof(f32));
        if (to->normals != NULL) {
            memcpy(to->normals + whole, normals, rest * sizeof(Vec3));
        }
        return;
    }
    for (u32 i = whole; i < to->count; i++) {
        Vec3 unused = vec3_zero();
        Vec3 *normal = to->normals != NULL ? &to->normals[i] : &unused;
        to->distances[i] = contact_distance(pose, to->points[i], to->reach[i], normal);
    }
}
