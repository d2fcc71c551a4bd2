/* ray_triangle.c: intersection of a ray with a triangle. See local_ray.h. */
#include "shared/geometry/local_ray.h"

bool ray_triangle(const LocalRay *ray, const Vec3 corners[3], f64 *t)
{
    Vec3d d = ray->direction;
    Vec3d a = vec3d_sub(vec3d_from(corners[0]), ray->origin);
    Vec3d b = vec3d_sub(vec3d_from(corners[1]), ray->origin);
    Vec3d c = vec3d_sub(vec3d_from(corners[2]), ray->origin);
    f64 u = vec3d_dot(d, vec3d_cross(b, c));
    f64 v = vec3d_dot(d, vec3d_cross(c, a));
    f64 w = vec3d_dot(d, vec3d_cross(a, b));
    if (!((u >= 0.0 && v >= 0.0 && w >= 0.0) || (u <= 0.0 && v <= 0.0 && w <= 0.0))) {
        return false;
    }
    f64 sum = u + v + w;
    if (sum == 0.0) {
        return false;
    }
    *t =
        (u * vec3d_dot(a, d) + v * vec3d_dot(b, d) + w * vec3d_dot(c, d)) / (sum * vec3d_dot(d, d));
    return *t >= 0.0;
}

Vec3d ray_triangle_normal(const LocalRay *ray, const Vec3 corners[3])
{
    Vec3d a = vec3d_from(corners[0]);
    Vec3d n =
        vec3d_cross(vec3d_sub(vec3d_from(corners[1]), a), vec3d_sub(vec3d_from(corners[2]), a));
    n = vec3d_normalize_or(n, vec3d_neg(ray->direction));
    return vec3d_dot(n, ray->direction) > 0.0 ? vec3d_neg(n) : n;
}
