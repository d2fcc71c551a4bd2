/*
 * test_spoofed.c: an off-path attacker who knows both addresses and spoofs the source of packets
 * cannot end a session, feed a peer, block joins or use the server for amplification. Uses raw
 * sockets on the loopback of its own network namespace; the test is skipped, with a message, if
 * they are not permitted.
 */
#include "protocol/session/probe.h"
#include "shared/base/clock.h"
#include "shared/math/random.h"
#include "tests/support/rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    LOOPBACK = 0x7F000001,
    DATAGRAM_MAX = 1200,
    HEAD_BYTES = sizeof(struct iphdr) + sizeof(struct udphdr),
    FLOOD = 12000
};

/* The raw socket, or −1: not allowed. */
static int outside = -1;

static bool loopback_up(void)
{
    struct ifreq request = {.ifr_name = "lo"};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    bool up = fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &request) == 0;
    request.ifr_flags |= IFF_UP | IFF_RUNNING;
    up = up && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return up;
}

static int leave_the_network(void **state)
{
    PL_UNUSED(state);
    if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
        print_message("no network namespace: %s\n", strerror(errno));
        return 0;
    }
    if (loopback_up()) {
        outside = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
    }
    if (outside < 0) {
        print_message("no raw socket: %s\n", strerror(errno));
    }
    return 0;
}

static void forge(u32 from, u16 from_port, u16 to_port, const void *data, u32 bytes)
{
    u8 packet[HEAD_BYTES + DATAGRAM_MAX] = {0};
    struct iphdr ip = {.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_UDP};
    struct udphdr udp = {.source = htons(from_port), .dest = htons(to_port)};
    struct sockaddr_in to = {.sin_family = AF_INET};
    ip.saddr = htonl(from);
    ip.daddr = to.sin_addr.s_addr = htonl(LOOPBACK);
    udp.len = htons((u16)(sizeof udp + bytes));
    memcpy(packet, &ip, sizeof ip);
    memcpy(packet + sizeof ip, &udp, sizeof udp);
    memcpy(packet + HEAD_BYTES, data, bytes);
    (void)sendto(outside, packet, HEAD_BYTES + bytes, 0, (struct sockaddr *)&to, sizeof to);
}

/* The only other UDP port in this namespace. */
static u16 port_of_client(u16 server)
{
    static const char *const tables[] = {"/proc/self/net/udp", "/proc/self/net/udp6"};
    char line[256];
    unsigned port, found = 0;
    for (u32 i = 0; i < PL_COUNT(tables); i++) {
        FILE *file = fopen(tables[i], "r");
        while (file != NULL && fgets(line, sizeof line, file) != NULL) {
            if (sscanf(line, " %*d: %*x:%x", &port) == 1 && port != server) {
                found = port;
            }
        }
        if (file != NULL) {
            fclose(file);
        }
    }
    assert_int_not_equal(found, 0);
    return (u16)found;
}

/* Commands that end, slow or feed a peer of ENet that reads what comes; `dressed`: as a datagram of
 * a tunnel, whose id and counter are guessed. Returns the bytes. */
static u32 command_write(u64 dice, bool dressed, u8 *out)
{
    static const u8 commands[] = {0x84, 0x44, 0x8A, 0x8B, 0x86, 0x88, 0x01, 0x82};
    u32 head = dressed ? 12 : 0, peer = (u32)(dice >> 8 & 7), bytes = head + 28;
    memset(out, 0, bytes + 16);
    memcpy(out, &dice, dressed ? 4 : 0);
    out[head] = (u8)(0x80 | (dice >> 16 & 3) << 4);
    out[head + 1] = (u8)peer;
    out[head + 4] = commands[dice % sizeof commands];
    out[head + 5] = (dice & 64) != 0 ? 0xFF : 0;
    out[head + 7] = (u8)(1 + (dice >> 24) % 60);
    out[head + 9] = 18;
    return bytes + (dressed ? 16 : 0);
}

static void finish(Rig *rig, Connection **users, u32 count, HostStats *stats)
{
    for (u32 i = 0; i < count; i++) {
        connection_destroy(users[i]);
    }
    host_stop(rig->host);
    assert_int_equal(rig_wait(rig), 0);
    host_stats(rig->host, stats);
    rig_stop(rig);
}

