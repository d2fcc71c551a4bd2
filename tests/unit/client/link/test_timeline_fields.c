/*
 * test_timeline_fields.c: grids, points and chunks that are missing from some snapshots, against
 * known motion. The receiver is replaced by lists of states.
 */
#include "client/link/timeline.h"

#include "protocol/codec/chunk.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/fake_receiver.h"

static void put(SnapshotReceiver *receiver, u64 tick, const void *elements)
{
    for (u32 c = 0; c < chunk_count(&receiver->fields->fields[0]); c++) {
        fake_receiver_put(receiver, tick, c, elements);
    }
}

typedef struct Fixture {
    SnapshotReceiver receiver;
    Timeline *timeline;
    u16 sequence;
    f64 now_s;
} Fixture;

static Fixture *fixture_create(const FieldDesc *field)
{
    Fixture *f = calloc(1, sizeof *f);
    f->receiver.fields = field_set_create(field, 1);
    assert_non_null(f->receiver.fields);
    f->timeline = timeline_create(&f->receiver, 60, 30);
    assert_non_null(f->timeline);
    f->now_s = 1.0;
    return f;
}

static void fixture_destroy(Fixture *f)
{
    timeline_destroy(f->timeline);
    field_set_release(f->receiver.fields);
    free(f);
}

static void arrive(Fixture *f, u64 tick, u8 flags)
{
    SnapshotHeader header = {
        .sequence = ++f->sequence, .tick = (u32)tick, .speed = 1024, .flags = flags};
    timeline_arrival(f->timeline, &header, (u64)(f->now_s * 1e9));
}

static void picture(Fixture *f)
{
    timeline_advance(f->timeline, (u64)(f->now_s * 1e9));
    f->now_s += 1.0 / 60.0;
}

/* ---- grids ---- */

static const FieldDesc height_field = {.kind = FIELD_GRID2,
                                       .channels = 2,
                                       .name = "water",
                                       .capacity = 20 * 18,
                                       .dims = {20, 18, 1},
                                       .quantum = 0.01f,
                                       .spacing = {1, 1, 1},
                                       .value_min = -1.0f};
static const FieldDesc density_field = {.kind = FIELD_GRID3,
                                        .channels = 1,
                                        .name = "smoke",
                                        .capacity = 10 * 9 * 8,
                                        .dims = {10, 9, 8},
                                        .quantum = 0.02f,
                                        .spacing = {1, 1, 1}};

/* Cell i rises by (i % 7 + 1) codes a tick; a second channel falls. Four chunks with clipped
 * edges. */
static void test_grid2(void **state)
{
    (void)state;
    Fixture *f = fixture_create(&height_field);
    f32 values[20 * 18], second[20 * 18];
    f32 alone;
    assert_false(timeline_grid(f->timeline, 0, 0, values));
    assert_true(values[0] == -1.0f); /* nothing has arrived */
    assert_false(timeline_cell(f->timeline, 0, 0, 0, &alone));
    for (u64 tick = 2; tick <= 60; tick += 2) {
        u16 cells[20 * 18][2];
        for (u32 i = 0; i < 20 * 18; i++) {
            cells[i][0] = (u16)(100 + tick * (i % 7 + 1));
            cells[i][1] = (u16)(60000 - 100 * tick);
        }
        put(&f->receiver, tick, cells);
        arrive(f, tick, 0);
        picture(f);
        picture(f);
        f64 shown = timeline_tick(f->timeline);
        if (tick < 20) {
            continue;
        }
        assert_true(timeline_grid(f->timeline, 0, 0, values));
        assert_true(timeline_grid(f->timeline, 0, 1, second));
        for (u32 i = 0; i < 20 * 18; i += 7) { /* clipped chunks too */
            assert_true(timeline_cell(f->timeline, 0, 1, i, &alone) && alone == second[i]);
        }
        for (u32 i = 0; i < 20 * 18; i++) {
            f64 want = -1.0 + 0.01 * (100.0 + shown * (i % 7 + 1));
            assert_true(fabs((f64)values[i] - want) < 1e-4);
            assert_true(fabs((f64)second[i] - (60000.0 - 100.0 * shown) / 65535.0) < 1e-5);
        }
    }
    /* Beyond the newest state the grid is constant. */
    for (u32 i = 0; i < 60; i++) {
        picture(f);
    }
    timeline_grid(f->timeline, 0, 0, values);
    assert_true(fabsf(values[6] - (-1.0f + 0.01f * (100.0f + 60.0f * 7.0f))) < 1e-4f);

    /* The stream restarts: the old one is shown until the new one has data, chunk by chunk. */
    TimelineShown *former = timeline_shown(f->timeline);
    assert_non_null(former);
    Timeline *next = timeline_create(&f->receiver, 60, 30);
    memset(f->receiver.count, 0, sizeof f->receiver.count);
    timeline_inherit(next, former);
    memset(second, 0, sizeof second);
    assert_true(timeline_grid(next, 0, 0, second));
    assert_memory_equal(second, values, sizeof values);
    timeline_destroy(next);
    /* But not a chunk that was never complete. */
    former = timeline_shown(f->timeline);
    next = timeline_create(&f->receiver, 60, 30);
    timeline_inherit(next, former);
    assert_false(timeline_grid(next, 0, 0, second));
    assert_true(second[0] == -1.0f);
    timeline_destroy(next);
    fixture_destroy(f);
}

