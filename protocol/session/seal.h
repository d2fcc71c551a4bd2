/*
 * seal.h: X25519 key exchange (crypto_kx) and XChaCha20-Poly1305 for every payload after the
 * handshake, with a replay window. The nonce consists of channel and a 64-bit counter that travels
 * in the payload: [counter u64][ciphertext + tag]. Loss and reordering are allowed, repeats are
 * refused.
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
    CHANNEL_STREAMS = 5, /* one for each channel of link.h */
    SEAL_DATAGRAMS = 0,  /* the only stream of the seal of a tunnel (tunnel.h) */
    SEAL_HASH_KEY_BYTES = 16
};

typedef struct SealKeyPair {
    u8 public_key[SEAL_KEY_BYTES];
    u8 secret_key[SEAL_KEY_BYTES];
} SealKeyPair;

/* One channel, with its own counter and window: a reliable payload retransmitted for seconds
 * must not be taken for a replay because thousands of state packets overtook it. */
typedef struct SealStream {
    u64 send_counter;
    u64 newest;                   /* highest counter accepted */
    u64 window[SEAL_WINDOW / 64]; /* which of the last counters were seen */
} SealStream;

typedef struct Seal {
    u8 send_key[SEAL_KEY_BYTES];
    u8 receive_key[SEAL_KEY_BYTES];
    SealStream streams[CHANNEL_STREAMS]; /* by channel */
    bool ready;
} Seal;

/* Call once per process before any other function; ERROR_CRYPTO if libsodium fails. */
int seal_start(void);
void seal_key_pair(SealKeyPair *pair);
/* Derives the keys of both directions. ERROR_CRYPTO for an invalid public key. */
int seal_init_server(Seal *seal, const SealKeyPair *own, const u8 client_public[SEAL_KEY_BYTES]);
int seal_init_client(Seal *seal, const SealKeyPair *own, const u8 server_public[SEAL_KEY_BYTES]);
/* With keys agreed upon elsewhere (handshake.h). */
void seal_init(Seal *seal, const u8 send_key[SEAL_KEY_BYTES], const u8 receive_key[SEAL_KEY_BYTES]);
/* Encrypts and authenticates a payload, including its channel. out must hold bytes +
 * SEAL_OVERHEAD_BYTES; returns the sealed size. */
u32 seal_encrypt(Seal *seal, u32 channel, const void *plain, u32 bytes, u8 *out);
/* Opens a payload: returns its size or ERROR_CRYPTO (forged, replayed, truncated). out holds
 * bytes. */
int seal_decrypt(Seal *seal, u32 channel, const void *sealed, u32 bytes, u8 *out);
/* Wipes the keys. */
void seal_finish(Seal *seal);

/* Wipes memory that held a secret; no compiler leaves it out. */
void seal_wipe(void *memory, size_t bytes);

/* Cryptographically secure random bytes (keys, cookies, resume secrets). */
void seal_random(void *out, u32 bytes);
/* Keyed 64-bit hash (SipHash-2-4, Aumasson and Bernstein 2012) for cookies and for tables that
 * an attacker must not be able to flood. */
u64 seal_hash(const u8 key[SEAL_HASH_KEY_BYTES], const void *data, u32 bytes);

PL_END_C

#endif
