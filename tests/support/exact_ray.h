/*
 * exact_ray.h: rays and boxes against single triangles, for searches that are compared with a loop
 * over all.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_EXACT_RAY_H
#define PLENUM_TESTS_SUPPORT_EXACT_RAY_H

#include "shared/geometry/shape.h"

#include <math.h>

/* The nearest hit so far, and how near any was to an edge. */
typedef struct ExactRay {
    f64 best; /* in lengths of the direction; INFINITY: none */
    f64 rim;  /* least distance of a hit or a miss to an edge, in barycentric coordinates */
} ExactRay;

/* Möller and Trumbore 1997, in double precision. */
static inline void exact_ray_add(ExactRay *ray, const Vec3 p[3], Vec3 origin, Vec3 direction)
{
    f64 e1[3] = {(f64)p[1].x - p[0].x, (f64)p[1].y - p[0].y, (f64)p[1].z - p[0].z};
    f64 e2[3] = {(f64)p[2].x - p[0].x, (f64)p[2].y - p[0].y, (f64)p[2].z - p[0].z};
    f64 d[3] = {direction.x, direction.y, direction.z};
    f64 s[3] = {(f64)origin.x - p[0].x, (f64)origin.y - p[0].y, (f64)origin.z - p[0].z};
    f64 h[3] = {d[1] * e2[2] - d[2] * e2[1], d[2] * e2[0] - d[0] * e2[2],
                d[0] * e2[1] - d[1] * e2[0]};
    f64 q[3] = {s[1] * e1[2] - s[2] * e1[1], s[2] * e1[0] - s[0] * e1[2],
                s[0] * e1[1] - s[1] * e1[0]};
    f64 a = e1[0] * h[0] + e1[1] * h[1] + e1[2] * h[2];
    f64 u = (s[0] * h[0] + s[1] * h[1] + s[2] * h[2]) / a;
    f64 v = (d[0] * q[0] + d[1] * q[1] + d[2] * q[2]) / a;
    f64 at = (e2[0] * q[0] + e2[1] * q[1] + e2[2] * q[2]) / a;
    f64 least = fmin(u, fmin(v, 1 - u - v));
    if (at >= 0 && fabs(least) < ray->rim) {
        ray->rim = fabs(least);
    }
    if (at >= 0 && least >= 0 && at < ray->best) {
        ray->best = at;
    }
}

/* Whether the bounds of a triangle overlap a box. */
static inline bool triangle_bounds_overlap(const Vec3 p[3], Bounds b)
{
    Vec3 low = vec3_min(p[0], vec3_min(p[1], p[2])), high = vec3_max(p[0], vec3_max(p[1], p[2]));
    return low.x <= b.max.x && high.x >= b.min.x && low.y <= b.max.y && high.y >= b.min.y &&
           low.z <= b.max.z && high.z >= b.min.z;
}

#endif
