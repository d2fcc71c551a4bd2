/*
 * join_rows.c: the cost of many clients and of joins: snapshots of 901 cubes for 64 clients with
 * sealing, as a share of one core, a join with a scene of 10 MB over 100 ms and 50 Mbit/s, in
 * virtual seconds and in time of one core, and joins through 64 kbit/s.
 */
#include "protocol/session/seal.h"
#include "protocol/stream/bulk.h"
#include "protocol/stream/snapshot.h"
#include "shared/base/clock.h"
#include "tests/bench/bench.h"
#include "tests/bench/codec_world.h"
#include "tests/support/join_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLIENTS = 64,
    FRAMES = 180,
    FRAMES_BEFORE = 60, /* keys, and acknowledgements that are not there yet */
    ACKS_KEPT = 16,
    ACK_FRAMES_LATE = 6,
    BUDGET_BYTES = 1 << 20,
    JOIN_BYTES = 10000000,
    NARROW_KBIT = 64,
    NARROW_SEEDS = 8,
};

/* How the 64 clients differ. */
typedef enum Mix {
    MIX_NONE,
    MIX_DELAYS, /* acknowledgements come 2 to 13 frames late */
    MIX_LINES,  /* a quarter each gets full detail, and what fits 300, 150 and 64 kbit/s */
} Mix;

/* ---- 64 clients ---- */

typedef struct Client {
    SnapshotSender *sender;
    SnapshotReceiver *receiver; /* of the first one: what is measured works */
    Seal seal;
    u32 late;            /* frames until its acknowledgements are here */
    u32 every, budget;   /* one frame in so many goes, with so many bytes */
    u16 sent[ACKS_KEPT]; /* newest sequence after each of the last snapshots */
    u16 newest;
    u64 bytes;
    u8 sealed[STATE_PACKET_BYTES_MAX];
    bool refused;
} Client;

static void emit_sealed(void *context, const u8 *packet, u32 bytes)
{
    Client *client = context;
    client->newest = (u16)(packet[0] | packet[1] << 8); /* the header begins with it */
    client->bytes += seal_encrypt(&client->seal, packet, bytes, client->sealed);
    if (client->receiver != NULL) {
        client->refused =
            snapshot_receiver_push(client->receiver, packet, bytes, NULL) != 0 || client->refused;
    }
}

static void client_begin(Client *client, FieldSet *fields, u32 number, Mix mix)
{
    static const u32 lines[4][2] = {{1, BUDGET_BYTES}, {1, 600}, {2, 600}, {3, 400}};
    u8 keys[2][SEAL_KEY_BYTES];
    memset(client, 0, sizeof *client);
    client->sender = bench_must(snapshot_sender_create(fields));
    client->late = mix == MIX_DELAYS ? 2 + number % 12 : ACK_FRAMES_LATE;
    client->every = lines[mix == MIX_LINES ? number % 4 : 0][0];
    client->budget = lines[mix == MIX_LINES ? number % 4 : 0][1];
    snapshot_sender_allow_coarse(client->sender, true);
    seal_random(keys, sizeof keys);
    seal_init(&client->seal, keys[0], keys[1]);
}

/* Everything that a tick of the stream costs a host but the system's own sending: acknowledgements,
 * encoding, sealing. Nanoseconds. */
static u64 tick_all(Client *clients, ChunkCache *cache, History *history, u32 number)
{
    SnapshotView view = {
        .eye = {0.0f, 8.0f, 20.0f}, .forward = {0.0f, 0.0f, -1.0f}, .pixels_per_radian = 1000.0f};
    u64 tick = history->newest->tick, began_ns = clock_now_ns();
    chunk_cache_begin(cache, history);
    for (u32 c = 0; c < CLIENTS; c++) {
        Client *client = &clients[c];
        SnapshotHeader header = {.tick = (u32)tick, .speed = 1024};
        if (number >= client->late) {
            SnapshotAck ack = {.newest = client->sent[(number - client->late) % ACKS_KEPT],
                               .valid = 1,
                               .bits = UINT64_MAX};
            snapshot_sender_ack(client->sender, ack, NULL);
        }
        if (number % client->every == 0) {
            (void)snapshot_sender_build(client->sender, cache, &view, &header,
                                        (SnapshotLine){client->budget, tick * 1000u / 60u, 1000},
                                        emit_sealed, client);
        }
        client->sent[number % ACKS_KEPT] = client->newest;
    }
    return clock_now_ns() - began_ns;
}

