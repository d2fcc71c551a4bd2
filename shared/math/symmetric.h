/*
 * symmetric.h: symmetric 3×3 matrices (inertia tensors, effective masses), single precision, + − ×
 * ÷ only.
 * Layer: shared/math.
 */
#ifndef PLENUM_SHARED_MATH_SYMMETRIC_H
#define PLENUM_SHARED_MATH_SYMMETRIC_H

#include "shared/math/quat.h"

typedef struct Symmetric3 {
    f32 xx, yy, zz, xy, xz, yz;
} Symmetric3;

/* d on the diagonal, zero elsewhere. */
static inline Symmetric3 symmetric_diagonal(Vec3 d)
{
    Symmetric3 m = {d.x, d.y, d.z, 0.0f, 0.0f, 0.0f};
    return m;
}
static inline Symmetric3 symmetric_add(Symmetric3 a, Symmetric3 b)
{
    Symmetric3 m = {a.xx + b.xx, a.yy + b.yy, a.zz + b.zz, a.xy + b.xy, a.xz + b.xz, a.yz + b.yz};
    return m;
}
static inline Symmetric3 symmetric_scale(Symmetric3 a, f32 s)
{
    Symmetric3 m = {a.xx * s, a.yy * s, a.zz * s, a.xy * s, a.xz * s, a.yz * s};
    return m;
}
static inline Vec3 symmetric_mul(const Symmetric3 *m, Vec3 v)
{
    return vec3(m->xx * v.x + m->xy * v.y + m->xz * v.z, m->xy * v.x + m->yy * v.y + m->yz * v.z,
                m->xz * v.x + m->yz * v.y + m->zz * v.z);
}
/* R m Rᵀ for the rotation q: the tensor m of a rotated body. */
static inline Symmetric3 symmetric_rotate(Quat q, const Symmetric3 *m)
{
    Mat3 r = mat3_from_quat(q);
    /* Columns of m Rᵀ are m times the rows of R. */
    Vec3 x = symmetric_mul(m, vec3(r.x.x, r.y.x, r.z.x));
    Vec3 y = symmetric_mul(m, vec3(r.x.y, r.y.y, r.z.y));
    Vec3 z = symmetric_mul(m, vec3(r.x.z, r.y.z, r.z.z));
    Symmetric3 s;
    s.xx = r.x.x * x.x + r.y.x * x.y + r.z.x * x.z;
    s.yy = r.x.y * y.x + r.y.y * y.y + r.z.y * y.z;
    s.zz = r.x.z * z.x + r.y.z * z.y + r.z.z * z.z;
    s.xy = r.x.x * y.x + r.y.x * y.y + r.z.x * y.z;
    s.xz = r.x.x * z.x + r.y.x * z.y + r.z.x * z.z;
    s.yz = r.x.y * z.x + r.y.y * z.y + r.z.y * z.z;
    return s;
}
/* Inverse of a positive definite matrix; zero if singular. */
static inline Symmetric3 symmetric_inverse(const Symmetric3 *m)
{
    f32 c0 = m->yy * m->zz - m->yz * m->yz;
    f32 c1 = m->xz * m->yz - m->xy * m->zz;
    f32 c2 = m->xy * m->yz - m->xz * m->yy;
    f32 determinant = m->xx * c0 + m->xy * c1 + m->xz * c2;
    Symmetric3 r = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    if (!(determinant > 0.0f)) {
        return r;
    }
    f32 s = 1.0f / determinant;
    r.xx = c0 * s;
    r.xy = c1 * s;
    r.xz = c2 * s;
    r.yy = (m->xx * m->zz - m->xz * m->xz) * s;
    r.yz = (m->xy * m->xz - m->xx * m->yz) * s;
    r.zz = (m->xx * m->yy - m->xy * m->xy) * s;
    return r;
}
/* The tensor about a point at `offset` from the centre of mass (parallel axis theorem). */
static inline Symmetric3 symmetric_steiner(Symmetric3 m, f32 mass_kg, Vec3 offset)
{
    Vec3 o = offset;
    Symmetric3 s = {m.xx + mass_kg * (o.y * o.y + o.z * o.z),
                    m.yy + mass_kg * (o.x * o.x + o.z * o.z),
                    m.zz + mass_kg * (o.x * o.x + o.y * o.y),
                    m.xy - mass_kg * o.x * o.y,
                    m.xz - mass_kg * o.x * o.z,
                    m.yz - mass_kg * o.y * o.z};
    return s;
}

#endif
