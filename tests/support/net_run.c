/*
 * net_run.c: see net_run.h. Connects budget, sender and packets as replicate.c and session.c do for
 * a live session, and as connection.c does at the other end.
 */
#include "tests/support/net_run.h"

#include "client/link/timeline.h"
#include "protocol/session/input.h"
#include "server/host/acknowledge.h"
#include "shared/base/stats.h"

#include <stdlib.h>
#include <string.h>

enum {
    HEAD_BYTES = BUDGET_HEAD_BYTES,
    INPUT_GAP_MS = 16,
    IDLE_GAP_MS = 100,
    FRAME_US = 16667,   /* of the client's screen */
    PICTURE_FRAMES = 4, /* interval of image comparisons */
    /* Default receive buffer of a socket (Linux: net.core.rmem_default). */
    SOCKET_BYTES = 212992,
    CLIENT_CLOCK_MS = 40321, /* ahead of the server's */
    RECENT_TICKS = 15,       /* a change within them counts as motion */
    PIXEL_STEPS = 100,
};

static const f32 pixels_per_radian = 1000.0f;

typedef struct Waiting {
    u32 bytes, at;
} Waiting;

typedef struct Run {
    const NetWorld *world;
    const NetCase *net_case;
    NetResult *result;
    u64 now_ms;
    Netsim *down, *up;
    SnapshotView view;
    /* server */
    History history;
    ChunkCache *cache;
    SnapshotSender *sender;
    Budget budget;
    f64 rtt_ms;
    u16 echo_ms;
    u64 echo_at_ms;
    /* client */
    SnapshotReceiver *receiver;
    Timeline *timeline;
    u16 client_echo_ms;
    u64 client_echo_at_ms, input_at_ms, newest_at_ms, newest;
    bool input_due;
    u8 *socket; /* [SOCKET_BYTES] packets received while the client stalled */
    Waiting *waiting;
    u32 waiting_count, socket_used;
    ShownPose *poses;
    ShownPoint *points;
    /* by chunk: tick since which the client lags, 0: it does not */
    u64 *behind_since;
    u32 chunks[2];
    u64 frames, starved, snapshots, coarseness_sum;
    f64 delay_sum;
    Histogram pixels, second, queue;
    u64 sent_bytes, second_bytes, arrived_bytes;
} Run;

/* ---- server ---- */

static void emit_down(void *context, const u8 *packet, u32 bytes)
{
    Run *run = context;
    u8 padded[NETSIM_PACKET_BYTES_MAX] = {0};
    memcpy(padded, packet, bytes);
    u32 size = bytes + HEAD_BYTES;
    netsim_send(run->down, padded, size, run->now_ms * 1000);
    budget_sent(&run->budget, bytes);
    run->second_bytes += size;
    run->sent_bytes += run->now_ms >= run->net_case->measure_ms ? size : 0;
}

static void server_snapshot(Run *run)
{
    u32 allowed = budget_take(&run->budget, run->now_ms);
    if (allowed == 0) {
        return;
    }
    SnapshotHeader header = {
        .tick = (u32)run->history.newest->tick, .send_ms = (u16)run->now_ms, .speed = 1024};
    if (run->echo_at_ms != 0) {
        header.echo_ms = (u16)(run->echo_ms + u64_min(run->now_ms - run->echo_at_ms, 30000));
    }
    u32 rtt_ms = run->rtt_ms > 0.0 ? (u32)run->rtt_ms : 100;
    snapshot_sender_build(run->sender, run->cache, &run->view, &header,
                          (SnapshotLine){allowed, run->now_ms, rtt_ms}, emit_down, run);
    SnapshotSenderStats stats;
    snapshot_sender_stats(run->sender, &stats);
    if (stats.limited) {
        budget_limited(&run->budget);
    }
    if (run->now_ms >= run->net_case->measure_ms) {
        run->snapshots++;
        run->coarseness_sum += stats.coarseness;
    }
}