/* What it is to measure happens: those of narrow lines go coarse. */
static void check_coarse(const Client *client, Mix mix)
{
    SnapshotSenderStats stats;
    snapshot_sender_stats(client->sender, &stats);
    if (mix == MIX_LINES && client->every == 3 && stats.coarseness == 0) {
        fprintf(stderr, "plenum-bench: a narrow line gets full detail\n");
        exit(EXIT_CHECK_FAILED);
    }
}

static void run_64(Bench *bench, Frame **frames, Mix mix, u64 *bytes, u32 *snapshots)
{
    Client *clients = bench_must(calloc(CLIENTS, sizeof *clients));
    ChunkCache *cache = bench_must(chunk_cache_create());
    History history;
    history_init(&history);
    for (u32 c = 0; c < CLIENTS; c++) {
        client_begin(&clients[c], frames[0]->fields, c, mix);
    }
    for (u32 i = 0; i < FRAMES; i++) {
        history_push(&history, frames[i]);
        u64 took_ns = tick_all(clients, cache, &history, i);
        if (i >= FRAMES_BEFORE) {
            bench_sample(bench, (f64)took_ns * 60.0 * 1e-9 * 100.0);
            *snapshots += CLIENTS;
        }
        for (u32 c = 0; c < CLIENTS; c++) {
            *bytes += i >= FRAMES_BEFORE ? clients[c].bytes : 0;
            clients[c].bytes = 0;
        }
    }
    for (u32 c = 0; c < CLIENTS; c++) {
        check_coarse(&clients[c], mix);
        snapshot_sender_destroy(clients[c].sender);
    }
    chunk_cache_destroy(cache);
    history_finish(&history);
    free(clients);
}

/* The same packets again to a receiver that acknowledges, outside the measured time. */
static void check_decodes(Frame **frames)
{
    Client *client = bench_must(calloc(1, sizeof *client));
    ChunkCache *cache = bench_must(chunk_cache_create());
    SnapshotView view = {.forward = {0.0f, 0.0f, -1.0f}, .pixels_per_radian = 1000.0f};
    History history;
    history_init(&history);
    client_begin(client, frames[0]->fields, 0, MIX_NONE);
    client->receiver = bench_must(snapshot_receiver_create(frames[0]->fields));
    for (u32 i = 0; i < ACKS_KEPT; i++) {
        SnapshotHeader header = {.tick = (u32)frames[i]->tick, .speed = 1024};
        history_push(&history, frames[i]);
        chunk_cache_begin(cache, &history);
        (void)snapshot_sender_build(
            client->sender, cache, &view, &header,
            (SnapshotLine){BUDGET_BYTES, frames[i]->tick * 1000u / 60u, 1000}, emit_sealed, client);
        snapshot_sender_ack(client->sender, snapshot_receiver_ack(client->receiver), NULL);
    }
    if (client->refused) {
        fprintf(stderr, "plenum-bench: a packet could not be decoded\n");
        exit(EXIT_CHECK_FAILED);
    }
    snapshot_receiver_destroy(client->receiver);
    snapshot_sender_destroy(client->sender);
    chunk_cache_destroy(cache);
    history_finish(&history);
    free(client);
}

static Frame **cube_frames(void)
{
    FieldDesc field = {
        .kind = FIELD_POSES, .channels = 1, .name = "cubes", .quantum = 1.0f / 512.0f};
    PoseTrace trace = codec_world(CODEC_WORLD_PUSH, 11, FRAMES);
    Frame **frames = bench_must(calloc(FRAMES, sizeof(Frame *)));
    field.capacity = trace.count;
    FieldSet *fields = bench_must(field_set_create(&field, 1));
    for (u32 i = 0; i < FRAMES; i++) {
        frames[i] = bench_must(frame_create(fields, i + 1, 0));
        memcpy(frame_poses(frames[i], 0), trace.poses + (size_t)i * trace.count,
               trace.count * sizeof(QPose));
    }
    field_set_release(fields);
    codec_trace_free(&trace);
    return frames;
}

