/*
 * test_source_world.c: the live source over a small stand-in world: order of frames and events, the
 * host too slow, pause, step, speed, reset, recording and verification.
 * The stand-in defines all of world.h, so that the real world is not linked.
 */
#include "protocol/record/recording.h"
#include "server/host/source.h"
#include "server/host/verify.h"
#include "server/world/world.h"
#include "shared/base/clock.h"
#include "shared/base/hash.h"
#include "shared/base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
// cmocka wants the four above first
#include <cmocka.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCENE      "tests/e2e/scenes/drag.json"
#define WAIT_NS    20000000000ull
#define TICK_RATE  60
#define ENTITY_ONE 1

/* ---- the stand-in: a number that inputs change, one entity, and one more for each spawn ---- */

struct World {
    const Scene *scene;
    FieldSet *fields;
    u64 tick, number;
    u32 last_id;
    Event events[64];
    u32 event_count;
    Entity first;
    ScalarInfo probe;
    WorldObserver *observer;
    void *observer_context;
};

static _Atomic u64 tick_cost_ns;   /* what a tick sleeps */
static _Atomic u64 spoiled_tick;   /* from which the number differs */
static _Atomic u32 resets_applied; /* over all worlds */

static Entity make_entity(u32 id)
{
    Entity e = {.id = id, .count = 1, .mass_kg = 1.0f};
    snprintf(e.name, sizeof e.name, "thing-%u", id);
    e.appearance.kind = APPEARANCE_SHAPE;
    e.appearance.shape = (Shape){.kind = SHAPE_SPHERE, .radius = 1.0f};
    return e;
}

World *world_create_with(const Scene *scene, const MatterList *kinds, Jobs *jobs, ErrorText *error)
{
    (void)kinds;
    (void)jobs;
    (void)error;
    FieldDesc field = {
        .kind = FIELD_POSES, .channels = 1, .name = "bodies", .capacity = 64, .quantum = 0.001f};
    World *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world->scene = scene;
    world->fields = field_set_create(&field, 1);
    world->last_id = ENTITY_ONE;
    world->first = make_entity(ENTITY_ONE);
    snprintf(world->probe.name, sizeof world->probe.name, "number");
    return world;
}

u64 world_memory_estimate(const Scene *scene, const MatterList *kinds)
{
    (void)kinds;
    (void)scene;
    return 100 << 20;
}

void world_destroy(World *world)
{
    if (world != NULL) {
        field_set_release(world->fields);
        free(world);
    }
}

static void push_spawn(World *world, u32 id)
{
    if (world->event_count < PL_COUNT(world->events)) {
        Event e = {.kind = EVENT_SPAWN, .entity = make_entity(id)};
        world->events[world->event_count++] = e;
    }
}

void world_tick(World *world, const Input *inputs, u32 count)
{
    world->tick++;
    world->number = hash_bytes(&world->tick, sizeof world->tick, world->number);
    for (u32 i = 0; i < count; i++) {
        world->number += (u64)inputs[i].sequence * inputs[i].user;
        if (inputs[i].kind == INPUT_SPAWN) {
            push_spawn(world, ++world->last_id);
        } else if (inputs[i].kind == INPUT_RESET) {
            world->number = 0;
            world->events[world->event_count++] = (Event){.kind = EVENT_RESET};
            push_spawn(world, ENTITY_ONE);
            atomic_fetch_add(&resets_applied, 1);
        }
    }
    world->number += atomic_load(&spoiled_tick) == world->tick;
    u64 cost = atomic_load(&tick_cost_ns);
    if (cost > 0) {
        clock_sleep_until_ns(clock_now_ns() + cost);
    }
    for (u32 i = 0; i < WORLD_PHASES && world->observer != NULL; i++) {
        world->observer(world->observer_context, (WorldPhase)i);
    }
}

void world_observe(World *world, WorldObserver *observer, void *context)
{
    world->observer = observer;
    world->observer_context = context;
}

