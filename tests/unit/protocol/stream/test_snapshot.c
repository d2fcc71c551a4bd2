/*
 * test_snapshot.c: random worlds through random networks. Every state that a client stores equals
 * the server's at that tick, bit for bit; no baseline is ever missing; after the world stops,
 * everything arrives; torn or forged packets do no harm.
 */
#include "protocol/session/input.h"
#include "protocol/stream/snapshot.h"
#include "tests/support/netsim.h"
#include "tests/unit/protocol/random_world.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
    FRAMES_MAX = 4096,
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    WORLDS = 6, /* enough to touch all memory that more would */
#else
    WORLDS = 14,
#endif
};

/* One server with one client and the network between them. */
typedef struct Pair {
    FieldSet *fields;
    Frame *frames[FRAMES_MAX]; /* by tick, all of them */
    u64 tick;
    u64 now_ms;
    History history;
    ChunkCache *cache;
    SnapshotSender *sender;
    SnapshotReceiver *receiver;
    Netsim *down, *up;
    u32 emitted, largest, budget;
    u32 overshot;       /* bytes of the last record beyond the budget: deducted from the next */
    u32 snapshot_every; /* ticks */
    u32 confirmed, lost;
    bool verify_all;
    bool decimation; /* the points are a liquid's */
} Pair;

static void emit_down(void *context, const u8 *packet, u32 bytes)
{
    Pair *pair = context;
    pair->emitted++;
    pair->largest = u32_max(pair->largest, bytes);
    netsim_send(pair->down, packet, bytes, pair->now_ms * 1000);
}

static void pair_init(Pair *pair, u32 size, const NetsimOptions *net, u64 first_tick)
{
    memset(pair, 0, sizeof *pair);
    pair->fields = random_fields(size);
    pair->tick = first_tick;
    pair->budget = 1 << 20;
    pair->snapshot_every = 2;
    history_init(&pair->history);
    pair->cache = chunk_cache_create();
    pair->sender = snapshot_sender_create(pair->fields);
    pair->receiver = snapshot_receiver_create(pair->fields);
    NetsimOptions up = *net;
    up.seed += 1000;
    pair->down = netsim_create(net);
    pair->up = netsim_create(&up);
}

static void pair_finish(Pair *pair)
{
    for (u32 i = 0; i < FRAMES_MAX; i++) {
        frame_release(pair->frames[i]);
    }
    netsim_destroy(pair->down);
    netsim_destroy(pair->up);
    snapshot_receiver_destroy(pair->receiver);
    snapshot_sender_destroy(pair->sender);
    chunk_cache_destroy(pair->cache);
    history_finish(&pair->history);
    field_set_release(pair->fields);
}

static Frame *pair_newest(const Pair *pair)
{
    return pair->frames[pair->tick % FRAMES_MAX];
}

static void pair_tick(Pair *pair, Dice *dice, f64 activity)
{
    Frame *before = pair->history.newest;
    pair->tick += before != NULL;
    Frame *frame = random_next(dice, pair->fields, before, pair->tick, activity);
    frame_release(pair->frames[pair->tick % FRAMES_MAX]);
    pair->frames[pair->tick % FRAMES_MAX] = frame;
    history_push(&pair->history, frame);
}

static void pair_snapshot(Pair *pair)
{
    SnapshotHeader header = {.send_ms = (u16)pair->now_ms, .speed = 1024};
    SnapshotView view = {.eye = {0, 2, 10}, .forward = {0, 0, -1}, .pixels_per_radian = 800};
    assert_true(chunk_cache_begin(pair->cache, &pair->history));
    for (u32 f = 0; f < pair->fields->count && pair->decimation; f++) {
        if (pair->fields->fields[f].kind == FIELD_POINTS) {
            chunk_cache_decimate(pair->cache, f, 0, pair->fields->fields[f].capacity);
        }
    }
    u32 before = pair->emitted;
    u32 allowed = pair->budget - u32_min(pair->budget, pair->overshot);
    u32 bytes = snapshot_sender_build(pair->sender, pair->cache, &view, &header,
                                      (SnapshotLine){allowed, pair->now_ms, 60}, emit_down, pair);
    u32 spent = bytes + pair->overshot;
    pair->overshot = spent > pair->budget ? spent - pair->budget : 0;
    assert_true(pair->emitted > before);
}

