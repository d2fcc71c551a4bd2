/*
 * test_tunnel.c: the key exchange and the sealed datagrams: a man in the middle gets no tunnel,
 * eavesdroppers read nothing, copies and forgeries are dropped, a new port is verified before it is
 * used, and unused handshakes never displace joined clients.
 */
#include "protocol/session/enet_commands.h"
#include "protocol/session/tunnel.h"
#include "shared/math/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    CAPACITY = 16,
    PATH_SEALED = TUNNEL_PATH_BYTES + TUNNEL_OVERHEAD_BYTES
};

static const ProbeAddress alice = {.host = {{[10] = 0xFF, 0xFF, 127, 0, 0, 1}}, .port = 4000};
static const ProbeAddress moved = {.host = {{[10] = 0xFF, 0xFF, 127, 0, 0, 1}}, .port = 4001};
static const ProbeAddress elsewhere = {.host = {{[10] = 0xFF, 0xFF, 127, 0, 0, 9}}, .port = 53};
static const ProbeAddress host = {.host = {{[10] = 0xFF, 0xFF, 127, 0, 0, 3}}, .port = 7340};

static NetAddress v4(u32 number)
{
    return net_address_v4(&number);
}

static int setup(void **context)
{
    TunnelServer *server = malloc(sizeof *server);
    assert_int_equal(seal_start(), 0);
    assert_true(tunnel_server_init(server, NULL, CAPACITY));
    *context = server;
    return 0;
}

static int teardown(void **context)
{
    tunnel_server_finish(*context);
    free(*context);
    return 0;
}

/* Requests a cookie and writes the message that opens a tunnel. */
static void open_write(TunnelServer *server, HandshakeClient *client, ProbeAddress from, u64 now_ms,
                       u8 open[HANDSHAKE_OPEN_BYTES])
{
    ProbeClient probe;
    u8 reply[TUNNEL_REPLY_BYTES_MAX];
    u64 nonce;
    seal_random(&nonce, sizeof nonce);
    probe_client_init(&probe, nonce);
    probe_client_write(&probe, open);
    u32 bytes = tunnel_server_greet(server, from, open, PROBE_BYTES, now_ms, reply);
    assert_true(probe_client_receive(&probe, reply, bytes, now_ms));
    handshake_client_init(client, nonce);
    handshake_open(client, probe.cookie, open);
}

/* A whole handshake; false if the server did not answer. */
static bool join(TunnelServer *server, ProbeAddress from, u64 now_ms, Tunnel *tunnel)
{
    HandshakeClient client;
    Handshake handshake;
    u8 open[HANDSHAKE_OPEN_BYTES], reply[TUNNEL_REPLY_BYTES_MAX];
    open_write(server, &client, from, now_ms, open);
    u32 bytes = tunnel_server_greet(server, from, open, sizeof open, now_ms, reply);
    if (bytes == 0) {
        return false;
    }
    assert_int_equal(handshake_finish(&client, reply, bytes, &handshake), 0);
    assert_memory_equal(handshake.server, server->identity.public_key, IDENTITY_PUBLIC_BYTES);
    tunnel_begin(tunnel, &handshake, host, now_ms);
    return true;
}

/* Sends `text` through the client's end; what the server reads of it, or a negative Error. */
static int say(TunnelServer *server, Tunnel *client, const char *text, u64 now_ms, Tunnel **at)
{
    u8 sealed[256], plain[256];
    u32 bytes = tunnel_seal(client, text, (u32)strlen(text), sealed);
    *at = tunnel_server_find(server, sealed, bytes);
    assert_non_null(*at);
    int size = tunnel_open(*at, sealed, bytes, now_ms, plain);
    assert_true(size < 0 || memcmp(plain, text, (size_t)size) == 0);
    return size;
}

