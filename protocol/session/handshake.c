/* handshake.c: X25519, Ed25519 and BLAKE2b of libsodium in the order that handshake.h describes. */
#include "protocol/session/handshake.h"

#include "protocol/session/probe.h"
#include "shared/base/check.h"

#include <sodium.h>
#include <string.h>

enum {
    AT_KIND = 4,
    AT_NONCE = 8,
    AT_COOKIE = 16,
    AT_ID = 16,
    AT_KEY = 24,
    AT_IDENTITY = AT_KEY + SEAL_KEY_BYTES,
    AT_SIGNATURE = AT_IDENTITY + IDENTITY_PUBLIC_BYTES,
    HASH_BYTES = 32,
    PURPOSE_MAX = 32,
};
PL_STATIC_ASSERT(AT_SIGNATURE + IDENTITY_SIGNATURE_BYTES == HANDSHAKE_ACCEPT_BYTES, "layout");
PL_STATIC_ASSERT((int)HANDSHAKE_ACCEPT_BYTES < (int)HANDSHAKE_OPEN_BYTES, "never amplified");
PL_STATIC_ASSERT((int)HANDSHAKE_OPEN_BYTES == (int)PROBE_BYTES, "one size of questions");
PL_STATIC_ASSERT(IDENTITY_PUBLIC_BYTES == crypto_sign_PUBLICKEYBYTES, "Ed25519");
PL_STATIC_ASSERT(IDENTITY_SECRET_BYTES == crypto_sign_SECRETKEYBYTES, "Ed25519");
PL_STATIC_ASSERT(IDENTITY_SIGNATURE_BYTES == crypto_sign_BYTES, "Ed25519");
PL_STATIC_ASSERT(IDENTITY_BOX_BYTES == crypto_box_SEALBYTES, "a box of libsodium");
PL_STATIC_ASSERT(SEAL_KEY_BYTES == crypto_scalarmult_BYTES, "X25519");

static const char label[] = "Plenum handshake 1";
static const char purpose_server[] = "Plenum server";

/* ---- identities ---- */

void identity_create(Identity *identity)
{
    crypto_sign_keypair(identity->public_key, identity->secret_key);
}

void identity_from_secret(Identity *identity, const u8 secret_key[IDENTITY_SECRET_BYTES])
{
    memmove(identity->secret_key, secret_key, IDENTITY_SECRET_BYTES);
    crypto_sign_ed25519_sk_to_pk(identity->public_key, identity->secret_key);
}

/* The signed hash: of the purpose, padded, and the data. */
static void purpose_hash(const char *purpose, const void *data, u32 bytes, u8 out[HASH_BYTES])
{
    crypto_generichash_state state;
    char name[PURPOSE_MAX] = {0};
    CHECK(strlen(purpose) < sizeof name);
    memcpy(name, purpose, strlen(purpose));
    crypto_generichash_init(&state, NULL, 0, HASH_BYTES);
    crypto_generichash_update(&state, (const u8 *)name, sizeof name);
    crypto_generichash_update(&state, data, bytes);
    crypto_generichash_final(&state, out, HASH_BYTES);
}

void identity_sign(const Identity *identity, const char *purpose, const void *data, u32 bytes,
                   u8 signature[IDENTITY_SIGNATURE_BYTES])
{
    u8 hash[HASH_BYTES];
    purpose_hash(purpose, data, bytes, hash);
    crypto_sign_detached(signature, NULL, hash, sizeof hash, identity->secret_key);
    sodium_memzero(hash, sizeof hash);
}

bool identity_verify(const u8 public_key[IDENTITY_PUBLIC_BYTES], const char *purpose,
                     const void *data, u32 bytes, const u8 signature[IDENTITY_SIGNATURE_BYTES])
{
    u8 hash[HASH_BYTES];
    purpose_hash(purpose, data, bytes, hash);
    bool good = crypto_sign_verify_detached(signature, hash, sizeof hash, public_key) == 0;
    sodium_memzero(hash, sizeof hash);
    return good;
}

bool identity_box(const u8 public_key[IDENTITY_PUBLIC_BYTES], const void *data, u32 bytes, u8 *out)
{
    u8 key[SEAL_KEY_BYTES];
    return crypto_sign_ed25519_pk_to_curve25519(key, public_key) == 0 &&
           crypto_box_seal(out, data, bytes, key) == 0;
}

bool identity_unbox(const Identity *identity, const u8 *box, u32 bytes, void *out)
{
    u8 public_key[SEAL_KEY_BYTES], secret_key[SEAL_KEY_BYTES];
    bool good = bytes >= IDENTITY_BOX_BYTES &&
                crypto_sign_ed25519_pk_to_curve25519(public_key, identity->public_key) == 0 &&
                crypto_sign_ed25519_sk_to_curve25519(secret_key, identity->secret_key) == 0 &&
                crypto_box_seal_open(out, box, bytes, public_key, secret_key) == 0;
    sodium_memzero(secret_key, sizeof secret_key);
    return good;
}

void identity_finish(Identity *identity)
{
    sodium_memzero(identity, sizeof *identity);
}

/* ---- keys ---- */

/* Hash of everything that both ends sent. */
static void transcript(const u8 *client_key, const u8 *accept, u8 out[HASH_BYTES])
{
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, HASH_BYTES);
    crypto_generichash_update(&state, (const u8 *)label, sizeof label);
    crypto_generichash_update(&state, client_key, SEAL_KEY_BYTES);
    crypto_generichash_update(&state, accept, AT_SIGNATURE); /* nonce, id, key, identity */
    crypto_generichash_final(&state, out, HASH_BYTES);
}

