/* test_branch.c: a recording taken over at a tick continues with the same bits as a world that
 * never stopped: for scenes with every kind of matter, with users at work, from the scene, from an
 * image in the middle, with any number of threads. What is recorded otherwise than it is simulated
 * is no way to a tick; which system differs first is known. */
#include "server/author/scene_load.h"
#include "server/host/branch.h"
#include "server/host/resimulate.h"
#include "tests/determinism/world_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    TICKS = 110,
    ON = 30, /* ticks after the branch */
    IMAGE_AT = 50,
    LIE_AT = 100,
};

static char path[] = "/tmp/plenum-branch-XXXXXX";

/* Air with smoke and heat, fewer cells than in the shipped scenes. */
static char smoke_path[] = "/tmp/plenum-smoke-XXXXXX.json";
static const char smoke_scene[] =
    "{\"name\":\"puff\",\"bodies\":[{\"name\":\"ground\",\"shape\":{\"kind\":\"plane\"},"
    "\"motion\":\"static\"}],\"smokes\":[{\"name\":\"smoke\",\"corner\":[-0.4,0.05,-0.4],"
    "\"cells\":[16,24,16],\"spacing\":0.05,\"vorticity\":0.3,\"sources\":[{\"position\":[0,0.2,0],"
    "\"radius\":0.1,\"smoke\":1.5,\"heat\":400,\"warmest\":60}]}]}";

static const char *const scenes[] = {
    "shared/scenes/playground.json",        smoke_path,
#ifndef __SANITIZE_THREAD__ /* twenty times slower; test_golden has threads for all matter */
    "shared/scenes/ragdolls.json",          "shared/scenes/sparks.json",
    "shared/scenes/pool_toys.json",         "shared/scenes/conveyor.json",
    "tests/determinism/golden/matter.json", "tests/determinism/golden/liquids.json",
    "tests/determinism/golden/waters.json",
#endif
};

typedef struct Stage {
    const Scene *scene;
    bool users; /* of the playground */
    u64 hashes[TICKS];
} Stage;

static u32 inputs_of(const Stage *stage, u32 tick, Input *inputs)
{
    return stage->users ? script_inputs(tick, inputs) : 0;
}

static void keep_image(RecordingWriter *writer, const World *world)
{
    u8 *image;
    size_t bytes;
    assert_int_equal(world_save(world, &image, &bytes), 0);
    RecordingImage about = {
        .tick = world_tick_number(world), .kind = RECORDING_IMAGE_KEPT, .bytes = bytes};
    assert_int_equal(recording_writer_image(writer, &about, image), 0);
    free(image);
}

/* Records TICKS of the scene; the hash of LIE_AT is another than the world's. */
static void record(Stage *stage, bool image)
{
    World *world = world_create(stage->scene, NULL, NULL);
    assert_non_null(world);
    RecordingHead head = {.tick_rate = stage->scene->tick_rate, .created_unix_s = 5};
    world_describe(world, &head.world);
    unlink(path);
    RecordingWriter *writer = recording_writer_create(path, &head, NULL);
    assert_non_null(writer);
    for (u32 tick = 0; tick < TICKS; tick++) {
        Input inputs[SCRIPT_INPUTS_MAX];
        u32 count = tick > 0 ? inputs_of(stage, tick, inputs) : 0;
        if (tick > 0) {
            world_tick(world, inputs, count);
        }
        if (image && tick == IMAGE_AT) {
            keep_image(writer, world);
        }
        Frame *frame = world_frame(world);
        stage->hashes[tick] = frame->world_hash;
        frame->world_hash ^= tick == LIE_AT;
        assert_int_equal(recording_writer_tick(writer, frame, inputs, count), 0);
        frame_release(frame);
    }
    assert_int_equal(recording_writer_destroy(writer), 0);
    world_destroy(world);
}

/* The hashes of ON ticks after `at`, of which the users' inputs continue. */
static void go_on(const Stage *stage, World *world, u32 at, u64 hashes[ON])
{
    for (u32 i = 0; i < ON; i++) {
        Input inputs[SCRIPT_INPUTS_MAX];
        world_tick(world, inputs, inputs_of(stage, at + 1 + i, inputs));
        hashes[i] = world_hash(world);
        frame_release(world_frame(world));
    }
}

