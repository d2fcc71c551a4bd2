/* test_seal.c: what one end seals the other opens; forgeries and replays are refused; loss and
 * reordering are tolerated. */
#include "protocol/session/seal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

typedef struct Pair {
    Seal server, client;
} Pair;

static void pair_make(Pair *pair)
{
    u8 up[SEAL_KEY_BYTES], down[SEAL_KEY_BYTES];
    assert_int_equal(seal_start(), 0);
    seal_random(up, sizeof up);
    seal_random(down, sizeof down);
    seal_init(&pair->server, down, up);
    seal_init(&pair->client, up, down);
}

static void test_round_trip(void **state)
{
    PL_UNUSED(state);
    Pair pair;
    u8 sealed[256], fallback[256];
    pair_make(&pair);
    for (u32 bytes = 0; bytes < 200; bytes++) {
        u8 text[200];
        memset(text, (int)bytes, sizeof text);
        u32 size = seal_encrypt(&pair.client, text, bytes, sealed);
        assert_int_equal(size, bytes + SEAL_OVERHEAD_BYTES);
        assert_int_equal(seal_decrypt(&pair.server, sealed, size, fallback), (int)bytes);
        assert_memory_equal(fallback, text, bytes);
    }
    u32 size = seal_encrypt(&pair.server, "down", 4, sealed);
    assert_int_equal(seal_decrypt(&pair.client, sealed, size, fallback), 4);
}

static void test_forgery(void **state)
{
    PL_UNUSED(state);
    Pair pair;
    u8 sealed[64], fallback[64];
    pair_make(&pair);
    u32 size = seal_encrypt(&pair.client, "hello", 5, sealed);
    for (u32 bit = 0; bit < size * 8; bit++) {
        sealed[bit / 8] ^= (u8)(1 << bit % 8);
        assert_true(seal_decrypt(&pair.server, sealed, size, fallback) < 0);
        sealed[bit / 8] ^= (u8)(1 << bit % 8);
    }
    for (u32 cut = 0; cut < size; cut++) {
        assert_true(seal_decrypt(&pair.server, sealed, cut, fallback) < 0);
    }
    /* Reflection to the sender. */
    assert_true(seal_decrypt(&pair.client, sealed, size, fallback) < 0);
    /* None of that damaged the replay window. */
    assert_int_equal(seal_decrypt(&pair.server, sealed, size, fallback), 5);
}

static void test_replay_and_order(void **state)
{
    PL_UNUSED(state);
    enum {
        COUNT = 3000
    };
    static u8 sealed[COUNT][40];
    Pair pair;
    u8 fallback[40];
    pair_make(&pair);
    for (u32 i = 0; i < COUNT; i++) {
        seal_encrypt(&pair.client, &i, 4, sealed[i]);
    }
    /* Within the window any order is accepted, each packet once. */
    for (u32 i = 0; i < 1000; i++) {
        u32 k = (i * 7) % 1000;
        assert_int_equal(seal_decrypt(&pair.server, sealed[k], 28, fallback), 4);
        assert_true(seal_decrypt(&pair.server, sealed[k], 28, fallback) < 0);
    }
    /* After a jump ahead, packets older than the window are refused, those within it are not. */
    assert_int_equal(seal_decrypt(&pair.server, sealed[COUNT - 1], 28, fallback), 4);
    assert_true(seal_decrypt(&pair.server, sealed[COUNT - 1 - SEAL_WINDOW], 28, fallback) < 0);
    assert_int_equal(seal_decrypt(&pair.server, sealed[COUNT - SEAL_WINDOW], 28, fallback), 4);
    assert_true(seal_decrypt(&pair.server, sealed[COUNT - SEAL_WINDOW], 28, fallback) < 0);
    assert_int_equal(seal_decrypt(&pair.server, sealed[COUNT - 2], 28, fallback), 4);
}

static void test_keys(void **state)
{
    PL_UNUSED(state);
    Pair pair;
    u8 fallback[40], sealed[40];
    pair_make(&pair);
    u32 size = seal_encrypt(&pair.client, "last", 4, sealed);
    seal_finish(&pair.server);
    assert_false(pair.server.ready);
    for (u32 i = 0; i < sizeof pair.server; i++) {
        assert_int_equal(((const u8 *)&pair.server)[i], 0); /* wiped */
    }
    assert_true(seal_decrypt(&pair.server, sealed, size, fallback) < 0);
    u8 key[SEAL_HASH_KEY_BYTES] = {1}, other[SEAL_HASH_KEY_BYTES] = {2};
    assert_int_equal(seal_hash(key, "a", 1), seal_hash(key, "a", 1));
    assert_int_not_equal(seal_hash(key, "a", 1), seal_hash(other, "a", 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_forgery),
        cmocka_unit_test(test_replay_and_order),
        cmocka_unit_test(test_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