static void check_state(const Pair *pair, u32 f, u32 c, const ChunkState *state)
{
    const FieldDesc *field = &pair->fields->fields[f];
    const Frame *frame = pair->frames[state->tick % FRAMES_MAX];
    assert_non_null(frame);
    assert_true(frame->tick == state->tick);
    u8 expected[CHUNK_STATE_BYTES_MAX];
    chunk_gather(field, c, frame_field(frame, f), expected);
    detail_store(field, state->detail, expected, chunk_elements(field, c));
    assert_memory_equal(state->state, expected, chunk_state_bytes(field, c));
}

/* Every state kept (or the newest) equals the server's. */
static void check_states(const Pair *pair, bool all)
{
    ChunkState states[CHUNK_STATES_KEPT];
    for (u32 f = 0; f < pair->fields->count; f++) {
        for (u32 c = 0; c < chunk_count(&pair->fields->fields[f]); c++) {
            u32 count = snapshot_receiver_states(pair->receiver, f, c, states);
            for (u32 i = 0; i < count && (all || i == 0); i++) {
                check_state(pair, f, c, &states[i]);
                assert_true(i == 0 || states[i].tick < states[i - 1].tick);
            }
        }
    }
}

/* `left`: the chunk had, until it changed, the state that the client has of that tick. */
static void check_left(const Pair *pair)
{
    ChunkState states[CHUNK_STATES_KEPT];
    for (u32 f = 0; f < pair->fields->count; f++) {
        const FieldDesc *field = &pair->fields->fields[f];
        for (u32 c = 0; c < chunk_count(field); c++) {
            u32 count = snapshot_receiver_states(pair->receiver, f, c, states);
            for (u32 i = 0; i < count; i++) {
                u8 expected[CHUNK_STATE_BYTES_MAX];
                const Frame *frame = pair->frames[states[i].left % FRAMES_MAX];
                u32 before = i + 1;
                while (before < count && states[before].tick > states[i].left) {
                    before++;
                }
                if (states[i].left != 0 && before < count) {
                    assert_non_null(frame);
                    chunk_gather(field, c, frame_field(frame, f), expected);
                    detail_store(field, states[before].detail, expected, chunk_elements(field, c));
                    assert_memory_equal(states[before].state, expected,
                                        chunk_state_bytes(field, c));
                }
            }
        }
    }
}

static bool is_complete(const Pair *pair)
{
    ChunkState states[CHUNK_STATES_KEPT];
    for (u32 f = 0; f < pair->fields->count; f++) {
        const FieldDesc *field = &pair->fields->fields[f];
        for (u32 c = 0; c < chunk_count(field); c++) {
            u8 expected[CHUNK_STATE_BYTES_MAX];
            chunk_gather(field, c, frame_field(pair_newest(pair), f), expected);
            if (snapshot_receiver_states(pair->receiver, f, c, states) == 0 ||
                memcmp(states[0].state, expected, chunk_state_bytes(field, c)) != 0) {
                return false;
            }
        }
    }
    return true;
}

static void pair_network(Pair *pair)
{
    u32 bytes;
    u8 data[NETSIM_PACKET_BYTES_MAX];
    while ((bytes = netsim_receive(pair->down, pair->now_ms * 1000, data)) > 0) {
        assert_true(bytes <= STATE_PAYLOAD_BYTES_MAX);
        assert_int_equal(snapshot_receiver_push(pair->receiver, data, bytes, NULL), 0);
    }
    while (netsim_receive(pair->up, pair->now_ms * 1000, data) > 0) {
        SnapshotAck ack;
        u32 lost;
        memcpy(&ack, data, sizeof ack);
        pair->confirmed += snapshot_sender_ack(pair->sender, ack, &lost);
        pair->lost += lost;
    }
}

