/*
 * tree_overlap.c: overlapping leaves of two trees, or of one: both are traversed together, divided
 * into parts for threads.
 */
#include "server/physics/tree_internal.h"

#include <string.h>

typedef struct TreeWalk {
    const Tree *a, *b;
    TreePairVisit *visit;
    void *context;
} TreeWalk;

/* A child is referenced by its parent and side, as 2 × parent + side. */
static inline u32 reference(const Tree *tree, u32 child)
{
    return tree->pairs[child >> 1].child[child & 1u];
}

static inline QueryBox child_box(const Tree *tree, u32 child)
{
    const TreePair *pair = &tree->pairs[child >> 1];
    f32x4 x = pair_axis(pair, 0), y = pair_axis(pair, 1), z = pair_axis(pair, 2);
    if (child & 1u) {
        return (QueryBox){{__builtin_shufflevector(x, x, 3, 3, 1, 1),
                           __builtin_shufflevector(y, y, 3, 3, 1, 1),
                           __builtin_shufflevector(z, z, 3, 3, 1, 1)}};
    }
    return (QueryBox){{__builtin_shufflevector(x, x, 2, 2, 0, 0),
                       __builtin_shufflevector(y, y, 2, 2, 0, 0),
                       __builtin_shufflevector(z, z, 2, 2, 0, 0)}};
}

static inline f32 child_size(const Tree *tree, u32 child)
{
    const TreePair *pair = &tree->pairs[child >> 1];
    u32 side = child & 1u;
    f32 x = pair->axis[0][2 + side] - pair->axis[0][side];
    f32 y = pair->axis[1][2 + side] - pair->axis[1][side];
    f32 z = pair->axis[2][2 + side] - pair->axis[2][side];
    return x * y + y * z + z * x;
}

/* Of two children, not both leaves, the larger is expanded. */
typedef struct Opened {
    u32 overlaps; /* bit 0, 1: its left, right child overlaps the other one */
    u32 children; /* the left one */
    bool is_a;    /* it belongs to the first tree */
} Opened;

static inline Opened open_larger(const Tree *a, const Tree *b, u32 one, u32 other)
{
    u32 x = reference(a, one), y = reference(b, other);
    bool is_a = (y & LEAF_BIT) || (!(x & LEAF_BIT) && child_size(a, one) >= child_size(b, other));
    QueryBox box = is_a ? child_box(b, other) : child_box(a, one);
    const TreePair *pair = is_a ? &a->pairs[x] : &b->pairs[y];
    return (Opened){pair_overlaps(pair, &box), 2 * (is_a ? x : y), is_a};
}

static inline bool is_leaf(const Tree *tree, u32 child)
{
    return (reference(tree, child) & LEAF_BIT) != 0;
}

/* Two overlapping children. */
static void walk_cross(const TreeWalk *walk, u32 one, u32 other)
{
    const Tree *a = walk->a, *b = walk->b;
    u32 x = reference(a, one), y = reference(b, other);
    if (x & y & LEAF_BIT) {
        walk->visit(walk->context, x & ~LEAF_BIT, y & ~LEAF_BIT);
        return;
    }
    Opened opened = open_larger(a, b, one, other);
    for (u32 side = 0; side < 2; side++) {
        if (opened.overlaps & 1u << side) {
            u32 child = opened.children + side;
            walk_cross(walk, opened.is_a ? child : one, opened.is_a ? other : child);
        }
    }
}

static bool children_overlap(const Tree *tree, u32 node)
{
    QueryBox left = child_box(tree, 2 * node);
    return (pair_overlaps(&tree->pairs[node], &left) & 2u) != 0;
}

static void walk_self(const TreeWalk *walk, u32 node)
{
    for (u32 side = 0; side < 2; side++) {
        u32 child = reference(walk->a, 2 * node + side);
        if (!(child & LEAF_BIT)) {
            walk_self(walk, child);
        }
    }
    if (children_overlap(walk->a, node)) {
        walk_cross(walk, 2 * node, 2 * node + 1);
    }
}

typedef struct LeafVisit {
    const TreeWalk *walk;
    u32 data;
    bool swapped;
} LeafVisit;

