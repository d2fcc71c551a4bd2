/*
 * test_join.c: joining in virtual time, with a whole host and connection: a scene of 10 MB over 100
 * ms and 50 Mbit/s, first pictures of ordinary scenes, events and new epochs while a world is
 * transferred.
 */
#include "protocol/stream/bulk.h"
#include "shared/base/clock.h"
#include "shared/math/random.h"
#include "tests/support/join_rig.h"
#include "tests/support/link_memory.h"
#include "tests/support/rig.h"
#include "tests/support/udp_proxy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/in_sync.h"

/* Sanitizers read a scene of 10 MB slowly: a smaller one, over a line slower by the same factor. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum {
    LARGE_SHARE = 5
};
#else
enum {
    LARGE_SHARE = 1
};
#endif

enum {
    LARGE_BYTES = 10000000 / LARGE_SHARE,
    LARGE_BYTES_S = 50000000 / 8 / LARGE_SHARE,
};

typedef struct Joining {
    f64 welcome_ms, world_ms, picture_ms;
} Joining;

/* Runs until the client's picture is complete; times relative to the call. */
static Joining join(JoinRig *rig, Connection *client, f64 most_ms)
{
    Joining joining = {0};
    f64 begun_ms = join_rig_ms(rig);
    while (joining.picture_ms == 0.0 && join_rig_ms(rig) - begun_ms < most_ms) {
        join_rig_step(rig, &client, 1);
        f64 now_ms = join_rig_ms(rig) - begun_ms;
        if (joining.welcome_ms == 0.0 && connection_state(client) >= CONNECTION_JOINING) {
            joining.welcome_ms = now_ms;
        }
        if (joining.world_ms == 0.0 && connection_fields(client) != NULL) {
            joining.world_ms = now_ms;
        }
        if (join_picture_whole(client)) {
            joining.picture_ms = now_ms;
        }
    }
    assert_true(joining.picture_ms > 0.0);
    return joining;
}

static void steps(JoinRig *rig, Connection *client, u32 ms)
{
    for (u32 i = 0; i < ms; i++) {
        join_rig_step(rig, &client, 1);
    }
}

static void test_large(void **state)
{
    PL_UNUSED(state);
    static const f64 losses[] = {0.0, 0.01, 0.05};
    Scene *scene = join_scene("dominoes");
    u32 bytes = 0;
    u8 *large = join_large_scene(LARGE_BYTES, &bytes);
    JoinRig rig;
    join_rig_start(&rig, scene, large, bytes);
    for (u32 i = 0; i < PL_COUNT(losses); i++) {
        NetsimOptions down = {
            .seed = 1 + i, .delay_ms = 50.0, .rate_bytes_s = LARGE_BYTES_S, .loss = losses[i]};
        NetsimOptions up = {.seed = 11 + i, .delay_ms = 50.0, .loss = losses[i]};
        Connection *client = join_rig_connect(&rig, &up, &down);
        Joining joining = join(&rig, client, 10000.0);
        ConnectionStats stats;
        connection_stats(client, &stats);
        print_message("%u bytes at %.0f Mbit/s and 100 ms, loss %.0f %%: world after %.2f s, "
                      "picture after %.2f s\n",
                      bytes, LARGE_BYTES_S * 8e-6, 100.0 * losses[i], joining.world_ms * 1e-3,
                      joining.picture_ms * 1e-3);
        assert_true(joining.picture_ms < 3000.0);
        /* The states arrive together with the world. */
        assert_true(joining.picture_ms - joining.world_ms < 80.0);
        assert_int_equal(connection_scene(client)->byte_count, bytes);
        assert_memory_equal(connection_scene(client)->bytes, large, bytes);
        assert_int_equal(stats.desyncs + stats.malformed, 0);
        connection_destroy(client);
    }
    join_rig_stop(&rig);
    scene_destroy(scene);
    free(large);
}

