/*
 * local_ray.h: rays in the frame of a shape, in double precision, so that rays from far away, along
 * faces and along axes lose nothing. Used by the ray tests of shape.h.
 * Layer: shared.
 */
#ifndef PLENUM_SHARED_LOCAL_RAY_H
#define PLENUM_SHARED_LOCAL_RAY_H

#include "shared/geometry.h"

typedef struct Vec3d {
    f64 x, y, z;
} Vec3d;

typedef struct LocalRay {
    Vec3d origin, direction; /* m, unit to single precision */
} LocalRay;

static inline Vec3d vec3d(f64 x, f64 y, f64 z)
{
    Vec3d v = {x, y, z};
    return v;
}
static inline Vec3d vec3d_from(Vec3 v)
{
    return vec3d((f64)v.x, (f64)v.y, (f64)v.z);
}
static inline Vec3 vec3d_to_f32(Vec3d v)
{
    return vec3((f32)v.x, (f32)v.y, (f32)v.z);
}
static inline Vec3d vec3d_sub(Vec3d a, Vec3d b)
{
    return vec3d(a.x - b.x, a.y - b.y, a.z - b.z);
}
static inline Vec3d vec3d_neg(Vec3d a)
{
    return vec3d(-a.x, -a.y, -a.z);
}
/* a + s b */
static inline Vec3d vec3d_add_scaled(Vec3d a, f64 s, Vec3d b)
{
    return vec3d(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z);
}
static inline f64 vec3d_dot(Vec3d a, Vec3d b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static inline Vec3d vec3d_cross(Vec3d a, Vec3d b)
{
    return vec3d(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
/* The unit vector along a, or `fallback` where a is (nearly) zero. */
static inline Vec3d vec3d_normalize_or(Vec3d a, Vec3d fallback)
{
    f64 length = sqrt(vec3d_dot(a, a));
    f64 s = 1.0 / length;
    return length > 1e-100 ? vec3d(a.x * s, a.y * s, a.z * s) : fallback;
}

/* 1 / direction for box tests; huge instead of infinite, so that 0 × it is no NaN. */
static inline f64 ray_reciprocal(f64 d)
{
    return fabs(d) > 1e-200 ? 1.0 / d : copysign(1e200, d);
}
static inline Vec3d ray_inverse(const LocalRay *ray)
{
    return vec3d(ray_reciprocal(ray->direction.x), ray_reciprocal(ray->direction.y),
                 ray_reciprocal(ray->direction.z));
}
static inline void ray_slab(f64 min, f64 max, f64 origin, f64 inverse, f64 *enter, f64 *leave)
{
    f64 a = (min - origin) * inverse;
    f64 b = (max - origin) * inverse;
    f64 near = a < b ? a : b;
    f64 far = a < b ? b : a;
    *enter = near > *enter ? near : *enter;
    *leave = far < *leave ? far : *leave;
}
/* Does the ray meet the box (closed) within [0, max], and where does it enter? The leave is
 * lengthened by more than rounding may have taken: no hit in the box is ever lost. */
static inline bool ray_meets_box(const LocalRay *ray, Vec3d inverse, Vec3 min, Vec3 max,
                                 f64 distance_max, f64 *enter)
{
    f64 leave = distance_max;
    *enter = 0.0;
    ray_slab((f64)min.x, (f64)max.x, ray->origin.x, inverse.x, enter, &leave);
    ray_slab((f64)min.y, (f64)max.y, ray->origin.y, inverse.y, enter, &leave);
    ray_slab((f64)min.z, (f64)max.z, ray->origin.z, inverse.z, enter, &leave);
    return *enter <= leave + 1e-12 * (1.0 + fabs(leave));
}

PL_BEGIN_C
/*
 * Ray against both sides of a triangle; writes t ≥ 0. Triangles that share an edge leave no gap:
 * the volume that an edge spans with the ray comes out the same, but for its sign, from both (Woop,
 * Benthin, Wald 2013). A ray in the triangle's plane misses.
 */
bool ray_triangle(const LocalRay *ray, const Vec3 corners[3], f64 *t);
/* The unit normal of a triangle on the side that the ray comes from. */
Vec3d ray_triangle_normal(const LocalRay *ray, const Vec3 corners[3]);
/* Nearest hits within [0, max] with the surface, from either side. */
bool mesh_ray(const TriangleMesh *mesh, const LocalRay *ray, f64 max, f64 *t, Vec3d *normal);
bool terrain_ray(const Terrain *terrain, const LocalRay *ray, f64 max, f64 *t, Vec3d *normal);
PL_END_C

#endif
