/*
 * manifold_solid.h: convex shapes for the contact routines: in common working axes, with support
 * points, flat faces and the feature facing a direction; and clipping of one feature by another's
 * face. All lengths in m, all positions in working axes.
 * Layer: server/physics/rigid/narrow, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_NARROW_MANIFOLD_SOLID_H
#define PLENUM_SERVER_PHYSICS_RIGID_NARROW_MANIFOLD_SOLID_H

#include "server/physics/rigid/narrow/gjk.h"

enum {
    /* A face of a hull has at most its vertices; clipping by n edges adds at most n corners. */
    POLYGON_MAX = HULL_VERTICES_MAX,
    CLIPPED_MAX = 2 * HULL_VERTICES_MAX,
    /* Corners of a disc: as incident polygon, and as clipping polygon. */
    DISC_CORNERS = 8,
    DISC_CLIP_CORNERS = 16
};

/* Bits of the feature of a point of two solids (manifold_clip's `id` provides the rest): */
#define FEATURE_CUT      (1u << 31)       /* created by clipping, no corner of either solid */
#define FEATURE_SWAPPED  (1u << 28)       /* the reference face is b's */
#define FEATURE_OF_FACE  (64u << 7 | 64u) /* labels of the clipping face only */
#define FEATURE_INCIDENT 0x1FFFFFu        /* the incident feature and its labels */

typedef enum SolidKind {
    SOLID_POINT,    /* a sphere: round */
    SOLID_SEGMENT,  /* a capsule: round */
    SOLID_POLYTOPE, /* a hull, a box or a triangle */
    SOLID_CYLINDER,
    SOLID_CONE
} SolidKind;

typedef struct Solid {
    SolidKind kind;
    bool triangle;
    Mat3 frame;
    Vec3 centre;
    f32 radius, half_height, round;
    f32 extent;     /* the smallest half size: scale of contact tolerances */
    ShapePose pose; /* relative to the working origin: for gjk.h; triangles have none */
    const Hull *hull;
    /* Boxes and triangles are hulls created here. */
    Hull own;
    Vec3 own_vertices[8], own_normals[2];
    f32 own_offsets[6];
} Solid;

/* A corner, an edge or a face: 1, 2 or more corners, counter-clockwise seen from outside. */
typedef struct Polygon {
    u32 count;
    u32 id;                 /* id of the feature within the solid: below 256 */
    u8 labels[POLYGON_MAX]; /* of the corner and of the edge that starts there: below 64 */
    Vec3 corners[POLYGON_MAX];
} Polygon;

/* Initializes a solid. It contains pointers into itself and must not be copied. `position` and
 * `frame` in working axes. */
void solid_set(Solid *solid, const Shape *shape, Vec3 position, Quat orientation);
/* Corners in working axes; counter-clockwise seen from the front. */
void solid_set_triangle(Solid *solid, const Vec3 corners[3]);

/* Support point of the core along n. */
Vec3 solid_support(const Solid *solid, Vec3 n);
/* A point well inside the core, and the radius of a ball about it within the core (0: none). */
Vec3 solid_middle(const Solid *solid, f32 *radius);
/* Flat faces: their number, and the outward normal of one and a point on it. */
u32 solid_face_count(const Solid *solid);
Vec3 solid_face(const Solid *solid, u32 face, Vec3 *on);
/* All corners of a flat face; discs get DISC_CLIP_CORNERS, the first towards `lean` (working
 * axes) if the disc leans noticeably, otherwise fixed to the solid. */
void solid_polygon(const Solid *solid, u32 face, Vec3 lean, Polygon *polygon);
/* The feature facing n: a face, an edge (the side of a cylinder or cone, a capsule's axis) or a
 * point. */
void solid_feature(const Solid *solid, Vec3 n, Polygon *polygon);
/* Distance of the point above the surface if it is inside or over a face: the maximum of the
 * distances to the flat faces and the side; *face is the flat face of the maximum, or
 * UINT32_MAX. */
f32 solid_outside(const Solid *solid, Vec3 p, u32 *face);

typedef struct ClipLimits {
    f32 round;  /* m, of the incident solid */
    f32 slack;  /* m that points may lie beside the face, so that equal faces keep their corners */
    f32 margin; /* m: what is farther from the face is left out */
} ClipLimits;
/*
 * Points of the incident feature over a face of the reference polygon with the outward normal n.
 * Writes at most CLIPPED_MAX points with features from `id` and labels, and returns how many.
 */
u32 manifold_clip(const Polygon *reference, Vec3 n, const Polygon *incident,
                  const ClipLimits *limits, u32 id, ManifoldPoint *points);
/* Appends the deepest point, the farthest from it, and the two that span most to either side. */
void manifold_reduce(const ManifoldPoint *points, u32 count, Vec3 normal, Manifold *manifold);

/* Gathers points of many parts into at most MANIFOLDS_MAX manifolds by their normals (merged
 * within about 5°), so that work and memory are bounded. */
enum {
    GATHER_POINTS = 24
};
typedef struct GatherGroup {
    Vec3 normal; /* of its deepest point */
    f32 deepest;
    u32 count;
    ManifoldPoint points[GATHER_POINTS];
} GatherGroup;
typedef struct Gather {
    GatherGroup groups[MANIFOLDS_MAX];
    u32 count;
    f32 same; /* m: points nearer to each other than this are merged */
} Gather;
void gather_begin(Gather *gather, f32 same);
void gather_add(Gather *gather, Vec3 normal, const ManifoldPoint *points, u32 count);
/* Writes the deepest `capacity` groups in the order of creation. */
u32 gather_end(Gather *gather, Manifold *manifolds, u32 capacity);
/* A hashed id of a part's point. */
u32 feature_mix(u32 part, u32 feature);

/* Any two convex shapes, by their solids. */
void manifold_convex(const ShapePose *a, const ShapePose *b, f32 margin, Manifold *manifold);
/* A mesh or terrain (first) with a convex shape; a compound (first) with anything. */
u32 manifold_triangles(const ShapePose *ground, const ShapePose *convex, f32 margin,
                       Manifold *manifolds, u32 capacity);
/* collide: of a child with the other (manifold_collide). */
typedef u32 ManifoldCollide(const ShapePose *a, const ShapePose *b, f32 margin, Manifold *manifolds,
                            u32 capacity);
u32 manifold_compound(const ShapePose *compound, const ShapePose *other, f32 margin,
                      ManifoldCollide *collide, Manifold *manifolds, u32 capacity);

typedef enum CurveTouch {
    CURVES_UNKNOWN, /* use gjk.h */
    CURVES_APART,   /* farther apart than the margin */
    CURVES_PROVED   /* the result is exact */
} CurveTouch;
/* Contact of two solids by a rim, a side, an edge or a corner, near an approximate axis (unit,
 * from a to b). Overlaps of more than `shallow` (m) are never proved. */
CurveTouch manifold_curves(const Solid *a, const Solid *b, Vec3 hint, f32 shallow, f32 margin,
                           GjkResult *result);
/* Contacts of two solids in working axes, normal from a to b; writes nothing if they are farther
 * apart than margin. A triangle must be a, and is then one-sided. */
void manifold_solids(const Solid *a, const Solid *b, f32 margin, Manifold *manifold);

#endif
