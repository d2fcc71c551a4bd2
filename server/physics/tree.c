/* tree.c: see tree.h. */
#include "server/physics/tree_internal.h"
#include "shared/base/check.h"

#include <stdlib.h>

PL_STATIC_ASSERT(sizeof(TreePair) == 64, "a cache line");

enum {
    DEEP = 64 /* levels: a regular tree has a third of them */
};

static f32 half_area(Bounds b)
{
    Vec3 d = vec3_sub(b.max, b.min);
    return d.x * d.y + d.y * d.z + d.z * d.x;
}

/* Adds all nodes from this one on to the free list. */
static void free_from(Tree *tree, u32 node)
{
    for (u32 i = node; i < tree->capacity; i++) {
        tree->nodes[i].parent = i + 1 < tree->capacity ? i + 1 : TREE_NONE;
    }
    tree->free = node < tree->capacity ? node : TREE_NONE;
}

void tree_clear(Tree *tree)
{
    free_from(tree, 0);
    tree->root = TREE_NONE;
    tree->leaf_count = 0;
    tree->built = false;
}

bool tree_init(Tree *tree, u32 leaf_capacity)
{
    tree->capacity = leaf_capacity * 2 + 1;
    tree->nodes = calloc(tree->capacity, sizeof(*tree->nodes));
    tree->pairs = aligned_alloc(64, (size_t)tree->capacity * sizeof(*tree->pairs));
    tree->order = malloc((leaf_capacity + 1) * sizeof(*tree->order));
    tree->centres = malloc((leaf_capacity + 1) * sizeof(*tree->centres));
    if (!tree->nodes || !tree->pairs || !tree->order || !tree->centres) {
        tree_finish(tree);
        return false;
    }
    tree_clear(tree);
    return true;
}

void tree_finish(Tree *tree)
{
    free(tree->nodes);
    free(tree->pairs);
    free(tree->order);
    free(tree->centres);
    tree->order = NULL;
    tree->centres = NULL;
    tree->nodes = NULL;
    tree->pairs = NULL;
    tree->capacity = 0;
}

static u32 node_take(Tree *tree)
{
    u32 node = tree->free;
    CHECK(node != TREE_NONE);
    tree->free = tree->nodes[node].parent;
    return node;
}

static void node_give(Tree *tree, u32 node)
{
    tree->nodes[node].parent = tree->free;
    tree->free = node;
}

static u32 leaves_of(const TreeNode *node)
{
    return node->leaf ? 1 : node->data;
}

/* Descends towards the child whose bounds grow least until a new parent here is cheaper. For
 * many leaves in one place nothing grows, and a leaf always seems more expensive than the nodes
 * below, which would give one long chain; there it descends into the side with fewer leaves. */
static u32 best_sibling(const Tree *tree, Bounds bounds)
{
    const TreeNode *nodes = tree->nodes;
    u32 node = tree->root;
    for (u32 depth = 0; !nodes[node].leaf; depth++) {
        f32 area = half_area(nodes[node].bounds);
        f32 merged = half_area(bounds_union(nodes[node].bounds, bounds));
        f32 here = 2.0f * merged;
        f32 inherited = 2.0f * (merged - area);
        f32 cost[2];
        for (u32 i = 0; i < 2; i++) {
            const TreeNode *child = &nodes[nodes[node].child[i]];
            f32 grown = half_area(bounds_union(child->bounds, bounds));
            cost[i] = inherited + (child->leaf ? grown : grown - half_area(child->bounds));
        }
        if (depth >= DEEP) {
            const u32 *child = nodes[node].child;
            node = child[leaves_of(&nodes[child[0]]) <= leaves_of(&nodes[child[1]]) ? 0 : 1];
            continue;
        }
        if (here < cost[0] && here < cost[1]) {
            break;
        }
        node = nodes[node].child[cost[0] <= cost[1] ? 0 : 1];
    }
    return node;
}

/* The reference used by traversals for a node. */
static u32 reference_of(const Tree *tree, u32 node)
{
    return tree->nodes[node].leaf ? tree->nodes[node].data | LEAF_BIT : node;
}

