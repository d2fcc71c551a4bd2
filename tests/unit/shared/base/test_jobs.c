/* test_jobs.c: every item is visited exactly once, in the same ranges for every number of
 * threads. */
#include "shared/base/clock.h"
#include "shared/base/jobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
// cmocka.h needs the four headers above
#include <sys/resource.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

enum {
    ITEMS_MAX = 5000
};

typedef struct Seen {
    u32 visits[ITEMS_MAX];
    u32 range_end[ITEMS_MAX]; /* indexed by the range's first item */
    u32 threads;
    u32 grain;
} Seen;

static void visit(void *context, u32 first, u32 end, u32 worker)
{
    Seen *seen = context;
    if (worker >= seen->threads || end <= first || end - first > seen->grain) {
        abort();
    }
    seen->range_end[first] = end;
    for (u32 i = first; i < end; i++) {
        seen->visits[i]++; /* not atomic: tsan reports two workers on one item */
    }
}

static void each_item_once(void **state)
{
    (void)state;
    static const u32 counts[] = {0, 1, 2, 7, 64, 1000, ITEMS_MAX};
    static const u32 grains[] = {1, 3, 64, 999, 10000};
    static Seen seen, alone;
    for (u32 threads = 1; threads <= 5; threads++) {
        Jobs *jobs = jobs_create(threads);
        assert_non_null(jobs);
        assert_int_equal(jobs_threads(jobs), threads);
        for (u32 c = 0; c < PL_COUNT(counts); c++) {
            for (u32 g = 0; g < PL_COUNT(grains); g++) {
                memset(&seen, 0, sizeof seen);
                memset(&alone, 0, sizeof alone);
                seen.threads = threads;
                alone.threads = 1;
                seen.grain = alone.grain = grains[g];
                jobs_run(jobs, counts[c], grains[g], visit, &seen);
                jobs_run(NULL, counts[c], grains[g], visit, &alone);
                for (u32 i = 0; i < ITEMS_MAX; i++) {
                    assert_int_equal(seen.visits[i], i < counts[c]);
                }
                assert_memory_equal(seen.range_end, alone.range_end, sizeof seen.range_end);
                jobs_run_back(jobs, counts[c], grains[g], visit, &seen);
                for (u32 i = 0; i < ITEMS_MAX; i++) {
                    assert_int_equal(seen.visits[i], 2 * (i < counts[c]));
                }
                assert_memory_equal(seen.range_end, alone.range_end, sizeof seen.range_end);
            }
        }
        jobs_destroy(jobs);
    }
}

typedef struct Order {
    u32 firsts[8], count;
} Order;

static void note(void *context, u32 first, u32 end, u32 worker)
{
    Order *order = context;
    PL_UNUSED(end);
    PL_UNUSED(worker);
    order->firsts[order->count++] = first;
}

static void back_begins_with_the_last(void **state)
{
    (void)state;
    Order order = {.count = 0};
    jobs_run_back(NULL, 50, 16, note, &order);
    assert_int_equal(order.count, 4);
    for (u32 k = 0; k < 4; k++) {
        assert_int_equal(order.firsts[k], 48 - 16 * k);
    }
}

static void sum_up(void *context, u32 first, u32 end, u32 worker)
{
    u64 *sums = context; /* [worker * 8] */
    for (u32 i = first; i < end; i++) {
        sums[worker * 8] += i;
    }
}

/* Many short loops in a row: the workers are late, asleep or spinning. */
static void loops_in_a_row(void **state)
{
    (void)state;
    for (u32 threads = 2; threads <= 4; threads++) {
        Jobs *jobs = jobs_create(threads);
        assert_non_null(jobs);
        for (u32 round = 0; round < 3000; round++) {
            u64 sums[4 * 8] = {0};
            u32 count = 2 + round % 50;
            jobs_run(jobs, count, 1 + round % 3, sum_up, sums);
            u64 total = sums[0] + sums[8] + sums[16] + sums[24];
            assert_int_equal(total, (u64)count * (count - 1) / 2);
        }
        jobs_destroy(jobs);
    }
}

/* Each phase doubles the values of the one before, in other cells: an overlap of two phases gives a
 * wrong value. */
typedef struct Chain {
    u32 cells[2][64];
} Chain;

static void chain_link(void *context, u32 phase, u32 first, u32 end, u32 worker)
{
    Chain *chain = context;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        const u32 *from = chain->cells[phase % 2];
        chain->cells[(phase + 1) % 2][i] = from[i] + from[63 - i];
    }
}

static void phases_in_order(void **state)
{
    (void)state;
    enum {
        PHASES = 12
    };
    /* Grain 64: a single range; consecutive ones are joined. */
    static const u32 grains[PHASES] = {8, 64, 64, 3, 64, 5, 5, 64, 64, 64, 1, 7};
    for (u32 threads = 0; threads <= 4; threads++) {
        Jobs *jobs = threads ? jobs_create(threads) : NULL;
        for (u32 round = 0; round < 500; round++) {
            Chain chain;
            JobsPhase phases[PHASES + 1];
            for (u32 i = 0; i < 64; i++) {
                chain.cells[0][i] = 1;
            }
            for (u32 i = 0; i < PHASES; i++) {
                phases[i] = (JobsPhase){.count = 64, .grain = grains[(i + round) % PHASES]};
            }
            phases[PHASES] = (JobsPhase){.count = 0, .grain = 1};
            jobs_run_phases(jobs, phases, PHASES + round % 2, chain_link, &chain);
            for (u32 i = 0; i < 64; i++) {
                assert_int_equal(chain.cells[PHASES % 2][i], 1u << PHASES);
            }
        }
        jobs_destroy(jobs);
    }
}