Frame *world_frame(World *world)
{
    Frame *frame = frame_create(world->fields, world->tick, world->event_count);
    assert_non_null(frame);
    if (world->event_count > 0) {
        memcpy(frame->events, world->events, world->event_count * sizeof *world->events);
    }
    world->event_count = 0;
    frame->world_hash = world_hash_systems(world, frame->systems, &frame->system_count);
    frame->world_time_s = (f64)world->tick / TICK_RATE;
    return frame;
}

u64 world_tick_number(const World *world)
{
    return world->tick;
}
u64 world_hash_systems(const World *world, u32 systems[FRAME_SYSTEMS_MAX], u32 *count)
{
    *count = 1;
    systems[0] = (u32)world_hash(world);
    return world_hash(world);
}

const char *world_system_name(const World *world, u32 system)
{
    PL_UNUSED(world);
    return system == 0 ? "number" : "nothing";
}

u64 world_hash(const World *world)
{
    return world->number + 1;
}
void world_describe(World *world, MessageWorld *out)
{
    *out = (MessageWorld){.tick = world->tick,
                          .scene = world->scene->bytes,
                          .scene_bytes = world->scene->byte_count,
                          .fields = world->fields->fields,
                          .field_count = world->fields->count,
                          .entities = &world->first,
                          .entity_count = 1,
                          .probes = &world->probe,
                          .probe_count = 0};
}
FieldSet *world_fields(const World *world)
{
    return world->fields;
}
static _Atomic u32 images;

int world_save_into(const World *world, u8 **image, size_t *capacity, size_t *bytes)
{
    (void)capacity;
    atomic_fetch_add(&images, 1);
    return world_save(world, image, bytes);
}
int world_save(const World *world, u8 **image, size_t *bytes)
{
    (void)world;
    (void)image;
    (void)bytes;
    return ERROR_UNSUPPORTED;
}
int world_load(World *world, const u8 *image, size_t bytes, ErrorText *error)
{
    (void)world;
    (void)image;
    (void)bytes;
    return error_set(error, ERROR_UNSUPPORTED, "stand-in");
}
void world_empty_hands(World *world)
{
    (void)world;
}

void world_resend_entities(World *world, i32 code)
{
    (void)world;
    (void)code;
}

bool world_probe(const World *world, const char *name, f64 *value)
{
    *value = (f64)world->tick;
    return strcmp(name, "number") == 0;
}
void world_stats(const World *world, WorldStats *stats)
{
    (void)world;
    *stats = (WorldStats){0};
}

static _Atomic u32 looks;

int world_debug(World *world, u32 mask, DebugPicture *out)
{
    static const DebugLine lines[2] = {{{1, 2, 3}, {4, 5, 6}, DEBUG_LINE_BOX}};
    static const DebugIsland island = {1, 8};
    atomic_fetch_add(&looks, 1);
    *out = (DebugPicture){.tick = world->tick,
                          .mask = mask,
                          .lines_all = 2,
                          .lines = lines,
                          .line_count = 2,
                          .islands = &island,
                          .island_count = 1};
    return 0;
}

/* ---- a host ---- */

static _Atomic u32 wakes;

static void wake(void *context)
{
    (void)context;
    atomic_fetch_add(&wakes, 1);
}

static Source *start(const SourceWorldOptions *options)
{
    ErrorText error = {0};
    Source *source = source_world_create(SCENE, options, &error);
    if (source == NULL) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(source->ops->start(source, wake, NULL, &error), 0);
    return source;
}

/* Next frame, waiting for it; NULL if there will be none. */
static Frame *next(Source *source)
{
    u64 deadline = clock_now_ns() + WAIT_NS;
    for (;;) {
        SourceStatus status;
        source->ops->status(source, &status);
        Frame *frame = source->ops->take(source);
        if (frame != NULL || status.finished) {
            return frame;
        }
        if (clock_now_ns() > deadline) {
            fail_msg("no frame within %llu s", WAIT_NS / 1000000000ull);
        }
        clock_sleep_until_ns(clock_now_ns() + 200000);
    }
}

