/*
 * handshake.h: the key exchange below ENet. The client sends a new X25519 key together with its
 * cookie (probe.h); the server answers with a new key of its own, its long-term key (its identity),
 * and a signature over both. Only the two ends know the resulting keys, and only the identity's
 * owner can have signed. So nothing after it is sent in clear: name, token, resume secret, the
 * commands of ENet.
 *
 *   open    magic "PLNM" · kind 3 · zero 3 · nonce 8 · cookie 8 · X25519 key 32 · zeros to 1000
 *   accept  magic "PLNM" · kind 4 · zero 3 · nonce 8 · tunnel id 4 · zero 4 · X25519 key 32 ·
 *           identity 32 · Ed25519 signature 64
 *
 * The pattern is that of a signed ephemeral exchange (STS; Diffie, van Oorschot and Wiener 1992),
 * without the client's half: a client that must prove more than its address does so inside the
 * tunnel (token.h), by a signature over `binding`. PROTOCOL.md has the bytes.
 * Layer: protocol/session.
 */
#ifndef PLENUM_PROTOCOL_SESSION_HANDSHAKE_H
#define PLENUM_PROTOCOL_SESSION_HANDSHAKE_H

#include "protocol/session/seal.h"

PL_BEGIN_C

enum {
    IDENTITY_PUBLIC_BYTES = 32,
    IDENTITY_SECRET_BYTES = 64,
    IDENTITY_SIGNATURE_BYTES = 64,
    IDENTITY_BOX_BYTES = 48, /* overhead of a box over its content */
    BINDING_BYTES = 32,
    HANDSHAKE_KIND_OPEN = 3,
    HANDSHAKE_KIND_ACCEPT = 4,
    HANDSHAKE_OPEN_BYTES = 1000, /* padded: the answer is never larger than the question */
    HANDSHAKE_ACCEPT_BYTES = 24 + 2 * 32 + IDENTITY_SIGNATURE_BYTES
};

/* A long-term Ed25519 key: of a server, or of a client that has one. */
typedef struct Identity {
    u8 public_key[IDENTITY_PUBLIC_BYTES];
    u8 secret_key[IDENTITY_SECRET_BYTES];
} Identity;

/* Result of the handshake, equal at both ends. */
typedef struct Handshake {
    Seal seal;
    u32 id;                    /* of the tunnel, chosen by the server */
    u8 binding[BINDING_BYTES]; /* secret hash of the transcript, unique to this connection */
    u8 server[IDENTITY_PUBLIC_BYTES];
} Handshake;

/* State of the client while it waits. */
typedef struct HandshakeClient {
    u64 nonce;
    SealKeyPair keys;
} HandshakeClient;

/* A new random pair of keys. */
void identity_create(Identity *identity);
/* Recovers the public key from the secret one. */
void identity_from_secret(Identity *identity, const u8 secret_key[IDENTITY_SECRET_BYTES]);
/* Signs `bytes` bytes for one use, named by `purpose`, so that a signature cannot be used for
 * another. */
void identity_sign(const Identity *identity, const char *purpose, const void *data, u32 bytes,
                   u8 signature[IDENTITY_SIGNATURE_BYTES]);
bool identity_verify(const u8 public_key[IDENTITY_PUBLIC_BYTES], const char *purpose,
                     const void *data, u32 bytes, const u8 signature[IDENTITY_SIGNATURE_BYTES]);
/* Encrypts for the owner of an identity; out holds bytes + IDENTITY_BOX_BYTES. False: not a
 * key. */
bool identity_box(const u8 public_key[IDENTITY_PUBLIC_BYTES], const void *data, u32 bytes, u8 *out);
/* Opens a box of `bytes` bytes. False: not for this identity, or damaged. */
bool identity_unbox(const Identity *identity, const u8 *box, u32 bytes, void *out);
void identity_finish(Identity *identity);

/* nonce: that of the client's probes. */
void handshake_client_init(HandshakeClient *client, u64 nonce);
void handshake_open(const HandshakeClient *client, u64 cookie, u8 out[HANDSHAKE_OPEN_BYTES]);
/* Checks the answer: the nonce, the signature. 0, or ERROR_FORMAT (not the answer to this) or
 * ERROR_CRYPTO (not signed by the key that it names). The caller checks whether that key is the
 * right one. */
int handshake_finish(const HandshakeClient *client, const u8 *data, u32 bytes, Handshake *out);
void handshake_client_wipe(HandshakeClient *client);

/* Cookie and key of an open message; false: it is none. */
bool handshake_read_open(const u8 *data, u32 bytes, u64 *cookie, u8 client_key[SEAL_KEY_BYTES]);
/* Answers an open message with new keys. 0, or ERROR_CRYPTO for a key without a secret. */
int handshake_answer(const Identity *identity, u32 id, const u8 *data, u32 bytes, Handshake *out,
                     u8 accept[HANDSHAKE_ACCEPT_BYTES]);
void handshake_wipe(Handshake *handshake);

PL_END_C

#endif
