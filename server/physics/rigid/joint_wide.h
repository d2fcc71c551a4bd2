/*
 * joint_wide.h: arithmetic of eight joints side by side.
 * Layer: server/physics/rigid, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_JOINT_WIDE_H
#define PLENUM_SERVER_PHYSICS_RIGID_JOINT_WIDE_H

#include "server/physics/rigid/joint_row.h"

SIMD_INLINE void lane_set(f32x8 *v, u32 lane, f32 x)
{
    ((f32 *)v)[lane] = x;
}
SIMD_INLINE void lane_set_vec3(Vec3x8 *v, u32 lane, Vec3 x)
{
    lane_set(&v->x, lane, x.x);
    lane_set(&v->y, lane, x.y);
    lane_set(&v->z, lane, x.z);
}
SIMD_INLINE Vec3 lane_vec3(const Vec3x8 *v, u32 lane)
{
    return vec3(((const f32 *)&v->x)[lane], ((const f32 *)&v->y)[lane], ((const f32 *)&v->z)[lane]);
}
SIMD_INLINE void lane_set_symmetric(Symmetric3x8 *m, u32 lane, const Symmetric3 *x)
{
    lane_set(&m->xx, lane, x->xx);
    lane_set(&m->yy, lane, x->yy);
    lane_set(&m->zz, lane, x->zz);
    lane_set(&m->xy, lane, x->xy);
    lane_set(&m->xz, lane, x->xz);
    lane_set(&m->yz, lane, x->yz);
}

/* −[r] I⁻¹ [r] added to k: how the point at the arm answers an impulse by turning. */
SIMD_INLINE void add_arm_response(Symmetric3x8 *k, const Symmetric3x8 *i, Vec3x8 r)
{
    /* Columns of I⁻¹ [r]ᵀ. */
    Vec3x8 x = {i->xy * r.z - i->xz * r.y, i->yy * r.z - i->yz * r.y, i->yz * r.z - i->zz * r.y};
    Vec3x8 y = {i->xz * r.x - i->xx * r.z, i->yz * r.x - i->xy * r.z, i->zz * r.x - i->xz * r.z};
    Vec3x8 z = {i->xx * r.y - i->xy * r.x, i->xy * r.y - i->yy * r.x, i->xz * r.y - i->yz * r.x};
    k->xx += x.y * r.z - x.z * r.y;
    k->yy += y.z * r.x - y.x * r.z;
    k->zz += z.x * r.y - z.y * r.x;
    k->xy += y.y * r.z - y.z * r.y;
    k->xz += z.y * r.z - z.z * r.y;
    k->yz += z.z * r.x - z.x * r.z;
}

/* Inverse of a positive definite matrix; zero where it is singular. */
SIMD_INLINE Symmetric3x8 inverse(const Symmetric3x8 *m)
{
    f32x8 c0 = m->yy * m->zz - m->yz * m->yz;
    f32x8 c1 = m->xz * m->yz - m->xy * m->zz;
    f32x8 c2 = m->xy * m->yz - m->xz * m->yy;
    f32x8 determinant = m->xx * c0 + m->xy * c1 + m->xz * c2;
    i32x8 regular = determinant > f32x8_set(0.0f);
    f32x8 one = f32x8_set(1.0f);
    f32x8 s = f32x8_and(regular, one / f32x8_select(regular, determinant, one));
    return (Symmetric3x8){
        c0 * s, (m->xx * m->zz - m->xz * m->xz) * s, (m->xx * m->yy - m->xy * m->xy) * s, c1 * s,
        c2 * s, (m->xy * m->xz - m->xx * m->yz) * s};
}

/* The arm turned by the rotation vector; see quat_from_turn. */
SIMD_INLINE Vec3x8 turned(Vec3x8 arm, Vec3x8 turn)
{
    f32x8 one = f32x8_set(1.0f);
    f32x8 s = vec3x8_dot(turn, turn) * 0.25f;
    f32x8 w = one - s * (0.5f - s * (0.0416666667f - s * (1.0f / 720.0f)));
    f32x8 k = 0.5f * (one - s * (0.166666667f - s * (0.00833333333f - s * (1.0f / 5040.0f))));
    Vec3x8 u = vec3x8_scale(turn, k);
    f32x8 t = f32x8_set(2.0f) / (w * w + vec3x8_dot(u, u));
    Vec3x8 cross = vec3x8_cross(u, arm);
    Vec3x8 twice = vec3x8_add(vec3x8_scale(cross, w), vec3x8_cross(u, cross));
    return vec3x8_add_scaled(arm, t, twice);
}

#endif
