/*
 * test_fairness.c: several clients share a cache and a world of four kinds of fields that changes
 * constantly, by many times what their lines carry. Each client receives each change within a bound
 * set by its own line, whatever else moves faster, is nearer or larger; once there is capacity
 * again and the world rests, each has the exact state.
 */
#include "protocol/stream/snapshot.h"
#include "shared/math/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    FIELDS = 4,
    CLIENTS = 3,
    CHUNKS_CAPACITY = 256,
    TICKS_A_SNAPSHOT = 2, /* 30 snapshots a second */
    PATH = 3,             /* snapshots of delay, for a packet and again for its acknowledgement */
    SLOTS = 2 * PATH,
    PACKETS = 64,
    WARM = 150,
    NARROW = 300,
    WIDE = 90,
};

typedef struct Flight {
    u8 data[PACKETS][STATE_PAYLOAD_BYTES_MAX];
    u32 bytes[PACKETS];
    u32 count;
    SnapshotAck ack;
} Flight;

typedef struct Client {
    SnapshotSender *sender;
    SnapshotReceiver *receiver;
    SnapshotView view;
    u32 budget;
    f32 loss;
    Flight flights[SLOTS]; /* by snapshot modulo */
    Flight *filling;
    u64 worst_age; /* ticks, after the warm-up */
} Client;

typedef struct World {
    FieldSet *fields;
    Frame *frame; /* the newest */
    History history;
    ChunkCache *cache;
    Client clients[CLIENTS];
    u64 dice;
} World;

static void emit(void *context, const u8 *packet, u32 bytes)
{
    Client *client = context;
    Flight *flight = client->filling;
    assert_true(flight->count < PACKETS);
    memcpy(flight->data[flight->count], packet, bytes);
    flight->bytes[flight->count++] = bytes;
}

static void world_init(World *world)
{
    static const u32 budgets[CLIENTS] = {400, 1200, 5000};
    FieldDesc descs[FIELDS] = {
        {.kind = FIELD_POSES, .channels = 1, .name = "bodies", .capacity = 1280},
        {.kind = FIELD_POINTS, .channels = 1, .name = "points", .capacity = 4096},
        {.kind = FIELD_GRID2, .channels = 1, .name = "water", .dims = {96, 96, 1}},
        {.kind = FIELD_SCALARS, .channels = 1, .name = "probes", .capacity = 256}};
    descs[0].quantum = descs[1].quantum = 1.0f / 512.0f;
    descs[2].quantum = 1.0f / 65535.0f;
    descs[2].capacity = 96 * 96;
    descs[2].spacing = (Vec3){0.1f, 0.1f, 0.1f};
    memset(world, 0, sizeof *world);
    world->fields = field_set_create(descs, FIELDS);
    assert_non_null(world->fields);
    history_init(&world->history);
    world->cache = chunk_cache_create();
    assert_non_null(world->cache);
    for (u32 c = 0; c < CLIENTS; c++) {
        Client *client = &world->clients[c];
        client->sender = snapshot_sender_create(world->fields);
        client->receiver = snapshot_receiver_create(world->fields);
        assert_true(client->sender != NULL && client->receiver != NULL);
        snapshot_sender_allow_coarse(client->sender, true);
        client->budget = budgets[c];
        client->loss = c == 1 ? 0.2f : 0.0f;
        client->view = (SnapshotView){
            .eye = {3.0f * c, 2.0f, 5.0f}, .forward = {0, 0, -1}, .pixels_per_radian = 1000.0f};
    }
}

static void world_finish(World *world)
{
    for (u32 c = 0; c < CLIENTS; c++) {
        snapshot_sender_destroy(world->clients[c].sender);
        snapshot_receiver_destroy(world->clients[c].receiver);
    }
    chunk_cache_destroy(world->cache);
    history_finish(&world->history);
    frame_release(world->frame);
    field_set_release(world->fields);
}

static i32 step(World *world, i32 most)
{
    return (i32)(random_u64(9, world->dice++) % (2 * (u64)most + 1)) - most;
}

/* Chunks move by very different amounts: one in eight moves wildly, and one only creeps. */
static i32 wildness(u32 chunk)
{
    return chunk % 8 == 0 ? 400 : chunk % 8 == 1 ? 1 : 12;
}

static void frame_next(World *world, u64 tick, bool moves)
{
    Frame *frame = frame_create(world->fields, tick, 0), *old = world->frame;
    assert_non_null(frame);
    for (u32 f = 0; f < FIELDS && old != NULL; f++) {
        const FieldDesc *field = &world->fields->fields[f];
        memcpy(frame_field(frame, f), frame_field(old, f),
               (size_t)field->capacity * field_element_bytes(field));
    }
    for (u32 i = 0; i < 1280 && moves; i++) {
        QPose *pose = &frame_poses(frame, 0)[i];
        pose->flags = POSE_LIVE | POSE_AWAKE;
        pose->generation = 1;
        pose->rotation = 0x20080200;
        pose->position[i % 3] += step(world, wildness(i / CHUNK_POSES));
    }
    for (u32 i = 0; i < 4096 && moves; i++) {
        QPoint *point = &frame_points(frame, 1)[i];
        point->generation = 1;
        point->position[i % 3] += step(world, wildness(i / CHUNK_POINTS));
    }
    u16 *cells = (u16 *)frame_field(frame, 2);
    for (u32 i = 0; i < 96 * 96 && moves; i++) {
        cells[i] = (u16)(cells[i] + step(world, wildness(i / 16)) / 2);
    }
    u32 *scalars = (u32 *)frame_field(frame, 3);
    for (u32 i = 0; i < 256 && moves; i++) {
        f32 value = random_f32(7, world->dice++);
        memcpy(&scalars[i], &value, sizeof value);
    }
    history_push(&world->history, frame);
    if (old != NULL) {
        frame_release(old);
    }
    world->frame = frame;
}

