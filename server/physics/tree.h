/*
 * tree.h: a dynamic bounding volume tree (broad phase, point and box queries). Leaves carry a u32
 * of the caller. The shape of the tree depends on the order of insertions, so callers that need
 * reproducible results sort query results.
 * Method: surface area heuristic insertion with rotations (Catto, "Dynamic Bounding Volume
 * Hierarchies", GDC 2019).
 * Layer: server/physics.
 */
#ifndef PLENUM_SERVER_PHYSICS_TREE_H
#define PLENUM_SERVER_PHYSICS_TREE_H

#include "shared/base/jobs.h"
#include "shared/geometry/shape.h"

#define TREE_NONE  0xffffffffu
/* Maximal depth for queries and updates; rotations keep real trees far below it. */
#define TREE_STACK 256

typedef struct TreeNode {
    Bounds bounds;
    u32 parent; /* next free node while on the free list */
    u32 child[2];
    u32 data; /* of a leaf; otherwise the number of leaves below */
    u32 leaf; /* 1: leaf */
} TreeNode;

/* The traversal data of an inner node in one cache line: the bounds of its children interleaved,
 * and their references: a node, or a leaf's data with the highest bit set. */
typedef struct TreePair {
    f32 axis[3][4]; /* m: of x, y and z the minima of both children, then the maxima */
    u32 child[2];
    u32 unused[2];
} TreePair;

typedef struct Tree {
    TreeNode *nodes; /* [capacity] */
    TreePair *pairs; /* [capacity] of inner nodes, aligned to 64 bytes */
    u32 capacity, free, root, leaf_count;
    bool built;    /* built by tree_build: each node before those below it */
    f32 area;      /* m², total area of inner nodes at the first refit since; 0: none */
    u32 *order;    /* [leaf capacity] scratch of tree_build */
    Vec3 *centres; /* [leaf capacity] */
} Tree;

/* Allocates for `leaf_capacity` leaves; false: out of memory. Nothing is allocated afterwards. */
bool tree_init(Tree *tree, u32 leaf_capacity);
void tree_finish(Tree *tree);
void tree_clear(Tree *tree);
/* Returns the leaf's node, valid until removed. data < 2^31. */
u32 tree_insert(Tree *tree, Bounds bounds, u32 data);
void tree_remove(Tree *tree, u32 node);
/* Replaces the tree by one of all leaves: leaf i has bounds[data[i]] and data[i] (each once),
 * and its node is written to leaves[data[i]]. Far cheaper than single insertions; splits at the
 * middle of the centres along the longest side. The same tree for any pool; jobs may be NULL. */
void tree_build(Tree *tree, const Bounds *bounds, size_t stride, const u32 *data, u32 count,
                u32 *leaves, Jobs *jobs);
/* Sets the bounds of leaves data[i] to bounds[data[i]] and keeps the tree's shape, far cheaper
 * than building. False: the shape has degraded or does not come from tree_build, and the tree
 * must be built before use. */
bool tree_refit(Tree *tree, const Bounds *bounds, size_t stride, const u32 *data, u32 count,
                const u32 *leaves);
/* Aborts if the tree is inconsistent: each node below its parent and within its bounds, pairs
 * and leaf counts derived from the nodes, every other node free. */
void tree_validate(const Tree *tree);
/* Calls visit(context, data) for each leaf with overlapping bounds. */
typedef void TreeVisit(void *context, u32 data);
void tree_query(const Tree *tree, Bounds bounds, TreeVisit *visit, void *context);

/* Overlapping pairs of leaves: one of each tree, or, if both are the same tree, each pair once.
 * Traverses both trees together, which is cheaper than a query per leaf. The traversal is
 * divided into parts for threads. */
