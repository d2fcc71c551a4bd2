/* tree.c: see tree.h. */
#include "server/physics/tree.h"

#include "shared/check.h"

#include <stdlib.h>

static f32 half_area(Bounds b)
{
    Vec3 d = vec3_sub(b.max, b.min);
    return d.x * d.y + d.y * d.z + d.z * d.x;
}

void tree_clear(Tree *tree)
{
    for (u32 i = 0; i < tree->capacity; i++) {
        tree->nodes[i].parent = i + 1 < tree->capacity ? i + 1 : TREE_NONE;
    }
    tree->free = tree->capacity > 0 ? 0 : TREE_NONE;
    tree->root = TREE_NONE;
    tree->leaf_count = 0;
}

bool tree_init(Tree *tree, u32 leaf_capacity)
{
    tree->capacity = leaf_capacity * 2 + 1;
    tree->nodes = calloc(tree->capacity, sizeof(*tree->nodes));
    if (!tree->nodes) {
        tree->capacity = 0;
        return false;
    }
    tree_clear(tree);
    return true;
}

void tree_finish(Tree *tree)
{
    free(tree->nodes);
    tree->nodes = NULL;
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

/* Descends towards the child whose bounds grow least until a new parent here is cheaper. */
static u32 best_sibling(const Tree *tree, Bounds bounds)
{
    const TreeNode *nodes = tree->nodes;
    u32 node = tree->root;
    while (!nodes[node].leaf) {
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
        if (here < cost[0] && here < cost[1]) {
            break;
        }
        node = nodes[node].child[cost[0] <= cost[1] ? 0 : 1];
    }
    return node;
}

/* Swaps a grandchild with its uncle where that shrinks the parent between them. */
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
}

static void refit_upwards(Tree *tree, u32 node)
{
    TreeNode *nodes = tree->nodes;
    while (node != TREE_NONE) {
        nodes[node].bounds =
            bounds_union(nodes[nodes[node].child[0]].bounds, nodes[nodes[node].child[1]].bounds);
        rotate(tree, node);
        node = nodes[node].parent;
    }
}

u32 tree_insert(Tree *tree, Bounds bounds, u32 data)
{
    TreeNode *nodes = tree->nodes;
    u32 leaf = node_take(tree);
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

void tree_query(const Tree *tree, Bounds bounds, TreeVisit *visit, void *context)
{
    u32 stack[TREE_STACK];
    u32 depth = 0;
    if (tree->root != TREE_NONE) {
        stack[depth++] = tree->root;
    }
    while (depth > 0) {
        const TreeNode *node = &tree->nodes[stack[--depth]];
        if (!bounds_overlap(&node->bounds, &bounds)) {
            continue;
        }
        if (node->leaf) {
            visit(context, node->data);
        } else {
            CHECK(depth + 2 <= TREE_STACK);
            stack[depth++] = node->child[0];
            stack[depth++] = node->child[1];
        }
    }
}

/* ---- casts: both children are tested at their parent, and the nearer one is followed first ----
 */

/* A path still to follow and the least t (or distance) at which it may hold something. */
typedef struct TreePath {
    u32 node;
    f32 enter;
} TreePath;

void tree_cast(const Tree *tree, Vec3 origin, Vec3 extent, Vec3 direction, f32 max,
               TreeCastVisit *visit, void *context)
{
    BoxCast cast = box_cast(origin, extent, direction);
    TreePath stack[TREE_STACK];
    u32 depth = 0;
    if (tree->root != TREE_NONE) {
        f32 enter = box_cast_enter(&cast, &tree->nodes[tree->root].bounds, max);
        stack[depth++] = (TreePath){tree->root, enter};
    }
    while (depth > 0 && max >= 0.0f) {
        TreePath path = stack[--depth];
        if (!(path.enter <= max)) {
            continue;
        }
        const TreeNode *node = &tree->nodes[path.node];
        if (node->leaf) {
            max = visit(context, node->data, max);
            continue;
        }
        u32 near = node->child[0], far = node->child[1];
        f32 near_t = box_cast_enter(&cast, &tree->nodes[near].bounds, max);
        f32 far_t = box_cast_enter(&cast, &tree->nodes[far].bounds, max);
        if (far_t < near_t) {
            u32 node_swap = near;
            near = far;
            far = node_swap;
            f32 t_swap = near_t;
            near_t = far_t;
            far_t = t_swap;
        }
        CHECK(depth + 2 <= TREE_STACK);
        if (far_t <= max) {
            stack[depth++] = (TreePath){far, far_t};
        }
        if (near_t <= max) {
            stack[depth++] = (TreePath){near, near_t};
        }
    }
}

void tree_nearest(const Tree *tree, Bounds box, f32 max, TreeCastVisit *visit, void *context)
{
    TreePath stack[TREE_STACK];
    u32 depth = 0;
    box = bounds_grow(box, 1e-3f);
    if (tree->root != TREE_NONE) {
        stack[depth++] = (TreePath){tree->root, bounds_gap(&tree->nodes[tree->root].bounds, &box)};
    }
    while (depth > 0 && max >= 0.0f) {
        TreePath path = stack[--depth];
        if (!(path.enter <= max)) {
            continue;
        }
        const TreeNode *node = &tree->nodes[path.node];
        if (node->leaf) {
            max = visit(context, node->data, max);
            continue;
        }
        f32 gaps[2];
        for (u32 i = 0; i < 2; i++) {
            gaps[i] = bounds_gap(&tree->nodes[node->child[i]].bounds, &box);
        }
        CHECK(depth + 2 <= TREE_STACK);
        u32 near = gaps[0] <= gaps[1] ? 0 : 1;
        stack[depth++] = (TreePath){node->child[1 - near], gaps[1 - near]};
        stack[depth++] = (TreePath){node->child[near], gaps[near]};
    }
}