static void test_commands(void **state)
{
    PL_UNUSED(state);
    Rig rig;
    HostStats host;
    ConnectionStats stats;
    u8 data[128];
    if (outside < 0) {
        skip();
    }
    rig_start(&rig, NULL);
    Connection *client = rig_connect(&rig, "Ada");
    assert_true(rig_until(&client, 1, CONNECTION_LIVE));
    u16 port = port_of_client(rig.port);
    for (u64 i = 0; i < 6000; i++) {
        u64 dice = random_u64(9, i);
        u32 bytes = command_write(dice, (i & 2) != 0, data);
        bool up = (i & 1) != 0;
        forge(LOOPBACK, up ? port : rig.port, up ? rig.port : port, data, bytes);
        if (i % 100 == 0) {
            rig_poll(&client, 1, 0.01);
        }
    }
    rig_poll(&client, 1, 0.5);
    connection_stats(client, &stats);
    assert_int_equal(connection_state(client), CONNECTION_LIVE);
    assert_int_equal(connection_worlds(client), 1);
    assert_int_equal(stats.malformed + stats.desyncs, 0);
    assert_true(stats.snapshots > 20);
    finish(&rig, &client, 1, &host);
    assert_int_equal(host.joined, 1);
    assert_true(host.forged > 1000); /* they did arrive */
    assert_int_equal(host.malformed + host.flooded + host.timed_out, 0);
}

/* Unsolicited replies to a client that is still connecting. */
static void test_answers(void **state)
{
    PL_UNUSED(state);
    Rig rig;
    HostStats host;
    u8 data[HANDSHAKE_ACCEPT_BYTES];
    if (outside < 0) {
        skip();
    }
    rig_start(&rig, NULL);
    Connection *client = rig_connect(&rig, "Ada");
    connection_poll(client, clock_now_ns()); /* its socket has a port from its first question on */
    u16 port = port_of_client(rig.port);
    u64 end = clock_now_ns() + 10000000000ull;
    for (u64 i = 0; connection_state(client) != CONNECTION_LIVE; i++) {
        assert_true(clock_now_ns() < end);
        for (u32 k = 0; k < sizeof data; k++) {
            data[k] = (u8)random_u64(i, k);
        }
        memcpy(data, PROBE_MAGIC, 4);
        data[4] = (u8)(i % 6);
        memset(data + 5, 0, 3);
        forge(LOOPBACK, rig.port, port, data, i & 1 ? sizeof data : PROBE_REPLY_BYTES);
        connection_poll(client, clock_now_ns());
    }
    finish(&rig, &client, 1, &host);
    assert_int_equal(host.joined, 1);
}

/* Probes from thousands of spoofed addresses take no memory and no places, and the replies are
 * smaller. A new client can join meanwhile. */
static void test_half_open(void **state)
{
    PL_UNUSED(state);
    Rig rig;
    HostStats host;
    Connection *users[2];
    HandshakeClient handshake;
    u8 probe[PROBE_BYTES], open[HANDSHAKE_OPEN_BYTES];
    if (outside < 0) {
        skip();
    }
    HostOptions options = {.clients_max = 2, .snapshot_rate = 30, .open_role = -1};
    rig_start(&rig, &options);
    users[0] = rig_connect(&rig, "Ada");
    assert_true(rig_until(users, 1, CONNECTION_LIVE));
    handshake_client_init(&handshake, 5);
    probe_client_write(&(ProbeClient){.nonce = 5}, probe);
    u32 sent = 0;
    u64 end = clock_now_ns() + 20000000000ull;
    users[1] = NULL;
    while (sent < FLOOD || connection_state(users[1]) != CONNECTION_LIVE) {
        u64 dice = random_u64(11, sent++);
        u32 from = 0x7F000000u | (u32)(dice & 0xFFFFFF);
        assert_true(clock_now_ns() < end);
        handshake_open(&handshake, dice, open);
        forge(from, (u16)(1024 + (dice >> 24) % 60000), rig.port, dice >> 60 ? open : probe,
              PROBE_BYTES);
        if (sent == FLOOD / 4) {
            users[1] = rig_connect(&rig, "Eve");
        }
        if (sent % 50 == 0) {
            rig_poll(users, users[1] != NULL ? 2 : 1, 0.004);
        }
    }
    assert_int_equal(connection_state(users[0]), CONNECTION_LIVE);
    handshake_client_wipe(&handshake);
    finish(&rig, users, 2, &host);
    assert_int_equal(host.joined, 2);
    assert_int_equal(host.timed_out + host.refused, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_half_open),
    };
    return cmocka_run_group_tests(tests, leave_the_network, NULL);
}
