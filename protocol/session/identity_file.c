/* identity_file.c: identity files are created atomically. */
#include "protocol/session/identity_file.h"

#include "protocol/session/token.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PATH_BYTES = 4096
};

void identity_to_text(const u8 public_key[IDENTITY_PUBLIC_BYTES], char text[IDENTITY_TEXT_BYTES])
{
    for (u32 i = 0; i < IDENTITY_PUBLIC_BYTES; i++) {
        snprintf(text + (size_t)(2 * i), 3, "%02x", public_key[i]);
    }
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

bool identity_from_text(const char *text, u8 public_key[IDENTITY_PUBLIC_BYTES])
{
    for (u32 i = 0; i < IDENTITY_PUBLIC_BYTES; i++) {
        int high = digit_of(text[2 * i]);
        int low = high >= 0 ? digit_of(text[2 * i + 1]) : -1;
        if (low < 0) {
            return false;
        }
        public_key[i] = (u8)(16 * high + low);
    }
    return text[2 * IDENTITY_PUBLIC_BYTES] == '\0';
}

/* Writes a new key beside `path` and links it there, unless another did meanwhile. */
static int create(const char *path, ErrorText *error)
{
    char beside[PATH_BYTES];
    Identity identity;
    int length = snprintf(beside, sizeof beside, "%s.%ld", path, (long)getpid());
    if (length < 0 || length >= (int)sizeof beside) {
        return error_set(error, ERROR_LIMIT, "%s: the path is too long", path);
    }
    identity_create(&identity);
    int result = token_key_write(beside, identity.secret_key, IDENTITY_SECRET_BYTES, true, error);
    identity_finish(&identity);
    if (result != ERROR_OK) {
        return result;
    }
    if (link(beside, path) != 0 && errno != EEXIST) {
        result = error_set(error, ERROR_IO, "%s: cannot create: %s", path, strerror(errno));
    }
    unlink(beside);
    return result;
}

int identity_load(const char *path, Identity *identity, ErrorText *error)
{
    struct stat status;
    u8 secret[IDENTITY_SECRET_BYTES];
    if (seal_start() != ERROR_OK) {
        return error_set(error, ERROR_CRYPTO, "cannot start the cryptographic library");
    }
    if (stat(path, &status) != 0 && errno == ENOENT) {
        int created = create(path, error);
        if (created != ERROR_OK) {
            return created;
        }
    }
    if (stat(path, &status) == 0 && (status.st_mode & 077) != 0) {
        return error_set(error, ERROR_DENIED,
                         "%s: others may read this secret key; chmod 600, or make another", path);
    }
    int result = token_key_read(path, secret, sizeof secret, error);
    if (result == ERROR_OK) {
        identity_from_secret(identity, secret);
    }
    seal_wipe(secret, sizeof secret);
    return result;
}