static void count_visits(void *context, u32 phase, u32 first, u32 end, u32 worker)
{
    u32 *visits = context; /* one per phase; the phases run in sequence */
    PL_UNUSED(worker);
    if (first == 0 && phase > 0 && visits[phase - 1] == 0) {
        abort(); /* the last phase with work (one or two before) is not done */
    }
    if (first == 0) {
        visits[phase] = end;
    }
}

/* Chains longer than any table, with empty phases among them. */
static void long_chains(void **state)
{
    (void)state;
    enum {
        PHASES = 700
    };
    static JobsPhase phases[PHASES];
    static u32 visits[PHASES];
    for (u32 threads = 1; threads <= 3; threads++) {
        Jobs *jobs = jobs_create(threads);
        memset(visits, 0, sizeof visits);
        for (u32 i = 0; i < PHASES; i++) {
            phases[i] = (JobsPhase){.count = 4, .grain = i % 3 == 0 ? 4 : 1};
        }
        jobs_run_phases(jobs, phases, PHASES, count_visits, visits);
        for (u32 i = 0; i < PHASES; i++) {
            assert_int_equal(visits[i], i % 3 == 0 ? 4 : 1);
        }
        Chain chain;
        for (u32 i = 0; i < 64; i++) {
            chain.cells[1][i] = 1;
        }
        for (u32 i = 0; i < PHASES; i++) { /* of three only the middle one has work */
            phases[i] = (JobsPhase){.count = i % 3 == 1 && i < 36 ? 64 : 0, .grain = 5};
        }
        jobs_run_phases(jobs, phases, PHASES, chain_link, &chain);
        for (u32 i = 0; i < 64; i++) {
            assert_int_equal(chain.cells[1][i], 1u << 12);
        }
        jobs_destroy(jobs);
    }
}

typedef struct Hold {
    _Atomic u32 done;
    u32 ranges;
} Hold;

/* The second worker holds its range until all else is done. */
static void hold_up(void *context, u32 first, u32 end, u32 worker)
{
    Hold *hold = context;
    PL_UNUSED(first);
    PL_UNUSED(end);
    while (worker == 1 && hold->done < hold->ranges - 1) {
    }
    hold->done++;
}

/* Ranges that a blocked worker has not begun are done by the others. */
static void a_blocked_worker_holds_up_one_range(void **state)
{
    (void)state;
    Jobs *jobs = jobs_create(2);
    for (u32 round = 0; round < 200; round++) {
        Hold hold = {.ranges = 8};
        jobs_run(jobs, hold.ranges, 1, hold_up, &hold);
        assert_int_equal(hold.done, hold.ranges);
    }
    jobs_destroy(jobs);
}

/* Time of processors that all threads have had. */
static f64 processor_s(void)
{
    struct rusage used;
    assert_int_equal(getrusage(RUSAGE_SELF, &used), 0);
    return (f64)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (f64)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* Ticks of some loops, with and without sleep between them, and some without any loop: a pool that
 * is held does all of them, and its workers sleep when it is released. */
static void held_for_ticks(void **state)
{
    (void)state;
    for (u32 threads = 1; threads <= 4; threads++) {
        Jobs *jobs = jobs_create(threads);
        assert_non_null(jobs);
        for (u32 tick = 0; tick < 300; tick++) {
            jobs_hold(jobs);
            for (u32 loop = 0; loop < tick % 5; loop++) {
                u64 sums[4 * 8] = {0};
                u32 count = 2 + (tick + loop) % 50;
                jobs_run(jobs, count, 1 + tick % 3, sum_up, sums);
                u64 total = sums[0] + sums[8] + sums[16] + sums[24];
                assert_int_equal(total, (u64)count * (count - 1) / 2);
            }
            jobs_release(jobs);
            if (tick % 7 == 0) {
                clock_sleep_until_ns(clock_now_ns() + 1000000);
            }
        }
        f64 begun_s = processor_s();
        clock_sleep_until_ns(clock_now_ns() + 200000000);
        assert_true(processor_s() - begun_s < 0.1); /* nobody spins */
        jobs_hold(jobs);                            /* and a held pool can be destroyed */
        jobs_destroy(jobs);
    }
    jobs_hold(NULL);
    jobs_release(NULL);
}

static void bad_arguments(void **state)
{
    (void)state;
    assert_null(jobs_create(0));
    assert_null(jobs_create(100000));
    assert_int_equal(jobs_threads(NULL), 1);
    jobs_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_item_once), cmocka_unit_test(back_begins_with_the_last),
        cmocka_unit_test(loops_in_a_row), cmocka_unit_test(phases_in_order),
        cmocka_unit_test(long_chains),    cmocka_unit_test(a_blocked_worker_holds_up_one_range),
        cmocka_unit_test(held_for_ticks), cmocka_unit_test(bad_arguments),
    };
    return cmocka_run_group_tests_name("jobs", tests, NULL, NULL);
}