static void test_both_ends_agree(void **context)
{
    TunnelServer *server = *context;
    Tunnel client, other, *at;
    u8 sealed[128], plain[128];
    assert_true(join(server, alice, 1000, &client));
    assert_true(join(server, moved, 1000, &other));
    assert_int_equal(say(server, &client, "Ada", 1000, &at), 3);
    assert_memory_equal(at->binding, client.binding, BINDING_BYTES);
    assert_memory_not_equal(other.binding, client.binding, BINDING_BYTES);
    u32 bytes = tunnel_seal(at, "back", 4, sealed);
    assert_int_equal(bytes, 4 + TUNNEL_OVERHEAD_BYTES);
    assert_int_equal(tunnel_open(&client, sealed, bytes, 1000, plain), 4);
    assert_int_equal(tunnel_open(&client, sealed, bytes, 1000, plain), ERROR_CRYPTO); /* a copy */
    /* One's own datagram, sent back, and one of another tunnel under this id. */
    bytes = tunnel_seal(&client, "mine", 4, sealed);
    assert_int_equal(tunnel_open(&client, sealed, bytes, 1000, plain), ERROR_CRYPTO);
    bytes = tunnel_seal(&other, "Eve", 3, sealed);
    memcpy(sealed, &client.id, 4);
    assert_int_equal(tunnel_open(at, sealed, bytes, 1000, plain), ERROR_CRYPTO);
    tunnel_end(&client);
    for (u32 i = 0; i < sizeof client; i++) {
        assert_int_equal(((const u8 *)&client)[i], 0); /* wiped */
    }
}

static void test_lost_answer_is_repeated(void **context)
{
    TunnelServer *server = *context;
    HandshakeClient client;
    Handshake handshake;
    u8 open[HANDSHAKE_OPEN_BYTES], first[TUNNEL_REPLY_BYTES_MAX], again[TUNNEL_REPLY_BYTES_MAX];
    open_write(server, &client, alice, 1000, open);
    u32 bytes = tunnel_server_greet(server, alice, open, sizeof open, 1000, first);
    assert_int_equal(tunnel_server_greet(server, alice, open, sizeof open, 1200, again), bytes);
    assert_memory_equal(first, again, bytes);
    assert_int_equal(server->stats.opened, 1);
    assert_int_equal(handshake_finish(&client, again, bytes, &handshake), 0);
    /* The cookie of one address opens none for another: that gets a cookie. */
    assert_int_equal(tunnel_server_greet(server, elsewhere, open, sizeof open, 1000, again),
                     PROBE_REPLY_BYTES);
    assert_int_equal(server->stats.opened, 1);
    handshake_wipe(&handshake);
}

/* Every bit of the answer is signed; a man in the middle who puts his own key there has to sign
 * with his own identity, and so is known. */
static void test_man_in_the_middle(void **context)
{
    TunnelServer *server = *context, mallory;
    HandshakeClient client;
    Handshake handshake;
    u8 open[HANDSHAKE_OPEN_BYTES], reply[TUNNEL_REPLY_BYTES_MAX];
    open_write(server, &client, alice, 1000, open);
    u32 bytes = tunnel_server_greet(server, alice, open, sizeof open, 1000, reply);
    for (u32 bit = 0; bit < 8 * bytes; bit++) {
        reply[bit / 8] ^= (u8)(1 << bit % 8);
        assert_int_not_equal(handshake_finish(&client, reply, bytes, &handshake), 0);
        reply[bit / 8] ^= (u8)(1 << bit % 8);
    }
    for (u32 less = 0; less < bytes; less++) {
        assert_int_equal(handshake_finish(&client, reply, less, &handshake), ERROR_FORMAT);
    }
    /* He answers himself and names the server's identity: not signed by it. */
    u8 forged[HANDSHAKE_ACCEPT_BYTES];
    assert_true(tunnel_server_init(&mallory, NULL, 1));
    assert_int_equal(handshake_answer(&mallory.identity, 7, open, sizeof open, &handshake, forged),
                     0);
    assert_int_equal(handshake_finish(&client, forged, sizeof forged, &handshake), 0);
    assert_memory_not_equal(handshake.server, server->identity.public_key, IDENTITY_PUBLIC_BYTES);
    memcpy(forged + 56, server->identity.public_key, IDENTITY_PUBLIC_BYTES);
    assert_int_equal(handshake_finish(&client, forged, sizeof forged, &handshake), ERROR_CRYPTO);
    /* He passes the server's answer on for a key of his own: signed for another. */
    HandshakeClient own;
    handshake_client_init(&own, client.nonce);
    assert_int_equal(handshake_finish(&own, reply, bytes, &handshake), ERROR_CRYPTO);
    /* A key of small order gives a publicly known secret. */
    memset(open + 24, 0, SEAL_KEY_BYTES);
    assert_int_equal(handshake_answer(&mallory.identity, 7, open, sizeof open, &handshake, forged),
                     ERROR_CRYPTO);
    tunnel_server_finish(&mallory);
}

