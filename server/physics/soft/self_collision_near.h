/*
 * self_collision_near.h: nearest places of points, triangles and segments (Ericson, Real-Time
 * Collision Detection, 2005, §5.1).
 * Layer: server/physics/soft, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_SELF_COLLISION_NEAR_H
#define PLENUM_SERVER_PHYSICS_SOFT_SELF_COLLISION_NEAR_H

#include "shared/math/vec.h"

/* Weights of the corners at the place of the triangle that is nearest to p. Returns the corners
 * that have a part in it, a bit each: 7 is inside. */
static inline u32 nearest_weights(Vec3 p, Vec3 a, Vec3 b, Vec3 c, f32 weight[3])
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

/* Parts s of a–b and t of c–d, in [0, 1], at which they are nearest. Returns false if they are
 * parallel, where the places are not the only ones. */
static inline bool nearest_parts(Vec3 a, Vec3 b, Vec3 c, Vec3 d, f32 *s, f32 *t)
{
    Vec3 u = vec3_sub(b, a), v = vec3_sub(d, c), w = vec3_sub(a, c);
    f32 uu = vec3_dot(u, u), vv = vec3_dot(v, v), uv = vec3_dot(u, v);
    f32 uw = vec3_dot(u, w), vw = vec3_dot(v, w);
    f32 sine2 = uu * vv - uv * uv;
    bool crossed = sine2 > 1e-3f * uu * vv;
    *s = crossed ? f32_clamp((uv * vw - vv * uw) / sine2, 0.0f, 1.0f) : 0.5f;
    *t = vv > 0.0f ? (uv * *s + vw) / vv : 0.0f;
    if (!(*t >= 0.0f && *t <= 1.0f)) {
        *t = *t > 1.0f ? 1.0f : 0.0f;
        *s = uu > 0.0f ? f32_clamp((uv * *t - uw) / uu, 0.0f, 1.0f) : 0.0f;
    }
    return crossed;
}

#endif
