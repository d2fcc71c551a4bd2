/* tree_validate.c: checks a whole tree. See tree_validate. */
#include "server/physics/tree_internal.h"
#include "shared/base/check.h"

static bool bounds_are_ordered(const Bounds *b)
{
    return b->min.x <= b->max.x && b->min.y <= b->max.y && b->min.z <= b->max.z; /* false: NaN */
}

/* The pair's data must equal the child's own. */
static void validate_side(const Tree *tree, u32 node, u32 side)
{
    const TreePair *pair = &tree->pairs[node];
    const TreeNode *child = &tree->nodes[tree->nodes[node].child[side]];
    u32 reference = child->leaf ? child->data | LEAF_BIT : tree->nodes[node].child[side];
    const Bounds *b = &child->bounds;
    CHECK_ITEM(node, pair->child[side] == reference);
    CHECK_ITEM(node, pair->axis[0][side] == b->min.x && pair->axis[0][side + 2] == b->max.x);
    CHECK_ITEM(node, pair->axis[1][side] == b->min.y && pair->axis[1][side + 2] == b->max.y);
    CHECK_ITEM(node, pair->axis[2][side] == b->min.z && pair->axis[2][side + 2] == b->max.z);
}

static void validate_node(const Tree *tree, u32 node)
{
    const TreeNode *nodes = tree->nodes, *at = &nodes[node];
    CHECK_ITEM(node, bounds_are_ordered(&at->bounds));
    if (at->leaf) {
        CHECK_ITEM(node, at->leaf == 1 && at->data < LEAF_BIT);
        return;
    }
    u32 leaves = 0;
    for (u32 side = 0; side < 2; side++) {
        u32 child = at->child[side];
        CHECK_ITEM(node, child < tree->capacity && child != node);
        CHECK_ITEM(node, nodes[child].parent == node);
        CHECK_ITEM(node, bounds_contain(&at->bounds, &nodes[child].bounds));
        validate_side(tree, node, side);
        leaves += nodes[child].leaf ? 1 : nodes[child].data;
    }
    CHECK_ITEM(node, at->child[0] != at->child[1]);
    CHECK_ITEM(node, at->data == leaves);
}

/* Traverses down left, up, and right: parents are verified before they are followed, and a cycle
 * would be longer than the tree. Returns the number of nodes. */
static u32 validate_below(const Tree *tree, u32 *leaves)
{
    const TreeNode *nodes = tree->nodes;
    u32 node = tree->root, from = TREE_NONE, count = 0;
    CHECK(node == TREE_NONE || nodes[node].parent == TREE_NONE);
    while (node != TREE_NONE) {
        u32 next = nodes[node].parent;
        if (from == nodes[node].parent) {
            CHECK_ITEM(node, count < tree->capacity);
            validate_node(tree, node);
            count++;
            *leaves += nodes[node].leaf;
            next = nodes[node].leaf ? next : nodes[node].child[0];
        } else if (from == nodes[node].child[0]) {
            next = nodes[node].child[1];
        }
        from = node;
        node = next;
    }
    return count;
}

void tree_validate(const Tree *tree)
{
    u32 leaves = 0, free_count = 0;
    CHECK(tree->root == TREE_NONE || tree->root < tree->capacity);
    u32 count = validate_below(tree, &leaves);
    CHECK(leaves == tree->leaf_count);
    CHECK(count == (leaves > 0 ? 2 * leaves - 1 : 0));
    for (u32 node = tree->free; node != TREE_NONE; node = tree->nodes[node].parent) {
        CHECK_ITEM(node, node < tree->capacity);
        CHECK_ITEM(node, free_count < tree->capacity);
        free_count++;
    }
    CHECK(count + free_count == tree->capacity);
}
