/*
 * seal.h: authenticated encryption of the datagrams of a tunnel (tunnel.h): XChaCha20-Poly1305 with
 * a key for each direction and a window against repeats. The nonce is a 64-bit counter that travels
 * along: [counter u64][ciphertext + tag]. Loss and reordering are allowed, repeats are refused.
 * Layer: protocol/session. Only seal.c, handshake.c and token.c include sodium.h.
 */
#ifndef PLENUM_PROTOCOL_SESSION_SEAL_H
#define PLENUM_PROTOCOL_SESSION_SEAL_H

#include "shared/base/error.h"
#include "shared/base/limits.h"

PL_BEGIN_C

enum {
    SEAL_KEY_BYTES = 32,
    SEAL_WINDOW = 1024,
    SEAL_HASH_KEY_BYTES = 16
};

typedef struct SealKeyPair {
    u8 public_key[SEAL_KEY_BYTES];
    u8 secret_key[SEAL_KEY_BYTES];
} SealKeyPair;

typedef struct Seal {
    u8 send_key[SEAL_KEY_BYTES];
    u8 receive_key[SEAL_KEY_BYTES];
    u64 send_counter;
    u64 newest;                   /* highest counter accepted */
    u64 window[SEAL_WINDOW / 64]; /* which of the last counters were seen */
    bool ready;
} Seal;

/* Call once per process before any other function; ERROR_CRYPTO if libsodium fails. */
int seal_start(void);
/* A new X25519 key pair. */
void seal_key_pair(SealKeyPair *pair);
/* With the keys of a handshake (handshake.h). */
void seal_init(Seal *seal, const u8 send_key[SEAL_KEY_BYTES], const u8 receive_key[SEAL_KEY_BYTES]);
/* Encrypts and authenticates. out must hold bytes + SEAL_OVERHEAD_BYTES; returns the sealed
 * size. */
u32 seal_encrypt(Seal *seal, const void *plain, u32 bytes, u8 *out);
/* Opens: returns the size or ERROR_CRYPTO (forged, repeated, truncated). out holds bytes. */
int seal_decrypt(Seal *seal, const void *sealed, u32 bytes, u8 *out);
/* Wipes the keys. */
void seal_finish(Seal *seal);

/* Wipes memory that held a secret; never optimized away. */
void seal_wipe(void *memory, size_t bytes);

/* Cryptographically secure random bytes (keys, cookies, resume secrets). */
void seal_random(void *out, u32 bytes);
/* Keyed 64-bit hash (SipHash-2-4, Aumasson and Bernstein 2012) for cookies and for tables that
 * an attacker must not be able to flood. */
u64 seal_hash(const u8 key[SEAL_HASH_KEY_BYTES], const void *data, u32 bytes);

PL_END_C

#endif
