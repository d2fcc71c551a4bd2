/*
 * test_timeline.c: the shown motion against the true one over seeded bad networks. The receiver is
 * replaced by a list of states, so that each test controls arrivals exactly.
 */
#include "client/link/timeline.h"

#include "protocol/codec/chunk.h"
#include "shared/math/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HALF_QUANTUM (1.0f / 1024.0f)

enum {
    STATES_MAX = CHUNK_STATES_KEPT
};

/* One field of one chunk of two poses. */
struct SnapshotReceiver {
    FieldSet *fields;
    u32 count;
    ChunkState states[STATES_MAX]; /* newest first */
    QPose poses[STATES_MAX][2];
};

const FieldSet *snapshot_receiver_fields(const SnapshotReceiver *receiver)
{
    return receiver->fields;
}

u32 snapshot_receiver_states(const SnapshotReceiver *receiver, u32 field, u32 chunk,
                             ChunkState out[CHUNK_STATES_KEPT])
{
    (void)field;
    (void)chunk;
    for (u32 i = 0; i < receiver->count; i++) {
        out[i] = receiver->states[i];
        out[i].state = (const u8 *)receiver->poses[i];
    }
    return receiver->count;
}

static void receiver_put(SnapshotReceiver *receiver, u64 tick, u8 still, const QPose poses[2])
{
    u32 at = 0;
    while (at < receiver->count && receiver->states[at].tick > tick) {
        at++;
    }
    if (at == STATES_MAX || (at < receiver->count && receiver->states[at].tick == tick)) {
        return;
    }
    if (receiver->count < STATES_MAX) {
        receiver->count++;
    }
    for (u32 i = receiver->count - 1; i > at; i--) {
        receiver->states[i] = receiver->states[i - 1];
        memcpy(receiver->poses[i], receiver->poses[i - 1], sizeof receiver->poses[i]);
    }
    receiver->states[at] =
        (ChunkState){.tick = tick, .left = still > 0 ? tick - 1 : 0, .live = true};
    memcpy(receiver->poses[at], poses, sizeof receiver->poses[at]);
}

typedef struct Fixture {
    SnapshotReceiver receiver;
    Timeline *timeline;
    u16 sequence;
} Fixture;

/* One packet with all changes up to its tick. */
static void arrive(Fixture *f, u64 tick, f64 speed, u64 now_ns)
{
    SnapshotHeader header = {
        .sequence = ++f->sequence, .tick = (u32)tick, .speed = (u16)(speed * 1024.0)};
    timeline_arrival(f->timeline, &header, now_ns);
}

static const FieldDesc pose_field = {
    .kind = FIELD_POSES,
    .channels = 1,
    .name = "bodies",
    .capacity = 2,
    .quantum = 1.0f / 512.0f,
    .spacing = {1.0f, 1.0f, 1.0f},
};

static int setup(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    f->receiver.fields = field_set_create(&pose_field, 1);
    assert_non_null(f->receiver.fields);
    f->timeline = timeline_create(&f->receiver, 60, 30);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;
    timeline_destroy(f->timeline);
    field_set_release(f->receiver.fields);
    free(f);
    return 0;
}

/* Another stream: nothing of the previous one is known. */
static void stream_anew(Fixture *f)
{
    f->receiver.count = 0;
    timeline_destroy(f->timeline);
    f->timeline = timeline_create(&f->receiver, 60, 30);
    assert_non_null(f->timeline);
}

static QPose pose_at(Vec3 position, u16 flags, u16 generation)
{
    QPose pose = {.rotation = quantize_rotation(quat_identity()),
                  .flags = (u16)(POSE_LIVE | flags),
                  .generation = generation};
    quantize_position(&pose_field, position, pose.position);
    return pose;
}

typedef Vec3 Motion(f64 tick);

static Vec3 motion_uniform(f64 tick)
{
    return vec3((f32)(2.0 * tick / 60.0), 1.0f, 0.0f);
}
static Vec3 motion_swing(f64 tick)
{
    return vec3((f32)sin(tick / 60.0 * 3.0), (f32)cos(tick / 60.0 * 3.0), 0.0f);
}

typedef struct Network {
    f64 delay_s, jitter_s, loss;
    u64 seed;
} Network;

