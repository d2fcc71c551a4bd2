/*
 * test_timeline_bodies.c: bodies of many points over streams that stall, that send their chunks in
 * turn or that start piece by piece: in every case all points of a body are shown at one time, and
 * no edge is longer than it ever was. The receiver is replaced by lists of states.
 */
#include "client/link/timeline.h"

#include "protocol/codec/chunk.h"
#include "shared/math/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/fake_receiver.h"

enum {
    SIDE = 40,   /* points of a side of the cloth, which covers 26 chunks */
    BEFORE = 37, /* free points in front of it in the field */
    POINTS = BEFORE + SIDE * SIDE + 30,
    TICK_RATE = 60,
    SNAPSHOT = 2, /* ticks between snapshots */
};

#define EDGE_M 0.03f

static const FieldDesc point_field = {
    .kind = FIELD_POINTS,
    .channels = 1,
    .name = "points",
    .capacity = POINTS,
    .quantum = 1.0f / 1024.0f,
    .spacing = {1.0f, 1.0f, 1.0f},
};

static const TimelineBody cloth = {0, BEFORE, SIDE *SIDE};

/* A cloth that waves wildly with constant edge lengths: each row is a chain of links of EDGE_M
 * whose angles swing, at a rate of 1 so fast that points have 3 m/s; the rows are EDGE_M apart. Its
 * centre moves. */
static void cloth_at(f64 tick, f64 haste, QPoint *points)
{
    f64 t = tick / TICK_RATE;
    for (u32 row = 0; row < SIDE; row++) {
        Vec3 at = vec3((f32)(1.5 * t), (f32)(1.0 - 0.3 * t * t), EDGE_M * (f32)row);
        for (u32 column = 0; column < SIDE; column++) {
            f64 angle = 1.2 * sin(9.0 * haste * t + 0.9 * column) +
                        0.7 * sin(23.0 * haste * t + 1.7 * column);
            QPoint *point = &points[BEFORE + row * SIDE + column];
            quantize_position(&point_field, at, point->position);
            point->generation = 1;
            at.x += EDGE_M * (f32)cos(angle);
            at.y += EDGE_M * (f32)sin(angle);
        }
    }
}

typedef struct Fixture {
    SnapshotReceiver receiver;
    Timeline *timeline;
    u16 sequence;
    f64 haste; /* rate of the cloth's swing */
    QPoint points[POINTS];
    ShownPoint shown[POINTS];
} Fixture;

