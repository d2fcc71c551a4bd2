/*
 * test_link_thread.c: a link with its own thread, over sockets on loopback, whose owner polls as
 * rarely as a slow computer draws.
 */
#include "client/link/link_thread.h"

#include "shared/base/clock.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MS 1000000ull

typedef struct Ends {
    Link *server, *client;
    u32 peer; /* of the client at the server */
} Ends;

static u64 now_ms(void)
{
    return clock_now_ns() / MS;
}

/* The server's next event of a kind, within 5 s. */
static bool server_awaits(Ends *ends, LinkEventKind want, LinkEvent *event)
{
    for (u64 end = now_ms() + 5000; now_ms() < end;) {
        while (ends->server->ops->poll(ends->server, now_ms(), event)) {
            if (event->kind == want) {
                return true;
            }
        }
        clock_sleep_until_ns(clock_now_ns() + MS);
    }
    return false;
}

static void ends_open(Ends *ends)
{
    char address[32];
    ErrorText error = {0};
    LinkEvent event;
    memset(ends, 0, sizeof *ends);
    ends->server = link_enet_listen("127.0.0.1:0", 4, NULL, &error);
    assert_non_null(ends->server);
    snprintf(address, sizeof address, "127.0.0.1:%u", link_enet_port(ends->server));
    ends->client =
        link_thread_create(link_enet_connect(address, NULL, &error), clock_now_ns, &error);
    assert_non_null(ends->client);
    /* The thread joins by itself: the client is not polled here. */
    assert_true(server_awaits(ends, LINK_CONNECTED, &event));
    ends->peer = event.peer;
    u64 end = now_ms() + 5000;
    while (!ends->client->ops->poll(ends->client, now_ms(), &event)) {
        assert_true(now_ms() < end);
    }
    assert_int_equal(event.kind, LINK_CONNECTED);
}

static void ends_close(Ends *ends)
{
    ends->client->ops->destroy(ends->client);
    ends->server->ops->destroy(ends->server);
}

/* Each packet has its time of arrival, not that of the poll that finds it. */
static void test_arrivals(void **state)
{
    PL_UNUSED(state);
    enum {
        PACKETS = 30,
        GAP_MS = 10,
        POLL_MS = 160
    };
    Ends ends;
    ends_open(&ends);
    u64 sent_ns[PACKETS] = {0}, arrived_ns[PACKETS] = {0}, poll_ns = clock_now_ns() + POLL_MS * MS;
    u32 sent = 0, got = 0;
    for (u64 end = now_ms() + 5000; got < PACKETS && now_ms() < end;) {
        LinkEvent event;
        if (sent < PACKETS) {
            sent_ns[sent] = clock_now_ns();
            u8 number = (u8)sent++;
            assert_int_equal(
                ends.server->ops->send(ends.server, ends.peer, CHANNEL_STATE, &number, 1), 0);
            ends.server->ops->flush(ends.server);
        }
        while (ends.server->ops->poll(ends.server, now_ms(), &event)) {
        }
        clock_sleep_until_ns(clock_now_ns() + GAP_MS * MS);
        if (clock_now_ns() < poll_ns) {
            continue;
        }
        poll_ns = clock_now_ns() + POLL_MS * MS;
        while (got < PACKETS && ends.client->ops->poll(ends.client, now_ms(), &event)) {
            assert_int_equal(event.kind, LINK_RECEIVED);
            assert_int_equal(event.bytes, 1);
            assert_int_equal(event.data[0], got);
            assert_true(event.arrived_ns <= clock_now_ns());
            arrived_ns[got++] = event.arrived_ns;
        }
    }
    assert_int_equal(got, PACKETS);
    u32 prompt = 0;
    for (u32 i = 0; i < PACKETS; i++) {
        assert_true(arrived_ns[i] >= sent_ns[i]);
        prompt += arrived_ns[i] - sent_ns[i] < 8 * MS;
    }
    /* On a busy computer the thread may be late now and then; a poll always is. */
    if (prompt < PACKETS / 2) {
        fail_msg("expected most of %d packets within 8 ms, got %u", PACKETS, prompt);
    }
    ends_close(&ends);
}

static void test_both_ways(void **state)
{
    PL_UNUSED(state);
    Ends ends;
    LinkEvent event;
    LinkStats stats;
    u8 data[3000];
    memset(data, 9, sizeof data);
    ends_open(&ends);
    assert_int_equal(ends.client->ops->send(ends.client, 0, CHANNEL_BULK, data, sizeof data), 0);
    ends.client->ops->flush(ends.client);
    assert_true(server_awaits(&ends, LINK_RECEIVED, &event));
    assert_int_equal(event.bytes, sizeof data);
    assert_memory_equal(event.data, data, sizeof data);
    assert_true(ends.client->ops->stats(ends.client, 0, &stats));
    assert_true(stats.bytes_out > 3000);
    ends.client->ops->disconnect(ends.client, 0, 3);
    ends.client->ops->flush(ends.client);
    assert_true(server_awaits(&ends, LINK_DISCONNECTED, &event));
    assert_int_equal(event.reason, 3);
    ends_close(&ends);
}

/* Its file descriptor can be waited on: readable from an arrival until it is taken. */
static void test_waiting(void **state)
{
    PL_UNUSED(state);
    Ends ends;
    LinkEvent event;
    ends_open(&ends);
    while (ends.client->ops->poll(ends.client, 0, &event)) {
    }
    struct pollfd wait = {.fd = ends.client->ops->fd(ends.client), .events = POLLIN};
    assert_true(wait.fd >= 0);
    assert_int_equal(poll(&wait, 1, 0), 0);
    for (u32 i = 0; i < 3; i++) {
        assert_int_equal(ends.server->ops->send(ends.server, ends.peer, CHANNEL_STATE, &i, 1), 0);
        ends.server->ops->flush(ends.server);
        assert_int_equal(poll(&wait, 1, 5000), 1);
        u32 got = 0;
        while (ends.client->ops->poll(ends.client, 0, &event)) {
            got++;
        }
        assert_int_equal(got, 1);
        assert_int_equal(poll(&wait, 1, 0), 0);
    }
    ends_close(&ends);
}

/* Untaken packets are freed. */
static void test_unread(void **state)
{
    PL_UNUSED(state);
    Ends ends;
    u8 data[1000] = {0};
    ErrorText error = {0};
    ends_open(&ends);
    for (u32 i = 0; i < 20; i++) {
        assert_int_equal(
            ends.server->ops->send(ends.server, ends.peer, CHANNEL_STATE, data, sizeof data), 0);
    }
    ends.server->ops->flush(ends.server);
    clock_sleep_until_ns(clock_now_ns() + 50 * MS);
    ends_close(&ends);
    assert_null(link_thread_create(NULL, clock_now_ns, &error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrivals),
        cmocka_unit_test(test_both_ways),
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_unread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
