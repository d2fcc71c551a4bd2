/*
 * token.h: connect tokens: who may join a server, under which name, in which role and until when,
 * signed with Ed25519 by the operator's key. The server needs only the public key.
 *
 *   magic "PLT1" · server id u64 · client id u64 · expiry u64 (unix s) · role u8 · zero 7 · name 48
 *   · signature 64, little-endian, TOKEN_SIGNED_BYTES in all
 *
 * Key files hold one line of hexadecimal digits.
 * Layer: protocol/session.
 */
#ifndef PLENUM_PROTOCOL_SESSION_TOKEN_H
#define PLENUM_PROTOCOL_SESSION_TOKEN_H

#include "protocol/session/message.h"

PL_BEGIN_C

enum {
    TOKEN_PUBLIC_BYTES = 32,
    TOKEN_SECRET_BYTES = 64,
    TOKEN_SIGNED_BYTES = 4 + 3 * 8 + 8 + NAME_BYTES_MAX + 64
};
PL_STATIC_ASSERT((int)TOKEN_SIGNED_BYTES <= (int)TOKEN_BYTES_MAX, "a token fits in a hello");

typedef struct Token {
    u64 server_id;     /* 0: any server that trusts the key */
    u64 client_id;     /* client id chosen by the operator */
    u64 expiry_unix_s; /* invalid from then on */
    Role role;
    char name[NAME_BYTES_MAX]; /* "": chosen by the client */
} Token;

/* Generates a new key pair. */
void token_keygen(u8 public_key[TOKEN_PUBLIC_BYTES], u8 secret_key[TOKEN_SECRET_BYTES]);
/* Signs; 0 or ERROR_RANGE (role, name). */
int token_sign(const Token *token, const u8 secret_key[TOKEN_SECRET_BYTES],
               u8 out[TOKEN_SIGNED_BYTES]);
/* Verifies untrusted bytes. ERROR_FORMAT, ERROR_CRYPTO (not signed by this key) or ERROR_DENIED
 * (expired, other server), with a text. server_id 0 accepts only tokens for any server. */
int token_verify(const u8 *data, u32 bytes, const u8 public_key[TOKEN_PUBLIC_BYTES], u64 server_id,
                 u64 now_unix_s, Token *token, ErrorText *error);

/* Writes a key file. A secret key's file is readable only by its owner. */
int token_key_write(const char *path, const u8 *key, u32 bytes, bool secret, ErrorText *error);
int token_key_read(const char *path, u8 *key, u32 bytes, ErrorText *error);

PL_END_C

#endif
