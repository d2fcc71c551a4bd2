/* tunnel.c: the seals of datagrams, and the server's table of tunnels. */
#include "protocol/session/tunnel.h"

#include "shared/base/check.h"

#include <stdlib.h>
#include <string.h>

enum {
    ID_BYTES = 4,
    SLOT_BITS = 16, /* of an id: the index in the table; the rest is random */
    MARK_BYTES = 2,
};
PL_STATIC_ASSERT(TUNNEL_PATH_BYTES == MARK_BYTES + sizeof(u64), "layout");

static const u8 mark_question[MARK_BYTES] = {'P', 'Q'};
static const u8 mark_answer[MARK_BYTES] = {'P', 'A'};

/* ---- both ends ---- */

void tunnel_begin(Tunnel *tunnel, Handshake *handshake, ProbeAddress other, u64 now_ms)
{
    memset(tunnel, 0, sizeof *tunnel);
    tunnel->state = TUNNEL_HALF;
    tunnel->id = handshake->id;
    tunnel->address = other;
    tunnel->opened_ms = tunnel->heard_ms = now_ms;
    tunnel->seal = handshake->seal;
    memcpy(tunnel->binding, handshake->binding, sizeof tunnel->binding);
    handshake_wipe(handshake);
}

void tunnel_end(Tunnel *tunnel)
{
    seal_wipe(tunnel, sizeof *tunnel);
}

int tunnel_open(Tunnel *tunnel, const u8 *data, u32 bytes, u64 now_ms, u8 *out)
{
    if (tunnel->state == TUNNEL_FREE || bytes <= TUNNEL_OVERHEAD_BYTES ||
        bytes > TUNNEL_DATAGRAM_MAX || memcmp(data, &tunnel->id, ID_BYTES) != 0) {
        return ERROR_FORMAT;
    }
    int plain = seal_decrypt(&tunnel->seal, data + ID_BYTES, bytes - ID_BYTES, out);
    if (plain < 0) {
        return plain;
    }
    u64 counter;
    memcpy(&counter, data + ID_BYTES, sizeof counter);
    tunnel->newest = counter == tunnel->seal.newest;
    tunnel->state = TUNNEL_LIVE;
    tunnel->heard_ms = now_ms;
    return plain;
}

u32 tunnel_seal(Tunnel *tunnel, const void *plain, u32 bytes, u8 *out)
{
    CHECK(tunnel->state != TUNNEL_FREE);
    memcpy(out, &tunnel->id, ID_BYTES);
    return ID_BYTES + seal_encrypt(&tunnel->seal, plain, bytes, out + ID_BYTES);
}

bool tunnel_is_path(const u8 *plain, u32 bytes)
{
    return bytes == TUNNEL_PATH_BYTES && (memcmp(plain, mark_question, MARK_BYTES) == 0 ||
                                          memcmp(plain, mark_answer, MARK_BYTES) == 0);
}

static u32 path_write(Tunnel *tunnel, const u8 mark[MARK_BYTES], u64 number, u8 *out)
{
    u8 plain[TUNNEL_PATH_BYTES];
    memcpy(plain, mark, MARK_BYTES);
    memcpy(plain + MARK_BYTES, &number, sizeof number);
    return tunnel_seal(tunnel, plain, sizeof plain, out);
}

u32 tunnel_path_answer(Tunnel *tunnel, const u8 *plain, u32 bytes,
                       u8 out[TUNNEL_PATH_BYTES + TUNNEL_OVERHEAD_BYTES])
{
    u64 number;
    if (!tunnel_is_path(plain, bytes) || memcmp(plain, mark_question, MARK_BYTES) != 0) {
        return 0;
    }
    memcpy(&number, plain + MARK_BYTES, sizeof number);
    return path_write(tunnel, mark_answer, number, out);
}

/* ---- the server ---- */

bool tunnel_server_init(TunnelServer *server, const Identity *identity, u32 capacity)
{
    u8 key[SEAL_HASH_KEY_BYTES];
    CHECK(capacity > 0 && capacity <= 1u << SLOT_BITS);
    memset(server, 0, sizeof *server);
    server->tunnels = calloc(capacity, sizeof *server->tunnels);
    server->connect_ids = calloc(capacity, sizeof *server->connect_ids);
    server->capacity = capacity;
    if (server->tunnels == NULL || server->connect_ids == NULL) {
        tunnel_server_finish(server);
        return false;
    }
    seal_random(key, sizeof key);
    probe_server_init(&server->probe, key);
    if (identity != NULL) {
        server->identity = *identity;
    } else {
        identity_create(&server->identity);
    }
    return true;
}

void tunnel_server_finish(TunnelServer *server)
{
    for (u32 i = 0; server->tunnels != NULL && i < server->capacity; i++) {
        tunnel_end(&server->tunnels[i]);
    }
    free(server->tunnels);
    free(server->connect_ids);
    seal_wipe(server, sizeof *server);
}

