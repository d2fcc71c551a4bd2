/*
 * test_fields.c: heights, voxels and points from a real host to a real client: displayed values
 * against the formulas they were made by, picks and their check by the host, the report, a
 * recording and its playback. In virtual time except for the playback.
 */
#include "client/hand/report.h"
#include "client/link/shown.h"
#include "protocol/record/recording.h"
#include "shared/base/clock.h"
#include "tests/support/field_source.h"
#include "tests/support/join_rig.h"
#include "tests/support/replay_rig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    TICKS = 300
};

static void steps(JoinRig *rig, Connection *client, u32 ms)
{
    for (u32 i = 0; i < ms; i++) {
        join_rig_step(rig, &client, 1);
    }
}

static f64 shown_s(Connection *client)
{
    f64 tick = timeline_tick(connection_timeline(client));
    return connection_recorded_tick(client, tick) / FIELD_SOURCE_HZ;
}

/* A client of a field source over a line with these impairments, after `ms`. */
static Connection *joined(JoinRig *rig, const NetsimOptions *line, u32 ms)
{
    join_rig_start_with(rig, field_source_create(&rig->start_ns, &rig->now_ns));
    Connection *client = join_rig_connect(rig, line, line);
    steps(rig, client, ms);
    assert_int_equal(connection_state(client), CONNECTION_LIVE);
    return client;
}

static f32 *values_of(Connection *client, u32 f, u32 channel)
{
    const FieldDesc *field = &connection_fields(client)->fields[f];
    f32 *values = calloc(field->capacity, sizeof *values);
    assert_non_null(values);
    assert_true(timeline_grid(connection_timeline(client), f, channel, values));
    return values;
}

/* Largest differences from the formulas at the displayed time. */
static void errors_of(Connection *client, f64 *wave, f64 *blob, f64 *swarm)
{
    const FieldSet *fields = connection_fields(client);
    f64 time_s = shown_s(client);
    f32 *heights = values_of(client, FIELD_WAVE, 0), *voxels = values_of(client, FIELD_BLOB, 0);
    Grid lake = shown_grid(&fields->fields[FIELD_WAVE], heights).grid;
    Grid cloud = shown_grid(&fields->fields[FIELD_BLOB], voxels).grid;
    *wave = *blob = *swarm = 0.0;
    for (u32 i = 0; i < fields->fields[FIELD_WAVE].capacity; i++) {
        Vec3 at = grid_centre(&lake, i, heights[i]);
        *wave = fmax(*wave, fabs((f64)(at.y - field_wave(at.x, at.z, time_s))));
    }
    for (u32 i = 0; i < fields->fields[FIELD_BLOB].capacity; i++) {
        Vec3 at = grid_centre(&cloud, i, voxels[i]);
        *blob = fmax(*blob, fabs((f64)(voxels[i] - field_blob(at, time_s))));
    }
    for (u32 i = 0; i < FIELD_SWARM_POINTS; i++) {
        ShownPoint point;
        assert_true(timeline_point(connection_timeline(client), FIELD_SWARM, i, &point));
        *swarm = fmax(*swarm, (f64)vec3_distance(point.position, field_swarm(i, time_s)));
    }
    free(heights);
    free(voxels);
}

/* Linear interpolation between states a thirtieth of a second apart: a wave of amplitude a and 3
 * rad/s is off by at most a · 3² / (8 · 30²) = 0.4 mm, the blob (1 m/s, d²ρ/dt² ≤ 2 v² / w²) by
 * 0.001; plus half a quantization step, which is 0.03 mm and 0.002. */
static void test_shown_is_the_formula(void **state)
{
    (void)state;
    NetsimOptions line = {.delay_ms = 30};
    JoinRig rig = {0};
    Connection *client = joined(&rig, &line, 1500);
    for (u32 i = 0; i < 40; i++) {
        f64 wave, blob, swarm;
        steps(&rig, client, 47);
        errors_of(client, &wave, &blob, &swarm);
        assert_true(wave < 5e-4);
        assert_true(blob < 5e-3);
        assert_true(swarm < 2e-3);
    }
    /* The other channels are shares. */
    f32 *rise = values_of(client, FIELD_WAVE, 1), *heights = values_of(client, FIELD_WAVE, 0);
    f32 *heat = values_of(client, FIELD_BLOB, 1);
    for (u32 i = 0; i < 40 * 36; i++) {
        assert_true(fabsf(rise[i] - (heights[i] + 0.25f - 0.7f) / 0.6f) < 2e-3f);
    }
    assert_true(fabsf(heat[14 * 5] - 0.5f) < 0.01f && heat[0] == 0.0f);
    ConnectionStats stats;
    connection_stats(client, &stats);
    assert_int_equal(stats.desyncs, 0);
    f32 alone;
    assert_true(timeline_cell(connection_timeline(client), FIELD_WAVE, 0, 777, &alone));
    assert_true(alone == heights[777]);
    assert_false(timeline_cell(connection_timeline(client), FIELD_WAVE, 0, 40 * 36, &alone));
    free(rise);
    free(heights);
    free(heat);
    connection_destroy(client);
    join_rig_stop(&rig);
}

