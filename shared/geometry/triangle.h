/*
 * triangle.h: the nearest point of a triangle (Ericson, Real-Time Collision Detection, 2005,
 * §5.1.5).
 * Layer: shared/geometry.
 */
#ifndef PLENUM_SHARED_GEOMETRY_TRIANGLE_H
#define PLENUM_SHARED_GEOMETRY_TRIANGLE_H

#include "shared/math/vec.h"

/* Weights of the corners at the place of the triangle that is nearest to p. Returns the corners
 * with non-zero weight, one bit each: 7 is inside. */
static inline u32 triangle_nearest_weights(Vec3 p, Vec3 a, Vec3 b, Vec3 c, f32 weight[3])
{
    Vec3 ab = vec3_sub(b, a), ac = vec3_sub(c, a), ap = vec3_sub(p, a);
    f32 d1 = vec3_dot(ab, ap), d2 = vec3_dot(ac, ap);
    weight[0] = 1.0f;
    weight[1] = weight[2] = 0.0f;
    if (d1 <= 0.0f && d2 <= 0.0f) {
        return 1;
    }
    Vec3 bp = vec3_sub(p, b);
    f32 d3 = vec3_dot(ab, bp), d4 = vec3_dot(ac, bp);
    if (d3 >= 0.0f && d4 <= d3) {
        weight[0] = 0.0f;
        weight[1] = 1.0f;
        return 2;
    }
    f32 vc = d1 * d4 - d3 * d2;
    if (vc <= 0.0f && d1 >= 0.0f && d3 <= 0.0f) {
        weight[1] = d1 / (d1 - d3);
        weight[0] = 1.0f - weight[1];
        return 3;
    }
    Vec3 cp = vec3_sub(p, c);
    f32 d5 = vec3_dot(ab, cp), d6 = vec3_dot(ac, cp);
    if (d6 >= 0.0f && d5 <= d6) {
        weight[0] = 0.0f;
        weight[2] = 1.0f;
        return 4;
    }
    f32 vb = d5 * d2 - d1 * d6;
    if (vb <= 0.0f && d2 >= 0.0f && d6 <= 0.0f) {
        weight[2] = d2 / (d2 - d6);
        weight[0] = 1.0f - weight[2];
        return 5;
    }
    f32 va = d3 * d6 - d5 * d4;
    if (va <= 0.0f && d4 - d3 >= 0.0f && d5 - d6 >= 0.0f) {
        weight[0] = 0.0f;
        weight[2] = (d4 - d3) / ((d4 - d3) + (d5 - d6));
        weight[1] = 1.0f - weight[2];
        return 6;
    }
    f32 scale = 1.0f / (va + vb + vc);
    weight[1] = vb * scale;
    weight[2] = vc * scale;
    weight[0] = 1.0f - weight[1] - weight[2];
    return 7;
}

/* That place itself: at a corner or on an edge computed only from that corner or edge, so that
 * triangles that share it agree. */
static inline Vec3 triangle_nearest(Vec3 p, const Vec3 c[3])
{
    f32 w[3];
    Vec3 ab = vec3_sub(c[1], c[0]), ac = vec3_sub(c[2], c[0]);
    switch (triangle_nearest_weights(p, c[0], c[1], c[2], w)) {
    case 1:
        return c[0];
    case 2:
        return c[1];
    case 3:
        return vec3_add_scaled(c[0], w[1], ab);
    case 4:
        return c[2];
    case 5:
        return vec3_add_scaled(c[0], w[2], ac);
    case 6:
        return vec3_add_scaled(c[1], w[2], vec3_sub(c[2], c[1]));
    default:
        return vec3_add_scaled(vec3_add_scaled(c[0], w[1], ab), w[2], ac);
    }
}

#endif
