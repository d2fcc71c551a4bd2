/*
 * crossing.h: where a line through a closed surface of triangles goes in and out, without gaps:
 * triangles that share an edge decide by the same number on which side of it the line passes, so
 * that however near to edges and corners it comes, what goes in comes out.
 * Layer: shared/geometry.
 */
#ifndef PLENUM_SHARED_GEOMETRY_CROSSING_H
#define PLENUM_SHARED_GEOMETRY_CROSSING_H

#include "shared/base/base.h"

#include <math.h>

/* A corner as the line sees it: u and v across, w along; `id` is the same for equal points. */
typedef struct CrossingPoint {
    f64 u, v, w;
    u32 id;
} CrossingPoint;

/* +1 or −1 where the ray from (u, v) towards larger u crosses the edge upwards or downwards. */
static inline int crossing_edge(const CrossingPoint *from, const CrossingPoint *to, f64 u, f64 v)
{
    if ((from->v > v) == (to->v > v)) {
        return 0;
    }
    const CrossingPoint *a = from->id < to->id ? from : to, *b = from->id < to->id ? to : from;
    f64 left = (b->u - a->u) * (v - a->v) - (b->v - a->v) * (u - a->u);
    bool up = b->v > a->v;
    /* The edge lies towards larger u if the point is on its left as it goes up. */
    if (up ? !(left > 0.0) : !(left < 0.0)) {
        return 0;
    }
    return to->v > from->v ? 1 : -1;
}

/* How often the triangle turns about the line: +1 where its front is seen from larger w (u, v, w
 * being right-handed), −1 for its back, 0 beside it. Where it is not 0, *w is where they meet. */
static inline int crossing_triangle(const CrossingPoint corner[3], f64 u, f64 v, f64 *w)
{
    int rotation = crossing_edge(&corner[0], &corner[1], u, v) +
                   crossing_edge(&corner[1], &corner[2], u, v) +
                   crossing_edge(&corner[2], &corner[0], u, v);
    if (rotation == 0) {
        return 0;
    }
    const CrossingPoint *a = &corner[0], *b = &corner[1], *c = &corner[2];
    f64 bu = b->u - a->u, bv = b->v - a->v, cu = c->u - a->u, cv = c->v - a->v;
    f64 area = bu * cv - bv * cu, pu = u - a->u, pv = v - a->v;
    f64 s = (pu * cv - pv * cu) / area, t = (bu * pv - bv * pu) / area;
    f64 at = a->w + s * (b->w - a->w) + t * (c->w - a->w);
    f64 low = fmin(a->w, fmin(b->w, c->w)), high = fmax(a->w, fmax(b->w, c->w));
    *w = at >= low ? fmin(at, high) : low; /* an edge-on triangle gives any number, or none */
    return rotation;
}

#endif