static void pair_ack(Pair *pair)
{
    SnapshotAck ack;
    memset(&ack, 0, sizeof ack);
    SnapshotAck now = snapshot_receiver_ack(pair->receiver);
    ack.newest = now.newest;
    ack.valid = now.valid;
    ack.bits = now.bits;
    netsim_send(pair->up, &ack, sizeof ack, pair->now_ms * 1000);
}

/* One tick of 16 ms; if paused, time passes and the world stands still. */
static void pair_step(Pair *pair, Dice *dice, u32 step, f64 activity, bool paused)
{
    if (!paused) {
        pair_tick(pair, dice, activity);
    }
    if (step % pair->snapshot_every == 0) {
        pair_snapshot(pair);
    }
    pair_network(pair);
    if (step % 2 == 1) {
        pair_ack(pair);
    }
    pair->now_ms += 16;
}

static NetsimOptions random_network(Dice *dice)
{
    NetsimOptions net = {.seed = dice_u64(dice)};
    net.delay_ms = dice_below(dice, 200);
    if (dice_chance(dice, 0.8)) {
        net.loss = dice_range(dice, 0.0f, 0.4f);
        net.jitter_ms = dice_below(dice, dice_chance(dice, 0.3) ? 1500 : 150);
        net.duplicate = dice_range(dice, 0.0f, 0.2f);
        net.burst = dice_chance(dice, 0.5) ? 0.02 : 0.0;
        net.burst_packets = 8;
    }
    return net;
}

static void expect_clean(const Pair *pair)
{
    SnapshotReceiverStats stats;
    snapshot_receiver_stats(pair->receiver, &stats);
    assert_int_equal(stats.missing_baselines, 0);
    assert_int_equal(stats.desyncs, 0);
    assert_int_equal(stats.malformed, 0);
}

static void test_random_worlds_and_networks(void **context)
{
    PL_UNUSED(context);
    for (u32 world = 0; world < WORLDS; world++) {
        Dice dice = {100 + world, 0};
        NetsimOptions net = random_network(&dice);
        Pair *pair = malloc(sizeof *pair);
        pair_init(pair, 20 + dice_below(&dice, 250), &net, dice_below(&dice, 3));
        pair->budget = dice_chance(&dice, 0.4) ? 600 + dice_below(&dice, 4000) : 1 << 20;
        pair->snapshot_every = 1 + dice_below(&dice, 3);
        snapshot_sender_allow_coarse(pair->sender, world % 4 != 3);
        pair->decimation = world % 2 == 0;
        u32 step = 0;
        f64 activity = dice_range(&dice, 0.0f, 1.0f);
        for (; step < 350; step++) {
            bool rest = step % 200 > 150;
            bool paused = step % 97 > 90;
            pair_step(pair, &dice, step, rest ? 0.0 : activity, paused);
            if (step % 8 == 0) {
                check_states(pair, step % 64 == 0);
            }
        }
        check_left(pair);
        /* The world stops; the network stays as bad as it is. */
        for (u32 more = 0; !is_complete(pair); more++, step++) {
            assert_true(more < 4000);
            pair_step(pair, &dice, step, 0.0, world % 2 == 0);
        }
        check_states(pair, true);
        expect_clean(pair);
        /* Once all is acknowledged only clocks are sent. */
        SnapshotSenderStats before, after;
        for (u32 more = 0;; more++, step++) {
            assert_true(more < 4000);
            snapshot_sender_stats(pair->sender, &before);
            if (before.chunks_pending == 0) {
                break;
            }
            pair_step(pair, &dice, step, 0.0, world % 2 == 0);
        }
        u64 bytes = before.bytes;
        for (u32 more = 0; more < 60; more++, step++) {
            pair_step(pair, &dice, step, 0.0, world % 2 == 0);
        }
        snapshot_sender_stats(pair->sender, &after);
        assert_int_equal(after.records, before.records);
        assert_int_equal(after.bytes - bytes, (after.packets - before.packets) * 18);
        assert_true(pair->confirmed > 0 && after.acked == pair->confirmed);
        pair_finish(pair);
        free(pair);
    }
}

