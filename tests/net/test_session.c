/* test_session.c: sessions over real loopback sockets: joining, limits, refusals, leaving,
 * resuming. */
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/base/version.h"
#include "tests/support/rig.h"
#include "tests/support/udp_proxy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_join(void **state)
{
    PL_UNUSED(state);
    Rig rig;
    Connection *clients[3];
    u32 count;
    rig_start(&rig, NULL);
    for (u32 i = 0; i < 3; i++) {
        clients[i] = rig_connect(&rig, "Ada");
    }
    assert_true(rig_until(clients, 3, CONNECTION_LIVE));
    rig_poll(clients, 3, 1.0);
    for (u32 i = 0; i < 3; i++) {
        ConnectionStats stats;
        connection_stats(clients[i], &stats);
        assert_true(stats.snapshots >= 15);
        assert_int_equal(stats.desyncs, 0);
        assert_int_equal(stats.malformed, 0);
        connection_entities(clients[i], &count, NULL);
        assert_int_equal(count, FAKE_SPHERES);
        assert_int_equal(connection_role(clients[i]), ROLE_OPERATOR); /* loopback client */
        assert_int_equal(connection_tick_rate(clients[i]), 60);
    }
    const UserInfo *users = connection_users(clients[0], &count);
    assert_int_equal(count, 3);
    for (u32 i = 0; i < count; i++) {
        for (u32 k = 0; k < i; k++) {
            assert_string_not_equal(users[i].name, users[k].name);
            assert_int_not_equal(users[i].id, users[k].id);
        }
    }
    /* The remaining clients see that one left. */
    connection_destroy(clients[2]);
    rig_poll(clients, 2, 0.5);
    connection_users(clients[0], &count);
    assert_int_equal(count, 2);
    /* Clients are notified when the server ends, and the host exits with 0. */
    host_stop(rig.host);
    assert_true(rig_until(clients, 2, CONNECTION_CLOSED));
    assert_int_equal(rig_wait(&rig), 0);
    connection_destroy(clients[0]);
    connection_destroy(clients[1]);
    rig_stop(&rig);
}

static void test_full_and_late(void **state)
{
    PL_UNUSED(state);
    Rig rig;
    HostOptions options = {.clients_max = 1, .snapshot_rate = 30, .open_role = ROLE_VIEWER};
    rig_start(&rig, &options);
    Connection *first = rig_connect(&rig, "first"), *second = rig_connect(&rig, "second");
    assert_true(rig_until(&first, 1, CONNECTION_LIVE));
    assert_int_equal(connection_role(first), ROLE_VIEWER);
    assert_true(rig_until(&second, 1, CONNECTION_CLOSED));
    assert_non_null(strstr(connection_error(second)->text, "1 of 1"));
    connection_destroy(second);
    connection_destroy(first);
    second = rig_connect(&rig, "second");
    assert_true(rig_until(&second, 1, CONNECTION_LIVE));
    connection_destroy(second);
    rig_stop(&rig);
}

/* The code of the client's first refused input; 0: none. */
static i32 refusal(Connection *client)
{
    ConnectionNews news;
    i32 code = 0;
    while (connection_news(client, &news)) {
        code = code == 0 && news.event.kind == EVENT_REFUSED ? news.event.code : code;
    }
    return code;
}

/* At the memory limit present users stay, but nobody joins and nothing is spawned. */
static void test_memory(void **state)
{
    enum {
        CAPACITY = 24 << 20
    };
    PL_UNUSED(state);
    Rig rig;
    HostOptions options = {.clients_max = 4, .snapshot_rate = 30, .open_role = ROLE_OPERATOR};
    options.memory_max_bytes = memory_resident_bytes() + CAPACITY;
    rig_start(&rig, &options);
    Connection *first = rig_connect(&rig, "first");
    assert_true(rig_until(&first, 1, CONNECTION_LIVE));
    u8 *more = malloc(2 * CAPACITY);
    assert_non_null(more);
    memset(more, 1, 2 * CAPACITY);
    rig_poll(&first, 1, 1.2);
    Input spawn = {.kind = INPUT_SPAWN, .rotation = quat_identity()};
    spawn.ray.direction = vec3(0.0f, 0.0f, 1.0f);
    assert_true(connection_input(first, &spawn) > 0);
    rig_poll(&first, 1, 0.3);
    assert_int_equal(refusal(first), ERROR_MEMORY);
    Connection *second = rig_connect(&rig, "second");
    assert_true(rig_until(&second, 1, CONNECTION_CLOSED));
    assert_non_null(strstr(connection_error(second)->text, "reached its memory limit"));
    connection_destroy(second);
    assert_int_equal(connection_state(first), CONNECTION_LIVE);
    assert_int_equal(more[CAPACITY], 1);
    free(more);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) /* they keep freed memory */
    rig_poll(&first, 1, 1.2);
    second = rig_connect(&rig, "second");
    assert_true(rig_until(&second, 1, CONNECTION_LIVE));
    connection_destroy(second);
