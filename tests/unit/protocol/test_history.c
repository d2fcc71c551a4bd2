/* test_history.c: frames by tick, references counted to the last. */
#include "protocol/history.h"
#include "tests/unit/protocol/random_world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void push(History *history, FieldSet *fields, u64 tick)
{
    Frame *frame = frame_create(fields, tick, 2);
    history_push(history, frame);
    frame_release(frame);
}

static void test_ring(void **context)
{
    PL_UNUSED(context);
    FieldSet *fields = random_fields(10);
    History history;
    history_init(&history);
    assert_null(history_get(&history, 0));
    for (u64 tick = 0; tick < 3 * HISTORY_FRAMES; tick++) {
        push(&history, fields, tick);
        assert_int_equal(history.newest->tick, tick);
    }
    for (u64 tick = 0; tick < 4 * HISTORY_FRAMES; tick++) {
        bool kept = tick >= 2 * HISTORY_FRAMES && tick < 3 * HISTORY_FRAMES;
        Frame *frame = history_get(&history, tick);
        assert_true((frame != NULL) == kept);
        assert_true(frame == NULL || frame->tick == tick);
    }
    assert_int_equal(fields->references, 1 + HISTORY_FRAMES);
    /* A seek backwards starts anew. */
    push(&history, fields, 7);
    assert_int_equal(fields->references, 2);
    assert_int_equal(history.newest->tick, 7);
    push(&history, fields, 7);
    assert_int_equal(fields->references, 2);
    history_finish(&history);
    assert_int_equal(fields->references, 1);
    field_set_release(fields);
}

static void test_other_fields_start_anew(void **context)
{
    PL_UNUSED(context);
    FieldSet *a = random_fields(10), *b = random_fields(11), *same = random_fields(10);
    History history;
    history_init(&history);
    push(&history, a, 1);
    push(&history, same, 2);
    assert_non_null(history_get(&history, 1));
    push(&history, b, 3);
    assert_null(history_get(&history, 1));
    assert_null(history_get(&history, 2));
    history_finish(&history);
    field_set_release(a);
    field_set_release(b);
    field_set_release(same);
}

static void test_frame_memory(void **context)
{
    PL_UNUSED(context);
    FieldSet *fields = random_fields(10);
    Frame *frame = frame_create(fields, 5, 3);
    assert_int_equal((uintptr_t)frame->data % 16, 0);
    for (u32 f = 0; f < fields->count; f++) {
        assert_int_equal(fields->offset[f] % 16, 0);
    }
    memset(frame->data, 1, fields->frame_bytes);
    memset(frame->events, 2, 3 * sizeof(Event));
    frame_acquire(frame);
    frame_release(frame);
    assert_int_equal(frame->references, 1);
    frame_release(frame);
    frame_release(NULL);
    field_set_release(fields);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring),
        cmocka_unit_test(test_other_fields_start_anew),
        cmocka_unit_test(test_frame_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
