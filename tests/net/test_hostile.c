/*
 * test_hostile.c: 100 000 mutated packets against a running host while an honest client plays on:
 * raw datagrams to its port, and garbage from an authenticated client.
 */
#include "shared/base/clock.h"
#include "shared/math/random.h"
#include "tests/support/rig.h"

#include <arpa/inet.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    RAW_PACKETS = 80000,
    PAYLOADS = 20000,
    DATAGRAM_MAX = 9000
};

typedef struct Random {
    u64 counter;
} Random;

static u32 next(Random *random, u32 below)
{
    return (u32)(random_u64(2026, random->counter++) % below);
}

static void fill(Random *random, u8 *data, u32 bytes)
{
    for (u32 i = 0; i < bytes; i++) {
        data[i] = (u8)random_u64(7, random->counter++);
    }
}

/* An almost valid packet, damaged in one of several ways. Returns its length. */
static u32 mutate(Random *random, const u8 *good, u32 good_bytes, u8 *out)
{
    u32 bytes = good_bytes;
    memcpy(out, good, good_bytes);
    switch (next(random, 5)) {
    case 0: /* noise */
        bytes = next(random, 1400);
        fill(random, out, bytes);
        break;
    case 1: /* truncated */
        bytes = next(random, good_bytes + 1);
        break;
    case 2: /* longer */
        bytes = good_bytes + next(random, 600);
        fill(random, out + good_bytes, bytes - good_bytes);
        break;
    default: /* some bits flipped */
        for (u32 i = 0; i <= next(random, 8) && bytes > 0; i++) {
            out[next(random, bytes)] ^= (u8)(1 << next(random, 8));
        }
        break;
    }
    return bytes;
}

/* ENet datagrams as a client would send them: connect, reliable and unsequenced payloads, fragments
 * with absurd counts, acknowledgements, disconnects, for each of the first peers. */
static u32 raw_template(Random *random, u8 *out)
{
    static const u8 commands[] = {0x82, 0x86, 0x49, 0x88, 0x8C, 0x01, 0x84, 0x85, 0x8A, 0x8B};
    u32 bytes = 4 + 48;
    memset(out, 0, bytes);
    u32 peer = next(random, 4) == 0 ? 0xFFF : next(random, 12);
    out[0] = (u8)(0x80 | next(random, 4) << 4 | peer >> 8);
    out[1] = (u8)peer;
    out[4] = commands[next(random, sizeof commands)];
    out[5] = (u8)next(random, 6);
    out[7] = (u8)next(random, 40);
    fill(random, out + 8, 12);
    out[9] = 32; /* a data length that fits, mostly */
    out[8] = 0;
    return bytes;
}

static bool client_fine(Connection *client, u64 *snapshots)
{
    ConnectionStats stats;
    connection_stats(client, &stats);
    bool fine = connection_state(client) == CONNECTION_LIVE && stats.snapshots > *snapshots &&
                stats.desyncs == 0 && stats.malformed == 0;
    *snapshots = stats.snapshots;
    return fine;
}

