/* test_budget.c: the budget against a simulated bottleneck, and roles and rates of permits. */
#include "server/host/budget.h"
#include "server/host/permit.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* A line of `line` bytes/s with a 300 ms queue behind a 40 ms path; the sender always has more to
 * send. Returns the mean goodput of the last half and the worst queue of the last half in ms. */
static f64 bottleneck(Budget *budget, f64 line, f64 random_loss, u64 *worst_queue_ms)
{
    f64 queue = 0.0, delivered = 0.0;
    u32 packets_lost_carry = 0;
    *worst_queue_ms = 0;
    const u64 end = 60000;
    for (u64 now = 0; now < end; now += 33) {
        u32 budget_bytes = budget_take(budget, now);
        f64 drained = line * 0.033;
        f64 out = queue < drained ? queue : drained;
        queue -= out;
        f64 room = line * 0.3 - queue;
        u32 packets = budget_bytes / 1200, lost = 0;
        for (u32 i = 0; i < packets; i++) {
            packets_lost_carry += (u32)(random_loss * 1000.0);
            bool random = packets_lost_carry >= 1000;
            packets_lost_carry -= random ? 1000 : 0;
            if (random || room < 1200.0) {
                lost++;
            } else {
                queue += 1200.0;
                room -= 1200.0;
            }
        }
        u64 queue_ms = (u64)(queue / line * 1000.0);
        if (now > end / 2) {
            delivered += out;
            *worst_queue_ms = u64_max(*worst_queue_ms, queue_ms);
        }
        budget_spend(budget, packets * 1200, true);
        budget_feedback(budget, packets - lost, lost, 40.0 + (f64)queue_ms, now);
    }
    return delivered / 30.0;
}

static void test_finds_the_line(void **state)
{
    PL_UNUSED(state);
    static const f64 lines[] = {16000.0, 60000.0, 400000.0, 1500000.0};
    for (u32 i = 0; i < PL_COUNT(lines); i++) {
        Budget budget;
        u64 queue_ms;
        budget_init(&budget, 0, BUDGET_MAX_BYTES_S);
        f64 goodput = bottleneck(&budget, lines[i], 0.0, &queue_ms);
        if (goodput < 0.6 * lines[i] || queue_ms > 250) {
            fail_msg("line %.0f: goodput %.0f, queue %u ms", lines[i], goodput, (u32)queue_ms);
        }
    }
}

static void test_random_loss_is_no_congestion(void **state)
{
    PL_UNUSED(state);
    Budget budget;
    u64 queue_ms;
    budget_init(&budget, 0, 250000);
    f64 goodput = bottleneck(&budget, 1e7, 0.1, &queue_ms);
    assert_true(goodput > 0.8 * 250000.0);
}

static void test_bounds(void **state)
{
    PL_UNUSED(state);
    Budget budget;
    budget_init(&budget, 0, BUDGET_MAX_BYTES_S);
    for (u64 now = 0; now < 60000; now += 100) {
        budget_feedback(&budget, 0, 100, 2000.0, now);
    }
    assert_true(budget.bytes_s == (f64)BUDGET_MIN_BYTES_S);
    for (u64 now = 60000; now < 400000; now += 100) {
        budget_spend(&budget, 0, true);
        budget_feedback(&budget, 100, 0, 10.0, now);
    }
    assert_true(budget.bytes_s == (f64)BUDGET_MAX_BYTES_S);
    /* Whatever the pause, one burst only. */
    assert_true(budget_take(&budget, 100000000) <= BUDGET_MAX_BYTES_S / 10);
}

static void test_roles(void **state)
{
    PL_UNUSED(state);
    Permit permit;
    Input input = {.kind = INPUT_GRAB};
    permit_init(&permit, ROLE_VIEWER, 0);
    assert_int_equal(permit_input(&permit, &input, 0), ERROR_DENIED);
    permit_init(&permit, ROLE_PARTICIPANT, 0);
    assert_int_equal(permit_input(&permit, &input, 0), 0);
    input.kind = INPUT_RESET;
    assert_int_equal(permit_input(&permit, &input, 0), ERROR_DENIED);
    assert_int_equal(permit_control(&permit, CONTROL_PAUSE, 0), ERROR_DENIED);
    permit_init(&permit, ROLE_OPERATOR, 0);
    assert_int_equal(permit_input(&permit, &input, 0), 0);
    assert_int_equal(permit_control(&permit, CONTROL_PAUSE, 0), 0);
    input.kind = INPUT_KIND_COUNT;
    assert_int_equal(permit_input(&permit, &input, 0), ERROR_DENIED);
}

static void test_rates(void **state)
{
    PL_UNUSED(state);
    Permit permit;
    Input push = {.kind = INPUT_PUSH}, release = {.kind = INPUT_RELEASE};
    permit_init(&permit, ROLE_PARTICIPANT, 0);
    u32 taken = 0;
    for (u32 i = 0; i < 10000; i++) { /* 10 s, one a millisecond: 60 at once and 30 a second */
        taken += permit_input(&permit, &push, i) == 0;
        assert_int_equal(permit_input(&permit, &release, i), 0);
    }
    assert_in_range(taken, 358, 361);
    u32 packets = 0;
    while (permit_packet(&permit, 100, 20000)) {
        packets++;
    }
    assert_in_range(packets, 599, 601);
    for (u32 i = 0; i < PERMIT_MALFORMED_MAX; i++) {
        assert_true(permit_malformed(&permit));
    }
    assert_false(permit_malformed(&permit));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_the_line), cmocka_unit_test(test_random_loss_is_no_congestion),
        cmocka_unit_test(test_bounds),         cmocka_unit_test(test_roles),
        cmocka_unit_test(test_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