static void test_forged_and_damaged(void **context)
{
    TunnelServer *server = *context;
    Tunnel client, *at;
    u8 sealed[300], bad[300], plain[300];
    assert_true(join(server, alice, 1000, &client));
    assert_int_equal(say(server, &client, "first", 1000, &at), 5);
    memset(plain, 7, 64);
    u32 bytes = tunnel_seal(&client, plain, 64, sealed);
    for (u32 bit = 0; bit < 8 * bytes; bit++) {
        memcpy(bad, sealed, bytes);
        bad[bit / 8] ^= (u8)(1 << bit % 8);
        Tunnel *named = tunnel_server_find(server, bad, bytes);
        assert_true(named == NULL || tunnel_open(named, bad, bytes, 1000, plain) < 0);
    }
    for (u32 less = 0; less < bytes; less++) {
        assert_true(tunnel_server_find(server, sealed, less) == NULL ||
                    tunnel_open(at, sealed, less, 1000, plain) < 0);
    }
    /* None of it harmed the original. */
    assert_int_equal(tunnel_open(at, sealed, bytes, 1000, plain), 64);
}

/* A datagram from a new address is read, but the server keeps sending to the old one until the
 * client has answered from the new one. */
static void test_new_port(void **context)
{
    TunnelServer *server = *context;
    Tunnel client, *at;
    u8 question[PATH_SEALED], answer[PATH_SEALED], plain[PATH_SEALED];
    assert_true(join(server, alice, 1000, &client));
    assert_int_equal(say(server, &client, "a", 1000, &at), 1);
    assert_int_equal(tunnel_server_path(at, alice, 1000, question), 0);
    assert_int_equal(say(server, &client, "b", 2000, &at), 1);
    u32 bytes = tunnel_server_path(at, moved, 2000, question);
    assert_int_equal(bytes, PATH_SEALED);
    assert_int_equal(tunnel_server_path(at, moved, 2010, question), 0); /* not each time */
    assert_true(probe_address_same(at->address, alice));
    bytes = tunnel_server_path(at, moved, 2000 + TUNNEL_PATH_GAP_MS, question);
    int size = tunnel_open(&client, question, bytes, 2000, plain);
    assert_true(tunnel_is_path(plain, (u32)size));
    bytes = tunnel_path_answer(&client, plain, (u32)size, answer);
    size = tunnel_open(at, answer, bytes, 2000, plain);
    assert_int_equal(tunnel_path_answer(at, plain, (u32)size, question), 0); /* no endless talk */
    /* From elsewhere the answer moves nothing. */
    assert_false(tunnel_server_moved(server, at, elsewhere, plain, (u32)size));
    assert_true(tunnel_server_moved(server, at, moved, plain, (u32)size));
    assert_true(probe_address_same(at->address, moved));
    assert_false(tunnel_server_moved(server, at, moved, plain, (u32)size)); /* once */
}

/* Someone on the way sends copies of what the client sent from the address of a third: who would be
 * flooded. Neither a copy nor an older datagram asks anything there. */