typedef struct Judder {
    f64 speed_error;        /* largest, as a share of the true speed */
    f64 position_error_m;   /* largest against the true motion at the shown tick */
    f64 acceleration_error; /* largest, m/s² above the true one */
    f64 delay_s, starved;
    bool went_back;
} Judder;

/* Plays `seconds` of a motion over the network at 60 frames a second; measures after 3 s. */
static Judder play(Fixture *f, Motion *motion, Network network, f64 seconds)
{
    enum {
        PACKETS_MAX = 4096
    };
    static f64 arrives[PACKETS_MAX];
    u32 packets = u32_min((u32)(seconds * 30.0), PACKETS_MAX);
    for (u32 i = 0; i < packets; i++) {
        bool lost = random_f32(network.seed, 2 * i) < network.loss;
        f64 jitter = network.jitter_s * random_f32(network.seed, 2 * i + 1);
        arrives[i] = lost ? 1e9 : i / 30.0 + network.delay_s + jitter;
    }
    Judder judder = {0};
    f64 x1 = 0, x2 = 0, tick1 = 0;
    u32 measured = 0;
    for (f64 now = 0, before = -1; now < seconds; before = now, now += 1.0 / 60.0) {
        for (u32 i = 0; i < packets; i++) {
            if (arrives[i] > before && arrives[i] <= now) {
                u64 tick = 1000 + 2 * (u64)i;
                QPose poses[2] = {pose_at(motion((f64)tick), POSE_AWAKE, 1)};
                receiver_put(&f->receiver, tick, 0, poses);
                arrive(f, tick, 1.0, (u64)(arrives[i] * 1e9) + 5000000000ull);
            }
        }
        timeline_advance(f->timeline, (u64)(now * 1e9) + 5000000000ull);
        ShownPose shown;
        if (now < 3.0 || !timeline_pose(f->timeline, 0, 0, &shown)) {
            continue;
        }
        f64 tick = timeline_tick(f->timeline);
        f64 x = shown.position.x;
        Vec3 want = motion(tick);
        judder.position_error_m =
            fmax(judder.position_error_m, (f64)vec3_distance(shown.position, want));
        if (measured >= 1) {
            judder.went_back |= tick < tick1;
            judder.speed_error = fmax(judder.speed_error, fabs((x - x1) * 60.0 / 2.0 - 1.0));
        }
        if (measured >= 2) {
            judder.acceleration_error =
                fmax(judder.acceleration_error, fabs(x - 2 * x1 + x2) * 3600.0);
        }
        x2 = x1;
        x1 = x;
        tick1 = tick;
        measured++;
    }
    judder.delay_s = timeline_delay_s(f->timeline);
    judder.starved = timeline_starved(f->timeline);
    print_message(
        "delay %.0f ms jitter %.0f ms loss %.0f %%: playout delay %.1f ms, starved %.2f "
        "%%, speed error %.1f %%, position error %.2f mm, acceleration error %.2f m/s^2\n",
        network.delay_s * 1e3, network.jitter_s * 1e3, network.loss * 100, judder.delay_s * 1e3,
        judder.starved * 100, judder.speed_error * 100, judder.position_error_m * 1e3,
        judder.acceleration_error);
    return judder;
}

/* A perfect network: little more than one interval of delay, and the true motion. */
static void test_uniform_perfect(void **state)
{
    Judder judder = play(*state, motion_uniform, (Network){0.05, 0.0, 0.0, 1}, 20.0);
    assert_false(judder.went_back);
    assert_true(judder.delay_s < 0.045);
    assert_true(judder.starved < 0.001);
    assert_true(judder.position_error_m < 0.002);
    assert_true(judder.speed_error < 0.06);
}

static void test_uniform_jitter(void **state)
{
    Judder judder = play(*state, motion_uniform, (Network){0.04, 0.1, 0.0, 2}, 40.0);
    assert_false(judder.went_back);
    assert_true(judder.delay_s < 0.16);
    assert_true(judder.starved < 0.05);
    assert_true(judder.position_error_m < 0.004);
    assert_true(judder.speed_error < 0.08);
}

static void test_uniform_jitter_and_loss(void **state)
{
    Judder judder = play(*state, motion_uniform, (Network){0.04, 0.1, 0.2, 3}, 40.0);
    assert_false(judder.went_back);
    assert_true(judder.delay_s < 0.25);
    assert_true(judder.starved < 0.05);
    assert_true(judder.position_error_m < 0.005);
    assert_true(judder.speed_error < 0.08);
    /* Two frames of a 2 m/s motion deviate from even spacing by at most 2 mm: no visible jerk. */
    assert_true(judder.acceleration_error < 8.0);
}