/* While others play, a large world is packed in parts: things spawned meanwhile reach the joining
 * client, and finally all clients have the same state. */
static void test_packed_in_parts(void **state)
{
    PL_UNUSED(state);
    Scene *scene = join_scene("wall");
    u32 bytes = 0, counts[3] = {0};
    u8 *large = join_large_scene(3000000, &bytes);
    JoinRig rig;
    Connection *clients[3];
    join_rig_start(&rig, scene, large, bytes);
    clients[0] = join_rig_connect(&rig, NULL, NULL);
    (void)join(&rig, clients[0], 5000.0);
    for (u32 i = 0; i < 60; i++) { /* the tail of events is full: it has to be packed anew */
        for (u32 k = 0; k < 6; k++) {
            Input spawn = {.kind = k > 0 ? INPUT_SPAWN : INPUT_REMOVE,
                           .user = 1 + i / 30, /* each may spawn 200 */
                           .sequence = 1 + 6 * i + k,
                           .entity = 2 + i,
                           .target = vec3((f32)i, 3.0f, (f32)k),
                           .rotation = quat_identity()};
            join_rig_input(&rig, &spawn);
        }
        steps(&rig, clients[0], 17);
        if (i == 45) {
            clients[1] = join_rig_connect(&rig, NULL, NULL);
            clients[2] = join_rig_connect(&rig, NULL, NULL);
        }
        for (u32 ms = 0; i >= 45 && ms < 8; ms++) {
            join_rig_step(&rig, clients, 3);
        }
    }
    for (u32 ms = 0; ms < 2000; ms++) {
        join_rig_step(&rig, clients, 3);
    }
    HostStats stats;
    host_stats(rig.host, &stats);
    assert_int_equal(stats.worlds_packed, 2);
    for (u32 i = 0; i < 3; i++) {
        assert_true(join_picture_whole(clients[i]));
        assert_in_sync(clients[i]);
        (void)connection_entities(clients[i], &counts[i], NULL);
        assert_int_equal(counts[i], counts[0]);
        connection_destroy(clients[i]);
    }
    print_message("%u entities\n", counts[0]);
    join_rig_stop(&rig);
    scene_destroy(scene);
    free(large);
}

/* A client of an ordinary scene sees all of it two round trips after the server's WELCOME, which is
 * one and a half after the client has it; its own pictures and the snapshots' beat come on top. */
static void test_first_picture(void **state)
{
    PL_UNUSED(state);
    static const struct {
        const char *name;
        f64 rtt_ms;
    } rows[] = {
        {"playground", 100.0}, {"playground", 250.0}, {"boxes1000", 100.0}, {"cloth", 100.0}};
    for (u32 i = 0; i < PL_COUNT(rows); i++) {
        NetsimOptions line = {
            .seed = 1, .delay_ms = rows[i].rtt_ms / 2.0, .rate_bytes_s = 20000000 / 8};
        Scene *scene = join_scene(rows[i].name);
        JoinRig rig;
        join_rig_start(&rig, scene, NULL, 0);
        Connection *client = join_rig_connect(&rig, &line, &line);
        Joining joining = join(&rig, client, 5000.0);
        f64 trips = (joining.picture_ms - joining.welcome_ms) / rows[i].rtt_ms + 0.5;
        print_message("%-10s %3.0f ms: world after %3.0f ms, picture after %3.0f ms, %.2f round "
                      "trips after WELCOME\n",
                      rows[i].name, rows[i].rtt_ms, joining.world_ms, joining.picture_ms, trips);
        assert_true(trips <= 2.0);
        connection_destroy(client);
        join_rig_stop(&rig);
        scene_destroy(scene);
    }
}

/* A narrow line with 300 ms of queue, and the same with loss and a long delay. The world's blocks
 * and the states of 1000 boxes need at least 2.6 s of it, 3.7 s with loss. */
