/*
 * gjk_inner.h: what gjk.c (distance) and gjk_depth.c (depth) share: f64 vectors, convex shapes in
 * working axes with their support functions, and simplices of their difference.
 * Layer: server/physics/rigid/narrow, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_NARROW_GJK_INNER_H
#define PLENUM_SERVER_PHYSICS_RIGID_NARROW_GJK_INNER_H

#include "server/physics/rigid/narrow/gjk.h"

typedef struct D3 {
    f64 x, y, z;
} D3;

static inline D3 d3(f64 x, f64 y, f64 z)
{
    D3 v = {x, y, z};
    return v;
}
static inline D3 d3_from(Vec3 v)
{
    return d3((f64)v.x, (f64)v.y, (f64)v.z);
}
static inline Vec3 d3_to(D3 v)
{
    return vec3((f32)v.x, (f32)v.y, (f32)v.z);
}
static inline D3 d3_add(D3 a, D3 b)
{
    return d3(a.x + b.x, a.y + b.y, a.z + b.z);
}
static inline D3 d3_sub(D3 a, D3 b)
{
    return d3(a.x - b.x, a.y - b.y, a.z - b.z);
}
static inline D3 d3_scale(D3 a, f64 s)
{
    return d3(a.x * s, a.y * s, a.z * s);
}
static inline D3 d3_along(D3 a, f64 s, D3 b)
{
    return d3(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z);
}
static inline D3 d3_neg(D3 a)
{
    return d3(-a.x, -a.y, -a.z);
}
static inline f64 d3_dot(D3 a, D3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static inline D3 d3_cross(D3 a, D3 b)
{
    return d3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
static inline f64 d3_length(D3 a)
{
    return sqrt(d3_dot(a, a));
}

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
    D3 origin;
    D3 x, y, z;   /* the shape's axes */
    f64 radius;   /* of the core (cylinder, cone), m */
    f64 round;    /* of the rounding, m */
    f64 extent;   /* a length that the core has, m: what tolerances are relative to */
    D3 half;      /* box; y: half height */
    D3 corner[3]; /* triangle */
    const Hull *hull;
} Convex;

/* Of the core, in working axes; the direction need not be unit. */
D3 convex_support(const Convex *c, D3 d);

/* ---- the simplex in the difference a − b ---- */

typedef struct Corner {
    D3 w, a, b; /* w = a − b */
} Corner;

typedef struct Simplex {
    Corner corners[4];
    f64 weights[4];
    u32 count;
} Simplex;

static inline Corner corner_along(const Convex *a, const Convex *b, D3 d)
{
    Corner c;
    c.a = convex_support(a, d);
    c.b = convex_support(b, d3_neg(d));
    c.w = d3_sub(c.a, c.b);
    return c;
}

/* Nearest to the origin of three corners; those without weight go. */
D3 simplex_solve_triangle(Simplex *s);
void simplex_points(const Simplex *s, D3 *on_a, D3 *on_b);

typedef struct Depth {
    D3 normal; /* a to b */
    f64 depth; /* ≥ 0, of the cores */
    D3 on_a, on_b;
} Depth;

/* The shortest way out of two overlapping cores, from a simplex that holds the origin or touches
 * it (van den Bergen 2001). */
void gjk_depth(const Convex *a, const Convex *b, const Simplex *s, Depth *depth);

#endif