void bench_encode64x901(Bench *bench)
{
    static const char *const names[] = {"net/encode64x901", "net/encode64x901_mixed",
                                        "net/encode64x901_details"};
    if (seal_start() != 0) {
        exit(EXIT_CHECK_FAILED);
    }
    Frame **frames = cube_frames();
    check_decodes(frames);
    for (u32 mix = 0; mix < PL_COUNT(names); mix++) {
        u64 bytes = 0;
        u32 snapshots = 0;
        bench_begin(bench);
        while (bench_again(bench)) {
            run_64(bench, frames, (Mix)mix, &bytes, &snapshots);
        }
        f64 kbit_s = (f64)bytes / u32_max(snapshots, 1) * 8.0 * 60.0 / 1000.0;
        BenchRow row = {names[mix], CLIENTS, 1, "% of a core", kbit_s, "kbit/s a client"};
        bench_print(bench, &row);
    }
    bench_frames_free(frames, FRAMES);
}

/* ---- a join ---- */

/* Bytes of the blocks that bring the world. */
static u32 world_bytes(JoinRig *rig)
{
    Message message = {.kind = MESSAGE_WORLD};
    u32 bytes = 0;
    rig->source->ops->describe(rig->source, &message.world);
    u8 *pgs = bench_must(message_encode(&message, &bytes));
    BulkContent *content = bench_must(bulk_content_create(pgs, bytes));
    bytes = bulk_content_bytes(content);
    bulk_content_release(content);
    message_free(pgs);
    return bytes;
}

static f64 join_once(const Scene *scene, const u8 *large, u32 bytes, const NetsimOptions *down,
                     f64 *cpu, u32 *body)
{
    NetsimOptions up = *down;
    up.seed++;
    up.rate_bytes_s = 0;
    JoinRig rig;
    join_rig_start(&rig, scene, large, bytes);
    *body = world_bytes(&rig);
    Connection *client = join_rig_connect(&rig, &up, down);
    while (!join_picture_whole(client) && join_rig_ms(&rig) < 60000.0) {
        join_rig_step(&rig, &client, 1);
    }
    f64 took_s = join_rig_ms(&rig) * 1e-3;
    *cpu = (f64)rig.host_ns * 1e-6;
    connection_destroy(client);
    join_rig_stop(&rig);
    return took_s;
}

void bench_join10M(Bench *bench)
{
    static const f64 losses[] = {0.0, 0.01, 0.05};
    Scene *scene = bench_scene("dominoes");
    u32 bytes = 0;
    u8 *large = bench_must(join_large_scene(JOIN_BYTES, &bytes));
    f64 cpu_ms[BENCH_RUNS], sum_s;
    for (u32 l = 0; l < PL_COUNT(losses); l++) {
        char name[32];
        snprintf(name, sizeof name, losses[l] > 0.0 ? "net/join10M_loss%.0f" : "net/join10M",
                 100.0 * losses[l]);
        bench_begin(bench);
        sum_s = 0.0;
        for (u32 i = 0; i < BENCH_RUNS; i++) {
            NetsimOptions down = {.seed = 1 + 2 * i,
                                  .delay_ms = 50.0,
                                  .rate_bytes_s = 50000000 / 8,
                                  .loss = losses[l]};
            u32 body;
            f64 took_s = join_once(scene, large, bytes, &down, &cpu_ms[i], &body);
            bench_sample(bench, took_s);
            sum_s += took_s;
        }
        BenchRow row = {name,
                        bytes,
                        1,
                        "virtual s",
                        bytes * 8e-6 * BENCH_RUNS / sum_s,
                        "Mbit/s with handshake"};
        bench_print(bench, &row);
    }
    bench_begin(bench);
    for (u32 i = 0; i < BENCH_RUNS; i++) {
        bench_sample(bench, cpu_ms[i]);
    }
    BenchRow row = {"net/join10M_cpu", bytes, 1, "ms of the host", 0.0, ""};
    bench_print(bench, &row);
    scene_destroy(scene);
    free(large);
}

