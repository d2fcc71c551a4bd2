/*
 * fuzz_token.c: tokens of strangers, as they come, and signed by a key that the server trusts, so
 * that the checks behind the signature are reached too.
 */
#include "protocol/session/token.h"
#include "shared/base/check.h"
#include "tests/fuzz/target.h"

#include <sodium.h>
#include <string.h>

static u8 public_key[TOKEN_PUBLIC_BYTES], secret_key[TOKEN_SECRET_BYTES];
static Identity identity;

static void prepare(void)
{
    static const u8 seed[crypto_sign_SEEDBYTES] = {7};
    CHECK(sodium_init() >= 0);
    crypto_sign_seed_keypair(public_key, secret_key, seed);
    identity_from_secret(&identity, secret_key);
}

static void run(const u8 *data, size_t bytes)
{
    Token token;
    const TokenCheck check = {public_key, &identity, NULL, 1000, false};
    token_verify(data, (u32)bytes, &check, &token, NULL);
    u8 signed_token[TOKEN_SIGNED_BYTES] = {0};
    const size_t body = TOKEN_SIGNED_BYTES - crypto_sign_BYTES;
    memcpy(signed_token, data, bytes < body ? bytes : body);
    if (bytes % 2 == 0) { /* for this server, so that its account is opened */
        memcpy(signed_token + 24, identity.public_key, sizeof identity.public_key);
    }
    crypto_sign_detached(signed_token + body, NULL, signed_token, body, secret_key);
    if (token_verify(signed_token, TOKEN_SIGNED_BYTES, &check, &token, NULL) == 0 &&
        (token.role >= ROLE_COUNT || memchr(token.name, 0, sizeof token.name) == NULL)) {
        __builtin_trap();
    }
}

const FuzzTarget fuzz_target = {.prepare = prepare, .run = run, .size_max = TOKEN_BYTES_MAX};
