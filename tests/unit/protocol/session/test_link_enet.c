/* test_link_enet.c: real sockets on loopback: joining, all channels, leaving, a full server,
 * unproven addresses, IPv6. */
#include "protocol/session/link.h"
#include "shared/base/clock.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct Ends {
    Link *server, *client;
    u32 peer; /* of the client at the server */
    u16 port;
} Ends;

static u64 now_ms(void)
{
    return clock_now_ns() / 1000000;
}

/* Polls both until `want` comes from `from`, at most 5 s. Drops other events. */
static bool await(Ends *ends, Link *from, LinkEventKind want, LinkEvent *out)
{
    u64 end = now_ms() + 5000;
    while (now_ms() < end) {
        Link *links[2] = {ends->server, ends->client};
        for (u32 i = 0; i < 2; i++) {
            LinkEvent event;
            while (links[i] != NULL && links[i]->ops->poll(links[i], now_ms(), &event)) {
                if (links[i] == ends->server && event.kind == LINK_CONNECTED) {
                    ends->peer = event.peer;
                }
                if (links[i] == from && event.kind == want) {
                    *out = event;
                    return true;
                }
            }
        }
        clock_sleep_until_ns(clock_now_ns() + 1000000);
    }
    return false;
}

static Link *connect_host(const char *host, u16 port)
{
    char address[64];
    ErrorText error = {0};
    snprintf(address, sizeof address, "%s:%u", host, port);
    Link *link = link_enet_connect(address, NULL, &error);
    assert_non_null(link);
    return link;
}

static Link *connect_to(u16 port)
{
    return connect_host("127.0.0.1", port);
}

static void ends_open(Ends *ends, u32 peers_max)
{
    ErrorText error = {0};
    LinkEvent event;
    memset(ends, 0, sizeof *ends);
    ends->server = link_enet_listen("127.0.0.1:0", peers_max, NULL, &error);
    assert_non_null(ends->server);
    ends->port = link_enet_port(ends->server);
    assert_int_not_equal(ends->port, 0);
    ends->client = connect_to(ends->port);
    assert_true(await(ends, ends->client, LINK_CONNECTED, &event));
    assert_int_equal(event.peer, 0);
    /* Until a packet comes through, the server may not see the connection as complete. */
    assert_int_equal(ends->client->ops->send(ends->client, 0, 0, "hello", 5), 0);
    assert_true(await(ends, ends->server, LINK_RECEIVED, &event));
}

static void ends_close(Ends *ends)
{
    ends->client->ops->destroy(ends->client);
    ends->server->ops->destroy(ends->server);
}

static void test_channels(void **state)
{
    PL_UNUSED(state);
    Ends ends;
    LinkEvent event;
    u8 data[4000];
    memset(data, 7, sizeof data);
    ends_open(&ends, 4);
    for (u32 channel = 0; channel < CHANNEL_COUNT; channel++) {
        bool reliable = channel == CHANNEL_CONTROL || channel == CHANNEL_BULK;
        u32 bytes = reliable ? (u32)sizeof data : STATE_PAYLOAD_BYTES_MAX;
        assert_int_equal(ends.client->ops->send(ends.client, 0, channel, data, bytes), 0);
        assert_true(await(&ends, ends.server, LINK_RECEIVED, &event));
        assert_int_equal(event.channel, channel);
        assert_int_equal(event.bytes, bytes);
        assert_memory_equal(event.data, data, bytes);
        assert_int_equal(ends.server->ops->send(ends.server, ends.peer, channel, data, bytes), 0);
        assert_true(await(&ends, ends.client, LINK_RECEIVED, &event));
        assert_int_equal(event.channel, channel);
        assert_int_equal(event.bytes, bytes);
    }
    assert_int_equal(
        ends.client->ops->send(ends.client, 0, CHANNEL_INPUT, data, STATE_PAYLOAD_BYTES_MAX + 1),
        ERROR_LIMIT);
    assert_int_equal(ends.client->ops->send(ends.client, 1, CHANNEL_INPUT, data, 10), ERROR_STATE);
    LinkStats stats;
    assert_true(ends.server->ops->stats(ends.server, ends.peer, &stats));
    assert_true(stats.bytes_in > 10000 && stats.packets_in >= 8);
    assert_true(ends.server->ops->fd(ends.server) >= 0);
    ends_close(&ends);
}

