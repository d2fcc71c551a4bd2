/* test_address.c: addresses and prefixes as text; places of half-open peers. */
#include "protocol/session/address.h"
#include "protocol/session/door.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static NetAddress address(const char *text)
{
    NetAddress a;
    assert_true(net_address_parse(text, &a));
    return a;
}

static void test_text(void **state)
{
    PL_UNUSED(state);
    /* text, the same as a prefix prints it; NULL: refused */
    static const char *const rows[][2] = {
        {"1.2.3.4", "1.2.3.4"},
        {"1.2.3.4/24", "1.2.3.0/24"},
        {"1.2.3.255/25", "1.2.3.128/25"},
        {"1.2.3.4/0", "0.0.0.0/0"},
        {"::1", "::1"},
        {"2001:db8:1:2:3:4:5:6/64", "2001:db8:1:2::/64"},
        {"2001:db8:1:2:3:4:5:6/61", "2001:db8:1::/61"},
        {"1.2.3.4/33", NULL},
        {"1.2.3.4/-1", NULL},
        {"1.2.3.4/", NULL},
        {"1.2.3", NULL},
        {"", NULL},
        {"::1/129", NULL},
        {"example.org", NULL},
    };
    for (u32 i = 0; i < PL_COUNT(rows); i++) {
        NetPrefix prefix;
        char text[ADDRESS_TEXT_BYTES];
        bool good = net_prefix_parse(rows[i][0], &prefix);
        assert_int_equal(good, rows[i][1] != NULL);
        if (good) {
            assert_string_equal(net_prefix_text(&prefix, text), rows[i][1]);
        }
    }
    NetAddress a = address("10.0.0.7:7340"), b = address("10.0.0.7");
    assert_memory_equal(&a, &b, sizeof a);
    a = address("[2001:db8::7]:7340");
    b = address("2001:db8::7");
    assert_memory_equal(&a, &b, sizeof a);
    NetAddress none;
    assert_false(net_address_parse("memory:3", &none));
    assert_false(net_address_parse("[::1", &none));
}

static void test_prefixes(void **state)
{
    PL_UNUSED(state);
    NetPrefix site = net_site(address("10.1.2.3"));
    assert_true(net_prefix_contains(&site, address("10.1.2.200")));
    assert_false(net_prefix_contains(&site, address("10.1.3.3")));
    site = net_site(address("2001:db8:0:1::5"));
    assert_true(net_prefix_contains(&site, address("2001:db8:0:1:ffff::")));
    assert_true(net_prefix_contains(&site, address("2001:db8:0:2::5")));
    assert_false(net_prefix_contains(&site, address("2001:db8:1:1::5")));
    NetPrefix house = net_host_prefix(address("2001:db8:0:1::5"));
    assert_true(net_prefix_contains(&house, address("2001:db8:0:1:ffff::")));
    assert_false(net_prefix_contains(&house, address("2001:db8:0:2::5")));
    house = net_host_prefix(address("10.1.2.3"));
    assert_false(net_prefix_contains(&house, address("10.1.2.4")));
    const u8 bytes[4] = {10, 1, 2, 3};
    NetAddress v4 = net_address_v4(bytes), same = address("::ffff:10.1.2.3");
    assert_memory_equal(&v4, &same, sizeof v4);
    assert_true(net_address_is_v4(v4) && !net_address_is_v4(address("::1")));
    assert_true(net_address_is_local(address("127.3.2.1")));
    assert_true(net_address_is_local(address("::1")));
    assert_false(net_address_is_local(address("128.0.0.1")));
    assert_false(net_address_is_local(address("::2")));
}

/* ---- the door ---- */

enum {
    PEERS = 64
};

static const u8 key[SEAL_HASH_KEY_BYTES] = {1, 2, 3};

static void fill(DoorPeer *peers, u32 first, u32 count, const char *site, DoorState door)
{
    for (u32 i = first; i < first + count; i++) {
        char text[32];
        snprintf(text, sizeof text, "%s.%u", site, i);
        peers[i] = (DoorPeer){address(text), door, 1000 - i};
    }
}

