/*
 * test_connection.c: a connection against a small scripted server over two bad networks in memory:
 * joining, loss and reordering, inputs exactly once, epochs, spawns, hostile bytes, reconnecting.
 */
#include "client/link/connection.h"
#include "client/link/timeline.h"
#include "server/author/scene_load.h"
#include "shared/math/random.h"
#include "tests/support/link_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS 1000000ull

enum {
    BODIES = 100,
    STEP_MS = 4,
    TICK_RATE = 60,
};

/* ---- the scripted server ---- */

typedef struct Server {
    Link *link;
    u32 peer;
    NetsimOptions network;
    Scene *scene;
    FieldSet *fields;
    Entity entities[BODIES + 8];
    u32 entity_count;
    SnapshotSender *sender;
    ChunkCache *cache;
    History history;
    u64 now_ms, tick, next_tick_ms;
    u8 epoch;
    u32 input_next; /* expected sequence */
    Input inputs[4096];
    u32 input_count;
    u64 hellos, resumed, controls;
    u32 watched, watches; /* the client's debug subscription, and how often it sent one */
    bool pictures;        /* a debug picture is sent each 100 ms */
    u64 next_picture_ms;
    bool welcomed, resting, speaks;
    u16 client_ms;
    u64 client_ms_at;
    u8 stale[STATE_PAYLOAD_BYTES_MAX]; /* the last state packet */
    u32 stale_bytes;
} Server;

static const FieldDesc fields_of_world[2] = {
    {.kind = FIELD_POSES,
     .channels = 1,
     .name = "bodies",
     .capacity = BODIES + 8,
     .quantum = 1.0f / 512.0f,
     .spacing = {1, 1, 1}},
    {.kind = FIELD_SCALARS,
     .channels = 1,
     .name = "probes",
     .capacity = 4,
     .quantum = 1.0f,
     .spacing = {1, 1, 1}},
};

static Entity body_entity(u32 id, u32 slot)
{
    Entity entity = {.id = id, .movable = 1, .generation = 1, .first = slot, .count = 1};
    snprintf(entity.name, sizeof entity.name, "box-%u", id);
    entity.mass_kg = 1.0f;
    entity.appearance.kind = APPEARANCE_SHAPE;
    entity.appearance.shape = (Shape){.kind = SHAPE_BOX, .half = {0.5f, 0.5f, 0.5f}};
    for (u32 c = 0; c < 4; c++) {
        entity.appearance.color[c] = entity.appearance.color2[c] = 1.0f;
    }
    entity.appearance.roughness = 0.5f;
    return entity;
}

static void server_say(Server *server, const Message *message)
{
    u32 bytes;
    u8 *plain = message_encode(message, &bytes);
    assert_non_null(plain);
    server->link->ops->send(server->link, server->peer, CHANNEL_CONTROL, plain, bytes);
    message_free(plain);
}

static void server_world(Server *server)
{
    Message message = {.kind = MESSAGE_WORLD};
    message.world = (MessageWorld){.epoch = server->epoch,
                                   .tick = server->tick,
                                   .scene = server->scene->bytes,
                                   .scene_bytes = server->scene->byte_count,
                                   .fields = server->fields->fields,
                                   .field_count = server->fields->count,
                                   .entities = server->entities,
                                   .entity_count = server->entity_count};
    server_say(server, &message);
}

static void server_hello(Server *server, const MessageHello *hello)
{
    server->hellos++;
    server->resumed += hello->resume == 77;
    Message welcome = {.kind = MESSAGE_WELCOME};
    welcome.welcome = (MessageWelcome){.major = PROTOCOL_MAJOR,
                                       .user = 5,
                                       .role = ROLE_OPERATOR,
                                       .tick_rate = TICK_RATE,
                                       .snapshot_rate = 30,
                                       .resume = 77};
    server_say(server, &welcome);
    server->welcomed = true;
    server->input_next = 1;
    snapshot_sender_destroy(server->sender);
    server->sender = snapshot_sender_create(server->fields);
    server_world(server);
}