#endif
    connection_destroy(first);
    rig_stop(&rig);
}

/* Sends a HELLO by hand and returns the first reply, or the one after the WELCOME. */
static Message hello(Rig *rig, const MessageHello *hello_message, bool after)
{
    ErrorText error = {0};
    Link *link = link_enet_connect(rig->address, NULL, &error);
    Message out = {.kind = MESSAGE_HELLO}, in = {0};
    u64 end = clock_now_ns() + 10000000000ull;
    out.hello = *hello_message;
    while (in.kind == MESSAGE_NONE && clock_now_ns() < end) {
        LinkEvent event;
        while (in.kind == MESSAGE_NONE && link->ops->poll(link, clock_now_ns() / 1000000, &event)) {
            if (event.kind == LINK_CONNECTED) {
                u32 bytes;
                u8 *data = message_encode(&out, &bytes);
                assert_non_null(data);
                link->ops->send(link, 0, CHANNEL_CONTROL, data, bytes);
                message_free(data);
            } else if (event.kind == LINK_RECEIVED && event.channel == CHANNEL_CONTROL) {
                u8 *storage = NULL;
                assert_int_equal(message_decode(event.data, event.bytes, &in, &storage, &error), 0);
                message_free(storage);
                if (after && in.kind == MESSAGE_WELCOME) {
                    in.kind = MESSAGE_NONE;
                }
            }
        }
        link->ops->flush(link);
        clock_sleep_until_ns(clock_now_ns() + 2000000);
    }
    link->ops->destroy(link);
    return in;
}

/* Programs of different versions with the same protocol work together, and the user is notified. */
static void test_versions(void **state)
{
    PL_UNUSED(state);
    Rig rig;
    HostOptions options = {.clients_max = 4, .snapshot_rate = 30, .open_role = ROLE_PARTICIPANT};
    assert_int_equal(seal_start(), 0);
    rig_start(&rig, &options);
    MessageHello greeting = {.major = PROTOCOL_MAJOR, .name = "x", .version = "0.1.9"};
    Message answer = hello(&rig, &greeting, true);
    assert_int_equal(answer.kind, MESSAGE_NOTICE);
    assert_string_equal(answer.notice.text,
                        "the server is Plenum " PLENUM_VERSION ", you are Plenum 0.1.9");
    strcpy(greeting.version, PLENUM_VERSION);
    answer = hello(&rig, &greeting, true);
    assert_int_not_equal(answer.kind, MESSAGE_NOTICE);
    rig_stop(&rig);
}

static void test_refusals(void **state)
{
    PL_UNUSED(state);
    Rig rig;
    u8 secret[TOKEN_SECRET_BYTES], other[TOKEN_SECRET_BYTES], unused[TOKEN_PUBLIC_BYTES];
    HostOptions options = {.clients_max = 4, .snapshot_rate = 30, .open_role = -1, .tokens = true};
    assert_int_equal(seal_start(), 0);
    token_keygen(options.token_key, secret);
    token_keygen(unused, other);
    rig_start(&rig, &options);
    MessageHello greeting = {.major = PROTOCOL_MAJOR + 1, .name = "x"};
    Message answer = hello(&rig, &greeting, false);
    assert_int_equal(answer.kind, MESSAGE_REFUSE);
    assert_int_equal(answer.refuse.reason, REFUSE_VERSION);
    assert_non_null(strstr(answer.refuse.text, "the server is Plenum " PLENUM_VERSION));
    assert_non_null(strstr(answer.refuse.text, "you are Plenum 0.1 "));
    /* No token, a token signed by another key, an expired one, a valid one. */
    greeting.major = PROTOCOL_MAJOR;
    answer = hello(&rig, &greeting, false);
    assert_int_equal(answer.kind, MESSAGE_REFUSE);
    assert_int_equal(answer.refuse.reason, REFUSE_TOKEN);
    Token token = {.expiry_unix_s = clock_unix_s() + 60, .role = ROLE_ADMIN, .name = "Grace"};
    greeting.token_bytes = TOKEN_SIGNED_BYTES;
    token_sign(&token, other, greeting.token);
    answer = hello(&rig, &greeting, false);
    assert_int_equal(answer.refuse.reason, REFUSE_TOKEN);
    token.expiry_unix_s = 1000;
    token_sign(&token, secret, greeting.token);
    answer = hello(&rig, &greeting, false);
    assert_int_equal(answer.refuse.reason, REFUSE_TOKEN);
    token.expiry_unix_s = clock_unix_s() + 60;
    token_sign(&token, secret, greeting.token);
    answer = hello(&rig, &greeting, false);
    assert_int_equal(answer.kind, MESSAGE_WELCOME);
    assert_int_equal(answer.welcome.role, ROLE_ADMIN);
    /* The same user again with the secret of the WELCOME; another user without. */
    u32 user = answer.welcome.user;
    greeting.resume = answer.welcome.resume;
    answer = hello(&rig, &greeting, false);
    assert_int_equal(answer.kind, MESSAGE_WELCOME);
    assert_int_equal(answer.welcome.user, user);
    assert_true(answer.welcome.resume != greeting.resume);
    /* A secret is valid for one return, a token for one connection at a time. */
    answer = hello(&rig, &greeting, false);
    assert_int_equal(answer.kind, MESSAGE_REFUSE);
    assert_int_equal(answer.refuse.reason, REFUSE_TOKEN);
    token.id = 2;
    token_sign(&token, secret, greeting.token);
    answer = hello(&rig, &greeting, false);
    assert_int_equal(answer.kind, MESSAGE_WELCOME);
    assert_int_not_equal(answer.welcome.user, user);
    rig_stop(&rig);
}