static SourceStatus status_of(Source *source)
{
    SourceStatus status;
    source->ops->status(source, &status);
    return status;
}

/* Drains until the world has finished; returns the ticks seen, which must come in order. */
static u64 drain(Source *source)
{
    u64 expected = 0;
    for (Frame *frame = next(source); frame != NULL; frame = next(source)) {
        assert_int_equal(frame->tick, expected);
        expected++;
        frame_release(frame);
    }
    return expected;
}

/* ---- tests ---- */

static void fast_loses_no_frame(void **state)
{
    (void)state;
    SourceWorldOptions options = {.threads = 2, .ticks_max = 300, .fast = true, .speed = 1.0};
    Source *source = start(&options);
    clock_sleep_until_ns(clock_now_ns() + 20000000); /* a slow host: the world waits */
    assert_int_equal(drain(source), 301);
    SourceStatus status = status_of(source);
    assert_true(status.finished);
    assert_int_equal(status.error, 0);
    assert_int_equal(status.tick, 300);
    assert_true(atomic_load(&wakes) >= 300);
    source->ops->destroy(source);
}

static void slow_host_loses_no_event(void **state)
{
    (void)state;
    SourceWorldOptions options = {.threads = 1, .ticks_max = 480, .speed = 16.0};
    Source *source = start(&options);
    u64 deadline = clock_now_ns() + WAIT_NS;
    u32 spawned = 0;
    /* The host sends inputs for a while but takes no frames. */
    while (!status_of(source).finished && clock_now_ns() < deadline) {
        Input input = {.kind = INPUT_SPAWN, .user = 1, .sequence = spawned + 1};
        spawned += spawned < 50 ? source->ops->input(source, &input, 1) : 0;
        clock_sleep_until_ns(clock_now_ns() + 2000000);
    }
    assert_int_equal(spawned, 50);
    u32 frames = 0;
    u32 seen = 0;
    u64 last = 0;
    for (Frame *frame = next(source); frame != NULL; frame = next(source)) {
        assert_true(frames == 0 || frame->tick > last);
        last = frame->tick;
        frames++;
        for (u32 i = 0; i < frame->event_count; i++) {
            seen += frame->events[i].kind == EVENT_SPAWN;
            assert_int_equal(frame->events[i].entity.id, ENTITY_ONE + seen);
        }
        frame_release(frame);
    }
    assert_true(frames < 481);
    assert_int_equal(last, 480);
    assert_int_equal(seen, 50);
    MessageWorld world;
    source->ops->describe(source, &world);
    assert_int_equal(world.entity_count, 51);
    assert_int_equal(world.tick, 480);
    source->ops->destroy(source);
}

static void describe_follows_the_frame_taken(void **state)
{
    (void)state;
    SourceWorldOptions options = {.threads = 1, .paused = true, .speed = 1.0};
    Source *source = start(&options);
    MessageWorld world;
    frame_release(next(source));
    Input input = {.kind = INPUT_SPAWN, .user = 3, .sequence = 1};
    assert_int_equal(source->ops->input(source, &input, 1), 1);
    assert_int_equal(source->ops->control(source, 1, CONTROL_STEP, 1.0), 0);
    u64 deadline = clock_now_ns() + WAIT_NS;
    while (status_of(source).tick < 1 && clock_now_ns() < deadline) {
        clock_sleep_until_ns(clock_now_ns() + 200000);
    }
    source->ops->describe(source, &world);
    assert_int_equal(world.tick, 0);
    assert_int_equal(world.entity_count, 1); /* the spawn is not taken yet */
    frame_release(next(source));
    source->ops->describe(source, &world);
    assert_int_equal(world.tick, 1);
    assert_int_equal(world.entity_count, 2);
    assert_int_equal(source->ops->control(source, 7, CONTROL_RESET, 0.0), 0);
    frame_release(next(source)); /* although paused */
    source->ops->describe(source, &world);
    assert_int_equal(world.entity_count, 1);
    assert_true(atomic_load(&resets_applied) > 0);
    source->ops->destroy(source);
}