/* With far too small a budget, moving chunks are sent coarsely and points of a liquid are left out;
 * with enough budget again everything is sent in full, as are chunks that have come to rest, paused
 * or not. */
static void test_coarse_and_back(void **context)
{
    PL_UNUSED(context);
    for (u32 kind = 0; kind < 2; kind++) {
        Dice dice = {20 + kind, 0};
        NetsimOptions net = {.seed = 1, .delay_ms = 30, .loss = 0.1};
        Pair *pair = malloc(sizeof *pair);
        pair_init(pair, 250, &net, 1);
        snapshot_sender_allow_coarse(pair->sender, true);
        pair->decimation = true;
        pair->budget = 200;
        SnapshotSenderStats sent;
        SnapshotReceiverStats received;
        u32 step = 0, coarse = 0, decimation = 0;
        for (; step < 160; step++) {
            pair_step(pair, &dice, step, 0.7, false);
            if (step % 8 == 0) {
                check_states(pair, step % 32 == 0);
            }
        }
        snapshot_receiver_stats(pair->receiver, &received);
        assert_in_range(received.coarse, 1, received.chunks);
        snapshot_sender_stats(pair->sender, &sent);
        assert_int_equal(sent.coarseness, SNAPSHOT_COARSENESS_MAX);
        for (u32 f = 0; f < pair->fields->count; f++) {
            for (u32 c = 0; c < chunk_count(&pair->fields->fields[f]); c++) {
                ChunkState states[CHUNK_STATES_KEPT];
                if (snapshot_receiver_states(pair->receiver, f, c, states) > 0) {
                    coarse += detail_shift(states[0].detail) > 0;
                    decimation += detail_decimation(states[0].detail) > 0;
                }
            }
        }
        assert_true(coarse > 0 && decimation > 0);
        pair->budget = 4000;
        for (u32 more = 0; !is_complete(pair); more++, step++) {
            assert_true(more < 1000);
            pair_step(pair, &dice, step, 0.0, kind == 1 && more > 0);
        }
        check_states(pair, true);
        for (u32 more = 0; more < 260; more++, step++) {
            pair_step(pair, &dice, step, 0.0, false);
        }
        snapshot_sender_stats(pair->sender, &sent);
        assert_int_equal(sent.coarseness, 0);
        snapshot_receiver_stats(pair->receiver, &received);
        assert_int_equal(received.coarse, 0);
        expect_clean(pair);
        pair_finish(pair);
        free(pair);
    }
}

/* Rest for longer than History remembers, then motion: deltas, no keys. */
static void test_rest_then_move_sends_deltas(void **context)
{
    PL_UNUSED(context);
    Dice dice = {1, 0};
    NetsimOptions net = {.seed = 1, .delay_ms = 30};
    Pair *pair = malloc(sizeof *pair);
    pair_init(pair, 200, &net, 1);
    u32 step = 0;
    for (; step < 3 * HISTORY_FRAMES; step++) {
        pair_step(pair, &dice, step, step < 10 ? 1.0 : 0.0, false);
    }
    SnapshotSenderStats before, after;
    snapshot_sender_stats(pair->sender, &before);
    assert_int_equal(before.chunks_pending, 0);
    for (u32 more = 0; more < 100; more++, step++) {
        pair_step(pair, &dice, step, 1.0, false);
        check_states(pair, false);
    }
    snapshot_sender_stats(pair->sender, &after);
    assert_true(after.records > before.records + 100);
    assert_int_equal(after.keys, before.keys);
    expect_clean(pair);
    pair_finish(pair);
    free(pair);
}

static void emit_push(void *context, const u8 *packet, u32 bytes)
{
    assert_int_equal(snapshot_receiver_push(context, packet, bytes, NULL), 0);
}

/* A chunk that moves each tick left its former state a tick ago; so did one that had rested for
 * long. */
