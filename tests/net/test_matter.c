/*
 * test_matter.c: a kind of matter that only the tests know (tests/support/cloud.c) is streamed,
 * drawn, picked and dragged by a client, pushed, tuned, measured, saved, recorded and verified.
 */
#include "client/hand/hand.h"
#include "client/link/timeline.h"
#include "server/author/scene_load.h"
#include "server/host/source.h"
#include "server/host/verify.h"
#include "shared/base/clock.h"
#include "tests/support/cloud.h"
#include "tests/support/join_rig.h"
#include "tests/support/shot.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/in_sync.h"

enum {
    HELD = 555 /* a point in the middle of the lattice */
};

static const char scene_text[] =
    "{\"name\":\"cloud\",\"probes\":[{\"name\":\"kinetic\",\"kind\":\"kinetic_energy\"}]}";

static Scene *scene_of_text(void)
{
    ErrorText error = {0};
    Scene *scene = scene_parse(scene_text, strlen(scene_text), "cloud", &error);
    if (scene == NULL) {
        fail_msg("%s", error.text);
    }
    return scene;
}

static World *world_of(const Scene *scene)
{
    ErrorText error = {0};
    World *world = world_create_with(scene, &cloud_kinds, NULL, &error);
    if (world == NULL) {
        fail_msg("%s", error.text);
    }
    return world;
}

static f64 probe(const World *world, const char *name)
{
    f64 value = NAN;
    assert_true(world_probe(world, name, &value));
    return value;
}

static Input input_of(InputKind kind, u32 sequence)
{
    Input input = {.kind = kind, .user = 1, .sequence = sequence, .rotation = {1, 0, 0, 0}};
    input.entity = 1;
    input.element = HELD;
    input.ray = (Ray){cloud_place(HELD), vec3(0, 0, -1)};
    return input;
}

static void tick_with(World *world, const Input *inputs, u32 count)
{
    world_tick(world, inputs, count);
    Frame *frame = world_frame(world);
    assert_non_null(frame);
    for (u32 i = 0; i < frame->event_count; i++) {
        assert_int_not_equal(frame->events[i].kind, EVENT_REFUSED);
    }
    frame_release(frame);
}

/* ---- in the world ---- */

/* An impulse p on a point of mass m adds the energy p² / 2m; the spring returns it after half a
 * period, which depends on its stiffness; the mean height shows it. */
static void is_pushed_tuned_and_measured(void **state)
{
    (void)state;
    for (u32 stiff = 1; stiff <= 4; stiff *= 4) {
        Scene *scene = scene_of_text();
        World *world = world_of(scene);
        assert_float_equal(probe(world, "cloud height"), 3.25, 1e-5);
        MessageWorld said;
        world_describe(world, &said);
        Input set = input_of(INPUT_SET, 1);
        set.index = said.parameter_count - 1;
        set.values[0] = (f32)stiff;
        assert_string_equal(said.parameters[set.index].name, "cloud stiffness");
        assert_string_equal(said.probes[said.probe_count - 1].name, "cloud height");
        tick_with(world, &set, 1);
        Input push = input_of(INPUT_PUSH, 2);
        push.vector = vec3(0, 0.02f, 0);
        tick_with(world, &push, 1);
        f64 start = 0.02 * 0.02 / (2.0 * (f64)CLOUD_POINT_KG);
        assert_float_equal(probe(world, "kinetic"), start, 0.05 * start);
        u32 ticks = 1;
        for (f64 last = 0.0; probe(world, "cloud height") > last; ticks++) {
            last = probe(world, "cloud height");
            tick_with(world, NULL, 0);
        }
        /* The maximum, after a quarter of the period: 1 s / sqrt(stiffness). */
        f64 quarter_s = 0.25 / sqrt((f64)stiff);
        assert_float_equal((f64)ticks / 60.0, quarter_s, 2.5 / 60.0);
        world_destroy(world);
        scene_destroy(scene);
    }
}