static void server_input(Run *run, const InputPacket *packet)
{
    u16 newer = (u16)(packet->send_ms - run->echo_ms);
    if (run->echo_at_ms == 0 || newer < 0x8000) {
        run->echo_ms = packet->send_ms;
        run->echo_at_ms = run->now_ms;
    }
    if (packet->ack.valid == 0) {
        return;
    }
    Acknowledgement a = {packet->ack, packet->send_ms, packet->echo_ms, run->now_ms};
    acknowledge(run->sender, &run->budget, &a, &run->rtt_ms, run->now_ms);
}

static void server_step(Run *run, u64 *tick, u64 *snapshot_at_ms)
{
    u8 raw[NETSIM_PACKET_BYTES_MAX];
    u32 bytes;
    while ((bytes = netsim_receive(run->up, run->now_ms * 1000, raw)) > 0) {
        InputPacket packet;
        if (bytes > HEAD_BYTES && input_packet_decode(&packet, raw, bytes - HEAD_BYTES) == 0) {
            server_input(run, &packet);
        }
    }
    if (run->now_ms * NET_WORLD_HZ / 1000 < *tick || *tick >= run->world->count) {
        return;
    }
    history_push(&run->history, run->world->frames[(*tick)++]);
    if (run->now_ms + 2 >= *snapshot_at_ms) {
        u32 hz = run->net_case->snapshot_hz != 0 ? run->net_case->snapshot_hz : 30;
        *snapshot_at_ms = u64_max(*snapshot_at_ms + 40, run->now_ms) - 40 + 1000 / hz;
        chunk_cache_begin(run->cache, &run->history);
        server_snapshot(run);
    }
}

/* ---- client ---- */

static u64 client_ns(const Run *run)
{
    return (run->now_ms + CLIENT_CLOCK_MS) * 1000000u;
}

static void client_packet(Run *run, const u8 *raw, u32 bytes)
{
    SnapshotHeader header;
    run->arrived_bytes += run->now_ms >= run->net_case->measure_ms ? bytes : 0;
    if (bytes <= HEAD_BYTES ||
        snapshot_receiver_push(run->receiver, raw, bytes - HEAD_BYTES, &header) != 0) {
        return;
    }
    run->input_due = true;
    u16 newer = (u16)(header.send_ms - run->client_echo_ms);
    if (run->client_echo_at_ms == 0 || newer < 0x8000) {
        run->client_echo_ms = header.send_ms;
        run->client_echo_at_ms = run->now_ms;
    }
    if (header.tick > run->newest) {
        f64 gap_ms = (f64)(run->now_ms - run->newest_at_ms);
        if (run->newest_at_ms >= run->net_case->measure_ms) {
            run->result->gap_ms = gap_ms > run->result->gap_ms ? gap_ms : run->result->gap_ms;
        }
        run->newest = header.tick;
        run->newest_at_ms = run->now_ms;
    }
    timeline_arrival(run->timeline, &header, client_ns(run));
}

static void client_input(Run *run)
{
    InputPacket packet = {.send_ms = (u16)(run->now_ms + CLIENT_CLOCK_MS), .view = run->view};
    u64 held_ms = run->now_ms - run->client_echo_at_ms;
    packet.echo_ms = (u16)(run->client_echo_ms + u64_min(held_ms, 30000));
    packet.ack = snapshot_receiver_ack(run->receiver);
    u8 raw[NETSIM_PACKET_BYTES_MAX] = {0};
    u32 bytes = input_packet_encode(&packet, raw);
    netsim_send(run->up, raw, bytes + HEAD_BYTES, run->now_ms * 1000);
    run->input_at_ms = run->now_ms;
    run->input_due = false;
}

static void client_step(Run *run)
{
    u8 raw[NETSIM_PACKET_BYTES_MAX];
    const NetCase *c = run->net_case;
    bool stalled = run->now_ms >= c->stall_ms[0] && run->now_ms < c->stall_ms[1];
    u32 bytes;
    for (u32 i = 0; i < run->waiting_count && !stalled; i++) {
        client_packet(run, run->socket + run->waiting[i].at, run->waiting[i].bytes);
    }
    if (!stalled) {
        run->waiting_count = run->socket_used = 0;
    }
    while ((bytes = netsim_receive(run->down, run->now_ms * 1000, raw)) > 0) {
        if (!stalled) {
            client_packet(run, raw, bytes);
        } else if (run->socket_used + bytes <= SOCKET_BYTES) {
            memcpy(run->socket + run->socket_used, raw, bytes);
            run->waiting[run->waiting_count++] = (Waiting){bytes, run->socket_used};
            run->socket_used += bytes;
        }
    }
    u64 gap_ms = run->now_ms - run->input_at_ms;
    if (!stalled && ((run->input_due && gap_ms >= INPUT_GAP_MS) || gap_ms >= IDLE_GAP_MS)) {
        client_input(run);
    }
}