static void server_input(Server *server, const u8 *data, u32 bytes)
{
    static InputPacket packet;
    assert_int_equal(input_packet_decode(&packet, data, bytes), 0);
    server->client_ms = packet.send_ms;
    server->client_ms_at = server->now_ms;
    u32 lost;
    snapshot_sender_ack(server->sender, packet.ack, &lost);
    for (u32 i = 0; i < packet.count; i++) {
        if (packet.inputs[i].sequence == server->input_next) {
            server->inputs[server->input_count++ % PL_COUNT(server->inputs)] = packet.inputs[i];
            server->input_next++;
        }
    }
}

static void server_receive(Server *server, const LinkEvent *event)
{
    if (!server->welcomed) {
        Message message;
        u8 *storage = NULL;
        if (message_decode(event->data, event->bytes, &message, &storage, NULL) == 0 &&
            message.kind == MESSAGE_HELLO) {
            server_hello(server, &message.hello);
        }
        message_free(storage);
        return;
    }
    if (event->channel == CHANNEL_INPUT) {
        server_input(server, event->data, event->bytes);
    } else {
        Message message;
        u8 *storage = NULL;
        assert_int_equal(message_decode(event->data, event->bytes, &message, &storage, NULL), 0);
        server->controls += message.kind == MESSAGE_CONTROL;
        if (message.kind == MESSAGE_DEBUG_SUBSCRIBE) {
            server->watched = message.debug_subscribe.mask;
            server->watches++;
        }
        message_free(storage);
    }
}

static void packet_emit(void *context, const u8 *packet, u32 bytes)
{
    Server *server = context;
    memmove(server->stale, packet, bytes);
    server->stale_bytes = bytes;
    server->link->ops->send(server->link, server->peer, CHANNEL_STATE, packet, bytes);
}

static void server_frame(Server *server)
{
    Frame *frame = frame_create(server->fields, server->tick, 0);
    const FieldDesc *field = &server->fields->fields[0];
    QPose *poses = frame_poses(frame, 0);
    Frame *newest = server->history.newest;
    if (server->resting && newest != NULL) {
        memcpy(frame->data, newest->data, server->fields->frame_bytes);
    } else {
        f32 t = (f32)server->tick / TICK_RATE;
        for (u32 i = 0; i < server->entity_count; i++) {
            f32 x = (f32)i + sinf(t + (f32)i), y = cosf(2.0f * t + (f32)i);
            QPose *pose = &poses[server->entities[i].first];
            quantize_position(field, vec3(x, y, 0.0f), pose->position);
            pose->rotation = quantize_rotation(quat_normalize((Quat){1.0f, x, y, 0.0f}));
            pose->flags = POSE_LIVE | POSE_AWAKE;
            pose->generation = 1;
        }
    }
    history_push(&server->history, frame);
    frame_release(frame);
}

static void server_snapshot(Server *server)
{
    chunk_cache_begin(server->cache, &server->history);
    SnapshotHeader header = {.tick = (u32)server->tick,
                             .input_ack = server->input_next - 1,
                             .send_ms = (u16)server->now_ms,
                             .speed = 1024,
                             .flags = (u8)(server->epoch << 4)};
    header.echo_ms = (u16)(server->client_ms + (server->now_ms - server->client_ms_at));
    SnapshotView view = {.forward = {0, 0, -1}, .pixels_per_radian = 800};
    snapshot_sender_build(server->sender, server->cache, &view, &header,
                          (SnapshotLine){4000, server->now_ms, 200}, packet_emit, server);
}

/* A line at the height of the tick. */
static void server_picture(Server *server)
{
    DebugLine line = {{0, 0, 0}, {0, (f32)server->tick, 0}, DEBUG_LINE_CONTACT};
    Message message = {.kind = MESSAGE_DEBUG};
    message.debug = (DebugPicture){.tick = server->tick,
                                   .mask = server->watched,
                                   .lines_all = 1,
                                   .lines = &line,
                                   .line_count = 1};
    server_say(server, &message);
}

