/*
 * convex_parts.h: splits a closed mesh into convex parts that nearly fill it, so that concave
 * bodies can move: their parts become the children of a compound. Method: cut, again and again, the
 * part that its convex hull fills worst by the plane across an axis that leaves the least empty
 * space in the hulls of both halves (after the approximate convex decompositions of Lien, Amato
 * 2004 and Mamou, Ghorbel 2009, on a grid).
 * Layer: server/author.
 */
#ifndef PLENUM_SERVER_AUTHOR_CONVEX_PARTS_H
#define PLENUM_SERVER_AUTHOR_CONVEX_PARTS_H

#include "shared/geometry/geometry.h"

enum {
    CONVEX_PARTS_RESOLUTION_MIN = 8,
    CONVEX_PARTS_RESOLUTION_MAX = 128
};

typedef struct ConvexPartsOptions {
    u32 parts_max;    /* 1..COMPOUND_CHILDREN_MAX */
    u32 vertex_limit; /* of each hull, 4..HULL_VERTICES_MAX */
    u32 resolution;   /* grid steps along the longest side; details smaller than one are not seen */
    f32 tolerance;    /* 0..1: cut no more when the empty space in every hull is a smaller part of
                         the solid's volume than this */
} ConvexPartsOptions;

PL_BEGIN_C
/* 16 parts of up to 32 vertices, 40 steps, 1 %. */
ConvexPartsOptions convex_parts_default(void);
/*
 * Writes the hulls (GEOMETRY_HULL, in the mesh's frame, the caller's to destroy) of the parts to
 * hulls[parts_max] and returns how many, or 0 with an error: the mesh is not closed or has no
 * volume, or options are out of range. Neighbours share the plane of their cut. The same mesh gives
 * the same parts.
 */
u32 convex_parts(const Geometry *mesh, const ConvexPartsOptions *options, Geometry *hulls[],
                 ErrorText *error);
PL_END_C

#endif