/* Number of inputs of a kind that reached the source; *last is the newest. */
static u32 inputs_of(Rig *rig, u32 kind, Input *last)
{
    static Input inputs[FAKE_INPUTS_MAX];
    u32 count = fake_source_inputs(rig->source, inputs, FAKE_INPUTS_MAX), found = 0;
    for (u32 i = 0; i < count; i++) {
        if (inputs[i].kind == kind) {
            *last = inputs[i];
            found++;
        }
    }
    return found;
}

static Input grab_of(Connection *client, u32 entity, Vec3 at)
{
    Input input = {.kind = INPUT_GRAB, .entity = entity, .rotation = quat_identity()};
    ConnectionStats stats;
    connection_stats(client, &stats);
    input.seen_base = (u32)stats.tick_last;
    input.ray.origin = vec3(at.x, at.y, 10.0f);
    input.ray.direction = vec3(0.0f, 0.0f, -1.0f);
    return input;
}

static void test_inputs(void **state)
{
    PL_UNUSED(state);
    Rig rig;
    HostOptions options = {.clients_max = 4, .snapshot_rate = 30, .open_role = ROLE_PARTICIPANT};
    Input last = {0};
    rig_start(&rig, &options);
    Connection *clients[2] = {rig_connect(&rig, "a"), rig_connect(&rig, "b")};
    assert_true(rig_until(clients, 2, CONNECTION_LIVE));
    /* Sphere 1 (index 0) rests at (0, 1, 0): the hit is on its near side. */
    Input input = grab_of(clients[0], 1, vec3(0.1f, 1.0f, 0.0f));
    assert_true(connection_input(clients[0], &input) > 0);
    rig_poll(clients, 2, 0.4);
    assert_int_equal(inputs_of(&rig, INPUT_GRAB, &last), 1);
    assert_int_equal(last.user, connection_user(clients[0]));
    assert_true(fabsf(last.local.x - 0.1f) < 0.01f && fabsf(last.local.z - 0.387f) < 0.01f);
    /* Others see the grab. */
    u32 count = 0;
    const Presence *presences = connection_presences(clients[1], &count);
    assert_int_equal(count, 1);
    assert_int_equal(presences[0].user, connection_user(clients[0]));
    assert_int_equal(presences[0].grabbed, 1);
    /* A ray that misses, an unknown entity, a kind that the role may not send: each is refused, and
     * the client notified. */
    Input miss = grab_of(clients[1], 1, vec3(3.0f, 1.0f, 0.0f));
    Input nothing = grab_of(clients[1], 9999, vec3(0.0f, 1.0f, 0.0f));
    Input reset = {.kind = INPUT_RESET, .rotation = quat_identity()};
    reset.ray.direction = vec3(0.0f, 0.0f, 1.0f);
    assert_true(connection_input(clients[1], &miss) > 0);
    assert_true(connection_input(clients[1], &nothing) > 0);
    assert_true(connection_input(clients[1], &reset) > 0);
    rig_poll(clients, 2, 0.4);
    ConnectionStats stats;
    connection_stats(clients[1], &stats);
    assert_int_equal(stats.refused, 3);
    connection_stats(clients[0], &stats);
    assert_int_equal(stats.refused, 0);
    assert_int_equal(inputs_of(&rig, INPUT_GRAB, &last), 1);
    assert_int_equal(inputs_of(&rig, INPUT_RESET, &last), 0);
    /* Inputs are sent redundantly but act once. */
    Input push = {.kind = INPUT_PUSH, .entity = 2, .rotation = quat_identity()};
    push.ray.direction = vec3(0.0f, 0.0f, 1.0f);
    push.vector = vec3(0.0f, 1.0f, 0.0f);
    for (u32 i = 0; i < 20; i++) {
        assert_true(connection_input(clients[0], &push) > 0);
        rig_poll(clients, 2, 0.012);
    }
    rig_poll(clients, 2, 0.3);
    assert_int_equal(inputs_of(&rig, INPUT_PUSH, &last), 20);
    /* When a user leaves, its grab is released. */
    connection_destroy(clients[0]);
    rig_poll(&clients[1], 1, 0.4);
    assert_int_equal(inputs_of(&rig, INPUT_RELEASE, &last), 1);
    connection_destroy(clients[1]);
    rig_stop(&rig);
}

