/* test_validate.c: validation detects a deliberately damaged particle store, and names the right
 * check. */
#include "server/physics/soft/batches.h"
#include "server/physics/soft/chain.h"
#include "server/physics/soft/self_collision.h"
#include "tests/support/dies.h"
#include "tests/support/soft_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void validate(void *soft)
{
    soft_validate(soft);
}

/* Changes one word of the store, and restores it. */
#define ASSERT_FOUND(soft, place, value, failed_check)                                             \
    do {                                                                                           \
        __typeof__(place) own = (place);                                                           \
        (place) = (__typeof__(place))(value);                                                      \
        assert_dies(validate, soft, failed_check);                                                 \
        (place) = own;                                                                             \
    } while (0)

/* Two cloths that lie on each other and on a box, both with self-collision. */
static SoftKit two_cloths(void)
{
    SoftKit kit = soft_kit_create(vec3(0.0f, -9.81f, 0.0f));
    for (u32 i = 0; i < 2; i++) {
        SoftDef def = soft_kit_cloth_def();
        def.position = vec3(0.0f, 0.52f + 0.03f * (f32)i, 0.0f);
        def.orientation = (Quat){0.70710678f, 0.70710678f, 0.0f, 0.0f};
        def.self_collision = true;
        soft_kit_add_cloth(&kit, &def, 12, 12, 1.0f, 1.0f);
    }
    Shape box = {.kind = SHAPE_BOX, .half = {0.5f, 0.5f, 0.5f}};
    soft_kit_add_body(&kit, box, BODY_STATIC, 0.0f, vec3_zero(), vec3_zero());
    soft_kit_ticks(&kit, 20);
    return kit;
}

static void damaged_bodies_are_found(void **unused)
{
    PL_UNUSED(unused);
    SoftKit kit = two_cloths();
    Soft *soft = kit.soft;
    assert_lives(validate, soft);
    ASSERT_FOUND(soft, soft->points[5].position.x, NAN, "vec3_length(p->position)");
    ASSERT_FOUND(soft, soft->points[5].velocity.y, INFINITY, "bounded(p->velocity) (item 5)");
    ASSERT_FOUND(soft, soft->points[5].inverse_mass, -1.0f, "p->inverse_mass >= 0.0f");
    ASSERT_FOUND(soft, soft->points[5].spare, 3.0f, "p->spare == 0.0f (item 5)");
    ASSERT_FOUND(soft, soft->matter[5].body, 1, "matter->body == body (item 5)");
    ASSERT_FOUND(soft, soft->bodies[1].first, 3, "body->first == points");
    ASSERT_FOUND(soft, soft->bodies[1].first_constraint, 0, "first_constraint == constraints");
    ASSERT_FOUND(soft, soft->bodies[1].first_pin, 1, "body->first_pin == pins");
    ASSERT_FOUND(soft, soft->constraints[7].point[1], soft->count - 1, "(item 7)");
    ASSERT_FOUND(soft, soft->constraints[7].kind, CONSTRAINT_KINDS, "c->kind < CONSTRAINT_KINDS");
    ASSERT_FOUND(soft, soft->constraints[7].compliance, NAN, "c->compliance >= 0.0f");
    ASSERT_FOUND(soft, soft->constraints[7].low, 9.0f, "c->low <= c->high");
    ASSERT_FOUND(soft, soft->triangles[0].point[2], soft->count, "is_of(body, p[2])");
    ASSERT_FOUND(soft, soft->asleep_count, 1, "asleep == soft->asleep_count");
    ASSERT_FOUND(soft, soft->rests[0].state.rest_s, -1.0f, "rest->state.rest_s >= 0.0f");
    ASSERT_FOUND(soft, soft->rest_count, 1, "soft->rest_count == soft->body_count");
    soft_kit_destroy(&kit);
}