static void test_grid3(void **state)
{
    (void)state;
    Fixture *f = fixture_create(&density_field);
    f32 values[10 * 9 * 8];
    for (u64 tick = 2; tick <= 60; tick += 2) {
        u8 voxels[10 * 9 * 8];
        for (u32 i = 0; i < 10 * 9 * 8; i++) {
            voxels[i] = (u8)(i % 3 * tick);
        }
        put(&f->receiver, tick, voxels);
        arrive(f, tick, 0);
        picture(f);
        picture(f);
        timeline_grid(f->timeline, 0, 0, values);
        for (u32 i = 0; i < 10 * 9 * 8 && tick >= 20; i++) {
            f64 want = 0.02 * (i % 3) * timeline_tick(f->timeline);
            assert_true(fabs((f64)values[i] - want) < 1e-4);
        }
    }
    fixture_destroy(f);
}

/* ---- points missing from snapshots ---- */

static const FieldDesc point_field = {.kind = FIELD_POINTS,
                                      .channels = 1,
                                      .name = "cloth",
                                      .capacity = 100,
                                      .quantum = 1.0f / 512.0f,
                                      .spacing = {1, 1, 1}};

static void points_at(QPoint points[100], f64 x)
{
    for (u32 i = 0; i < 100; i++) {
        quantize_position(&point_field, vec3((f32)x, (f32)i, 0), points[i].position);
        points[i].scalar = 0;
        points[i].generation = 1;
    }
}

static f64 shown_x(const Fixture *f, u32 i)
{
    ShownPoint point;
    assert_true(timeline_point(f->timeline, 0, i, &point));
    assert_int_equal(point.generation, 1);
    return (f64)point.position.x;
}

/* Points have their shown velocities, from which streaks and foam are drawn. */
static void test_points_have_velocities(void **state)
{
    (void)state;
    Fixture *f = fixture_create(&point_field);
    for (u64 tick = 2; tick <= 90; tick += 2) {
        QPoint points[100];
        points_at(points, 2.0 / 60.0 * (f64)tick);
        points[9].generation = (u16)(tick / 2); /* another point in each state */
        for (u32 chunk = 0; chunk < 2; chunk++) {
            fake_receiver_put(&f->receiver, tick, chunk, points);
        }
        arrive(f, tick, 0);
        for (u32 i = 0; i < 2; i++) {
            picture(f);
            ShownPoint here, fresh;
            if (tick > 40) {
                assert_true(timeline_point(f->timeline, 0, 70, &here));
                assert_true(timeline_point(f->timeline, 0, 9, &fresh));
                assert_true(fabsf(here.velocity.x - 2.0f) < 0.1f);
                assert_true(fabsf(here.velocity.y) + fabsf(here.velocity.z) < 1e-3f);
                assert_true(vec3_length(fresh.velocity) == 0.0f);
            }
        }
    }
    fixture_destroy(f);
}

typedef struct Trip {
    f64 step_max, acceleration_max, last, end;
} Trip;

/* Chunk 1 moves at 2 m/s and is in every `every`-th snapshot; `limited`: those without it say so.
 * From tick 120 on it rests, which is not announced if `silent`. */