enum {
    TREE_PARTS = 192 /* maximum */
};
typedef enum TreePartKind {
    TREE_SELF,
    TREE_CROSS,
    TREE_ROOTS
} TreePartKind;
typedef struct TreePart {
    TreePartKind kind;
    u32 a, b; /* a node; TREE_CROSS: two children, each as 2 × parent + side */
} TreePart;
/* Fills parts and returns their number. */
u32 tree_overlap_parts(const Tree *a, const Tree *b, TreePart parts[TREE_PARTS]);
/* Calls visit(context, one, other) for the overlaps in a part. */
typedef void TreePairVisit(void *context, u32 one, u32 other);
void tree_overlaps(const Tree *a, const Tree *b, const TreePart *part, TreePairVisit *visit,
                   void *context);

/* A box with half size `extent` (zero: a point) moves from `origin` by t × direction, t in [0,
 * max]. Calls visit(context, data, max) for each leaf that it may hit, roughly front to back;
 * visit returns the largest t still of interest (≤ max), negative to stop. Leaves hit at exactly
 * that t are still visited, so that the caller can break ties. */
typedef f32 TreeCastVisit(void *context, u32 data, f32 max);
void tree_cast(const Tree *tree, Vec3 origin, Vec3 extent, Vec3 direction, f32 max,
               TreeCastVisit *visit, void *context);
/* Visits leaves with bounds within `max` (m) of the box, roughly nearest first; visit returns
 * the largest distance still of interest, negative to stop. */
void tree_nearest(const Tree *tree, Bounds box, f32 max, TreeCastVisit *visit, void *context);

/* ---- a box that moves along a line, against boxes that rest ---- */

typedef struct BoxCast {
    Vec3 low, high; /* of the box at the start, m */
    Vec3 inverse;   /* of the direction, bounded */
} BoxCast;

/* Bounded, so that 0 × inverse is 0 and never NaN; without motion along an axis only overlapping
 * boxes are hit. */
static inline f32 box_cast_inverse(f32 d)
{
    const f32 huge = 1e30f;
    return fabsf(d) > 1.0f / huge ? 1.0f / d : copysignf(huge, d);
}
/* Enlarged by two millimetres, so that grazing hits are not lost by rounding. */
static inline BoxCast box_cast(Vec3 origin, Vec3 extent, Vec3 direction)
{
    Vec3 slack = vec3_add(extent, vec3(2e-3f, 2e-3f, 2e-3f));
    BoxCast cast = {vec3_sub(origin, slack),
                    vec3_add(origin, slack),
                    {box_cast_inverse(direction.x), box_cast_inverse(direction.y),
                     box_cast_inverse(direction.z)}};
    return cast;
}
/* The t ≥ 0 of origin + t direction at which the box enters the bounds; INFINITY if not before
 * `max`. */
static inline f32 box_cast_enter(const BoxCast *s, const Bounds *b, f32 max)
{
    f32 x0 = (b->min.x - s->high.x) * s->inverse.x, x1 = (b->max.x - s->low.x) * s->inverse.x;
    f32 y0 = (b->min.y - s->high.y) * s->inverse.y, y1 = (b->max.y - s->low.y) * s->inverse.y;
    f32 z0 = (b->min.z - s->high.z) * s->inverse.z, z1 = (b->max.z - s->low.z) * s->inverse.z;
    f32 enter = f32_max(f32_max(f32_min(x0, x1), f32_min(y0, y1)), f32_max(f32_min(z0, z1), 0.0f));
    f32 leave = f32_min(f32_min(f32_max(x0, x1), f32_max(y0, y1)), f32_min(f32_max(z0, z1), max));
    return enter <= leave ? enter : INFINITY;
}
/* Distance between two boxes, 0 if they overlap. */
static inline f32 bounds_gap(const Bounds *a, const Bounds *b)
{
    Vec3 gap = vec3_max(vec3_sub(a->min, b->max), vec3_sub(b->min, a->max));
    return vec3_length(vec3_max(gap, vec3_zero()));
}
static inline Vec3 bounds_middle(Bounds b)
{
    return vec3_scale(vec3_add(b.min, b.max), 0.5f);
}
static inline Vec3 bounds_half(Bounds b)
{
    return vec3_scale(vec3_sub(b.max, b.min), 0.5f);
}

#endif