static void test_narrow(void **state)
{
    PL_UNUSED(state);
    static const struct {
        f64 loss, delay_ms, world_ms, picture_ms;
    } rows[] = {{0.0, 25.0, 2500.0, 4500.0}, {0.3, 200.0, 8000.0, 12000.0}};
    Scene *scene = join_scene("boxes1000");
    for (u32 i = 0; i < 4; i++) {
        NetsimOptions down = {.seed = 100 + i,
                              .loss = rows[i > 0].loss,
                              .delay_ms = rows[i > 0].delay_ms,
                              .rate_bytes_s = 8000,
                              .queue_ms = 300};
        NetsimOptions up = down;
        up.seed += 10;
        up.rate_bytes_s = 0;
        JoinRig rig;
        join_rig_start(&rig, scene, NULL, 0);
        Connection *client = join_rig_connect(&rig, &up, &down);
        Joining joining = join(&rig, client, 20000.0);
        print_message(
            "64 kbit/s, loss %.0f %%, %.0f ms: world after %.1f s, picture after %.1f s\n",
            100.0 * down.loss, 2.0 * down.delay_ms, joining.world_ms * 1e-3,
            joining.picture_ms * 1e-3);
        assert_true(joining.world_ms <= rows[i > 0].world_ms);
        assert_true(joining.picture_ms <= rows[i > 0].picture_ms);
        connection_destroy(client);
        join_rig_stop(&rig);
    }
    scene_destroy(scene);
}

/* First snapshots are built on a thread of their own, and this does not wait for it: clients come
 * and go, and the world begins again, while it has their senders. Who stays has the whole picture.
 */
static void test_storm(void **state)
{
    PL_UNUSED(state);
    enum {
        CLIENTS = 16,
        STORM_MS = 6000
    };
    Connection *clients[CLIENTS];
    JoinRig rig;
    Scene *scene = join_scene(LARGE_SHARE > 1 ? "playground" : "everything");
    NetsimOptions line = {.seed = 3, .delay_ms = 15.0, .loss = 0.02};
    Input reset = {.kind = INPUT_RESET, .user = 9, .rotation = quat_identity()};
    join_rig_start(&rig, scene, NULL, 0);
    rig.unsettled = true;
    for (u32 i = 0; i < CLIENTS; i++) {
        clients[i] = join_rig_connect(&rig, &line, &line);
    }
    for (u32 ms = 0; ms < STORM_MS; ms++) {
        u32 i = (u32)(random_u64(7, ms) % CLIENTS);
        if (ms % 13 == 0) {
            connection_destroy(clients[i]);
            clients[i] = join_rig_connect(&rig, &line, &line);
        }
        if (ms % 700 == 500) {
            join_rig_input(&rig, &reset);
        }
        join_rig_step(&rig, clients, CLIENTS);
    }
    for (u32 ms = 0; ms < 8000; ms++) {
        join_rig_step(&rig, clients, CLIENTS);
        if (ms % 8 == 0) {
            clock_sleep_until_ns(clock_now_ns() + 1000000); /* the other thread is not starved */
        }
    }
    for (u32 i = 0; i < CLIENTS; i++) {
        ConnectionStats stats;
        connection_stats(clients[i], &stats);
        assert_true(join_picture_whole(clients[i]));
        assert_int_equal(stats.desyncs, 0);
        assert_int_equal(stats.malformed, 0);
        if (i % 2 == 0) {
            connection_destroy(clients[i]); /* the others are there when the host ends */
        }
    }
    join_rig_stop(&rig);
    for (u32 i = 1; i < CLIENTS; i += 2) {
        connection_destroy(clients[i]);
    }
    scene_destroy(scene);
}

/* ---- while a world is transferred ---- */