static void test_time_of_change(void **context)
{
    PL_UNUSED(context);
    FieldSet *fields = random_fields(20);
    History history;
    history_init(&history);
    ChunkCache *cache = chunk_cache_create();
    SnapshotSender *sender = snapshot_sender_create(fields);
    SnapshotReceiver *receiver = snapshot_receiver_create(fields);
    for (u64 tick = 1; tick <= 60; tick++) {
        Frame *frame = frame_create(fields, tick, 0);
        u64 moved = tick <= 30 ? tick : tick < 40 ? 30 : tick - 9;
        frame_poses(frame, 0)[0].flags = POSE_LIVE;
        frame_poses(frame, 0)[0].position[1] = (i32)moved;
        history_push(&history, frame);
        frame_release(frame);
        chunk_cache_begin(cache, &history);
        SnapshotHeader header = {.speed = 1024};
        snapshot_sender_build(sender, cache, NULL, &header, (SnapshotLine){1 << 20, tick * 16, 20},
                              emit_push, receiver);
        snapshot_sender_ack(sender, snapshot_receiver_ack(receiver), NULL);
        ChunkState states[CHUNK_STATES_KEPT];
        assert_true(snapshot_receiver_states(receiver, 0, 0, states) > 0);
        u64 expected_tick = tick > 30 && tick < 40 ? 30 : tick;
        assert_int_equal(states[0].tick, expected_tick);
        assert_true(tick != 1 || states[0].left == 0);
        assert_true(tick == 1 || (tick > 30 && tick < 40) || states[0].left == tick - 1);
    }
    snapshot_receiver_destroy(receiver);
    snapshot_sender_destroy(sender);
    chunk_cache_destroy(cache);
    history_finish(&history);
    field_set_release(fields);
}

/* No packet passes for seconds; then all do. */
static void test_blackout(void **context)
{
    PL_UNUSED(context);
    Dice dice = {2, 0};
    NetsimOptions good = {.seed = 1, .delay_ms = 40, .jitter_ms = 20}, dead = good;
    dead.loss = 1.0f;
    Pair *pair = malloc(sizeof *pair);
    pair_init(pair, 100, &good, 1);
    for (u32 step = 0; step < 900; step++) {
        bool out = step >= 200 && step < 700;
        netsim_set(pair->down, out ? &dead : &good);
        netsim_set(pair->up, out ? &dead : &good);
        pair_step(pair, &dice, step, 0.7, false);
        check_states(pair, false);
    }
    expect_clean(pair);
    assert_true(pair->lost > 100);
    ChunkState states[CHUNK_STATES_KEPT];
    assert_true(snapshot_receiver_states(pair->receiver, 0, 0, states) > 0);
    assert_true(states[0].tick + 30 > pair->tick);
    pair_finish(pair);
    free(pair);
}

/* No acknowledgement returns: the client still sees the world, by keys. */
static void test_acknowledgements_lost(void **context)
{
    PL_UNUSED(context);
    Dice dice = {9, 0};
    NetsimOptions good = {.seed = 1, .delay_ms = 40}, dead = {.loss = 1.0};
    Pair *pair = malloc(sizeof *pair);
    pair_init(pair, 100, &good, 1);
    for (u32 step = 0; step < 400; step++) {
        netsim_set(pair->up, step >= 60 ? &dead : &good);
        pair_step(pair, &dice, step, 1.0, false);
        check_states(pair, false);
    }
    ChunkState states[CHUNK_STATES_KEPT];
    assert_true(snapshot_receiver_states(pair->receiver, 0, 0, states) > 0);
    assert_true(states[0].tick + 10 > pair->tick);
    SnapshotReceiverStats stats;
    snapshot_receiver_stats(pair->receiver, &stats);
    assert_int_equal(stats.late, 0);
    expect_clean(pair);
    pair_finish(pair);
    free(pair);
}