/* Six frames a second, with the arrival times of the packets in between: the stream's clock is as
 * accurate as ever. */
static void test_low_frame_rate(void **state)
{
    Fixture *f = *state;
    u64 base_ns = 5000000000ull;
    u32 sent = 0;
    for (f64 now = 0; now < 20.0; now += 1.0 / 6.0) {
        for (; (f64)sent / 30.0 + 0.03 <= now; sent++) {
            f64 came = (f64)sent / 30.0 + 0.02 + 0.01 * (f64)random_f32(9, sent);
            u64 tick = 1000 + 2 * (u64)sent;
            QPose poses[2] = {pose_at(motion_uniform((f64)tick), POSE_AWAKE, 1)};
            receiver_put(&f->receiver, tick, 0, poses);
            arrive(f, tick, 1.0, base_ns + (u64)(came * 1e9));
        }
        timeline_advance(f->timeline, base_ns + (u64)(now * 1e9));
    }
    assert_true(timeline_delay_s(f->timeline) < 0.06);
    assert_true(timeline_starved(f->timeline) < 0.03);
}

/* A curved motion: the cubic follows it even across lost states. */
static void test_swing(void **state)
{
    Judder judder = play(*state, motion_swing, (Network){0.04, 0.05, 0.1, 4}, 30.0);
    assert_true(judder.position_error_m < 0.05);
    Fixture *f = *state;
    stream_anew(f);
    judder = play(f, motion_swing, (Network){0.04, 0.0, 0.0, 5}, 30.0);
    assert_true(judder.position_error_m < 0.006);
}

static u64 ns(f64 s)
{
    return (u64)(s * 1e9);
}

static void run_to(Fixture *f, f64 *now, f64 until)
{
    for (; *now < until; *now += 1.0 / 60.0) {
        timeline_advance(f->timeline, ns(*now));
    }
}

/* Sends states every 2 ticks from tick `first` up to `last`; returns the time of the last. */
static f64 stream(Fixture *f, f64 *now, u64 first, u64 last, Motion *motion)
{
    for (u64 tick = first; tick <= last; tick += 2) {
        QPose poses[2] = {pose_at(motion((f64)tick), POSE_AWAKE, 1)};
        receiver_put(&f->receiver, tick, 0, poses);
        arrive(f, tick, 1.0, ns(*now));
        run_to(f, now, *now + 1.0 / 30.0 - 1e-6);
    }
    return *now;
}

/* Paused, the newest frame is shown exactly; after resuming, the tick never goes back. */
static void test_pause(void **state)
{
    Fixture *f = *state;
    f64 now = 1.0;
    stream(f, &now, 2, 120, motion_uniform);
    arrive(f, 122, 0.0, ns(now));
    QPose poses[2] = {pose_at(motion_uniform(122), POSE_AWAKE, 1)};
    receiver_put(&f->receiver, 122, 0, poses);
    run_to(f, &now, now + 1.0);
    ShownPose shown;
    assert_true(timeline_pose(f->timeline, 0, 0, &shown));
    Vec3 want = dequantize_position(&pose_field, poses[0].position);
    assert_memory_equal(&shown.position, &want, sizeof want);
    /* One step. */
    poses[0] = pose_at(motion_uniform(123), POSE_AWAKE, 1);
    receiver_put(&f->receiver, 123, 0, poses);
    arrive(f, 123, 0.0, ns(now));
    run_to(f, &now, now + 0.2);
    assert_true(timeline_pose(f->timeline, 0, 0, &shown));
    want = dequantize_position(&pose_field, poses[0].position);
    assert_memory_equal(&shown.position, &want, sizeof want);
    f64 tick = timeline_tick(f->timeline);
    assert_true(tick == 123.0);
    for (u64 t = 125; t < 185; t += 2) {
        stream(f, &now, t, t, motion_uniform);
        assert_true(timeline_tick(f->timeline) >= tick);
        tick = timeline_tick(f->timeline);
    }
    /* Back to its delay: little more than one interval behind. */
    assert_true(tick > 183 - 6 && tick < 185);
}

