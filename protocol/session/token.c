/* token.c: Ed25519 tokens and their key files. */
#include "protocol/session/token.h"

#include "shared/base/file.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    AT_SERVER = 4,
    AT_CLIENT = 12,
    AT_EXPIRY = 20,
    AT_ROLE = 28,
    AT_NAME = 36,
    AT_SIGNATURE = AT_NAME + NAME_BYTES_MAX
};
PL_STATIC_ASSERT(AT_SIGNATURE + crypto_sign_BYTES == TOKEN_SIGNED_BYTES, "layout");
PL_STATIC_ASSERT(TOKEN_SECRET_BYTES == crypto_sign_SECRETKEYBYTES, "Ed25519");

static const u8 magic[4] = {'P', 'L', 'T', '1'};

void token_keygen(u8 public_key[TOKEN_PUBLIC_BYTES], u8 secret_key[TOKEN_SECRET_BYTES])
{
    crypto_sign_keypair(public_key, secret_key);
}

int token_sign(const Token *token, const u8 secret_key[TOKEN_SECRET_BYTES],
               u8 out[TOKEN_SIGNED_BYTES])
{
    size_t length = strnlen(token->name, NAME_BYTES_MAX);
    if ((u32)token->role >= ROLE_COUNT || length >= NAME_BYTES_MAX) {
        return ERROR_RANGE;
    }
    memset(out, 0, TOKEN_SIGNED_BYTES);
    memcpy(out, magic, sizeof magic);
    memcpy(out + AT_SERVER, &token->server_id, 8);
    memcpy(out + AT_CLIENT, &token->client_id, 8);
    memcpy(out + AT_EXPIRY, &token->expiry_unix_s, 8);
    out[AT_ROLE] = (u8)token->role;
    memcpy(out + AT_NAME, token->name, length);
    crypto_sign_detached(out + AT_SIGNATURE, NULL, out, AT_SIGNATURE, secret_key);
    return ERROR_OK;
}

int token_verify(const u8 *data, u32 bytes, const u8 public_key[TOKEN_PUBLIC_BYTES], u64 server_id,
                 u64 now_unix_s, Token *token, ErrorText *error)
{
    memset(token, 0, sizeof *token);
    if (bytes != TOKEN_SIGNED_BYTES || memcmp(data, magic, sizeof magic) != 0) {
        return error_set(error, ERROR_FORMAT, "not a token (%u bytes, expected %d)", bytes,
                         TOKEN_SIGNED_BYTES);
    }
    if (crypto_sign_verify_detached(data + AT_SIGNATURE, data, AT_SIGNATURE, public_key) != 0) {
        return error_set(error, ERROR_CRYPTO, "the token is not signed by this server's key");
    }
    if (data[AT_ROLE] >= ROLE_COUNT || data[AT_SIGNATURE - 1] != 0) {
        return error_set(error, ERROR_FORMAT, "the token has an unknown role or an invalid name");
    }
    memcpy(&token->server_id, data + AT_SERVER, 8);
    memcpy(&token->client_id, data + AT_CLIENT, 8);
    memcpy(&token->expiry_unix_s, data + AT_EXPIRY, 8);
    token->role = (Role)data[AT_ROLE];
    memcpy(token->name, data + AT_NAME, NAME_BYTES_MAX);
    if (now_unix_s >= token->expiry_unix_s) {
        return error_set(error, ERROR_DENIED, "the token has expired: request a new one");
    }
    if (token->server_id != 0 && token->server_id != server_id) {
        return error_set(error, ERROR_DENIED, "the token is for another server");
    }
    return ERROR_OK;
}

int token_key_write(const char *path, const u8 *key, u32 bytes, bool secret, ErrorText *error)
{
    char text[2 * TOKEN_SECRET_BYTES + 2];
    if (bytes > TOKEN_SECRET_BYTES) {
        return error_set(error, ERROR_RANGE, "%s: key of %u bytes", path, bytes);
    }
    sodium_bin2hex(text, sizeof text, key, bytes);
    text[2 * bytes] = '\n';
    /* An existing key is never overwritten: it may be the only one. */
    int fd = file_create(path, secret ? 0600 : 0644, error);
    if (fd < 0) {
        sodium_memzero(text, sizeof text);
        return fd;
    }
    bool written = write(fd, text, 2 * bytes + 1) == (ssize_t)(2 * bytes + 1);
    int code = errno;
    close(fd);
    sodium_memzero(text, sizeof text);
    return written ? ERROR_OK : error_set(error, ERROR_IO, "%s: %s", path, strerror(code));
}

int token_key_read(const char *path, u8 *key, u32 bytes, ErrorText *error)
{
    char text[2 * TOKEN_SECRET_BYTES + 4] = {0};
    size_t used = 0;
    const char *end = NULL;
    int fd = file_open(path, sizeof text - 1, error);
    if (fd < 0) {
        return fd;
    }
    ssize_t got = read(fd, text, sizeof text - 1);
    size_t length = got > 0 ? (size_t)got : 0;
    close(fd);
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r')) {
        text[--length] = '\0';
    }
    int code = sodium_hex2bin(key, bytes, text, length, NULL, &used, &end);
    sodium_memzero(text, sizeof text);
    if (code != 0 || used != bytes || end != text + length) {
        return error_set(error, ERROR_FORMAT, "%s: expected one line of %u hexadecimal digits",
                         path, 2 * bytes);
    }
    return ERROR_OK;
}