/* The sequence and the low 32 bits of the tick wrap. */
static void test_wraps(void **context)
{
    PL_UNUSED(context);
    Dice dice = {3, 0};
    NetsimOptions net = {.seed = 1, .delay_ms = 20, .loss = 0.1f};
    Pair *pair = malloc(sizeof *pair);
    pair_init(pair, 30, &net, 0xFFFFFFFFull - 1500);
    for (u32 step = 0; step < 3000; step++) {
        pair_step(pair, &dice, step, 0.05, false);
        /* Idle packets push the sequence around its 16 bits. */
        for (u32 i = 0; i < 24; i++) {
            pair_snapshot(pair);
            pair_network(pair);
            if (i % 8 == 0) {
                pair_ack(pair);
            }
        }
        if (step % 100 == 0) {
            check_states(pair, true);
        }
    }
    assert_true(pair->emitted > 0x11000);
    assert_true(snapshot_receiver_tick(pair->receiver) > 0xFFFFFFFFull);
    expect_clean(pair);
    pair_finish(pair);
    free(pair);
}

static void test_budget_is_kept_and_nothing_starves(void **context)
{
    PL_UNUSED(context);
    Dice dice = {5, 0};
    NetsimOptions net = {.seed = 1, .delay_ms = 20};
    Pair *pair = malloc(sizeof *pair);
    pair_init(pair, 640, &net, 1);
    pair->budget = 400;
    pair->snapshot_every = 1;
    SnapshotSenderStats stats;
    for (u32 step = 0; step < 1500; step++) {
        pair_step(pair, &dice, step, 1.0, false);
        snapshot_sender_stats(pair->sender, &stats);
        assert_true(stats.bytes <= 400ull * (step + 1) + 2 * STATE_PAYLOAD_BYTES_MAX);
    }
    ChunkState states[CHUNK_STATES_KEPT];
    for (u32 f = 0; f < pair->fields->count; f++) {
        for (u32 c = 0; c < chunk_count(&pair->fields->fields[f]); c++) {
            assert_true(snapshot_receiver_states(pair->receiver, f, c, states) > 0);
            assert_true(states[0].tick + 400 > pair->tick);
        }
    }
    expect_clean(pair);
    pair_finish(pair);
    free(pair);
}

typedef struct Caught {
    u8 data[64][STATE_PAYLOAD_BYTES_MAX];
    u32 bytes[64];
    u32 count;
} Caught;

static void emit_caught(void *context, const u8 *packet, u32 bytes)
{
    Caught *caught = context;
    if (caught->count < 64) {
        memcpy(caught->data[caught->count], packet, bytes);
        caught->bytes[caught->count++] = bytes;
    }
}

/* Torn and mutated packets: no crash, no partial store, and the ring remains valid. */
static void test_hostile_packets(void **context)
{
    PL_UNUSED(context);
    Dice dice = {6, 0};
    NetsimOptions net = {.seed = 1};
    Pair *pair = malloc(sizeof *pair);
    Caught *caught = calloc(1, sizeof *caught);
    pair_init(pair, 150, &net, 1);
    for (u32 step = 0; step < 40; step++) {
        pair_step(pair, &dice, step, 0.6, false);
    }
    pair_tick(pair, &dice, 1.0);
    SnapshotHeader header = {.speed = 1024};
    chunk_cache_begin(pair->cache, &pair->history);
    snapshot_sender_build(pair->sender, pair->cache, NULL, &header,
                          (SnapshotLine){1 << 20, 1 << 20, 50}, emit_caught, caught);
    assert_true(caught->count > 1);
    for (u32 round = 0; round < 30000; round++) {
        u32 k = dice_below(&dice, caught->count);
        u32 bytes = caught->bytes[k];
        if (dice_chance(&dice, 0.2)) {
            bytes = dice_below(&dice, bytes + 1);
        }
        u8 *packet = malloc(bytes + 1);
        memcpy(packet, caught->data[k], bytes);
        packet = realloc(packet, bytes > 0 ? bytes : 1);
        for (u32 i = dice_below(&dice, 6); i > 0 && bytes > 0; i--) {
            packet[dice_below(&dice, bytes)] ^= (u8)(1u << dice_below(&dice, 8));
        }
        SnapshotAck before = snapshot_receiver_ack(pair->receiver);
        int error = snapshot_receiver_push(pair->receiver, packet, bytes, NULL);
        SnapshotAck after = snapshot_receiver_ack(pair->receiver);
        assert_true(error <= 0);
        assert_true(error == 0 || (before.newest == after.newest && before.bits == after.bits));
        free(packet);
    }
    ChunkState states[CHUNK_STATES_KEPT];
    for (u32 f = 0; f < pair->fields->count; f++) {
        for (u32 c = 0; c < chunk_count(&pair->fields->fields[f]); c++) {
            u32 count = snapshot_receiver_states(pair->receiver, f, c, states);
            for (u32 i = 1; i < count; i++) {
                assert_true(states[i].tick < states[i - 1].tick);
            }
        }
    }
    free(caught);
    pair_finish(pair);
    free(pair);
}

