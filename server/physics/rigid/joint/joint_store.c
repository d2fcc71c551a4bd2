/* joint_store.c: memory of joints, and of the row layout of a tick. */
#include "server/physics/rigid/joint/joint_tree.h"

#include <stdlib.h>

bool joint_store_init(JointStore *store, u32 capacity, u32 body_capacity)
{
    memset(store, 0, sizeof(*store));
    if (capacity == 0) {
        return true;
    }
    u32 pairs = 16;
    while (pairs < 2 * (u64)capacity) {
        pairs *= 2;
    }
    /* Each colour except the serial one may leave a row partly empty. */
    u32 wide = u32_min(capacity, capacity / SIMD_LANES + JOINT_COLORS);
    store->joints = calloc(capacity, sizeof(*store->joints));
    store->pairs = calloc(pairs, sizeof(*store->pairs));
    store->breaks = calloc(capacity, sizeof(*store->breaks));
    store->rows = calloc(capacity, sizeof(JointRow));
    store->balls = aligned_alloc(64, (wide * sizeof(BallWide) + 63) / 64 * 64);
    store->hinges = aligned_alloc(64, (wide * sizeof(HingeWide) + 63) / 64 * 64);
    store->row_order = calloc(capacity, sizeof(*store->row_order));
    store->ball_order = calloc((size_t)wide * SIMD_LANES, sizeof(*store->ball_order));
    store->hinge_order = calloc((size_t)wide * SIMD_LANES, sizeof(*store->hinge_order));
    store->color_of = calloc(capacity, sizeof(*store->color_of));
    store->tree_joints = calloc(capacity, 2 * sizeof(TreeJoint));
    store->trees = calloc(capacity, sizeof(*store->trees));
    store->tree_groups = calloc(capacity, sizeof(*store->tree_groups));
    store->tree_bodies = calloc((size_t)body_capacity + capacity, sizeof(*store->tree_bodies));
    store->ring_ends = calloc((size_t)body_capacity + capacity, sizeof(*store->ring_ends));
    store->tree_places = calloc(capacity, sizeof(*store->tree_places));
    store->links = calloc(capacity, 2 * sizeof(*store->links));
    store->sides = calloc(capacity, 2 * sizeof(*store->sides));
    store->body_heads = calloc(body_capacity, sizeof(*store->body_heads));
    store->body_parents = calloc(body_capacity, sizeof(*store->body_parents));
    store->body_places = calloc(body_capacity, sizeof(*store->body_places));
    store->body_seen = calloc(body_capacity, sizeof(*store->body_seen));
    store->stiffness = calloc(body_capacity, sizeof(*store->stiffness));
    store->loads = calloc(body_capacity, sizeof(*store->loads));
    store->pulls = calloc(capacity, sizeof(*store->pulls));
    store->ring_places = calloc((size_t)body_capacity + 1, sizeof(*store->ring_places));
    if (!store->joints || !store->pairs || !store->breaks || !store->rows || !store->balls ||
        !store->row_order || !store->ball_order || !store->hinges || !store->hinge_order ||
        !store->color_of || !store->tree_joints || !store->trees || !store->tree_groups ||
        !store->tree_places || !store->links || !store->sides || !store->body_heads ||
        !store->body_parents || !store->tree_bodies || !store->ring_ends || !store->body_places ||
        !store->body_seen || !store->stiffness || !store->loads || !store->pulls ||
        !store->ring_places || !ring_blow_init(store)) {
        joint_store_finish(store);
        return false;
    }
    store->capacity = capacity;
    store->pair_capacity = pairs;
    store->wide_capacity = wide;
    store->memory = (u64)capacity * (sizeof(Joint) + sizeof(JointBreak) + sizeof(JointRow) +
                                     2 * sizeof(TreeJoint) + sizeof(JointTree) + sizeof(TreeGroup) +
                                     sizeof(JointPull) + 29) +
                    (u64)pairs * sizeof(JointPair) +
                    (u64)wide * (sizeof(BallWide) + sizeof(HingeWide) + 8 * SIMD_LANES) +
                    (u64)body_capacity * (25 + sizeof(Symmetric3));
    return true;
}

void joint_store_finish(JointStore *store)
{
    free(store->joints);
    free(store->pairs);
    free(store->breaks);
    free(store->rows);
    free(store->balls);
    free(store->hinges);
    free(store->hinge_order);
    free(store->row_order);
    free(store->dry_rows);
    free(store->dry_order);
    free(store->ball_order);
    free(store->color_of);
    free(store->tree_joints);
    free(store->tree_groups);
    free(store->tree_rows);
    free(store->tree_sides);
    free(store->tree_keeps);
    free(store->tree_limits);
    free(store->tree_responses);
    free(store->tree_blocks);
    free(store->sides);
    free(store->body_places);
    free(store->trees);
    free(store->tree_places);
    free(store->links);
    free(store->body_heads);
    free(store->body_parents);
    free(store->tree_bodies);
    free(store->ring_ends);
    free(store->ring_places);
    ring_blow_destroy(store->blow);
    free(store->body_seen);
    free(store->stiffness);
    free(store->loads);
    free(store->pulls);
    memset(store, 0, sizeof(*store));
}