static void server_step(Server *server)
{
    LinkEvent event;
    while (server->link->ops->poll(server->link, server->now_ms, &event)) {
        if (event.kind == LINK_RECEIVED) {
            server_receive(server, &event);
        } else if (event.kind == LINK_CONNECTED) {
            server->peer = event.peer;
            server->welcomed = false;
        }
    }
    if (server->pictures && server->welcomed && server->now_ms >= server->next_picture_ms) {
        server->next_picture_ms = server->now_ms + 100;
        server_picture(server);
    }
    while (server->now_ms >= server->next_tick_ms) {
        server->next_tick_ms = server->now_ms + 1000 / TICK_RATE;
        server->tick++;
        server_frame(server);
        if (server->welcomed && server->speaks && server->tick % 2 == 0) {
            server_snapshot(server);
        }
    }
}

/* Another link to the same server, which drops its session when that link connects. */
static Link *server_dial(void *context, ErrorText *error)
{
    (void)error;
    Server *server = context;
    NetsimOptions up = server->network, down = server->network;
    down.seed = up.seed + 1;
    return link_memory_connect(server->link, &up, &down);
}

static Server *server_create(NetsimOptions network)
{
    static const char json[] = "{\"name\": \"test\"}";
    Server *server = calloc(1, sizeof *server);
    ErrorText error = {0};
    server->network = network;
    server->link = link_memory_listen(4);
    server->scene = scene_parse(json, sizeof json - 1, "test.json", &error);
    if (server->scene == NULL) {
        fail_msg("%s", error.text);
    }
    server->fields = field_set_create(fields_of_world, 2);
    assert_non_null(server->fields);
    for (u32 i = 0; i < BODIES; i++) {
        server->entities[i] = body_entity(i + 1, i);
    }
    server->entity_count = BODIES;
    server->cache = chunk_cache_create();
    history_init(&server->history);
    server->peer = UINT32_MAX;
    server->epoch = 1;
    server->now_ms = 1000;
    server->tick = 100;
    server->speaks = true;
    assert_int_equal(seal_start(), 0);
    return server;
}

static void server_destroy(Server *server)
{
    server->link->ops->destroy(server->link);
    snapshot_sender_destroy(server->sender);
    chunk_cache_destroy(server->cache);
    history_finish(&server->history);
    field_set_release(server->fields);
    scene_destroy(server->scene);
    free(server);
}

static Connection *client_create(Server *server)
{
    ConnectionOptions options = {
        .name = "tester", .reconnect = true, .dial = server_dial, .dial_context = server};
    ErrorText error = {0};
    Connection *connection = connection_create(server_dial(server, &error), &options, &error);
    assert_non_null(connection);
    return connection;
}

static void run(Server *server, Connection *connection, u32 ms)
{
    for (u64 end = server->now_ms + ms; server->now_ms < end; server->now_ms += STEP_MS) {
        server_step(server);
        connection_poll(connection, server->now_ms * MS);
    }
}

static const NetsimOptions perfect = {.seed = 1, .delay_ms = 20};
static const NetsimOptions bad = {
    .seed = 2, .delay_ms = 40, .jitter_ms = 100, .loss = 0.2, .duplicate = 0.02};

/* Once the world rests the client shows the server's frame, bit for bit. */
static void assert_same_world(Server *server, Connection *connection)
{
    const Frame *frame = server->history.newest;
    const QPose *poses = frame_poses(frame, 0);
    for (u32 i = 0; i < server->entity_count; i++) {
        ShownPose shown;
        u32 slot = server->entities[i].first;
        assert_true(timeline_pose(connection_timeline(connection), 0, slot, &shown));
        Vec3 position = dequantize_position(&server->fields->fields[0], poses[slot].position);
        Quat rotation = dequantize_rotation(poses[slot].rotation);
        assert_memory_equal(&shown.position, &position, sizeof position);
        assert_memory_equal(&shown.orientation, &rotation, sizeof rotation);
    }
    ConnectionStats stats;
    connection_stats(connection, &stats);
    assert_int_equal(stats.desyncs, 0);
}

