/*
 * test_middle.c: a man in the middle who sees every datagram and can drop, repeat, change and forge
 * datagrams from both addresses cannot read, end or inject anything. Also an honest middlebox: a
 * NAT that changes the port.
 */
#include "client/link/connection_internal.h"
#include "shared/base/clock.h"
#include "shared/math/random.h"
#include "tests/support/rig.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    KEPT_MAX = 4096,
    DATAGRAM_MAX = 1500,
    PROBE_MARK = 0x4D4E4C50 /* "PLNM" */
};

typedef struct Datagram {
    bool up;
    u32 bytes;
    u8 data[DATAGRAM_MAX];
} Datagram;

typedef struct Middle {
    int front, back; /* towards the client, towards the server */
    u16 port;        /* of front */
    struct sockaddr_in client, server;
    Datagram *kept; /* [count] all that passed */
    u32 count;
    u32 tunnel; /* id */
} Middle;

static struct sockaddr_in loopback(u16 port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static int socket_open(void)
{
    struct sockaddr_in any = loopback(0);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&any, sizeof any) == 0);
    return fd;
}

static void middle_open(Middle *middle, u16 server_port)
{
    struct sockaddr_in own;
    socklen_t bytes = sizeof own;
    memset(middle, 0, sizeof *middle);
    middle->front = socket_open();
    middle->back = socket_open();
    middle->server = loopback(server_port);
    middle->kept = malloc(KEPT_MAX * sizeof *middle->kept);
    assert_non_null(middle->kept);
    assert_int_equal(getsockname(middle->front, (struct sockaddr *)&own, &bytes), 0);
    middle->port = ntohs(own.sin_port);
}

static void middle_close(Middle *middle)
{
    close(middle->front);
    close(middle->back);
    free(middle->kept);
}

static void inject(const Middle *middle, bool up, const void *data, u32 bytes)
{
    const struct sockaddr_in *to = up ? &middle->server : &middle->client;
    sendto(up ? middle->back : middle->front, data, bytes, 0, (const struct sockaddr *)to,
           sizeof *to);
}

static void keep(Middle *middle, bool up, const u8 *data, u32 bytes)
{
    u32 mark;
    if (middle->count < KEPT_MAX && bytes >= sizeof mark) {
        Datagram *kept = &middle->kept[middle->count++];
        kept->up = up;
        kept->bytes = bytes;
        memcpy(kept->data, data, bytes);
        memcpy(&mark, data, sizeof mark);
        middle->tunnel = mark != PROBE_MARK ? mark : middle->tunnel;
    }
}

static void middle_pump(Middle *middle)
{
    u8 data[DATAGRAM_MAX];
    struct sockaddr_in from;
    socklen_t from_bytes = sizeof from;
    ssize_t bytes;
    while ((bytes = recvfrom(middle->front, data, sizeof data, 0, (struct sockaddr *)&from,
                             &from_bytes)) > 0) {
        middle->client = from;
        keep(middle, true, data, (u32)bytes);
        inject(middle, true, data, (u32)bytes);
    }
    while ((bytes = recv(middle->back, data, sizeof data, 0)) > 0) {
        keep(middle, false, data, (u32)bytes);
        inject(middle, false, data, (u32)bytes);
    }
}

static u64 snapshots_of(Connection *client)
{
    ConnectionStats stats;
    connection_stats(client, &stats);
    return stats.snapshots;
}

/* Until the client has seen `more` ticks, at most 10 s. */
static bool go_on(Middle *middle, Connection *client, u64 more)
{
    u64 end = clock_now_ns() + 10000000000ull, wanted = snapshots_of(client) + more;
    while (snapshots_of(client) < wanted && clock_now_ns() < end) {
        middle_pump(middle);
        connection_poll(client, clock_now_ns());
        clock_sleep_until_ns(clock_now_ns() + 1000000);
    }
    return snapshots_of(client) >= wanted;
}