/* The scene names probes and prefabs of a kind of matter that only the test knows. */
static const char named_text[] =
    "{\"name\":\"named\",\"probes\":["
    "{\"name\":\"corner\",\"kind\":\"cloud.point 999\",\"of\":\"cloud\"},"
    "{\"name\":\"speed\",\"kind\":\"cloud.speed\",\"of\":\"cloud\"}],"
    "\"prefabs\":[{\"name\":\"puff\",\"matter\":\"cloud\"}],\"hands\":{\"spawn_max\":2}}";

static Scene *scene_from(const char *text)
{
    ErrorText error = {0};
    Scene *scene = scene_parse(text, strlen(text), "cloud", &error);
    if (scene == NULL) {
        fail_msg("%s", error.text);
    }
    return scene;
}

static void is_named_by_probes_of_a_scene(void **state)
{
    (void)state;
    Scene *scene = scene_from(named_text);
    World *world = world_of(scene);
    MessageWorld said;
    world_describe(world, &said);
    assert_string_equal(said.probes[0].unit, "m");
    assert_string_equal(said.probes[1].unit, "m/s");
    assert_true(probe(world, "corner") == (f64)cloud_place(CLOUD_POINTS - 1).y);
    Input push = input_of(INPUT_PUSH, 1);
    push.vector = vec3(0, 0.02f, 0);
    tick_with(world, &push, 1);
    assert_float_equal(probe(world, "speed"), 2.0 / CLOUD_POINTS, 0.1 / CLOUD_POINTS);
    world_destroy(world);
    scene_destroy(scene);
}

/* Names that no kind of matter knows are refused, with the name in the text. */
static void unknown_names_are_refused(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"\"probes\":[{\"name\":\"a\",\"kind\":\"fog.speed\"}]", "probes[0].kind"},
        {"\"probes\":[{\"name\":\"a\",\"kind\":\"rigid.speed\"}]", "probes[0].kind"},
        {"\"probes\":[{\"name\":\"a\",\"kind\":\"cloud.mood\",\"of\":\"cloud\"}]", "probes[0]"},
        {"\"prefabs\":[{\"name\":\"a\",\"matter\":\"fog\"}]", "prefabs[0].matter"},
        {"\"prefabs\":[{\"name\":\"puff\",\"matter\":\"soft\"}]", "prefabs[0].matter"},
        {"\"prefabs\":[{\"name\":\"a\",\"matter\":\"cloud\"}]", "prefabs[0].matter"},
    };
    for (u32 i = 0; i < PL_COUNT(bad); i++) {
        char text[256];
        ErrorText error = {0};
        snprintf(text, sizeof text, "{\"name\":\"bad\",%s}", bad[i][0]);
        Scene *scene = scene_from(text);
        assert_null(world_create_with(scene, &cloud_kinds, NULL, &error));
        if (strstr(error.text, bad[i][1]) == NULL) {
            fail_msg("%s: %s", bad[i][0], error.text);
        }
        scene_destroy(scene);
    }
}

static void ticks(World *world, Input *inputs, u32 count, u32 refused)
{
    world_tick(world, inputs, count);
    Frame *frame = world_frame(world);
    assert_non_null(frame);
    u32 seen = 0;
    for (u32 i = 0; i < frame->event_count; i++) {
        seen += frame->events[i].kind == EVENT_REFUSED;
    }
    assert_int_equal(seen, refused);
    frame_release(frame);
}

/* A sensor at a corner of the lattice, whose points are pushed out of it and swing back: it reports
 * when the cloud leaves, and when it returns. */
