/*
 * client_rows.c: the cost of showing a liquid, and how smoothly the client shows motion over
 * networks of given parameters and with how much delay, beside playing the newest state and a fixed
 * delay of one interval: simulated, so the figures do not depend on the machine.
 */
#include "client/link/timeline.h"
#include "shared/base/clock.h"
#include "shared/math/random.h"
#include "tests/bench/bench.h"
#include "tests/support/judder.h"

#include <stdio.h>
#include <stdlib.h>

#define SECONDS 40.0

enum {
    POINTS = 20000,
    SNAPSHOTS = 30,
};

static const FieldDesc liquid_field = {.kind = FIELD_POINTS,
                                       .channels = 1,
                                       .name = "liquid",
                                       .capacity = POINTS,
                                       .quantum = 1.0f / 512.0f,
                                       .spacing = {1, 1, 1}};

/* Every point on a throw of its own. */
static void liquid_fill(Frame *frame)
{
    QPoint *points = frame_points(frame, 0);
    f32 t = (f32)frame->tick / 60.0f;
    for (u32 i = 0; i < POINTS; i++) {
        Vec3 v =
            vec3(random_range(1, i, -2, 2), random_range(2, i, 0, 5), random_range(3, i, -2, 2));
        Vec3 p = vec3_add_scaled(vec3_scale(v, t), -4.905f * t * t, vec3(0, 1, 0));
        quantize_position(&liquid_field, p, points[i].position);
        points[i].generation = 1;
    }
}

typedef struct Shower {
    SnapshotReceiver *receiver;
    Timeline *timeline;
    u64 now_ns;
} Shower;

static void shower_take(void *context, const u8 *packet, u32 bytes)
{
    Shower *shower = context;
    SnapshotHeader header;
    if (snapshot_receiver_push(shower->receiver, packet, bytes, &header) != 0) {
        fprintf(stderr, "plenum-bench: a packet could not be decoded\n");
        exit(EXIT_CHECK_FAILED);
    }
    timeline_arrival(shower->timeline, &header, shower->now_ns);
}

static void run_shown(Bench *bench, FieldSet *fields, ShownPoint *points)
{
    History history;
    history_init(&history);
    ChunkCache *cache = bench_must(chunk_cache_create());
    Shower shower = {.receiver = bench_must(snapshot_receiver_create(fields)),
                     .now_ns = 1000000000};
    SnapshotSender *sender = bench_must(snapshot_sender_create(fields));
    shower.timeline = bench_must(timeline_create(shower.receiver, 60, 30));
    SnapshotView view = {.forward = {0.0f, 0.0f, -1.0f}};
    for (u32 i = 0; i < SNAPSHOTS; i++) {
        Frame *frame = bench_must(frame_create(fields, 1 + 2 * i, 0));
        liquid_fill(frame);
        history_push(&history, frame);
        frame_release(frame);
        SnapshotHeader header = {.tick = 1 + 2 * i, .speed = 1024};
        chunk_cache_begin(cache, &history);
        for (u32 part = 0; part < 16; part++) { /* until all of it went out */
            snapshot_sender_build(sender, cache, &view, &header,
                                  (SnapshotLine){1 << 20, shower.now_ns / 1000000, 1000},
                                  shower_take, &shower);
        }
        snapshot_sender_ack(sender, snapshot_receiver_ack(shower.receiver), NULL);
        for (u32 picture = 0; picture < 2; picture++, shower.now_ns += 16666667) {
            u64 began_ns = clock_now_ns();
            timeline_advance(shower.timeline, shower.now_ns);
            timeline_points(shower.timeline, 0, points);
            if (i > 10) {
                bench_sample(bench, (f64)(clock_now_ns() - began_ns) * 1e-6);
            }
        }
    }
    timeline_destroy(shower.timeline);
    snapshot_sender_destroy(sender);
    snapshot_receiver_destroy(shower.receiver);
    chunk_cache_destroy(cache);
    history_finish(&history);
}

void bench_client_show(Bench *bench)
{
    FieldSet *fields = bench_must(field_set_create(&liquid_field, 1));
    ShownPoint *points = bench_must(malloc(POINTS * sizeof *points));
    bench_begin(bench);
    while (bench_again(bench)) {
        run_shown(bench, fields, points);
    }
    BenchRow row = {"client/show20k", POINTS, 1, "ms a picture", 1e3 * POINTS / bench_median(bench),
                    "points/s"};
    bench_print(bench, &row);
    free(points);
    field_set_release(fields);
}

void bench_client_judder(Bench *bench)
{
    PL_UNUSED(bench);
    for (u32 n = 0; n < judder_network_count; n++) {
        for (u32 p = 0; p < JUDDER_PLAYERS; p++) {
            Judder j = judder_play(&judder_networks[n], (JudderPlayer)p, SECONDS);
            printf("{\"name\":\"client/judder/%s/%s\",\"n\":%.0f,\"threads\":1,\"median\":%.6g,"
                   "\"unit\":\"ms of delay\",\"delay_p95_ms\":%.6g,\"even_m_s2\":%.6g,"
                   "\"even_p99_m_s2\":%.6g,\"throw_m_s2\":%.6g,\"throw_p99_m_s2\":%.6g,"
                   "\"spin_rad_s2\":%.6g,\"spin_p99_rad_s2\":%.6g,\"depth_mm\":%.6g,"
                   "\"error_mm\":%.6g,\"starved\":%.6g}\n",
                   judder_networks[n].name, judder_player_name((JudderPlayer)p), SECONDS,
                   j.delay_ms, j.delay_p95_ms, j.uniform_m_s2, j.uniform_p99_m_s2, j.throw_m_s2,
                   j.throw_p99_m_s2, j.angular_acceleration_rad_s2,
                   j.angular_acceleration_p99_rad_s2, j.depth_mm, j.error_mm, j.starved);
        }
    }
}