static void test_join(void **state)
{
    (void)state;
    Server *server = server_create(perfect);
    Connection *connection = client_create(server);
    assert_int_equal(connection_state(connection), CONNECTION_CONNECTING);
    run(server, connection, 2000);
    assert_int_equal(connection_state(connection), CONNECTION_LIVE);
    assert_int_equal(connection_user(connection), 5);
    assert_int_equal(connection_role(connection), ROLE_OPERATOR);
    assert_string_equal(connection_scene(connection)->name, "test");
    u32 count;
    u64 version;
    connection_entities(connection, &count, &version);
    assert_int_equal(count, BODIES);
    assert_non_null(connection_entity_named(connection, "box-7"));
    ConnectionStats stats;
    connection_stats(connection, &stats);
    assert_true(stats.snapshots > 50);
    assert_true(stats.rtt_ms > 38 && stats.rtt_ms < 60);
    assert_int_equal(stats.malformed, 0);
    assert_int_equal(connection_control(connection, CONTROL_PAUSE, 0), 0);
    run(server, connection, 100);
    assert_int_equal(server->controls, 1);
    server->resting = true;
    run(server, connection, 1000);
    assert_same_world(server, connection);
    connection_destroy(connection);
    server_destroy(server);
}

/* Every input is processed once and in order, and the world converges. */
static void test_bad_network(void **state)
{
    (void)state;
    Server *server = server_create(bad);
    Connection *connection = client_create(server);
    run(server, connection, 3000);
    assert_int_equal(connection_state(connection), CONNECTION_LIVE);
    u32 made = 0, last = 0;
    for (u32 i = 0; i < 1000; i++) {
        Input input = {.kind = INPUT_REMOVE, .entity = i + 1};
        u32 sequence = connection_input(connection, &input);
        if (sequence != 0) {
            assert_int_equal(sequence, last + 1);
            last = sequence;
            made++;
        }
        run(server, connection, 16);
    }
    server->resting = true;
    run(server, connection, 3000);
    assert_true(made > 900);
    assert_int_equal(server->input_count, made);
    for (u32 i = 0; i < made; i++) {
        assert_int_equal(server->inputs[i].sequence, i + 1);
    }
    ConnectionStats stats;
    connection_stats(connection, &stats);
    print_message("loss %.3f, lost %llu, rtt %.0f ms, delay %.0f ms, starved %.3f\n", stats.loss,
                  (unsigned long long)stats.packets_lost, stats.rtt_ms,
                  timeline_delay_s(connection_timeline(connection)) * 1e3,
                  timeline_starved(connection_timeline(connection)));
    assert_true(stats.loss > 0.08 && stats.loss < 0.35);
    assert_true(stats.rtt_ms > 80 && stats.rtt_ms < 400);
    assert_same_world(server, connection);
    connection_destroy(connection);
    server_destroy(server);
}

/* Of a drag's targets only the newest is sent, and the release after them is never lost. */
static void test_moves(void **state)
{
    (void)state;
    Server *server = server_create(bad);
    Connection *connection = client_create(server);
    run(server, connection, 3000);
    Input grab = {.kind = INPUT_GRAB, .entity = 1};
    grab.ray.direction = vec3(0, 0, -1);
    assert_true(connection_input(connection, &grab) != 0);
    for (u32 i = 0; i < 2000; i++) {
        Input move = {.kind = INPUT_MOVE, .target = {(f32)i, 0, 0}};
        connection_input(connection, &move);
        run(server, connection, 4);
    }
    Input release = {.kind = INPUT_RELEASE};
    assert_true(connection_input(connection, &release) != 0);
    run(server, connection, 3000);
    u32 count = server->input_count;
    assert_int_equal(server->inputs[0].kind, INPUT_GRAB);
    assert_int_equal(server->inputs[count - 1].kind, INPUT_RELEASE);
    assert_true(count > 100 && count < 1000);
    f32 before = -1.0f;
    for (u32 i = 1; i + 1 < count; i++) {
        assert_int_equal(server->inputs[i].kind, INPUT_MOVE);
        assert_true(server->inputs[i].target.x > before);
        before = server->inputs[i].target.x;
    }
    assert_true(before > 1800.0f);
    connection_destroy(connection);
    server_destroy(server);
}

