/* broker_key.c: see broker_key.h. Seeds and public keys are written as NATS does (NKEY): base 32 of
 * a prefix, 32 bytes and a CRC-16. */
#include "server/host/broker_key.h"

#include "shared/base/check.h"
#include "shared/base/file.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    FILE_BYTES_MAX = 64 << 10,
    PREFIX_SEED = 18 << 3,
    PREFIX_USER = 20 << 3,
    SEED_RAW = 2 + BROKER_SEED_BYTES + 2, /* two prefixes, CRC */
    SEED_LETTERS = 58,
    PUBLIC_RAW = 1 + 32 + 2
};

static const char letters32[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/* ---- keys as text ---- */

/* CRC-16/XMODEM. */
static u32 crc16(const u8 *bytes, u32 count)
{
    u32 crc = 0;
    for (u32 i = 0; i < count; i++) {
        crc ^= (u32)bytes[i] << 8;
        for (u32 bit = 0; bit < 8; bit++) {
            crc = (crc << 1 ^ ((crc & 0x8000u) != 0 ? 0x1021u : 0)) & 0xffffu;
        }
    }
    return crc;
}

/* Decodes the first `count` letters; false: letters outside base 32, or remaining bits. */
static bool decode32(const char *text, u32 count, u8 *out, u32 bytes)
{
    u32 bits = 0, have = 0, used = 0;
    for (u32 i = 0; i < count; i++) {
        const char *at = text[i] != '\0' ? strchr(letters32, text[i]) : NULL;
        if (at == NULL) {
            return false;
        }
        bits = bits << 5 | (u32)(at - letters32);
        have += 5;
        if (have >= 8 && used < bytes) {
            have -= 8;
            out[used++] = (u8)(bits >> have);
        }
    }
    return used == bytes && (bits & ((1u << have) - 1)) == 0;
}

static void encode32(const u8 *bytes, u32 count, char *out)
{
    u32 bits = 0, have = 0;
    for (u32 i = 0; i < count; i++) {
        bits = bits << 8 | bytes[i];
        have += 8;
        while (have >= 5) {
            have -= 5;
            *out++ = letters32[bits >> have & 31u];
        }
    }
    if (have > 0) {
        *out++ = letters32[bits << (5 - have) & 31u];
    }
    *out = '\0';
}

static void public_text(const u8 seed[BROKER_SEED_BYTES], char out[BROKER_PUBLIC_BYTES])
{
    u8 raw[PUBLIC_RAW], secret[crypto_sign_SECRETKEYBYTES];
    PL_STATIC_ASSERT((PUBLIC_RAW * 8 + 4) / 5 + 1 == BROKER_PUBLIC_BYTES, "all letters");
    raw[0] = PREFIX_USER;
    (void)crypto_sign_seed_keypair(raw + 1, secret, seed);
    sodium_memzero(secret, sizeof secret);
    u32 crc = crc16(raw, PUBLIC_RAW - 2);
    raw[PUBLIC_RAW - 2] = (u8)crc;
    raw[PUBLIC_RAW - 1] = (u8)(crc >> 8);
    encode32(raw, PUBLIC_RAW, out);
}

/* A seed of a user's key; false: something else. */
static bool seed_read(const char *text, u32 length, BrokerKey *out)
{
    u8 raw[SEED_RAW];
    if (length != SEED_LETTERS || !decode32(text, length, raw, SEED_RAW)) {
        return false;
    }
    u32 crc = raw[SEED_RAW - 2] | (u32)raw[SEED_RAW - 1] << 8;
    u32 of = (raw[0] & 7u) << 5 | raw[1] >> 3;
    bool good =
        (raw[0] & 0xf8u) == PREFIX_SEED && of == PREFIX_USER && crc == crc16(raw, SEED_RAW - 2);
    if (good) {
        out->kind = BROKER_KEY_SEED;
        memcpy(out->seed, raw + 2, BROKER_SEED_BYTES);
        public_text(out->seed, out->public_key);
    }
    sodium_memzero(raw, sizeof raw);
    return good;
}

void broker_key_sign(const BrokerKey *key, const char *nonce, u8 signature[BROKER_SIGNATURE_BYTES])
{
    u8 public_key[crypto_sign_PUBLICKEYBYTES], secret[crypto_sign_SECRETKEYBYTES];
    PL_STATIC_ASSERT((int)BROKER_SIGNATURE_BYTES == (int)crypto_sign_BYTES, "Ed25519");
    CHECK(key->kind == BROKER_KEY_SEED);
    (void)crypto_sign_seed_keypair(public_key, secret, key->seed);
    (void)crypto_sign_detached(signature, NULL, (const u8 *)nonce, strlen(nonce), secret);
    sodium_memzero(secret, sizeof secret);
}

void broker_key_forget(BrokerKey *key)
{
    sodium_memzero(key, sizeof *key);
}

/* ---- the file ---- */

/* "NAME = VALUE" of a line; false: it is not this name. */
static bool value_read(const char *line, u32 length, const char *name, const char **value,
                       u32 *bytes)
{
    u32 at = (u32)strlen(name);
    if (length < at || strncmp(line, name, at) != 0) {
        return false;
    }
    at += (u32)strspn(line + at, " \t");
    if (at >= length || line[at] != '=') {
        return false;
    }
    at++;
    at += (u32)strspn(line + at, " \t");
    *value = line + at;
    *bytes = at < length ? length - at : 0;
    return true;
}

typedef struct KeyLine {
    const char *name;
    char *value;
    u32 room;
    BrokerKeyKind kind; /* NONE: goes with any */
} KeyLine;

/* True if the line is one of those, and its value fits. */
static bool line_read(const char *line, u32 length, BrokerKey *out)
{
    const KeyLine lines[] = {
        {"user", out->user, sizeof out->user, BROKER_KEY_PASSWORD},
        {"password", out->secret, sizeof out->secret, BROKER_KEY_PASSWORD},
        {"token", out->secret, sizeof out->secret, BROKER_KEY_TOKEN},
        {"certificate", out->certificate, sizeof out->certificate, BROKER_KEY_NONE},
        {"key", out->certificate_key, sizeof out->certificate_key, BROKER_KEY_NONE}};
    for (u32 i = 0; i < PL_COUNT(lines); i++) {
        const char *value;
        u32 bytes;
        if (!value_read(line, length, lines[i].name, &value, &bytes)) {
            continue;
        }
        bool other = lines[i].kind != BROKER_KEY_NONE && out->kind != BROKER_KEY_NONE &&
                     out->kind != lines[i].kind;
        if (bytes == 0 || bytes >= lines[i].room || lines[i].value[0] != '\0' || other) {
            return false;
        }
        memcpy(lines[i].value, value, bytes);
        lines[i].value[bytes] = '\0';
        out->kind = lines[i].kind != BROKER_KEY_NONE ? lines[i].kind : out->kind;
        return true;
    }
    return out->kind == BROKER_KEY_NONE && seed_read(line, length, out);
}

int broker_key_parse(const char *path, const char *text, BrokerKey *out, ErrorText *error)
{
    memset(out, 0, sizeof *out);
    if (strstr(text, "-----BEGIN NATS USER JWT-----") != NULL) {
        out->kind = BROKER_KEY_CREDS;
        return ERROR_OK;
    }
    u32 number = 0;
    for (const char *line = text; *line != '\0'; number++) {
        u32 whole = (u32)strcspn(line, "\n"), length = whole;
        const char *next = line + whole + (line[whole] == '\n');
        u32 blanks = (u32)strspn(line, " \t\r");
        blanks = blanks < length ? blanks : length;
        line += blanks;
        length -= blanks;
        while (length > 0 && strchr(" \t\r", line[length - 1]) != NULL) {
            length--;
        }
        if (length > 0 && line[0] != '#' && !line_read(line, length, out)) {
            broker_key_forget(out);
            return error_set(error, ERROR_FORMAT,
                             "%s: line %u: expected a .creds file, a seed (SU...), or lines user, "
                             "password, token, certificate, key = VALUE",
                             path, number + 1);
        }
        line = next;
    }
    bool half =
        (out->kind == BROKER_KEY_PASSWORD && (out->user[0] == '\0' || out->secret[0] == '\0')) ||
        (out->certificate[0] == '\0') != (out->certificate_key[0] == '\0');
    if (half || (out->kind == BROKER_KEY_NONE && out->certificate[0] == '\0')) {
        broker_key_forget(out);
        return error_set(error, ERROR_FORMAT,
                         "%s: expected user and password, certificate and key, a token or a seed",
                         path);
    }
    return ERROR_OK;
}

int broker_key_read(const char *path, BrokerKey *out, ErrorText *error)
{
    struct stat status;
    size_t bytes;
    char *text = file_read(path, FILE_BYTES_MAX, &bytes, error);
    if (text == NULL) {
        return ERROR_IO;
    }
    int result =
        stat(path, &status) != 0 || (status.st_mode & (S_IRWXG | S_IRWXO)) != 0
            ? error_set(error, ERROR_DENIED, "%s: readable by other users: chmod 600", path)
            : broker_key_parse(path, text, out, error);
    sodium_memzero(text, bytes);
    free(text);
    return result;
}