static void pair_update(Tree *tree, u32 node)
{
    const TreeNode *nodes = tree->nodes;
    u32 left = nodes[node].child[0], right = nodes[node].child[1];
    const Bounds *a = &nodes[left].bounds, *b = &nodes[right].bounds;
    tree->pairs[node] = (TreePair){{{a->min.x, b->min.x, a->max.x, b->max.x},
                                    {a->min.y, b->min.y, a->max.y, b->max.y},
                                    {a->min.z, b->min.z, a->max.z, b->max.z}},
                                   {reference_of(tree, left), reference_of(tree, right)},
                                   {0, 0}};
}

static void count_leaves(TreeNode *nodes, u32 node)
{
    nodes[node].data =
        leaves_of(&nodes[nodes[node].child[0]]) + leaves_of(&nodes[nodes[node].child[1]]);
}

/* Swaps a grandchild with its uncle if that shrinks the parent between them. */
static void rotate(Tree *tree, u32 node)
{
    TreeNode *nodes = tree->nodes;
    u32 best_side = 2, best_grand = 0;
    f32 best_gain = 0.0f;
    for (u32 side = 0; side < 2; side++) {
        u32 parent = nodes[node].child[side];
        u32 uncle = nodes[node].child[1 - side];
        if (nodes[parent].leaf) {
            continue;
        }
        for (u32 g = 0; g < 2; g++) {
            u32 stays = nodes[parent].child[1 - g];
            f32 gain = half_area(nodes[parent].bounds) -
                       half_area(bounds_union(nodes[uncle].bounds, nodes[stays].bounds));
            if (gain > best_gain) {
                best_gain = gain;
                best_side = side;
                best_grand = g;
            }
        }
    }
    if (best_side == 2) {
        return;
    }
    u32 parent = nodes[node].child[best_side];
    u32 uncle = nodes[node].child[1 - best_side];
    u32 grand = nodes[parent].child[best_grand];
    nodes[parent].child[best_grand] = uncle;
    nodes[uncle].parent = parent;
    nodes[node].child[1 - best_side] = grand;
    nodes[grand].parent = node;
    nodes[parent].bounds =
        bounds_union(nodes[nodes[parent].child[0]].bounds, nodes[nodes[parent].child[1]].bounds);
    pair_update(tree, parent);
    count_leaves(nodes, parent);
}

static void refit_upwards(Tree *tree, u32 node)
{
    TreeNode *nodes = tree->nodes;
    while (node != TREE_NONE) {
        count_leaves(nodes, node);
        nodes[node].bounds =
            bounds_union(nodes[nodes[node].child[0]].bounds, nodes[nodes[node].child[1]].bounds);
        rotate(tree, node);
        pair_update(tree, node);
        node = nodes[node].parent;
    }
}

u32 tree_insert(Tree *tree, Bounds bounds, u32 data)
{
    TreeNode *nodes = tree->nodes;
    u32 leaf = node_take(tree);
    tree->built = false;
    nodes[leaf] = (TreeNode){bounds, TREE_NONE, {TREE_NONE, TREE_NONE}, data, 1};
    tree->leaf_count++;
    if (tree->root == TREE_NONE) {
        tree->root = leaf;
        return leaf;
    }
    u32 sibling = best_sibling(tree, bounds);
    u32 parent = node_take(tree);
    u32 above = nodes[sibling].parent;
    nodes[parent] =
        (TreeNode){bounds_union(nodes[sibling].bounds, bounds), above, {sibling, leaf}, 0, 0};
    nodes[sibling].parent = parent;
    nodes[leaf].parent = parent;
    pair_update(tree, parent);
    count_leaves(nodes, parent);
    if (above == TREE_NONE) {
        tree->root = parent;
    } else {
        nodes[above].child[nodes[above].child[0] == sibling ? 0 : 1] = parent;
    }
    refit_upwards(tree, above);
    return leaf;
}

void tree_remove(Tree *tree, u32 leaf)
{
    TreeNode *nodes = tree->nodes;
    u32 parent = nodes[leaf].parent;
    tree->built = false;
    tree->leaf_count--;
    if (parent == TREE_NONE) {
        tree->root = TREE_NONE;
        node_give(tree, leaf);
        return;
    }
    u32 sibling = nodes[parent].child[nodes[parent].child[0] == leaf ? 1 : 0];
    u32 above = nodes[parent].parent;
    nodes[sibling].parent = above;
    if (above == TREE_NONE) {
        tree->root = sibling;
    } else {
        nodes[above].child[nodes[above].child[0] == parent ? 0 : 1] = sibling;
    }
    node_give(tree, parent);
    node_give(tree, leaf);
    refit_upwards(tree, above);
}

