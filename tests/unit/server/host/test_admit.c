/* test_admit.c: limits of connections per address and site. */
#include "server/host/admit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static NetAddress address(const char *text)
{
    NetAddress a;
    assert_true(net_address_parse(text, &a));
    return a;
}

/* Two users an address, three a site, in a new table. */
static void expect_places(Admit *admit)
{
    NetAddress a = address("10.0.0.1"), b = address("10.0.0.2"), c = address("10.0.1.1");
    for (u32 i = 0; i < 2; i++) {
        assert_int_equal(admit_try(admit, a, 0), ADMIT_YES);
        admit_enter(admit, a, 0);
    }
    assert_int_equal(admit_try(admit, a, 0), ADMIT_ADDRESS_FULL);
    assert_int_equal(admit_try(admit, b, 0), ADMIT_YES);
    admit_enter(admit, b, 0);
    assert_int_equal(admit_try(admit, b, 0), ADMIT_SITE_FULL);
    assert_int_equal(admit_try(admit, c, 0), ADMIT_YES);
    admit_leave(admit, a, 0);
    assert_int_equal(admit_try(admit, b, 0), ADMIT_YES);
}

/* Wherever the table's key puts them: an address and its network never take each other's entry. */
static void test_places(void **state)
{
    PL_UNUSED(state);
    AdmitLimits limits = {.per_address = 2, .per_site = 3, .joins_minute = 100};
    Admit *admit = admit_create(&limits);
    for (u32 i = 0; i < 20000; i++) {
        memset(admit->entries, 0, sizeof admit->entries);
        memcpy(admit->key, &i, sizeof i);
        expect_places(admit);
    }
    free(admit);
}

/* Loopback addresses are exempt unless the limits include them. */
static void test_loopback(void **state)
{
    PL_UNUSED(state);
    AdmitLimits limits = {.per_address = 2, .per_site = 3};
    Admit *admit = admit_create(&limits);
    NetAddress local = address("127.0.0.1");
    for (u32 i = 0; i < 9; i++) {
        assert_int_equal(admit_try(admit, local, 0), ADMIT_YES);
        admit_enter(admit, local, 0);
    }
    admit->limits.local = true;
    assert_int_equal(admit_try(admit, local, 0), ADMIT_ADDRESS_FULL);
    free(admit);
}

static void test_rate(void **state)
{
    PL_UNUSED(state);
    AdmitLimits limits = {.joins_minute = 6};
    Admit *admit = admit_create(&limits);
    NetAddress a = address("2001:db8::1");
    u32 good = 0;
    for (u32 i = 0; i < 100; i++) {
        good += admit_try(admit, a, 1000) == ADMIT_YES;
    }
    assert_int_equal(good, 6);
    assert_int_equal(admit_try(admit, a, 10900), ADMIT_TOO_OFTEN);
    assert_int_equal(admit_try(admit, a, 11100), ADMIT_YES);
    /* A household that changes its addresses is one address, one that changes its networks gets the
     * share of a site, no more. */
    u32 households = 0, networks = 0;
    for (u32 i = 0; i < 1000; i++) {
        NetAddress other = address("2001:db8:8:9::1"), network = address("2001:db8:9:9::1");
        other.bytes[12] = network.bytes[6] = (u8)i;
        other.bytes[13] = network.bytes[7] = (u8)(i >> 8);
        households += admit_try(admit, other, 1000) == ADMIT_YES;
        networks += admit_try(admit, network, 1000) == ADMIT_YES;
    }
    assert_int_equal(households, 6);
    assert_int_equal(networks, 6 * ADMIT_SITE_SHARE);
    free(admit);
}

/* More addresses than the table has entries: addresses with users are never evicted. */
static void test_more_addresses_than_entries(void **state)
{
    PL_UNUSED(state);
    AdmitLimits limits = {.per_address = 1};
    Admit *admit = admit_create(&limits);
    NetAddress user = address("10.0.0.1");
    assert_int_equal(admit_try(admit, user, 0), ADMIT_YES);
    admit_enter(admit, user, 0);
    for (u32 i = 0; i < 50000; i++) {
        NetAddress other = address("11.0.0.1");
        memcpy(other.bytes + 12, &i, sizeof i);
        other.bytes[15] = 11;
        (void)admit_try(admit, other, i);
    }
    assert_int_equal(admit_try(admit, user, 60000), ADMIT_ADDRESS_FULL);
    free(admit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_loopback),
        cmocka_unit_test(test_rate),
        cmocka_unit_test(test_more_addresses_than_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