static void test_copies_move_nothing(void **context)
{
    TunnelServer *server = *context;
    Tunnel client, *at;
    u8 old[64], new[64], plain[64], question[PATH_SEALED];
    assert_true(join(server, alice, 1000, &client));
    u32 old_bytes = tunnel_seal(&client, "old", 3, old);
    u32 new_bytes = tunnel_seal(&client, "new", 3, new);
    at = tunnel_server_find(server, new, new_bytes);
    assert_int_equal(tunnel_open(at, new, new_bytes, 1000, plain), 3);
    assert_int_equal(tunnel_open(at, old, old_bytes, 1000, plain), 3);
    assert_int_equal(tunnel_server_path(at, elsewhere, 1000, question), 0);
    assert_int_equal(tunnel_open(at, new, new_bytes, 1000, plain), ERROR_CRYPTO);
}

/* Handshakes that lead to nothing take each other's places, not those of clients that are in. */
static void test_half_open(void **context)
{
    TunnelServer *server = *context;
    Tunnel good[CAPACITY / 2], extra, *at;
    for (u32 i = 0; i < PL_COUNT(good); i++) {
        ProbeAddress from = {.host = v4(1000 + i), .port = 5};
        assert_true(join(server, from, 1000, &good[i]));
        assert_int_equal(say(server, &good[i], "hello", 1000, &at), 5);
        assert_true(tunnel_server_bind(server, at, 100 + i));
        assert_false(tunnel_server_bind(server, at, 200 + i)); /* one connection in each */
        assert_true(tunnel_server_bind(server, at, 100 + i));
        at->kept = true;
    }
    for (u32 i = 0; i < 10 * CAPACITY; i++) {
        ProbeAddress from = {.host = v4(5000 + i), .port = 5};
        Tunnel silent;
        assert_true(join(server, from, 1001 + i, &silent));
    }
    for (u32 i = 0; i < PL_COUNT(good); i++) {
        assert_int_equal(say(server, &good[i], "still", 1500, &at), 5);
        assert_ptr_equal(tunnel_server_of(server, 100 + i), at);
    }
    /* One address holds one of them at most. */
    u64 later = 1200 + TUNNEL_HALF_MS_MAX;
    tunnel_server_sweep(server, later);
    for (u32 i = 0; i < 3 * CAPACITY; i++) {
        assert_true(join(server, alice, later, &extra));
    }
    u32 held = 0;
    for (u32 i = 0; i < CAPACITY; i++) {
        held += server->tunnels[i].state != TUNNEL_FREE;
    }
    assert_int_equal(held, PL_COUNT(good) + 1);
    tunnel_server_sweep(server, 2000 + TUNNEL_SILENT_MS_MAX);
    for (u32 i = 0; i < CAPACITY; i++) {
        assert_int_equal(server->tunnels[i].state, TUNNEL_FREE);
    }
    assert_null(tunnel_server_of(server, 100));
}

/* Nor does it help to use a tunnel without coming in: a site that fills the table this way makes
 * room for others at once, its own newcomers for one another. */
static void test_one_site(void **context)
{
    TunnelServer *server = *context;
    Tunnel raiders[CAPACITY], good[CAPACITY / 2], *at;
    for (u32 i = 0; i < PL_COUNT(raiders); i++) {
        ProbeAddress from = {.host = v4(7u | i << 24), .port = 5};
        assert_true(join(server, from, 1000 + i, &raiders[i]));
        assert_int_equal(say(server, &raiders[i], "hello", 1000 + i, &at), 5);
        assert_true(tunnel_server_bind(server, at, 100 + i));
    }
    for (u32 i = 0; i < PL_COUNT(good); i++) {
        ProbeAddress from = {.host = v4(1000 + i), .port = 5};
        assert_true(join(server, from, 1100, &good[i]));
    }
    for (u32 i = 0; i < 3 * CAPACITY; i++) {
        Tunnel more;
        ProbeAddress from = {.host = v4(7u | i << 24), .port = 6};
        assert_true(join(server, from, 1200 + i, &more));
        assert_int_equal(say(server, &more, "hello", 1200 + i, &at), 5);
    }
    for (u32 i = 0; i < PL_COUNT(good); i++) {
        assert_int_equal(say(server, &good[i], "hello", 1300, &at), 5);
    }
    /* If all have joined there is no capacity. */
    for (u32 i = 0; i < CAPACITY; i++) {
        server->tunnels[i].kept = true;
    }
    assert_false(join(server, elsewhere, 2400, &raiders[0]));
}

