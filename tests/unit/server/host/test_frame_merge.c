/*
 * test_frame_merge.c: frames that carry the events of frames that were not seen, through any number
 * of merges: the list of entities, grabs and broken joints are as if all had been seen, and the
 * carried events stay bounded.
 */
#include "server/host/frame_merge.h"
#include "shared/base/check.h"
#include "shared/math/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    IDS = 200,
    USERS = 8,
    TICKS = 20000
};

/* What follows from events. */
typedef struct Held {
    u32 generation[IDS + 1]; /* 0: not there */
    u32 grabbed[USERS + 1];
    u32 broken, resets;
} Held;

static void apply(Held *held, const Frame *frame)
{
    for (u32 i = 0; i < frame->event_count; i++) {
        const Event *event = &frame->events[i];
        if (event->kind == EVENT_RESET) {
            memset(held, 0, sizeof *held);
            held->resets = 1;
        } else if (event->kind == EVENT_SPAWN) {
            assert_int_equal(held->generation[event->entity.id], 0);
            held->generation[event->entity.id] = event->entity.generation;
        } else if (event->kind == EVENT_DESPAWN) {
            assert_int_not_equal(held->generation[event->entity.id], 0);
            held->generation[event->entity.id] = 0;
        } else if (event->kind == EVENT_GRAB) {
            held->grabbed[event->user] = event->a;
        }
        held->broken += event->kind == EVENT_BREAK;
    }
}

/* Some ticks of a world: spawns and removals, grabs and releases, many impacts. */
static Frame *tick_make(FieldSet *fields, const Held *held, u64 tick, bool resets)
{
    Frame *frame = frame_create(fields, tick, 6);
    CHECK(frame != NULL);
    for (u32 i = 0; i < 6; i++) {
        u64 dice = random_u64(5, 6 * tick + i);
        Event *event = &frame->events[i];
        u32 id = 1 + (u32)(dice >> 8) % (IDS / 6) + i * (IDS / 6);
        event->kind = EVENT_IMPACT;
        if (i < 3) {
            event->kind = held->generation[id] != 0 ? EVENT_DESPAWN : EVENT_SPAWN;
            event->entity.id = id;
            event->entity.generation = (u16)(1 + tick % 60000);
        } else if (i == 3) {
            event->kind = dice % 3 != 0 ? EVENT_GRAB : EVENT_REFUSED;
            event->user = 1 + (u32)(dice >> 20) % USERS;
            event->a = (u32)(dice >> 30) % 50;
        } else if (i == 4 && tick % 4000 == 77) {
            event->kind = EVENT_BREAK;
        }
    }
    if (resets && tick % 7001 == 7000) {
        frame->event_count = 1;
        frame->events[0].kind = EVENT_RESET;
    }
    return frame;
}

static void run(bool resets)
{
    FieldDesc desc = {.kind = FIELD_SCALARS, .channels = 1, .capacity = 4};
    FieldSet *fields = field_set_create(&desc, 1);
    static Held all, before, told;
    Frame *merged = NULL;
    u32 most = 0;
    memset(&all, 0, sizeof all);
    CHECK(fields != NULL);
    for (u64 tick = 1; tick <= TICKS; tick++) {
        Frame *frame = tick_make(fields, &all, tick, resets);
        apply(&all, frame);
        if (tick == 100) { /* that far all was seen */
            before = all;
            frame_release(frame);
            continue;
        }
        if (tick < 100) {
            frame_release(frame);
            continue;
        }
        Frame *shared = tick % 3 == 0 && merged != NULL ? frame_acquire(merged) : NULL;
        u32 count = shared != NULL ? shared->event_count : 0;
        merged = merged != NULL ? frame_merge(merged, frame) : frame;
        assert_non_null(merged);
        if (shared != NULL) { /* what others read is as it was */
            assert_int_equal(shared->event_count, count);
            frame_release(shared);
        }
        most = u32_max(most, merged->event_count);
    }
    assert_true(most <= 2048 + 6);
    told = before;
    apply(&told, merged);
    assert_memory_equal(&told, &all, sizeof all);
    print_message("%d ticks: at most %u events carried\n", TICKS, most);
    frame_release(merged);
    field_set_release(fields);
}

static void test_carried(void **state)
{
    PL_UNUSED(state);
    run(false);
}

static void test_carried_over_resets(void **state)
{
    PL_UNUSED(state);
    run(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_carried),
        cmocka_unit_test(test_carried_over_resets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