/* A run of `ms` virtual milliseconds: the host's time besides its world's ticks, in ms. */
static f64 host_ms(JoinRig *rig, Connection **clients, u32 count, u32 ms)
{
    u64 began_ns = rig->host_ns - rig->world_ns;
    for (u32 i = 0; i < ms; i++) {
        join_rig_step(rig, clients, count);
    }
    return (f64)(rig->host_ns - rig->world_ns - began_ns) * 1e-6;
}

/* Clients join one after the other; the same time without a join, afterwards, is the cost of
 * serving them. */
static void join_cpu(Bench *bench, const char *scene_name)
{
    enum {
        JOINERS = 24,
        JOIN_MS = 500
    };
    Scene *scene = bench_scene(scene_name);
    NetsimOptions line = {.seed = 1, .delay_ms = 10.0};
    char name[64];
    snprintf(name, sizeof name, "net/join_cpu_%s", scene_name);
    bench_begin(bench);
    while (bench_again(bench)) {
        Connection *clients[JOINERS];
        JoinRig rig;
        const HostOptions options = {.open_role = ROLE_OPERATOR, .relays = true, .encoder = true};
        join_rig_start_options(&rig, join_rig_source(&rig, scene), &options);
        for (u32 i = 0; i < JOINERS; i++) {
            clients[i] = join_rig_connect(&rig, &line, &line);
            f64 joined_ms = host_ms(&rig, clients, i + 1, JOIN_MS);
            if (!join_picture_whole(clients[i])) {
                fprintf(stderr, "plenum-bench: %s: not joined after %d ms\n", name, JOIN_MS);
                exit(EXIT_CHECK_FAILED);
            }
            bench_sample(bench, joined_ms - host_ms(&rig, clients, i + 1, JOIN_MS));
        }
        for (u32 i = 0; i < JOINERS; i++) {
            connection_destroy(clients[i]);
        }
        join_rig_stop(&rig);
    }
    BenchRow row = {name, JOINERS, 1, "ms of the host's main thread", 0.0, ""};
    bench_print(bench, &row);
    scene_destroy(scene);
}

void bench_join_cpu(Bench *bench)
{
    join_cpu(bench, "playground");
    join_cpu(bench, "boxes1000");
    join_cpu(bench, "everything");
}

/* A join through 64 kbit/s with 300 ms of queue, until every element has a state; compared with the
 * transmission time of the world's bytes plus two round trips. */
static void join_narrow(Bench *bench, const char *scene_name, f64 loss, u32 rtt_ms)
{
    Scene *scene = bench_scene(scene_name);
    char name[64];
    f64 cpu_ms;
    u32 body = 0;
    snprintf(name, sizeof name, "net/join%uk_%s_rtt%u_loss%.0f", NARROW_KBIT, scene_name, rtt_ms,
             100.0 * loss);
    bench_begin(bench);
    for (u32 i = 0; i < NARROW_SEEDS; i++) {
        NetsimOptions down = {.seed = 100 + 2 * i,
                              .delay_ms = 0.5 * rtt_ms,
                              .rate_bytes_s = NARROW_KBIT * 125,
                              .queue_ms = 300,
                              .loss = loss};
        bench_sample(bench, join_once(scene, NULL, 0, &down, &cpu_ms, &body));
    }
    f64 least_s = body / (NARROW_KBIT * 125.0 * (1.0 - loss)) + 2e-3 * rtt_ms;
    BenchRow row = {name, body, 1, "virtual s", least_s, "s of world and two round trips"};
    bench_print(bench, &row);
    scene_destroy(scene);
}

void bench_join_narrow(Bench *bench)
{
    join_narrow(bench, "playground", 0.0, 50);
    join_narrow(bench, "playground", 0.3, 400);
    join_narrow(bench, "boxes1000", 0.0, 50);
    join_narrow(bench, "boxes1000", 0.3, 400);
}