static void test_leave(void **state)
{
    PL_UNUSED(state);
    Ends ends;
    LinkEvent event;
    ends_open(&ends, 4);
    ends.client->ops->disconnect(ends.client, 0, 9);
    assert_true(await(&ends, ends.server, LINK_DISCONNECTED, &event));
    assert_int_equal(event.reason, 9);
    assert_int_equal(event.peer, ends.peer);
    assert_int_equal(ends.server->ops->send(ends.server, ends.peer, 0, "x", 1), ERROR_STATE);
    ends_close(&ends);
    /* Data sent before the disconnection still arrives. */
    ends_open(&ends, 4);
    assert_int_equal(ends.server->ops->send(ends.server, ends.peer, 0, "bye", 3), 0);
    ends.server->ops->disconnect(ends.server, ends.peer, 6);
    assert_true(await(&ends, ends.client, LINK_RECEIVED, &event));
    assert_true(await(&ends, ends.client, LINK_DISCONNECTED, &event));
    assert_int_equal(event.reason, 6);
    ends_close(&ends);
}

static void test_errors(void **state)
{
    PL_UNUSED(state);
    ErrorText error = {0};
    assert_null(link_enet_listen("nonsense:1", 4, NULL, &error));
    assert_int_equal(error.code, ERROR_USAGE);
    assert_null(link_enet_listen("127.0.0.1:99999", 4, NULL, &error));
    assert_int_equal(error.code, ERROR_USAGE);
    assert_null(link_enet_connect(":7", NULL, &error));
    static const char *const wrong[] = {"[::1:7", "[::1]7", "[]:7", "[::1]:x", "::1:99999:"};
    for (u32 i = 0; i < PL_COUNT(wrong); i++) {
        assert_null(link_enet_connect(wrong[i], NULL, &error));
        assert_null(link_enet_listen(wrong[i], 4, NULL, &error));
    }
    assert_null(link_enet_listen("fd:0", 4, NULL, &error));
    assert_int_equal(error.code, ERROR_USAGE);
    Link *first = link_enet_listen("127.0.0.1:0", 4, NULL, &error);
    char address[32];
    snprintf(address, sizeof address, "127.0.0.1:%u", link_enet_port(first));
    assert_null(link_enet_listen(address, 4, NULL, &error));
    assert_int_equal(error.code, ERROR_NETWORK);
    assert_non_null(strstr(error.text, "in use"));
    first->ops->destroy(first);
}