/* Snapshots arrive after PATH snapshots, and are acknowledged as many later. */
static void client_exchange(World *world, Client *client, u32 number)
{
    Flight *here = &client->flights[(number + PATH) % SLOTS];
    for (u32 i = 0; i < here->count; i++) {
        if (random_f32(11, world->dice++) >= client->loss) {
            assert_int_equal(
                snapshot_receiver_push(client->receiver, here->data[i], here->bytes[i], NULL), 0);
        }
    }
    here->ack = snapshot_receiver_ack(client->receiver);
    client->filling = &client->flights[number % SLOTS];
    snapshot_sender_ack(client->sender, client->filling->ack, NULL);
    client->filling->count = 0;
    client->filling->ack = (SnapshotAck){0};
    SnapshotHeader header = {.tick = (u32)world->frame->tick, .speed = 1024};
    u64 now_ms = world->frame->tick * 1000 / 60;
    snapshot_sender_build(client->sender, world->cache, &client->view, &header,
                          (SnapshotLine){client->budget, now_ms, 200}, emit, client);
}

static void ages_note(const World *world, Client *client)
{
    ChunkState states[CHUNK_STATES_KEPT];
    for (u32 f = 0; f < FIELDS; f++) {
        for (u32 c = 0; c < chunk_count(&world->fields->fields[f]); c++) {
            u32 count = snapshot_receiver_states(client->receiver, f, c, states);
            u64 age = world->frame->tick - (count > 0 ? states[0].tick : 0);
            client->worst_age = u64_max(client->worst_age, age);
        }
    }
}

static void world_play(World *world, u32 *number, u32 snapshots, bool moves, bool note)
{
    for (u32 end = *number + snapshots; *number < end; ++*number) {
        for (u32 t = 1; t <= TICKS_A_SNAPSHOT; t++) {
            frame_next(world, (u64)*number * TICKS_A_SNAPSHOT + t, moves);
        }
        chunk_cache_begin(world->cache, &world->history);
        for (u32 c = 0; c < CLIENTS; c++) {
            client_exchange(world, &world->clients[c], *number);
            if (note) {
                ages_note(world, &world->clients[c]);
            }
        }
    }
}

/* Number of snapshots in which each chunk could be sent once. */
static f64 round_of(const World *world, const Client *client)
{
    SnapshotSenderStats stats;
    u32 chunks = 0;
    snapshot_sender_stats(client->sender, &stats);
    for (u32 f = 0; f < FIELDS; f++) {
        chunks += chunk_count(&world->fields->fields[f]);
    }
    return (f64)stats.bytes / (f64)stats.records * chunks / client->budget;
}

static void expect_exact(const World *world, const Client *client)
{
    ChunkState states[CHUNK_STATES_KEPT];
    u8 is[CHUNK_STATE_BYTES_MAX];
    for (u32 f = 0; f < FIELDS; f++) {
        const FieldDesc *field = &world->fields->fields[f];
        for (u32 c = 0; c < chunk_count(field); c++) {
            assert_true(snapshot_receiver_states(client->receiver, f, c, states) > 0);
            chunk_gather(field, c, frame_field(world->frame, f), is);
            assert_int_equal(states[0].detail, DETAIL_FULL);
            assert_memory_equal(states[0].state, is, chunk_state_bytes(field, c));
        }
    }
}

static void test_nothing_starves(void **context)
{
    PL_UNUSED(context);
    World *world = malloc(sizeof *world);
    u32 number = 0;
    world_init(world);
    world_play(world, &number, WARM, true, false);
    world_play(world, &number, NARROW, true, true);
    for (u32 c = 0; c < CLIENTS; c++) {
        Client *client = &world->clients[c];
        f64 round = round_of(world, client);
        /* Two rounds until it has priority, one in that queue, one lost, and the path. */
        f64 most = (4.0 * round + 2.0 * PATH + 2.0) * TICKS_A_SNAPSHOT;
        print_message("client %u, %u bytes a snapshot: a round takes %.1f, the oldest is %u ticks "
                      "behind, at most %.0f\n",
                      c, client->budget, round, (u32)client->worst_age, most);
        assert_true(c > 0 || round > 20.0); /* many times what the narrowest carries */
        assert_true((f64)client->worst_age <= most);
    }
    /* Capacity again: chunks at rest become exact. */
    for (u32 c = 0; c < CLIENTS; c++) {
        world->clients[c].budget = 30000;
    }
    world_play(world, &number, WIDE, false, false);
    for (u32 c = 0; c < CLIENTS; c++) {
        SnapshotReceiverStats stats;
        snapshot_receiver_stats(world->clients[c].receiver, &stats);
        assert_int_equal(stats.desyncs + stats.malformed + stats.missing_baselines, 0);
        expect_exact(world, &world->clients[c]);
    }
    world_finish(world);
    free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nothing_starves)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