/* ---- what was seen ---- */

static const Frame *frame_at(const Run *run, u64 tick)
{
    return run->world->frames[u64_min(u64_max(tick, 1), run->world->count) - 1];
}

static void picture_error(Run *run, Vec3 shown, Vec3 before, Vec3 after, f32 part, bool moves)
{
    Vec3 is = vec3_lerp(before, after, part);
    f32 far = f32_max(vec3_distance(is, run->view.eye), 0.5f);
    f32 pixels = vec3_distance(shown, is) * pixels_per_radian / far;
    if (!moves && pixels < 0.1f) {
        return;
    }
    u64 value = (u64)(f32_min(pixels, 1e6f) * PIXEL_STEPS);
    histogram_add(&run->second, value);
    if (run->now_ms >= run->net_case->measure_ms) {
        histogram_add(&run->pixels, value);
    }
}

/* Compares the displayed state with the server's frames around the displayed tick. */
static void picture_compare(Run *run)
{
    f64 shown = timeline_tick(run->timeline);
    u64 tick = (u64)shown;
    f32 part = (f32)(shown - (f64)tick);
    const Frame *a = frame_at(run, tick), *b = frame_at(run, tick + 1);
    const Frame *old = frame_at(run, tick > RECENT_TICKS ? tick - RECENT_TICKS : 1);
    const FieldSet *fields = run->world->fields;
    const FieldDesc *bodies = &fields->fields[NET_FIELD_BODIES];
    const FieldDesc *sheet = &fields->fields[NET_FIELD_POINTS];
    timeline_poses(run->timeline, NET_FIELD_BODIES, run->poses);
    timeline_points(run->timeline, NET_FIELD_POINTS, run->points);
    for (u32 i = 0; i < run->world->bodies; i++) {
        const i32 *p = frame_poses(a, NET_FIELD_BODIES)[i].position;
        const i32 *q = frame_poses(b, NET_FIELD_BODIES)[i].position;
        const i32 *was = frame_poses(old, NET_FIELD_BODIES)[i].position;
        picture_error(run, run->poses[i].position, dequantize_position(bodies, p),
                      dequantize_position(bodies, q), part,
                      memcmp(p, was, 3 * sizeof *p) != 0 || memcmp(p, q, 3 * sizeof *p) != 0);
    }
    for (u32 i = 0; i < run->world->points; i++) {
        const i32 *p = frame_points(a, NET_FIELD_POINTS)[i].position;
        const i32 *q = frame_points(b, NET_FIELD_POINTS)[i].position;
        const i32 *was = frame_points(old, NET_FIELD_POINTS)[i].position;
        picture_error(run, run->points[i].position, dequantize_position(sheet, p),
                      dequantize_position(sheet, q), part,
                      memcmp(p, was, 3 * sizeof *p) != 0 || memcmp(p, q, 3 * sizeof *p) != 0);
    }
}

static bool chunk_differs(const FieldDesc *field, u32 chunk, const Frame *a, const Frame *b)
{
    u8 x[CHUNK_STATE_BYTES_MAX], y[CHUNK_STATE_BYTES_MAX];
    chunk_gather(field, chunk, frame_field(a, field->id), x);
    chunk_gather(field, chunk, frame_field(b, field->id), y);
    return memcmp(x, y, chunk_state_bytes(field, chunk)) != 0;
}

/* Checks the newest stored state of a chunk against the server's, and finds how long the client
 * has lagged in it. False: there is none. */
