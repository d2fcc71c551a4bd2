/* test_history.c: frames by tick, with reference counts that balance. */
#include "protocol/field/history.h"
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
    /* A seek back clears the ring. */
    push(&history, fields, 7);
    assert_int_equal(fields->references, 2);
    assert_int_equal(history.newest->tick, 7);
    push(&history, fields, 7);
    assert_int_equal(fields->references, 2);
    history_finish(&history);
    assert_int_equal(fields->references, 1);
    field_set_release(fields);
}

/* Marked frames stay, those between them are dropped; the oldest are dropped when there are too
 * many. */
static void test_marked_frames_stay(void **context)
{
    PL_UNUSED(context);
    FieldSet *fields = random_fields(10);
    History history;
    history_init(&history);
    u64 end = 4 * HISTORY_KEPT;
    for (u64 tick = 0; tick < end; tick++) {
        push(&history, fields, tick);
        if (tick % 3 == 0) {
            history_mark(&history);
        }
    }
    u64 ring = end - HISTORY_FRAMES, kept = 0;
    for (u64 tick = 0; tick < end; tick++) {
        Frame *frame = history_get(&history, tick);
        assert_true(frame == NULL || frame->tick == tick);
        assert_true(tick < ring || frame != NULL);
        assert_true(tick >= ring || tick % 3 == 0 || frame == NULL);
        kept += tick < ring && frame != NULL;
    }
    u64 most = HISTORY_KEPT_BYTES / (fields->frame_bytes + 2 * sizeof(Event));
    assert_int_equal(kept, most < HISTORY_KEPT ? most : HISTORY_KEPT);
    assert_non_null(history_get(&history, (ring - 1) / 3 * 3));
    /* After a gap all frames leave the ring, in order. */
    push(&history, fields, end + 10000);
    assert_non_null(history_get(&history, (end - 1) / 3 * 3));
    assert_null(history_get(&history, (end - 1) / 3 * 3 - 1));
    history_finish(&history);
    assert_int_equal(fields->references, 1);
    field_set_release(fields);
}

/* History keeps fewer frames of a large world: memory is bounded. */
static void test_memory_is_bounded(void **context)
{
    PL_UNUSED(context);
    FieldDesc desc = {.kind = FIELD_POINTS,
                      .name = "points",
                      .channels = 1,
                      .capacity = 1 << 18,
                      .quantum = 0.01f};
    FieldSet *fields = field_set_create(&desc, 1);
    History history;
    history_init(&history);
    u64 step = HISTORY_FRAMES, each = fields->frame_bytes + 2 * sizeof(Event);
    u64 count = 2 * HISTORY_KEPT_BYTES / each;
    for (u64 i = 0; i < count; i++) {
        push(&history, fields, i * step);
        history_mark(&history);
        assert_true(history.kept_bytes <= HISTORY_KEPT_BYTES);
    }
    assert_int_equal(history.kept_count, HISTORY_KEPT_BYTES / each);
    assert_non_null(history_get(&history, (count - 2) * step));
    assert_null(history_get(&history, 0));
    history_finish(&history);
    assert_int_equal(fields->references, 1);
    field_set_release(fields);
}

static void test_other_fields_clear_it(void **context)
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
        cmocka_unit_test(test_marked_frames_stay),
        cmocka_unit_test(test_memory_is_bounded),
        cmocka_unit_test(test_other_fields_clear_it),
        cmocka_unit_test(test_frame_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
