/*
 * kernel.h: a polynomial of the squared distance, scaled by spacing³, so that its sum over
 * particles at rest is one, and what a wall adds to it. Lengths of walls in spacings.
 * Layer: server/physics/liquid, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_LIQUID_KERNEL_H
#define PLENUM_SERVER_PHYSICS_LIQUID_KERNEL_H

#include "shared/math/simd.h"

/* Support radius, in spacings. */
#define KERNEL_REACH    2.0f
/* If they move little in a step, neighbours are searched this much farther, in spacings. */
#define NEIGHBOUR_SLACK 0.06f
/* W = K (1 − s)⁶ of the square of the distance, s = (r / reach)²: no root and no division. The
 * slope is steepest at 0.60 spacings, and the transform is positive up to the wave number of the
 * arrangement: with (1 − s)⁴ and below, particles pair (Dehnen & Aly 2012). K makes the integral
 * one; the sum over a settled arrangement is less (measured in tanks), which KERNEL_SUM makes
 * good. */
#define KERNEL_PEAK     0.43757f
#define KERNEL_SUM      1.018f

/* (1 − s)⁺ */
SIMD_INLINE f32x8 kernel_rest(f32x8 r2, f32 per_reach2)
{
    return f32x8_max(1.0f - r2 * per_reach2, f32x8_set(0.0f));
}

/* dW/dr / r = scale (1 − s)⁵, scale = −12 K / reach²; so W is this times −(1 − s) reach² / 12. */
SIMD_INLINE f32x8 kernel_over(f32x8 rest, f32 scale)
{
    f32x8 two = rest * rest;
    return (scale * rest) * (two * two);
}

/* A wall adds B(s) to the density of an item at distance s (spacings) and pushes it by the gradient
 * of the same function. Half a spacing from a plane B replaces the density of the layers behind it,
 * and its slope their push at the item's own pressure, so that the pressure beside a wall equals
 * that inside. The integral of W over the half-space has the right density but half of the push:
 * items would settle where it is steep, nearer and at several times the pressure. */
#define WALL_REACH 0.8667f /* 0.5 + 4 · 0.11 / 1.2 */
#define WALL_FIND  1.0f    /* up to which things are searched */
static const f32 wall_rest = 0.11f, wall_per = 1.0f / (WALL_REACH - 0.5f);

/* B(s). */
static inline f32 kernel_wall(f32 s)
{
    f32 t = f32_max(WALL_REACH - f32_max(s, 0.0f), 0.0f) * wall_per, t2 = t * t;
    return wall_rest * (t2 * t2);
}

/* −dB/ds, ≥ 0. */
static inline f32 kernel_wall_slope(f32 s)
{
    f32 t = f32_max(WALL_REACH - f32_max(s, 0.0f), 0.0f) * wall_per;
    return 4.0f * wall_rest * wall_per * (t * t * t);
}

#endif