static DebugPicture *next_picture(Source *source)
{
    u64 deadline = clock_now_ns() + WAIT_NS;
    for (;;) {
        DebugPicture *picture = source->ops->debug(source);
        if (picture != NULL) {
            return picture;
        }
        if (clock_now_ns() > deadline) {
            fail_msg("no picture within %llu s", WAIT_NS / 1000000000ull);
        }
        clock_sleep_until_ns(clock_now_ns() + 200000);
    }
}

/* Debug pictures are made only while a client subscribes, even when the world is paused. */
static void the_inside_is_for_those_who_ask(void **state)
{
    (void)state;
    SourceWorldOptions options = {.threads = 1, .speed = 1.0};
    Source *source = start(&options);
    for (u32 i = 0; i < 10; i++) {
        frame_release(next(source));
    }
    assert_int_equal(atomic_load(&looks), 0);
    assert_null(source->ops->debug(source));
    source->ops->debug_subscribe(source, DEBUG_JOINTS);
    DebugPicture *picture = next_picture(source);
    assert_int_equal(picture->mask, DEBUG_JOINTS);
    assert_int_equal(picture->line_count, 2);
    assert_int_equal(picture->lines[0].kind, DEBUG_LINE_BOX);
    assert_int_equal(picture->islands[0].island, 8);
    free(picture);
    assert_int_equal(source->ops->control(source, 1, CONTROL_PAUSE, 0.0), 0);
    clock_sleep_until_ns(clock_now_ns() + 150000000);
    free(source->ops->debug(source));
    source->ops->debug_subscribe(source, DEBUG_BOXES);
    picture = next_picture(source);
    while (picture->mask != DEBUG_BOXES) {
        free(picture);
        picture = next_picture(source);
    }
    free(picture);
    source->ops->debug_subscribe(source, 0);
    clock_sleep_until_ns(clock_now_ns() + 50000000);
    u32 before = atomic_load(&looks);
    assert_int_equal(source->ops->control(source, 1, CONTROL_RESUME, 0.0), 0);
    for (u32 i = 0; i < 10; i++) {
        frame_release(next(source));
    }
    assert_int_equal(atomic_load(&looks), before);
    source->ops->destroy(source);
}

static void time_control(void **state)
{
    (void)state;
    SourceWorldOptions options = {.threads = 1, .paused = true, .speed = 1.0};
    Source *source = start(&options);
    assert_int_equal(source->ops->control(source, 1, CONTROL_STEP, 3.0), 0);
    for (u64 tick = 0; tick <= 3; tick++) {
        Frame *frame = next(source);
        assert_int_equal(frame->tick, tick);
        frame_release(frame);
    }
    clock_sleep_until_ns(clock_now_ns() + 60000000);
    assert_null(source->ops->take(source));
    assert_true(status_of(source).status.paused);
    static const f64 wrong[] = {0.0, -1.0, 17.0, 1e300};
    for (u32 i = 0; i < PL_COUNT(wrong); i++) {
        assert_int_equal(source->ops->control(source, 1, CONTROL_SPEED, wrong[i]), ERROR_RANGE);
    }
    f64 nan = strtod("nan", NULL);
    assert_int_equal(source->ops->control(source, 1, CONTROL_SPEED, nan), ERROR_RANGE);
    assert_int_equal(source->ops->control(source, 1, CONTROL_STEP, nan), ERROR_RANGE);
    assert_int_equal(source->ops->control(source, 1, CONTROL_SEEK, 1.0), ERROR_UNSUPPORTED);
    assert_int_equal(source->ops->control(source, 1, CONTROL_SPEED, 8.0), 0);
    assert_int_equal(source->ops->control(source, 1, CONTROL_RESUME, 0.0), 0);
    for (u64 tick = 4; tick < 40; tick++) {
        Frame *frame = next(source);
        assert_int_equal(frame->tick, tick);
        frame_release(frame);
    }
    assert_true(status_of(source).status.speed == 8.0f);
    assert_false(status_of(source).status.paused);
    source->ops->destroy(source);
}