static void entities_same(JoinRig *rig, Connection *client)
{
    MessageWorld world;
    u32 count = 0;
    const Entity *entities = connection_entities(client, &count, NULL);
    rig->source->ops->describe(rig->source, &world);
    assert_int_equal(count, world.entity_count);
    for (u32 i = 0; i < count; i++) {
        u32 k = 0;
        while (k < world.entity_count && world.entities[k].id != entities[i].id) {
            k++;
        }
        assert_true(k < world.entity_count);
    }
}

typedef struct Slow {
    JoinRig rig;
    Scene *scene;
    u8 *large;
    u32 large_bytes;
    Connection *client;
} Slow;

/* 500 kB over 1.33 Mbit/s and 80 ms: about 3.5 s. */
static void slow_start(Slow *slow, f64 loss)
{
    NetsimOptions down = {.seed = 5,
                          .delay_ms = 40.0,
                          .rate_bytes_s = 4000000 / 3 / 8,
                          .loss = loss,
                          .jitter_ms = 5.0};
    NetsimOptions up = {.seed = 6, .delay_ms = 40.0, .loss = loss, .jitter_ms = 5.0};
    slow->scene = join_scene("dominoes");
    slow->large = join_large_scene(500000, &slow->large_bytes);
    join_rig_start(&slow->rig, slow->scene, slow->large, slow->large_bytes);
    slow->client = join_rig_connect(&slow->rig, &up, &down);
}

static void slow_stop(Slow *slow)
{
    assert_int_equal(connection_state(slow->client), CONNECTION_LIVE);
    assert_in_sync(slow->client);
    connection_destroy(slow->client);
    join_rig_stop(&slow->rig);
    scene_destroy(slow->scene);
    free(slow->large);
}

/* Entities are removed while their world is transferred: in the end the client's list equals the
 * server's. */
static void test_events_wait(void **state)
{
    PL_UNUSED(state);
    for (u32 i = 0; i < 2; i++) {
        Slow slow;
        MessageWorld world;
        u32 removed = 0, before;
        slow_start(&slow, i == 0 ? 0.0 : 0.05);
        slow.rig.source->ops->describe(slow.rig.source, &world);
        before = world.entity_count;
        steps(&slow.rig, slow.client, 600);
        for (; removed < 15; removed++) {
            Input input = {.kind = INPUT_REMOVE, .user = 9, .sequence = removed + 1};
            slow.rig.source->ops->describe(slow.rig.source, &world);
            input.entity = world.entities[world.entity_count / 2].id;
            input.rotation = quat_identity();
            join_rig_input(&slow.rig, &input);
            steps(&slow.rig, slow.client, 100);
        }
        assert_null(connection_fields(slow.client)); /* still being transferred */
        Joining joining = join(&slow.rig, slow.client, 10000.0);
        print_message("500 kB at 1.33 Mbit/s, %u removed meanwhile: picture %.0f ms later\n",
                      removed, joining.picture_ms);
        steps(&slow.rig, slow.client, 300);
        slow.rig.source->ops->describe(slow.rig.source, &world);
        assert_int_equal(world.entity_count, before - removed);
        entities_same(&slow.rig, slow.client);
        slow_stop(&slow);
    }
}

/* The world is reset while it is transferred, and once more after that: the client gives up the old
 * transfer for the newest. */
static void test_epochs(void **state)
{
    PL_UNUSED(state);
    Slow slow;
    Input reset = {.kind = INPUT_RESET, .user = 9, .rotation = quat_identity()};
    slow_start(&slow, 0.02);
    for (u32 i = 0; i < 3; i++) {
        steps(&slow.rig, slow.client, 1000);
        reset.sequence++;
        join_rig_input(&slow.rig, &reset);
    }
    assert_null(connection_fields(slow.client));
    Joining joining = join(&slow.rig, slow.client, 20000.0);
    print_message("three resets, then a picture after %.0f ms\n", joining.picture_ms);
    assert_true(joining.picture_ms < 4500.0); /* as if it began with the last reset */
    assert_int_equal(connection_epoch(slow.client), 4);
    entities_same(&slow.rig, slow.client);
    reset.sequence++;
    join_rig_input(&slow.rig, &reset);
    steps(&slow.rig, slow.client, 5500);
    assert_int_equal(connection_epoch(slow.client), 5);
    assert_true(join_picture_whole(slow.client));
    assert_int_equal(connection_worlds(slow.client), 1); /* the scene is the same */
    slow_stop(&slow);
}