static void is_detected_by_sensors(void **state)
{
    (void)state;
    static const char text[] =
        "{\"name\":\"sensed\",\"gravity\":[0,0,0],\"bodies\":[{\"name\":\"eye\",\"shape\":{"
        "\"kind\":"
        "\"box\",\"half\":[0.1,0.1,0.1]},\"motion\":\"static\",\"sensor\":true,"
        "\"position\":[2.25,5.5,2.25]},{\"name\":\"far\",\"shape\":{\"kind\":\"sphere\",\"radius\":"
        "1},"
        "\"motion\":\"static\",\"sensor\":true,\"position\":[9,5,2]}]}";
    Scene *scene = scene_from(text);
    World *world = world_of(scene);
    const u32 eye = 1, cloud = 3;
    u32 entered = 0, left = 0, entered_at = 0, left_at = 0;
    for (u32 t = 0; t < 36; t++) {
        Input push = input_of(INPUT_PUSH, t + 1);
        push.entity = cloud;
        push.element = CLOUD_POINTS - 1;
        push.vector = vec3(0, 0.03f, 0); /* 3 m/s against a spring of 1 Hz: 0.48 m */
        world_tick(world, &push, t == 5);
        Frame *frame = world_frame(world);
        assert_non_null(frame);
        for (u32 i = 0; i < frame->event_count; i++) {
            const Event *event = &frame->events[i];
            bool enters = event->kind == EVENT_ENTER;
            if (!enters && event->kind != EVENT_LEAVE) {
                continue;
            }
            assert_int_equal(event->a, eye);
            assert_int_equal(event->b, cloud);
            entered += enters;
            left += !enters;
            entered_at = enters ? t : entered_at;
            left_at = enters ? left_at : t;
        }
        frame_release(frame);
    }
    assert_int_equal(entered, 2); /* at first, and when the point is back */
    assert_int_equal(left, 1);
    /* 0.18 m at 3 m/s, and half a period of the spring. */
    assert_true(left_at >= 8 && left_at <= 10);
    assert_true(entered_at >= 5 + 24 && entered_at <= 5 + 30);
    u8 *image;
    size_t bytes;
    ErrorText error = {0};
    World *other = world_of(scene);
    assert_int_equal(world_save(world, &image, &bytes), 0);
    assert_int_equal(world_load(other, image, bytes, &error), 0);
    assert_true(world_hash(world) == world_hash(other));
    ticks(other, NULL, 0, 0);
    ticks(world, NULL, 0, 0);
    assert_true(world_hash(world) == world_hash(other));
    free(image);
    world_destroy(world);
    world_destroy(other);
    scene_destroy(scene);
}

static void is_spawned_and_removed(void **state)
{
    (void)state;
    Scene *scene = scene_from(named_text);
    World *world = world_of(scene), *other = world_of(scene);
    Input make[3];
    for (u32 i = 0; i < 3; i++) {
        make[i] = input_of(INPUT_SPAWN, 1 + i);
        make[i].index = 0;
        make[i].target = vec3(6, 2 + (f32)i, 0);
        make[i].vector = vec3(0, 0, 1);
    }
    ticks(world, make, 3, 1); /* two at most */
    assert_float_equal(cloud_position(world, CLOUD_POINTS).z, -0.2f + 1.0f / 60.0f, 1e-5f);
    u8 *image;
    size_t bytes;
    ErrorText error = {0};
    assert_int_equal(world_save(world, &image, &bytes), 0);
    assert_int_equal(world_load(other, image, bytes, &error), 0);
    assert_true(world_hash(world) == world_hash(other));
    Input gone = input_of(INPUT_REMOVE, 4);
    gone.entity = 2;
    gone.element = 0;
    ticks(other, &gone, 1, 0);
    make[2].sequence = 5;
    ticks(other, &make[2], 1, 0);
    free(image);
    world_destroy(world);
    world_destroy(other);
    scene_destroy(scene);
}

static void is_saved_and_continues_identically(void **state)
{
    (void)state;
    Scene *scene = scene_of_text();
    World *world = world_of(scene), *other = world_of(scene);
    Input hold[2] = {input_of(INPUT_GRAB, 1), input_of(INPUT_MOVE, 2)};
    hold[1].target = vec3(0, 6, 0);
    tick_with(world, hold, 2);
    for (u32 i = 0; i < 20; i++) {
        tick_with(world, NULL, 0);
    }
    u8 *image;
    size_t bytes;
    ErrorText error = {0};
    assert_int_equal(world_save(world, &image, &bytes), 0);
    assert_true(world_hash(world) != world_hash(other));
    assert_int_equal(world_load(other, image, bytes, &error), 0);
    for (u32 i = 0; i < 40; i++) {
        assert_true(world_hash(world) == world_hash(other));
        Input end = input_of(INPUT_RELEASE, 3 + i);
        tick_with(world, &end, i == 20);
        tick_with(other, &end, i == 20);
    }
    image[bytes - 30] ^= 0x40;
    assert_true(world_load(other, image, bytes, &error) < 0);
    assert_true(world_hash(world) == world_hash(other));
    Input reset = input_of(INPUT_RESET, 99);
    tick_with(other, &reset, 1);
    assert_true(vec3_distance(cloud_position(other, HELD), cloud_place(HELD)) == 0.0f);
    free(image);
    world_destroy(world);
    world_destroy(other);
    scene_destroy(scene);
}

