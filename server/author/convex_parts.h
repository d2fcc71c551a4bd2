/*
 * convex_parts.h: convex decomposition of a closed mesh, so that concave bodies can move: the parts
 * become the children of a compound. Method: repeatedly cut the part that fills its convex hull
 * worst, by the axis-aligned plane that leaves the least empty space in the hulls of both halves
 * (after the approximate convex decompositions of Lien, Amato 2004 and Mamou, Ghorbel 2009, on a
 * grid).
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
    u32 resolution;   /* grid steps along the longest side; smaller details are ignored */
    f32 tolerance;    /* 0..1: stop when the empty space in every hull is less than this fraction
                         of the solid's volume */
} ConvexPartsOptions;

PL_BEGIN_C
/* 16 parts of up to 32 vertices, 40 steps, 1 %. */
ConvexPartsOptions convex_parts_default(void);
/* Writes the hulls of the parts (GEOMETRY_HULL, in the mesh's frame, owned by the caller) to
 * hulls[parts_max] and returns their number, or 0 with an error: the mesh is not closed or has
 * no volume, or options are out of range. Neighbours share the plane of their cut.
 * Deterministic. */
u32 convex_parts(const Geometry *mesh, const ConvexPartsOptions *options, Geometry *hulls[],
                 ErrorText *error);
PL_END_C

#endif
