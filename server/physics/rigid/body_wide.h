/*
 * body_wide.h: eight bodies at a time for the solvers of contacts and joints: their states are
 * gathered as two vectors each and transposed; joints gather poses and inertias the same way.
 * Layer: server/physics/rigid, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_BODY_WIDE_H
#define PLENUM_SERVER_PHYSICS_RIGID_BODY_WIDE_H

#include "server/physics/rigid/rigid_internal.h"

/* Velocities of the bodies of one side of a row. */
typedef struct Side {
    Vec3x8 velocity, angular_velocity;
    f32x8 mass; /* inverse */
    f32x8 rest; /* other gathered words */
} Side;

typedef struct SideMotion {
    Vec3x8 shift, rotation;
} SideMotion;

typedef struct Quatx8 {
    f32x8 w, x, y, z;
} Quatx8;

/* Current poses of the bodies of one side, for joints. */
typedef struct SidePose {
    Vec3x8 shift, rotation;
    Quatx8 orientation;
    Symmetric3x8 inertia; /* inverse, world */
} SidePose;

PL_STATIC_ASSERT(offsetof(Body, orientation) == 12 && offsetof(Body, centre) == 28,
                 "poses are gathered as one vector each");

/* The bodies in eight slots. */
SIMD_INLINE Side side_gather(const BodyState *states, const u32 slots[SIMD_LANES])
{
    f32x8 m[8];
    for (u32 i = 0; i < SIMD_LANES; i++) {
        m[i] = f32x8_load((const f32 *)&states[slots[i]]);
    }
    f32x8_transpose(m);
    return (Side){{m[0], m[1], m[2]}, {m[4], m[5], m[6]}, m[3], m[7]};
}

/* Immovable bodies are not written: they may be shared between threads. */
SIMD_INLINE void side_scatter(BodyState *states, const u32 slots[SIMD_LANES], const Side *side)
{
    f32x8 m[8] = {
        side->velocity.x,         side->velocity.y,         side->velocity.z,         side->mass,
        side->angular_velocity.x, side->angular_velocity.y, side->angular_velocity.z, side->rest};
    i32x8 moves = side->mass > 0.0f;
    f32x8_transpose(m);
    for (u32 i = 0; i < SIMD_LANES; i++) {
        if (moves[i]) {
            f32x8_store((f32 *)&states[slots[i]], m[i]);
        }
    }
}

/* The velocities of the bodies in eight slots. */
SIMD_INLINE SideMotion motion_gather(const BodyState *states, const u32 slots[SIMD_LANES])
{
    f32x8 m[8];
    for (u32 i = 0; i < SIMD_LANES; i++) {
        m[i] = f32x8_load(&states[slots[i]].shift.x);
    }
    f32x8_transpose(m);
    return (SideMotion){{m[0], m[1], m[2]}, {m[4], m[5], m[6]}};
}

/* Like quat_rotate, with the rotation of q / |q|, so that rounding errors of its length do not
 * accumulate. */
SIMD_INLINE Vec3x8 quatx8_rotate(Quatx8 q, Vec3x8 v)
{
    Vec3x8 u = {q.x, q.y, q.z};
    f32x8 s = f32x8_set(2.0f) / (q.w * q.w + vec3x8_dot(u, u));
    Vec3x8 t = vec3x8_scale(vec3x8_cross(u, v), s);
    return vec3x8_add(vec3x8_add_scaled(v, q.w, t), vec3x8_cross(u, t));
}

/* Also of the spare slot. */
SIMD_INLINE SidePose place_gather(const Rigid *rigid, const u32 slots[SIMD_LANES])
{
    f32x8 p[8], i[8];
    SideMotion motion = motion_gather(rigid->states, slots);
    for (u32 lane = 0; lane < SIMD_LANES; lane++) {
        memcpy(&p[lane], &rigid->bodies[slots[lane]].position, sizeof(p[lane]));
        memcpy(&i[lane], &rigid->inertias[slots[lane]], sizeof(i[lane]));
    }
    f32x8_transpose(p);
    f32x8_transpose(i);
    return (SidePose){motion.shift,
                      motion.rotation,
                      {p[3], p[4], p[5], p[6]},
                      {i[0], i[1], i[2], i[3], i[4], i[5]}};
}

/* Reads one lane only: other threads may be writing the others. */
SIMD_INLINE f32 lane_read(const f32x8 *v, u32 lane)
{
    return ((const f32 *)v)[lane];
}
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

#endif
