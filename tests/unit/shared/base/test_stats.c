/* test_stats.c: histogram, average, rate and hash against exact answers; the clock advances. */
#include "shared/base/clock.h"
#include "shared/base/hash.h"
#include "shared/base/stats.h"
#include "shared/math/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
// cmocka.h needs the four headers above
#include <cmocka.h>

#include "tests/support/near.h"
#include <math.h>

static void histogram_quantiles(void **state)
{
    (void)state;
    static f64 values[20000];
    Histogram h = {0};
    for (u32 i = 0; i < PL_COUNT(values); i++) {
        u64 value = random_u64(3, i) >> (1 + i % 60);
        values[i] = (f64)value;
        histogram_add(&h, value);
    }
    static const f64 shares[] = {0.0, 0.1, 0.5, 0.9, 0.99, 1.0};
    for (u32 i = 0; i < PL_COUNT(shares); i++) {
        f64 exact = stats_quantile(values, PL_COUNT(values), shares[i]);
        f64 got = histogram_quantile(&h, shares[i]);
        if (!(fabs(got - exact) <= exact / 32.0 + 1.0)) {
            fail_msg("quantile %g: got %g, expected %g", shares[i], got, exact);
        }
    }
    Histogram none = {0};
    assert_true(histogram_quantile(&none, 0.5) == 0.0);
    histogram_add(&none, UINT64_MAX);
    histogram_add(&none, 0);
    assert_true(histogram_quantile(&none, 0.0) == 0.0);
}

static void moving_average(void **state)
{
    (void)state;
    MovingAverage a = {.weight = 0.25};
    average_add(&a, 8.0);
    assert_true(a.value == 8.0);
    average_add(&a, 4.0);
    assert_true(a.value == 7.0);
}

/* XSUM_XXH3_testdata of xxHash 0.8.3 (cli/xsum_sanity_check.c): a length for each code path of the
 * hash, without and with a seed. */
static void hash_is_xxh3(void **state)
{
    (void)state;
    static const u64 prime = 0x9e3779b185ebca8dull;
    static const struct {
        u32 bytes;
        u64 plain, seeded; /* seeded with the prime */
    } published[] = {
        {0, 0x2d06800538d394c2ull, 0xa8a6b918b2f0364aull},
        {1, 0xc44bdff4074eecdbull, 0x032be332dd766ef8ull},
        {6, 0x27b56a84cd2d7325ull, 0x84589c116ab59ab9ull},
        {12, 0xa713daf0dfbb77e7ull, 0xe7303e1b2336de0eull},
        {24, 0xa3fe70bf9d3510ebull, 0x850e80fc35bdd690ull},
        {48, 0x397da259ecba1f11ull, 0xadc2cbaa44acc616ull},
        {80, 0xbcdefbbb2c47c90aull, 0xc6dd0cb699532e73ull},
        {195, 0xcd94217ee362ec3aull, 0xba68003d370cb3d9ull},
        {403, 0xcdeb804d65c6dea4ull, 0x6259f6ecfd6443fdull},
        {512, 0x617e49599013cb6bull, 0x3ce457de14c27708ull},
        {2048, 0xdd59e2c3a5f038e0ull, 0x66f81670669ababcull},
        {2367, 0xcb37aeb9e5d361edull, 0xd2db3415b942b42aull},
    };
    u8 data[2367];
    u64 generator = 2654435761u; /* the generator of that file */
    for (u32 i = 0; i < sizeof data; i++, generator *= 0x9e3779b185ebca8dull) {
        data[i] = (u8)(generator >> 56);
    }
    for (u32 i = 0; i < PL_COUNT(published); i++) {
        char what[32];
        snprintf(what, sizeof what, "%u bytes", published[i].bytes);
        expect_bits(what, hash_bytes(data, published[i].bytes, 0), published[i].plain);
        expect_bits(what, hash_bytes(data, published[i].bytes, prime), published[i].seeded);
    }
}

static void buckets_hold_what_is_at_most_their_bound(void **state)
{
    (void)state;
    Buckets buckets = {0};
    const f64 values[] = {0.0, 1e-5, 1.1e-5, 10.0, 11.0};
    for (u32 i = 0; i < PL_COUNT(values); i++) {
        buckets_add(&buckets, &BOUNDS_SECONDS, values[i]);
    }
    assert_int_equal(buckets.counts[0], 2);
    assert_int_equal(buckets.counts[1], 1);
    assert_int_equal(buckets.counts[BOUNDS_SECONDS.count - 1], 1);
    assert_int_equal(buckets.counts[BOUNDS_SECONDS.count], 1);
    assert_int_equal(buckets.count, 5);
    assert_true(BOUNDS_SECONDS.count <= BUCKETS_MAX && BOUNDS_RATE.count <= BUCKETS_MAX);
    for (u32 i = 1; i < BOUNDS_SECONDS.count; i++) {
        assert_true(BOUNDS_SECONDS.bounds[i] > BOUNDS_SECONDS.bounds[i - 1]);
    }
}

static void clock_advances(void **state)
{
    (void)state;
    u64 start = clock_now_ns();
    clock_sleep_until_ns(start + 2000000);
    assert_true(clock_now_ns() >= start + 2000000);
    assert_true(clock_unix_s() > 1600000000u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(histogram_quantiles),
        cmocka_unit_test(moving_average),
        cmocka_unit_test(hash_is_xxh3),
        cmocka_unit_test(buckets_hold_what_is_at_most_their_bound),
        cmocka_unit_test(clock_advances),
    };
    return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