/* A world that never stopped; its users let go at `at`. */
static void never_stopped(const Stage *stage, u32 at, u64 hashes[ON])
{
    World *world = world_create(stage->scene, NULL, NULL);
    frame_release(world_frame(world));
    for (u32 tick = 1; tick <= at; tick++) {
        Input inputs[SCRIPT_INPUTS_MAX];
        world_tick(world, inputs, inputs_of(stage, tick, inputs));
        frame_release(world_frame(world));
    }
    world_empty_hands(world);
    go_on(stage, world, at, hashes);
    world_destroy(world);
}

static void branch(const Stage *stage, const char *name, u32 at, u32 threads, const u64 want[ON])
{
    char when[16];
    ErrorText error = {0};
    RecordingParent parent;
    Jobs *jobs = jobs_create(threads);
    World *world = world_create(stage->scene, jobs, &error);
    u64 hashes[ON];
    snprintf(when, sizeof when, "%u", at);
    if (branch_lead(path, when, world, &parent, &error) != 0) {
        fail_msg("%s at %u: %s", name, at, error.text);
    }
    assert_int_equal(world_tick_number(world), at);
    assert_int_equal(parent.tick, at);
    assert_int_equal(parent.created_unix_s, 5);
    assert_string_equal(parent.name, strrchr(path, '/') + 1);
    go_on(stage, world, at, hashes);
    for (u32 i = 0; i < ON; i++) {
        if (hashes[i] != want[i]) {
            fail_msg("%s: the branch at %u differs %u ticks on, with %u threads", name, at, i + 1,
                     threads);
        }
    }
    world_destroy(world);
    jobs_destroy(jobs);
}

static void test_goes_on_as_if_nothing_was(void **state)
{
    PL_UNUSED(state);
    static const u32 ats[] = {IMAGE_AT, 75};
    for (u32 s = 0; s < PL_COUNT(scenes); s++) {
        ErrorText error = {0};
        Scene *scene = scene_load(scenes[s], &error);
        if (scene == NULL) {
            fail_msg("%s", error.text);
        }
        Stage stage = {.scene = scene, .users = s == 0};
        record(&stage, s % 2 == 0);
        for (u32 i = 0; i < PL_COUNT(ats); i++) {
            u64 want[ON];
            if (stage.users) {
                never_stopped(&stage, ats[i], want);
            } else { /* nobody holds anything: the recorded world itself */
                memcpy(want, &stage.hashes[ats[i] + 1], sizeof want);
            }
            branch(&stage, scenes[s], ats[i], 1u << i % 3, want);
        }
        scene_destroy(scene);
    }
}

/* An image is a shorter way; behind a tick that differs there is none. */
static void test_no_way(void **state)
{
    PL_UNUSED(state);
    Scene *scene = scene_load(scenes[0], NULL);
    Stage stage = {.scene = scene, .users = true};
    ErrorText error = {0};
    RecordingParent parent;
    record(&stage, true);
    World *world = world_create(scene, NULL, NULL);
    assert_int_equal(branch_lead(path, "105", world, &parent, &error), ERROR_MISMATCH);
    assert_non_null(strstr(error.text, "from tick 100 on"));
    world_destroy(world);
    world = world_create(scene, NULL, NULL);
    assert_int_equal(branch_lead(path, "110", world, &parent, &error), ERROR_RANGE);
    assert_int_equal(branch_lead("/nonexistent.plrec", "1", world, &parent, &error),
                     ERROR_NOT_FOUND);
    world_destroy(world);
    scene_destroy(scene);
}

static void test_times(void **state)
{
    PL_UNUSED(state);
    const RecordingInfo info = {.first_tick = 30, .last_tick = 500000};
    static const struct {
        const char *text;
        i64 tick;
    } cases[] = {{"30", 30},     {"500000", 500000},
                 {"29", -1},     {"500001", -1},
                 {"0.5s", 30},   {"12.25s", 735},
                 {"1:30", 5400}, {"1:02:30.5", 225030},
                 {"1:60", -1},   {"", -1},
                 {"s", -1},      {"-5", -1},
                 {"1e3", -1},    {"0x50", -1},
                 {"12", -1},     {"1:2:3:4", -1},
                 {"1::3", -1},   {"infs", -1},
                 {"nans", -1},   {"100 ", -1},
                 {"1:30s", -1},  {"99999999999999999999s", -1},
                 {"1.2.3s", -1}};
    for (u32 i = 0; i < PL_COUNT(cases); i++) {
        u64 tick = 0;
        ErrorText error = {0};
        int result = branch_tick(cases[i].text, 60, &info, &tick, &error);
        if (cases[i].tick >= 0 ? result != 0 || (i64)tick != cases[i].tick
                               : result == 0 || strstr(error.text, "--at") == NULL) {
            fail_msg("\"%s\": %d, tick %llu", cases[i].text, result, (unsigned long long)tick);
        }
    }
    u64 tick;
    assert_int_equal(branch_tick(NULL, 60, &info, &tick, NULL), 0);
    assert_int_equal(tick, 500000);
}

