/*
 * grid.h: values on a regular axis-aligned grid, and ray casts against it: a height field over x
 * and z, or voxels.
 * Layer: shared/geometry.
 */
#ifndef PLENUM_SHARED_GEOMETRY_GRID_H
#define PLENUM_SHARED_GEOMETRY_GRID_H

#include "shared/geometry/shape.h"

PL_BEGIN_C

typedef struct Grid {
    u32 dims[3];       /* cells along x, y, z; heights: dims[1] = 1 */
    Vec3 origin;       /* m, centre of the first cell; heights are relative to it */
    Vec3 spacing;      /* m between cells, > 0; for heights x and z only */
    const f32 *values; /* [dims[0] · dims[1] · dims[2]], x fastest, then y; borrowed */
    bool heights;      /* values are m along y */
} Grid;

typedef struct GridHit {
    u32 element;  /* the voxel, or the nearest corner of the triangle */
    f32 distance; /* m along the ray */
    Vec3 point;   /* m, world */
    Vec3 normal;  /* unit, towards the origin of the ray */
} GridHit;

/* Centre of a cell with this value; for heights the point on the surface. */
Vec3 grid_centre(const Grid *grid, u32 element, f32 value);
/* Heights: each square between four cells is two triangles, split from (x + 1, z) to (x, z + 1).
 * The first one hit by the ray, from either side, within max_m. */
bool grid_ray_heights(const Grid *grid, Ray ray, f32 max_m, GridHit *hit);
/* Voxels: the first one whose value exceeds the threshold; if the ray starts inside one, that
 * one. */
bool grid_ray_voxels(const Grid *grid, Ray ray, f32 max_m, f32 threshold, GridHit *hit);
/* Möller and Trumbore 1997, two-sided: weights u, v of the second and third corner at the hit,
 * which may lie outside by a weight of `slack`. */
bool triangle_ray(const Vec3 corners[3], Ray ray, f32 max_m, f32 slack, f32 *distance, f32 *u,
                  f32 *v);

PL_END_C

#endif