static Connection *join_through(Middle *middle, const ConnectionOptions *options)
{
    char address[32];
    ErrorText error = {0};
    snprintf(address, sizeof address, "127.0.0.1:%u", middle->port);
    Connection *client =
        connection_create(link_enet_connect(address, NULL, &error), options, &error);
    assert_non_null(client);
    return client;
}

static bool seen(const Middle *middle, const void *secret, u32 bytes)
{
    for (u32 i = 0; i < middle->count; i++) {
        if (memmem(middle->kept[i].data, middle->kept[i].bytes, secret, bytes) != NULL) {
            return true;
        }
    }
    return false;
}

/* ---- eavesdropping ---- */

static void test_sniffed_join(void **state)
{
    PL_UNUSED(state);
    Rig rig;
    Middle middle;
    u8 secret[TOKEN_SECRET_BYTES], token_bytes[TOKEN_SIGNED_BYTES];
    HostOptions options = {.clients_max = 4, .snapshot_rate = 30, .open_role = -1, .tokens = true};
    Token token = {.expiry_unix_s = clock_unix_s() + 60, .role = ROLE_ADMIN};
    ConnectionOptions joining = {.name = "Ada Lovelace", .token_bytes = TOKEN_SIGNED_BYTES};
    token_keygen(options.token_key, secret);
    assert_int_equal(token_sign(&token, secret, token_bytes), 0);
    joining.token = token_bytes;
    rig_start(&rig, &options);
    middle_open(&middle, rig.port);
    Connection *client = join_through(&middle, &joining);
    assert_true(go_on(&middle, client, 5));
    assert_int_equal(connection_role(client), ROLE_ADMIN);
    assert_true(middle.count > 20 && middle.tunnel != 0);
    assert_true(seen(&middle, "PLNM", 4)); /* proves that the search works */
    assert_false(seen(&middle, "Ada Lovelace", 12));
    assert_false(seen(&middle, "PLMS", 4)); /* no message is readable */
    assert_false(seen(&middle, token_bytes, 16));
    assert_false(seen(&middle, token_bytes + TOKEN_SIGNED_BYTES - 16, 16));
    assert_int_not_equal(client->resume, 0);
    assert_false(seen(&middle, &client->resume, sizeof client->resume));
    connection_destroy(client);
    middle_close(&middle);
    rig_stop(&rig);
}

/* ---- injection ---- */

/* Commands that, without the tunnel, would end, slow or feed a peer of ENet. */
static u32 command_write(u32 kind, u32 peer, u32 session, u16 sequence, u8 *out)
{
    static const u8 commands[] = {0x84, 0x44, 0x8A, 0x8B, 0x86, 0x01};
    u32 bytes = 4 + 24;
    memset(out, 0, bytes);
    out[0] = (u8)(0x80 | session << 4 | peer >> 8);
    out[1] = (u8)peer;
    out[4] = commands[kind % sizeof commands];
    out[5] = kind % sizeof commands == 4 ? (u8)(kind / 6 % 2 * 3) : 0xFF;
    out[6] = (u8)(sequence >> 8);
    out[7] = (u8)sequence;
    out[9] = 18; /* of a reliable payload */
    return bytes;
}

static void attack(const Middle *middle, u64 round)
{
    u8 command[64], dressed[128];
    for (u32 kind = 0; kind < 12; kind++) {
        for (u32 who = 0; who < 16; who++) {
            bool up = (who & 1) != 0;
            u16 sequence = (u16)(1 + random_u64(3, round * 192 + kind * 16 + who) % 40);
            u32 bytes = command_write(kind, up ? who / 8 : 0, who / 2 % 4, sequence, command);
            inject(middle, up, command, bytes);
            /* The same, disguised as a datagram of the tunnel. */
            u64 counter = round * 1000 + sequence;
            memcpy(dressed, &middle->tunnel, 4);
            memcpy(dressed + 4, &counter, sizeof counter);
            memcpy(dressed + 12, command, bytes);
            memset(dressed + 12 + bytes, 0, 16);
            inject(middle, up, dressed, 12 + bytes + 16);
        }
    }
    /* Replays everything, intact and damaged, partly in the wrong direction. */
    for (u32 i = middle->count > 60 ? middle->count - 60 : 0; i < middle->count; i++) {
        Datagram copy = middle->kept[i];
        inject(middle, copy.up, copy.data, copy.bytes);
        inject(middle, !copy.up, copy.data, copy.bytes);
        copy.data[random_u64(4, i) % copy.bytes] ^= 4;
        inject(middle, copy.up, copy.data, copy.bytes);
    }
}

