/*
 * joint_validate.c: checks the invariants of the joint store (joint_internal.h) and of its row
 * layout. Two joints of a colour, or two trees, that share a moving body would be a data race.
 */
#include "server/physics/rigid/joint/joint_row.h"
#include "shared/base/check.h"

static bool is_world(BodyId body)
{
    return body.generation == 0;
}

/* Whether solving the joint moves the body. */
static bool is_moved(const Rigid *rigid, u32 slot)
{
    return slot != JOINT_WORLD && rigid->states[slot].inverse_mass > 0.0f;
}

/* True if it excludes its two bodies from collision. */
static bool validate_joint(const Rigid *rigid, u32 slot)
{
    const Joint *joint = &rigid->joints.joints[slot];
    const JointDef *def = &joint->def;
    bool world_a = is_world(def->a), world_b = is_world(def->b);
    CHECK_ITEM(slot, joint->live <= 1 && joint->generation <= 0xffff);
    if (!joint->live) {
        CHECK_ITEM(slot, def->kind == JOINT_NONE);
        return false;
    }
    CHECK_ITEM(slot, joint->generation != 0);
    CHECK_ITEM(slot, joint_def_fault(def) == NULL);
    CHECK_ITEM(slot, world_a || rigid_alive(rigid, def->a));
    CHECK_ITEM(slot, world_b || rigid_alive(rigid, def->b));
    CHECK_ITEM(slot, !(world_a && world_b));
    CHECK_ITEM(slot, world_a || world_b || def->a.slot != def->b.slot);
    CHECK_ITEM(slot, joint_is_bounded(joint));
    bool apart = !(def->flags & JOINT_COLLIDES) && !world_a && !world_b;
    CHECK_ITEM(slot, !apart || joint_connects(rigid, def->a.slot, def->b.slot));
    return apart;
}

static void validate_table(const Rigid *rigid)
{
    const JointStore *store = &rigid->joints;
    u32 live = 0, apart = 0, counted = 0;
    CHECK(store->slots <= store->capacity && store->first_free <= store->capacity);
    for (u32 i = 0; i < store->slots; i++) {
        apart += validate_joint(rigid, i);
        live += store->joints[i].live;
        CHECK_ITEM(i, store->joints[i].live || i >= store->first_free);
    }
    CHECK(live == store->live);
    for (u32 i = 0; i < store->pair_capacity; i++) {
        const JointPair *pair = &store->pairs[i];
        CHECK_ITEM(i, pair->b == 0 ? pair->count == 0 : pair->a < pair->b && pair->count > 0);
        counted += pair->count;
    }
    CHECK(counted == apart);
    CHECK(store->break_count <= store->capacity);
}

/* ---- the row layout ---- */

/* marks: 0, or one more than the last colour in which the body was moved. */
static void validate_sides(const Rigid *rigid, u32 joint, u32 color, u32 *marks)
{
    u32 sides[2];
    CHECK_ITEM(joint, joint < rigid->joints.slots);
    CHECK_ITEM(joint, rigid->joints.color_of[joint] == color);
    CHECK_ITEM(joint, rigid->joints.tree_places[joint] == JOINT_NO_SLOT);
    CHECK_ITEM(joint, joint_bodies(rigid, joint, &sides[0], &sides[1]));
    for (u32 k = 0; k < 2 && color < JOINT_COLORS; k++) {
        if (is_moved(rigid, sides[k])) {
            CHECK_ITEM(joint, marks[sides[k]] != color + 1);
            marks[sides[k]] = color + 1;
        }
    }
}

static void validate_lanes(const Rigid *rigid, const u32 *order, u32 lanes, u32 color, u32 *marks)
{
    for (u32 i = 0; i < lanes; i++) {
        if (order[i] != JOINT_NO_SLOT) {
            validate_sides(rigid, order[i], color, marks);
        }
    }
}

static void validate_colors(const Rigid *rigid, u32 *marks)
{
    const JointStore *store = &rigid->joints;
    u32 balls = 0, hinges = 0, rows = 0;
    CHECK(store->ball_count <= store->wide_capacity && store->hinge_count <= store->wide_capacity);
    CHECK(store->row_count <= store->capacity && store->color_count <= JOINT_COLORS + 1);
    memset(marks, 0, rigid->slots * sizeof(*marks));
    for (u32 i = 0; i <= JOINT_PGS; i++) {
        const JointColor *color = &store->colors[i];
        CHECK_ITEM(i, color->ball == balls && color->hinge == hinges && color->row == rows);
        balls += color->ball_count;
        hinges += color->hinge_count;
        rows += color->row_count;
        CHECK_ITEM(i, balls <= store->ball_count && hinges <= store->hinge_count);
        CHECK_ITEM(i, rows <= store->row_count);
        CHECK_ITEM(i, i < store->color_count || i == JOINT_PGS ||
                          color->ball_count + color->hinge_count + color->row_count == 0);
        validate_lanes(rigid, store->ball_order + color->ball * SIMD_LANES,
                       color->ball_count * SIMD_LANES, i, marks);
        validate_lanes(rigid, store->hinge_order + color->hinge * SIMD_LANES,
                       color->hinge_count * SIMD_LANES, i, marks);
        validate_lanes(rigid, store->row_order + color->row, color->row_count, i, marks);
    }
    CHECK(balls == store->ball_count && hinges == store->hinge_count && rows == store->row_count);
}

