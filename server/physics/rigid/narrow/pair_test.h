/*
 * pair_test.h: tests of pairs as pure functions: a cheap yes or no (…_touch), and a variant that
 * finds point and time (…_meet), also for moving objects. Lengths in m, world axes. A motion is the
 * linear motion of the second relative to the first during the time 0..1; a pair that touches at
 * the start meets at time 0. Touching counts, within rounding. Numbers must be finite. Casts of any
 * two convex shapes are in gjk.h, queries of a world in query.h.
 * Layer: server/physics/rigid/narrow.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_NARROW_PAIR_TEST_H
#define PLENUM_SERVER_PHYSICS_RIGID_NARROW_PAIR_TEST_H

#include "server/physics/rigid/narrow/manifold.h"

typedef enum LineKind {
    LINE_SEGMENT = 0, /* from .. to */
    LINE_RAY = 1,     /* from `from` through `to` and beyond */
    LINE_INFINITE = 2 /* through both, in both directions */
} LineKind;

typedef struct Line {
    LineKind kind;
    Vec3 from, to; /* must differ */
} Line;

typedef struct Ball {
    Vec3 centre;
    f32 radius;
} Ball;

typedef struct OrientedBox {
    Vec3 centre, half;
    Quat orientation;
} OrientedBox;

typedef struct HalfSpace {
    Vec3 normal; /* unit; solid where normal · x < offset */
    f32 offset;
} HalfSpace;

typedef struct PairIntersection {
    f32 time;    /* for lines: in units of to − from; for motions 0..1 */
    Vec3 point;  /* contact point at that time, in the frame of the first (for lines: the world) */
    Vec3 normal; /* unit, out of the first (for lines: out of the object hit, against the line) */
} PairIntersection;

/* Line against a triangle, two-sided (Möller, Trumbore 1997). A line in the triangle's plane
 * misses. */
bool line_triangle_overlap(const Line *line, const Vec3 corners[3]);
bool line_triangle_intersect(const Line *line, const Vec3 corners[3], PairIntersection *meeting);
/* Line against any shape: for a whole line the hit nearest to `from`. From inside a solid: time
 * 0. */
bool line_shape_overlap(const Line *line, const ShapePose *shape);
bool line_shape_intersect(const Line *line, const ShapePose *shape, PairIntersection *meeting);

/* Two triangles (Möller 1997). Meeting: the two ends of their intersection; for coplanar
 * triangles any common point, twice. */
bool triangle_triangle_overlap(const Vec3 a[3], const Vec3 b[3]);
bool triangle_triangle_intersect(const Vec3 a[3], const Vec3 b[3], Vec3 ends[2]);
/* b moves. First contact of a corner with a face or of two edges, all linear in time. */
bool triangle_triangle_intersect_moving(const Vec3 a[3], const Vec3 b[3], Vec3 motion,
                                        PairIntersection *meeting);

/* Now, and while b moves by `motion` relative to a. */
bool sphere_sphere_overlap(Ball a, Ball b);
bool sphere_sphere_intersect(Ball a, Ball b, Vec3 motion, PairIntersection *meeting);

/* The box is the first. Arvo 1990; moving: a point against the box rounded by the radius. */
bool box_sphere_overlap(const OrientedBox *box, Ball ball);
bool box_sphere_intersect(const OrientedBox *box, Ball ball, Vec3 motion,
                          PairIntersection *meeting);

/* Separating axes (Gottschalk 1996); moving: intervals of overlap on each of the 15. */
bool box_box_overlap(const OrientedBox *a, const OrientedBox *b);
bool box_box_intersect(const OrientedBox *a, const OrientedBox *b, Vec3 motion,
                       PairIntersection *meeting);

/* The plane is the first. */
bool plane_sphere_overlap(HalfSpace plane, Ball ball);
bool plane_sphere_intersect(HalfSpace plane, Ball ball, Vec3 motion, PairIntersection *meeting);
bool plane_box_overlap(HalfSpace plane, const OrientedBox *box);
bool plane_box_intersect(HalfSpace plane, const OrientedBox *box, Vec3 motion,
                         PairIntersection *meeting);

#endif
