/* test_probe.c: the cookie exchange, its time limits; it never amplifies traffic. */
#include "protocol/session/probe.h"
#include "shared/math/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const ProbeAddress alice = {.host = {{[10] = 0xFF, 0xFF, 127, 0, 0, 1}}, .port = 4000};
static const ProbeAddress mallory = {.host = {{[10] = 0xFF, 0xFF, 127, 0, 0, 2}}, .port = 4000};

static ProbeServer *server_make(void)
{
    u8 key[SEAL_HASH_KEY_BYTES] = "0123456789abcde";
    ProbeServer *server = malloc(sizeof *server);
    assert_non_null(server);
    assert_int_equal(seal_start(), 0);
    probe_server_init(server, key);
    return server;
}

/* Probe and cookie. */
static u64 ask(ProbeServer *server, ProbeClient *client, ProbeAddress from, u64 now_ms)
{
    u8 probe[PROBE_BYTES], reply[PROBE_REPLY_BYTES];
    probe_client_write(client, probe);
    u32 bytes = probe_server_receive(server, from, probe, sizeof probe, now_ms, reply);
    assert_int_equal(bytes, PROBE_REPLY_BYTES);
    (void)probe_client_receive(client, reply, bytes, now_ms);
    return client->cookie;
}

static void test_cookie_is_bound(void **state)
{
    PL_UNUSED(state);
    ProbeServer *server = server_make();
    ProbeClient client;
    probe_client_init(&client, 77);
    u64 cookie = ask(server, &client, alice, 1000);
    assert_true(probe_server_proven(server, alice, cookie, 1000));
    assert_true(probe_server_proven(server, alice, cookie, 1000 + PROBE_BUCKET_MS - 1));
    /* Alice's cookie proves nothing from another address, nor later, nor does none. */
    assert_false(probe_server_proven(server, mallory, cookie, 1000));
    assert_false(probe_server_proven(server, alice, cookie, 1000 + 2 * PROBE_BUCKET_MS));
    assert_false(probe_server_proven(server, alice, 0, 1000));
    assert_false(probe_server_proven(server, alice, cookie ^ 1, 1000));
    /* Whoever comes late is offered a new one. */
    u64 later = ask(server, &client, alice, 1000 + 2 * PROBE_BUCKET_MS);
    assert_int_not_equal(later, cookie);
    assert_true(probe_server_proven(server, alice, later, 1000 + 2 * PROBE_BUCKET_MS));
    free(server);
}

static void test_reply_is_for_one_client(void **state)
{
    PL_UNUSED(state);
    ProbeServer *server = server_make();
    ProbeClient client, other;
    u8 probe[PROBE_BYTES], reply[PROBE_REPLY_BYTES];
    probe_client_init(&client, 77);
    probe_client_init(&other, 78);
    probe_client_write(&client, probe);
    u32 bytes = probe_server_receive(server, alice, probe, sizeof probe, 5, reply);
    assert_false(probe_client_receive(&other, reply, bytes, 5));
    assert_int_equal(other.cookie, 0);
    assert_true(probe_client_receive(&client, reply, bytes, 5));
    assert_false(probe_client_receive(&client, reply, bytes, 5)); /* it has that one */
    /* Made-up cookies draw no questions beyond the schedule. */
    u32 sent = 0;
    for (u64 now_ms = 5; now_ms < 2005; now_ms++) {
        reply[16]++;
        (void)probe_client_receive(&client, reply, bytes, now_ms);
        sent += probe_client_due(&client, now_ms);
    }
    assert_in_range(sent, 4, 7);
    free(server);
}

static void test_hostile_bytes(void **state)
{
    PL_UNUSED(state);
    ProbeServer *server = server_make();
    u8 data[PROBE_BYTES] = "PLNM\1", reply[PROBE_REPLY_BYTES];
    for (u32 bytes = 0; bytes < PROBE_BYTES; bytes++) {
        assert_int_equal(probe_server_receive(server, alice, data, bytes, 5, reply), 0);
    }
    for (u32 i = 0; i < 20000; i++) {
        for (u32 k = 4; k < 32; k++) {
            data[k] = (u8)random_u64(i, k);
        }
        u64 cookie;
        memcpy(&cookie, data + 16, sizeof cookie);
        u32 bytes = probe_server_receive(server, alice, data, PROBE_BYTES, 5, reply);
        assert_true(bytes < PROBE_BYTES / 10);
        assert_false(probe_server_proven(server, alice, cookie, 5));
    }
    assert_true(probe_is("PLNM", 4));
    assert_false(probe_is("PLN", 3));
    free(server);
}

static void test_backoff(void **state)
{
    PL_UNUSED(state);
    ProbeClient client;
    u32 sent = 0;
    probe_client_init(&client, 1);
    for (u64 now_ms = 0; now_ms < 10000; now_ms++) {
        sent += probe_client_due(&client, now_ms);
    }
    assert_in_range(sent, 19, 23); /* 0, 0.2, 0.6 s, then every half second */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cookie_is_bound),
        cmocka_unit_test(test_reply_is_for_one_client),
        cmocka_unit_test(test_hostile_bytes),
        cmocka_unit_test(test_backoff),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