/* While paused, moves of one hand replace each other and the queue is bounded. */
static void queue_is_bounded(void **state)
{
    (void)state;
    SourceWorldOptions options = {.threads = 1, .paused = true, .speed = 1.0};
    Source *source = start(&options);
    Input grab = {.kind = INPUT_GRAB, .user = 1, .sequence = 1};
    assert_int_equal(source->ops->input(source, &grab, 1), 1);
    for (u32 i = 0; i < 3 * INPUTS_PER_TICK_MAX; i++) {
        Input move = {.kind = INPUT_MOVE, .user = 1, .sequence = 2 + i};
        assert_int_equal(source->ops->input(source, &move, 1), 1);
    }
    u32 taken = 0;
    for (u32 i = 0; i < 2 * INPUTS_PER_TICK_MAX; i++) {
        Input push = {.kind = INPUT_PUSH, .user = 2, .sequence = 1 + i};
        taken += source->ops->input(source, &push, 1);
    }
    assert_true(taken > INPUTS_UNACKED_MAX &&
                taken < INPUTS_PER_TICK_MAX / 4); /* its share, no more */
    /* Others flood as well: there is capacity for the next user, and for all releases. */
    u32 last = 0;
    for (u32 user = 3; user < 203; user++) {
        last = 0;
        for (u32 i = 0; i < INPUTS_PER_TICK_MAX; i++) {
            Input push = {.kind = INPUT_PUSH, .user = user, .sequence = 1 + i};
            last += source->ops->input(source, &push, 1);
        }
        taken += last;
    }
    assert_true(last > 0 && taken < INPUTS_PER_TICK_MAX);
    for (u32 user = 1; user < 503; user++) {
        Input release = {.kind = INPUT_RELEASE, .user = user, .sequence = 100000};
        assert_int_equal(source->ops->input(source, &release, 1), 1);
    }
    assert_int_equal(source->ops->control(source, 1, CONTROL_RESET, 0.0), 0); /* has its place */
    frame_release(next(source));
    frame_release(next(source));
    source->ops->destroy(source);
}

static void slow_world_gives_time_up(void **state)
{
    (void)state;
    atomic_store(&tick_cost_ns, 40000000);
    SourceWorldOptions options = {.threads = 1, .ticks_max = 12, .speed = 1.0};
    log_set_level(LOG_ERROR);
    Source *source = start(&options);
    bool slowed = false;
    for (Frame *frame = next(source); frame != NULL; frame = next(source)) {
        slowed |= status_of(source).status.slowed != 0;
        frame_release(frame);
    }
    atomic_store(&tick_cost_ns, 0);
    log_set_level(LOG_INFO);
    SourceStatus status = status_of(source);
    assert_true(slowed);
    assert_true(status.late_ticks > 0 && status.late_ticks <= 12);
    assert_true(status.status.tick_ms >= 30.0f);
    /* Twelve ticks of 40 ms that had 16.7 ms each: all is dropped but what may be recovered. */
    assert_true(status.dropped_s > 0.1);
    SourceTimes times;
    source->ops->times(source, &times);
    assert_int_equal(times.tick.count, 12);
    assert_true(times.tick.sum >= 12 * 0.04);
    f64 sum = 0.0;
    for (u32 i = 0; i < TICK_PHASES; i++) {
        assert_int_equal(times.phases[i].count, 12);
        sum += times.phases[i].sum;
    }
    assert_true(times.phases[TICK_INPUTS].sum >= 12 * 0.04); /* where the stand-in sleeps */
    assert_true(sum <= times.tick.sum + 1e-9);
    source->ops->destroy(source);
}