static int setup(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->receiver.fields = field_set_create(&point_field, 1);
    f->timeline = timeline_create(&f->receiver, TICK_RATE, TICK_RATE / SNAPSHOT);
    assert_non_null(f->timeline);
    assert_true(timeline_bodies(f->timeline, &cloth, 1));
    f->haste = 1.0;
    for (u32 i = 0; i < POINTS; i++) {
        f->points[i].generation = 1;
    }
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

static u32 chunks(void)
{
    return chunk_count(&point_field);
}

static void put(Fixture *f, u64 tick, u32 chunk)
{
    cloth_at((f64)tick, f->haste, f->points);
    fake_receiver_put(&f->receiver, tick, chunk, f->points);
}

static void arrive(Fixture *f, u64 tick, u8 flags, f64 now_s)
{
    SnapshotHeader header = {
        .sequence = ++f->sequence, .tick = (u32)tick, .speed = 1024, .flags = flags};
    timeline_arrival(f->timeline, &header, (u64)(now_s * 1e9));
}

/* The longest shown edge, as a share of EDGE_M; 0: not shown. */
static f32 longest(Fixture *f)
{
    f32 most = 0.0f;
    timeline_points(f->timeline, 0, f->shown);
    u32 there = 0;
    for (u32 i = 0; i < SIDE * SIDE; i++) {
        there += f->shown[BEFORE + i].generation != 0;
    }
    assert_true(there == 0 || there == SIDE * SIDE);
    for (u32 i = 0; there > 0 && i < SIDE * SIDE; i++) {
        const ShownPoint *a = &f->shown[BEFORE + i];
        if (i % SIDE + 1 < SIDE) {
            most = f32_max(most, vec3_distance(a[0].position, a[1].position));
        }
        if (i + SIDE < SIDE * SIDE) {
            most = f32_max(most, vec3_distance(a[0].position, a[SIDE].position));
        }
    }
    return most / EDGE_M;
}

/* Distance of the shown centre from its true position at the shown tick, in ticks of motion. */
static f64 behind(Fixture *f)
{
    f64 x = (f64)f->shown[BEFORE].position.x;
    return timeline_tick(f->timeline) - x / 1.5 * TICK_RATE;
}

typedef struct Seen {
    f32 longest;
    f64 behind_last, first_s, step_most; /* m between two frames */
} Seen;

/* How a stream sends its chunks: those selected by `wanted`. Nothing is sent from..to. */
typedef struct Stream {
    u32 turn; /* one in so many chunks per snapshot; 1: all */
    f64 loss; /* of snapshots */
    f64 jitter_s;
    f64 stall_from, stall_to;
    bool lost; /* whether what was sent meanwhile is lost */
    u32 rests; /* this chunk is sent only once, + 1; 0: none */
    bool limited;
} Stream;

static Seen play(Fixture *f, Stream stream, f64 seconds)
{
    Seen seen = {.first_s = -1.0};
    u64 sent = 0;
    f64 base = 10.0, was = 0.0;
    for (f64 now = 0.0; now < seconds; now += 1.0 / 60.0) {
        bool stalled = now >= stream.stall_from && now < stream.stall_to;
        if (stalled && stream.lost) {
            sent = (u64)(now * TICK_RATE / SNAPSHOT) + 1;
        }
        while (!stalled &&
               (f64)(sent * SNAPSHOT) / TICK_RATE + stream.jitter_s * (f64)random_f32(3, sent) <=
                   now) {
            u64 tick = 600 + sent * SNAPSHOT;
            bool lost = random_f32(4, sent) < stream.loss;
            for (u32 c = 0; c < chunks() && !lost; c++) {
                bool rests = stream.rests == c + 1 && f->receiver.count[c] > 0;
                if ((c + sent) % stream.turn == 0 && !rests) {
                    put(f, tick, c);
                }
            }
            if (!lost) {
                arrive(f, tick, stream.limited ? SNAPSHOT_LIMITED : 0, base + now);
            } else {
                f->sequence++;
            }
            sent++;
        }
        timeline_advance(f->timeline, (u64)((base + now) * 1e9));
        f32 now_longest = longest(f);
        if (now_longest > 0.0f) {
            f64 x = (f64)f->shown[BEFORE].position.x;
            if (seen.first_s < 0.0) {
                seen.first_s = now;
            } else {
                seen.step_most = fmax(seen.step_most, fabs(x - was));
            }
            was = x;
            seen.longest = f32_max(seen.longest, now_longest);
            seen.behind_last = behind(f);
        }
    }
    print_message("longest edge %.3f, at last %.1f ticks behind, from %.2f s on, step %.1f mm\n",
                  (double)seen.longest, seen.behind_last, seen.first_s, seen.step_most * 1e3);
    return seen;
}

/* Limit of the true cloth and of interpolations between two of its states, with the quantum. */
#define EDGE_MOST 1.08f

static void test_steady(void **state)
{
    Seen seen = play(*state, (Stream){.turn = 1}, 4.0);
    assert_true(seen.longest < EDGE_MOST);
    assert_true(fabs(seen.behind_last) < 0.3);
    assert_true(seen.first_s >= 0.0 && seen.first_s < 0.1);
}

/* The server stalls for 0.6 s: the cloth stops, and resumes without a jump. */
static void test_stall(void **state)
{
    Seen seen = play(*state, (Stream){.turn = 1, .stall_from = 2.0, .stall_to = 2.6}, 6.0);
    assert_true(seen.longest < EDGE_MOST);
    assert_true(fabs(seen.behind_last) < 0.5);
}

/* So long that time jumps: the cloth catches up within moments. */
static void test_long_stall(void **state)
{
    Stream stream = {.turn = 1, .stall_from = 2.0, .stall_to = 3.0, .lost = true};
    Seen seen = play(*state, stream, 8.0);
    assert_true(seen.longest < EDGE_MOST);
    assert_true(fabs(seen.behind_last) < 0.5);
    assert_true(seen.step_most < 0.2); /* 1.5 m in total */
}

/* The states of where it stopped are gone when the network delivers all at once: it is then
 * elsewhere, and intact. */
static void test_flood(void **state)
{
    Seen seen = play(*state, (Stream){.turn = 1, .stall_from = 2.0, .stall_to = 4.0}, 8.0);
    assert_true(seen.longest < EDGE_MOST);
    assert_true(fabs(seen.behind_last) < 0.5);
}

static void test_jitter_and_loss(void **state)
{
    Seen seen = play(*state, (Stream){.turn = 1, .loss = 0.15, .jitter_s = 0.06}, 12.0);
    assert_true(seen.longest < EDGE_MOST);
    /* 1.5 m/s at 1.5 times the rate is 37 mm a frame. */
    assert_true(seen.step_most < 0.045);
}

/* A narrow line: chunks are sent in turn, each every 0.2 s. Between states so far apart motion is
 * linear, which deviates little if the waves are slow. */
static void test_in_turn(void **state)
{
    Fixture *f = *state;
    f->haste = 0.15;
    Seen seen = play(f, (Stream){.turn = 6, .limited = true}, 6.0);
    assert_true(seen.longest < 1.15f);
    assert_true(seen.first_s > 0.0 && seen.first_s < 0.6);
    assert_true(seen.behind_last < 20.0);
    f64 late = timeline_tick(f->timeline) - timeline_tick_of(f->timeline, 0, BEFORE + 5);
    assert_true(fabs(late - seen.behind_last) < 0.5);
    assert_true(timeline_tick_of(f->timeline, 0, 0) == timeline_tick(f->timeline));
    assert_true(seen.step_most < 0.045);
}

/* One chunk is never heard of again, on a line that does not announce rest: the others continue. */
static void test_one_rests(void **state)
{
    Fixture *f = *state;
    play(f, (Stream){.turn = 1, .rests = chunks(), .limited = true}, 3.0);
    assert_true(fabs(behind(f)) < 1.0);
}

/* Points of no body are unaffected, and bodies may appear and disappear. */
static void test_other_points(void **state)
{
    Fixture *f = *state;
    play(f, (Stream){.turn = 1}, 1.0);
    assert_int_equal(f->shown[0].generation, 1);
    assert_int_equal(f->shown[POINTS - 1].generation, 1);
    Vec3 was = f->shown[BEFORE + 7].position;
    const TimelineBody halves[2] = {{0, BEFORE, SIDE * SIDE / 2},
                                    {0, BEFORE + SIDE * SIDE / 2, SIDE * SIDE / 2}};
    assert_true(timeline_bodies(f->timeline, halves, 2));
    timeline_advance(f->timeline, (u64)(10.99 * 1e9));
    longest(f);
    print_message("%.3f m on\n", (double)vec3_distance(was, f->shown[BEFORE + 7].position));
    assert_int_equal(f->shown[BEFORE + 7].generation, 1);
    assert_true(vec3_distance(was, f->shown[BEFORE + 7].position) < 0.1f);
    assert_true(timeline_bodies(f->timeline, NULL, 0));
    timeline_advance(f->timeline, (u64)(11.01 * 1e9));
    ShownPoint one;
    assert_true(timeline_point(f->timeline, 0, BEFORE + 900, &one));
    timeline_points(f->timeline, 0, f->shown);
    assert_memory_equal(&one, &f->shown[BEFORE + 900], sizeof one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_steady, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stall, setup, teardown),
        cmocka_unit_test_setup_teardown(test_long_stall, setup, teardown),
        cmocka_unit_test_setup_teardown(test_flood, setup, teardown),
        cmocka_unit_test_setup_teardown(test_jitter_and_loss, setup, teardown),
        cmocka_unit_test_setup_teardown(test_in_turn, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_rests, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_points, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