/* After a seek backwards the stream continues in a new epoch. */
/* The longest wait for a new snapshot in `seconds` from now, in s. */
static f64 longest_wait(Connection *client, f64 seconds)
{
    ConnectionStats stats;
    u64 begun_ns = clock_now_ns(), last_ns = begun_ns, now_ns, seen;
    f64 longest = 0.0;
    connection_stats(client, &stats);
    seen = stats.snapshots;
    do {
        rig_poll(&client, 1, 0.004);
        now_ns = clock_now_ns();
        longest = fmax(longest, (f64)(now_ns - last_ns) * 1e-9);
        connection_stats(client, &stats);
        last_ns = stats.snapshots > seen ? now_ns : last_ns;
        seen = stats.snapshots;
    } while ((f64)(now_ns - begun_ns) * 1e-9 < seconds);
    return longest;
}

/* A NAT gives the client another port, five times, on a line of 60 ms that loses 2 %: the same
 * connection continues, within a second unless the machine itself stood still. */
static void test_another_port(void **state)
{
    PL_UNUSED(state);
    enum {
        MOVES = 5
    };
    NetsimOptions line = {.seed = 8, .delay_ms = 30.0, .loss = 0.02};
    ConnectionOptions options = {.name = "roaming"};
    ErrorText error = {0};
    ConnectionStats stats;
    UdpProxy proxy;
    Rig rig;
    char address[32];
    f64 shortest = INFINITY;
    rig_start(&rig, NULL);
    assert_true(udp_proxy_start(&proxy, rig.port, &line));
    snprintf(address, sizeof address, "127.0.0.1:%u", proxy.port);
    Connection *client =
        connection_create(link_enet_connect(address, NULL, &error), &options, &error);
    assert_non_null(client);
    assert_true(rig_until(&client, 1, CONNECTION_LIVE));
    rig_poll(&client, 1, 0.3);
    for (u32 i = 0; i < MOVES; i++) {
        udp_proxy_rebind(&proxy);
        f64 waited_s = longest_wait(client, 1.5);
        print_message("port %u: %.0f ms without a snapshot\n", i + 1, 1e3 * waited_s);
        shortest = fmin(shortest, waited_s);
        assert_int_equal(connection_state(client), CONNECTION_LIVE);
    }
    assert_true(shortest < 1.0);
    connection_stats(client, &stats);
    assert_int_equal(stats.desyncs + stats.malformed, 0);
    assert_int_equal(connection_worlds(client), 1);
    HostStats host;
    host_stats(rig.host, &host);
    assert_int_equal(host.joined, 1); /* and not once more for each port */
    connection_destroy(client);
    udp_proxy_stop(&proxy);
    rig_stop(&rig);
}

static void test_epoch_and_end(void **state)
{
    PL_UNUSED(state);
    Rig rig;
    rig_start(&rig, NULL);
    Connection *client = rig_connect(&rig, "a");
    ConnectionStats before, after;
    assert_true(rig_until(&client, 1, CONNECTION_LIVE));
    rig_poll(&client, 1, 0.8);
    connection_stats(client, &before);
    fake_source_rewind(rig.source);
    rig_poll(&client, 1, 0.4);
    connection_stats(client, &after);
    assert_true(after.tick_last < before.tick_last);
    assert_true(after.snapshots > before.snapshots);
    assert_int_equal(after.desyncs + after.malformed, 0);
    /* Operators control world time; all clients are notified. */
    assert_false(connection_status(client)->paused);
    assert_int_equal(connection_control(client, CONTROL_PAUSE, 0.0), 0);
    rig_poll(&client, 1, 0.4);
    assert_true(connection_status(client)->paused);
    fake_source_end(rig.source);
    assert_true(rig_until(&client, 1, CONNECTION_CLOSED));
    assert_int_equal(rig_wait(&rig), 0);
    connection_destroy(client);
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_join),     cmocka_unit_test(test_full_and_late),
        cmocka_unit_test(test_versions), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_inputs),   cmocka_unit_test(test_epoch_and_end),
        cmocka_unit_test(test_memory),   cmocka_unit_test(test_another_port),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