static void damaged_contacts_are_found(void **unused)
{
    PL_UNUSED(unused);
    SoftKit kit = two_cloths();
    Soft *soft = kit.soft;
    assert_true(soft->near_count > 4);
    ASSERT_FOUND(soft, soft->near[1].mover, 0, "i < soft->near_fixed");
    ASSERT_FOUND(soft, soft->near[1].particle, soft->count, "->particle < soft->count");
    ASSERT_FOUND(soft, soft->near_count, soft->contact_count + 1,
                 "near_count <= soft->contact_count");
    ASSERT_FOUND(soft, soft->grabs[3].live, 1, "grab->live <=");
    ASSERT_FOUND(soft, soft->near[0].other, 1, "contact->other < soft->other_count");
    soft_kit_destroy(&kit);
}

static BatchRun *run_of(ConstraintBatches *batches, bool chain)
{
    for (u32 i = 0; i < batches->run_count; i++) {
        BatchRun *run = &batches->runs[i];
        if (run->chain == chain && !run->loose && run->count > 0 &&
            (chain || run->kind == CONSTRAINT_DISTANCE)) {
            return run;
        }
    }
    fail_msg("no run of this sort");
    return NULL;
}

static void damaged_packs_are_found(void **unused)
{
    PL_UNUSED(unused);
    SoftKit kit = two_cloths();
    Soft *soft = kit.soft;
    ConstraintBatches *batches = soft->batches;
    ASSERT_FOUND(soft, batches->group_of[9], batches->group_count,
                 "batches->group_of[particle] == g");
    ASSERT_FOUND(soft, batches->groups[0].runs.count, batches->run_count + 1, "group->runs");
    ASSERT_FOUND(soft, batches->runs[1].at, 1, "run->at == at");
    ASSERT_FOUND(soft, batches->stream_used, batches->stream_used - 1, "batches->stream_used");
    BatchDistance *batch = (BatchDistance *)(void *)(batches->stream + run_of(batches, false)->at);
    /* Two lanes would write one particle. */
    ASSERT_FOUND(soft, batch->point[0][3], batch->point[0][1], "lane_is_apart(point, written, l)");
    ASSERT_FOUND(soft, batch->point[0][3], 1, "point[k][l] % BATCH_POINT == 0");
    ChainHead *head = (ChainHead *)(void *)(batches->stream + run_of(batches, true)->at);
    ASSERT_FOUND(soft, head->tension, batches->tension_count,
                 "head->tension < batches->tension_count");
    ASSERT_FOUND(soft, head->even, head->links + 1, "head->even <= head->links");
    ASSERT_FOUND(soft, ((f32 *)batches->tension)[2], NAN, "tensions[i] >= 0.0f");
    soft_kit_destroy(&kit);
}

static void damage_to_self_collision_is_found(void **unused)
{
    PL_UNUSED(unused);
    SoftKit kit = two_cloths();
    Soft *soft = kit.soft;
    SelfCollision *collision = soft->collision;
    assert_true(collision->any && collision->contact_count > 0);
    ASSERT_FOUND(soft, collision->leaves[1].first_triangle, 0, "leaf->first_triangle == triangles");
    ASSERT_FOUND(soft, collision->triangles[2].across[0], collision->triangle_count,
                 "triangle_count");
    ASSERT_FOUND(soft, collision->edges[2].point[0], soft->count, "edge->point[0] < soft->count");
    ASSERT_FOUND(soft, collision->nodes[0].skip, 0, "node->skip > i");
    ASSERT_FOUND(soft, collision->bodies[1].first_leaf, 0, "body->first_leaf == leaves");
    ASSERT_FOUND(soft, collision->contact_count, 0, "contacts == collision->contact_count");
    for (u32 c = 0; c < collision->chunk_count; c++) {
        if (collision->chunks[c].count > 0) {
            ASSERT_FOUND(soft, collision->chunks[c].contacts->b, SOFT_NONE, "contact->b <");
            break;
        }
    }
    soft_kit_destroy(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_bodies_are_found),
        cmocka_unit_test(damaged_contacts_are_found),
        cmocka_unit_test(damaged_packs_are_found),
        cmocka_unit_test(damage_to_self_collision_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
