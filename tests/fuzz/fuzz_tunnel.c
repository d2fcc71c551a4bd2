/*
 * fuzz_tunnel.c: the filter of datagrams: what anybody may send to a server with tunnels, one of
 * which has a client. The input is a list of [kind u8][size u8][bytes]: sealed by the client or
 * not, from its address or from another. Nothing that it did not seal is opened, nothing is opened
 * twice, and the server sends elsewhere only after the right answer from there.
 */
#include "protocol/session/tunnel.h"
#include "shared/base/check.h"
#include "tests/fuzz/target.h"

#include <string.h>

enum {
    CAPACITY = 3,
    PATH_SEALED = TUNNEL_PATH_BYTES + TUNNEL_OVERHEAD_BYTES,
    SEALED_MAX = 256 + TUNNEL_OVERHEAD_BYTES
};

static const ProbeAddress here = {.host = {{[15] = 1}}, .port = 1};
static const ProbeAddress there = {.host = {{[10] = 0xFF, 0xFF, 2}}, .port = 2};

typedef struct Ends {
    TunnelServer server;
    Tunnel *at;    /* the server's end */
    Tunnel client; /* the client's */
    u8 last[SEALED_MAX];
    u32 last_bytes;
    bool asked; /* the client answered a question from there */
} Ends;

static Ends ends;
static Identity identity;

static void prepare(void)
{
    static const u8 secret[IDENTITY_SECRET_BYTES] = {1, 2, 3};
    CHECK(seal_start() == 0);
    identity_from_secret(&identity, secret);
}

/* Keys that are the same in each run. */
static void begin(void)
{
    static const u8 up[SEAL_KEY_BYTES] = {1}, down[SEAL_KEY_BYTES] = {2};
    Handshake handshake = {.id = 5u << 16 | 1};
    memset(&ends, 0, sizeof ends);
    CHECK(tunnel_server_init(&ends.server, &identity, CAPACITY));
    ends.at = &ends.server.tunnels[1];
    seal_init(&handshake.seal, down, up);
    tunnel_begin(ends.at, &handshake, here, 1);
    handshake.id = 5u << 16 | 1;
    seal_init(&handshake.seal, up, down);
    tunnel_begin(&ends.client, &handshake, here, 1);
}

/* The server's part of link_enet.c's intercept. */
static bool receive(ProbeAddress from, const u8 *data, u32 bytes, u64 now_ms)
{
    u8 plain[SEALED_MAX], out[PATH_SEALED];
    Tunnel *tunnel = tunnel_server_find(&ends.server, data, bytes);
    int size = tunnel != NULL ? tunnel_open(tunnel, data, bytes, now_ms, plain) : -1;
    if (size <= 0) {
        return false;
    }
    CHECK(tunnel == ends.at && (u32)size + TUNNEL_OVERHEAD_BYTES == bytes);
    if (tunnel_server_moved(&ends.server, tunnel, from, plain, (u32)size)) {
        CHECK(ends.asked && probe_address_same(from, tunnel->address));
        return true;
    }
    u32 question = tunnel_server_path(tunnel, from, now_ms, out);
    if (question > 0) {
        CHECK(!probe_address_same(from, tunnel->address));
        int asked = tunnel_open(&ends.client, out, question, now_ms, plain);
        CHECK(asked == TUNNEL_PATH_BYTES && tunnel_is_path(plain, (u32)asked));
        ends.last_bytes = tunnel_path_answer(&ends.client, plain, (u32)asked, ends.last);
        CHECK(ends.last_bytes == PATH_SEALED);
        ends.asked = true;
    }
    return true;
}

static void run(const u8 *data, size_t size)
{
    u64 now_ms = 1;
    begin();
    for (size_t at = 0; at + 2 <= size;) {
        u32 kind = data[at], bytes = data[at + 1];
        u8 sealed[SEALED_MAX];
        at += 2;
        bytes = (u32)(bytes < size - at ? bytes : size - at);
        ProbeAddress from = (kind & 1) != 0 ? there : here;
        if ((kind & 2) == 0) { /* a stranger's */
            CHECK(!receive(from, data + at, bytes, now_ms));
        } else if ((kind & 4) != 0 && ends.last_bytes > 0) { /* the client's answer, or a copy */
            bool first = receive(from, ends.last, ends.last_bytes, now_ms);
            CHECK(!receive(from, ends.last, ends.last_bytes, now_ms) || !first);
        } else if (bytes > 0) {
            u32 whole = tunnel_seal(&ends.client, data + at, bytes, sealed);
            if ((kind & 8) != 0) {
                sealed[kind % whole] ^= 1;
            }
            bool opened = receive(from, sealed, whole, now_ms);
            CHECK(opened == ((kind & 8) == 0));
            CHECK(!receive(from, sealed, whole, now_ms) || !opened);
        }
        now_ms += kind >> 4;
        at += bytes;
    }
    CHECK(ends.at->state != TUNNEL_FREE);
    tunnel_end(&ends.client);
    tunnel_server_finish(&ends.server);
}

const FuzzTarget fuzz_target = {
    .prepare = prepare, .run = run, .size_max = 1 << 12, .memory_fixed = 1 << 16};