static void slot_free(TunnelServer *server, u32 slot)
{
    tunnel_end(&server->tunnels[slot]);
    server->connect_ids[slot] = 0;
}

/* True if the rate limits permit one more handshake now, in total and for this host. */
static bool handshake_affordable(TunnelServer *server, ProbeAddress from, u64 now_ms)
{
    if (now_ms / 1000 != server->second) {
        server->second = now_ms / 1000;
        server->in_second = 0;
        memset(server->by_host, 0, sizeof server->by_host);
    }
    NetPrefix prefix = net_host_prefix(from.host);
    u64 hash = seal_hash(server->probe.key, &prefix.address, sizeof prefix.address);
    u8 *of_host = &server->by_host[hash % TUNNEL_HOSTS];
    if (server->in_second >= TUNNEL_HANDSHAKES_S || *of_host >= TUNNEL_HANDSHAKES_HOST_S) {
        return false;
    }
    server->in_second++;
    ++*of_host;
    return true;
}

static u32 site_of(const TunnelServer *server, ProbeAddress address)
{
    NetPrefix site = net_site(address.host);
    return (u32)(seal_hash(server->probe.key, &site.address, sizeof site.address) % TUNNEL_SITES);
}

/* The oldest tunnel of the site with most tunnels of clients that have not joined, which is the
 * newcomer's own site if no other has more; −1: all have joined. */
static i32 slot_displaced(const TunnelServer *server, ProbeAddress from)
{
    u16 counts[TUNNEL_SITES] = {0};
    i32 oldest = -1;
    u32 own = site_of(server, from), most = 0;
    for (u32 i = 0; i < server->capacity; i++) {
        const Tunnel *tunnel = &server->tunnels[i];
        counts[site_of(server, tunnel->address)] += !tunnel->kept;
    }
    for (u32 i = 0; i < TUNNEL_SITES; i++) {
        most = u32_max(most, counts[i]);
    }
    for (u32 i = 0; i < server->capacity; i++) {
        const Tunnel *tunnel = &server->tunnels[i];
        u32 site = site_of(server, tunnel->address);
        bool gives = counts[own] == most ? site == own : counts[site] == most;
        if (!tunnel->kept && gives &&
            (oldest < 0 || tunnel->opened_ms < server->tunnels[oldest].opened_ms)) {
            oldest = (i32)i;
        }
    }
    return oldest;
}

/* The slot for a new tunnel: a free one, or one that is dropped. Those of clients that have joined
 * are kept. −1: none. */
static i32 slot_choose(const TunnelServer *server, ProbeAddress from)
{
    i32 unused = -1;
    for (u32 i = 0; i < server->capacity; i++) {
        const Tunnel *tunnel = &server->tunnels[i];
        if (tunnel->state == TUNNEL_HALF && probe_address_same(tunnel->address, from)) {
            return (i32)i; /* it restarted: one for each address */
        }
        unused = tunnel->state == TUNNEL_FREE ? (i32)i : unused;
    }
    return unused >= 0 ? unused : slot_displaced(server, from);
}

static u32 id_choose(u32 slot)
{
    u32 id, magic;
    memcpy(&magic, PROBE_MAGIC, sizeof magic);
    do {
        seal_random(&id, sizeof id);
        id = id << SLOT_BITS | slot;
    } while (id == magic);
    return id;
}

static u32 open_receive(TunnelServer *server, ProbeAddress from, const u8 *data, u32 bytes,
                        u64 now_ms, u8 *reply)
{
    u64 cookie;
    u8 client_key[SEAL_KEY_BYTES];
    if (!handshake_read_open(data, bytes, &cookie, client_key)) {
        server->probe.stats.malformed++;
        return 0;
    }
    if (!probe_server_proven(&server->probe, from, cookie, now_ms)) {
        /* Perhaps an expired one: send a new one, as for a probe. */
        return probe_server_receive(&server->probe, from, data, bytes, now_ms, reply);
    }
    for (u32 i = 0; i < server->capacity; i++) { /* the answer was lost: the same again */
        const Tunnel *tunnel = &server->tunnels[i];
        if (tunnel->state == TUNNEL_HALF && probe_address_same(tunnel->address, from) &&
            memcmp(tunnel->client_key, client_key, sizeof client_key) == 0) {
            memcpy(reply, tunnel->accept, sizeof tunnel->accept);
            return HANDSHAKE_ACCEPT_BYTES;
        }
    }
    i32 slot = slot_choose(server, from);
    if (slot < 0 || !handshake_affordable(server, from, now_ms)) {
        server->stats.busy++;
        return 0; /* the client asks again */
    }
    Handshake handshake;
    if (handshake_answer(&server->identity, id_choose((u32)slot), data, bytes, &handshake, reply) !=
        ERROR_OK) {
        server->probe.stats.malformed++;
        handshake_wipe(&handshake);
        return 0;
    }
    slot_free(server, (u32)slot);
    Tunnel *tunnel = &server->tunnels[slot];
    tunnel_begin(tunnel, &handshake, from, now_ms);
    memcpy(tunnel->client_key, client_key, sizeof client_key);
    memcpy(tunnel->accept, reply, sizeof tunnel->accept);
    server->stats.opened++;
    return HANDSHAKE_ACCEPT_BYTES;
}

