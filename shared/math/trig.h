/*
 * trig.h: sine, cosine, arc tangent, arc cosine, exponential and logarithm from + − × ÷ √ only,
 * bit-identical with every compiler and C library (libm's differ). Accuracy, measured by
 * tests/unit/shared/math/test_trig.c: the f64 functions are within 2 ulp (sine and cosine within
 * 2^-52 absolutely for |x| ≤ 1e5), the f32 functions within 0.51.
 * Layer: shared/math.
 */
#ifndef PLENUM_SHARED_MATH_TRIG_H
#define PLENUM_SHARED_MATH_TRIG_H

#include "shared/base/base.h"

PL_BEGIN_C
/* Radians. Beyond |x| = 1e5 precision drops because 2π is inexact; NaN for non-finite arguments. */
f64 trig_sin(f64 x);
f64 trig_cos(f64 x);
/* Both at once, for about the price of one. */
void trig_sincos(f64 x, f64 *sine, f64 *cosine);
/* Angle of (x, y) in [−π, π]; 0 for (0, 0), whatever the signs of the zeros. Finite arguments. */
f64 trig_atan2(f64 y, f64 x);
/* In [0, π]; x is clamped to [−1, 1], so that a dot product just above 1 gives 0. */
f64 trig_acos(f64 x);
/* e^x: 0 below −708, infinite above 709.78. */
f64 trig_exp(f64 x);
/* Natural logarithm: −infinite at 0, NaN below. */
f64 trig_log(f64 x);
PL_END_C

/* In f64, rounded to f32. */
static inline f32 trig_sin_f32(f32 x)
{
    return (f32)trig_sin((f64)x);
}
static inline f32 trig_cos_f32(f32 x)
{
    return (f32)trig_cos((f64)x);
}
static inline f32 trig_atan2_f32(f32 y, f32 x)
{
    return (f32)trig_atan2((f64)y, (f64)x);
}
/* The same in single precision, branch-free and within 3e-7 rad: for code that processes many
 * angles at once, whose vector form does the same operations in the same order. The polynomial
 * is a minimax fit of atan(u) / u for |u| ≤ tan(π/8) (Remez). */
static inline f32 trig_atan2_quick(f32 y, f32 x)
{
    f32 a = x < 0.0f ? -x : x, b = y < 0.0f ? -y : y;
    f32 small = f32_min(a, b), large = f32_max(f32_max(a, b), 1e-36f);
    /* Above tan(π/8): atan t = π/4 + atan((t − 1) / (t + 1)). */
    bool steep = small > 0.41421357f * large;
    f32 u = (steep ? small - large : small) / (steep ? small + large : large);
    f32 z = u * u;
    f32 sum = ((0.08060309f * z - 0.1387985f) * z + 0.19977926f) * z - 0.33332956f;
    f32 angle = u * z * sum + u + (steep ? 0.78539816f : 0.0f);
    angle = b > a ? 1.5707964f - angle : angle;
    angle = x < 0.0f ? 3.1415927f - angle : angle;
    return y < 0.0f ? -angle : angle;
}
static inline f32 trig_acos_f32(f32 x)
{
    return (f32)trig_acos((f64)x);
}
static inline f32 trig_exp_f32(f32 x)
{
    return (f32)trig_exp((f64)x);
}
static inline f32 trig_log_f32(f32 x)
{
    return (f32)trig_log((f64)x);
}

#endif
