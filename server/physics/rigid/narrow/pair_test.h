/*
 * pair_test.h: tests of one pair of things, as pure functions: a cheap yes or no (…_touch), and the
 * form that finds point and time (…_meet), also while they move. Lengths in m, world axes. A motion
 * is the straight way of the second relative to the first during the time 0..1; a pair that touches
 * at the start meets at time 0. Touching counts, within rounding. Numbers must be finite.
 * Casts of any two convex shapes are in gjk.h, bodies of a world in query.h.
 * Layer: server/physics/rigid/narrow.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_NARROW_PAIR_TEST_H
#define PLENUM_SERVER_PHYSICS_RIGID_NARROW_PAIR_TEST_H

#include "server/physics/rigid/narrow/manifold.h"

typedef enum LineKind {
    LINE_SEGMENT = 0, /* from .. to */
    LINE_RAY = 1,     /* from `from` through `to` and on */
    LINE_WHOLE = 2    /* through both, both ways */
} LineKind;

typedef struct Line {
    LineKind kind;
    Vec3 from, to; /* not the same */
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
    Vec3 normal; /* unit; solid is where normal · x < offset */
    f32 offset;
} HalfSpace;

typedef struct PairMeeting {
    f32 time;   /* of lines: in units of to − from; of motions 0..1 */
    Vec3 point; /* where they touch at that time, in the frame of the first (of lines: the world) */
    Vec3 normal; /* unit, out of the first (of lines: out of what is hit, against the line) */
} PairMeeting;

/* Lines against a triangle, both sides (Möller, Trumbore 1997). A line in the triangle's plane
 * misses. */
bool line_triangle_touch(const Line *line, const Vec3 corners[3]);
bool line_triangle_meet(const Line *line, const Vec3 corners[3], PairMeeting *meeting);
/* Lines against any shape: of a whole line the touch nearest to `from`. From inside a solid: time
 * 0. */
bool line_shape_touch(const Line *line, const ShapePose *shape);
bool line_shape_meet(const Line *line, const ShapePose *shape, PairMeeting *meeting);

/* Two triangles (Möller 1997). Meeting: the two ends of what they have in common; of triangles in
 * one plane any common point, twice. */
bool triangle_triangle_touch(const Vec3 a[3], const Vec3 b[3]);
bool triangle_triangle_meet(const Vec3 a[3], const Vec3 b[3], Vec3 ends[2]);
/* b moves. First touch of a corner with a face or of two edges, all of which are linear in time. */
bool triangle_triangle_meet_moving(const Vec3 a[3], const Vec3 b[3], Vec3 motion,
                                   PairMeeting *meeting);

bool sphere_sphere_touch(Ball a, Ball b);
bool sphere_sphere_meet(Ball a, Ball b, Vec3 motion, PairMeeting *meeting);

/* The box is the first. Arvo 1990; moving: a point against the box rounded by the radius. */
bool box_sphere_touch(const OrientedBox *box, Ball ball);
bool box_sphere_meet(const OrientedBox *box, Ball ball, Vec3 motion, PairMeeting *meeting);

/* Separating axes (Gottschalk 1996), moving: the times of overlap on each of the 15. */
bool box_box_touch(const OrientedBox *a, const OrientedBox *b);
bool box_box_meet(const OrientedBox *a, const OrientedBox *b, Vec3 motion, PairMeeting *meeting);

/* The plane is the first. */
bool plane_sphere_touch(HalfSpace plane, Ball ball);
bool plane_sphere_meet(HalfSpace plane, Ball ball, Vec3 motion, PairMeeting *meeting);
bool plane_box_touch(HalfSpace plane, const OrientedBox *box);
bool plane_box_meet(HalfSpace plane, const OrientedBox *box, Vec3 motion, PairMeeting *meeting);

#endif
