/*
 * test_playout.c: the shown tick of a stream that pauses ends at the last tick, for every rate,
 * jitter and moment of the pause: viewers of one paused world see one picture.
 */
#include "client/link/playout.h"
#include "shared/math/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define NS_PER_S 1e9

enum {
    RUNS = 400,
};

static u64 ns(f64 s)
{
    return (u64)(s * NS_PER_S);
}

/* From [0, 1). */
static f64 next(u64 *draws)
{
    return (f64)random_f32(1711, (*draws)++);
}

/* A stream of `running_s` seconds whose packets come up to jitter_s late, then its pause. Returns
 * how far the picture was beyond the pause's tick when that arrived. */
static f64 pause_once(u64 *draws, f64 tick_rate, f64 snapshot_rate, f64 jitter_s)
{
    Playout playout;
    playout_init(&playout, (u32)tick_rate, (u32)snapshot_rate);
    f64 now_s = 1.0, frame_s = 0.004 + 0.03 * next(draws);
    f64 running_s = 1.0 + 3.0 * next(draws);
    u64 tick = 0;
    for (f64 sent_s = 0.0; sent_s < running_s; sent_s += 1.0 / snapshot_rate) {
        f64 arrives_s = 1.0 + sent_s + jitter_s * next(draws);
        for (; now_s < arrives_s; now_s += frame_s) {
            (void)playout_advance(&playout, ns(now_s));
        }
        tick = (u64)(sent_s * tick_rate);
        playout_arrival(&playout, tick, 1.0, ns(now_s));
    }
    f64 told_s = now_s + 0.3 * next(draws); /* the word of it may be late */
    for (; now_s < told_s; now_s += frame_s) {
        (void)playout_advance(&playout, ns(now_s));
    }
    f64 beyond = playout.shown - (f64)tick;
    playout_arrival(&playout, tick, 0.0, ns(now_s));
    for (f64 end_s = now_s + 2.0; now_s < end_s; now_s += frame_s) {
        f64 before = playout.shown;
        PlayoutStep step = playout_advance(&playout, ns(now_s));
        assert_true(playout.shown <= (f64)tick);
        assert_true(playout.shown >= before || step.jumped); /* a step back is one that is faded */
        assert_true(!step.jumped || (step.from == before && step.to == playout.shown));
    }
    assert_true(playout.shown == (f64)tick);
    return beyond;
}

static void test_pause(void **state)
{
    (void)state;
    u64 draws = 0;
    u32 beyond = 0;
    for (u32 i = 0; i < RUNS; i++) {
        f64 tick_rate = i % 3 == 0 ? 30.0 : i % 3 == 1 ? 60.0 : 120.0;
        f64 snapshot_rate = i % 2 == 0 ? 30.0 : 20.0;
        beyond += pause_once(&draws, tick_rate, snapshot_rate, 0.1 * next(&draws)) > 0.0;
    }
    assert_true(beyond > RUNS / 4); /* else nothing was tested */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
