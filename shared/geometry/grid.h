/*
 * grid.h: values on a regular grid along the world's axes, and rays through it: a surface of
 * heights over x and z, or voxels. Layer: shared/geometry.
 */
#ifndef PLENUM_SHARED_GEOMETRY_GRID_H
#define PLENUM_SHARED_GEOMETRY_GRID_H

#include "shared/geometry/shape.h"

PL_BEGIN_C

typedef struct Grid {
    u32 dims[3];       /* cells along x, y, z; heights: dims[1] = 1 */
    Vec3 origin;       /* m, centre of the first cell; heights are above it */
    Vec3 spacing;      /* m between cells, > 0; of heights x and z only */
    const f32 *values; /* [dims[0] · dims[1] · dims[2]], x fastest, then y; borrowed */
    bool heights;      /* values are m along y */
} Grid;

typedef struct GridHit {
    u32 element;  /* the voxel, or of the triangle's corners the nearest */
    f32 distance; /* m along the ray */
    Vec3 point;   /* m, world */
    Vec3 normal;  /* unit, towards where the ray comes from */
} GridHit;

/* Centre of a cell that has this value; of heights the point of the surface there. */
Vec3 grid_centre(const Grid *grid, u32 element, f32 value);
/* Heights: each square between four cells is two triangles, cut from (x + 1, z) to (x, z + 1). The
 * first of them that the ray meets, from either side, no farther than max_m. */
bool grid_ray_heights(const Grid *grid, Ray ray, f32 max_m, GridHit *hit);
/* Voxels: the first whose value is above the threshold; where the ray begins inside one, that. */
bool grid_ray_voxels(const Grid *grid, Ray ray, f32 max_m, f32 threshold, GridHit *hit);
/* Möller and Trumbore 1997, both sides: weights u, v of the second and third corner at the hit,
 * which may lie outside by a weight of `slack`. */
bool triangle_ray(const Vec3 corners[3], Ray ray, f32 max_m, f32 slack, f32 *distance, f32 *u,
                  f32 *v);

PL_END_C

#endif