/* An ENet CONNECT from an address that has not proved itself draws no byte; nor does garbage. */
static void test_unproven_address(void **state)
{
    PL_UNUSED(state);
    Ends ends;
    LinkEvent event;
    u8 answer[64];
    ends_open(&ends, 4);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(ends.port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    u8 connect_datagram[52] = {0x8F, 0xFF, 0, 0, 0x82, 0xFF, 0, 1, 0, 0, 0xFF, 0xFF,
                               0,    0,    5, 0, 0,    0,    0, 0, 0, 0, 0,    4};
    u8 huge[6000] = {0};
    for (u32 i = 0; i < 300; i++) {
        sendto(fd, connect_datagram, sizeof connect_datagram, 0, (struct sockaddr *)&to, sizeof to);
        sendto(fd, huge, i % 50 == 0 ? sizeof huge : i, 0, (struct sockaddr *)&to, sizeof to);
    }
    assert_int_equal(ends.client->ops->send(ends.client, 0, 0, "still here", 10), 0);
    assert_true(await(&ends, ends.server, LINK_RECEIVED, &event));
    assert_int_equal(event.bytes, 10);
    assert_true(recv(fd, answer, sizeof answer, MSG_DONTWAIT) < 0);
    close(fd);
    ends_close(&ends);
}

/* Joins `host` and talks; returns where the server sees the client. */
static void talk(Link *server, const char *host, char address[64])
{
    Ends ends = {.server = server, .port = link_enet_port(server)};
    LinkEvent event;
    LinkStats stats;
    u8 data[3000] = {7};
    ends.client = connect_host(host, ends.port);
    assert_true(await(&ends, ends.client, LINK_CONNECTED, &event));
    assert_int_equal(ends.client->ops->send(ends.client, 0, CHANNEL_CONTROL, data, sizeof data), 0);
    assert_true(await(&ends, server, LINK_RECEIVED, &event));
    assert_int_equal(event.bytes, sizeof data);
    assert_int_equal(server->ops->send(server, ends.peer, CHANNEL_STATE, data, 1000), 0);
    assert_true(await(&ends, ends.client, LINK_RECEIVED, &event));
    assert_int_equal(event.bytes, 1000);
    assert_true(server->ops->stats(server, ends.peer, &stats));
    snprintf(address, 64, "%s", stats.address);
    ends.client->ops->disconnect(ends.client, 0, 9);
    assert_true(await(&ends, server, LINK_DISCONNECTED, &event));
    ends.client->ops->destroy(ends.client);
}

/* One socket for all addresses of this machine: it answers from the one that was asked, or the
 * client would take the answer for a stranger's. */
static void test_all_addresses(void **state)
{
    PL_UNUSED(state);
    ErrorText error = {0};
    char seen[64];
    Link *server = link_enet_listen("*:0", 4, NULL, &error);
    assert_non_null(server);
    talk(server, "127.0.0.1", seen);
    assert_memory_equal(seen, "127.0.0.1:", 10);
    talk(server, "127.0.0.7", seen);
    assert_memory_equal(seen, "127.0.0.", 8);
    talk(server, "localhost", seen);
    server->ops->destroy(server);
    server = link_enet_listen("0.0.0.0:0", 4, NULL, &error);
    assert_non_null(server);
    talk(server, "127.0.0.7", seen);
    /* Of the addresses of a name, those without a server are passed over. */
    talk(server, "localhost", seen);
    assert_memory_equal(seen, "127.0.0.1:", 10);
    server->ops->destroy(server);
}

static void test_v6(void **state)
{
    PL_UNUSED(state);
    ErrorText error = {0};
    char seen[64];
    Link *server = link_enet_listen("[::1]:0", 4, NULL, &error);
    if (server == NULL) {
        print_message("no IPv6 here: %s\n", error.text);
        skip();
    }
    talk(server, "[::1]", seen);
    assert_memory_equal(seen, "[::1]:", 6);
    server->ops->destroy(server);
    server = link_enet_listen("[::]:0", 4, NULL, &error);
    assert_non_null(server);
    talk(server, "[::1]", seen);
    assert_memory_equal(seen, "[::1]:", 6);
    talk(server, "127.0.0.1", seen);
    assert_memory_equal(seen, "127.0.0.1:", 10);
    server->ops->destroy(server);
}

/* No server: the client reports it once, within bounded time. */
static void test_no_server(void **state)
{
    PL_UNUSED(state);
    Link *client = connect_to(9);
    LinkEvent event;
    u32 ended = 0;
    for (u64 ms = 1; ms < 30000; ms += 10) {
        while (client->ops->poll(client, ms, &event)) {
            assert_int_equal(event.kind, LINK_DISCONNECTED);
            ended++;
        }
    }
    assert_int_equal(ended, 1);
    client->ops->destroy(client);
}

/* A stalled server drops a peer that seemed silent while its client is already connected: the
 * client restarts, until the server has sent something. */
static void test_forgotten(void **state)
{
    PL_UNUSED(state);
    ErrorText error = {0};
    LinkEvent event;
    Ends ends = {.server = link_enet_listen("127.0.0.1:0", 4, NULL, &error)};
    assert_non_null(ends.server);
    ends.client = connect_to(link_enet_port(ends.server));
    u64 begin = now_ms(), forward = 0; /* of what the two are told */
    u32 connected = 0, served = 0;
    bool told = false;
    while (!told && now_ms() < begin + 5000) {
        while (ends.client->ops->poll(ends.client, now_ms() + forward, &event)) {
            assert_int_not_equal(event.kind, LINK_DISCONNECTED);
            told = told || event.kind == LINK_RECEIVED;
            if (event.kind == LINK_CONNECTED && ++connected == 1) {
                forward = 6000; /* before the server hears of it */
            }
        }
        while (ends.server->ops->poll(ends.server, now_ms() + forward, &event)) {
            if (event.kind == LINK_CONNECTED) {
                served++;
                assert_int_equal(ends.server->ops->send(ends.server, event.peer, 0, "hello", 5), 0);
            }
        }
        clock_sleep_until_ns(clock_now_ns() + 1000000);
    }
    assert_true(told);
    assert_int_equal(connected, 2);
    assert_int_equal(served, 1);
    /* From then on the user of the link handles silence. */
    for (u32 i = 0; i < 100; i++) {
        assert_false(ends.client->ops->poll(ends.client, now_ms() + forward + 6000, &event));
        clock_sleep_until_ns(clock_now_ns() + 1000000);
    }
    ends_close(&ends);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_channels),      cmocka_unit_test(test_leave),
        cmocka_unit_test(test_errors),        cmocka_unit_test(test_unproven_address),
        cmocka_unit_test(test_all_addresses), cmocka_unit_test(test_v6),
        cmocka_unit_test(test_no_server),     cmocka_unit_test(test_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
