/*
 * crossing.h: watertight intersections of a line with a closed triangle surface: triangles that
 * share an edge use the same number to decide on which side of it the line passes, so that entries
 * and exits match even near edges and corners.
 * Layer: shared/geometry.
 */
#ifndef PLENUM_SHARED_GEOMETRY_CROSSING_H
#define PLENUM_SHARED_GEOMETRY_CROSSING_H

#include "shared/base/base.h"

#include <math.h>

/* A corner in the line's frame: u and v across, w along; equal points have equal `id`. */
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

/* Winding of the triangle about the line: +1 if its front is seen from larger w (u, v, w being
 * right-handed), −1 for its back, 0 for a miss. If not 0, *w is the intersection. */
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
    *w = at >= low ? fmin(at, high) : low; /* an edge-on triangle gives an arbitrary number, or
                                              none */
    return rotation;
}

#endif
