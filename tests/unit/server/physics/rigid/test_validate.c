/* test_validate.c: rigid_validate() reports each deliberately damaged member by name. */
#include "server/physics/rigid/rigid_internal.h"
#include "tests/support/dies.h"
#include "tests/support/rigid_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum {
    BOXES = 12
};

/* A heap of boxes on the ground, two of them joined and one dragged, after a tick. */
static Rigid *heap(void)
{
    Rigid *rigid = kit_joint_world(vec3(0.0f, -KIT_GRAVITY_M_S2, 0.0f), 4, 32);
    BodyDef ground = kit_ground(), plane = kit_plane(quat_identity());
    kit_add(rigid, &ground);
    for (u32 i = 0; i < BOXES; i++) {
        BodyDef box = kit_box(vec3(0.3f * (f32)(i % 4), 0.3f + 0.45f * (f32)(i / 4), 0.0f),
                              vec3(0.2f, 0.2f, 0.2f));
        kit_add(rigid, &box);
    }
    plane.position = vec3(0.0f, -3.0f, 0.0f);
    kit_add(rigid, &plane);
    JointDef joint = joint_def_default(JOINT_HINGE);
    joint.a = rigid_at(rigid, 1);
    joint.b = rigid_at(rigid, 2);
    joint.anchor_a = vec3(0.15f, 0.0f, 0.0f);
    joint.anchor_b = vec3(-0.15f, 0.0f, 0.0f);
    kit_join(rigid, &joint);
    RigidGrab grab = {.body = rigid_at(rigid, 12),
                      .target = vec3(0.0f, 3.0f, 0.0f),
                      .frequency = 3.0f,
                      .damping = 1.0f,
                      .force_max = 100.0f};
    assert_int_equal(rigid_grab_add(rigid, &grab), 0);
    kit_run(rigid, 0.5f);
    return rigid;
}

static void validate(void *rigid)
{
    rigid_validate(rigid);
}

/* Changes one word of the world, and restores it. */
#define ASSERT_FOUND(rigid, place, value, failed_check)                                            \
    do {                                                                                           \
        __typeof__(place) own = (place);                                                           \
        (place) = (__typeof__(place))(value);                                                      \
        assert_dies(validate, rigid, failed_check);                                                \
        (place) = own;                                                                             \
    } while (0)

static void damaged_bodies_are_found(void **unused)
{
    PL_UNUSED(unused);
    Rigid *rigid = heap();
    assert_lives(validate, rigid);
    ASSERT_FOUND(rigid, rigid->states[3].velocity.x, NAN, "bounded(state->velocity) (item 3)");
    ASSERT_FOUND(rigid, rigid->states[3].inverse_mass, 1.0f, "1.0f / body->mass (item 3)");
    ASSERT_FOUND(rigid, rigid->bodies[3].orientation.w, 5.0f, "length2 < 1.01f (item 3)");
    ASSERT_FOUND(rigid, rigid->bodies[3].position.y, NAN, "vec3_is_finite(at) (item 3)");
    ASSERT_FOUND(rigid, rigid->bodies[3].generation, 0, "body->generation > 0");
    ASSERT_FOUND(rigid, rigid->bodies[3].flags, 0, "(item 3)");
    ASSERT_FOUND(rigid, rigid->extra_bodies, 7, "extra == rigid->extra_bodies");
    ASSERT_FOUND(rigid, rigid->slots, rigid->def.body_capacity + 1, "rigid->def.body_capacity");
    ASSERT_FOUND(rigid, rigid->active[2], 1, "rigid->active[i - 1] < rigid->active[i]");
    ASSERT_FOUND(rigid, rigid->grabs[0].body.generation, 9, "rigid_alive(rigid, grab->body)");
    rigid_destroy(rigid);
}

static void damaged_trees_are_found(void **unused)
{
    PL_UNUSED(unused);
    Rigid *rigid = heap();
    Tree *tree = &rigid->moving;
    TreeNode *root = &tree->nodes[tree->root];
    assert_int_equal(root->leaf, 0);
    ASSERT_FOUND(rigid, tree->leaf_count, 3, "leaves == tree->leaf_count");
    ASSERT_FOUND(rigid, tree->nodes[root->child[1]].parent, root->child[0], "parent == node");
    ASSERT_FOUND(rigid, root->child[0], root->child[1], "pair->child[side] == reference");
    ASSERT_FOUND(rigid, root->bounds.max.y, -50.0f, "(item ");
    ASSERT_FOUND(rigid, root->data, 2, "at->data == leaves");
    ASSERT_FOUND(rigid, tree->pairs[tree->root].axis[1][0], 9.0f,
                 "pair->axis[1][side] == b->min.y");
    ASSERT_FOUND(rigid, tree->pairs[tree->root].child[0], 0x7ffffff,
                 "pair->child[side] == reference");
    ASSERT_FOUND(rigid, tree->free, TREE_NONE, "count + free_count == tree->capacity");
    ASSERT_FOUND(rigid, tree->nodes[tree->free].parent, tree->free, "free_count < tree->capacity");
    ASSERT_FOUND(rigid, rigid->leaves[2], rigid->leaves[3], "nodes[leaf].data == i (item 2)");
    ASSERT_FOUND(rigid, rigid->bodies[2].fat.max.y, 9.0f, "&body->fat, &tree->nodes[leaf].bounds");
    ASSERT_FOUND(rigid, rigid->planes[0], 2, "rigid->planes[planes] == i");
    rigid_destroy(rigid);
}