static void make_recording(const char *path)
{
    SourceWorldOptions options = {
        .threads = 1, .ticks_max = 100, .fast = true, .speed = 1.0, .record_path = path};
    Source *source = start(&options);
    u32 sequence = 0;
    for (Frame *frame = next(source); frame != NULL; frame = next(source)) {
        sequence++;
        Input inputs[2] = {{.kind = INPUT_PUSH, .user = 1, .sequence = sequence},
                           {.kind = INPUT_MOVE, .user = 2, .sequence = sequence}};
        source->ops->input(source, inputs, 2);
        if (frame->tick == 10) {
            source->ops->control(source, 5, CONTROL_RESET, 0.0);
        }
        frame_release(frame);
    }
    source->ops->destroy(source);
}

static void recording_verifies(void **state)
{
    (void)state;
    char path[] = "/tmp/plenum-source-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    unlink(path); /* the writer makes it */
    u32 resets = atomic_load(&resets_applied);
    make_recording(path);
    assert_int_equal(atomic_load(&resets_applied), resets + 1);
    ErrorText error = {0};
    RecordingReader *reader = recording_reader_create(path, &error);
    assert_non_null(reader);
    assert_int_equal(recording_reader_info(reader)->last_tick, 100);
    assert_true(recording_reader_info(reader)->inputs > 10);
    recording_reader_destroy(reader);
    assert_int_equal(verify_recording(path, NULL, 2, &error), EXIT_OK);
    assert_int_equal(atomic_load(&resets_applied), resets + 2); /* the reset is in the log */
    atomic_store(&spoiled_tick, 57);
    assert_int_equal(verify_recording(path, NULL, 1, &error), EXIT_CHECK_FAILED);
    atomic_store(&spoiled_tick, 0);
    unlink(path);
    assert_int_equal(verify_recording(path, NULL, 1, &error), EXIT_INPUT);
}

/* A world too large for the memory to take it back is not saved in each tick for nothing. */
static void images_that_do_not_fit(void **state)
{
    (void)state;
    SourceWorldOptions options = {.threads = 1,
                                  .ticks_max = 300,
                                  .fast = true,
                                  .speed = 1.0,
                                  .back_s = 60,
                                  .back_bytes_max = 1 << 20};
    atomic_store(&images, 0);
    Source *source = start(&options);
    assert_int_equal(drain(source), 301);
    assert_int_equal(atomic_load(&images), 1);
    assert_true(status_of(source).status.back_s == 0.0f);
    source->ops->destroy(source);
}

static void creation_errors_say_why(void **state)
{
    (void)state;
    ErrorText error = {0};
    SourceWorldOptions options = {.threads = 1, .speed = 1.0, .probe = "nonsense"};
    assert_null(source_world_create(SCENE, &options, &error));
    assert_non_null(strstr(error.text, "nonsense"));
    options.probe = NULL;
    assert_null(source_world_create("/nonexistent.json", &options, &error));
    assert_non_null(strstr(error.text, "/nonexistent.json"));
    options.record_path = "/nonexistent/out.plrec";
    assert_null(source_world_create(SCENE, &options, &error));
    assert_non_null(strstr(error.text, "/nonexistent/out.plrec"));
    options.record_path = NULL;
    options.memory_max_bytes = 99 << 20;
    assert_null(source_world_create(SCENE, &options, &error));
    assert_non_null(strstr(error.text, "about 100 MiB of memory, the limit is 99"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fast_loses_no_frame),
        cmocka_unit_test(slow_host_loses_no_event),
        cmocka_unit_test(describe_follows_the_frame_taken),
        cmocka_unit_test(the_inside_is_for_those_who_ask),
        cmocka_unit_test(time_control),
        cmocka_unit_test(queue_is_bounded),
        cmocka_unit_test(slow_world_gives_time_up),
        cmocka_unit_test(recording_verifies),
        cmocka_unit_test(images_that_do_not_fit),
        cmocka_unit_test(creation_errors_say_why),
    };
    return cmocka_run_group_tests_name("source_world", tests, NULL, NULL);
}
