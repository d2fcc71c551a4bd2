/*
 * net_rows.c: the cost of encoding a snapshot, in time and in bytes, for one client and for many on
 * the same baselines, whose acknowledgements come a few snapshots late.
 */
#include "protocol/stream/snapshot.h"
#include "shared/base/clock.h"
#include "tests/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FRAMES = 150,
    FRAMES_BEFORE = 30,   /* the first ones carry key chunks */
    TICKS_A_SNAPSHOT = 2, /* 30 Hz */
    ACK_SNAPSHOTS_LATE = 3,
    CLIENTS_MANY = 64,
    BUDGET_BYTES = 1 << 20,
};

/* One client. Each starts its packet sequence elsewhere, so each has acknowledgements of its own;
 * what the packets hold is the same for all. */
typedef struct Client {
    SnapshotSender *sender;
    u16 newest;                   /* sequence of the last packet */
    u16 sent[ACK_SNAPSHOTS_LATE]; /* `newest` after the last snapshots */
    struct Packets *packets;      /* the first client's are decoded, others have NULL */
} Client;

typedef struct Encoding {
    History history;
    ChunkCache *cache;
    Client clients[CLIENTS_MANY];
    SnapshotReceiver *receiver; /* of the first client */
    u32 count;
} Encoding;

static void encoding_begin(Encoding *e, FieldSet *fields, u32 clients, struct Packets *packets)
{
    *e = (Encoding){.count = clients};
    history_init(&e->history);
    e->cache = bench_must(chunk_cache_create());
    e->receiver = bench_must(snapshot_receiver_create(fields));
    for (u32 c = 0; c < clients; c++) {
        e->clients[c].sender = bench_must(snapshot_sender_create(fields));
    }
    e->clients[0].packets = packets;
}

static void encoding_end(Encoding *e)
{
    for (u32 c = 0; c < e->count; c++) {
        snapshot_sender_destroy(e->clients[c].sender);
    }
    snapshot_receiver_destroy(e->receiver);
    chunk_cache_destroy(e->cache);
    history_finish(&e->history);
}

/* Packets of the first client are kept aside and decoded when the time is not measured. */
typedef struct Packets {
    u8 *bytes; /* [BUDGET_BYTES] */
    u32 ends[1024];
    u32 count, used;
} Packets;

static void emit_packet(void *context, const u8 *packet, u32 bytes)
{
    Client *client = context;
    Packets *p = client->packets;
    client->newest = (u16)(packet[0] | packet[1] << 8); /* the header begins with it */
    if (p != NULL && p->count < PL_COUNT(p->ends) && p->used + bytes <= BUDGET_BYTES) {
        memcpy(p->bytes + p->used, packet, bytes);
        p->used += bytes;
        p->ends[p->count++] = p->used;
    }
}

/* One snapshot of the newest frame for all clients; returns the nanoseconds it took. */
static u64 send_snapshot(Encoding *e, u64 tick, u64 *bytes)
{
    SnapshotView view = {
        .eye = {0.0f, 5.0f, 12.0f}, .forward = {0.0f, 0.0f, -1.0f}, .pixels_per_radian = 1000.0f};
    SnapshotHeader header = {.tick = (u32)tick, .speed = 1024};
    u64 now_ms = tick * 1000u / 60u;
    Packets *packets = e->clients[0].packets;
    packets->count = 0;
    packets->used = 0;
    *bytes = 0;
    u64 began_ns = clock_now_ns();
    chunk_cache_begin(e->cache, &e->history);
    for (u32 c = 0; c < e->count; c++) {
        *bytes += snapshot_sender_build(e->clients[c].sender, e->cache, &view, &header,
                                        (SnapshotLine){BUDGET_BYTES, now_ms, 1000}, emit_packet,
                                        &e->clients[c]);
    }
    return clock_now_ns() - began_ns;
}

/* Decodes the first client's packets, so that nothing is measured that does not work. */
static void receive_packets(Encoding *e)
{
    const Packets *packets = e->clients[0].packets;
    u32 at = 0;
    for (u32 i = 0; i < packets->count; i++) {
        if (snapshot_receiver_push(e->receiver, packets->bytes + at, packets->ends[i] - at, NULL) !=
            0) {
            fprintf(stderr, "plenum-bench: a packet could not be decoded\n");
            exit(EXIT_CHECK_FAILED);
        }
        at = packets->ends[i];
    }
}

/* Every client acknowledges all packets of the snapshot ACK_SNAPSHOTS_LATE before. */
static void acknowledge(Encoding *e, u32 number)
{
    for (u32 c = 0; c < e->count; c++) {
        Client *client = &e->clients[c];
        u16 *slot = &client->sent[number % ACK_SNAPSHOTS_LATE];
        SnapshotAck ack = {.newest = *slot, .valid = 1, .bits = UINT64_MAX};
        *slot = client->newest;
        if (number >= ACK_SNAPSHOTS_LATE) {
            u32 lost;
            snapshot_sender_ack(client->sender, ack, &lost);
        }
    }
}

typedef struct EncodeResult {
    f64 *bytes; /* [count] of one client's snapshots */
    u32 count, capacity;
    u64 encoded, served;
} EncodeResult;