static void validate_dry(const Rigid *rigid, u32 *marks)
{
    const JointStore *store = &rigid->joints;
    u32 rows = 0;
    CHECK(store->dry_count <= store->dry_capacity && store->dry_color_count <= JOINT_COLORS + 1);
    memset(marks, 0, rigid->slots * sizeof(*marks));
    for (u32 i = 0; i <= JOINT_PGS && store->dry_count > 0; i++) {
        const DryColor *color = &store->dry_colors[i];
        CHECK_ITEM(i, color->row == rows);
        CHECK_ITEM(i, i < store->dry_color_count || i == JOINT_PGS || color->row_count == 0);
        rows += color->row_count;
        CHECK_ITEM(i, rows <= store->dry_count);
        for (u32 n = 0; n < color->row_count; n++) {
            u32 joint = store->dry_order[color->row + n], sides[2];
            CHECK_ITEM(joint, joint < store->slots && store->joints[joint].def.friction > 0.0f);
            CHECK_ITEM(joint, joint_bodies(rigid, joint, &sides[0], &sides[1]));
            for (u32 k = 0; k < 2 && i < JOINT_COLORS; k++) {
                if (is_moved(rigid, sides[k])) {
                    CHECK_ITEM(joint, marks[sides[k]] != i + 1);
                    marks[sides[k]] = i + 1;
                }
            }
        }
    }
    CHECK(rows == store->dry_count);
}

static void validate_trees(const Rigid *rigid, u32 *marks)
{
    const JointStore *store = &rigid->joints;
    u32 joints = 0, bodies = 0, grouped = 0;
    CHECK(store->tree_joint_count <= 2 * store->capacity);
    CHECK(store->tree_count <= store->capacity && store->tree_group_count <= store->tree_count);
    CHECK(store->tree_body_count <= rigid->def.body_capacity + store->capacity);
    memset(marks, 0, rigid->slots * sizeof(*marks));
    for (u32 i = 0; i < store->tree_count; i++) {
        const JointTree *tree = &store->trees[i];
        CHECK_ITEM(i, tree->count > 0 && tree->own_count > 0);
        CHECK_ITEM(i, tree->own_count <= tree->body_count);
        CHECK_ITEM(i, tree->first <= store->tree_joint_count &&
                          tree->count <= store->tree_joint_count - tree->first);
        CHECK_ITEM(i, tree->body <= store->tree_body_count &&
                          tree->body_count <= store->tree_body_count - tree->body);
        joints += tree->count;
        bodies += tree->body_count;
        for (u32 k = 0; k < tree->own_count; k++) {
            u32 slot = store->tree_bodies[tree->body + k];
            CHECK_ITEM(i, is_moved(rigid, slot));
            CHECK_ITEM(i, marks[slot] == 0); /* in no other tree */
            marks[slot] = i + 1;
        }
    }
    CHECK(joints == store->tree_joint_count && bodies == store->tree_body_count);
    for (u32 i = 0; i < store->tree_group_count; i++) {
        const TreeGroup *group = &store->tree_groups[i];
        CHECK_ITEM(i, group->tree == grouped);
        CHECK_ITEM(i, group->lanes >= 1 && group->lanes <= SIMD_LANES);
        CHECK_ITEM(i, group->row + group->count <= store->tree_row_count);
        CHECK_ITEM(i, group->side + group->side_count <= store->tree_side_count);
        CHECK_ITEM(i, group->block <= store->tree_block_count);
        CHECK_ITEM(i, group->limit + group->limit_count <= store->tree_limit_count);
        CHECK_ITEM(i, group->limit_count == 0 || group->response < store->tree_response_count);
        grouped += group->lanes;
    }
    CHECK(grouped == store->tree_count);
}

void joints_validate(Rigid *rigid)
{
    validate_table(rigid);
    if (rigid->joints.laid_out && rigid->joints.live > 0) {
        validate_colors(rigid, rigid->slot_scratch);
        validate_dry(rigid, rigid->slot_scratch);
        validate_trees(rigid, rigid->slot_scratch);
    }
}
