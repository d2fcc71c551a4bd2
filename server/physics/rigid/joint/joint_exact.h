/*
 * joint_exact.h: 3×3 matrices in doubles, for one lane of trees of joints.
 * Layer: server/physics/rigid/joint, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_JOINT_JOINT_EXACT_H
#define PLENUM_SERVER_PHYSICS_RIGID_JOINT_JOINT_EXACT_H

#include "server/physics/rigid/joint/joint_tree.h"

enum {
    ENTRIES = 9 /* of a 3×3 matrix, row by row */
};

/* One lane in double precision. */
static inline f64 lane_f64(const f32x8 *v, u32 lane)
{
    return (f64)((const f32 *)v)[lane];
}
static inline void lane_f64s(const Vec3x8 *v, u32 lane, f64 out[3])
{
    out[0] = lane_f64(&v->x, lane);
    out[1] = lane_f64(&v->y, lane);
    out[2] = lane_f64(&v->z, lane);
}
static inline void lane_matrix(const Symmetric3x8 *m, u32 lane, f64 out[ENTRIES])
{
    out[0] = lane_f64(&m->xx, lane);
    out[4] = lane_f64(&m->yy, lane);
    out[8] = lane_f64(&m->zz, lane);
    out[1] = out[3] = lane_f64(&m->xy, lane);
    out[2] = out[6] = lane_f64(&m->xz, lane);
    out[5] = out[7] = lane_f64(&m->yz, lane);
}

/* out = a b */
static inline void multiply(const f64 a[ENTRIES], const f64 b[ENTRIES], f64 out[ENTRIES])
{
    for (u32 i = 0; i < 3; i++) {
        for (u32 j = 0; j < 3; j++) {
            out[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
        }
    }
}

/* Inverts a symmetric matrix; zero if singular. */
static inline void invert(f64 m[ENTRIES])
{
    f64 c0 = m[4] * m[8] - m[5] * m[5], c1 = m[2] * m[5] - m[1] * m[8];
    f64 c2 = m[1] * m[5] - m[2] * m[4], determinant = m[0] * c0 + m[1] * c1 + m[2] * c2;
    f64 s = determinant > 0.0 ? 1.0 / determinant : 0.0;
    f64 yy = (m[0] * m[8] - m[2] * m[2]) * s, zz = (m[0] * m[4] - m[1] * m[1]) * s;
    f64 yz = (m[1] * m[2] - m[0] * m[5]) * s;
    m[0] = c0 * s;
    m[4] = yy;
    m[8] = zz;
    m[1] = m[3] = c1 * s;
    m[2] = m[6] = c2 * s;
    m[5] = m[7] = yz;
}

/* The projection to the locked part of a motion. */
static inline void locked_projection(const Trees *t, u32 lane, u32 place, f64 out[ENTRIES])
{
    u32 kind = t->joints[place].links.kind;
    f64 n[3];
    lane_f64s(&t->rows[place].axis, lane, n);
    f64 square = n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
    bool leaves = leaves_axis(kind), locks = locks_axis(kind) && square > 0.0;
    f64 s = square > 0.0 ? (leaves ? -1.0 : 1.0) / square : 0.0;
    for (u32 i = 0; i < 3; i++) {
        for (u32 j = 0; j < 3; j++) {
            f64 along = leaves || locks ? s * n[i] * n[j] : 0.0;
            out[3 * i + j] = along + (i == j && !locks ? 1.0 : 0.0);
        }
    }
}

/* The velocity of rows per angular velocity of a body: the velocity at an arm, or the angular
 * velocity; positive for b's side. */
static inline f64 angular_part(const Trees *t, u32 lane, u32 place, u32 body, f64 out[ENTRIES])
{
    const TreeLinks *links = &t->joints[place].links;
    const TreePoint *point = &t->rows[place].point;
    bool is_b = links->body_b == body;
    f64 s = is_b ? 1.0 : -1.0, r[3];
    if (!is_point(links->kind)) {
        for (u32 i = 0; i < ENTRIES; i++) {
            out[i] = i % 4 == 0 ? s : 0.0;
        }
        return 0.0;
    }
    lane_f64s(is_b ? &point->arm_b : &point->arm_a, lane, r);
    f64 across[ENTRIES] = {0.0,      s * r[2], -s * r[1], -s * r[2], 0.0,
                           s * r[0], s * r[1], -s * r[0], 0.0};
    memcpy(out, across, sizeof(across));
    return s;
}

#endif
