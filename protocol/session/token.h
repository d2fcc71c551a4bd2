/*
 * token.h: connect tokens: permission to join a server under a name, in a role and until a time,
 * signed with Ed25519 by the operator's key. The server needs only the public key.
 *
 *   magic "PLT2" · flags u8 · role u8 · zero 2 · id u64 · expiry u64 (unix s) · server 32 ·
 *   client 32 · name 48 · account, sealed 112 · signature 64, little-endian, TOKEN_SIGNED_BYTES
 *
 * A token that names a server pins it: clients give it to no other, and no other takes it. One that
 * names a client can only be used by the owner of that key. The account is the client's name in the
 * operator's records, encrypted for the server that the token names. Key files hold one line of
 * hexadecimal digits.
 * Layer: protocol/session.
 */
#ifndef PLENUM_PROTOCOL_SESSION_TOKEN_H
#define PLENUM_PROTOCOL_SESSION_TOKEN_H

#include "protocol/session/handshake.h"
#include "protocol/session/message.h"

PL_BEGIN_C

enum {
    TOKEN_PUBLIC_BYTES = 32,
    TOKEN_SECRET_BYTES = 64,
    TOKEN_ACCOUNT_BYTES = 64,
    TOKEN_SIGNED_BYTES =
        8 + 2 * 8 + 2 * 32 + NAME_BYTES_MAX + TOKEN_ACCOUNT_BYTES + IDENTITY_BOX_BYTES + 64
};
PL_STATIC_ASSERT((int)TOKEN_SIGNED_BYTES <= (int)TOKEN_BYTES_MAX, "a token fits in a hello");

typedef struct Token {
    u64 id;            /* for lists of revoked and used ones; unpredictable */
    u64 expiry_unix_s; /* invalid from then on */
    Role role;
    bool once;       /* good for one session; its loss may be resumed */
    bool relay;      /* its bearer may speak for users of its own, up to that role */
    bool lobby;      /* for lobbies (announcement.h): lets a server be listed, lets nobody join */
    bool for_server; /* names a server: */
    bool for_client; /* names a client: */
    u8 server[IDENTITY_PUBLIC_BYTES];
    u8 client[IDENTITY_PUBLIC_BYTES];
    char name[NAME_BYTES_MAX];         /* "": chosen by the client */
    char account[TOKEN_ACCOUNT_BYTES]; /* "": none */
} Token;

/* What a server checks a token against. */
typedef struct TokenCheck {
    const u8 *key;            /* [TOKEN_PUBLIC_BYTES] that signs its tokens */
    const Identity *identity; /* the server's; NULL: tokens for any server only */
    const u8 *client;         /* [IDENTITY_PUBLIC_BYTES] proven by the client; NULL: none */
    u64 now_unix_s;
    bool lobby; /* for a lobby's tokens: then accounts stay sealed */
} TokenCheck;

/* Generates a new key pair. */
void token_keygen(u8 public_key[TOKEN_PUBLIC_BYTES], u8 secret_key[TOKEN_SECRET_BYTES]);
/* Signs; 0 or ERROR_RANGE (role, name, an account without a server). */
int token_sign(const Token *token, const u8 secret_key[TOKEN_SECRET_BYTES],
               u8 out[TOKEN_SIGNED_BYTES]);
/* Verifies untrusted bytes. ERROR_FORMAT, ERROR_CRYPTO (not signed by this key) or ERROR_DENIED
 * (expired, other server or client), with a text. */
int token_verify(const u8 *data, u32 bytes, const TokenCheck *check, Token *token,
                 ErrorText *error);
/* Reads the server and the client that it names, for its owner, without checking the signature.
 * False: not a token. */
bool token_peek(const u8 *data, u32 bytes, Token *token);

/* Writes a key file. A secret key's file is readable only by its owner. */
int token_key_write(const char *path, const u8 *key, u32 bytes, bool secret, ErrorText *error);
int token_key_read(const char *path, u8 *key, u32 bytes, ErrorText *error);

PL_END_C

#endif
