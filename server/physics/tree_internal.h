/*
 * tree_internal.h: shared by tree traversals: both children of a node are tested together, from
 * data at their parent.
 * Layer: server/physics, private to tree*.c.
 */
#ifndef PLENUM_SERVER_PHYSICS_TREE_INTERNAL_H
#define PLENUM_SERVER_PHYSICS_TREE_INTERNAL_H

#include "server/physics/tree.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* In TreePair.child: a leaf's data, otherwise a node. */
#define LEAF_BIT 0x80000000u

typedef f32 f32x4 __attribute__((vector_size(16)));
typedef i32 i32x4 __attribute__((vector_size(16)));

/* Per lane. */
static inline f32x4 f32x4_min(f32x4 a, f32x4 b)
{
#if defined(__SSE2__)
    return (f32x4)_mm_min_ps((__m128)a, (__m128)b);
#else
    i32x4 mask = a < b;
    return (f32x4)((mask & (i32x4)a) | (~mask & (i32x4)b));
#endif
}
static inline f32x4 f32x4_max(f32x4 a, f32x4 b)
{
#if defined(__SSE2__)
    return (f32x4)_mm_max_ps((__m128)a, (__m128)b);
#else
    i32x4 mask = a > b;
    return (f32x4)((mask & (i32x4)a) | (~mask & (i32x4)b));
#endif
}
static inline f32x4 pair_axis(const TreePair *pair, u32 axis)
{
    return *(const f32x4 *)(const void *)pair->axis[axis];
}
/* Swaps minima and maxima. */
static inline f32x4 swapped(f32x4 v)
{
    return __builtin_shufflevector(v, v, 2, 3, 0, 1);
}

/* The bounds of a query, swapped: the farther side against each side of the children. */
typedef struct QueryBox {
    f32x4 side[3];
} QueryBox;

/* One axis of a QueryBox. */
static inline f32x4 across(f32 min, f32 max)
{
    return (f32x4){max, max, min, min};
}

/* Of bounds in m. */
static inline QueryBox query_box(const Bounds *bounds)
{
    return (QueryBox){{across(bounds->min.x, bounds->max.x), across(bounds->min.y, bounds->max.y),
                       across(bounds->min.z, bounds->max.z)}};
}

/* m, how far the sides of both children lie outside the box along an axis; negative: inside. */
static inline f32x4 pair_outside(const TreePair *pair, const QueryBox *box, u32 axis)
{
    const f32x4 sign = {1.0f, 1.0f, -1.0f, -1.0f};
    return (pair_axis(pair, axis) - box->side[axis]) * sign;
}

/* bounds_gap of the box and each child, with the same bits. */
static inline void pair_gaps(const TreePair *pair, const QueryBox *box, f32 gaps[2])
{
    const f32x4 zero = {0.0f, 0.0f, 0.0f, 0.0f};
    f32x4 x = pair_outside(pair, box, 0), y = pair_outside(pair, box, 1);
    f32x4 z = pair_outside(pair, box, 2);
    x = f32x4_max(f32x4_max(x, swapped(x)), zero);
    y = f32x4_max(f32x4_max(y, swapped(y)), zero);
    z = f32x4_max(f32x4_max(z, swapped(z)), zero);
    f32x4 sum = x * x + y * y + z * z;
    gaps[0] = sqrtf(sum[0]);
    gaps[1] = sqrtf(sum[1]);
}

/* Bit i: child i overlaps the box. */
static inline u32 pair_overlaps(const TreePair *pair, const QueryBox *box)
{
    f32x4 x = pair_outside(pair, box, 0), y = pair_outside(pair, box, 1);
    f32x4 z = pair_outside(pair, box, 2);
    f32x4 apart = f32x4_max(f32x4_max(x, y), z);
    apart = f32x4_max(apart, swapped(apart));
    return (apart[0] <= 0.0f ? 1u : 0u) | (apart[1] <= 0.0f ? 2u : 0u);
}

#endif
