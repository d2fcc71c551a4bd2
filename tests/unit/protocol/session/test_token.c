/* test_token.c: a token is accepted only if signed by the key, unchanged, unexpired and for this
 * server. */
#include "protocol/session/token.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void test_token(void **state)
{
    PL_UNUSED(state);
    u8 public_key[TOKEN_PUBLIC_BYTES], secret[TOKEN_SECRET_BYTES], other[TOKEN_PUBLIC_BYTES];
    u8 secret2[TOKEN_SECRET_BYTES], data[TOKEN_SIGNED_BYTES];
    Identity server, server2, client;
    Token token = {
        .id = 9, .expiry_unix_s = 1000, .role = ROLE_OPERATOR, .once = true, .relay = true};
    Token got;
    assert_int_equal(seal_start(), 0);
    identity_create(&server);
    identity_create(&server2);
    identity_create(&client);
    token_keygen(public_key, secret);
    token_keygen(other, secret2);
    snprintf(token.name, sizeof token.name, "Ada");
    snprintf(token.account, sizeof token.account, "customer 1815");
    assert_int_equal(token_sign(&token, secret, data), ERROR_RANGE); /* for whose eyes? */
    token.for_server = token.for_client = true;
    memcpy(token.server, server.public_key, sizeof token.server);
    memcpy(token.client, client.public_key, sizeof token.client);
    assert_int_equal(token_sign(&token, secret, data), 0);
    assert_null(memmem(data, sizeof data, "customer", 8));
    const TokenCheck good = {public_key, &server, client.public_key, 999, false};
    TokenCheck check = good;
    assert_int_equal(token_verify(data, sizeof data, &check, &got, NULL), 0);
    assert_memory_equal(&got, &token, sizeof got);
    check.now_unix_s = 1000;
    assert_int_equal(token_verify(data, sizeof data, &check, &got, NULL), ERROR_DENIED);
    check = good;
    check.identity = &server2;
    assert_int_equal(token_verify(data, sizeof data, &check, &got, NULL), ERROR_DENIED);
    check.identity = NULL;
    assert_int_equal(token_verify(data, sizeof data, &check, &got, NULL), ERROR_DENIED);
    check = good;
    check.client = server2.public_key;
    assert_int_equal(token_verify(data, sizeof data, &check, &got, NULL), ERROR_DENIED);
    check.client = NULL;
    assert_int_equal(token_verify(data, sizeof data, &check, &got, NULL), ERROR_DENIED);
    check = good;
    check.key = other;
    assert_int_equal(token_verify(data, sizeof data, &check, &got, NULL), ERROR_CRYPTO);
    for (u32 cut = 0; cut < sizeof data; cut++) {
        assert_int_equal(token_verify(data, cut, &good, &got, NULL), ERROR_FORMAT);
    }
    for (u32 i = 0; i < sizeof data; i++) {
        data[i] ^= 0x10;
        assert_true(token_verify(data, sizeof data, &good, &got, NULL) < 0);
        data[i] ^= 0x10;
    }
    assert_true(token_peek(data, sizeof data, &got));
    assert_memory_equal(got.server, server.public_key, sizeof got.server);
    /* Usable by anyone, at any server that trusts the key. */
    token = (Token){.id = 3, .expiry_unix_s = 1000, .role = ROLE_VIEWER};
    assert_int_equal(token_sign(&token, secret, data), 0);
    assert_int_equal(token_verify(data, sizeof data,
                                  &(TokenCheck){public_key, NULL, NULL, 5, false}, &got, NULL),
                     0);
    token.role = (Role)9;
    assert_int_equal(token_sign(&token, secret, data), ERROR_RANGE);
}

static void test_key_files(void **state)
{
    PL_UNUSED(state);
    char path[] = "/tmp/plenum-key-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    unlink(path);
    u8 public_key[TOKEN_PUBLIC_BYTES], secret[TOKEN_SECRET_BYTES], got[TOKEN_SECRET_BYTES];
    ErrorText error = {0};
    token_keygen(public_key, secret);
    assert_int_equal(token_key_write(path, secret, sizeof secret, true, &error), 0);
    assert_int_equal(token_key_write(path, secret, sizeof secret, true, &error), ERROR_IO);
    assert_int_equal(token_key_read(path, got, sizeof got, &error), 0);
    assert_memory_equal(got, secret, sizeof got);
    assert_int_equal(token_key_read(path, got, TOKEN_PUBLIC_BYTES, &error), ERROR_FORMAT);
    unlink(path);
    assert_int_equal(token_key_read(path, got, sizeof got, &error), ERROR_NOT_FOUND);
}

/* A token for a lobby lets nobody join, and that of a user lets no world be listed. */
static void test_lobby(void **state)
{
    PL_UNUSED(state);
    u8 public_key[TOKEN_PUBLIC_BYTES], secret_key[TOKEN_SECRET_BYTES], data[TOKEN_SIGNED_BYTES];
    Token token = {.expiry_unix_s = 10, .lobby = true}, got;
    TokenCheck join = {.key = public_key, .now_unix_s = 5}, list = join;
    list.lobby = true;
    assert_int_equal(seal_start(), 0);
    token_keygen(public_key, secret_key);
    assert_int_equal(token_sign(&token, secret_key, data), 0);
    assert_int_equal(token_verify(data, sizeof data, &list, &got, NULL), 0);
    assert_true(got.lobby);
    assert_int_equal(token_verify(data, sizeof data, &join, &got, NULL), ERROR_DENIED);
    token.lobby = false;
    assert_int_equal(token_sign(&token, secret_key, data), 0);
    assert_int_equal(token_verify(data, sizeof data, &join, &got, NULL), 0);
    assert_int_equal(token_verify(data, sizeof data, &list, &got, NULL), ERROR_DENIED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_token),
        cmocka_unit_test(test_key_files),
        cmocka_unit_test(test_lobby),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