static void test_spawn_and_epoch(void **state)
{
    (void)state;
    Server *server = server_create(bad);
    Connection *connection = client_create(server);
    run(server, connection, 5000);
    assert_int_equal(connection_state(connection), CONNECTION_LIVE);
    server->entities[server->entity_count++] = body_entity(BODIES + 1, BODIES);
    Event events[2] = {{.kind = EVENT_SPAWN}, {.kind = EVENT_REFUSED, .user = 5, .sequence = 1}};
    events[0].entity = server->entities[BODIES];
    Message message = {.kind = MESSAGE_EVENTS};
    message.events = (MessageEvents){server->tick, events, 2};
    server_say(server, &message);
    run(server, connection, 2000);
    const Entity *spawned = connection_entity(connection, BODIES + 1);
    assert_non_null(spawned);
    ShownPose shown;
    assert_true(timeline_pose(connection_timeline(connection), 0, spawned->first, &shown));
    assert_true(shown.flags & POSE_LIVE);
    ConnectionNews news;
    assert_true(connection_news(connection, &news));
    assert_int_equal(news.event.kind, EVENT_REFUSED);
    ConnectionStats stats;
    connection_stats(connection, &stats);
    assert_int_equal(stats.refused, 1);
    /* A seek back: another epoch, earlier ticks. A packet of the old epoch arrives late. */
    u8 stale[STATE_PAYLOAD_BYTES_MAX];
    u32 stale_bytes = server->stale_bytes;
    memcpy(stale, server->stale, stale_bytes);
    server->tick = 20;
    server->epoch = 2;
    server->entity_count = BODIES;
    history_finish(&server->history);
    history_init(&server->history);
    snapshot_sender_destroy(server->sender); /* which numbers its packets from 0 again */
    server->sender = snapshot_sender_create(server->fields);
    server_world(server);
    run(server, connection, 3000);
    assert_null(connection_entity(connection, BODIES + 1));
    for (u32 i = 0; i < 10; i++) {
        packet_emit(server, stale, stale_bytes);
    }
    run(server, connection, 300);
    f64 behind = (f64)server->tick - timeline_tick(connection_timeline(connection));
    assert_true(behind > 0 && behind < 40);
    server->resting = true;
    run(server, connection, 3000);
    assert_same_world(server, connection);
    connection_stats(connection, &stats);
    assert_true(stats.packets_lost < 400);
    connection_destroy(connection);
    server_destroy(server);
}

/* Random and modified bytes on every channel, before and after the WELCOME. */
static void test_hostile(void **state)
{
    (void)state;
    Server *server = server_create(perfect);
    Connection *connection = client_create(server);
    for (u32 i = 0; i < 4000; i++) {
        u8 junk[300];
        u32 bytes = (u32)(random_u64(9, i) % sizeof junk);
        for (u32 b = 0; b < bytes; b++) {
            junk[b] = (u8)random_u64(10, (u64)i * sizeof junk + b);
        }
        server->link->ops->send(server->link, server->peer, i % CHANNEL_COUNT, junk, bytes);
        run(server, connection, STEP_MS);
    }
    ConnectionStats stats;
    connection_stats(connection, &stats);
    assert_true(stats.malformed > 1000);
    assert_int_equal(connection_state(connection), CONNECTION_LIVE);
    server->resting = true;
    run(server, connection, 2000);
    assert_same_world(server, connection);
    connection_destroy(connection);
    server_destroy(server);
}

/* The server falls silent: the client reconnects and is the same user. */
/* Presences use a channel that may reorder: an old one does not undo a newer one. */
static void test_reordered_presences(void **state)
{
    (void)state;
    Server *server = server_create(perfect);
    Connection *connection = client_create(server);
    run(server, connection, 1000);
    static const u32 serials[] = {1, 3, 2, 3, 4}, grabbed[] = {0, 7, 0, 0, 9},
                     seen[] = {0, 7, 7, 7, 9};
    for (u32 i = 0; i < PL_COUNT(serials); i++) {
        Presence presence = {.user = 1, .grabbed = grabbed[i]};
        Message message = {.kind = MESSAGE_PRESENCE};
        message.presence.presences = &presence;
        message.presence.count = 1;
        message.presence.serial = serials[i];
        server_say(server, &message);
        run(server, connection, 50);
        u32 count;
        const Presence *now = connection_presences(connection, &count);
        assert_int_equal(count, 1);
        assert_int_equal(now[0].grabbed, seen[i]);
    }
    connection_destroy(connection);
    server_destroy(server);
}

