/* test_tree.c: the tree of bounds against a linear search, while leaves come and go. */
#include "server/physics/tree.h"
#include "tests/support/any.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    LEAVES = 200,
    ROUNDS = 400
};

static Any any;

typedef struct Forest {
    Tree tree;
    Bounds bounds[LEAVES];
    u32 nodes[LEAVES]; /* TREE_NONE: not inserted */
} Forest;

static Bounds bounds_any(void)
{
    Vec3 at = any_vec(&any, -10.0f, 10.0f);
    Vec3 half = any_vec(&any, 0.0f, any_below(&any, 10) ? 0.8f : 5.0f);
    return (Bounds){vec3_sub(at, half), vec3_add(at, half)};
}

/* Inserts and removes some leaves; sometimes removes all. */
static void forest_change(Forest *forest, u32 round)
{
    u32 changes = round % 97 == 96 ? LEAVES : 20;
    for (u32 k = 0; k < changes; k++) {
        u32 i = changes == LEAVES ? k : any_below(&any, LEAVES);
        if (forest->nodes[i] != TREE_NONE) {
            tree_remove(&forest->tree, forest->nodes[i]);
            forest->nodes[i] = TREE_NONE;
        } else if (changes < LEAVES) {
            forest->bounds[i] = bounds_any();
            forest->nodes[i] = tree_insert(&forest->tree, forest->bounds[i], i);
        }
    }
}

typedef struct Seen {
    const Forest *forest;
    u8 times[LEAVES];
    u32 count;
    /* Nearest by the distance that the callback returns for a leaf. */
    BoxCast cast;
    Bounds box;
    f32 best;
} Seen;

static void see(void *context, u32 data)
{
    Seen *seen = context;
    seen->times[data]++;
    seen->count++;
}

static f32 see_all(void *context, u32 data, f32 max)
{
    see(context, data);
    return max;
}

static f32 see_nearest_cast(void *context, u32 data, f32 max)
{
    Seen *seen = context;
    f32 t = box_cast_enter(&seen->cast, &seen->forest->bounds[data], max);
    seen->best = f32_min(seen->best, t);
    seen->count++;
    return f32_min(t, max);
}

static f32 see_nearest_gap(void *context, u32 data, f32 max)
{
    Seen *seen = context;
    f32 gap = bounds_gap(&seen->forest->bounds[data], &seen->box);
    seen->best = f32_min(seen->best, gap);
    seen->count++;
    return f32_min(gap, max);
}

static f32 see_one(void *context, u32 data, f32 max)
{
    PL_UNUSED(max);
    see(context, data);
    return -1.0f;
}

static void assert_walks(const Forest *forest, u32 *met, u32 *looked)
{
    Bounds box = bounds_any();
    Vec3 origin = any_vec(&any, -15.0f, 15.0f), extent = vec3_zero(), direction;
    direction = any_below(&any, 8) ? any_direction(&any) : vec3(0.0f, 0.0f, -1.0f);
    extent = any_below(&any, 2) ? extent : any_vec(&any, 0.0f, 1.0f);
    f32 max = any_between(&any, 0.0f, 30.0f);
    Seen query = {.forest = forest}, cast = query, near = query, first = query, gap = query;
    tree_query(&forest->tree, box, see, &query);
    tree_cast(&forest->tree, origin, extent, direction, max, see_all, &cast);
    tree_nearest(&forest->tree, box, 2.0f, see_all, &near);
    first.cast = box_cast(origin, extent, direction);
    first.best = INFINITY;
    tree_cast(&forest->tree, origin, extent, direction, max, see_nearest_cast, &first);
    gap.box = box;
    gap.best = INFINITY;
    tree_nearest(&forest->tree, box, INFINITY, see_nearest_gap, &gap);
    f32 best = INFINITY, least = INFINITY;
    u32 live = 0;
    for (u32 i = 0; i < LEAVES; i++) {
        bool in = forest->nodes[i] != TREE_NONE;
        const Bounds *b = &forest->bounds[i];
        f32 enter = in ? box_cast_enter(&first.cast, b, max) : INFINITY;
        f32 apart = in ? bounds_gap(b, &box) : INFINITY;
        live += in;
        assert_int_equal(query.times[i], in && bounds_overlap(b, &box) ? 1 : 0);
        assert_int_equal(cast.times[i], enter <= max ? 1 : 0);
        /* Bounds are slightly enlarged, so that leaves just out of reach may be visited too. */
        assert_true(near.times[i] <= (apart <= 2.01f ? 1 : 0));
        assert_true(near.times[i] == 1 || apart > 2.0f);
        best = f32_min(best, enter);
        least = f32_min(least, apart);
    }
    assert_true(first.best == best);
    assert_true(gap.best == least);
    Seen one = {.forest = forest};
    tree_cast(&forest->tree, origin, extent, direction, max, see_one, &one);
    assert_int_equal(one.count, best <= max ? 1 : 0);
    *met += cast.count;
    *looked += first.count;
    assert_int_equal(live, forest->tree.leaf_count);
}

