/*
 * tree_overlap.c: which leaves of two trees, or of one, overlap: both are walked together, part by
 * part, so that threads can share the parts.
 */
#include "server/physics/tree_inner.h"

#include <string.h>

typedef struct Walk {
    const Tree *a, *b;
    TreePairVisit *visit;
    void *context;
} Walk;

/* A child is named by its parent and its side there. */
static inline QueryBox child_box(const Tree *tree, u32 parent, u32 side)
{
    const TreePair *pair = &tree->pairs[parent];
    return (QueryBox){{across(pair->axis[0][side], pair->axis[0][2 + side]),
                       across(pair->axis[1][side], pair->axis[1][2 + side]),
                       across(pair->axis[2][side], pair->axis[2][2 + side])}};
}

static inline f32 child_size(const Tree *tree, u32 parent, u32 side)
{
    const TreePair *pair = &tree->pairs[parent];
    f32 x = pair->axis[0][2 + side] - pair->axis[0][side];
    f32 y = pair->axis[1][2 + side] - pair->axis[1][side];
    f32 z = pair->axis[2][2 + side] - pair->axis[2][side];
    return x * y + y * z + z * x;
}

/* Bit 0, 1: the left, the right child of what is opened overlaps the other part. Of two nodes the
 * larger is opened; *opens_a says which. Not for two leaves. */
static inline u32 cross_open(const Tree *a, const Tree *b, const TreePart *part, bool *opens_a)
{
    u32 one = a->pairs[part->a].child[part->side_a], other = b->pairs[part->b].child[part->side_b];
    *opens_a = (other & LEAF_BIT) ||
               (!(one & LEAF_BIT) &&
                child_size(a, part->a, part->side_a) >= child_size(b, part->b, part->side_b));
    QueryBox box =
        *opens_a ? child_box(b, part->b, part->side_b) : child_box(a, part->a, part->side_a);
    return pair_overlaps(*opens_a ? &a->pairs[one] : &b->pairs[other], &box);
}

static bool is_leaf(const Tree *tree, u32 parent, u32 side)
{
    return (tree->pairs[parent].child[side] & LEAF_BIT) != 0;
}

static TreePart cross_child(const Tree *a, const Tree *b, const TreePart *part, bool opens_a,
                            u32 side)
{
    TreePart child = *part;
    if (opens_a) {
        child.a = a->pairs[part->a].child[part->side_a];
        child.side_a = (u8)side;
    } else {
        child.b = b->pairs[part->b].child[part->side_b];
        child.side_b = (u8)side;
    }
    return child;
}

/* Two parts that overlap. */
static void walk_cross(const Walk *walk, const TreePart *part)
{
    const Tree *a = walk->a, *b = walk->b;
    if (is_leaf(a, part->a, part->side_a) && is_leaf(b, part->b, part->side_b)) {
        walk->visit(walk->context, a->pairs[part->a].child[part->side_a] & ~LEAF_BIT,
                    b->pairs[part->b].child[part->side_b] & ~LEAF_BIT);
        return;
    }
    bool opens_a;
    u32 overlaps = cross_open(a, b, part, &opens_a);
    for (u32 side = 0; side < 2; side++) {
        if (overlaps & 1u << side) {
            TreePart child = cross_child(a, b, part, opens_a, side);
            walk_cross(walk, &child);
        }
    }
}

static bool children_overlap(const Tree *tree, u32 node)
{
    QueryBox left = child_box(tree, node, 0);
    return (pair_overlaps(&tree->pairs[node], &left) & 2u) != 0;
}

static void walk_self(const Walk *walk, u32 node)
{
    for (u32 side = 0; side < 2; side++) {
        if (!is_leaf(walk->a, node, side)) {
            walk_self(walk, walk->a->pairs[node].child[side]);
        }
    }
    if (children_overlap(walk->a, node)) {
        TreePart part = {TREE_CROSS, 0, 1, node, node};
        walk_cross(walk, &part);
    }
}

typedef struct LeafVisit {
    const Walk *walk;
    u32 data;
    bool swapped;
} LeafVisit;

static void leaf_visit(void *context, u32 data)
{
    const LeafVisit *leaf = context;
    leaf->walk->visit(leaf->walk->context, leaf->swapped ? data : leaf->data,
                      leaf->swapped ? leaf->data : data);
}

/* One of the two is a single leaf. */
static void walk_roots(const Walk *walk)
{
    const TreeNode *a = &walk->a->nodes[walk->a->root], *b = &walk->b->nodes[walk->b->root];
    LeafVisit leaf = {walk, a->leaf ? a->data : b->data, !a->leaf};
    tree_query(a->leaf ? walk->b : walk->a, a->leaf ? a->bounds : b->bounds, leaf_visit, &leaf);
}

void tree_overlaps(const Tree *a, const Tree *b, const TreePart *part, TreePairVisit *visit,
                   void *context)
{
    Walk walk = {a, b, visit, context};
    switch (part->kind) {
    case TREE_SELF:
        walk_self(&walk, part->a);
        break;
    case TREE_CROSS:
        walk_cross(&walk, part);
        break;
    case TREE_ROOTS:
        walk_roots(&walk);
        break;
    }
}

/* ---- parts ---- */

/* Up to three smaller parts in place of one; what cannot be divided stays. */
static u32 divide(const Tree *a, const Tree *b, const TreePart *part, TreePart out[3])
{
    u32 count = 0;
    if (part->kind == TREE_SELF) {
        for (u32 side = 0; side < 2; side++) {
            if (!is_leaf(a, part->a, side)) {
                out[count++] = (TreePart){TREE_SELF, 0, 0, a->pairs[part->a].child[side], 0};
            }
        }
        if (children_overlap(a, part->a)) {
            out[count++] = (TreePart){TREE_CROSS, 0, 1, part->a, part->a};
        }
        return count;
    }
    if (part->kind == TREE_ROOTS ||
        (is_leaf(a, part->a, part->side_a) && is_leaf(b, part->b, part->side_b))) {
        out[0] = *part;
        return 1;
    }
    bool opens_a;
    u32 overlaps = cross_open(a, b, part, &opens_a);
    for (u32 side = 0; side < 2; side++) {
        if (overlaps & 1u << side) {
            out[count++] = cross_child(a, b, part, opens_a, side);
        }
    }
    return count;
}

/* What there is to do before anything is divided. */
static u32 first_parts(const Tree *a, const Tree *b, TreePart *parts)
{
    if (a->root == TREE_NONE || b->root == TREE_NONE) {
        return 0;
    }
    bool leaves = a->nodes[a->root].leaf || b->nodes[b->root].leaf;
    if (a == b) {
        parts[0] = (TreePart){TREE_SELF, 0, 0, a->root, 0};
        return leaves ? 0 : 1;
    }
    if (leaves) {
        parts[0] = (TreePart){TREE_ROOTS, 0, 0, 0, 0};
        return 1;
    }
    u32 count = 0;
    for (u8 side = 0; side < 2; side++) {
        QueryBox box = child_box(a, a->root, side);
        u32 overlaps = pair_overlaps(&b->pairs[b->root], &box);
        for (u8 other = 0; other < 2; other++) {
            if (overlaps & 1u << other) {
                parts[count++] = (TreePart){TREE_CROSS, side, other, a->root, b->root};
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