/* ---- over the network ---- */

static void steps(JoinRig *rig, Connection *client, u32 ms)
{
    for (u32 i = 0; i < ms; i++) {
        join_rig_step(rig, &client, 1);
    }
}

static Vec3 shown(Connection *client, const Entity *entity, u32 element)
{
    ShownPoint point;
    assert_true(timeline_point(connection_timeline(client), entity->field, element, &point));
    return point.position;
}

static void is_seen_and_dragged_by_a_client(void **state)
{
    (void)state;
    Scene *scene = scene_of_text();
    NetsimOptions line = {.delay_ms = 20};
    JoinRig rig = {0};
    join_rig_start_kinds(&rig, scene, &cloud_kinds);
    Connection *client = join_rig_connect(&rig, &line, &line);
    steps(&rig, client, 1500);
    assert_int_equal(connection_state(client), CONNECTION_LIVE);
    const Entity *entity = connection_entity_named(client, "cloud");
    assert_non_null(entity);
    for (u32 i = 0; i < CLOUD_POINTS; i++) {
        assert_true(vec3_distance(shown(client, entity, i), cloud_place(i)) < 0.003f);
    }
    /* A corner of the lattice, which nothing hides. */
    Hand hand;
    Pick pick;
    hand_init(&hand, client);
    Vec3 corner = cloud_place(CLOUD_POINTS - 1), eye = vec3_add(corner, vec3(3, 2, 4));
    Ray ray = {eye, vec3_normalize_or(vec3_sub(corner, eye), vec3(0, -1, 0))};
    assert_true(pick_ray(client, ray, 100, &pick));
    assert_int_equal(pick.entity, entity->id);
    assert_int_equal(pick.element, CLOUD_POINTS - 1);
    assert_float_equal(pick.distance, vec3_length(vec3(3, 2, 4)) - CLOUD_RADIUS_M, 0.02f);
    assert_true(hand_grab_ray(&hand, ray));
    steps(&rig, client, 300);
    Vec3 target = vec3_add(corner, vec3(0.5f, 0.5f, 0));
    hand_move(&hand, target);
    steps(&rig, client, 1500);
    /* The grab spring against the point's own. */
    f32 own = 39.478f, share = 900.0f / (900.0f + own);
    Vec3 held = vec3_lerp(corner, target, share);
    assert_true(vec3_distance(shown(client, entity, CLOUD_POINTS - 1), held) < 0.02f);
    hand_release(&hand);
    steps(&rig, client, 300);
    assert_true(vec3_distance(shown(client, entity, CLOUD_POINTS - 1), held) > 0.1f);
    assert_served(client);
    connection_destroy(client);
    join_rig_stop(&rig);
    scene_destroy(scene);
}

/* ---- drawn ---- */

static bool is_red(const Shot *shot, Vec3 point)
{
    return shot_hue(shot_pixel(shot, point)) == 0;
}

/* Seen from the front the nearest layer of the lattice hides the others, and is the widest: each of
 * its points is a ball of its radius, and outside its outline is sky. */
