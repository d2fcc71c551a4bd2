/* test_broker_key.c: files of keys for brokers: the key of the documentation of NATS, signatures
 * that libsodium verifies, each damaged letter of a seed found, and noise. */
#include "server/host/broker_key.h"

#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "shared/math/random.h"

/* "nk -gen user -pubout" in the documentation of NATS. */
#define SEED   "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"
#define PUBLIC "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"

static void test_seed(void **state)
{
    PL_UNUSED(state);
    BrokerKey key;
    ErrorText error = {0};
    char text[] = "\n# a comment\n  " SEED "\r\n";
    assert_int_equal(broker_key_parse("x", text, &key, &error), 0);
    assert_int_equal(key.kind, BROKER_KEY_SEED);
    assert_string_equal(key.public_key, PUBLIC);
    u8 signature[BROKER_SIGNATURE_BYTES], public_key[32], secret[64];
    broker_key_sign(&key, "nonce", signature);
    assert_int_equal(crypto_sign_seed_keypair(public_key, secret, key.seed), 0);
    assert_int_equal(crypto_sign_verify_detached(signature, (const u8 *)"nonce", 5, public_key), 0);
    broker_key_forget(&key);
    assert_true(sodium_is_zero((const u8 *)&key, sizeof key));
    /* Any other letter at any place is no seed. */
    for (u32 i = 0; i < sizeof SEED - 1; i++) {
        for (const char *letter = "ABCXYZ2567#=@"; *letter != '\0'; letter++) {
            char changed[] = SEED;
            changed[i] = *letter;
            bool same = strcmp(changed, SEED) == 0;
            assert_true((broker_key_parse("x", changed, &key, &error) == 0) == same);
        }
    }
}

static void test_lines(void **state)
{
    PL_UNUSED(state);
    BrokerKey key;
    ErrorText error = {0};
    assert_int_equal(
        broker_key_parse("x", "password=a = b # c\n\tuser \t= \tAda L\t\n", &key, &error), 0);
    assert_int_equal(key.kind, BROKER_KEY_PASSWORD);
    assert_string_equal(key.user, "Ada L");
    assert_string_equal(key.secret, "a = b # c");
    assert_int_equal(
        broker_key_parse("x", "token = t\nkey = /k.pem\ncertificate = /c.pem", &key, &error), 0);
    assert_int_equal(key.kind, BROKER_KEY_TOKEN);
    assert_string_equal(key.certificate_key, "/k.pem");
    assert_string_equal(key.certificate, "/c.pem");
    static const char *const wrong[] = {"",
                                        "user = a",
                                        "token =\n",
                                        "token = a\ntoken = b",
                                        "token = a\n" SEED,
                                        SEED "\ntoken = a",
                                        SEED "\n" SEED,
                                        "tokens = a",
                                        "= a",
                                        "key = a"};
    for (u32 i = 0; i < PL_COUNT(wrong); i++) {
        assert_int_equal(broker_key_parse("x", wrong[i], &key, &error), ERROR_FORMAT);
        assert_true(sodium_is_zero((const u8 *)&key, sizeof key));
    }
    char *large = malloc(2000);
    assert_non_null(large);
    memset(large, 'a', 2000);
    memcpy(large, "token = ", 8);
    for (u32 bytes = 400; bytes < 1999; bytes++) { /* of the line */
        large[bytes] = '\0';
        bool fits = bytes - 8 < BROKER_SECRET_BYTES;
        assert_true((broker_key_parse("x", large, &key, &error) == 0) == fits);
        large[bytes] = 'a';
    }
    free(large);
}

static void test_noise(void **state)
{
    PL_UNUSED(state);
    static const char *const words[] = {"user", "=",  " ", "\n", "token", "key",      "certificate",
                                        "\t",   "\r", "#", "a",  SEED,    "password", "SU"};
    BrokerKey key;
    ErrorText error = {0};
    for (u32 round = 0; round < 20000; round++) {
        char text[1024] = "";
        u32 count = (u32)(random_u64(1, round) % 12);
        for (u32 i = 0; i < count; i++) {
            strcat(text, words[random_u64(round, 7 + i) % PL_COUNT(words)]);
        }
        int result = broker_key_parse("x", text, &key, &error);
        assert_true(result == 0 || result == ERROR_FORMAT);
        assert_true(result != 0 || key.kind != BROKER_KEY_NONE || key.certificate[0] != '\0');
        assert_true(key.kind != BROKER_KEY_PASSWORD ||
                    (key.user[0] != '\0' && key.secret[0] != '\0'));
    }
}

int main(void)
{
    if (sodium_init() < 0) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seed),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