u32 tunnel_server_greet(TunnelServer *server, ProbeAddress from, const u8 *data, u32 bytes,
                        u64 now_ms, u8 reply[TUNNEL_REPLY_BYTES_MAX])
{
    bool opens = bytes > ID_BYTES && data[ID_BYTES] == HANDSHAKE_KIND_OPEN;
    return opens ? open_receive(server, from, data, bytes, now_ms, reply)
                 : probe_server_receive(&server->probe, from, data, bytes, now_ms, reply);
}

Tunnel *tunnel_server_find(TunnelServer *server, const u8 *data, u32 bytes)
{
    u32 id;
    if (bytes <= TUNNEL_OVERHEAD_BYTES) {
        return NULL;
    }
    memcpy(&id, data, sizeof id);
    u32 slot = id & ((1u << SLOT_BITS) - 1);
    if (slot >= server->capacity || server->tunnels[slot].state == TUNNEL_FREE ||
        server->tunnels[slot].id != id) {
        return NULL;
    }
    return &server->tunnels[slot];
}

u32 tunnel_server_path(Tunnel *tunnel, ProbeAddress from, u64 now_ms,
                       u8 out[TUNNEL_PATH_BYTES + TUNNEL_OVERHEAD_BYTES])
{
    if (!tunnel->newest || probe_address_same(from, tunnel->address) ||
        (tunnel->path_address.port != 0 && now_ms < tunnel->path_ms + TUNNEL_PATH_GAP_MS)) {
        return 0;
    }
    if (!probe_address_same(from, tunnel->path_address)) {
        seal_random(&tunnel->path_number, sizeof tunnel->path_number);
        tunnel->path_address = from;
    }
    tunnel->path_ms = now_ms;
    return path_write(tunnel, mark_question, tunnel->path_number, out);
}

bool tunnel_server_moved(TunnelServer *server, Tunnel *tunnel, ProbeAddress from, const u8 *plain,
                         u32 bytes)
{
    if (!tunnel_is_path(plain, bytes) || memcmp(plain, mark_answer, MARK_BYTES) != 0 ||
        tunnel->path_address.port == 0 || !probe_address_same(from, tunnel->path_address) ||
        memcmp(plain + MARK_BYTES, &tunnel->path_number, sizeof tunnel->path_number) != 0) {
        return false;
    }
    tunnel->address = from;
    memset(&tunnel->path_address, 0, sizeof tunnel->path_address);
    server->stats.moved++;
    return true;
}

bool tunnel_server_bind(TunnelServer *server, Tunnel *tunnel, u32 connect_id)
{
    u32 slot = (u32)(tunnel - server->tunnels);
    if (connect_id == 0 || (tunnel->used && server->connect_ids[slot] != connect_id)) {
        return false;
    }
    Tunnel *other = tunnel_server_of(server, connect_id);
    if (other != NULL && other != tunnel) {
        return false;
    }
    tunnel->used = true;
    server->connect_ids[slot] = connect_id;
    return true;
}

Tunnel *tunnel_server_of(TunnelServer *server, u32 connect_id)
{
    if (connect_id == 0) {
        return NULL;
    }
    /* ENet sends to its peers in order, so the next is often near the last. */
    for (u32 i = 0; i < server->capacity; i++) {
        u32 slot = server->found + i < server->capacity ? server->found + i
                                                        : server->found + i - server->capacity;
        if (server->connect_ids[slot] == connect_id) {
            server->found = slot;
            return &server->tunnels[slot];
        }
    }
    return NULL;
}

void tunnel_server_sweep(TunnelServer *server, u64 now_ms)
{
    for (u32 i = 0; i < server->capacity; i++) {
        const Tunnel *tunnel = &server->tunnels[i];
        bool unused = !tunnel->used && now_ms > tunnel->opened_ms + TUNNEL_HALF_MS_MAX;
        bool ended = tunnel->ended_ms != 0 && now_ms > tunnel->ended_ms + TUNNEL_ENDED_MS_MAX;
        if (tunnel->state != TUNNEL_FREE &&
            (unused || ended || now_ms > tunnel->heard_ms + TUNNEL_SILENT_MS_MAX)) {
            slot_free(server, i);
        }
    }
}