static void test_reconnect(void **state)
{
    (void)state;
    Server *server = server_create(perfect);
    Connection *connection = client_create(server);
    run(server, connection, 1000);
    assert_int_equal(connection_state(connection), CONNECTION_LIVE);
    Input input = {.kind = INPUT_REMOVE, .entity = 3};
    assert_int_equal(connection_input(connection, &input), 1);
    server->speaks = false;
    run(server, connection, 9000);
    assert_int_equal(connection_state(connection), CONNECTION_LIVE);
    server->speaks = true;
    server->welcomed = true;
    server->link->ops->disconnect(server->link, server->peer, REFUSE_NONE);
    run(server, connection, 100);
    assert_int_equal(connection_state(connection), CONNECTION_CONNECTING);
    run(server, connection, 3000);
    assert_int_equal(connection_state(connection), CONNECTION_LIVE);
    assert_int_equal(server->hellos, 2);
    assert_int_equal(server->resumed, 1);
    assert_int_equal(connection_input(connection, &input), 1);
    server->resting = true;
    run(server, connection, 1000);
    assert_same_world(server, connection);
    ConnectionStats stats;
    connection_stats(connection, &stats);
    assert_int_equal(stats.packets_lost, 0);
    connection_destroy(connection);
    server_destroy(server);
}

static void test_refused(void **state)
{
    (void)state;
    Server *server = server_create(perfect);
    Connection *connection = client_create(server);
    for (u32 i = 0; i < 100 && !server->welcomed && server->peer == UINT32_MAX; i++) {
        run(server, connection, STEP_MS);
    }
    Message refuse = {.kind = MESSAGE_REFUSE};
    refuse.refuse.reason = REFUSE_FULL;
    server_say(server, &refuse);
    run(server, connection, 500);
    assert_int_equal(connection_state(connection), CONNECTION_CLOSED);
    assert_int_equal(connection_error(connection)->code, ERROR_DENIED);
    assert_non_null(strstr(connection_error(connection)->text, refuse_reason_text(REFUSE_FULL)));
    connection_destroy(connection);
    server_destroy(server);
}

/* Debug pictures are shown with the states of their tick, not on arrival. */
static void test_pictures_wait_for_their_tick(void **state)
{
    (void)state;
    Server *server = server_create(perfect);
    Connection *connection = client_create(server);
    run(server, connection, 1500);
    assert_null(connection_debug(connection));
    connection_debug_subscribe(connection, DEBUG_CONTACTS | DEBUG_ISLANDS);
    server->pictures = true;
    run(server, connection, 1500);
    assert_int_equal(server->watched, DEBUG_CONTACTS | DEBUG_ISLANDS);
    assert_int_equal(server->watches, 1);
    u64 before = 0;
    u32 changes = 0;
    for (u32 i = 0; i < 200; i++) {
        run(server, connection, 20);
        const DebugPicture *picture = connection_debug(connection);
        assert_non_null(picture);
        f64 shown = timeline_tick(connection_timeline(connection));
        /* Never of the future; ten a second are six ticks apart. */
        assert_true((f64)picture->tick <= shown + 1.0);
        assert_true((f64)picture->tick >= shown - 12.0);
        assert_true(picture->tick >= before);
        assert_float_equal(picture->lines[0].to.y, (f32)picture->tick, 0.0f);
        changes += picture->tick != before;
        before = picture->tick;
    }
    assert_true(changes >= 35); /* of 40 */
    connection_debug_subscribe(connection, 0);
    assert_null(connection_debug(connection));
    run(server, connection, 500); /* those under way are dropped */
    assert_null(connection_debug(connection));
    assert_int_equal(server->watched, 0);
    connection_destroy(connection);
    server_destroy(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_bad_network),
        cmocka_unit_test(test_moves),
        cmocka_unit_test(test_spawn_and_epoch),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_reconnect),
        cmocka_unit_test(test_reordered_presences),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_pictures_wait_for_their_tick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
