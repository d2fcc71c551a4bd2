/* probe.c: cookies and the small table of proven addresses. */
#include "protocol/session/probe.h"

#include <string.h>

enum {
    KIND_PROBE = 1,
    KIND_COOKIE = 2,
    KIND_ACCEPTED = 3
};

static const u8 magic[4] = {'P', 'L', 'N', 'M'};

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
    return bytes >= sizeof magic && memcmp(data, magic, sizeof magic) == 0;
}

void probe_server_init(ProbeServer *server, const u8 key[SEAL_HASH_KEY_BYTES])
{
    memset(server, 0, sizeof *server);
    memcpy(server->key, key, SEAL_HASH_KEY_BYTES);
}

static u64 cookie_make(const ProbeServer *server, ProbeAddress from, u64 bucket)
{
    struct {
        ProbeAddress address;
        u64 bucket;
    } input;
    memset(&input, 0, sizeof input);
    input.address = from;
    input.bucket = bucket;
    u64 cookie = seal_hash(server->key, &input, sizeof input);
    return cookie != 0 ? cookie : 1;
}

static bool address_same(ProbeAddress a, ProbeAddress b)
{
    return a.host == b.host && a.port == b.port;
}

static ProbeEntry *set_of(ProbeServer *server, ProbeAddress from)
{
    return server->entries[seal_hash(server->key, &from, sizeof from) % PROBE_SETS];
}

static void prove(ProbeServer *server, ProbeAddress from, u64 now_ms)
{
    ProbeEntry *set = set_of(server, from);
    ProbeEntry *victim = &set[0];
    for (u32 i = 0; i < PROBE_WAYS; i++) {
        if (address_same(set[i].address, from) && set[i].until_ms > now_ms) {
            /* Once bound to a connection it stays so until it expires: repeating the proof gives
             * no second slot. */
            if (!set[i].bound) {
                set[i].until_ms = now_ms + PROBE_PROVEN_MS;
            }
            return;
        }
        if (set[i].until_ms < victim->until_ms) {
            victim = &set[i];
        }
    }
    victim->address = from;
    victim->until_ms = now_ms + PROBE_PROVEN_MS;
    victim->bound = false;
    victim->connect_id = 0;
    server->stats.proven++;
}

u32 probe_server_receive(ProbeServer *server, ProbeAddress from, const void *data, u32 bytes,
                         u64 now_ms, u8 reply[PROBE_REPLY_BYTES])
{
    ProbeHead head;
    from.reserved = 0;
    if (bytes < PROBE_BYTES || !probe_is(data, bytes)) {
        server->stats.malformed++;
        return 0;
    }
    memcpy(&head, data, sizeof head);
    if (head.kind != KIND_PROBE) {
        server->stats.malformed++;
        return 0;
    }
    server->stats.probes++;
    /* Bucket 0 would make "bucket − 1" wrap; time has an arbitrary origin. */
    u64 bucket = now_ms / PROBE_BUCKET_MS + 1;
    u64 newest = cookie_make(server, from, bucket);
    bool valid = head.cookie != 0 &&
                 (head.cookie == newest || head.cookie == cookie_make(server, from, bucket - 1));
    memset(head.zero, 0, sizeof head.zero);
    head.kind = valid ? KIND_ACCEPTED : KIND_COOKIE;
    head.cookie = newest;
    if (valid) {
        prove(server, from, now_ms);
    } else {
        server->stats.cookies++;
    }
    memcpy(reply, &head, sizeof head);
    return PROBE_REPLY_BYTES;
}

bool probe_server_admit(ProbeServer *server, ProbeAddress from, u32 connect_id, u64 now_ms)
{
    from.reserved = 0;
    ProbeEntry *set = set_of(server, from);
    for (u32 i = 0; i < PROBE_WAYS; i++) {
        ProbeEntry *entry = &set[i];
        if (entry->until_ms > now_ms && address_same(entry->address, from)) {
            if (!entry->bound) {
                entry->bound = true;
                entry->connect_id = connect_id;
            }
            if (entry->connect_id == connect_id) {
                return true;
            }
            break;
        }
    }
    server->stats.refused++;
    return false;
}

void probe_client_init(ProbeClient *client, u64 nonce)
{
    memset(client, 0, sizeof *client);
    client->nonce = nonce;
    client->retry_ms = PROBE_RETRY_MS_MIN;
}

bool probe_client_send(ProbeClient *client, u64 now_ms, u8 out[PROBE_BYTES])
{
    if (now_ms < client->next_ms) {
        return false;
    }
    ProbeHead head = {.kind = KIND_PROBE, .nonce = client->nonce, .cookie = client->cookie};
    memcpy(head.magic, magic, sizeof magic);
    memset(out, 0, PROBE_BYTES);
    memcpy(out, &head, sizeof head);
    client->next_ms = now_ms + client->retry_ms;
    client->retry_ms = u32_min(client->retry_ms * 2, PROBE_RETRY_MS_MAX);
    return true;
}

bool probe_client_receive(ProbeClient *client, const void *data, u32 bytes, u64 now_ms)
{
    ProbeHead head;
    if (bytes != PROBE_REPLY_BYTES || !probe_is(data, bytes)) {
        return false;
    }
    memcpy(&head, data, sizeof head);
    if (head.nonce != client->nonce || head.cookie == 0) {
        return false;
    }
    if (head.kind == KIND_COOKIE) {
        client->cookie = head.cookie;
        client->next_ms = now_ms;
        return true;
    }
    if (head.kind == KIND_ACCEPTED) {
        client->cookie = head.cookie;
    }
    return false;
}