static bool chunk_check(Run *run, u32 f, u32 chunk, u64 *since)
{
    const FieldDesc *field = &run->world->fields->fields[f];
    ChunkState states[CHUNK_STATES_KEPT];
    u32 count = snapshot_receiver_states(run->receiver, f, chunk, states);
    u64 newest = run->history.newest->tick;
    if (count == 0) {
        *since = *since != 0 ? *since : newest;
    } else {
        u8 is[CHUNK_STATE_BYTES_MAX];
        chunk_gather(field, chunk, frame_field(frame_at(run, states[0].tick), f), is);
        detail_store(field, states[0].detail, is, chunk_elements(field, chunk));
        run->result->desyncs += memcmp(is, states[0].state, chunk_state_bytes(field, chunk)) != 0;
        u64 from = u64_max(*since, states[0].tick);
        *since = 0;
        for (u64 tick = from + 1; tick <= newest && *since == 0; tick++) {
            if (chunk_differs(field, chunk, frame_at(run, states[0].tick), frame_at(run, tick))) {
                *since = tick - 1;
            }
        }
    }
    f64 stale_s = *since != 0 ? (f64)(newest - *since) / NET_WORLD_HZ : 0.0;
    if (run->now_ms >= run->net_case->measure_ms && stale_s > run->result->stale_s) {
        run->result->stale_s = stale_s;
    }
    return count > 0;
}

static void chunks_check(Run *run)
{
    u64 *since = run->behind_since;
    bool whole = true;
    for (u32 f = 0; f < 2; f++) {
        for (u32 chunk = 0; chunk < run->chunks[f]; chunk++) {
            whole = chunk_check(run, f, chunk, since++) && whole;
        }
    }
    if (whole && run->result->whole_s == 0.0) {
        run->result->whole_s = (f64)run->now_ms / 1000.0;
    }
}

static void client_frame(Run *run, u64 number)
{
    timeline_advance(run->timeline, client_ns(run));
    f64 shown = timeline_tick(run->timeline);
    if (run->now_ms >= run->net_case->measure_ms) {
        run->frames++;
        run->starved += shown > (f64)snapshot_receiver_tick(run->receiver);
        run->delay_sum += (f64)run->now_ms - shown * 1000.0 / NET_WORLD_HZ;
        histogram_add(&run->queue, netsim_queue_us(run->down, run->now_ms * 1000));
    }
    if (number % PICTURE_FRAMES == 0 && run->newest != 0) {
        picture_compare(run);
    }
}

/* ---- the run ---- */

static void second_end(Run *run)
{
    NetResult *result = run->result;
    if (result->seconds < NET_SECONDS_MAX) {
        result->second_px[result->seconds] = histogram_quantile(&run->second, 0.95) / PIXEL_STEPS;
        result->second_kbit[result->seconds++] = (f64)run->second_bytes * 0.008;
    }
    memset(&run->second, 0, sizeof run->second);
    run->second_bytes = 0;
}

static void network_step(Run *run)
{
    const NetCase *c = run->net_case;
    if (c->change_ms[1] != 0 && run->now_ms == c->change_ms[0]) {
        netsim_set(run->down, &c->changed);
    } else if (c->change_ms[1] != 0 && run->now_ms == c->change_ms[1]) {
        netsim_set(run->down, &c->down);
    }
}

static void run_play(Run *run)
{
    u64 tick = 0, snapshot_at_ms = 0, frame = 0;
    u64 end_ms = (u64)run->world->count * 1000 / NET_WORLD_HZ;
    for (run->now_ms = 1; run->now_ms < end_ms; run->now_ms++) {
        network_step(run);
        server_step(run, &tick, &snapshot_at_ms);
        client_step(run);
        bool stalled =
            run->now_ms >= run->net_case->stall_ms[0] && run->now_ms < run->net_case->stall_ms[1];
        if (run->now_ms * 1000 >= frame * FRAME_US) {
            if (!stalled) {
                client_frame(run, frame);
            }
            frame++;
        }
        if (run->now_ms % 100 == 50 && !stalled) {
            chunks_check(run);
        }
        if (run->now_ms % 1000 == 0) {
            second_end(run);
        }
    }
}