static void test_forged_commands(void **state)
{
    PL_UNUSED(state);
    Rig rig;
    Middle middle;
    ConnectionOptions joining = {.name = "Ada"};
    ConnectionStats stats;
    HostStats host;
    rig_start(&rig, NULL);
    middle_open(&middle, rig.port);
    Connection *client = join_through(&middle, &joining);
    for (u64 round = 0; round < 12; round++) {
        assert_true(go_on(&middle, client, 6));
        attack(&middle, round);
    }
    assert_true(go_on(&middle, client, 30));
    connection_stats(client, &stats);
    assert_int_equal(connection_state(client), CONNECTION_LIVE);
    assert_int_equal(connection_worlds(client), 1);
    assert_int_equal(stats.malformed + stats.desyncs, 0);
    assert_true(client->link->ops->forged(client->link) > 500);
    connection_destroy(client);
    middle_close(&middle);
    host_stop(rig.host);
    assert_int_equal(rig_wait(&rig), 0);
    host_stats(rig.host, &host);
    assert_int_equal(host.joined, 1);
    assert_true(host.forged > 500);
    assert_int_equal(host.malformed + host.flooded + host.timed_out, 0);
    rig_stop(&rig);
}

/* ---- forwarding only ---- */

static void test_new_port_of_a_nat(void **state)
{
    PL_UNUSED(state);
    Rig rig;
    Middle middle;
    ConnectionOptions joining = {.name = "Ada"};
    HostStats host;
    rig_start(&rig, NULL);
    middle_open(&middle, rig.port);
    Connection *client = join_through(&middle, &joining);
    assert_true(go_on(&middle, client, 10));
    for (u32 i = 0; i < 5; i++) {
        int former = middle.back;
        middle.back = socket_open(); /* another port, while the old one is still in use */
        close(former);
        u64 begun_ns = clock_now_ns();
        assert_true(go_on(&middle, client, 3));
        print_message("new port: after %.0f ms\n", (f64)(clock_now_ns() - begun_ns) * 1e-6);
    }
    assert_int_equal(connection_worlds(client), 1);
    connection_destroy(client);
    middle_close(&middle);
    host_stop(rig.host);
    assert_int_equal(rig_wait(&rig), 0);
    host_stats(rig.host, &host);
    assert_int_equal(host.joined, 1);
    assert_int_equal(host.timed_out, 0);
    rig_stop(&rig);
}

/* ---- impersonating the server ---- */

static bool is_expected(void *expected, const u8 key[IDENTITY_PUBLIC_BYTES])
{
    return memcmp(expected, key, IDENTITY_PUBLIC_BYTES) == 0;
}

static void test_other_server(void **state)
{
    PL_UNUSED(state);
    Rig rig;
    Identity expected;
    ErrorText error = {0};
    ConnectionOptions joining = {.name = "Ada"};
    rig_start(&rig, NULL);
    identity_create(&expected);
    LinkTrust trust = {is_expected, expected.public_key};
    Connection *client =
        connection_create(link_enet_connect(rig.address, &trust, &error), &joining, &error);
    assert_non_null(client);
    assert_true(rig_until(&client, 1, CONNECTION_CLOSED));
    assert_non_null(strstr(connection_error(client)->text, "not the one that was expected"));
    connection_destroy(client);
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sniffed_join),
        cmocka_unit_test(test_forged_commands),
        cmocka_unit_test(test_new_port_of_a_nat),
        cmocka_unit_test(test_other_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
