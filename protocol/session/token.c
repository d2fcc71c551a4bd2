/* token.c: Ed25519 tokens and their key files. */
#include "protocol/session/token.h"

#include "shared/base/file.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    AT_FLAGS = 4,
    AT_ROLE = 5,
    AT_ID = 8,
    AT_EXPIRY = 16,
    AT_SERVER = 24,
    AT_CLIENT = AT_SERVER + IDENTITY_PUBLIC_BYTES,
    AT_NAME = AT_CLIENT + IDENTITY_PUBLIC_BYTES,
    AT_ACCOUNT = AT_NAME + NAME_BYTES_MAX,
    AT_SIGNATURE = AT_ACCOUNT + TOKEN_ACCOUNT_BYTES + IDENTITY_BOX_BYTES,
    FLAG_ONCE = 1,
    FLAG_SERVER = 2,
    FLAG_CLIENT = 4,
    FLAG_ACCOUNT = 8,
    FLAG_RELAY = 16,
    FLAG_LOBBY = 32,
    FLAGS_ALL = 63
};
PL_STATIC_ASSERT(AT_SIGNATURE + crypto_sign_BYTES == TOKEN_SIGNED_BYTES, "layout");
PL_STATIC_ASSERT(TOKEN_SECRET_BYTES == crypto_sign_SECRETKEYBYTES, "Ed25519");

static const u8 magic[4] = {'P', 'L', 'T', '2'};

void token_keygen(u8 public_key[TOKEN_PUBLIC_BYTES], u8 secret_key[TOKEN_SECRET_BYTES])
{
    crypto_sign_keypair(public_key, secret_key);
}

int token_sign(const Token *token, const u8 secret_key[TOKEN_SECRET_BYTES],
               u8 out[TOKEN_SIGNED_BYTES])
{
    size_t length = strnlen(token->name, NAME_BYTES_MAX);
    bool account = token->account[0] != '\0';
    if ((u32)token->role >= ROLE_COUNT || length >= NAME_BYTES_MAX ||
        (account && (!token->for_server || token->account[TOKEN_ACCOUNT_BYTES - 1] != '\0'))) {
        return ERROR_RANGE;
    }
    memset(out, 0, TOKEN_SIGNED_BYTES);
    memcpy(out, magic, sizeof magic);
    out[AT_FLAGS] = (u8)((token->once ? FLAG_ONCE : 0) | (token->for_server ? FLAG_SERVER : 0) |
                         (token->for_client ? FLAG_CLIENT : 0) | (account ? FLAG_ACCOUNT : 0) |
                         (token->relay ? FLAG_RELAY : 0) | (token->lobby ? FLAG_LOBBY : 0));
    out[AT_ROLE] = (u8)token->role;
    memcpy(out + AT_ID, &token->id, 8);
    memcpy(out + AT_EXPIRY, &token->expiry_unix_s, 8);
    if (token->for_server) {
        memcpy(out + AT_SERVER, token->server, sizeof token->server);
    }
    if (token->for_client) {
        memcpy(out + AT_CLIENT, token->client, sizeof token->client);
    }
    memcpy(out + AT_NAME, token->name, length);
    if (account &&
        !identity_box(token->server, token->account, TOKEN_ACCOUNT_BYTES, out + AT_ACCOUNT)) {
        return ERROR_RANGE;
    }
    crypto_sign_detached(out + AT_SIGNATURE, NULL, out, AT_SIGNATURE, secret_key);
    return ERROR_OK;
}

bool token_peek(const u8 *data, u32 bytes, Token *token)
{
    memset(token, 0, sizeof *token);
    if (bytes != TOKEN_SIGNED_BYTES || memcmp(data, magic, sizeof magic) != 0 ||
        data[AT_FLAGS] > FLAGS_ALL || data[AT_ROLE] >= ROLE_COUNT || data[AT_ACCOUNT - 1] != 0) {
        return false;
    }
    token->relay = (data[AT_FLAGS] & FLAG_RELAY) != 0;
    token->lobby = (data[AT_FLAGS] & FLAG_LOBBY) != 0;
    token->once = (data[AT_FLAGS] & FLAG_ONCE) != 0;
    token->for_server = (data[AT_FLAGS] & FLAG_SERVER) != 0;
    token->for_client = (data[AT_FLAGS] & FLAG_CLIENT) != 0;
    token->role = (Role)data[AT_ROLE];
    memcpy(&token->id, data + AT_ID, 8);
    memcpy(&token->expiry_unix_s, data + AT_EXPIRY, 8);
    memcpy(token->server, data + AT_SERVER, sizeof token->server);
    memcpy(token->client, data + AT_CLIENT, sizeof token->client);
    memcpy(token->name, data + AT_NAME, NAME_BYTES_MAX);
    return true;
}

/* Whether this server and this client may use it. */
static int scope_check(const Token *token, const TokenCheck *check, ErrorText *error)
{
    if (check->now_unix_s >= token->expiry_unix_s) {
        return error_set(error, ERROR_DENIED, "the token has expired: request a new one");
    }
    if (token->lobby != check->lobby) {
        return error_set(error, ERROR_DENIED,
                         token->lobby ? "the token is for a lobby"
                                      : "the token is not for lobbies");
    }
    if (token->for_server &&
        (check->identity == NULL ||
         memcmp(token->server, check->identity->public_key, sizeof token->server) != 0)) {
        return error_set(error, ERROR_DENIED, "the token is for another server");
    }
    if (token->for_client && (check->client == NULL ||
                              memcmp(token->client, check->client, sizeof token->client) != 0)) {
        return error_set(error, ERROR_DENIED, "the token belongs to another client's key");
    }
    return ERROR_OK;
}

int token_verify(const u8 *data, u32 bytes, const TokenCheck *check, Token *token, ErrorText *error)
{
    memset(token, 0, sizeof *token);
    if (bytes != TOKEN_SIGNED_BYTES || memcmp(data, magic, sizeof magic) != 0) {
        return error_set(error, ERROR_FORMAT, "not a token (%u bytes, expected %d)", bytes,
                         TOKEN_SIGNED_BYTES);
    }
    if (crypto_sign_verify_detached(data + AT_SIGNATURE, data, AT_SIGNATURE, check->key) != 0) {
        return error_set(error, ERROR_CRYPTO, "the token is not signed by this server's key");
    }
    if (!token_peek(data, bytes, token)) {
        return error_set(error, ERROR_FORMAT, "the token has an unknown role or an invalid name");
    }
    int result = scope_check(token, check, error);
    if (result == ERROR_OK && (data[AT_FLAGS] & FLAG_ACCOUNT) != 0 && !check->lobby &&
        (check->identity == NULL ||
         !identity_unbox(check->identity, data + AT_ACCOUNT,
                         TOKEN_ACCOUNT_BYTES + IDENTITY_BOX_BYTES, token->account) ||
         token->account[TOKEN_ACCOUNT_BYTES - 1] != '\0')) {
        return error_set(error, ERROR_CRYPTO, "the token's account is not for this server");
    }
    return result;
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
