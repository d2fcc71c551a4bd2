/*
 * trig.h: sine, cosine, arc tangent, arc cosine, exponential and logarithm from + − × ÷ √ only, so
 * that the same input gives the same bits with every compiler and C library (libm's differ).
 * Accuracy, measured by tests/unit/shared/test_trig.c: the f64 functions are within 2 units in the
 * last place (sine and cosine within 2^-52 absolutely for |x| ≤ 1e5), the f32 functions within
 * 0.51. Layer: shared.
 */
#ifndef PLENUM_SHARED_TRIG_H
#define PLENUM_SHARED_TRIG_H

#include "shared/base.h"

PL_BEGIN_C
/* Radians. Beyond |x| of 1e5 digits are lost as 2π is not exact; NaN for what is not finite. */
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