/* ---- all at once ---- */

typedef struct TreeBuild {
    Tree *tree;
    const Bounds *bounds;
    size_t stride;
    const u32 *data;
    u32 *leaves;
    const struct BuildPart *parts;
} TreeBuild;

static f32 axis_of(Vec3 v, u32 axis)
{
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

/* Splits order[begin, end) at the median plane of its centres' longest side; returns the index. */
static u32 build_split(Tree *tree, u32 begin, u32 end)
{
    Vec3 low = tree->centres[tree->order[begin]], high = low;
    for (u32 i = begin + 1; i < end; i++) {
        Vec3 c = tree->centres[tree->order[i]];
        low = vec3_min(low, c);
        high = vec3_max(high, c);
    }
    Vec3 d = vec3_sub(high, low);
    u32 axis = d.x >= d.y && d.x >= d.z ? 0 : d.y >= d.z ? 1 : 2;
    f32 middle = 0.5f * (axis_of(low, axis) + axis_of(high, axis));
    u32 at = begin;
    for (u32 i = begin; i < end; i++) { /* branch-free swap */
        u32 item = tree->order[i], other = tree->order[at];
        u32 is_low = axis_of(tree->centres[item], axis) < middle;
        u32 swap = (item ^ other) & (0u - is_low);
        tree->order[i] = item ^ swap;
        tree->order[at] = other ^ swap;
        at += is_low;
    }
    /* All in one place, or a cluster at one end that would make the tree deep: split in halves. */
    u32 least = (end - begin) / 8;
    return at - begin <= least || end - at <= least ? begin + (end - begin) / 2 : at;
}

/* The subtree of order[begin, end) uses the nodes from `node` on, each parent before its left
 * and then its right part: 2 × leaves − 1 nodes. Each part is at least an eighth of its
 * parent's, so the recursion depth stays far below TREE_STACK. */
typedef struct BuildPart {
    u32 begin, end, node, parent;
} BuildPart;

static void build_leaf(const TreeBuild *build, const BuildPart *part)
{
    u32 item = build->data[build->tree->order[part->begin]];
    const Bounds *b = (const Bounds *)((const char *)build->bounds + item * build->stride);
    build->tree->nodes[part->node] = (TreeNode){*b, part->parent, {TREE_NONE, TREE_NONE}, item, 1};
    build->leaves[item] = part->node;
}

/* The two children of a part with more than one leaf. */
static void build_halves(const TreeBuild *build, const BuildPart *part, BuildPart halves[2])
{
    u32 middle = build_split(build->tree, part->begin, part->end);
    halves[0] = (BuildPart){part->begin, middle, part->node + 1, part->node};
    halves[1] = (BuildPart){middle, part->end, part->node + 2 * (middle - part->begin), part->node};
}

/* The parent node of two built parts. */
static void build_node(const TreeBuild *build, const BuildPart *part, u32 left, u32 right)
{
    TreeNode *nodes = build->tree->nodes;
    nodes[part->node] = (TreeNode){.bounds = bounds_union(nodes[left].bounds, nodes[right].bounds),
                                   .parent = part->parent,
                                   .child = {left, right}};
    count_leaves(nodes, part->node);
    pair_update(build->tree, part->node);
}

static void build_part(const TreeBuild *build, const BuildPart *part)
{
    if (part->end - part->begin == 1) {
        build_leaf(build, part);
        return;
    }
    BuildPart halves[2];
    build_halves(build, part, halves);
    build_part(build, &halves[0]);
    build_part(build, &halves[1]);
    build_node(build, part, halves[0].node, halves[1].node);
}

enum {
    PARTS_MAX = 12,   /* subtrees for threads */
    PART_LEAVES = 64, /* parts with fewer leaves are not divided for threads */
    CENTRES_GRAIN = 512
};

static void build_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    const TreeBuild *build = context;
    for (u32 i = first; i < end; i++) {
        build_part(build, &build->parts[i]);
    }
}

static void centres_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    const TreeBuild *build = context;
    for (u32 i = first; i < end; i++) {
        const Bounds *b =
            (const Bounds *)((const char *)build->bounds + build->data[i] * build->stride);
        build->tree->order[i] = i;
        build->tree->centres[i] = vec3_add(b->min, b->max);
    }
}

/* Builds the top of the tree on one thread, subtrees on all, and then the nodes of the top,
 * which need the bounds of the subtrees. */