static void queries_match_a_linear_search(void **state)
{
    PL_UNUSED(state);
    any = (Any){1, 0};
    static Forest forest;
    assert_true(tree_init(&forest.tree, LEAVES));
    memset(forest.nodes, 0xff, sizeof(forest.nodes));
    u32 met = 0, looked = 0;
    for (u32 round = 0; round < ROUNDS; round++) {
        forest_change(&forest, round);
        for (u32 k = 0; k < 10; k++) {
            assert_walks(&forest, &met, &looked);
        }
    }
    /* The reach shrinks during the query: the nearest leaf is found without visiting all within the
     * first reach. */
    assert_true(met > 1000 && looked < met / 2 + ROUNDS * 10);
    tree_finish(&forest.tree);
}

/* Leaves that move together, or a little each, leave the tree as it is; leaves that spread out, and
 * leaves inserted or removed one by one, do not. */
static void moved_leaves_are_found_at_their_new_place(void **state)
{
    PL_UNUSED(state);
    static Forest forest;
    u32 data[LEAVES], met = 0, looked = 0, kept = 0;
    assert_true(tree_init(&forest.tree, LEAVES));
    assert_false(tree_refit(&forest.tree, forest.bounds, sizeof(Bounds), data, 0, forest.nodes));
    for (u32 i = 0; i < LEAVES; i++) {
        data[i] = i;
        forest.bounds[i] = bounds_any();
    }
    for (u32 round = 0; round < ROUNDS; round++) {
        f32 far = round % 40 == 39 ? 5.0f : 0.05f;
        u32 first = any_below(&any, LEAVES);
        Vec3 all = any_vec(&any, -0.5f, 0.5f);
        for (u32 i = first; i < LEAVES; i++) {
            Vec3 way = vec3_add(all, any_vec(&any, -far, far));
            forest.bounds[i].min = vec3_add(forest.bounds[i].min, way);
            forest.bounds[i].max = vec3_add(forest.bounds[i].max, way);
        }
        if (tree_refit(&forest.tree, forest.bounds, sizeof(Bounds), &data[first], LEAVES - first,
                       forest.nodes)) {
            kept++;
        } else {
            tree_build(&forest.tree, forest.bounds, sizeof(Bounds), data, LEAVES, forest.nodes,
                       NULL);
        }
        assert_walks(&forest, &met, &looked);
        if (round % 50 == 49) {
            tree_remove(&forest.tree, forest.nodes[7]);
            forest.nodes[7] = tree_insert(&forest.tree, forest.bounds[7], 7);
            assert_false(
                tree_refit(&forest.tree, forest.bounds, sizeof(Bounds), data, 1, forest.nodes));
        }
    }
    assert_in_range(kept, ROUNDS / 2, ROUNDS - 8);
    tree_finish(&forest.tree);
}

static void an_empty_tree_and_a_single_leaf(void **state)
{
    PL_UNUSED(state);
    Tree tree;
    static Forest forest;
    Seen seen = {.forest = &forest};
    Bounds box = {{-1, -1, -1}, {1, 1, 1}};
    assert_true(tree_init(&tree, 4));
    tree_query(&tree, box, see, &seen);
    tree_cast(&tree, vec3_zero(), vec3_zero(), vec3(1, 0, 0), 10.0f, see_all, &seen);
    tree_nearest(&tree, box, INFINITY, see_all, &seen);
    assert_int_equal(seen.count, 0);
    u32 leaf = tree_insert(&tree, box, 7);
    tree_query(&tree, box, see, &seen);
    tree_cast(&tree, vec3(-5, 0, 0), vec3_zero(), vec3(1, 0, 0), 10.0f, see_all, &seen);
    tree_cast(&tree, vec3(-5, 0, 0), vec3_zero(), vec3(1, 0, 0), 3.9f, see_all, &seen);
    tree_nearest(&tree, (Bounds){{4, 0, 0}, {5, 1, 1}}, 3.1f, see_all, &seen);
    assert_int_equal(seen.times[7], 3);
    tree_remove(&tree, leaf);
    tree_query(&tree, box, see, &seen);
    assert_int_equal(seen.count, 3);
    tree_finish(&tree);
}

/* Bodies created one by one at the same or almost the same place: the tree does not degenerate into
 * a chain. */
static void many_leaves_in_one_place_are_found(void **state)
{
    enum {
        CROWD = 3000
    };
    PL_UNUSED(state);
    for (u32 spread = 0; spread < 3; spread++) {
        Tree tree;
        Seen seen = {0};
        assert_true(tree_init(&tree, CROWD));
        for (u32 i = 0; i < CROWD; i++) {
            Vec3 at = any_vec(&any, 0.0f, spread * 0.001f);
            Bounds bounds = {at, vec3_add(at, vec3(1.0f, 1.0f, 1.0f))};
            tree_insert(&tree, bounds, i % LEAVES);
        }
        Bounds all = {vec3(-1.0f, -1.0f, -1.0f), vec3(2.0f, 2.0f, 2.0f)};
        tree_query(&tree, all, see, &seen);
        assert_int_equal(seen.count, CROWD);
        tree_finish(&tree);
    }
}

