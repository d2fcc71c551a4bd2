/* seal.c: implements seal.h with libsodium, and the sliding window against replays. */
#include "protocol/session/seal.h"
#include "shared/base/check.h"

#include <sodium.h>
#include <string.h>

enum {
    COUNTER_BYTES = 8,
    TAG_BYTES = crypto_aead_xchacha20poly1305_ietf_ABYTES,
    NONCE_BYTES = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
};
PL_STATIC_ASSERT(COUNTER_BYTES + TAG_BYTES == SEAL_OVERHEAD_BYTES, "limits.h states the overhead");
PL_STATIC_ASSERT(SEAL_KEY_BYTES == crypto_kx_PUBLICKEYBYTES, "X25519 keys");
PL_STATIC_ASSERT(SEAL_KEY_BYTES == crypto_aead_xchacha20poly1305_ietf_KEYBYTES, "its keys");
PL_STATIC_ASSERT(SEAL_HASH_KEY_BYTES == crypto_shorthash_KEYBYTES, "SipHash key");

int seal_start(void)
{
    return sodium_init() < 0 ? ERROR_CRYPTO : ERROR_OK;
}

void seal_key_pair(SealKeyPair *pair)
{
    crypto_kx_keypair(pair->public_key, pair->secret_key);
}

void seal_init(Seal *seal, const u8 send_key[SEAL_KEY_BYTES], const u8 receive_key[SEAL_KEY_BYTES])
{
    memset(seal, 0, sizeof *seal);
    memcpy(seal->send_key, send_key, SEAL_KEY_BYTES);
    memcpy(seal->receive_key, receive_key, SEAL_KEY_BYTES);
    seal->ready = true;
}

/* Each direction has its own key, so the counter alone makes the nonce unique. */
static void nonce_make(u8 nonce[NONCE_BYTES], u64 counter)
{
    memset(nonce, 0, NONCE_BYTES);
    memcpy(nonce, &counter, COUNTER_BYTES);
}

u32 seal_encrypt(Seal *seal, const void *plain, u32 bytes, u8 *out)
{
    u8 nonce[NONCE_BYTES];
    CHECK(seal->send_counter < UINT64_MAX && bytes <= UINT32_MAX - SEAL_OVERHEAD_BYTES);
    u64 counter = ++seal->send_counter; /* no nonce is used twice */
    unsigned long long sealed = 0;
    nonce_make(nonce, counter);
    memcpy(out, &counter, COUNTER_BYTES);
    crypto_aead_xchacha20poly1305_ietf_encrypt(out + COUNTER_BYTES, &sealed, plain, bytes, NULL, 0,
                                               NULL, nonce, seal->send_key);
    return COUNTER_BYTES + (u32)sealed;
}

/* Bit i of the window stands for counter ≡ i mod SEAL_WINDOW among the newest SEAL_WINDOW. */
static bool window_seen(const Seal *seal, u64 counter)
{
    if (counter == 0 || counter + SEAL_WINDOW <= seal->newest) {
        return true;
    }
    if (counter > seal->newest) {
        return false;
    }
    u32 bit = (u32)(counter % SEAL_WINDOW);
    return (seal->window[bit / 64] >> (bit % 64) & 1) != 0;
}

static void window_mark(Seal *seal, u64 counter)
{
    if (counter > seal->newest) {
        if (counter - seal->newest >= SEAL_WINDOW) {
            memset(seal->window, 0, sizeof seal->window);
        } else {
            for (u64 c = seal->newest + 1; c <= counter; c++) {
                u32 stale = (u32)(c % SEAL_WINDOW);
                seal->window[stale / 64] &= ~(1ull << (stale % 64));
            }
        }
        seal->newest = counter;
    }
    u32 bit = (u32)(counter % SEAL_WINDOW);
    seal->window[bit / 64] |= 1ull << (bit % 64);
}

int seal_decrypt(Seal *seal, const void *sealed, u32 bytes, u8 *out)
{
    if (!seal->ready || bytes < SEAL_OVERHEAD_BYTES) {
        return ERROR_CRYPTO;
    }
    u64 counter;
    memcpy(&counter, sealed, COUNTER_BYTES);
    /* Before the expensive part; marked only once the tag is verified, so forgeries cannot
     * poison it. */
    if (window_seen(seal, counter)) {
        return ERROR_CRYPTO;
    }
    u8 nonce[NONCE_BYTES];
    unsigned long long plain = 0;
    nonce_make(nonce, counter);
    if (crypto_aead_xchacha20poly1305_ietf_decrypt(
            out, &plain, NULL, (const u8 *)sealed + COUNTER_BYTES, bytes - COUNTER_BYTES, NULL, 0,
            nonce, seal->receive_key) != 0) {
        return ERROR_CRYPTO;
    }
    window_mark(seal, counter);
    return (int)plain;
}

void seal_finish(Seal *seal)
{
    sodium_memzero(seal, sizeof *seal);
}

void seal_wipe(void *memory, size_t bytes)
{
    sodium_memzero(memory, bytes);
}

void seal_random(void *out, u32 bytes)
{
    randombytes_buf(out, bytes);
}

u64 seal_hash(const u8 key[SEAL_HASH_KEY_BYTES], const void *data, u32 bytes)
{
    u8 out[crypto_shorthash_BYTES];
    u64 value;
    crypto_shorthash(out, data, bytes, key);
    memcpy(&value, out, sizeof value);
    return value;
}