static void test_raw(void **state)
{
    PL_UNUSED(state);
    Rig rig;
    Random random = {0};
    static u8 data[DATAGRAM_MAX], good[DATAGRAM_MAX];
    u64 snapshots = 0, answered = 0, sent_bytes = 0;
    rig_start(&rig, NULL);
    Connection *client = rig_connect(&rig, "good");
    assert_true(rig_until(&client, 1, CONNECTION_LIVE));
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(rig.port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (u32 i = 0; i < RAW_PACKETS; i++) {
        u32 bytes;
        if (next(&random, 8) == 0) {
            memset(good, 0, 1000);
            memcpy(good, "PLNM\1", 5);
            bytes = mutate(&random, good, 1000, data);
        } else if (next(&random, 500) == 0) {
            bytes = 4000 + next(&random, DATAGRAM_MAX - 4000);
            fill(&random, data, 64);
        } else {
            bytes = mutate(&random, good, raw_template(&random, good), data);
        }
        sendto(fd, data, bytes, 0, (struct sockaddr *)&to, sizeof to);
        sent_bytes += bytes;
        ssize_t got;
        while ((got = recv(fd, data, sizeof data, MSG_DONTWAIT)) > 0) {
            answered += (u64)got;
        }
        if (i % 400 == 0) {
            rig_poll(&client, 1, 0.02);
        }
        if (i % 20000 == 19999) {
            rig_poll(&client, 1, 0.3);
            assert_true(client_fine(client, &snapshots));
        }
    }
    /* Replies are smaller than requests: no amplification. */
    assert_true(answered < sent_bytes / 10);
    HostStats stats;
    close(fd);
    connection_destroy(client);
    host_stop(rig.host);
    assert_int_equal(rig_wait(&rig), 0);
    host_stats(rig.host, &stats);
    assert_int_equal(stats.joined, 1);
    rig_stop(&rig);
}

/* ---- a malicious client with a valid session ---- */

typedef struct Rogue {
    Link *link;
    bool live, over;
} Rogue;

static void rogue_poll(Rogue *rogue)
{
    LinkEvent event;
    while (rogue->link->ops->poll(rogue->link, clock_now_ns() / 1000000, &event)) {
        if (event.kind == LINK_CONNECTED) {
            Message message = {.kind = MESSAGE_HELLO};
            u32 bytes;
            message.hello.major = PROTOCOL_MAJOR;
            snprintf(message.hello.name, NAME_BYTES_MAX, "rogue");
            u8 *data = message_encode(&message, &bytes);
            if (data != NULL) {
                rogue->link->ops->send(rogue->link, 0, CHANNEL_CONTROL, data, bytes);
                message_free(data);
            }
        } else if (event.kind == LINK_RECEIVED && !rogue->live) {
            Message message;
            u8 *storage = NULL;
            rogue->live = message_decode(event.data, event.bytes, &message, &storage, NULL) == 0 &&
                          message.kind == MESSAGE_WELCOME;
            message_free(storage);
        } else if (event.kind == LINK_DISCONNECTED) {
            rogue->over = true;
        }
    }
}

static bool rogue_join(Rogue *rogue, Rig *rig, Connection **client)
{
    ErrorText error = {0};
    memset(rogue, 0, sizeof *rogue);
    rogue->link = link_enet_connect(rig->address, NULL, &error);
    u64 end = clock_now_ns() + 10000000000ull;
    while (!rogue->live && !rogue->over && clock_now_ns() < end) {
        rogue_poll(rogue);
        rogue->link->ops->flush(rogue->link);
        rig_poll(client, 1, 0.002);
    }
    return rogue->live;
}

/* A well-formed input packet with invalid numbers. */
static u32 input_template(Random *random, u8 *out)
{
    InputPacket packet = {0};
    packet.view.forward = packet.cursor.direction = vec3(0.0f, 0.0f, 1.0f);
    packet.view.pixels_per_radian = 500.0f;
    packet.count = 1 + (u16)next(random, 4);
    for (u32 i = 0; i < packet.count; i++) {
        Input *input = &packet.inputs[i];
        input->kind = 1 + next(random, INPUT_KIND_COUNT - 1);
        input->sequence = 1 + (u32)random->counter + i;
        input->entity = next(random, 200);
        input->element = next(random, 3);
        input->index = next(random, 5);
        input->rotation = quat_identity();
        input->ray.direction = vec3(0.0f, 0.0f, -1.0f);
        input->ray.origin.x = next(random, 3) == 0 ? NAN : 1.0f;
        input->target.y = next(random, 3) == 0 ? INFINITY : 1e30f;
        input->seen_tick = next(random, 2) == 0 ? NAN : -1e30f;
        input->seen_base = (u32)random->counter * 977u;
    }
    return input_packet_encode(&packet, out);
}

static u32 message_template(Random *random, u8 *out)
{
    Message message = {.kind = next(random, 2) ? MESSAGE_CHAT : MESSAGE_CONTROL};
    u32 bytes = 0;
    if (message.kind == MESSAGE_CHAT) {
        snprintf(message.chat.text, TEXT_BYTES_MAX, "hello %u", next(random, 100));
    } else {
        message.control.kind = CONTROL_SEEK;
        message.control.value = 2.0;
    }
    u8 *data = message_encode(&message, &bytes);
    if (data != NULL) {
        memcpy(out, data, bytes);
        message_free(data);
    }
    return bytes;
}

static void test_let_in(void **state)
{
    PL_UNUSED(state);
    Rig rig;
    Random random = {0};
    static u8 good[DATAGRAM_MAX], bad[DATAGRAM_MAX];
    u64 snapshots = 0;
    u32 sent = 0, sessions = 0;
    HostOptions options = {.clients_max = 8, .snapshot_rate = 30, .open_role = ROLE_PARTICIPANT};
    rig_start(&rig, &options);
    Connection *client = rig_connect(&rig, "good");
    assert_true(rig_until(&client, 1, CONNECTION_LIVE));
    u64 end = clock_now_ns() + 50000000000ull;
    while (sent < PAYLOADS && clock_now_ns() < end) {
        Rogue rogue;
        sessions++;
        bool joined = rogue_join(&rogue, &rig, &client);
        /* The flood and malformed limits disconnect it again and again. */
        for (u32 i = 0; joined && i < 3000 && !rogue.over && sent < PAYLOADS; i++) {
            bool input = next(&random, 4) != 0;
            u32 channel = input ? CHANNEL_INPUT : CHANNEL_CONTROL;
            u32 bytes = input ? input_template(&random, good) : message_template(&random, good);
            bytes = u32_min(mutate(&random, good, bytes, bad), 1170);
            sent += rogue.link->ops->send(rogue.link, 0, channel, bad, u32_max(bytes, 1)) == 0;
            if (i % 50 == 0) {
                rogue.link->ops->flush(rogue.link);
                rogue_poll(&rogue);
                rig_poll(&client, 1, 0.004);
            }
        }
        rogue.link->ops->destroy(rogue.link);
    }
    assert_int_equal(sent, PAYLOADS);
    rig_poll(&client, 1, 0.5);
    assert_true(client_fine(client, &snapshots));
    assert_true(snapshots > 20);
    static Input inputs[FAKE_INPUTS_MAX];
    u32 count = fake_source_inputs(rig.source, inputs, FAKE_INPUTS_MAX);
    for (u32 i = 0; i < count; i++) {
        assert_int_equal(input_check(&inputs[i]), 0); /* nothing hostile reached the world */
        assert_true(inputs[i].kind != INPUT_RESET && inputs[i].kind != INPUT_REMOVE);
    }
    HostStats stats;
    connection_destroy(client);
    host_stop(rig.host);
    assert_int_equal(rig_wait(&rig), 0);
    host_stats(rig.host, &stats);
    assert_true(stats.malformed > 20);
    assert_true(sessions > 1);
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_raw),
        cmocka_unit_test(test_let_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