static Trip trip(u32 every, u8 flags, u64 stop, u64 last_tick)
{
    Fixture *f = fixture_create(&point_field);
    Trip result = {0};
    f64 x1 = 0, x2 = 0;
    u32 seen = 0;
    for (u64 tick = 2; tick <= last_tick; tick += 2) {
        QPoint points[100];
        points_at(points, 2.0 / 60.0 * (f64)u64_min(tick, stop));
        fake_receiver_put(&f->receiver, tick, 0, points);
        bool told = tick <= stop && tick / 2 % every == 0;
        if (told) {
            fake_receiver_put(&f->receiver, tick, 1, points);
        }
        arrive(f, tick, told ? 0 : flags);
        for (u32 i = 0; i < 2; i++) {
            picture(f);
            f64 x = tick > 30 ? shown_x(f, 70) : 0.0;
            if (seen >= 1 && tick > 34) {
                result.step_max = fmax(result.step_max, fabs(x - x1));
            }
            if (seen >= 2 && tick > 34) {
                result.acceleration_max =
                    fmax(result.acceleration_max, fabs(x - 2 * x1 + x2) * 3600.0);
            }
            seen += tick > 30;
            x2 = x1;
            x1 = x;
            result.last = fmax(result.last, x);
        }
    }
    result.end = x1;
    fixture_destroy(f);
    return result;
}

/* Under a small budget a chunk is sent in every third snapshot: it still moves continuously. */
static void test_limited(void **state)
{
    (void)state;
    Trip t = trip(3, SNAPSHOT_LIMITED, 1000, 400);
    print_message("every third: largest step %.4f m, acceleration %.2f m/s^2\n", t.step_max,
                  t.acceleration_max);
    /* 2 m/s is 0.0333 m a frame. */
    assert_true(t.step_max < 0.037);
    assert_true(t.acceleration_max < 4.0);
}

/* In complete snapshots silence means rest: it stops at once where it was last seen. */
static void test_silent(void **state)
{
    (void)state;
    Trip t = trip(1, 0, 120, 240);
    f64 place = 2.0 / 60.0 * 120.0;
    assert_true(t.last < place + 0.002);
    assert_true(fabs(t.end - place) < 0.001);
}

/* In truncated snapshots it may still be moving: after a quarter of a second of silence it is where
 * it was last seen, without a jump. */
static void test_silent_limited(void **state)
{
    (void)state;
    Trip t = trip(1, SNAPSHOT_LIMITED, 120, 360);
    f64 place = 2.0 / 60.0 * 120.0;
    assert_true(t.last > place + 0.1 && t.last < place + 0.6);
    assert_true(t.step_max < 0.07);
    assert_true(fabs(t.end - place) < 0.001);
}

/* An outage: the shown world moves on, holds, reports it, and resumes without a jump. */
static void test_outage(void **state)
{
    (void)state;
    static const f64 outages_s[] = {0.1, 0.2, 0.4, 1.0, 3.0};
    for (u32 k = 0; k < PL_COUNT(outages_s); k++) {
        Fixture *f = fixture_create(&point_field);
        f64 x1 = 0, x2 = 0, t0 = f->now_s, step_max = 0, acceleration_max = 0, back_s = 0;
        u32 told = 0;
        bool held = false;
        for (u32 i = 0; i < 600; i++) {
            f64 t = f->now_s - t0;
            bool out = t > 3.0 && t < 3.0 + outages_s[k];
            for (; !out && told < (u32)(t * 30.0); told++) {
                if (t >= 3.0 && told < (u32)(30.0 * (3.0 + outages_s[k])) && told > 90) {
                    continue; /* lost */
                }
                QPoint points[100];
                points_at(points, 2.0 / 60.0 * (2.0 * told + 2.0));
                put(&f->receiver, 2 * told + 2, points);
                arrive(f, 2 * told + 2, 0);
            }
            picture(f);
            f64 x = i > 10 ? shown_x(f, 70) : 0.0;
            held |= timeline_holding(f->timeline);
            if (i > 60) {
                assert_true(x >= x1 - 1e-4);
                step_max = fmax(step_max, x - x1);
                acceleration_max = fmax(acceleration_max, fabs(x - 2 * x1 + x2) * 3600.0);
                /* Behind by more than the earlier delay. */
                back_s = fabs(x - 2.0 * (t - 0.04)) > 0.1 ? t - 3.0 - outages_s[k] : back_s;
            }
            x2 = x1;
            x1 = x;
        }
        print_message("outage %.1f s: largest step %.3f m, acceleration %.1f m/s^2, back %.2f s "
                      "after%s\n",
                      outages_s[k], step_max, acceleration_max, back_s, held ? ", held" : "");
        assert_true(held == (outages_s[k] >= 0.4));
        assert_true(back_s < 1.0);
        f64 jump_m = 2.0 * outages_s[k];
        assert_true(step_max < 0.06 + 0.12 * jump_m);
        assert_true(acceleration_max < 40.0 + 150.0 * jump_m);
        fixture_destroy(f);
    }
}