/* Five join at once over lines of their own: none delays the others. */
static void test_crowd(void **state)
{
    PL_UNUSED(state);
    enum {
        CROWD = 5
    };
    Slow slow;
    Connection *clients[CROWD];
    slow_start(&slow, 0.0);
    clients[0] = slow.client;
    for (u32 i = 1; i < CROWD; i++) {
        NetsimOptions down = {
            .seed = 20 + i, .delay_ms = 10.0 * i, .rate_bytes_s = 8000000 / 3 / 8, .loss = 0.01};
        NetsimOptions up = {.seed = 40 + i, .delay_ms = 10.0 * i};
        clients[i] = join_rig_connect(&slow.rig, &up, &down);
    }
    f64 done_ms[CROWD] = {0};
    for (u32 ms = 0; ms < 6000; ms++) {
        join_rig_step(&slow.rig, clients, CROWD);
        for (u32 i = 0; i < CROWD; i++) {
            if (done_ms[i] == 0.0 && connection_fields(clients[i]) != NULL) {
                done_ms[i] = join_rig_ms(&slow.rig);
            }
        }
    }
    for (u32 i = 0; i < CROWD; i++) {
        print_message("client %u: world after %.0f ms\n", i, done_ms[i]);
        assert_true(done_ms[i] > 0.0 && done_ms[i] < (i == 0 ? 4200.0 : 3000.0));
        assert_true(join_picture_whole(clients[i]));
    }
    for (u32 i = 1; i < CROWD; i++) {
        connection_destroy(clients[i]);
    }
    slow_stop(&slow);
}

/* The same through ENet, real sockets and real time: it completes; prints how long it took. */
static void test_sockets(void **state)
{
    PL_UNUSED(state);
    NetsimOptions line = {.seed = 3, .delay_ms = 25.0, .rate_bytes_s = 50000000 / 8, .loss = 0.01};
    Rig rig;
    UdpProxy proxy;
    ErrorText error = {0};
    ConnectionOptions options = {.name = "far"};
    u32 bytes = 0;
    char address[32];
    u8 *large = join_large_scene(4000000 / LARGE_SHARE, &bytes);
    rig_start(&rig, NULL);
    fake_source_scene(rig.source, large, bytes);
    assert_true(udp_proxy_start(&proxy, rig.port, &line));
    snprintf(address, sizeof address, "127.0.0.1:%u", proxy.port);
    Connection *client =
        connection_create(link_enet_connect(address, NULL, &error), &options, &error);
    u64 begun_ns = clock_now_ns();
    assert_true(rig_until(&client, 1, CONNECTION_LIVE));
    print_message("%u bytes over sockets, 50 Mbit/s, 50 ms, loss 1 %%: %.2f s\n", bytes,
                  (f64)(clock_now_ns() - begun_ns) * 1e-9);
    assert_int_equal(connection_scene(client)->byte_count, bytes);
    assert_memory_equal(connection_scene(client)->bytes, large, bytes);
    assert_in_sync(client);
    connection_destroy(client);
    rig_stop(&rig);
    udp_proxy_stop(&proxy);
    free(large);
}

/* ---- a hostile server ---- */

typedef struct Villain {
    Link *link;
    Connection *client;
    u64 now_ms;
    bool welcomed;
    bool repeats; /* sends WELCOME on the unreliable channel too, before and after */
} Villain;

static void villain_say(Villain *villain, u32 channel, const void *plain, u32 bytes)
{
    villain->link->ops->send(villain->link, 0, channel, plain, bytes);
}

