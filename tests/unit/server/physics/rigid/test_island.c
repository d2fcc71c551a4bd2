/* test_island.c: bodies created asleep wake together like bodies that fell asleep in the world. */
#include "server/physics/rigid/rigid_internal.h"
#include "tests/support/dies.h"
#include "tests/support/rigid_kit.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum {
    ROW = 8
};

static void validate(void *rigid)
{
    rigid_validate(rigid);
}

/* Sleeping boxes in a row, each touching the next, and one by itself: slots 0 to ROW. */
static Rigid *sleeping_row(void)
{
    Rigid *rigid = kit_world(ROW + 1, 4, 0.0f);
    for (u32 i = 0; i <= ROW; i++) {
        BodyDef box = kit_box(vec3(i < ROW ? (f32)i : 20.0f, 0.0f, 0.0f), vec3(0.5f, 0.5f, 0.5f));
        box.asleep = true;
        kit_add(rigid, &box);
    }
    return rigid;
}

/* No contacts are known yet: a push at one end must find them all at once, or the solver would move
 * bodies that are marked as sleeping. */
static void row_created_asleep_wakes_together(void **unused)
{
    PL_UNUSED(unused);
    for (u32 ticks = 0; ticks < 2; ticks++) { /* before the first tick, and after it */
        Rigid *rigid = sleeping_row();
        for (u32 i = 0; i < ticks; i++) {
            kit_tick(rigid);
        }
        for (u32 i = 0; i <= ROW; i++) {
            assert_false(rigid_awake(rigid, i));
        }
        rigid_push(rigid, 0, vec3_zero(), vec3(3000.0f, 0.0f, 0.0f), vec3_zero());
        kit_tick(rigid);
        for (u32 i = 0; i < ROW; i++) {
            if (!rigid_awake(rigid, i)) {
                fail_msg("box %u of the row: expected awake, got asleep", i);
            }
        }
        assert_false(rigid_awake(rigid, ROW));
        assert_lives(validate, rigid);
        rigid_destroy(rigid);
    }
}

static void sleeping_body_that_moves_is_found(void **unused)
{
    PL_UNUSED(unused);
    Rigid *rigid = sleeping_row();
    kit_tick(rigid);
    assert_lives(validate, rigid);
    rigid->states[ROW].velocity.y = 0.001f;
    assert_dies(validate, rigid, "is_zero(state->velocity)");
    rigid_destroy(rigid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_created_asleep_wakes_together),
        cmocka_unit_test(sleeping_body_that_moves_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
