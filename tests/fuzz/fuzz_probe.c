/*
 * fuzz_probe.c: hostile datagrams before a tunnel: probes and openings of tunnels to a server,
 * replies to a client. The input is a list of [kind u8][size u8][bytes]; a question is filled up
 * with zeros, a reply is as it is. Only a sender that returned the cookie for its address gets a
 * tunnel (a fuzzer that traces comparisons finds it), and no answer is larger than its request.
 */
#include "protocol/session/tunnel.h"
#include "shared/base/check.h"
#include "tests/fuzz/target.h"

#include <string.h>

enum {
    CAPACITY = 4
};

static TunnelServer server;
static ProbeClient client;
static HandshakeClient opener;
static Identity identity;
static const ProbeAddress strangers[2] = {{.host = {{[15] = 1}}, .port = 1},
                                          {.host = {{[10] = 0xFF, 0xFF, 2}}, .port = 2}};

static void prepare(void)
{
    static const u8 secret[IDENTITY_SECRET_BYTES] = {1, 2, 3};
    CHECK(seal_start() == 0);
    identity_from_secret(&identity, secret);
}

static void probe(u32 kind, const u8 *data, u32 bytes, u64 now_ms)
{
    u8 whole[PROBE_BYTES] = "PLNM", reply[TUNNEL_REPLY_BYTES_MAX];
    whole[4] = (kind & 16) != 0 ? HANDSHAKE_KIND_OPEN : 1;
    memcpy(whole + (kind & 2 ? 0 : 8), data, bytes);
    u32 size = (kind & 4) != 0 ? bytes : PROBE_BYTES;
    ProbeAddress from = strangers[kind & 1];
    u64 proven = server.probe.stats.proven;
    u32 answer = tunnel_server_greet(&server, from, whole, size, now_ms, reply);
    CHECK(answer <= sizeof reply && answer < size + (answer == 0));
    CHECK(answer != HANDSHAKE_ACCEPT_BYTES || server.probe.stats.proven > proven);
    CHECK(probe_is(whole, size) || answer == 0);
}

static void run(const u8 *data, size_t size)
{
    static const u8 key[SEAL_HASH_KEY_BYTES] = {9, 8, 7};
    u8 out[PROBE_BYTES];
    u64 now_ms = 1;
    Handshake handshake;
    CHECK(tunnel_server_init(&server, &identity, CAPACITY));
    probe_server_init(&server.probe, key);
    probe_client_init(&client, 0x1234567890ABCDEFu);
    handshake_client_init(&opener, client.nonce);
    for (size_t at = 0; at + 2 <= size;) {
        u32 kind = data[at], bytes = data[at + 1];
        at += 2;
        bytes = (u32)(bytes < size - at ? bytes : size - at);
        if ((kind & 8) != 0) {
            bool due = probe_client_receive(&client, data + at, bytes, now_ms);
            CHECK(!due || bytes == PROBE_REPLY_BYTES);
            CHECK(handshake_finish(&opener, data + at, bytes, &handshake) != 0); /* a signature! */
        } else {
            probe(kind, data + at, bytes, now_ms);
        }
        if (probe_client_due(&client, now_ms)) {
            probe_client_write(&client, out);
        }
        now_ms += (u64)(kind >> 5) * 1000;
        at += bytes;
        tunnel_server_sweep(&server, now_ms);
    }
    tunnel_server_finish(&server);
}

const FuzzTarget fuzz_target = {
    .prepare = prepare, .run = run, .size_max = 1 << 14, .memory_fixed = 1 << 16};