static void run_result(Run *run)
{
    NetResult *result = run->result;
    f64 seconds = (f64)run->world->count / NET_WORLD_HZ - (f64)run->net_case->measure_ms / 1000.0;
    SnapshotReceiverStats received;
    SnapshotSenderStats sent;
    snapshot_receiver_stats(run->receiver, &received);
    snapshot_sender_stats(run->sender, &sent);
    result->desyncs += received.desyncs + received.missing_baselines + received.malformed;
    result->px_median = histogram_quantile(&run->pixels, 0.5) / PIXEL_STEPS;
    result->px_p99 = histogram_quantile(&run->pixels, 0.99) / PIXEL_STEPS;
    result->delay_ms = run->frames > 0 ? run->delay_sum / (f64)run->frames : 0.0;
    result->starved = run->frames > 0 ? (f64)run->starved / (f64)run->frames : 0.0;
    f64 gap_ms = (f64)(run->now_ms - u64_max(run->newest_at_ms, run->net_case->measure_ms));
    result->gap_ms = gap_ms > result->gap_ms ? gap_ms : result->gap_ms;
    result->queue_ms = histogram_quantile(&run->queue, 0.95) / 1000.0;
    result->kbit_s = (f64)run->sent_bytes * 0.008 / seconds;
    result->goodput = run->sent_bytes > 0 ? (f64)run->arrived_bytes / (f64)run->sent_bytes : 0.0;
    result->packets = sent.packets;
    result->keys = sent.keys;
    result->records = sent.records;
    result->late = received.late;
    result->coarseness = run->snapshots > 0 ? (f64)run->coarseness_sum / (f64)run->snapshots : 0.0;
}

static bool run_init(Run *run)
{
    FieldSet *fields = run->world->fields;
    run->view = (SnapshotView){.eye = {0.0f, 7.0f, 18.0f},
                               .forward = {0.0f, -0.33f, -0.944f},
                               .pixels_per_radian = pixels_per_radian};
    run->chunks[0] = chunk_count(&fields->fields[0]);
    run->chunks[1] = chunk_count(&fields->fields[1]);
    history_init(&run->history);
    budget_init(&run->budget, 0, BUDGET_MAX_BYTES_S);
    run->down = netsim_create(&run->net_case->down);
    run->up = netsim_create(&run->net_case->up);
    run->cache = chunk_cache_create();
    run->sender = snapshot_sender_create(fields);
    if (run->sender != NULL) {
        snapshot_sender_allow_coarse(run->sender, !run->net_case->full_detail);
    }
    run->receiver = snapshot_receiver_create(fields);
    u32 hz = run->net_case->snapshot_hz != 0 ? run->net_case->snapshot_hz : 30;
    run->timeline = run->receiver != NULL ? timeline_create(run->receiver, NET_WORLD_HZ, hz) : NULL;
    run->socket = malloc(SOCKET_BYTES);
    run->waiting = malloc(SOCKET_BYTES / HEAD_BYTES * sizeof *run->waiting);
    run->poses = calloc(run->world->bodies, sizeof *run->poses);
    run->points = calloc(run->world->points, sizeof *run->points);
    run->behind_since = calloc(run->chunks[0] + run->chunks[1], sizeof *run->behind_since);
    return run->down != NULL && run->up != NULL && run->cache != NULL && run->sender != NULL &&
           run->timeline != NULL && run->socket != NULL && run->waiting != NULL &&
           run->poses != NULL && run->points != NULL && run->behind_since != NULL;
}

static void run_finish(Run *run)
{
    netsim_destroy(run->down);
    netsim_destroy(run->up);
    timeline_destroy(run->timeline);
    snapshot_receiver_destroy(run->receiver);
    snapshot_sender_destroy(run->sender);
    chunk_cache_destroy(run->cache);
    history_finish(&run->history);
    free(run->socket);
    free(run->waiting);
    free(run->poses);
    free(run->points);
    free(run->behind_since);
    free(run);
}

bool net_run(const NetWorld *world, const NetCase *net_case, NetResult *result)
{
    Run *run = calloc(1, sizeof *run);
    if (run == NULL) {
        return false;
    }
    memset(result, 0, sizeof *result);
    run->world = world;
    run->net_case = net_case;
    run->result = result;
    bool good = run_init(run);
    if (good) {
        run_play(run);
        run_result(run);
    }
    run_finish(run);
    return good;
}