static void test_over_a_bad_line(void **state)
{
    (void)state;
    NetsimOptions line = {.seed = 3, .delay_ms = 40, .jitter_ms = 30, .loss = 0.1};
    JoinRig rig = {0};
    Connection *client = joined(&rig, &line, 3000);
    f64 wave, blob, swarm, worst = 0.0;
    for (u32 i = 0; i < 40; i++) {
        steps(&rig, client, 47);
        errors_of(client, &wave, &blob, &swarm);
        worst = fmax(worst, fmax(wave, blob));
    }
    ConnectionStats stats;
    connection_stats(client, &stats);
    assert_int_equal(stats.desyncs, 0);
    assert_true(stats.packets_lost > 0);
    assert_true(worst < 0.15); /* a lost state is a gap of 100 ms or more */
    connection_destroy(client);
    join_rig_stop(&rig);
}

/* ---- picks ---- */

static Ray ray_to(Vec3 eye, Vec3 at)
{
    return (Ray){eye, vec3_normalize_or(vec3_sub(at, eye), vec3(0, -1, 0))};
}

/* Inputs that the source received since the last call; waits for one. */
static u32 taken(JoinRig *rig, Connection *client, Input *inputs, u32 max)
{
    steps(rig, client, 150);
    return field_source_inputs(rig->source, inputs, max);
}

static void test_picks_are_judged(void **state)
{
    (void)state;
    NetsimOptions line = {.delay_ms = 30};
    JoinRig rig = {0};
    Connection *client = joined(&rig, &line, 2000);
    const Vec3 eye = vec3(-4, 5, 6);
    Hand hand;
    Pick pick;
    Input inputs[64];
    hand_init(&hand, client);

    /* The wave as displayed now. */
    Vec3 aim = vec3(-3.33f, field_wave(-3.33f, 1.1f, shown_s(client)), 1.1f);
    assert_true(pick_ray(client, ray_to(eye, aim), 100, &pick));
    assert_int_equal(pick.entity, 1);
    assert_true(vec3_distance(pick.point, aim) < 0.03f); /* flat triangles on a curved wave */
    Vec3 cell =
        vec3(-4.9f + 0.25f * (f32)(pick.element % 40), 0, -3.5f + 0.2f * (f32)(pick.element / 40));
    cell.y = field_wave(cell.x, cell.z, shown_s(client));
    assert_true(vec3_distance(vec3_add(cell, pick.local), pick.point) < 1e-3f);
    assert_true(fabsf(cell.x - aim.x) < 0.17f && fabsf(cell.z - aim.z) < 0.14f);
    assert_true(hand_grab_ray(&hand, ray_to(eye, aim)));
    hand_move(&hand, vec3(-3, 2, 1));
    u32 count = taken(&rig, client, inputs, PL_COUNT(inputs));
    assert_true(count >= 2);
    assert_true(inputs[0].kind == INPUT_GRAB && inputs[0].entity == 1);
    assert_int_equal(inputs[0].element, pick.element);
    assert_true(vec3_distance(inputs[0].local, pick.local) < 0.1f);
    assert_int_equal(inputs[1].kind, INPUT_MOVE);
    hand_release(&hand);

    /* The blob: density above a quarter, within ln 4 of its width squared. */
    assert_true(pick_ray(client, ray_to(eye, field_blob_centre(shown_s(client))), 100, &pick));
    assert_int_equal(pick.entity, 2);
    f32 away = vec3_distance(pick.point, field_blob_centre(shown_s(client)));
    assert_true(fabsf(away - FIELD_BLOB_WIDTH_M * sqrtf(logf(4.0f))) < 0.25f);
    hand_push(&hand, &pick, vec3(0, 3, 0));

    /* A point of the swarm. */
    aim = field_swarm(20, shown_s(client));
    assert_true(pick_ray(client, ray_to(vec3(4.5f, aim.y, 9), aim), 100, &pick));
    assert_int_equal(pick.entity, 3);
    assert_true(hand_grab_ray(&hand, ray_to(vec3(4.5f, aim.y, 9), aim)));
    u32 more = taken(&rig, client, inputs, PL_COUNT(inputs));
    bool pushed = false, grabbed = false;
    for (u32 i = count; i < more; i++) {
        pushed |= inputs[i].kind == INPUT_PUSH && inputs[i].entity == 2;
        grabbed |= inputs[i].kind == INPUT_GRAB && inputs[i].entity == 3;
    }
    assert_true(pushed && grabbed);
    connection_destroy(client);
    join_rig_stop(&rig);
}

