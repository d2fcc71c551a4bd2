/*
 * quickhull.h: triangles of the convex hull of points on an integer grid, by quickhull (Barber,
 * Dobkin, Huhdanpaa 1996) with exact arithmetic: a point is above, on or below a plane without
 * rounding, so coplanar, collinear and equal points need no tolerance and the result is always a
 * closed, convex surface. Used by geometry_hull.
 * Layer: shared/geometry.
 */
#ifndef PLENUM_SHARED_GEOMETRY_QUICKHULL_H
#define PLENUM_SHARED_GEOMETRY_QUICKHULL_H

#include "shared/base/base.h"

/* Coordinates lie in [0, 2^26]: normals then fit in 64 bits and determinants in 128. */
#define QUICKHULL_GRID (1 << 26)

typedef struct GridPoint {
    i32 x, y, z;
} GridPoint;

typedef struct QuickFace {
    u32 corner[3];
    u32 adjacent[3]; /* faces across the edges corner[i] → corner[i + 1] */
    i64 normal[3];   /* outwards, length is twice the area */
    f64 length;      /* of the normal */
    f64 far_distance;
    u32 far;   /* the farthest point above the face */
    u32 first; /* list of points above the face */
    bool live, visible;
} QuickFace;

/* Scratch memory, reusable for many runs. */
typedef struct QuickHull {
    const GridPoint *points; /* [count], of the last run, owned by the caller */
    QuickFace *faces;        /* [face_count], the hull is those with `live` */
    u32 face_count;
    u32 vertex_count; /* number of hull vertices */
    u32 *next;        /* [point_capacity] */
    u32 *start;       /* [point_capacity] the new face that starts at a horizon point */
    u32 *visible;     /* [face_capacity] */
    u32 *made;        /* [face_capacity] */
    u32 *spare;       /* [face_capacity] free slots */
    u32 spare_count;
    u32 point_capacity, face_capacity;
} QuickHull;

typedef enum QuickHullResult {
    QUICKHULL_POINT, /* all points are equal */
    QUICKHULL_LINE,
    QUICKHULL_FLAT,
    QUICKHULL_SOLID
} QuickHullResult;

PL_BEGIN_C
/* Allocates for clouds of point_capacity points and hulls of vertex_capacity vertices; false:
 * out of memory. */
bool quickhull_init(QuickHull *hull, u32 point_capacity, u32 vertex_capacity);
void quickhull_finish(QuickHull *hull);
/* Hull of the points (count ≤ point_capacity): adds the farthest point until no point lies more
 * than `tolerance` grid steps outside or `vertices_max` points are used (4 ≤ vertices_max ≤
 * vertex_capacity). A cloud no thicker than `thickness` grid steps gives no faces but its kind.
 * Equal points: the lowest index wins. */
QuickHullResult quickhull_run(QuickHull *hull, const GridPoint *points, u32 count, f64 tolerance,
                              f64 thickness, u32 vertices_max);
/* Six times the volume in cubic grid steps. */
f64 quickhull_volume6(const QuickHull *hull);
/* Distance of a point from a face's plane in grid steps; the sign is exact. */
f64 quickhull_distance(const QuickHull *hull, const QuickFace *face, GridPoint p);
PL_END_C

#endif