static f32 shown_x(Fixture *f)
{
    ShownPose shown;
    assert_true(timeline_pose(f->timeline, 0, 0, &shown));
    return shown.position.x;
}

/* The pause is announced with the tick that is already known. */
static void test_pause_same_tick(void **state)
{
    Fixture *f = *state;
    f64 now = 1.0;
    stream(f, &now, 2, 120, motion_uniform);
    for (u32 i = 0; i < 30; i++) {
        arrive(f, 120, 0.0, ns(now));
        run_to(f, &now, now + 1.0 / 30.0);
    }
    QPose pose = pose_at(motion_uniform(120), POSE_AWAKE, 1);
    Vec3 want = dequantize_position(&pose_field, pose.position);
    ShownPose shown;
    assert_true(timeline_pose(f->timeline, 0, 0, &shown));
    assert_memory_equal(&shown.position, &want, sizeof want);
    arrive(f, 120, 1.0, ns(now));
    stream(f, &now, 122, 180, motion_uniform);
    f64 tick = timeline_tick(f->timeline);
    assert_true(tick > 176 && tick < 182);
}

/* A body that slides to rest: no overshoot, exact at rest; it then departs at the right tick. */
static void test_rest(void **state)
{
    Fixture *f = *state;
    f64 now = 1.0;
    for (u64 tick = 2; tick <= 400; tick += 2) {
        f32 x = tick < 60 ? (f32)tick * 0.05f : 3.0f;
        bool moves = tick <= 60;
        if (moves) {
            QPose poses[2] = {pose_at(vec3(x, 0, 0), POSE_AWAKE, 1)};
            receiver_put(&f->receiver, tick, 0, poses);
        } else if (tick == 90) { /* falls asleep */
            QPose poses[2] = {pose_at(vec3(x, 0, 0), 0, 1)};
            receiver_put(&f->receiver, tick, 15, poses);
        } else if (tick >= 300) {
            QPose poses[2] = {pose_at(vec3(3.0f + (f32)(tick - 299) * 0.05f, 0, 0), POSE_AWAKE, 1)};
            receiver_put(&f->receiver, tick, tick == 300 ? 15 : 0, poses);
        }
        arrive(f, tick, 1.0, ns(now));
        run_to(f, &now, now + 1.0 / 30.0 - 1e-6);
        if (timeline_tick(f->timeline) < 1.0) {
            continue;
        }
        f32 x_shown = shown_x(f);
        f64 at = timeline_tick(f->timeline);
        if (tick < 300) {
            assert_true(x_shown <= 3.0f + HALF_QUANTUM);
        }
        if (at > 60 && at < 299) {
            assert_true(fabsf(x_shown - 3.0f) < HALF_QUANTUM);
        }
        if (at > 100 && at < 299) {
            assert_true(x_shown == 3.0f); /* bit-identical */
        }
        if (at >= 299 && at < 396) {
            f64 want = 3.0 + (at - 299.0) * 0.05;
            assert_true(fabs(x_shown - want) < 0.03);
        }
    }
}

/* A box that falls onto the ground is never drawn inside it by more than the rounding. */
static void test_landing(void **state)
{
    Fixture *f = *state;
    f64 now = 1.0;
    for (u64 tick = 2; tick <= 100; tick += 2) {
        f32 y = f32_max(0.5f, 6.0f - (f32)tick * 0.115f);
        QPose poses[2] = {pose_at(vec3(0, y, 0), POSE_AWAKE, 1)};
        receiver_put(&f->receiver, tick, 0, poses);
        arrive(f, tick, 1.0, ns(now));
        for (u32 i = 0; i < 8; i++, now += 1.0 / 240.0 - 1e-7) {
            timeline_advance(f->timeline, ns(now));
            ShownPose shown;
            assert_true(timeline_pose(f->timeline, 0, 0, &shown));
            assert_true(shown.position.y >= 0.5f - HALF_QUANTUM);
        }
    }
}

