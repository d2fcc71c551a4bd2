/* seal.c: implements seal.h with libsodium, and the sliding window against replays. */
#include "protocol/session/seal.h"

#include "protocol/session/link.h"
#include "shared/base/check.h"

#include <sodium.h>
#include <string.h>

enum {
    COUNTER_BYTES = 8,
    TAG_BYTES = crypto_aead_xchacha20poly1305_ietf_ABYTES,
    NONCE_BYTES = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
};
PL_STATIC_ASSERT(COUNTER_BYTES + TAG_BYTES == SEAL_OVERHEAD_BYTES, "limits.h states the overhead");
PL_STATIC_ASSERT((int)CHANNEL_STREAMS == (int)CHANNEL_COUNT, "a stream a channel");
PL_STATIC_ASSERT(SEAL_KEY_BYTES == crypto_kx_PUBLICKEYBYTES, "X25519 keys");
PL_STATIC_ASSERT(SEAL_KEY_BYTES == crypto_kx_SESSIONKEYBYTES, "session keys");
PL_STATIC_ASSERT(SEAL_HASH_KEY_BYTES == crypto_shorthash_KEYBYTES, "SipHash key");

int seal_start(void)
{
    return sodium_init() < 0 ? ERROR_CRYPTO : ERROR_OK;
}

void seal_key_pair(SealKeyPair *pair)
{
    crypto_kx_keypair(pair->public_key, pair->secret_key);
}

int seal_init_server(Seal *seal, const SealKeyPair *own, const u8 client_public[SEAL_KEY_BYTES])
{
    memset(seal, 0, sizeof *seal);
    if (crypto_kx_server_session_keys(seal->receive_key, seal->send_key, own->public_key,
                                      own->secret_key, client_public) != 0) {
        return ERROR_CRYPTO;
    }
    seal->ready = true;
    return ERROR_OK;
}

int seal_init_client(Seal *seal, const SealKeyPair *own, const u8 server_public[SEAL_KEY_BYTES])
{
    memset(seal, 0, sizeof *seal);
    if (crypto_kx_client_session_keys(seal->receive_key, seal->send_key, own->public_key,
                                      own->secret_key, server_public) != 0) {
        return ERROR_CRYPTO;
    }
    seal->ready = true;
    return ERROR_OK;
}

void seal_init(Seal *seal, const u8 send_key[SEAL_KEY_BYTES], const u8 receive_key[SEAL_KEY_BYTES])
{
    memset(seal, 0, sizeof *seal);
    memcpy(seal->send_key, send_key, SEAL_KEY_BYTES);
    memcpy(seal->receive_key, receive_key, SEAL_KEY_BYTES);
    seal->ready = true;
}

/* Each direction has its own key, so the counter alone makes the nonce unique. */
static void nonce_make(u8 nonce[NONCE_BYTES], u32 channel, u64 counter)
{
    memset(nonce, 0, NONCE_BYTES);
    memcpy(nonce, &counter, COUNTER_BYTES);
    nonce[COUNTER_BYTES] = (u8)channel;
}

u32 seal_encrypt(Seal *seal, u32 channel, const void *plain, u32 bytes, u8 *out)
{
    u8 nonce[NONCE_BYTES];
    CHECK(channel < CHANNEL_STREAMS);
    u64 counter = ++seal->streams[channel].send_counter;
    u8 associated = (u8)channel;
    unsigned long long sealed = 0;
    nonce_make(nonce, channel, counter);
    memcpy(out, &counter, COUNTER_BYTES);
    crypto_aead_xchacha20poly1305_ietf_encrypt(out + COUNTER_BYTES, &sealed, plain, bytes,
                                               &associated, 1, NULL, nonce, seal->send_key);
    return COUNTER_BYTES + (u32)sealed;
}

/* Bit i of the window stands for counter ≡ i mod SEAL_WINDOW among the newest SEAL_WINDOW. */
static bool window_seen(const SealStream *stream, u64 counter)
{
    if (counter == 0 || counter + SEAL_WINDOW <= stream->newest) {
        return true;
    }
    if (counter > stream->newest) {
        return false;
    }
    u32 bit = (u32)(counter % SEAL_WINDOW);
    return (stream->window[bit / 64] >> (bit % 64) & 1) != 0;
}

static void window_mark(SealStream *stream, u64 counter)
{
    if (counter > stream->newest) {
        if (counter - stream->newest >= SEAL_WINDOW) {
            memset(stream->window, 0, sizeof stream->window);
        } else {
            for (u64 c = stream->newest + 1; c <= counter; c++) {
                u32 stale = (u32)(c % SEAL_WINDOW);
                stream->window[stale / 64] &= ~(1ull << (stale % 64));
            }
        }
        stream->newest = counter;
    }
    u32 bit = (u32)(counter % SEAL_WINDOW);
    stream->window[bit / 64] |= 1ull << (bit % 64);
}

int seal_decrypt(Seal *seal, u32 channel, const void *sealed, u32 bytes, u8 *out)
{
    if (!seal->ready || bytes < SEAL_OVERHEAD_BYTES || channel >= CHANNEL_STREAMS) {
        return ERROR_CRYPTO;
    }
    SealStream *stream = &seal->streams[channel];
    u64 counter;
    memcpy(&counter, sealed, COUNTER_BYTES);
    /* Before the expensive part; marked only once the tag is verified, so forgeries cannot
     * poison it. */
    if (window_seen(stream, counter)) {
        return ERROR_CRYPTO;
    }
    u8 nonce[NONCE_BYTES];
    u8 associated = (u8)channel;
    unsigned long long plain = 0;
    nonce_make(nonce, channel, counter);
    if (crypto_aead_xchacha20poly1305_ietf_decrypt(
            out, &plain, NULL, (const u8 *)sealed + COUNTER_BYTES, bytes - COUNTER_BYTES,
            &associated, 1, nonce, seal->receive_key) != 0) {
        return ERROR_CRYPTO;
    }
    window_mark(stream, counter);
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