/* Records a world in which something happens at LIE_AT that the recording does not tell. */
static void record_secret(const Scene *scene, const Input *secret)
{
    World *world = world_create(scene, NULL, NULL);
    assert_non_null(world);
    RecordingHead head = {.tick_rate = scene->tick_rate, .created_unix_s = 5};
    world_describe(world, &head.world);
    unlink(path);
    RecordingWriter *writer = recording_writer_create(path, &head, NULL);
    assert_non_null(writer);
    for (u32 tick = 0; tick < TICKS; tick++) {
        if (tick > 0) {
            world_tick(world, secret, tick == LIE_AT);
        }
        Frame *frame = world_frame(world);
        assert_int_equal(recording_writer_tick(writer, frame, NULL, 0), 0);
        frame_release(frame);
    }
    assert_int_equal(recording_writer_destroy(writer), 0);
    world_destroy(world);
}

static void expect_system(const char *name, const char *what)
{
    ErrorText error = {0};
    ResimulatedTick tick = {0};
    u32 system;
    Resimulation *r = resimulation_create(path, NULL, 1, &error);
    assert_non_null(r);
    while (resimulation_next(r, &tick, &error) == ERROR_OK && tick.recorded == tick.simulated) {
        assert_int_equal(resimulation_system(r, &system), ERROR_NOT_FOUND);
        assert_int_equal(system, UINT32_MAX);
    }
    assert_int_equal(tick.tick, LIE_AT);
    assert_int_equal(resimulation_system(r, &system), ERROR_OK);
    if (strcmp(world_system_name(resimulation_world(r), system), name) != 0) {
        fail_msg("%s differs by a push of %s", world_system_name(resimulation_world(r), system),
                 what);
    }
    resimulation_destroy(r);
}

static u32 entity_of_kind(const Scene *scene, AppearanceKind kind)
{
    World *world = world_create(scene, NULL, NULL);
    MessageWorld about;
    u32 id = 0;
    world_describe(world, &about);
    for (u32 i = 0; i < about.entity_count && id == 0; i++) {
        id = about.entities[i].appearance.kind == kind ? about.entities[i].id : 0;
    }
    world_destroy(world);
    assert_true(id != 0);
    return id;
}

static void test_first_system(void **state)
{
    PL_UNUSED(state);
    ErrorText error = {0};
    Scene *scene = scene_load("shared/scenes/playground.json", &error);
    assert_non_null(scene);
    Input push = script_input(INPUT_PUSH, 1, LIE_AT);
    push.vector = vec3(0.0f, 5.0f, 5.0f);
    push.entity = SCRIPT_BOX;
    record_secret(scene, &push);
    expect_system("rigid", "a box");
    push.entity = SCRIPT_CURTAIN;
    push.element = 300;
    push.vector = vec3(0.0f, 0.0f, 0.1f);
    record_secret(scene, &push);
    expect_system("soft", "a curtain");
    Input set = script_input(INPUT_SET, 1, LIE_AT);
    set.index = 1; /* wind */
    set.values[0] = 1.0f;
    record_secret(scene, &set);
    expect_system("clocks, parameters, hands and entities", "a slider");
    scene_destroy(scene);
    /* No body moves in it: where one meets water both differ in the same tick. */
    scene = scene_load("shared/scenes/double_dam.json", &error);
    assert_non_null(scene);
    push.entity = entity_of_kind(scene, APPEARANCE_LIQUID);
    push.element = 0;
    push.vector = vec3(0.0f, 1.0f, 0.0f);
    record_secret(scene, &push);
    expect_system("liquid", "water");
    scene_destroy(scene);
}

int main(void)
{
    int fd = mkstemp(path);
    close(fd);
    fd = mkstemps(smoke_path, 5);
    if (write(fd, smoke_scene, sizeof smoke_scene - 1) != (ssize_t)sizeof smoke_scene - 1) {
        return 1;
    }
    close(fd);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goes_on_as_if_nothing_was),
        cmocka_unit_test(test_no_way),
        cmocka_unit_test(test_first_system),
        cmocka_unit_test(test_times),
    };
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    unlink(smoke_path);
    return result;
}
