/* test_probe.c: the cookie exchange, its time limits and table; it never amplifies traffic. */
#include "protocol/session/probe.h"
#include "shared/math/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const ProbeAddress alice = {.host = 0x0100007f, .port = 4000};
static const ProbeAddress mallory = {.host = 0x0200007f, .port = 4000};

static ProbeServer *server_make(void)
{
    u8 key[SEAL_HASH_KEY_BYTES] = "0123456789abcde";
    ProbeServer *server = malloc(sizeof *server);
    assert_non_null(server);
    assert_int_equal(seal_start(), 0);
    probe_server_init(server, key);
    return server;
}

/* Probe, cookie, proof. */
static void prove(ProbeServer *server, ProbeClient *client, ProbeAddress from, u64 now_ms)
{
    u8 probe[PROBE_BYTES], reply[PROBE_REPLY_BYTES];
    client->next_ms = 0;
    assert_true(probe_client_send(client, now_ms, probe));
    u32 bytes = probe_server_receive(server, from, probe, sizeof probe, now_ms, reply);
    assert_int_equal(bytes, PROBE_REPLY_BYTES);
    if (probe_client_receive(client, reply, bytes, now_ms)) {
        assert_true(probe_client_send(client, now_ms, probe));
        assert_int_equal(probe_server_receive(server, from, probe, sizeof probe, now_ms, reply),
                         PROBE_REPLY_BYTES);
        assert_false(probe_client_receive(client, reply, bytes, now_ms));
    }
}

static void test_exchange(void **state)
{
    PL_UNUSED(state);
    ProbeServer *server = server_make();
    ProbeClient client;
    probe_client_init(&client, 77);
    assert_false(probe_server_admit(server, alice, 1, 1000));
    prove(server, &client, alice, 1000);
    assert_false(probe_server_admit(server, mallory, 1, 1000));
    assert_true(probe_server_admit(server, alice, 1, 1000));
    /* One proof, one connection; repeats of it are harmless. */
    assert_true(probe_server_admit(server, alice, 1, 1500));
    assert_false(probe_server_admit(server, alice, 2, 1500));
    prove(server, &client, alice, 2000);
    assert_false(probe_server_admit(server, alice, 2, 2000));
    /* It expires and can be renewed. */
    assert_false(probe_server_admit(server, alice, 1, 1000 + PROBE_PROVEN_MS));
    prove(server, &client, alice, 1000 + PROBE_PROVEN_MS);
    assert_true(probe_server_admit(server, alice, 2, 1001 + PROBE_PROVEN_MS));
    free(server);
}

static void test_cookie_is_bound(void **state)
{
    PL_UNUSED(state);
    ProbeServer *server = server_make();
    ProbeClient client;
    u8 probe[PROBE_BYTES], reply[PROBE_REPLY_BYTES];
    probe_client_init(&client, 77);
    prove(server, &client, alice, 1000);
    /* Alice's cookie from another address proves nothing. */
    client.next_ms = 0;
    assert_true(probe_client_send(&client, 1000, probe));
    probe_server_receive(server, mallory, probe, sizeof probe, 1000, reply);
    assert_false(probe_server_admit(server, mallory, 1, 1000));
    /* Nor does an expired one, but its owner is offered a new one. */
    u64 later = 1000 + 2 * PROBE_BUCKET_MS;
    probe_server_receive(server, alice, probe, sizeof probe, later, reply);
    assert_false(probe_server_admit(server, alice, 1, later));
    assert_true(probe_client_receive(&client, reply, sizeof reply, later));
    prove(server, &client, alice, later);
    assert_true(probe_server_admit(server, alice, 1, later));
    /* A reply to another client's probe is ignored. */
    ProbeClient other;
    probe_client_init(&other, 78);
    assert_false(probe_client_receive(&other, reply, sizeof reply, later));
    assert_int_equal(other.cookie, 0);
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
        u32 bytes = probe_server_receive(server, alice, data, PROBE_BYTES, 5, reply);
        assert_true(bytes < PROBE_BYTES / 10);
        assert_false(probe_server_admit(server, alice, i, 5));
    }
    /* Our ENet datagrams never look like a probe, whose first byte has the compressed bit but not
     * the sent time. */
    assert_true(probe_is("PLNM", 4));
    assert_int_equal('P' & 0xC0, 0x40);
    free(server);
}

/* Many proven addresses: the newest stay, and nothing overflows. */
static void test_table(void **state)
{
    PL_UNUSED(state);
    ProbeServer *server = server_make();
    u32 count = 4 * PROBE_SETS * PROBE_WAYS, kept = 0;
    for (u32 i = 0; i < count; i++) {
        ProbeAddress from = {.host = i, .port = 9};
        ProbeClient client;
        probe_client_init(&client, i);
        prove(server, &client, from, 1000 + i);
        assert_true(probe_server_admit(server, from, 5, 1000 + i));
    }
    for (u32 i = count - PROBE_SETS; i < count; i++) {
        ProbeAddress from = {.host = i, .port = 9};
        kept += probe_server_admit(server, from, 5, 1000 + count);
    }
    assert_true(kept > PROBE_SETS * 95 / 100);
    free(server);
}

static void test_backoff(void **state)
{
    PL_UNUSED(state);
    ProbeClient client;
    u8 probe[PROBE_BYTES];
    u32 sent = 0;
    probe_client_init(&client, 1);
    for (u64 now_ms = 0; now_ms < 10000; now_ms++) {
        sent += probe_client_send(&client, now_ms, probe);
    }
    assert_in_range(sent, 19, 23); /* 0, 0.2, 0.6 s, then every half second */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exchange),      cmocka_unit_test(test_cookie_is_bound),
        cmocka_unit_test(test_hostile_bytes), cmocka_unit_test(test_table),
        cmocka_unit_test(test_backoff),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
