/*
 * vec3d.h: vectors of doubles, for geometry that needs reliable signs: distant rays, GJK, crossings
 * of triangles.
 * Layer: shared/math.
 */
#ifndef PLENUM_SHARED_MATH_VEC3D_H
#define PLENUM_SHARED_MATH_VEC3D_H

#include "shared/math/vec.h"

typedef struct Vec3d {
    f64 x, y, z;
} Vec3d;

/* A vector of components. */
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
static inline Vec3d vec3d_add(Vec3d a, Vec3d b)
{
    return vec3d(a.x + b.x, a.y + b.y, a.z + b.z);
}
static inline Vec3d vec3d_sub(Vec3d a, Vec3d b)
{
    return vec3d(a.x - b.x, a.y - b.y, a.z - b.z);
}
static inline Vec3d vec3d_neg(Vec3d a)
{
    return vec3d(-a.x, -a.y, -a.z);
}
static inline Vec3d vec3d_scale(Vec3d a, f64 s)
{
    return vec3d(a.x * s, a.y * s, a.z * s);
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
/* a · (b × c): six times the signed volume of the tetrahedron with the corners 0, a, b, c. */
static inline f64 vec3d_triple(Vec3d a, Vec3d b, Vec3d c)
{
    return vec3d_dot(a, vec3d_cross(b, c));
}
/* to − from, of vectors of floats. */
static inline Vec3d vec3d_between(Vec3 from, Vec3 to)
{
    return vec3d_sub(vec3d_from(to), vec3d_from(from));
}
static inline f64 vec3d_length(Vec3d a)
{
    return sqrt(vec3d_dot(a, a));
}
/* The unit vector along a, or `fallback` if a is (nearly) zero. */
static inline Vec3d vec3d_normalize_or(Vec3d a, Vec3d fallback)
{
    f64 length = vec3d_length(a);
    f64 s = 1.0 / length;
    return length > 1e-100 ? vec3d_scale(a, s) : fallback;
}

#endif
