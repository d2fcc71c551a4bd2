/* test_seal.c: both ends derive the same keys; forgeries and replays are refused; loss and
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
    SealKeyPair server, client;
    assert_int_equal(seal_start(), 0);
    seal_key_pair(&server);
    seal_key_pair(&client);
    assert_int_equal(seal_init_server(&pair->server, &server, client.public_key), 0);
    assert_int_equal(seal_init_client(&pair->client, &client, server.public_key), 0);
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
        u32 size = seal_encrypt(&pair.client, 2, text, bytes, sealed);
        assert_int_equal(size, bytes + SEAL_OVERHEAD_BYTES);
        assert_int_equal(seal_decrypt(&pair.server, 2, sealed, size, fallback), (int)bytes);
        assert_memory_equal(fallback, text, bytes);
    }
    u32 size = seal_encrypt(&pair.server, 1, "down", 4, sealed);
    assert_int_equal(seal_decrypt(&pair.client, 1, sealed, size, fallback), 4);
}

static void test_forgery(void **state)
{
    PL_UNUSED(state);
    Pair pair;
    u8 sealed[64], fallback[64];
    pair_make(&pair);
    u32 size = seal_encrypt(&pair.client, 2, "hello", 5, sealed);
    for (u32 bit = 0; bit < size * 8; bit++) {
        sealed[bit / 8] ^= (u8)(1 << bit % 8);
        assert_true(seal_decrypt(&pair.server, 2, sealed, size, fallback) < 0);
        sealed[bit / 8] ^= (u8)(1 << bit % 8);
    }
    for (u32 cut = 0; cut < size; cut++) {
        assert_true(seal_decrypt(&pair.server, 2, sealed, cut, fallback) < 0);
    }
    /* Another channel, and reflection to the sender. */
    assert_true(seal_decrypt(&pair.server, 0, sealed, size, fallback) < 0);
    assert_true(seal_decrypt(&pair.client, 2, sealed, size, fallback) < 0);
    /* None of that damaged the replay window. */
    assert_int_equal(seal_decrypt(&pair.server, 2, sealed, size, fallback), 5);
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
        seal_encrypt(&pair.client, 2, &i, 4, sealed[i]);
    }
    /* Within the window any order is accepted, each packet once. */
    for (u32 i = 0; i < 1000; i++) {
        u32 k = (i * 7) % 1000;
        assert_int_equal(seal_decrypt(&pair.server, 2, sealed[k], 28, fallback), 4);
        assert_true(seal_decrypt(&pair.server, 2, sealed[k], 28, fallback) < 0);
    }
    /* After a jump ahead, packets older than the window are refused, those within it are not. */
    assert_int_equal(seal_decrypt(&pair.server, 2, sealed[COUNT - 1], 28, fallback), 4);
    assert_true(seal_decrypt(&pair.server, 2, sealed[COUNT - 1 - SEAL_WINDOW], 28, fallback) < 0);
    assert_int_equal(seal_decrypt(&pair.server, 2, sealed[COUNT - SEAL_WINDOW], 28, fallback), 4);
    assert_true(seal_decrypt(&pair.server, 2, sealed[COUNT - SEAL_WINDOW], 28, fallback) < 0);
    assert_int_equal(seal_decrypt(&pair.server, 2, sealed[COUNT - 2], 28, fallback), 4);
}

/* A reliable payload that took seconds is not a replay just because state packets overtook it. */
static void test_channels_count_separately(void **state)
{
    PL_UNUSED(state);
    Pair pair;
    u8 slow[40], fast[40], fallback[40];
    pair_make(&pair);
    seal_encrypt(&pair.server, 3, "slow", 4, slow);
    for (u32 i = 0; i < 3 * SEAL_WINDOW; i++) {
        seal_encrypt(&pair.server, 1, &i, 4, fast);
        assert_int_equal(seal_decrypt(&pair.client, 1, fast, 28, fallback), 4);
    }
    assert_int_equal(seal_decrypt(&pair.client, 3, slow, 28, fallback), 4);
    assert_true(seal_decrypt(&pair.client, 3, slow, 28, fallback) < 0);
    assert_true(seal_decrypt(&pair.client, CHANNEL_STREAMS, slow, 28, fallback) < 0);
}

static void test_keys(void **state)
{
    PL_UNUSED(state);
    Pair pair;
    SealKeyPair own;
    u8 zero[SEAL_KEY_BYTES] = {0}, fallback[8], sealed[32] = {1};
    assert_int_equal(seal_start(), 0);
    seal_key_pair(&own);
    assert_int_equal(seal_init_server(&pair.server, &own, zero), ERROR_CRYPTO);
    assert_false(pair.server.ready);
    assert_true(seal_decrypt(&pair.server, 0, sealed, sizeof sealed, fallback) < 0);
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
        cmocka_unit_test(test_channels_count_separately),
        cmocka_unit_test(test_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
