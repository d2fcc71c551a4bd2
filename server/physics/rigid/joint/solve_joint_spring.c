/*
 * solve_joint_spring.c: spring impulses for which the motion has exactly the requested frequency
 * and decay. A step takes v to (1 − β) v − κ x / h and then x to x + h v; it has the eigenvalues of
 * the true motion over h if its determinant 1 − β is D = exp(−2 ζ w) and its trace 2 − κ − β is T =
 * 2 exp(−ζ w) cos(w √(1 − ζ²)), w = ω h.
 */
#include "server/physics/rigid/joint/joint_row.h"

/* Trace and determinant by their series over a part of the step, which is then doubled. */
static SpringStep exact_step(f64 w, f64 ratio)
{
    f64 a = ratio * w, b = (1.0 - ratio * ratio) * w * w;
    u32 doublings = 0;
    for (f64 size = a * a + w * w; size > 0.0625 && doublings < 64; size *= 0.25) {
        a *= 0.5;
        b *= 0.25;
        doublings++;
    }
    f64 decay = 1.0, swing = 1.0, one = 1.0, other = 1.0;
    for (u32 n = 1; n < 12; n++) {
        one *= -a / (f64)n;
        other *= -b / (f64)((2 * n - 1) * (2 * n));
        decay += one;
        swing += other;
    }
    f64 trace = 2.0 * decay * swing, determinant = decay * decay;
    for (; doublings > 0; doublings--) {
        trace = trace * trace - 2.0 * determinant;
        determinant *= determinant;
    }
    return (SpringStep){(f32)(1.0 + determinant - trace), (f32)(1.0 - determinant)};
}

SpringStep spring_step(f32 frequency_hz, f32 damping_ratio, f32 h)
{
    f32 w = 6.2831853f * frequency_hz * h;
    if (w <= SPRING_EXACT_WH) {
        return exact_step((f64)w, (f64)f32_min(damping_ratio, 1e6f));
    }
    f32 damping = 2.0f * damping_ratio * w + w * w - SPRING_EXACT_WH * SPRING_EXACT_WH;
    f32 s = 1.0f / (1.0f + damping);
    return (SpringStep){w * w * s, damping * s};
}
