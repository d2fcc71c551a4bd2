/*
 * vec.h: three-component vectors in single precision. Only + − × ÷ √, so bit-identical everywhere
 * (the build sets -ffp-contract=off).
 * Layer: shared/math.
 */
#ifndef PLENUM_SHARED_MATH_VEC_H
#define PLENUM_SHARED_MATH_VEC_H

#include "shared/base/base.h"

#include <math.h>

typedef struct Vec3 {
    f32 x, y, z;
} Vec3;

/* A vector of components. */
static inline Vec3 vec3(f32 x, f32 y, f32 z)
{
    Vec3 v = {x, y, z};
    return v;
}
static inline Vec3 vec3_zero(void)
{
    return vec3(0.0f, 0.0f, 0.0f);
}
static inline Vec3 vec3_add(Vec3 a, Vec3 b)
{
    return vec3(a.x + b.x, a.y + b.y, a.z + b.z);
}
static inline Vec3 vec3_sub(Vec3 a, Vec3 b)
{
    return vec3(a.x - b.x, a.y - b.y, a.z - b.z);
}
static inline Vec3 vec3_scale(Vec3 a, f32 s)
{
    return vec3(a.x * s, a.y * s, a.z * s);
}
/* a + s b */
static inline Vec3 vec3_add_scaled(Vec3 a, f32 s, Vec3 b)
{
    return vec3(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z);
}
static inline Vec3 vec3_mul(Vec3 a, Vec3 b)
{
    return vec3(a.x * b.x, a.y * b.y, a.z * b.z);
}
static inline Vec3 vec3_neg(Vec3 a)
{
    return vec3(-a.x, -a.y, -a.z);
}
static inline f32 vec3_dot(Vec3 a, Vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static inline Vec3 vec3_cross(Vec3 a, Vec3 b)
{
    return vec3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
static inline f32 vec3_length_squared(Vec3 a)
{
    return vec3_dot(a, a);
}
static inline f32 vec3_length(Vec3 a)
{
    return sqrtf(vec3_dot(a, a));
}
static inline f32 vec3_distance(Vec3 a, Vec3 b)
{
    return vec3_length(vec3_sub(a, b));
}
/* The unit vector along a, or `fallback` if a is (nearly) zero. */
static inline Vec3 vec3_normalize_or(Vec3 a, Vec3 fallback)
{
    f32 length = vec3_length(a);
    return length > 1e-20f ? vec3_scale(a, 1.0f / length) : fallback;
}
static inline Vec3 vec3_lerp(Vec3 a, Vec3 b, f32 t)
{
    return vec3(a.x + (b.x - a.x) * t, a.y + (b.y - a.y) * t, a.z + (b.z - a.z) * t);
}
static inline Vec3 vec3_min(Vec3 a, Vec3 b)
{
    return vec3(f32_min(a.x, b.x), f32_min(a.y, b.y), f32_min(a.z, b.z));
}
static inline Vec3 vec3_max(Vec3 a, Vec3 b)
{
    return vec3(f32_max(a.x, b.x), f32_max(a.y, b.y), f32_max(a.z, b.z));
}
static inline Vec3 vec3_abs(Vec3 a)
{
    return vec3(fabsf(a.x), fabsf(a.y), fabsf(a.z));
}
static inline bool vec3_is_finite(Vec3 a)
{
    return isfinite(a.x) && isfinite(a.y) && isfinite(a.z);
}
/* Any unit vector perpendicular to the unit vector n (Duff et al. 2017, without the sign trick). */
static inline Vec3 vec3_perpendicular(Vec3 n)
{
    Vec3 axis = fabsf(n.x) < 0.57735f ? vec3(1.0f, 0.0f, 0.0f) : vec3(0.0f, 1.0f, 0.0f);
    return vec3_normalize_or(vec3_cross(n, axis), vec3(0.0f, 0.0f, 1.0f));
}

#endif
