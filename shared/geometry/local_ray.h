/*
 * local_ray.h: rays in the frame of a shape, in double precision, so that distant rays and rays
 * along faces and axes keep their accuracy. Used by the ray casts of shape.h.
 * Layer: shared/geometry.
 */
#ifndef PLENUM_SHARED_GEOMETRY_LOCAL_RAY_H
#define PLENUM_SHARED_GEOMETRY_LOCAL_RAY_H

#include "shared/geometry/geometry.h"
#include "shared/math/vec3d.h"

typedef struct LocalRay {
    Vec3d origin, direction; /* m, unit to single precision */
} LocalRay;

/* A ray prepared for many box tests. */
typedef struct BoxRay {
    f64 origin[3];
    f64 inverse[3]; /* 1 / direction; huge instead of infinite, so that 0 × it is not NaN */
    u8 near[3];     /* index of the near side among the six sides of a Bounds, for each axis */
    u8 far[3];
} BoxRay;

/* 1 / d, finite for 0: a ray along a face still has an order. */
static inline f64 ray_reciprocal(f64 d)
{
    return fabs(d) > 1e-200 ? 1.0 / d : copysign(1e200, d);
}
static inline BoxRay box_ray(const LocalRay *ray)
{
    BoxRay box = {{ray->origin.x, ray->origin.y, ray->origin.z},
                  {ray_reciprocal(ray->direction.x), ray_reciprocal(ray->direction.y),
                   ray_reciprocal(ray->direction.z)},
                  {0, 1, 2},
                  {3, 4, 5}};
    for (int i = 0; i < 3; i++) {
        if (box.inverse[i] < 0.0) {
            box.near[i] = (u8)(i + 3);
            box.far[i] = (u8)i;
        }
    }
    return box;
}
/* Whether the ray intersects the box (closed) within [0, max], and where it enters. The exit is
 * moved out by more than the rounding error, so that no hit in the box is lost. */
static inline bool ray_meets_box(const BoxRay *ray, const Bounds *bounds, f64 max, f64 *enter)
{
    const f32 *side = (const f32 *)(const void *)bounds; /* min x, y, z, max x, y, z */
    f64 from = 0.0, to = max;
    for (int i = 0; i < 3; i++) {
        f64 near = ((f64)side[ray->near[i]] - ray->origin[i]) * ray->inverse[i];
        f64 far = ((f64)side[ray->far[i]] - ray->origin[i]) * ray->inverse[i];
        from = near > from ? near : from;
        to = far < to ? far : to;
    }
    *enter = from;
    return from <= to + 1e-12 * (1.0 + fabs(to));
}
PL_STATIC_ASSERT(sizeof(Bounds) == 6 * sizeof(f32), "bounds are six numbers in a row");

PL_BEGIN_C
/* Intersection with both sides of a triangle; writes t ≥ 0. Watertight: the volume spanned by a
 * shared edge and the ray is the same, except for its sign, for both triangles (Woop, Benthin,
 * Wald 2013). A ray in the triangle's plane misses. */
bool ray_triangle(const LocalRay *ray, const Vec3 corners[3], f64 *t);
/* The unit normal of a triangle on the side of the ray's origin. */
Vec3d ray_triangle_normal(const LocalRay *ray, const Vec3 corners[3]);
/* Nearest hit within [0, max] with the surface, from either side. */
bool mesh_ray(const TriangleMesh *mesh, const LocalRay *ray, f64 max, f64 *t, Vec3d *normal);
bool terrain_ray(const Terrain *terrain, const LocalRay *ray, f64 max, f64 *t, Vec3d *normal);
PL_END_C

#endif
