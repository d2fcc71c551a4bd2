/*
 * self_collision_near.h: nearest points of two segments (Ericson, Real-Time Collision Detection,
 * 2005, §5.1.9). Points and triangles: shared/geometry/triangle.h.
 * Layer: server/physics/soft, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_SELF_COLLISION_NEAR_H
#define PLENUM_SERVER_PHYSICS_SOFT_SELF_COLLISION_NEAR_H

#include "shared/geometry/triangle.h"

/* Finds the parameters s of a–b and t of c–d, in [0, 1], of the nearest points. Returns false if
 * the segments are parallel, where these are not unique. */
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