/* ---- consecutive streams ---- */

static const FieldDesc value_field = {
    .kind = FIELD_SCALARS, .channels = 1, .name = "values", .capacity = 5};
static const FieldDesc body_field = {.kind = FIELD_POSES,
                                     .channels = 1,
                                     .name = "bodies",
                                     .capacity = CHUNK_POSES + 3,
                                     .quantum = 0.001f};

/* Continues the state shown by `before` in another fixture of the same field. */
static Fixture *fixture_follow(Fixture *before, const FieldDesc *field)
{
    TimelineShown *shown = timeline_shown(before->timeline);
    assert_non_null(shown);
    fixture_destroy(before);
    Fixture *f = fixture_create(field);
    timeline_inherit(f->timeline, shown);
    return f;
}

/* After a seek the ground is shown before it is received again. */
static void test_ground_after_seek(void **state)
{
    (void)state;
    QPose poses[CHUNK_POSES + 3] = {0};
    for (u32 i = 0; i < PL_COUNT(poses); i++) {
        poses[i].rotation = quantize_rotation(quat_identity());
        poses[i].position[0] = (i32)i * 1000;
        poses[i].flags = POSE_LIVE;
        poses[i].generation = 1;
    }
    Fixture *f = fixture_create(&body_field);
    put(&f->receiver, 600, poses);
    for (u32 i = 0; i < 30; i++) {
        arrive(f, 600 + 2 * i, 0);
        f->now_s += 1.0 / 60.0;
        picture(f);
    }
    f = fixture_follow(f, &body_field);
    ShownPose shown[CHUNK_POSES + 3];
    timeline_poses(f->timeline, 0, shown);
    assert_true(shown[CHUNK_POSES].flags == POSE_LIVE && fabsf(shown[5].position.x - 5.0f) < 1e-4f);
    for (u32 i = 0; i < PL_COUNT(poses); i++) {
        poses[i].position[0] += 500;
    }
    fake_receiver_put(&f->receiver, 90, 0, poses); /* the other chunk arrives later */
    arrive(f, 90, 0);
    for (u32 i = 0; i < 10; i++) {
        picture(f);
    }
    timeline_poses(f->timeline, 0, shown);
    assert_true(fabsf(shown[5].position.x - 5.5f) < 1e-4f);
    assert_true(fabsf(shown[CHUNK_POSES].position.x - (f32)CHUNK_POSES) < 1e-4f);
    fixture_destroy(f);
}

/* Values are kept until new ones arrive, and are marked as old. */
static void test_values_after_seek(void **state)
{
    (void)state;
    f32 sent[5] = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f}, shown[5] = {7.0f, 7.0f, 7.0f, 7.0f, 7.0f};
    Fixture *f = fixture_create(&value_field);
    assert_false(timeline_scalars(f->timeline, 0, shown));
    assert_true(shown[3] == 7.0f); /* left unchanged: the caller has a better value than 0 */
    put(&f->receiver, 600, sent);
    arrive(f, 600, 0);
    picture(f);
    picture(f);
    assert_true(timeline_scalars(f->timeline, 0, shown));
    assert_memory_equal(shown, sent, sizeof sent);
    f = fixture_follow(f, &value_field);
    f32 again[5] = {0};
    assert_false(timeline_scalars(f->timeline, 0, again));
    assert_memory_equal(again, sent, sizeof sent);
    fixture_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_points_have_velocities),
        cmocka_unit_test(test_grid2),
        cmocka_unit_test(test_grid3),
        cmocka_unit_test(test_limited),
        cmocka_unit_test(test_silent),
        cmocka_unit_test(test_silent_limited),
        cmocka_unit_test(test_outage),
        cmocka_unit_test(test_ground_after_seek),
        cmocka_unit_test(test_values_after_seek),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
