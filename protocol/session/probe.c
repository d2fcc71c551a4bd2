/* probe.c: cookies. */
#include "protocol/session/probe.h"

#include <string.h>

enum {
    KIND_PROBE = 1,
    KIND_COOKIE = 2
};

typedef struct ProbeHead {
    u8 magic[4];
    u8 kind;
    u8 zero[3];
    u64 nonce;
    u64 cookie;
} ProbeHead;
PL_STATIC_ASSERT(sizeof(ProbeHead) == PROBE_REPLY_BYTES, "a reply is the head alone");
PL_STATIC_ASSERT(PROBE_REPLY_BYTES < PROBE_BYTES, "a forged probe must not be amplified");

bool probe_is(const void *data, u32 bytes)
{
    return bytes >= 4 && memcmp(data, PROBE_MAGIC, 4) == 0;
}

bool probe_address_same(ProbeAddress a, ProbeAddress b)
{
    return memcmp(&a.host, &b.host, sizeof a.host) == 0 && a.scope == b.scope && a.port == b.port;
}

void probe_server_init(ProbeServer *server, const u8 key[SEAL_HASH_KEY_BYTES])
{
    memset(server, 0, sizeof *server);
    memcpy(server->key, key, SEAL_HASH_KEY_BYTES);
}

static u64 cookie_make(const ProbeServer *server, ProbeAddress from, u64 bucket)
{
    struct {
        NetAddress host;
        u32 scope, port;
        u64 bucket;
    } input;
    memset(&input, 0, sizeof input); /* all of it is hashed */
    input.host = from.host;
    input.scope = from.scope;
    input.port = from.port;
    input.bucket = bucket;
    u64 cookie = seal_hash(server->key, &input, sizeof input);
    return cookie != 0 ? cookie : 1;
}

/* Bucket 0 would make "bucket − 1" wrap; time has an arbitrary origin. */
static u64 bucket_of(u64 now_ms)
{
    return now_ms / PROBE_BUCKET_MS + 1;
}

u32 probe_server_receive(ProbeServer *server, ProbeAddress from, const void *data, u32 bytes,
                         u64 now_ms, u8 reply[PROBE_REPLY_BYTES])
{
    ProbeHead head;
    if (bytes < PROBE_BYTES || !probe_is(data, bytes)) {
        server->stats.malformed++;
        return 0;
    }
    memcpy(&head, data, sizeof head);
    server->stats.probes++;
    server->stats.cookies++;
    memset(head.zero, 0, sizeof head.zero);
    head.kind = KIND_COOKIE;
    head.cookie = cookie_make(server, from, bucket_of(now_ms));
    memcpy(reply, &head, sizeof head);
    return PROBE_REPLY_BYTES;
}

bool probe_server_proven(ProbeServer *server, ProbeAddress from, u64 cookie, u64 now_ms)
{
    u64 bucket = bucket_of(now_ms);
    bool proven = cookie != 0 && (cookie == cookie_make(server, from, bucket) ||
                                  cookie == cookie_make(server, from, bucket - 1));
    server->stats.proven += proven;
    server->stats.refused += !proven;
    return proven;
}

void probe_client_init(ProbeClient *client, u64 nonce)
{
    memset(client, 0, sizeof *client);
    client->nonce = nonce;
    client->retry_ms = PROBE_RETRY_MS_MIN;
}

bool probe_client_due(ProbeClient *client, u64 now_ms)
{
    if (now_ms < client->next_ms) {
        return false;
    }
    client->next_ms = now_ms + client->retry_ms;
    client->retry_ms = u32_min(client->retry_ms * 2, PROBE_RETRY_MS_MAX);
    return true;
}

void probe_client_write(const ProbeClient *client, u8 out[PROBE_BYTES])
{
    ProbeHead head = {.kind = KIND_PROBE, .nonce = client->nonce};
    memcpy(head.magic, PROBE_MAGIC, sizeof head.magic);
    memset(out, 0, PROBE_BYTES);
    memcpy(out, &head, sizeof head);
}

bool probe_client_receive(ProbeClient *client, const void *data, u32 bytes, u64 now_ms)
{
    ProbeHead head;
    if (bytes != PROBE_REPLY_BYTES || !probe_is(data, bytes)) {
        return false;
    }
    memcpy(&head, data, sizeof head);
    if (head.nonce != client->nonce || head.cookie == 0 || head.kind != KIND_COOKIE ||
        head.cookie == client->cookie) {
        return false;
    }
    /* Only the first is followed up at once: forged further ones cause no more requests. */
    if (client->cookie == 0) {
        client->next_ms = now_ms;
        client->retry_ms = PROBE_RETRY_MS_MIN;
    }
    client->cookie = head.cookie;
    return true;
}