static void damaged_pairs_are_found(void **unused)
{
    PL_UNUSED(unused);
    Rigid *rigid = heap();
    assert_true(rigid->pair_count > 8 && rigid->contact_count > 8 && rigid->recycled_count > 8);
    u32 at = 0;
    while (rigid->pairs[at].count == 0) {
        at++;
    }
    ASSERT_FOUND(rigid, rigid->pairs[at].a, rigid->pairs[at].b, "pair->a < pair->b");
    ASSERT_FOUND(rigid, rigid->pairs[at].b, 31, "is_live(rigid, pair->b)");
    ASSERT_FOUND(rigid, rigid->pairs[at].first, 5, "pair->first == first");
    ASSERT_FOUND(rigid, rigid->pairs[at].count, 0, "(item ");
    ASSERT_FOUND(rigid, rigid->pairs[at].recycled, rigid->recycled_count, "rigid->recycled_count");
    Pair second = rigid->pairs[2];
    rigid->pairs[2] = rigid->pairs[1];
    assert_dies(validate, rigid, "name_of(before->a, before->b) < name_of(pair->a, pair->b)");
    rigid->pairs[2] = second;
    ASSERT_FOUND(rigid, rigid->contacts[4].a, 30, "(item 4)");
    ASSERT_FOUND(rigid, rigid->contacts[4].impulses[0], NAN, "contact_is_bounded(c) (item 4)");
    ASSERT_FOUND(rigid, rigid->contacts[4].flags, 9u << CONTACT_COUNT_SHIFT, "MANIFOLD_POINTS");
    ASSERT_FOUND(rigid, rigid->contact_manifolds[4], rigid->manifold_capacity, "NO_MANIFOLD");
    ASSERT_FOUND(rigid, rigid->recycled[1].margin, NAN, "pose->margin >= 0.0f");
    rigid_destroy(rigid);
}

static void races_are_found(void **unused)
{
    PL_UNUSED(unused);
    Rigid *rigid = heap();
    const RowPlan *plan = &rigid->plans[0];
    assert_true(plan->lanes > 1 && rigid->row_count > 1);
    u32 *order = &rigid->color_order[plan->order];
    ASSERT_FOUND(rigid, order[0], order[1], "!moves || marks[sides[k]] != color + 1");
    ASSERT_FOUND(rigid, rigid->colors[0].count, 0, "range->first == at");
    ASSERT_FOUND(rigid, rigid->plans[0].lanes, 9, "plan->lanes <= SIMD_LANES");
    ASSERT_FOUND(rigid, rigid->plans[1].first, rigid->point_count, "rigid->point_count");
    ASSERT_FOUND(rigid, rigid->flights[3], 1, "rigid->flights[i] == 0 (item 3)");
    rigid_destroy(rigid);
}

static void damaged_islands_are_found(void **unused)
{
    PL_UNUSED(unused);
    Rigid *rigid = heap();
    const Contact *contact = rigid->contacts;
    while (rigid->bodies[contact->a].motion != BODY_DYNAMIC) {
        contact++;
    }
    BodyState *state = &rigid->states[contact->a];
    state->velocity = state->angular_velocity = vec3_zero();
    ASSERT_FOUND(rigid, rigid->bodies[contact->a].flags, BODY_LIVE | BODY_ASLEEP | BODY_ROUND,
                 "(both & BODY_ASLEEP) == 0");
    rigid_destroy(rigid);
}

static void damaged_joints_are_found(void **unused)
{
    PL_UNUSED(unused);
    Rigid *rigid = heap();
    JointStore *store = &rigid->joints;
    ASSERT_FOUND(rigid, store->joints[0].def.a.generation, 7, "rigid_alive(rigid, def->a)");
    ASSERT_FOUND(rigid, store->joints[0].def.swing, NAN, "joint_def_fault(def) == NULL");
    ASSERT_FOUND(rigid, store->joints[0].load.linear.x, INFINITY, "joint_is_bounded(joint)");
    ASSERT_FOUND(rigid, store->live, 4, "live == store->live");
    ASSERT_FOUND(rigid, store->joints[0].live, 0, "def->kind == JOINT_NONE");
    for (u32 i = 0; i < store->pair_capacity; i++) {
        if (store->pairs[i].b != 0) {
            ASSERT_FOUND(rigid, store->pairs[i].count, 2, "counted == apart");
        }
    }
    assert_true(store->laid_out);
    ASSERT_FOUND(rigid, store->tree_count, 0, "store->tree_group_count <= store->tree_count");
    rigid_destroy(rigid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_bodies_are_found),  cmocka_unit_test(damaged_trees_are_found),
        cmocka_unit_test(damaged_pairs_are_found),   cmocka_unit_test(races_are_found),
        cmocka_unit_test(damaged_islands_are_found), cmocka_unit_test(damaged_joints_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
