/*
 * net_rows.c: what a snapshot costs to encode, in time and in bytes, for one client and for many on
 * the same baselines, whose acknowledgements come a few snapshots late.
 */
#include "protocol/snapshot.h"
#include "shared/clock.h"
#include "tests/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    FRAMES = 150,
    FRAMES_BEFORE = 30,   /* the first ones carry key chunks */
    TICKS_A_SNAPSHOT = 2, /* 30 Hz */
    ACK_SNAPSHOTS_LATE = 3,
    CLIENTS_MANY = 64,
    BUDGET_BYTES = 1 << 20,
};

typedef struct Encoding {
    History history;
    ChunkCache *cache;
    SnapshotSender *senders[CLIENTS_MANY];
    SnapshotReceiver *receiver; /* of the first client: the others get the same packets */
    SnapshotAck acks[ACK_SNAPSHOTS_LATE];
    u32 clients;
} Encoding;

static void *must(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "plenum-bench: out of memory\n");
        exit(EXIT_CHECK_FAILED);
    }
    return memory;
}

static void encoding_begin(Encoding *e, FieldSet *fields, u32 clients)
{
    *e = (Encoding){.clients = clients};
    history_init(&e->history);
    e->cache = must(chunk_cache_create());
    e->receiver = must(snapshot_receiver_create(fields));
    for (u32 c = 0; c < clients; c++) {
        e->senders[c] = must(snapshot_sender_create(fields));
    }
}

static void encoding_end(Encoding *e)
{
    for (u32 c = 0; c < e->clients; c++) {
        snapshot_sender_destroy(e->senders[c]);
    }
    snapshot_receiver_destroy(e->receiver);
    chunk_cache_destroy(e->cache);
    history_finish(&e->history);
}

/* Packets of the first client are kept aside and decoded when the time is not measured. */
typedef struct Packets {
    u8 *bytes; /* [BUDGET_BYTES + STATE_PAYLOAD_BYTES_MAX] */
    u32 ends[1024];
    u32 count, used;
} Packets;

static void keep_packet(void *context, const u8 *packet, u32 bytes)
{
    Packets *p = context;
    if (p->count < PL_COUNT(p->ends) && p->used + bytes <= BUDGET_BYTES) {
        for (u32 i = 0; i < bytes; i++) {
            p->bytes[p->used + i] = packet[i];
        }
        p->used += bytes;
        p->ends[p->count++] = p->used;
    }
}

static void drop_packet(void *context, const u8 *packet, u32 bytes)
{
    PL_UNUSED(context);
    PL_UNUSED(packet);
    PL_UNUSED(bytes);
}

/* One snapshot of the newest frame for all clients; returns the nanoseconds it took. */
static u64 send_snapshot(Encoding *e, u64 tick, Packets *packets, u64 *bytes)
{
    SnapshotView view = {
        .eye = {0.0f, 5.0f, 12.0f}, .forward = {0.0f, 0.0f, -1.0f}, .pixels_per_radian = 1000.0f};
    SnapshotHeader header = {.tick = (u32)tick, .speed = 1024};
    u64 now_ms = tick * 1000u / 60u;
    packets->count = 0;
    packets->used = 0;
    *bytes = 0;
    u64 began_ns = clock_now_ns();
    chunk_cache_begin(e->cache, &e->history);
    for (u32 c = 0; c < e->clients; c++) {
        *bytes += snapshot_sender_build(e->senders[c], e->cache, &view, &header, BUDGET_BYTES,
                                        now_ms, 1000, c == 0 ? keep_packet : drop_packet, packets);
    }
    return clock_now_ns() - began_ns;
}

static void receive_snapshot(Encoding *e, const Packets *packets, u32 number)
{
    u32 at = 0;
    for (u32 i = 0; i < packets->count; i++) {
        if (snapshot_receiver_push(e->receiver, packets->bytes + at, packets->ends[i] - at, NULL) <
            0) {
            fprintf(stderr, "plenum-bench: a packet could not be decoded\n");
            exit(EXIT_CHECK_FAILED);
        }
        at = packets->ends[i];
    }
    SnapshotAck *slot = &e->acks[number % ACK_SNAPSHOTS_LATE];
    SnapshotAck late = *slot;
    *slot = snapshot_receiver_ack(e->receiver);
    for (u32 c = 0; c < e->clients && late.valid; c++) {
        u32 lost;
        snapshot_sender_ack(e->senders[c], late, &lost);
    }
}

typedef struct EncodeResult {
    f64 *bytes; /* [count] of one client's snapshots */
    u32 count, room;
    u64 encoded, served;
} EncodeResult;

static void run_encoding(Bench *bench, Frame **frames, u32 clients, Packets *packets,
                         EncodeResult *result)
{
    Encoding e;
    encoding_begin(&e, frames[0]->fields, clients);
    u64 encoded_before = 0;
    u64 served_before = 0;
    for (u32 i = 0, number = 0; i < FRAMES; i++) {
        history_push(&e.history, frames[i]);
        if (i % TICKS_A_SNAPSHOT != 0 || i == 0) {
            continue;
        }
        u64 bytes;
        u64 took_ns = send_snapshot(&e, frames[i]->tick, packets, &bytes);
        receive_snapshot(&e, packets, number++);
        if (i < FRAMES_BEFORE) {
            chunk_cache_stats(e.cache, &encoded_before, &served_before);
            continue;
        }
        bench_sample(bench, (f64)took_ns * 1e-3 / clients);
        if (result->count < result->room) {
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
    Packets packets = {.bytes = must(malloc(BUDGET_BYTES + STATE_PAYLOAD_BYTES_MAX))};
    char name[64];
    snprintf(name, sizeof name, "net/encode_%s", scene_name);
    for (u32 clients = 1; clients <= CLIENTS_MANY; clients *= CLIENTS_MANY) {
        EncodeResult result = {.room = 1 << 16};
        result.bytes = must(malloc(result.room * sizeof *result.bytes));
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