static void villain_message(Villain *villain, const Message *message)
{
    u32 bytes = 0;
    u8 *plain = message_encode(message, &bytes);
    assert_non_null(plain);
    if (villain->welcomed) {
        villain_say(villain, CHANNEL_BULK, plain, bytes);
    } else {
        static const u32 ways[] = {CHANNEL_INPUT, CHANNEL_CONTROL, CHANNEL_INPUT};
        for (u32 i = villain->repeats ? 0 : 1; i < (villain->repeats ? 3u : 2u); i++) {
            villain->link->ops->send(villain->link, 0, ways[i], plain, bytes);
        }
    }
    message_free(plain);
}

static void villain_welcome(Villain *villain, const LinkEvent *event)
{
    Message message, welcome = {.kind = MESSAGE_WELCOME};
    u8 *storage = NULL;
    assert_int_equal(message_decode(event->data, event->bytes, &message, &storage, NULL), 0);
    assert_int_equal(message.kind, MESSAGE_HELLO);
    welcome.welcome = (MessageWelcome){.major = PROTOCOL_MAJOR,
                                       .minor = PROTOCOL_MINOR,
                                       .user = 1,
                                       .tick_rate = 60,
                                       .snapshot_rate = 30,
                                       .resume = 1};
    villain_message(villain, &welcome);
    villain->welcomed = true;
    message_free(storage);
}

static void villain_run(Villain *villain, u32 ms)
{
    for (u32 i = 0; i < ms; i++) {
        LinkEvent event;
        villain->now_ms++;
        while (villain->link->ops->poll(villain->link, villain->now_ms, &event)) {
            if (event.kind == LINK_RECEIVED && !villain->welcomed) {
                villain_welcome(villain, &event);
            }
        }
        connection_poll(villain->client, villain->now_ms * 1000000);
    }
}

static void villain_start_as(Villain *villain, bool repeats)
{
    ConnectionOptions options = {.name = "victim"};
    ErrorText error = {0};
    *villain = (Villain){.link = link_memory_listen(1), .repeats = repeats};
    villain->client =
        connection_create(link_memory_connect(villain->link, NULL, NULL), &options, &error);
    villain_run(villain, 20);
    assert_int_equal(connection_state(villain->client), CONNECTION_JOINING);
}

static void villain_start(Villain *villain)
{
    villain_start_as(villain, false);
}

static void villain_stop(Villain *villain)
{
    connection_destroy(villain->client);
    villain->link->ops->destroy(villain->link);
}

static void villain_place(Villain *villain, u32 transfer, u32 first)
{
    Message place = {.kind = MESSAGE_BULK};
    place.bulk.transfer = transfer;
    place.bulk.first = first;
    villain_message(villain, &place);
}

static void villain_block(Villain *villain, u32 number, u32 transfer, u32 size, u32 block)
{
    u8 packet[BULK_PACKET_BYTES_MAX] = {0};
    u16 index = (u16)block;
    memcpy(packet, &number, 4);
    memcpy(packet + 4, &transfer, 4);
    memcpy(packet + 8, &size, 4);
    memcpy(packet + 12, &index, 2);
    u32 bytes = u32_min(size - block * BULK_BLOCK_BYTES, BULK_BLOCK_BYTES);
    villain_say(villain, CHANNEL_BLOCKS, packet, BULK_BLOCK_HEAD_BYTES + bytes);
}