/* Another generation in the slot is another body: no interpolation between the two. */
static void test_generation(void **state)
{
    Fixture *f = *state;
    f64 now = 1.0;
    for (u64 tick = 2; tick <= 100; tick += 2) {
        bool second = tick >= 50;
        QPose poses[2] = {pose_at(vec3(second ? 10.0f : 1.0f, 0, 0), POSE_AWAKE, second ? 2 : 1)};
        receiver_put(&f->receiver, tick, 0, poses);
        arrive(f, tick, 1.0, ns(now));
        run_to(f, &now, now + 1.0 / 30.0 - 1e-6);
        f32 x = shown_x(f);
        assert_true(x == 1.0f || x == 10.0f);
    }
    assert_true(shown_x(f) == 10.0f);
}

/* When packets stop, the body moves on for a quarter of a second and stops there. */
static void test_starved(void **state)
{
    Fixture *f = *state;
    f64 now = 1.0;
    stream(f, &now, 2, 200, motion_uniform);
    run_to(f, &now, now + 2.0);
    f32 x = shown_x(f);
    assert_true(fabsf(x - motion_uniform(215).x) < 0.03f);
    run_to(f, &now, now + 1.0);
    assert_true(shown_x(f) == x);
    assert_true(timeline_starved(f->timeline) > 0.3);
    /* The stream is back after 3 s: no motion backwards, and the true position within half a
     * second. */
    f64 tick = timeline_tick(f->timeline);
    stream(f, &now, 382, 412, motion_uniform);
    assert_true(timeline_tick(f->timeline) > tick);
    assert_true(timeline_tick(f->timeline) > 400.0);
}

/* A chunk that arrives too late to be used causes no jump. */
static void test_late_chunk(void **state)
{
    Fixture *f = *state;
    f64 now = 1.0;
    stream(f, &now, 2, 100, motion_uniform);
    f32 x = shown_x(f);
    f64 tick = timeline_tick(f->timeline);
    QPose poses[2] = {pose_at(motion_uniform(51), POSE_AWAKE, 1)};
    receiver_put(&f->receiver, 51, 0, poses);
    arrive(f, 51, 1.0, ns(now));
    assert_true(timeline_tick(f->timeline) == tick);
    assert_true(fabsf(shown_x(f) - x) < 0.002f);
}

/* A seek back starts a new stream: its first tick is shown at once. A seek forwards continues the
 * stream. */
static void test_seek(void **state)
{
    Fixture *f = *state;
    f64 now = 1.0;
    stream(f, &now, 2000, 2200, motion_uniform);
    stream_anew(f);
    ShownPose shown;
    assert_false(timeline_pose(f->timeline, 0, 0, &shown));
    stream(f, &now, 100, 160, motion_uniform);
    assert_true(timeline_tick(f->timeline) > 150 && timeline_tick(f->timeline) < 165);
    assert_true(fabs(shown_x(f) - motion_uniform(timeline_tick(f->timeline)).x) < 0.01);
    stream(f, &now, 5000, 5060, motion_uniform);
    assert_true(timeline_tick(f->timeline) > 5050 && timeline_tick(f->timeline) < 5065);
}

/* A server that announces full speed and runs at half: the clock adapts. */
static void test_slow_server(void **state)
{
    Fixture *f = *state;
    f64 now = 1.0;
    for (u64 tick = 2; tick <= 400; tick += 1) {
        QPose poses[2] = {pose_at(motion_uniform((f64)tick), POSE_AWAKE, 1)};
        receiver_put(&f->receiver, tick, 0, poses);
        arrive(f, tick, 1.0, ns(now));
        run_to(f, &now, now + 1.0 / 30.0 - 1e-6);
    }
    assert_true(timeline_starved(f->timeline) < 0.3);
    f64 behind = 400.0 - timeline_tick(f->timeline);
    assert_true(behind > 0 && behind < 4.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_uniform_perfect, setup, teardown),
        cmocka_unit_test_setup_teardown(test_uniform_jitter, setup, teardown),
        cmocka_unit_test_setup_teardown(test_uniform_jitter_and_loss, setup, teardown),
        cmocka_unit_test_setup_teardown(test_low_frame_rate, setup, teardown),
        cmocka_unit_test_setup_teardown(test_swing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pause, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pause_same_tick, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rest, setup, teardown),
        cmocka_unit_test_setup_teardown(test_landing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_generation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_starved, setup, teardown),
        cmocka_unit_test_setup_teardown(test_late_chunk, setup, teardown),
        cmocka_unit_test_setup_teardown(test_seek, setup, teardown),
        cmocka_unit_test_setup_teardown(test_slow_server, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
