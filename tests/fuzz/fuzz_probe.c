/*
 * fuzz_probe.c: what strangers may send before anything else: probes to a server, replies to a
 * client. The input is a list of [kind u8][size u8][bytes]; a probe is filled up with zeros, a
 * reply is as it is. Only who sent back the cookie for his address gets in (a fuzzer that sees what
 * is compared finds it).
 */
#include "protocol/session/probe.h"
#include "shared/base/check.h"
#include "tests/fuzz/target.h"

#include <string.h>

static ProbeServer server;
static ProbeClient client;
static bool proven[2]; /* by stranger */
static const ProbeAddress strangers[2] = {{.host = 0x0100007F, .port = 1}, {.host = 2, .port = 2}};

static void probe(u32 kind, const u8 *data, u32 bytes, u64 now_ms)
{
    u8 whole[PROBE_BYTES] = "PLNM\1", reply[PROBE_REPLY_BYTES];
    memcpy(whole + (kind & 2 ? 0 : 8), data, bytes);
    u32 size = (kind & 4) != 0 ? bytes : PROBE_BYTES;
    ProbeAddress from = strangers[kind & 1];
    u32 answer = probe_server_receive(&server, from, whole, size, now_ms, reply);
    CHECK(answer <= sizeof reply && answer < size + (answer == 0));
    (void)probe_is(whole, size);
    proven[kind & 1] |= answer > 0 && reply[4] == 3;
    CHECK(!probe_server_admit(&server, from, kind, now_ms) || proven[kind & 1]);
}

static void run(const u8 *data, size_t size)
{
    static const u8 key[SEAL_HASH_KEY_BYTES] = {9, 8, 7};
    u8 out[PROBE_BYTES];
    u64 now_ms = 1;
    proven[0] = proven[1] = false;
    probe_server_init(&server, key);
    probe_client_init(&client, 0x1234567890ABCDEFu);
    for (size_t at = 0; at + 2 <= size;) {
        u32 kind = data[at], bytes = data[at + 1];
        at += 2;
        bytes = (u32)(bytes < size - at ? bytes : size - at);
        if ((kind & 8) != 0) {
            bool due = probe_client_receive(&client, data + at, bytes, now_ms);
            CHECK(!due || bytes == PROBE_REPLY_BYTES);
        } else {
            probe(kind, data + at, bytes, now_ms);
        }
        (void)probe_client_send(&client, now_ms, out);
        now_ms += (u64)(kind >> 4) * 1000;
        at += bytes;
    }
}

const FuzzTarget fuzz_target = {.run = run, .size_max = 1 << 14};
