/*
 * gjk_internal.h: shared by gjk.c (distance) and gjk_depth.c (depth): convex shapes in working axes
 * with their support functions, and simplices of their difference.
 * Layer: server/physics/rigid/narrow, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_NARROW_GJK_INTERNAL_H
#define PLENUM_SERVER_PHYSICS_RIGID_NARROW_GJK_INTERNAL_H

#include "server/physics/rigid/narrow/gjk.h"
#include "shared/math/vec3d.h"

/* ---- convex shapes ---- */

typedef enum CoreKind {
    CORE_POINT,
    CORE_SEGMENT,
    CORE_BOX,
    CORE_CYLINDER,
    CORE_CONE,
    CORE_HULL,
    CORE_TRIANGLE
} CoreKind;

/* A shape in working axes. */
typedef struct Convex {
    CoreKind kind;
    Vec3d origin;
    Vec3d x, y, z;   /* the shape's axes */
    f64 radius;      /* of the core (cylinder, cone), m */
    f64 round;       /* of the rounding, m */
    f64 extent;      /* a length of the core, m: scale of tolerances */
    Vec3d half;      /* box; y: half height */
    Vec3d corner[3]; /* triangle */
    const Hull *hull;
} Convex;

/* Of a convex shape at a pose, or a triangle of world corners; working axes begin at the origin. */
void convex_set(Convex *c, const ShapePose *pose, Vec3d origin);
void convex_set_triangle(Convex *c, const Vec3 corners[3], Vec3d origin);
/* Of the core, in working axes; the direction need not be unit. */
Vec3d convex_support(const Convex *c, Vec3d d);

/* ---- the simplex in the difference a − b ---- */

typedef struct Corner {
    Vec3d w, a, b; /* w = a − b */
} Corner;

typedef struct Simplex {
    Corner corners[4];
    f64 weights[4];
    u32 count;
} Simplex;

/* The support point of the Minkowski difference a - b along d. */
static inline Corner corner_along(const Convex *a, const Convex *b, Vec3d d)
{
    Corner c;
    c.a = convex_support(a, d);
    c.b = convex_support(b, vec3d_neg(d));
    c.w = vec3d_sub(c.a, c.b);
    return c;
}

/* Point of three corners nearest to the origin; removes corners without weight. */
Vec3d simplex_solve_triangle(Simplex *s);
void simplex_points(const Simplex *s, Vec3d *on_a, Vec3d *on_b);

typedef enum SupportWalk {
    WALK_FAR,    /* farther than the limit */
    WALK_NEAR,   /* nearer than `enough`, stopped there */
    WALK_APART,  /* v is the shortest vector */
    WALK_OVERLAP /* the cores overlap (or touch to rounding) */
} SupportWalk;

/* Starts with the direction *v (in: any; out: the shortest vector of a − b). Ends when a
 * separating axis proves more than `limit`, or when v is no longer than `enough` (negative:
 * until convergence). */
SupportWalk gjk_walk(const Convex *a, const Convex *b, f64 limit, f64 enough, Vec3d *v, Simplex *s);

typedef struct Depth {
    Vec3d normal; /* a to b */
    f64 depth;    /* ≥ 0, of the cores */
    Vec3d on_a, on_b;
} Depth;

/* The penetration depth of two overlapping cores, from a simplex that contains or touches the
 * origin (van den Bergen 2001). */
void gjk_depth(const Convex *a, const Convex *b, const Simplex *s, Depth *depth);

#endif