/* The keys of both directions and the binding, from the shared secret and the transcript. */
static int keys_derive(const u8 *own_secret, const u8 *other_key, const u8 hash[HASH_BYTES],
                       bool server, Handshake *out)
{
    u8 shared[SEAL_KEY_BYTES], up[SEAL_KEY_BYTES], down[SEAL_KEY_BYTES];
    if (crypto_scalarmult(shared, own_secret, other_key) != 0) {
        sodium_memzero(shared, sizeof shared);
        return ERROR_CRYPTO;
    }
    struct {
        const char *use;
        u8 *out;
    } parts[] = {{"Up", up}, {"Down", down}, {"Bind", out->binding}};
    for (u32 i = 0; i < PL_COUNT(parts); i++) {
        crypto_generichash_state state;
        crypto_generichash_init(&state, shared, sizeof shared, HASH_BYTES);
        crypto_generichash_update(&state, hash, HASH_BYTES);
        crypto_generichash_update(&state, (const u8 *)parts[i].use, strlen(parts[i].use));
        crypto_generichash_final(&state, parts[i].out, HASH_BYTES);
        sodium_memzero(&state, sizeof state);
    }
    seal_init(&out->seal, server ? down : up, server ? up : down);
    sodium_memzero(shared, sizeof shared);
    sodium_memzero(up, sizeof up);
    sodium_memzero(down, sizeof down);
    return ERROR_OK;
}

/* ---- the client ---- */

void handshake_client_init(HandshakeClient *client, u64 nonce)
{
    client->nonce = nonce;
    seal_key_pair(&client->keys);
}

void handshake_open(const HandshakeClient *client, u64 cookie, u8 out[HANDSHAKE_OPEN_BYTES])
{
    memset(out, 0, HANDSHAKE_OPEN_BYTES);
    memcpy(out, PROBE_MAGIC, AT_KIND);
    out[AT_KIND] = HANDSHAKE_KIND_OPEN;
    memcpy(out + AT_NONCE, &client->nonce, sizeof client->nonce);
    memcpy(out + AT_COOKIE, &cookie, sizeof cookie);
    memcpy(out + AT_KEY, client->keys.public_key, SEAL_KEY_BYTES);
}

int handshake_finish(const HandshakeClient *client, const u8 *data, u32 bytes, Handshake *out)
{
    u8 hash[HASH_BYTES];
    memset(out, 0, sizeof *out);
    if (bytes != HANDSHAKE_ACCEPT_BYTES || !probe_is(data, bytes) ||
        data[AT_KIND] != HANDSHAKE_KIND_ACCEPT ||
        memcmp(data + AT_NONCE, &client->nonce, sizeof client->nonce) != 0) {
        return ERROR_FORMAT;
    }
    transcript(client->keys.public_key, data, hash);
    if (!identity_verify(data + AT_IDENTITY, purpose_server, hash, sizeof hash,
                         data + AT_SIGNATURE)) {
        return ERROR_CRYPTO;
    }
    memcpy(&out->id, data + AT_ID, sizeof out->id);
    memcpy(out->server, data + AT_IDENTITY, sizeof out->server);
    return keys_derive(client->keys.secret_key, data + AT_KEY, hash, false, out);
}

void handshake_client_wipe(HandshakeClient *client)
{
    sodium_memzero(client, sizeof *client);
}

/* ---- the server ---- */

bool handshake_read_open(const u8 *data, u32 bytes, u64 *cookie, u8 client_key[SEAL_KEY_BYTES])
{
    if (bytes != HANDSHAKE_OPEN_BYTES || !probe_is(data, bytes) ||
        data[AT_KIND] != HANDSHAKE_KIND_OPEN) {
        return false;
    }
    memcpy(cookie, data + AT_COOKIE, sizeof *cookie);
    memcpy(client_key, data + AT_KEY, SEAL_KEY_BYTES);
    return true;
}

int handshake_answer(const Identity *identity, u32 id, const u8 *data, u32 bytes, Handshake *out,
                     u8 accept[HANDSHAKE_ACCEPT_BYTES])
{
    u8 hash[HASH_BYTES];
    SealKeyPair keys;
    CHECK(bytes == HANDSHAKE_OPEN_BYTES);
    memset(out, 0, sizeof *out);
    seal_key_pair(&keys);
    memset(accept, 0, HANDSHAKE_ACCEPT_BYTES);
    memcpy(accept, PROBE_MAGIC, AT_KIND);
    accept[AT_KIND] = HANDSHAKE_KIND_ACCEPT;
    memcpy(accept + AT_NONCE, data + AT_NONCE, sizeof(u64));
    memcpy(accept + AT_ID, &id, sizeof id);
    memcpy(accept + AT_KEY, keys.public_key, SEAL_KEY_BYTES);
    memcpy(accept + AT_IDENTITY, identity->public_key, IDENTITY_PUBLIC_BYTES);
    transcript(data + AT_KEY, accept, hash);
    out->id = id;
    memcpy(out->server, identity->public_key, sizeof out->server);
    int result = keys_derive(keys.secret_key, data + AT_KEY, hash, true, out);
    if (result == ERROR_OK) {
        identity_sign(identity, purpose_server, hash, sizeof hash, accept + AT_SIGNATURE);
    }
    sodium_memzero(&keys, sizeof keys);
    return result;
}

void handshake_wipe(Handshake *handshake)
{
    sodium_memzero(handshake, sizeof *handshake);
}