static void build_all(TreeBuild *build, u32 count, Jobs *jobs)
{
    BuildPart parts[PARTS_MAX], tops[PARTS_MAX], halves[PARTS_MAX][2];
    u32 part_count = 1, top_count = 0;
    parts[0] = (BuildPart){0, count, 0, TREE_NONE};
    for (;;) {
        u32 widest = 0;
        for (u32 i = 1; i < part_count; i++) {
            if (parts[i].end - parts[i].begin > parts[widest].end - parts[widest].begin) {
                widest = i;
            }
        }
        if (part_count == PARTS_MAX || parts[widest].end - parts[widest].begin < 2 * PART_LEAVES) {
            break;
        }
        tops[top_count] = parts[widest];
        build_halves(build, &tops[top_count], halves[top_count]);
        parts[widest] = halves[top_count][0];
        parts[part_count++] = halves[top_count][1];
        top_count++;
    }
    build->parts = parts;
    jobs_run(jobs, part_count, 1, build_range, build);
    while (top_count-- > 0) { /* children were created later */
        build_node(build, &tops[top_count], halves[top_count][0].node, halves[top_count][1].node);
    }
}

void tree_build(Tree *tree, const Bounds *bounds, size_t stride, const u32 *data, u32 count,
                u32 *leaves, Jobs *jobs)
{
    TreeBuild build = {tree, bounds, stride, data, leaves, NULL};
    jobs_run(jobs, count, CENTRES_GRAIN, centres_range, &build);
    if (count > 0) {
        build_all(&build, count, jobs);
    }
    tree->root = count > 0 ? 0 : TREE_NONE;
    tree->leaf_count = count;
    tree->built = count > 0;
    tree->area = 0.0f;
    free_from(tree, count > 0 ? 2 * count - 1 : 0);
}

bool tree_refit(Tree *tree, const Bounds *bounds, size_t stride, const u32 *data, u32 count,
                const u32 *leaves)
{
    /* The cost of queries is roughly proportional to the area of the nodes. */
    const f32 worse = 1.1f;
    TreeNode *nodes = tree->nodes;
    if (!tree->built) {
        return false;
    }
    for (u32 i = 0; i < count; i++) {
        nodes[leaves[data[i]]].bounds = *(const Bounds *)((const char *)bounds + data[i] * stride);
    }
    f32 area = 0.0f;
    for (u32 i = 2 * tree->leaf_count - 1; i-- > 0;) {
        TreeNode *node = &nodes[i];
        if (!node->leaf) {
            node->bounds = bounds_union(nodes[node->child[0]].bounds, nodes[node->child[1]].bounds);
            pair_update(tree, i);
            area += half_area(node->bounds);
        }
    }
    tree->area = tree->area > 0.0f ? tree->area : area;
    return area <= worse * tree->area;
}

/* ---- walks: both children are looked at side by side, at their parent ---- */

void tree_query(const Tree *tree, Bounds bounds, TreeVisit *visit, void *context)
{
    QueryBox box = query_box(&bounds);
    u32 stack[TREE_STACK];
    u32 depth = 0;
    if (tree->root != TREE_NONE && bounds_overlap(&tree->nodes[tree->root].bounds, &bounds)) {
        stack[depth++] = reference_of(tree, tree->root);
    }
    while (depth > 0) {
        u32 at = stack[--depth];
        if (at & LEAF_BIT) {
            visit(context, at & ~LEAF_BIT);
            continue;
        }
        const TreePair *pair = &tree->pairs[at];
        u32 overlaps = pair_overlaps(pair, &box);
        CHECK(depth + 2 <= TREE_STACK);
        stack[depth] = pair->child[0];
        depth += overlaps & 1u;
        stack[depth] = pair->child[1];
        depth += overlaps >> 1;
    }
}

/* ---- casts: the nearer child is followed first ---- */

typedef struct PairCast {
    f32x4 from[3], inverse[3];
} PairCast;

static PairCast pair_cast(const BoxCast *cast)
{
    f32x4 x = {cast->inverse.x, cast->inverse.x, cast->inverse.x, cast->inverse.x};
    f32x4 y = {cast->inverse.y, cast->inverse.y, cast->inverse.y, cast->inverse.y};
    f32x4 z = {cast->inverse.z, cast->inverse.z, cast->inverse.z, cast->inverse.z};
    return (PairCast){{across(cast->low.x, cast->high.x), across(cast->low.y, cast->high.y),
                       across(cast->low.z, cast->high.z)},
                      {x, y, z}};
}

