/*
 * broker_key.h: credentials for a broker, to publish or to follow: the file of --broker-creds. It
 * is one of
 *   - a .creds file as NATS tools write it (a user's token and its seed),
 *   - a seed of a user's key (SU...), alone on a line,
 *   - lines "user = NAME" and "password = SECRET", or "token = SECRET".
 * Lines "certificate = FILE" and "key = FILE" name a client certificate; both are PEM. A secret is
 * never part of an address or a command line, which others on the machine can read.
 * Layer: server/host, private.
 */
#ifndef PLENUM_SERVER_HOST_BROKER_KEY_H
#define PLENUM_SERVER_HOST_BROKER_KEY_H

#include "shared/base/error.h"

enum {
    BROKER_SECRET_BYTES = 512,
    BROKER_PATH_BYTES = 1024,
    BROKER_SEED_BYTES = 32,
    BROKER_PUBLIC_BYTES = 57, /* text of a public key, with its end */
    BROKER_SIGNATURE_BYTES = 64
};

typedef enum BrokerKeyKind {
    BROKER_KEY_NONE,
    BROKER_KEY_CREDS, /* the file itself is for the library */
    BROKER_KEY_SEED,
    BROKER_KEY_PASSWORD,
    BROKER_KEY_TOKEN
} BrokerKeyKind;

typedef struct BrokerKey {
    BrokerKeyKind kind;
    char user[BROKER_SECRET_BYTES], secret[BROKER_SECRET_BYTES]; /* a password or token */
    u8 seed[BROKER_SEED_BYTES];
    char public_key[BROKER_PUBLIC_BYTES];                                    /* of the seed: U... */
    char certificate[BROKER_PATH_BYTES], certificate_key[BROKER_PATH_BYTES]; /* "": none */
} BrokerKey;

/* Reads the file, which only its owner may read. 0, or a negative Error with a text that reveals
 * nothing of its content. */
int broker_key_read(const char *path, BrokerKey *out, ErrorText *error);
/* The same from its content; `path` is for error texts. */
int broker_key_parse(const char *path, const char *text, BrokerKey *out, ErrorText *error);
/* Signs a broker's challenge with the seed. */
void broker_key_sign(const BrokerKey *key, const char *nonce, u8 signature[BROKER_SIGNATURE_BYTES]);
/* Wipes it. */
void broker_key_forget(BrokerKey *key);

#endif
