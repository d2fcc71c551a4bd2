/* test_netsim.c: the bad network does what its options say, and the same each time. */
#include "tests/support/netsim.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

enum {
    PACKETS = 20000
};

static void test_calm(void **state)
{
    PL_UNUSED(state);
    NetsimOptions calm = {.seed = 1, .delay_ms = 50.0};
    Netsim *netsim = netsim_create(&calm);
    u8 out[NETSIM_PACKET_BYTES_MAX];
    for (u32 i = 0; i < 100; i++) {
        netsim_send(netsim, &i, sizeof i, 1000);
    }
    assert_int_equal(netsim_receive(netsim, 50999, out), 0);
    for (u32 i = 0; i < 100; i++) { /* order kept, exactly 50 ms */
        u32 got;
        assert_int_equal(netsim_next_us(netsim), 51000);
        assert_int_equal(netsim_receive(netsim, 51000, out), sizeof i);
        memcpy(&got, out, sizeof got);
        assert_int_equal(got, i);
    }
    assert_true(netsim_next_us(netsim) == UINT64_MAX);
    netsim_destroy(netsim);
}

/* Share of packets that arrive, share that overtake, and a sum that depends on all of it. */
static u64 run(const NetsimOptions *options, f64 *arrived, f64 *overtaken)
{
    Netsim *netsim = netsim_create(options);
    u8 out[NETSIM_PACKET_BYTES_MAX];
    u32 count = 0, late = 0, newest = 0;
    u64 sum = 0;
    for (u32 i = 1; i <= PACKETS + 1000; i++) {
        u64 now = (u64)i * 10000;
        if (i <= PACKETS) {
            netsim_send(netsim, &i, sizeof i, now);
        }
        while (netsim_receive(netsim, now, out) > 0) {
            u32 got;
            memcpy(&got, out, sizeof got);
            late += got < newest;
            newest = u32_max(newest, got);
            count++;
            sum = sum * 31 + got;
        }
    }
    *arrived = (f64)count / PACKETS;
    *overtaken = (f64)late / PACKETS;
    netsim_destroy(netsim);
    return sum;
}

static void test_rates(void **state)
{
    PL_UNUSED(state);
    f64 arrived, overtaken;
    NetsimOptions options = {.seed = 3, .loss = 0.2};
    run(&options, &arrived, &overtaken);
    assert_true(fabs(arrived - 0.8) < 0.015 && overtaken == 0.0); /* 5 sigma */
    NetsimOptions twice = {.seed = 4, .duplicate = 0.1};
    run(&twice, &arrived, &overtaken);
    assert_true(fabs(arrived - 1.1) < 0.015);
    NetsimOptions jitter = {.seed = 5, .jitter_ms = 100.0};
    run(&jitter, &arrived, &overtaken);
    assert_true(arrived == 1.0 && overtaken > 0.3);
    NetsimOptions burst = {.seed = 6, .burst = 0.01, .burst_packets = 10.0};
    run(&burst, &arrived, &overtaken);
    assert_true(arrived > 0.87 && arrived < 0.94);
}

static void test_rate_cap(void **state)
{
    PL_UNUSED(state);
    NetsimOptions cap = {.seed = 1, .rate_bytes_s = 100000, .queue_ms = 100};
    Netsim *netsim = netsim_create(&cap);
    u8 packet[1000] = {0}, out[NETSIM_PACKET_BYTES_MAX];
    u64 bytes = 0;
    for (u64 ms = 1; ms <= 2000; ms++) { /* 1 MB/s into 0.1 MB/s */
        netsim_send(netsim, packet, sizeof packet, ms * 1000);
        u32 got;
        while ((got = netsim_receive(netsim, ms * 1000, out)) > 0) {
            bytes += got;
        }
    }
    assert_true(bytes > 190000 && bytes < 202000);
    netsim_destroy(netsim);
}

static void test_repeatable(void **state)
{
    PL_UNUSED(state);
    f64 a, b;
    NetsimOptions options = {.seed = 9, .loss = 0.1, .jitter_ms = 40.0, .duplicate = 0.05};
    u64 first = run(&options, &a, &b);
    assert_true(first == run(&options, &a, &b));
    options.seed = 10;
    assert_true(first != run(&options, &a, &b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calm),
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_rate_cap),
        cmocka_unit_test(test_repeatable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
