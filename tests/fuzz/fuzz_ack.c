/*
 * fuzz_ack.c: a client that lies about what it received: acknowledgements of packets that it never
 * got, or that were never sent, for views that change. The sender continues, within its budget, and
 * a correct receiver reads its packets without error: it sends nothing malformed. An honest client
 * beside it, of the same cache, has no desync.
 */
#include "protocol/stream/snapshot.h"
#include "shared/base/check.h"
#include "shared/base/error.h"
#include "tests/fuzz/target.h"
#include "tests/support/feed.h"
#include "tests/support/net_world.h"

enum {
    TICKS = 90,
    STEPS_MAX = 120,
    BUDGET_MAX = 4000
};

typedef struct End {
    SnapshotSender *sender;
    SnapshotReceiver *receiver;
    u32 sent;
} End;

static NetWorld *world;
static SpanCoder *coder;

static void prepare(void)
{
    world = net_world_create(150, 16, TICKS, 3);
    coder = span_coder_create();
    CHECK(world != NULL && coder != NULL && span_coder_reserve(coder, world->fields));
}

static void emit(void *context, const u8 *packet, u32 bytes)
{
    End *end = context;
    SnapshotHeader header;
    CHECK(bytes <= STATE_PAYLOAD_BYTES_MAX);
    int result = snapshot_receiver_push(end->receiver, packet, bytes, &header);
    CHECK(result == 0 || result == ERROR_BASELINE);
    end->sent++;
}

static void end_begin(End *end)
{
    end->sender = snapshot_sender_create(world->fields);
    end->receiver = snapshot_receiver_create_sharing(world->fields, coder);
    end->sent = 0;
    CHECK(end->sender != NULL && end->receiver != NULL);
    snapshot_sender_allow_coarse(end->sender, true);
}

static void end_finish(End *end)
{
    snapshot_sender_destroy(end->sender);
    snapshot_receiver_destroy(end->receiver);
}

static void lie(End *end, Feed *feed)
{
    SnapshotSenderStats stats;
    u32 kind = feed_u8(feed), lost = 0;
    SnapshotAck ack = {.valid = (u16)(kind & 3), .newest = (u16)(end->sent + (kind >> 2) - 40)};
    ack.bits = kind & 64 ? UINT64_MAX : feed_u32(feed) * 0x100000001ull;
    u32 confirmed = snapshot_sender_ack(end->sender, ack, &lost);
    snapshot_sender_stats(end->sender, &stats);
    CHECK(confirmed <= 65 && stats.acked <= stats.packets && stats.acked_bytes <= stats.bytes);
}

static void run(const u8 *data, size_t bytes)
{
    Feed feed = {data, bytes};
    End liar, honest;
    History history;
    ChunkCache *cache = chunk_cache_create();
    SnapshotView view = {.forward = vec3(0, 0, -1), .pixels_per_radian = 500};
    u32 tick = 0;
    CHECK(cache != NULL);
    history_init(&history);
    end_begin(&liar);
    end_begin(&honest);
    for (u32 i = 0; i < STEPS_MAX && feed.left > 0 && tick < TICKS; i++) {
        u32 step = feed_u8(&feed);
        if (step < 128) {
            lie(&liar, &feed);
            continue;
        }
        tick = u32_min(tick + 1 + step % 4, TICKS);
        history_push(&history, world->frames[tick - 1]);
        CHECK(chunk_cache_begin(cache, &history));
        SnapshotHeader header = {0};
        SnapshotLine line = {feed_u8(&feed) * BUDGET_MAX / 255, tick * 17u, step % 32 * 10};
        view.eye = feed_vec3(&feed);
        if (!vec3_is_finite(view.eye)) {
            view.eye = vec3(0, 1, 5); /* the host asks for that */
        }
        (void)snapshot_sender_build(liar.sender, cache, &view, &header, line, emit, &liar);
        (void)snapshot_sender_build(honest.sender, cache, &view, &header, line, emit, &honest);
        (void)snapshot_sender_ack(honest.sender, snapshot_receiver_ack(honest.receiver), NULL);
        chunk_cache_validate(cache);
    }
    SnapshotReceiverStats stats;
    snapshot_receiver_stats(honest.receiver, &stats);
    CHECK(stats.desyncs + stats.malformed + stats.missing_baselines == 0);
    snapshot_receiver_stats(liar.receiver, &stats);
    CHECK(stats.malformed == 0);
    end_finish(&liar);
    end_finish(&honest);
    history_finish(&history);
    chunk_cache_destroy(cache);
}

const FuzzTarget fuzz_target = {
    .prepare = prepare, .run = run, .size_max = 2048, .memory_fixed = 64 << 20};