static void test_door_site(void **state)
{
    PL_UNUSED(state);
    DoorPeer peers[PEERS] = {0};
    DoorLimits limits = {0};
    assert_int_equal(door_choose(peers, PEERS, address("10.0.0.1"), &limits, key), DOOR_ADMIT);
    /* One site has taken all places: others get them, its own wait. */
    fill(peers, 0, PEERS, "10.0.0", DOOR_HALF);
    assert_int_equal(door_choose(peers, PEERS, address("10.0.0.200"), &limits, key), DOOR_WAIT);
    assert_int_equal(door_choose(peers, PEERS, address("10.0.1.200"), &limits, key), PEERS - 1);
    /* Never those of proven peers, whatever their site. */
    fill(peers, 0, PEERS, "10.0.0", DOOR_PROVEN);
    assert_int_equal(door_choose(peers, PEERS, address("10.0.1.200"), &limits, key), DOOR_WAIT);
    fill(peers, 10, 3, "10.0.5", DOOR_CLOSING);
    assert_int_equal(door_choose(peers, PEERS, address("10.0.1.200"), &limits, key), 12);
}

static void test_door_address(void **state)
{
    PL_UNUSED(state);
    DoorPeer peers[PEERS] = {0};
    DoorLimits limits = {.per_address = 3};
    for (u32 i = 0; i < 3; i++) {
        peers[i] = (DoorPeer){address("10.0.0.9"), DOOR_OPENING, 0};
        peers[8 + i] = (DoorPeer){address("127.0.0.1"), DOOR_OPENING, 0};
    }
    assert_int_equal(door_choose(peers, PEERS, address("10.0.0.9"), &limits, key), DOOR_WAIT);
    assert_int_equal(door_choose(peers, PEERS, address("10.0.0.8"), &limits, key), DOOR_ADMIT);
    assert_int_equal(door_choose(peers, PEERS, address("127.0.0.1"), &limits, key), DOOR_ADMIT);
    limits.local = true;
    assert_int_equal(door_choose(peers, PEERS, address("127.0.0.1"), &limits, key), DOOR_WAIT);
    peers[0].state = DOOR_PROVEN;
    assert_int_equal(door_choose(peers, PEERS, address("10.0.0.9"), &limits, key), DOOR_ADMIT);
}

/* Another address of the same /64 is the same household, and another of the same /48 its site. */
static void test_door_v6(void **state)
{
    PL_UNUSED(state);
    DoorPeer peers[PEERS] = {0};
    DoorLimits limits = {.per_address = 3};
    for (u32 i = 0; i < PEERS; i++) {
        char text[64];
        snprintf(text, sizeof text, "2001:db8:7:%x::%x", i < 3 ? 0 : i, 100 + i);
        peers[i] = (DoorPeer){address(text), DOOR_HALF, 1000 - i};
    }
    assert_int_equal(door_choose(peers, PEERS, address("2001:db8:7::9"), &limits, key), DOOR_WAIT);
    limits.per_address = 4;
    assert_int_equal(door_choose(peers, PEERS, address("2001:db8:7::9"), &limits, key), DOOR_WAIT);
    assert_int_equal(door_choose(peers, PEERS, address("2001:db8:8::9"), &limits, key), PEERS - 1);
    peers[PEERS - 1].state = DOOR_FREE;
    assert_int_equal(door_choose(peers, PEERS, address("2001:db8:7::9"), &limits, key), DOOR_ADMIT);
    limits.per_address = 3;
    assert_int_equal(door_choose(peers, PEERS, address("2001:db8:7::9"), &limits, key), DOOR_WAIT);
    assert_int_equal(door_choose(peers, PEERS, address("2001:db8:7:9::9"), &limits, key),
                     DOOR_ADMIT);
}

static void test_door_time(void **state)
{
    PL_UNUSED(state);
    DoorPeer peer = {address("10.0.0.1"), DOOR_OPENING, 5000};
    assert_false(door_overdue(&peer, 5000 + HALF_OPEN_MS_MAX));
    assert_true(door_overdue(&peer, 5001 + HALF_OPEN_MS_MAX));
    peer.state = DOOR_PROVEN;
    assert_false(door_overdue(&peer, 1000000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),      cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_door_site), cmocka_unit_test(test_door_address),
        cmocka_unit_test(test_door_v6),   cmocka_unit_test(test_door_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