/* A sender that breaks the rule is detected. */
static void test_missing_baseline_is_refused(void **context)
{
    PL_UNUSED(context);
    Dice dice = {7, 0};
    NetsimOptions net = {.seed = 1};
    Pair *pair = malloc(sizeof *pair);
    pair_init(pair, 150, &net, 1);
    for (u32 step = 0; step < 20; step++) {
        pair_step(pair, &dice, step, 0.6, false);
    }
    SnapshotReceiver *stranger = snapshot_receiver_create(pair->fields);
    Caught *caught = calloc(1, sizeof *caught);
    pair_tick(pair, &dice, 1.0);
    SnapshotHeader header = {.speed = 1024};
    chunk_cache_begin(pair->cache, &pair->history);
    snapshot_sender_build(pair->sender, pair->cache, NULL, &header,
                          (SnapshotLine){1 << 20, pair->now_ms, 50}, emit_caught, caught);
    assert_true(snapshot_receiver_push(stranger, caught->data[0], caught->bytes[0], NULL) < 0);
    assert_int_equal(snapshot_receiver_ack(stranger).valid, 0);
    SnapshotReceiverStats stats;
    snapshot_receiver_stats(stranger, &stats);
    assert_int_equal(stats.missing_baselines, 1);
    snapshot_receiver_destroy(stranger);
    free(caught);
    pair_finish(pair);
    free(pair);
}

static void emit_sequence(void *context, const u8 *packet, u32 bytes)
{
    assert_true(bytes >= 18);
    memcpy(context, packet, sizeof(u16));
}

/* Acknowledgements for a sender that was replaced confirm nothing at the new one. */
static void test_replaced_sender(void **context)
{
    PL_UNUSED(context);
    Dice dice = {10, 0};
    FieldSet *fields = random_fields(30);
    History history;
    history_init(&history);
    ChunkCache *cache = chunk_cache_create();
    SnapshotHeader header = {.speed = 1024};
    SnapshotAck stale = {.valid = 0};
    for (u64 tick = 1; tick <= 50; tick++) {
        Frame *frame = random_next(&dice, fields, history.newest, tick, 1.0);
        history_push(&history, frame);
        frame_release(frame);
        chunk_cache_begin(cache, &history);
        SnapshotSender *sender = snapshot_sender_create(fields);
        assert_int_equal(snapshot_sender_ack(sender, stale, NULL), 0);
        u16 newest = 0;
        snapshot_sender_build(sender, cache, NULL, &header, (SnapshotLine){1 << 20, tick * 16, 50},
                              emit_sequence, &newest);
        assert_int_equal(snapshot_sender_ack(sender, stale, NULL), 0);
        stale = (SnapshotAck){.newest = newest, .valid = 1, .bits = ~0ull};
        snapshot_sender_destroy(sender);
    }
    chunk_cache_destroy(cache);
    history_finish(&history);
    field_set_release(fields);
}