/* Grabs that no honest client sends: a cell other than the one the ray hits, a missing cell, empty
 * voxels, a cell out of reach. None reaches the world. */
static void test_unfair_picks_are_refused(void **state)
{
    (void)state;
    NetsimOptions line = {.delay_ms = 5};
    JoinRig rig = {0};
    Connection *client = joined(&rig, &line, 2000);
    f64 tick = timeline_tick(connection_timeline(client));
    Input fair = {.kind = INPUT_GRAB, .entity = 1, .element = 40 * 18 + 20};
    fair.seen_base = (u32)tick;
    fair.rotation = quat_identity();
    Vec3 at = vec3(-4.9f + 0.25f * 20, 0, -3.5f + 0.2f * 18);
    at.y = field_wave(at.x, at.z, floor(tick) / FIELD_SOURCE_HZ);
    fair.ray = ray_to(vec3_add(at, vec3(0, 2, 1)), at);
    Input unfair[5] = {fair, fair, fair, fair, fair};
    unfair[0].element += 4;
    unfair[1].element = 40 * 36;
    unfair[2].ray.origin = vec3_add_scaled(at, -9000.0f, fair.ray.direction);
    unfair[3].entity = 2;
    unfair[3].element = 0; /* a corner of the box */
    unfair[3].ray = ray_to(vec3(-4, 1.5f, -2.3f), vec3(-2.5f, 1.5f, -2.3f));
    unfair[4].ray.direction = vec3_neg(fair.ray.direction);
    for (u32 i = 0; i < PL_COUNT(unfair); i++) {
        assert_true(connection_input(client, &unfair[i]) != 0);
    }
    Input inputs[16];
    assert_int_equal(taken(&rig, client, inputs, PL_COUNT(inputs)), 0);
    fair.seen_base = (u32)timeline_tick(connection_timeline(client));
    at.y = field_wave(at.x, at.z, (f64)fair.seen_base / FIELD_SOURCE_HZ);
    fair.ray = ray_to(vec3_add(at, vec3(0, 2, 1)), at);
    assert_true(connection_input(client, &fair) != 0);
    assert_int_equal(taken(&rig, client, inputs, PL_COUNT(inputs)), 1);
    assert_true(vec3_length(inputs[0].local) < 0.02f);
    connection_destroy(client);
    join_rig_stop(&rig);
}

/* ---- report ---- */

static char *report_of(Connection *client)
{
    char path[] = "/tmp/plenum-test-fields-XXXXXX";
    int fd = mkstemp(path);
    ReportStart start = {0};
    ErrorText error = {0};
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(report_write(path, client, &start, NULL, 1.0, &error), 0);
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 16);
    assert_true(file != NULL && text != NULL);
    assert_true(fread(text, 1, (1 << 16) - 1, file) > 0);
    fclose(file);
    unlink(path);
    return text;
}