/* A transfer that never completes: a block every ten seconds, then none. */
static void test_endless(void **state)
{
    PL_UNUSED(state);
    Villain villain;
    villain_start(&villain);
    villain_place(&villain, 0, 0);
    villain_block(&villain, 1, 0, 20000, 0);
    villain_run(&villain, 10000);
    villain_block(&villain, 2, 0, 20000, 1);
    villain_run(&villain, 9000);
    assert_int_equal(connection_state(villain.client), CONNECTION_JOINING);
    villain_run(&villain, 7000); /* 20 kB may take 25 s */
    assert_int_equal(connection_state(villain.client), CONNECTION_CLOSED);
    villain_stop(&villain);
    /* Announcing a large size does not extend the time-out of a silent server. */
    villain_start(&villain);
    villain_place(&villain, 0, 0);
    villain_block(&villain, 1, 0, 16000000, 0);
    villain_run(&villain, 21000);
    assert_int_equal(connection_state(villain.client), CONNECTION_CLOSED);
    villain_stop(&villain);
}

/* More messages during a transfer than a client buffers; invalid epochs and ticks; invalid
 * contents. */
static void test_refused(void **state)
{
    PL_UNUSED(state);
    Villain villain;
    Message chat = {.kind = MESSAGE_CHAT};
    memset(chat.chat.text, 'x', TEXT_BYTES_MAX - 1);
    villain_start(&villain);
    villain_place(&villain, 0, 0);
    for (u32 i = 0; i < 40000 && connection_state(villain.client) != CONNECTION_CLOSED; i++) {
        villain_message(&villain, &chat);
        if (i % 100 == 0) {
            villain_run(&villain, 10);
        }
    }
    assert_int_equal(connection_state(villain.client), CONNECTION_CLOSED);
    assert_int_equal(connection_error(villain.client)->code, ERROR_LIMIT);
    villain_stop(&villain);

    villain_start(&villain);
    villain_place(&villain, 0, 1000000);
    villain_run(&villain, 20);
    assert_int_equal(connection_state(villain.client), CONNECTION_CLOSED);
    villain_stop(&villain);

    villain_start(&villain);
    villain_place(&villain, 5, 0); /* not the next epoch */
    villain_run(&villain, 20);
    assert_int_equal(connection_state(villain.client), CONNECTION_CLOSED);
    villain_stop(&villain);

    villain_start(&villain);
    villain_place(&villain, 0, 0);
    villain_block(&villain, 1, 0, 3000, 0);
    villain_block(&villain, 2, 0, 3000, 2);
    villain_block(&villain, 3, 0, 2999, 1); /* another size than announced: ignored */
    villain_run(&villain, 20);
    assert_int_equal(connection_state(villain.client), CONNECTION_JOINING);
    villain_block(&villain, 4, 0, 3000, 1); /* complete, but its hash is wrong */
    villain_run(&villain, 20);
    assert_int_equal(connection_state(villain.client), CONNECTION_CLOSED);
    assert_int_equal(connection_error(villain.client)->code, ERROR_FORMAT);
    villain_stop(&villain);
}

/* The first WELCOME received counts, on either channel; repeats are no errors. */
static void test_welcome_repeated(void **state)
{
    PL_UNUSED(state);
    Villain villain;
    Message notice = {.kind = MESSAGE_NOTICE};
    ConnectionStats stats;
    snprintf(notice.notice.text, sizeof notice.notice.text, "well");
    villain_start_as(&villain, true);
    assert_int_equal(connection_user(villain.client), 1);
    connection_stats(villain.client, &stats);
    assert_int_equal(stats.malformed, 0);
    villain_message(&villain, &notice);
    villain_run(&villain, 50);
    assert_int_equal(connection_state(villain.client), CONNECTION_JOINING);
    connection_stats(villain.client, &stats);
    assert_int_equal(stats.malformed, 0);
    villain_stop(&villain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_large),         cmocka_unit_test(test_packed_in_parts),
        cmocka_unit_test(test_first_picture), cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_events_wait),   cmocka_unit_test(test_epochs),
        cmocka_unit_test(test_crowd),         cmocka_unit_test(test_storm),
        cmocka_unit_test(test_sockets),       cmocka_unit_test(test_endless),
        cmocka_unit_test(test_refused),       cmocka_unit_test(test_welcome_repeated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
