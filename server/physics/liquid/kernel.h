/*
 * kernel.h: the cubic spline (Monaghan 1992), scaled by spacing³, so that its sum over particles at
 * rest is one, and its integral over a half-space. Lengths in spacings.
 * Layer: server/physics/liquid, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_LIQUID_KERNEL_H
#define PLENUM_SERVER_PHYSICS_LIQUID_KERNEL_H

#include "shared/math/simd.h"

/* Support radius, in spacings. */
#define KERNEL_REACH     2.0f
/* Neighbours are searched this much farther, for their motion within a tick. */
#define NEIGHBOUR_MARGIN 0.1f
#define KERNEL_SCALE     0.31830989f /* 1/π */
/* Particles beside a plane keep half a spacing from it if it begins this much farther. */
#define KERNEL_WALL      0.0f

/* W at distance q: W = (¼ (2 − q)³ − (1 − q)³) / π, parts above zero only. */
SIMD_INLINE f32x8 kernel_wide(f32x8 q)
{
    f32x8 zero = f32x8_set(0.0f);
    f32x8 a = f32x8_max(2.0f - q, zero), b = f32x8_max(1.0f - q, zero);
    return (0.25f * KERNEL_SCALE) * (a * a * a) - KERNEL_SCALE * (b * b * b);
}

/* dW/dq, ≤ 0. */
SIMD_INLINE f32x8 kernel_slope_wide(f32x8 q)
{
    f32x8 zero = f32x8_set(0.0f);
    f32x8 a = f32x8_max(2.0f - q, zero), b = f32x8_max(1.0f - q, zero);
    return (3.0f * KERNEL_SCALE) * (b * b) - (0.75f * KERNEL_SCALE) * (a * a);
}

/* ∫ of (R − r)³ over the half-space at distance s ≥ 0, over 2π, and its slope. */
static inline f32 half_space_part(f32 reach, f32 s)
{
    f32 t = f32_max(reach - s, 0.0f), t4 = t * t * t * t, t5 = t4 * t;
    return reach * t5 * (1.0f / 20.0f) - t5 * t * (1.0f / 30.0f);
}

static inline f32 half_space_slope_part(f32 reach, f32 s)
{
    f32 t = f32_max(reach - s, 0.0f), t4 = t * t * t * t;
    return reach * t4 * 0.25f - t4 * t * 0.2f;
}

/* The part of the kernel beyond a plane at signed distance s: 0 far outside, ½ on it, 1 far
 * inside. */
static inline f32 kernel_half_space(f32 s)
{
    f32 a = fabsf(s + KERNEL_WALL);
    f32 b = 2.0f * (0.25f * half_space_part(2.0f, a) - half_space_part(1.0f, a));
    return s + KERNEL_WALL >= 0.0f ? b : 1.0f - b;
}

/* −d/ds of it, ≥ 0. */
static inline f32 kernel_half_space_slope(f32 s)
{
    f32 a = fabsf(s + KERNEL_WALL);
    return 2.0f * (0.25f * half_space_slope_part(2.0f, a) - half_space_slope_part(1.0f, a));
}

#endif
