/*
 * quat.h: unit quaternions (w, x, y, z) and 3×3 matrices, single precision, + − × ÷ √ only.
 * Layer: shared/math.
 */
#ifndef PLENUM_SHARED_MATH_QUAT_H
#define PLENUM_SHARED_MATH_QUAT_H

#include "shared/math/vec.h"

typedef struct Quat {
    f32 w, x, y, z;
} Quat;

/* Three columns. */
typedef struct Mat3 {
    Vec3 x, y, z;
} Mat3;

/* No rotation. */
static inline Quat quat_identity(void)
{
    Quat q = {1.0f, 0.0f, 0.0f, 0.0f};
    return q;
}
static inline Quat quat_mul(Quat a, Quat b)
{
    Quat q;
    q.w = a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z;
    q.x = a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y;
    q.y = a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x;
    q.z = a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w;
    return q;
}
static inline Quat quat_conjugate(Quat q)
{
    Quat c = {q.w, -q.x, -q.y, -q.z};
    return c;
}
static inline f32 quat_dot(Quat a, Quat b)
{
    return a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z;
}
static inline Quat quat_normalize(Quat q)
{
    f32 length = sqrtf(quat_dot(q, q));
    if (!(length > 1e-20f && length < INFINITY)) {
        return quat_identity();
    }
    f32 s = 1.0f / length;
    Quat r = {q.w * s, q.x * s, q.y * s, q.z * s};
    return r;
}
static inline bool quat_is_finite(Quat q)
{
    return isfinite(q.w) && isfinite(q.x) && isfinite(q.y) && isfinite(q.z);
}
/* v rotated by the unit quaternion q. */
static inline Vec3 quat_rotate(Quat q, Vec3 v)
{
    Vec3 u = vec3(q.x, q.y, q.z);
    Vec3 t = vec3_scale(vec3_cross(u, v), 2.0f);
    return vec3_add(vec3_add_scaled(v, q.w, t), vec3_cross(u, t));
}
static inline Vec3 quat_rotate_inverse(Quat q, Vec3 v)
{
    return quat_rotate(quat_conjugate(q), v);
}
/* One explicit step of q' = ½ ω q over h seconds, normalized; ω in world axes, rad/s. */
static inline Quat quat_integrate(Quat q, Vec3 angular_velocity, f32 h)
{
    Quat w = {0.0f, angular_velocity.x * h * 0.5f, angular_velocity.y * h * 0.5f,
              angular_velocity.z * h * 0.5f};
    Quat d = quat_mul(w, q);
    Quat r = {q.w + d.w, q.x + d.x, q.y + d.y, q.z + d.z};
    return quat_normalize(r);
}
/* Normalized linear interpolation along the shorter arc. */
static inline Quat quat_nlerp(Quat a, Quat b, f32 t)
{
    f32 s = quat_dot(a, b) < 0.0f ? -t : t;
    f32 r = 1.0f - t;
    Quat q = {a.w * r + b.w * s, a.x * r + b.x * s, a.y * r + b.y * s, a.z * r + b.z * s};
    return quat_normalize(q);
}

/* The rotation of a unit quaternion as a matrix. */
static inline Mat3 mat3_from_quat(Quat q)
{
    f32 xx = q.x * q.x, yy = q.y * q.y, zz = q.z * q.z;
    f32 xy = q.x * q.y, xz = q.x * q.z, yz = q.y * q.z;
    f32 wx = q.w * q.x, wy = q.w * q.y, wz = q.w * q.z;
    Mat3 m;
    m.x = vec3(1.0f - 2.0f * (yy + zz), 2.0f * (xy + wz), 2.0f * (xz - wy));
    m.y = vec3(2.0f * (xy - wz), 1.0f - 2.0f * (xx + zz), 2.0f * (yz + wx));
    m.z = vec3(2.0f * (xz + wy), 2.0f * (yz - wx), 1.0f - 2.0f * (xx + yy));
    return m;
}
static inline Vec3 mat3_mul(Mat3 m, Vec3 v)
{
    return vec3(m.x.x * v.x + m.y.x * v.y + m.z.x * v.z, m.x.y * v.x + m.y.y * v.y + m.z.y * v.z,
                m.x.z * v.x + m.y.z * v.y + m.z.z * v.z);
}
/* mᵀ v */
static inline Vec3 mat3_mul_transposed(Mat3 m, Vec3 v)
{
    return vec3(vec3_dot(m.x, v), vec3_dot(m.y, v), vec3_dot(m.z, v));
}

#endif