/* Signatures cost time: a host gets so many a second, all together so many. */
static void test_handshakes_are_limited(void **context)
{
    TunnelServer *server = *context;
    Tunnel tunnel;
    u32 joined = 0;
    for (u32 i = 0; i < 2 * TUNNEL_HANDSHAKES_HOST_S; i++) {
        joined += join(server, (ProbeAddress){.host = v4(1), .port = (u16)(i + 1)}, 1000, &tunnel);
    }
    assert_int_equal(joined, TUNNEL_HANDSHAKES_HOST_S);
    assert_true(join(server, alice, 1000, &tunnel));
    assert_true(join(server, (ProbeAddress){.host = v4(1), .port = 9999}, 2000, &tunnel));
    /* All addresses of an IPv6 /64 are one host. */
    joined = 0;
    for (u32 i = 0; i < 2 * TUNNEL_HANDSHAKES_HOST_S; i++) {
        ProbeAddress from = {.host = {{0x20, 1, 0xD, 0xB8, 0, 1, 0, 2}}, .port = 7};
        memcpy(from.host.bytes + 12, &i, sizeof i);
        joined += join(server, from, 3000, &tunnel);
    }
    assert_int_equal(joined, TUNNEL_HANDSHAKES_HOST_S);
}

/* What a peer may send to ENet: whole commands, and no fragment that costs more than it brings. */
static void test_enet_commands(void **context)
{
    PL_UNUSED(context);
    u8 data[512] = {0x86, 0, 0, 1, 0, 10}; /* reliable, 10 bytes */
    assert_true(enet_commands_ok(data, 16));
    assert_false(enet_commands_ok(data, 15));
    data[16] = 0x44; /* and a disconnect */
    assert_true(enet_commands_ok(data, 24));
    assert_false(enet_commands_ok(data, 23));
    data[16] = 0x40;
    assert_false(enet_commands_ok(data, 24)); /* no command */
    data[16] = 0x0D;
    assert_false(enet_commands_ok(data, 24)); /* unknown */
    u8 fragment[64] = {0x88, 3, 0, 1, 0, 0, 0, 8, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 4, 0};
    assert_true(enet_commands_ok(fragment, 32));
    fragment[8] = 1; /* 16 million fragments of 1024 bytes */
    assert_false(enet_commands_ok(fragment, 32));
    fragment[8] = fragment[11] = 0;
    assert_false(enet_commands_ok(fragment, 32));
    for (u64 i = 0; i < 20000; i++) {
        u32 bytes = (u32)random_u64(5, i) % 64;
        for (u32 k = 0; k < bytes; k++) {
            data[k] = (u8)random_u64(i, k);
        }
        u8 *exact = malloc(bytes + 1); /* where a sanitizer sees the end */
        memcpy(exact, data, bytes);
        (void)enet_commands_ok(exact, bytes);
        free(exact);
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_both_ends_agree),
        CASE(test_lost_answer_is_repeated),
        CASE(test_man_in_the_middle),
        CASE(test_forged_and_damaged),
        CASE(test_new_port),
        CASE(test_copies_move_nothing),
        CASE(test_half_open),
        CASE(test_one_site),
        CASE(test_handshakes_are_limited),
        cmocka_unit_test(test_enet_commands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