static void leaf_visit(void *context, u32 data)
{
    const LeafVisit *leaf = context;
    leaf->walk->visit(leaf->walk->context, leaf->swapped ? data : leaf->data,
                      leaf->swapped ? leaf->data : data);
}

/* One of the two trees is a single leaf. */
static void walk_roots(const TreeWalk *walk)
{
    const TreeNode *a = &walk->a->nodes[walk->a->root], *b = &walk->b->nodes[walk->b->root];
    LeafVisit leaf = {walk, a->leaf ? a->data : b->data, !a->leaf};
    tree_query(a->leaf ? walk->b : walk->a, a->leaf ? a->bounds : b->bounds, leaf_visit, &leaf);
}

void tree_overlaps(const Tree *a, const Tree *b, const TreePart *part, TreePairVisit *visit,
                   void *context)
{
    TreeWalk walk = {a, b, visit, context};
    switch (part->kind) {
    case TREE_SELF:
        walk_self(&walk, part->a);
        break;
    case TREE_CROSS:
        walk_cross(&walk, part->a, part->b);
        break;
    case TREE_ROOTS:
        walk_roots(&walk);
        break;
    }
}

/* ---- parts ---- */

/* Divides a part into up to three smaller ones; indivisible parts are kept. */
static u32 divide(const Tree *a, const Tree *b, const TreePart *part, TreePart out[3])
{
    u32 count = 0;
    if (part->kind == TREE_SELF) {
        for (u32 side = 0; side < 2; side++) {
            u32 child = reference(a, 2 * part->a + side);
            if (!(child & LEAF_BIT)) {
                out[count++] = (TreePart){TREE_SELF, child, 0};
            }
        }
        if (children_overlap(a, part->a)) {
            out[count++] = (TreePart){TREE_CROSS, 2 * part->a, 2 * part->a + 1};
        }
        return count;
    }
    if (part->kind == TREE_ROOTS || (is_leaf(a, part->a) && is_leaf(b, part->b))) {
        out[0] = *part;
        return 1;
    }
    Opened opened = open_larger(a, b, part->a, part->b);
    for (u32 side = 0; side < 2; side++) {
        if (opened.overlaps & 1u << side) {
            u32 child = opened.children + side;
            out[count++] = (TreePart){TREE_CROSS, opened.is_a ? child : part->a,
                                      opened.is_a ? part->b : child};
        }
    }
    return count;
}

/* The initial parts. */
static u32 first_parts(const Tree *a, const Tree *b, TreePart *parts)
{
    if (a->root == TREE_NONE || b->root == TREE_NONE) {
        return 0;
    }
    bool leaves = a->nodes[a->root].leaf || b->nodes[b->root].leaf;
    if (a == b) {
        parts[0] = (TreePart){TREE_SELF, a->root, 0};
        return leaves ? 0 : 1;
    }
    if (leaves) {
        parts[0] = (TreePart){TREE_ROOTS, 0, 0};
        return 1;
    }
    u32 count = 0;
    for (u32 side = 0; side < 2; side++) {
        QueryBox box = child_box(a, 2 * a->root + side);
        u32 overlaps = pair_overlaps(&b->pairs[b->root], &box);
        for (u32 other = 0; other < 2; other++) {
            if (overlaps & 1u << other) {
                parts[count++] = (TreePart){TREE_CROSS, 2 * a->root + side, 2 * b->root + other};
            }
        }
    }
    return count;
}

u32 tree_overlap_parts(const Tree *a, const Tree *b, TreePart parts[TREE_PARTS])
{
    enum {
        ROUNDS = 8
    };
    u32 count = first_parts(a, b, parts);
    TreePart next[TREE_PARTS];
    for (u32 round = 0; round < ROUNDS && count > 0 && count * 3 <= TREE_PARTS; round++) {
        u32 made = 0;
        for (u32 i = 0; i < count; i++) {
            made += divide(a, b, &parts[i], &next[made]);
        }
        memcpy(parts, next, made * sizeof(*parts));
        count = made;
    }
    return count;
}
