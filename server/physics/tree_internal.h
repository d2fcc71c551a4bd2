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

/* Bit i: child i overlaps the box. */
static inline u32 pair_overlaps(const TreePair *pair, const QueryBox *box)
{
    const f32x4 sign = {1.0f, 1.0f, -1.0f, -1.0f};
    f32x4 x = (pair_axis(pair, 0) - box->side[0]) * sign;
    f32x4 y = (pair_axis(pair, 1) - box->side[1]) * sign;
    f32x4 z = (pair_axis(pair, 2) - box->side[2]) * sign;
    f32x4 apart = f32x4_max(f32x4_max(x, y), z);
    apart = f32x4_max(apart, swapped(apart));
    return (apart[0] <= 0.0f ? 1u : 0u) | (apart[1] <= 0.0f ? 2u : 0u);
}

#endif