static u8 met[LEAVES][LEAVES];

static void meet(void *context, u32 one, u32 other)
{
    (void)context;
    met[one][other]++;
}

/* Visits all overlapping pairs of two trees, and compares with all pairs of leaves. */
static void check_overlaps(const Forest *a, u32 count_a, const Forest *b, u32 count_b)
{
    TreePart parts[TREE_PARTS];
    u32 count = tree_overlap_parts(&a->tree, &b->tree, parts);
    assert_true(count <= TREE_PARTS);
    memset(met, 0, sizeof(met));
    for (u32 i = 0; i < count; i++) {
        tree_overlaps(&a->tree, &b->tree, &parts[i], meet, NULL);
    }
    for (u32 i = 0; i < count_a; i++) {
        for (u32 j = 0; j < count_b; j++) {
            bool overlap = bounds_overlap(&a->bounds[i], &b->bounds[j]);
            if (a != b) {
                assert_int_equal(met[i][j], overlap);
            } else if (i < j) {
                assert_int_equal(met[i][j] + met[j][i], overlap);
            }
        }
    }
}

static void overlaps_are_visited_once(void **state)
{
    (void)state;
    static const u32 counts[] = {0, 1, 2, 3, 40, LEAVES};
    static Forest forests[2];
    u32 data[LEAVES];
    for (u32 f = 0; f < 2; f++) {
        assert_true(tree_init(&forests[f].tree, LEAVES));
    }
    for (u32 round = 0; round < 200; round++) {
        u32 count[2];
        for (u32 f = 0; f < 2; f++) {
            count[f] = counts[any_below(&any, PL_COUNT(counts))];
            tree_clear(&forests[f].tree);
            for (u32 i = 0; i < count[f]; i++) {
                forests[f].bounds[i] = bounds_any();
                data[i] = i;
                if (round % 2 == 0) {
                    tree_insert(&forests[f].tree, forests[f].bounds[i], i);
                }
            }
            if (round % 2 == 1) {
                tree_build(&forests[f].tree, forests[f].bounds, sizeof(Bounds), data, count[f],
                           forests[f].nodes, NULL);
            }
        }
        check_overlaps(&forests[0], count[0], &forests[1], count[1]);
        check_overlaps(&forests[0], count[0], &forests[0], count[0]);
    }
    for (u32 f = 0; f < 2; f++) {
        tree_finish(&forests[f].tree);
    }
}

/* Trees of many leaves are built on all threads: the result does not depend on their number. */
static void threads_build_the_same_tree(void **state)
{
    (void)state;
    enum {
        MANY = 5000
    };
    static Bounds bounds[MANY];
    static u32 data[MANY], leaves[2][MANY];
    Jobs *jobs = jobs_create(4);
    Tree trees[2];
    for (u32 t = 0; t < 2; t++) {
        assert_true(tree_init(&trees[t], MANY));
    }
    static const u32 counts[] = {MANY, 63, 129, 1000, 2};
    for (u32 c = 0; c < PL_COUNT(counts); c++) {
        for (u32 i = 0; i < counts[c]; i++) {
            bounds[i] = bounds_any();
            data[i] = i;
        }
        for (u32 t = 0; t < 2; t++) {
            tree_build(&trees[t], bounds, sizeof(Bounds), data, counts[c], leaves[t],
                       t == 0 ? NULL : jobs);
        }
        u32 nodes = 2 * counts[c] - 1;
        assert_memory_equal(leaves[0], leaves[1], counts[c] * sizeof(u32));
        assert_memory_equal(trees[0].nodes, trees[1].nodes, nodes * sizeof(TreeNode));
        for (u32 i = 0; i < nodes; i++) { /* and each node's bounds enclose those below it */
            const TreeNode *node = &trees[0].nodes[i];
            for (u32 k = 0; k < 2 && !node->leaf; k++) {
                assert_int_equal(trees[0].nodes[node->child[k]].parent, i);
                assert_true(bounds_contain(&node->bounds, &trees[0].nodes[node->child[k]].bounds));
            }
            assert_true(!node->leaf || leaves[0][node->data] == i);
        }
    }
    for (u32 t = 0; t < 2; t++) {
        tree_finish(&trees[t]);
    }
    jobs_destroy(jobs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_build_the_same_tree),
        cmocka_unit_test(queries_match_a_linear_search),
        cmocka_unit_test(many_leaves_in_one_place_are_found),
        cmocka_unit_test(moved_leaves_are_found_at_their_new_place),
        cmocka_unit_test(an_empty_tree_and_a_single_leaf),
        cmocka_unit_test(overlaps_are_visited_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