/* 64 clients that acknowledged the same ticks cost the encodings of one. */
static void test_clients_share_encodings(void **context)
{
    PL_UNUSED(context);
    enum {
        CLIENTS = 64
    };
    Dice dice = {8, 0};
    FieldSet *fields = random_fields(300);
    History history;
    history_init(&history);
    ChunkCache *cache = chunk_cache_create();
    SnapshotSender *senders[CLIENTS];
    for (u32 i = 0; i < CLIENTS; i++) {
        senders[i] = snapshot_sender_create(fields);
    }
    u64 encoded = 0, served = 0;
    for (u64 tick = 1; tick <= 20; tick++) {
        Frame *frame = random_next(&dice, fields, history.newest, tick, 1.0);
        history_push(&history, frame);
        frame_release(frame);
        chunk_cache_begin(cache, &history);
        u64 encoded_before = encoded;
        for (u32 i = 0; i < CLIENTS; i++) {
            SnapshotHeader header = {.speed = 1024};
            SnapshotAck ack = {.valid = 1, .bits = ~0ull};
            snapshot_sender_build(senders[i], cache, NULL, &header,
                                  (SnapshotLine){1 << 20, tick * 16, 50}, emit_sequence,
                                  &ack.newest);
            snapshot_sender_ack(senders[i], ack, NULL);
            chunk_cache_stats(cache, &encoded, &served);
            if (i == 0) {
                encoded_before = encoded;
            }
            assert_int_equal(encoded, encoded_before);
        }
    }
    assert_true(served >= CLIENTS * encoded);
    for (u32 i = 0; i < CLIENTS; i++) {
        snapshot_sender_destroy(senders[i]);
    }
    chunk_cache_destroy(cache);
    history_finish(&history);
    field_set_release(fields);
}

static size_t bytes_allocated(void)
{
    struct mallinfo2 info = mallinfo2(); /* all zero under the sanitizers */
    return info.uordblks + info.hblkhd;
}

/* Comparing, encoding, choosing and acknowledging do not allocate after warm-up. */
static void test_no_allocation_after_warm_up(void **context)
{
    PL_UNUSED(context);
    enum {
        TICKS = 120,
        WARM = 40
    };
    Dice dice = {11, 0};
    FieldSet *fields = random_fields(300);
    Frame *frames[TICKS];
    for (u32 i = 0; i < TICKS; i++) {
        frames[i] = random_next(&dice, fields, i > 0 ? frames[i - 1] : NULL, i + 1, 1.0);
        if (i > 0) {
            move_field(&dice, frames[i], 0, 1.0);
        }
    }
    History history;
    history_init(&history);
    ChunkCache *cache = chunk_cache_create();
    SnapshotSender *sender = snapshot_sender_create(fields);
    size_t warm = 0;
    for (u32 i = 0; i < TICKS; i++) {
        SnapshotHeader header = {.speed = 1024};
        SnapshotAck ack = {.valid = 1, .bits = ~0ull};
        history_push(&history, frames[i]);
        chunk_cache_begin(cache, &history);
        /* All keys at first: the most that a tick can need. */
        snapshot_sender_build(sender, cache, NULL, &header, (SnapshotLine){1 << 20, i * 16, 50},
                              emit_sequence, &ack.newest);
        if (i > WARM) {
            snapshot_sender_ack(sender, ack, NULL);
        } else {
            warm = bytes_allocated();
        }
        assert_true(i <= WARM || bytes_allocated() == warm);
    }
    snapshot_sender_destroy(sender);
    chunk_cache_destroy(cache);
    history_finish(&history);
    for (u32 i = 0; i < TICKS; i++) {
        frame_release(frames[i]);
    }
    field_set_release(fields);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_worlds_and_networks),
        cmocka_unit_test(test_coarse_and_back),
        cmocka_unit_test(test_rest_then_move_sends_deltas),
        cmocka_unit_test(test_time_of_change),
        cmocka_unit_test(test_blackout),
        cmocka_unit_test(test_acknowledgements_lost),
        cmocka_unit_test(test_wraps),
        cmocka_unit_test(test_budget_is_kept_and_nothing_starves),
        cmocka_unit_test(test_hostile_packets),
        cmocka_unit_test(test_missing_baseline_is_refused),
        cmocka_unit_test(test_replaced_sender),
        cmocka_unit_test(test_clients_share_encodings),
        cmocka_unit_test(test_no_allocation_after_warm_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