static void test_report(void **state)
{
    (void)state;
    NetsimOptions line = {.delay_ms = 5};
    JoinRig rig = {0};
    Connection *client = joined(&rig, &line, 1500);
    char *text = report_of(client);
    const char *lake = strstr(text, "{\"name\": \"lake\", \"kind\": \"water\"");
    const char *cloud = strstr(text, "{\"name\": \"cloud\", \"kind\": \"smoke\"");
    const char *swarm = strstr(text, "{\"name\": \"swarm\", \"kind\": \"sphere\"");
    assert_true(lake != NULL && cloud != NULL && swarm != NULL);
    assert_non_null(strstr(lake, "\"cells\": [40, 1, 36]"));
    assert_non_null(strstr(cloud, "\"cells\": [14, 10, 13]"));
    f64 low, high, x, y, z;
    assert_int_equal(
        sscanf(strstr(lake, "\"height_range\""), "\"height_range\": [%lf, %lf]", &low, &high), 2);
    assert_true(fabs(low - 0.7) < 0.005 && fabs(high - 1.3) < 0.005);
    assert_int_equal(
        sscanf(strstr(cloud, "\"position\""), "\"position\": [%lf, %lf, %lf]", &x, &y, &z), 3);
    Vec3 centre = field_blob_centre(shown_s(client));
    assert_true(vec3_distance(vec3((f32)x, (f32)y, (f32)z), centre) < 0.05f);
    assert_int_equal(
        sscanf(strstr(cloud, "\"density_range\""), "\"density_range\": [%lf, %lf]", &low, &high),
        2);
    /* The nearest cell is at most half a cell's diagonal away: exp(-0.32² / 0.6²). */
    assert_true(low < 0.01 && high > 0.74 && high <= 1.0);
    assert_non_null(strstr(swarm, "\"points\": 150"));
    free(text);
    connection_destroy(client);
    join_rig_stop(&rig);
}

/* ---- recordings ---- */

static void must_be(FieldSet *fields, RecordingReader *reader, u64 tick)
{
    Frame *frame, *made = field_source_frame(fields, tick);
    assert_int_equal(recording_reader_next(reader, &frame, NULL, NULL), 0);
    assert_int_equal(frame->tick, tick);
    assert_true(field_set_equal(frame->fields, fields));
    assert_memory_equal(frame->data, made->data, fields->frame_bytes);
    frame_release(frame);
    frame_release(made);
}

static void test_recording_and_playback(void **state)
{
    (void)state;
    FieldSet *fields = field_source_fields();
    const char *path = replay_record(fields, TICKS);
    ErrorText error = {0};
    RecordingReader *reader = recording_reader_create(path, &error);
    assert_non_null(reader);
    for (u64 tick = 0; tick < TICKS; tick++) {
        must_be(fields, reader, tick);
    }
    static const u64 seeks[] = {137, 12, 299, 0, 200};
    for (u32 i = 0; i < PL_COUNT(seeks); i++) {
        assert_int_equal(recording_reader_seek(reader, seeks[i]), 0);
        must_be(fields, reader, seeks[i]);
    }
    Entity entities[8];
    assert_int_equal(recording_reader_entities(reader, entities, 8), FIELD_SOURCE_FIELDS);
    assert_int_equal(entities[0].count, 40 * 36);
    recording_reader_destroy(reader);

    /* Played in real time to a client, from the middle on. */
    SourceWorldOptions options = {.speed = 1.0};
    JoinRig rig = {0};
    NetsimOptions line = {.delay_ms = 1};
    join_rig_start_with(&rig, source_recording_create(path, &options, &error));
    Connection *client = join_rig_connect(&rig, &line, &line);
    f64 wave = 1.0, blob = 1.0, swarm = 1.0;
    REPLAY_UNTIL(replay_run(&rig, &client, 1, 10),
                 connection_state(client) == CONNECTION_LIVE && shown_s(client) > 0.0);
    /* Paused: only the seek leads there. */
    assert_int_equal(connection_control(client, CONTROL_PAUSE, 0.0), 0);
    assert_int_equal(connection_control(client, CONTROL_SEEK, 3.0), 0);
    REPLAY_UNTIL(replay_run(&rig, &client, 1, 10), fabs(shown_s(client) - 3.0) < 1e-3);
    assert_int_equal(connection_control(client, CONTROL_RESUME, 0.0), 0);
    REPLAY_UNTIL(replay_run(&rig, &client, 1, 10),
                 (errors_of(client, &wave, &blob, &swarm),
                  shown_s(client) > 3.3 && wave < 0.02 && blob < 0.05 && swarm < 0.02));
    connection_destroy(client);
    join_rig_stop(&rig);
    unlink(path);
    field_set_release(fields);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shown_is_the_formula),
        cmocka_unit_test(test_over_a_bad_line),
        cmocka_unit_test(test_picks_are_judged),
        cmocka_unit_test(test_unfair_picks_are_refused),
        cmocka_unit_test(test_report),
        cmocka_unit_test(test_recording_and_playback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