static void is_drawn_as_balls(void **state)
{
    (void)state;
    Scene *scene = scene_of_text();
    NetsimOptions line = {.delay_ms = 20};
    JoinRig rig = {0};
    join_rig_start_kinds(&rig, scene, &cloud_kinds);
    Connection *client = join_rig_connect(&rig, &line, &line);
    steps(&rig, client, 1500);
    assert_int_equal(connection_state(client), CONNECTION_LIVE);
    Shot *shot = shot_create(client);
    View *view = shot_view();
    Vec3 middle = vec3(0, 3.25f, 0);
    shot->picture.camera =
        (Camera){vec3_add(middle, vec3(0, 0, 9)), middle, vec3(0, 1, 0), 0.8f, 0.1f, 200.0f, 0};
    shot_take(view, shot, getenv("PLENUM_PICTURE"));
    for (u32 i = CLOUD_POINTS - CLOUD_SIDE * CLOUD_SIDE; i < CLOUD_POINTS; i++) {
        assert_true(is_red(shot, cloud_place(i)));
    }
    for (f32 x = -1; x < 2; x += 2) {
        for (f32 y = -1; y < 2; y += 2) {
            Vec3 out = vec3(x * CLOUD_RADIUS_M * 0.7071f, y * CLOUD_RADIUS_M * 0.7071f, 0);
            Vec3 corner = vec3(x * 2.25f, 3.25f + y * 2.25f, 2.25f);
            assert_true(is_red(shot, vec3_add_scaled(corner, 0.7f, out)));
            assert_false(is_red(shot, vec3_add_scaled(corner, 1.4f, out)));
        }
    }
    view_destroy(view);
    shot_destroy(shot);
    connection_destroy(client);
    join_rig_stop(&rig);
    scene_destroy(scene);
}

/* ---- recorded ---- */

static void wake(void *context)
{
    (void)context;
}

static void record(const char *scene_path, const char *path)
{
    SourceWorldOptions options = {.threads = 1,
                                  .ticks_max = 90,
                                  .fast = true,
                                  .speed = 1.0,
                                  .record_path = path,
                                  .probe = "cloud height",
                                  .kinds = &cloud_kinds};
    ErrorText error = {0};
    Source *source = source_world_create(scene_path, &options, &error);
    if (source == NULL) {
        fail_msg("%s", error.text);
    }
    Input hold[2] = {input_of(INPUT_GRAB, 1), input_of(INPUT_MOVE, 2)};
    hold[1].target = vec3(0, 6, 0);
    assert_int_equal(source->ops->input(source, hold, 2), 2);
    assert_int_equal(source->ops->start(source, wake, NULL, &error), 0);
    SourceStatus status = {0};
    u64 end_ns = clock_now_ns() + 60000000000ull;
    while (!status.finished && clock_now_ns() < end_ns) {
        source->ops->status(source, &status);
        Frame *frame = source->ops->take(source);
        frame_release(frame);
        clock_sleep_until_ns(clock_now_ns() + 100000);
    }
    assert_true(status.finished);
    source->ops->destroy(source);
}

static void is_recorded_and_verified(void **state)
{
    (void)state;
    char scene_path[] = "/tmp/plenum-test-cloud-XXXXXX", path[] = "/tmp/plenum-test-cloud-XXXXXX";
    int scene_fd = mkstemp(scene_path), fd = mkstemp(path);
    assert_true(scene_fd >= 0 && fd >= 0);
    assert_true(write(scene_fd, scene_text, strlen(scene_text)) == (ssize_t)strlen(scene_text));
    close(scene_fd);
    close(fd);
    unlink(path); /* the recorder must create it */
    record(scene_path, path);
    ErrorText error = {0};
    assert_int_equal(verify_recording(path, &cloud_kinds, 2, &error), EXIT_OK);
    /* A world without the cloud has another hash. */
    assert_int_equal(verify_recording(path, NULL, 2, &error), EXIT_CHECK_FAILED);
    unlink(path);
    unlink(scene_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_pushed_tuned_and_measured),
        cmocka_unit_test(is_named_by_probes_of_a_scene),
        cmocka_unit_test(unknown_names_are_refused),
        cmocka_unit_test(is_spawned_and_removed),
        cmocka_unit_test(is_detected_by_sensors),
        cmocka_unit_test(is_saved_and_continues_identically),
        cmocka_unit_test(is_seen_and_dragged_by_a_client),
        cmocka_unit_test(is_drawn_as_balls),
        cmocka_unit_test(is_recorded_and_verified),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
