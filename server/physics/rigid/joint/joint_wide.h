/*
 * joint_wide.h: arithmetic for eight joints at a time.
 * Layer: server/physics/rigid/joint, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_JOINT_JOINT_WIDE_H
#define PLENUM_SERVER_PHYSICS_RIGID_JOINT_JOINT_WIDE_H

#include "server/physics/rigid/joint/joint_row.h"

/* Adds −[r] I⁻¹ [r] to k: velocity change of the point at the arm by rotation per unit impulse. */
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

/* Inverse of a positive definite matrix; zero if singular. */
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

/* Sets one lane. */
SIMD_INLINE void lane_set_quat(Quatx8 *q, u32 lane, Quat x)
{
    lane_set(&q->w, lane, x.w);
    lane_set(&q->x, lane, x.x);
    lane_set(&q->y, lane, x.y);
    lane_set(&q->z, lane, x.z);
}

/* rad per step. Beyond it the prediction is inaccurate, and would add energy. */
#define BEND_ROTATION 0.15f

/* Displacement of the end of an arm in a step h, per second and beyond ω × r: the rotation is
 * Cayley's map of h ω. */
SIMD_INLINE Vec3x8 arm_drift(Vec3x8 angular_velocity, Vec3x8 arm, f32x8 half_h)
{
    Vec3x8 u = vec3x8_scale(angular_velocity, half_h), across = vec3x8_cross(angular_velocity, arm);
    f32x8 square = vec3x8_dot(u, u), one = f32x8_set(1.0f), s = one / (one + square);
    f32x8 far = square * (4.0f / (BEND_ROTATION * BEND_ROTATION));
    Vec3x8 drift = vec3x8_sub_scaled(vec3x8_cross(u, across), square, across);
    return vec3x8_scale(drift, s / (one + far * far));
}

/* Velocity at which rotation of the arms opens the point of a joint in a step, beyond its
 * velocity at the start. Taking it into account closes the point after the step and not one step
 * later, which conserves the energy of swinging bodies. */
SIMD_INLINE Vec3x8 point_drift(Vec3x8 angular_a, Vec3x8 arm_a, Vec3x8 angular_b, Vec3x8 arm_b,
                               f32x8 half_h)
{
    return vec3x8_sub(arm_drift(angular_b, arm_b, half_h), arm_drift(angular_a, arm_a, half_h));
}

/* Displacement of an anchor since the tick began, computed from small differences, so that no
 * precision is lost far from the origin. */
SIMD_INLINE Vec3x8 anchor_moved(const SidePose *place, Vec3x8 arm, Vec3x8 start)
{
    return vec3x8_add(place->shift, vec3x8_sub(arm, start));
}

/* Members of a row that every kind of joint has: two points that it holds together. */
typedef struct PointLanes {
    u32 *a, *b, *joint; /* [SIMD_LANES] */
    Vec3x8 *local_a, *local_b, *start_gap;
} PointLanes;

#define POINT_LANES(row)                                                                           \
    ((PointLanes){(row)->a, (row)->b, (row)->joint, &(row)->local_a, &(row)->local_b,              \
                  &(row)->start_gap})

/* All lanes empty. */
static inline void point_lanes_clear(const Rigid *rigid, const PointLanes *to)
{
    for (u32 lane = 0; lane < SIMD_LANES; lane++) {
        to->a[lane] = to->b[lane] = rigid->def.body_capacity;
        to->joint[lane] = JOINT_NO_SLOT;
    }
}

/* Puts a joint into a lane; returns its frames, too. */
static inline void point_lane_set(const Rigid *rigid, const PointLanes *to, u32 lane, u32 slot,
                                  Quat frames[2])
{
    const JointDef *def = &rigid->joints.joints[slot].def;
    u32 a, b;
    joint_bodies(rigid, slot, &a, &b);
    Vec3 anchors[2];
    joint_frames(rigid, def, anchors, frames);
    to->joint[lane] = slot;
    lane_set_vec3(to->start_gap, lane, vec3_sub(anchors[1], anchors[0]));
    if (a != JOINT_WORLD) {
        to->a[lane] = a;
        lane_set_vec3(to->local_a, lane, vec3_sub(def->anchor_a, rigid->bodies[a].centre));
    }
    if (b != JOINT_WORLD) {
        to->b[lane] = b;
        lane_set_vec3(to->local_b, lane, vec3_sub(def->anchor_b, rigid->bodies[b].centre));
    }
}

#endif