static void run_encoding(Bench *bench, Frame **frames, u32 clients, Packets *packets,
                         EncodeResult *result)
{
    Encoding e;
    encoding_begin(&e, frames[0]->fields, clients, packets);
    u64 encoded_before = 0;
    u64 served_before = 0;
    for (u32 i = 0, number = 0; i < FRAMES; i++) {
        history_push(&e.history, frames[i]);
        if (i % TICKS_A_SNAPSHOT != 0 || i == 0) {
            continue;
        }
        u64 bytes;
        u64 took_ns = send_snapshot(&e, frames[i]->tick, &bytes);
        receive_packets(&e);
        acknowledge(&e, number++);
        if (i < FRAMES_BEFORE) {
            chunk_cache_stats(e.cache, &encoded_before, &served_before);
            continue;
        }
        bench_sample(bench, (f64)took_ns * 1e-3 / clients);
        if (result->count < result->capacity) {
            result->bytes[result->count++] = (f64)bytes / clients;
        }
    }
    u64 encoded, served;
    chunk_cache_stats(e.cache, &encoded, &served);
    result->encoded += encoded - encoded_before;
    result->served += served - served_before;
    encoding_end(&e);
}

static void print_rest(Bench *bench, const char *scene_name, u32 clients, EncodeResult *result)
{
    char name[64];
    snprintf(name, sizeof name, "net/bytes_%s", scene_name);
    bench_begin(bench);
    f64 sum = 0.0;
    for (u32 i = 0; i < result->count; i++) {
        bench_sample(bench, result->bytes[i]);
        sum += result->bytes[i];
    }
    f64 kbit_s = sum / result->count * 8.0 * 60.0 / TICKS_A_SNAPSHOT / 1000.0;
    BenchRow bytes = {name, clients, 1, "B/snapshot", kbit_s, "kbit/s"};
    bench_print(bench, &bytes);
    snprintf(name, sizeof name, "net/encoded_once_%s", scene_name);
    bench_begin(bench);
    bench_sample(bench, 100.0 * (f64)result->encoded / (f64)u64_max(result->served, 1));
    BenchRow once = {name, clients, 1, "% encoded of served", 0.0, ""};
    bench_print(bench, &once);
}

static void measure_encoding(Bench *bench, const char *scene_name)
{
    Scene *scene = bench_scene(scene_name);
    Frame **frames = bench_frames(bench, scene, FRAMES);
    Packets packets = {.bytes = bench_must(malloc(BUDGET_BYTES))};
    char name[64];
    snprintf(name, sizeof name, "net/encode_%s", scene_name);
    for (u32 clients = 1; clients <= CLIENTS_MANY; clients *= CLIENTS_MANY) {
        EncodeResult result = {.capacity = 1 << 16};
        result.bytes = bench_must(malloc(result.capacity * sizeof *result.bytes));
        bench_begin(bench);
        while (bench_again(bench)) {
            run_encoding(bench, frames, clients, &packets, &result);
        }
        BenchRow row = {name, clients, 1, "us a client", 1e6 / bench_median(bench), "snapshots/s"};
        bench_print(bench, &row);
        print_rest(bench, scene_name, clients, &result);
        free(result.bytes);
    }
    free(packets.bytes);
    bench_frames_free(frames, FRAMES);
    scene_destroy(scene);
}

void bench_encode_playground(Bench *bench)
{
    measure_encoding(bench, "playground");
}

void bench_encode_boxes1000(Bench *bench)
{
    measure_encoding(bench, "boxes1000");
}

/* ---- bits a point of liquids and grains ---- */

/* Live points of all point fields of a frame. */
static u32 points_of(const Frame *frame)
{
    u32 count = 0;
    for (u32 f = 0; f < frame->fields->count; f++) {
        if (frame->fields->fields[f].kind == FIELD_POINTS) {
            const QPoint *points = frame_points(frame, f);
            for (u32 i = 0; i < frame->fields->fields[f].capacity; i++) {
                count += points[i].generation != 0;
            }
        }
    }
    return count;
}

/* Packets of FRAMES ticks from `from_s` on, all that they hold: bodies and headers too. */
static void measure_bits(Bench *bench, const char *scene_name, f32 from_s)
{
    Scene *scene = bench_scene(scene_name);
    World *world = bench_world(bench, scene);
    Frame *frames[FRAMES];
    Packets packets = {.bytes = bench_must(malloc(BUDGET_BYTES))};
    EncodeResult result = {.capacity = FRAMES};
    result.bytes = bench_get(FRAMES, sizeof *result.bytes);
    for (f32 t = 0.0f; t < from_s; t += 1.0f / 60.0f) {
        world_tick(world, NULL, 0);
    }
    for (u32 i = 0; i < FRAMES; i++) {
        world_tick(world, NULL, 0);
        frames[i] = bench_must(world_frame(world));
    }
    u32 points = points_of(frames[FRAMES - 1]);
    run_encoding(bench, frames, 1, &packets, &result);
    char name[64];
    snprintf(name, sizeof name, "net/bits_%s_%gs", scene_name, (f64)from_s);
    bench_begin(bench);
    for (u32 i = 0; i < result.count; i++) {
        bench_sample(bench, 8.0 * result.bytes[i] / points);
    }
    bench_print(bench, &(BenchRow){name, points, 1, "bits a point", 0.0, ""});
    for (u32 i = 0; i < FRAMES; i++) {
        frame_release(frames[i]);
    }
    free(result.bytes);
    free(packets.bytes);
    world_destroy(world);
    scene_destroy(scene);
}

void bench_bits(Bench *bench)
{
    static const char *const scenes[] = {"dam_break", "pool", "sand_water", "hourglass"};
    for (u32 i = 0; i < PL_COUNT(scenes); i++) {
        measure_bits(bench, scenes[i], 0.0f);
        measure_bits(bench, scenes[i], 6.0f);
    }
}
