/* test_link_memory.c: reliable channels are complete and in order through any network, the others
 * are not; several clients; polite ends and time-outs. */
#include "tests/support/link_memory.h"
#include "tests/unit/protocol/random_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
    CLIENTS = 3,
    MESSAGES = 60
};

static u32 message_size(u32 client, u32 channel, u32 i)
{
    u64 r = random_u64(client * 4 + channel, i);
    return i % 20 == 0 ? (u32)(r % 40000) : (u32)(r % 3000);
}

static void message_fill(u8 *data, u32 bytes, u32 client, u32 channel, u32 i)
{
    for (u32 b = 0; b < bytes; b++) {
        data[b] = (u8)(client * 31 + channel * 7 + i + b * 3);
    }
}

static void send_message(Link *link, u32 peer, u32 channel, u32 client, u32 i)
{
    static u8 data[40000];
    u32 bytes = message_size(client, channel, i);
    message_fill(data, bytes, client, channel, i);
    assert_int_equal(link->ops->send(link, peer, channel, data, bytes), 0);
}

static void expect_message(const LinkEvent *event, u32 client, u32 *next)
{
    static u8 data[40000];
    u32 i = next[event->channel]++;
    u32 bytes = message_size(client, event->channel, i);
    assert_int_equal(event->bytes, bytes);
    message_fill(data, bytes, client, event->channel, i);
    assert_memory_equal(event->data, data, bytes);
}

static void test_reliable_through_bad_networks(void **context)
{
    PL_UNUSED(context);
    for (u32 round = 0; round < 6; round++) {
        Link *server = link_memory_listen(CLIENTS);
        Link *clients[CLIENTS];
        u32 peer_of[CLIENTS], got_up[CLIENTS][CHANNEL_COUNT] = {0},
                              got_down[CLIENTS][CHANNEL_COUNT] = {0}, fallback = 0, connected = 0;
        for (u32 c = 0; c < CLIENTS; c++) {
            NetsimOptions net = {.seed = round * 10 + c,
                                 .loss = 0.06 * round,
                                 .jitter_ms = 30.0 * round,
                                 .delay_ms = 20,
                                 .duplicate = 0.03 * round};
            clients[c] = link_memory_connect(server, &net, &net);
            peer_of[c] = UINT32_MAX;
        }
        u32 sent = 0;
        for (u64 now = 1; now < 200000; now += 10) {
            LinkEvent event;
            while (server->ops->poll(server, now, &event)) {
                if (event.kind == LINK_CONNECTED) {
                    connected++;
                } else {
                    assert_int_equal(event.kind, LINK_RECEIVED);
                    if (event.channel == CHANNEL_INPUT) {
                        /* The first word names the client. */
                        u32 client;
                        memcpy(&client, event.data, sizeof client);
                        peer_of[client] = event.peer;
                        fallback++;
                        continue;
                    }
                    for (u32 c = 0; c < CLIENTS; c++) {
                        if (peer_of[c] == event.peer) {
                            expect_message(&event, c, got_up[c]);
                        }
                    }
                }
            }
            bool known = true, done = sent == MESSAGES;
            for (u32 c = 0; c < CLIENTS; c++) {
                while (clients[c]->ops->poll(clients[c], now, &event)) {
                    if (event.kind == LINK_RECEIVED) {
                        expect_message(&event, c, got_down[c]);
                    }
                }
                if (connected == CLIENTS && peer_of[c] == UINT32_MAX) {
                    clients[c]->ops->send(clients[c], 0, CHANNEL_INPUT, &c, sizeof c);
                }
                known = known && peer_of[c] != UINT32_MAX;
                done = done && got_up[c][0] + got_up[c][3] + got_down[c][0] + got_down[c][3] ==
                                   4 * MESSAGES;
            }
            if (known && sent < MESSAGES) {
                for (u32 c = 0; c < CLIENTS; c++) {
                    send_message(clients[c], 0, CHANNEL_CONTROL, c, sent);
                    send_message(clients[c], 0, CHANNEL_BULK, c, sent);
                    send_message(server, peer_of[c], CHANNEL_CONTROL, c, sent);
                    send_message(server, peer_of[c], CHANNEL_BULK, c, sent);
                }
                sent++;
            }
            if (done) {
                break;
            }
        }
        for (u32 c = 0; c < CLIENTS; c++) {
            assert_int_equal(got_up[c][0], MESSAGES);
            assert_int_equal(got_up[c][3], MESSAGES);
            assert_int_equal(got_down[c][0], MESSAGES);
            assert_int_equal(got_down[c][3], MESSAGES);
            clients[c]->ops->destroy(clients[c]);
        }
        assert_true(fallback >= CLIENTS);
        server->ops->destroy(server);
    }
}

/* Polls both until one of them sees a disconnection; returns who (0 client, 1 server). */
static u32 until_disconnected(Link *client, Link *server, u64 *now, u32 *reason, u32 *received)
{
    for (u64 end = *now + 20000; *now < end; *now += 10) {
        Link *links[2] = {client, server};
        for (u32 i = 0; i < 2; i++) {
            LinkEvent event;
            while (links[i] != NULL && links[i]->ops->poll(links[i], *now, &event)) {
                *received += event.kind == LINK_RECEIVED;
                if (event.kind == LINK_DISCONNECTED) {
                    *reason = event.reason;
                    return i;
                }
            }
        }
    }
    fail();
    return 0;
}

static void connect_pair(Link *client, Link *server, u64 *now)
{
    bool connected[2] = {false, false};
    Link *links[2] = {client, server};
    for (u64 end = *now + 5000; *now < end && !(connected[0] && connected[1]); *now += 10) {
        for (u32 i = 0; i < 2; i++) {
            LinkEvent event;
            while (links[i]->ops->poll(links[i], *now, &event)) {
                connected[i] = connected[i] || event.kind == LINK_CONNECTED;
            }
        }
    }
    assert_true(connected[0] && connected[1]);
}

static void test_ends(void **context)
{
    PL_UNUSED(context);
    u64 now = 1;
    u32 reason = 0, received = 0;
    NetsimOptions net = {.seed = 5, .delay_ms = 40, .loss = 0.2}, dead = {.loss = 1.0};
    Link *server = link_memory_listen(1);
    Link *client = link_memory_connect(server, &net, &net);
    connect_pair(client, server, &now);
    /* What was sent before a polite end still arrives. */
    for (u32 i = 0; i < 20; i++) {
        server->ops->send(server, 0, CHANNEL_CONTROL, &i, sizeof i);
    }
    server->ops->disconnect(server, 0, 7);
    assert_true(server->ops->send(server, 0, CHANNEL_CONTROL, &now, 4) < 0);
    assert_int_equal(until_disconnected(client, server, &now, &reason, &received), 0);
    assert_int_equal(reason, 7);
    assert_int_equal(received, 20);
    assert_int_equal(until_disconnected(NULL, server, &now, &reason, &received), 1);
    client->ops->destroy(client);
    /* The slot is free again; a cut cable is a time-out on both sides. */
    client = link_memory_connect(server, &net, &net);
    connect_pair(client, server, &now);
    link_memory_set(client, &dead, &dead);
    until_disconnected(client, server, &now, &reason, &received);
    assert_int_equal(reason, 0);
    client->ops->destroy(client);
    server->ops->destroy(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reliable_through_bad_networks),
        cmocka_unit_test(test_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
