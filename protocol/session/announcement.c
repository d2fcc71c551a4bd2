/* announcement.c: signed announcements of worlds. */
#include "protocol/session/announcement.h"

#include "shared/base/check.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char scheme[] = "Plenum ";
static const char purpose[] = "plenum lobby";

enum {
    DIGEST_BYTES = 32
};

/* The signed hash of method, time and body. */
static void digest(const Announcement *what, u8 out[DIGEST_BYTES])
{
    char head[64];
    crypto_generichash_state state;
    int length = snprintf(head, sizeof head, "%s %" PRIu64 "\n", what->method, what->unix_ms);
    CHECK(length > 0 && (size_t)length < sizeof head);
    crypto_generichash_init(&state, NULL, 0, DIGEST_BYTES);
    crypto_generichash_update(&state, (const u8 *)head, (size_t)length);
    crypto_generichash_update(&state, what->body, what->bytes);
    crypto_generichash_final(&state, out, DIGEST_BYTES);
}

void announcement_sign(const Identity *identity, const Announcement *what, const u8 *token,
                       char header[ANNOUNCEMENT_BYTES_MAX])
{
    u8 hash[DIGEST_BYTES], signature[IDENTITY_SIGNATURE_BYTES];
    char signature_text[2 * sizeof signature + 1], token_text[2 * TOKEN_SIGNED_BYTES + 1];
    digest(what, hash);
    identity_sign(identity, purpose, hash, sizeof hash, signature);
    sodium_bin2hex(signature_text, sizeof signature_text, signature, sizeof signature);
    sodium_bin2hex(token_text, sizeof token_text, token, TOKEN_SIGNED_BYTES);
    int length = snprintf(header, ANNOUNCEMENT_BYTES_MAX, "%s%" PRIu64 " %s %s", scheme,
                          what->unix_ms, signature_text, token_text);
    CHECK(length < ANNOUNCEMENT_BYTES_MAX);
}

/* Exactly `bytes` bytes in hexadecimal digits; returns the rest of the text, NULL: no such
 * digits. */
static const char *hex_read(const char *text, u8 *out, size_t bytes)
{
    size_t used = 0;
    const char *end = NULL;
    if (strnlen(text, 2 * bytes) < 2 * bytes ||
        sodium_hex2bin(out, bytes, text, 2 * bytes, NULL, &used, &end) != 0 || used != bytes) {
        return NULL;
    }
    return text + 2 * bytes;
}

/* Parses a header; false: malformed. */
static bool header_read(const char *header, u64 *unix_ms, u8 *signature, u8 *token)
{
    if (strncmp(header, scheme, sizeof scheme - 1) != 0) {
        return false;
    }
    const char *at = header + sizeof scheme - 1;
    *unix_ms = 0;
    u32 digits = 0;
    for (; *at >= '0' && *at <= '9' && digits < 15; at++, digits++) {
        *unix_ms = 10 * *unix_ms + (u64)(*at - '0');
    }
    if (digits == 0 || *at++ != ' ' ||
        (at = hex_read(at, signature, IDENTITY_SIGNATURE_BYTES)) == NULL || *at++ != ' ') {
        return false;
    }
    at = hex_read(at, token, TOKEN_SIGNED_BYTES);
    return at != NULL && *at == '\0';
}

int announcement_verify(const char *header, const u8 key[IDENTITY_PUBLIC_BYTES],
                        const TokenCheck *check, Announcement *what, Token *token, ErrorText *error)
{
    u8 hash[DIGEST_BYTES], signature[IDENTITY_SIGNATURE_BYTES], bytes[TOKEN_SIGNED_BYTES];
    if (!header_read(header, &what->unix_ms, signature, bytes)) {
        return error_set(error, ERROR_FORMAT,
                         "expected Authorization: Plenum TIME SIGNATURE TOKEN");
    }
    u64 now_ms = check->now_unix_s * 1000;
    if (what->unix_ms + ANNOUNCEMENT_SKEW_MS < now_ms ||
        what->unix_ms > now_ms + ANNOUNCEMENT_SKEW_MS) {
        return error_set(error, ERROR_DENIED,
                         "signed at another time: check the clocks of both machines");
    }
    digest(what, hash);
    if (!identity_verify(key, purpose, hash, sizeof hash, signature)) {
        return error_set(error, ERROR_CRYPTO, "not signed by the key that it names");
    }
    Identity server = {0};
    memcpy(server.public_key, key, sizeof server.public_key);
    TokenCheck whole = {
        .key = check->key, .identity = &server, .now_unix_s = check->now_unix_s, .lobby = true};
    return token_verify(bytes, sizeof bytes, &whole, token, error);
}