/* box_cast_enter for both children. */
static inline void pair_enter(const PairCast *cast, const TreePair *pair, f32 max, f32 t[2])
{
    f32x4 x = (pair_axis(pair, 0) - cast->from[0]) * cast->inverse[0];
    f32x4 y = (pair_axis(pair, 1) - cast->from[1]) * cast->inverse[1];
    f32x4 z = (pair_axis(pair, 2) - cast->from[2]) * cast->inverse[2];
    f32x4 xs = swapped(x), ys = swapped(y), zs = swapped(z);
    const f32x4 zero = {0.0f, 0.0f, 0.0f, 0.0f};
    const f32x4 far = {INFINITY, INFINITY, INFINITY, INFINITY}, end = {max, max, max, max};
    f32x4 enter =
        f32x4_max(f32x4_max(f32x4_min(x, xs), f32x4_min(y, ys)), f32x4_max(f32x4_min(z, zs), zero));
    f32x4 leave =
        f32x4_min(f32x4_min(f32x4_max(x, xs), f32x4_max(y, ys)), f32x4_min(f32x4_max(z, zs), end));
    i32x4 miss = enter > leave;
    enter = (f32x4)((~miss & (i32x4)enter) | (miss & (i32x4)far));
    t[0] = enter[0];
    t[1] = enter[1];
}

/* A pending node and the minimal t (or distance) at which it may contain a hit. */
typedef struct TreePath {
    u32 at;
    f32 enter;
} TreePath;

void tree_cast(const Tree *tree, Vec3 origin, Vec3 extent, Vec3 direction, f32 max,
               TreeCastVisit *visit, void *context)
{
    BoxCast cast = box_cast(origin, extent, direction);
    PairCast wide = pair_cast(&cast);
    TreePath stack[TREE_STACK];
    u32 depth = 0;
    if (tree->root != TREE_NONE) {
        f32 enter = box_cast_enter(&cast, &tree->nodes[tree->root].bounds, max);
        stack[depth++] = (TreePath){reference_of(tree, tree->root), enter};
    }
    while (depth > 0) {
        TreePath path = stack[--depth];
        /* Descends along the nearer children. */
        while (path.enter <= max && !(path.at & LEAF_BIT)) {
            const TreePair *pair = &tree->pairs[path.at];
            f32 t[2];
            pair_enter(&wide, pair, max, t);
            u32 near = t[1] < t[0] ? 1 : 0;
            f32 far_t = f32_max(t[0], t[1]);
            path = (TreePath){pair->child[near], f32_min(t[0], t[1])};
            /* Written unconditionally, kept if hit: branch-free. */
            CHECK(depth < TREE_STACK);
            stack[depth] = (TreePath){pair->child[1 - near], far_t};
            depth += far_t <= max ? 1 : 0;
            __builtin_prefetch(&tree->pairs[pair->child[1 - near] & ~LEAF_BIT]);
        }
        if (path.enter <= max) {
            max = visit(context, path.at & ~LEAF_BIT, max);
        }
    }
}

void tree_nearest(const Tree *tree, Bounds box, f32 max, TreeCastVisit *visit, void *context)
{
    TreePath stack[TREE_STACK];
    u32 depth = 0;
    box = bounds_grow(box, 1e-3f);
    QueryBox wide = query_box(&box);
    if (tree->root != TREE_NONE) {
        stack[depth++] = (TreePath){reference_of(tree, tree->root),
                                    bounds_gap(&tree->nodes[tree->root].bounds, &box)};
    }
    while (depth > 0) {
        TreePath path = stack[--depth];
        while (path.enter <= max && !(path.at & LEAF_BIT)) {
            const TreePair *pair = &tree->pairs[path.at];
            f32 gaps[2];
            pair_gaps(pair, &wide, gaps);
            u32 near = gaps[1] < gaps[0] ? 1 : 0;
            CHECK(depth < TREE_STACK);
            stack[depth] = (TreePath){pair->child[1 - near], gaps[1 - near]};
            depth += gaps[1 - near] <= max ? 1 : 0;
            path = (TreePath){pair->child[near], gaps[near]};
        }
        if (path.enter <= max) {
            max = visit(context, path.at & ~LEAF_BIT, max);
        }
    }
}
