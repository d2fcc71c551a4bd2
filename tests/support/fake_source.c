/* fake_source.c: moving poses as a function of time. Frames are created in take(), on the host's
 * thread; its own thread only wakes the host. */
#include "tests/support/fake_source.h"
#include "server/author/scene_load.h"

#include "protocol/field/quantize.h"
#include "protocol/scene/scene.h"
#include "shared/base/check.h"
#include "shared/base/clock.h"
#include "tests/support/process.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct FakeSource {
    Source base;
    Scene *scene;
    FieldSet *fields;
    Entity entities[FAKE_SPHERES];
    u64 tick, start_ns;
    bool any;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards all below */
    bool started, stop, rewind, ended, paused;
    Input inputs[FAKE_INPUTS_MAX];
    u32 input_count, hold_count;
    const u8 *scene_bytes; /* NULL: the scene's own */
    u32 scene_byte_count;
    Input grabbed[64]; /* grabs and releases to announce with the next frame */
    void (*wake)(void *context);
    void *wake_context;
} FakeSource;

static void *wake_main(void *argument)
{
    FakeSource *s = argument;
    for (;;) {
        clock_sleep_until_ns(clock_now_ns() + 8000000);
        pthread_mutex_lock(&s->mutex);
        bool stop = s->stop;
        pthread_mutex_unlock(&s->mutex);
        if (stop) {
            return NULL;
        }
        s->wake(s->wake_context);
    }
}

static int fake_start(Source *source, void (*wake)(void *), void *context, ErrorText *error)
{
    FakeSource *s = (FakeSource *)source;
    PL_UNUSED(error);
    s->wake = wake;
    s->wake_context = context;
    s->start_ns = clock_now_ns();
    s->started = pthread_create(&s->thread, NULL, wake_main, s) == 0;
    return s->started ? 0 : ERROR_STATE;
}

static Frame *frame_make(FakeSource *s, u32 event_count)
{
    Frame *frame = frame_create(s->fields, s->tick, event_count);
    CHECK(frame != NULL);
    QPose *poses = frame_poses(frame, 0);
    for (u32 i = 0; i < FAKE_SPHERES; i++) {
        f32 angle = (f32)s->tick / 60.0f + (f32)i;
        f32 moves = i % 2 == 0 ? 0.0f : 1.0f; /* every other one is at rest */
        Vec3 at = vec3((f32)i + moves * cosf(angle), 1.0f, moves * sinf(angle));
        quantize_position(&s->fields->fields[0], at, poses[i].position);
        poses[i].rotation = quantize_rotation(quat_identity());
        poses[i].flags = POSE_LIVE | POSE_AWAKE;
        poses[i].generation = 1;
    }
    return frame;
}

static Frame *fake_take(Source *source)
{
    FakeSource *s = (FakeSource *)source;
    pthread_mutex_lock(&s->mutex);
    if (s->rewind) {
        s->rewind = false;
        s->any = false;
        s->tick = 0;
        s->start_ns = clock_now_ns();
    }
    u64 due = (clock_now_ns() - s->start_ns) * 60 / 1000000000ull;
    Frame *frame = NULL;
    if (!s->any || (s->tick < due && !s->paused)) {
        s->tick += s->any;
        s->any = true;
        frame = frame_make(s, s->hold_count);
        for (u32 i = 0; i < s->hold_count; i++) {
            const Input *hold = &s->grabbed[i];
            frame->events[i].kind = EVENT_GRAB;
            frame->events[i].user = hold->user;
            frame->events[i].sequence = hold->sequence;
            frame->events[i].a = hold->kind == INPUT_GRAB ? hold->entity : 0;
            frame->events[i].position = hold->local;
        }
        s->hold_count = 0;
    }
    pthread_mutex_unlock(&s->mutex);
    return frame;
}

static void fake_describe(Source *source, MessageWorld *out)
{
    FakeSource *s = (FakeSource *)source;
    memset(out, 0, sizeof *out);
    out->tick = s->tick;
    pthread_mutex_lock(&s->mutex);
    out->scene = s->scene_bytes != NULL ? s->scene_bytes : s->scene->bytes;
    out->scene_bytes = s->scene_bytes != NULL ? s->scene_byte_count : s->scene->byte_count;
    pthread_mutex_unlock(&s->mutex);
    out->fields = s->fields->fields;
    out->field_count = s->fields->count;
    out->entities = s->entities;
    out->entity_count = FAKE_SPHERES;
}

static u32 fake_input(Source *source, const Input *inputs, u32 count)
{
    FakeSource *s = (FakeSource *)source;
    pthread_mutex_lock(&s->mutex);
    for (u32 i = 0; i < count; i++) {
        if (s->input_count < FAKE_INPUTS_MAX) {
            s->inputs[s->input_count++] = inputs[i];
        }
        bool grabbed = inputs[i].kind == INPUT_GRAB || inputs[i].kind == INPUT_RELEASE;
        if (grabbed && s->hold_count < PL_COUNT(s->grabbed)) {
            s->grabbed[s->hold_count++] = inputs[i];
        }
    }
    pthread_mutex_unlock(&s->mutex);
    return count;
}

static int fake_control(Source *source, u32 user, u32 kind, f64 value)
{
    FakeSource *s = (FakeSource *)source;
    PL_UNUSED(user);
    PL_UNUSED(value);
    pthread_mutex_lock(&s->mutex);
    s->paused = kind == CONTROL_PAUSE || (kind != CONTROL_RESUME && s->paused);
    pthread_mutex_unlock(&s->mutex);
    return kind == CONTROL_SEEK ? ERROR_UNSUPPORTED : 0;
}

static void fake_status(Source *source, SourceStatus *out)
{
    FakeSource *s = (FakeSource *)source;
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&s->mutex);
    out->tick = s->tick;
    out->status.speed = 1.0f;
    out->status.tick_ms = 0.1f;
    out->status.paused = s->paused;
    out->finished = s->ended;
    pthread_mutex_unlock(&s->mutex);
}

static void fake_destroy(Source *source)
{
    FakeSource *s = (FakeSource *)source;
    if (s->started) {
        pthread_mutex_lock(&s->mutex);
        s->stop = true;
        pthread_mutex_unlock(&s->mutex);
        pthread_join(s->thread, NULL);
    }
    scene_destroy(s->scene);
    field_set_release(s->fields);
    pthread_mutex_destroy(&s->mutex);
    free(s);
}

Source *fake_source_create(void)
{
    static const SourceOps ops = {.destroy = fake_destroy,
                                  .start = fake_start,
                                  .take = fake_take,
                                  .describe = fake_describe,
                                  .input = fake_input,
                                  .control = fake_control,
                                  .status = fake_status};
    FakeSource *s = calloc(1, sizeof *s);
    ErrorText error = {0};
    FieldDesc field = {.kind = FIELD_POSES,
                       .channels = 1,
                       .name = "bodies",
                       .capacity = FAKE_SPHERES,
                       .quantum = 1.0f / 512.0f};
    CHECK(s != NULL);
    s->base.ops = &ops;
    s->scene = scene_load(source_path("shared/scenes/empty.json"), &error);
    s->fields = field_set_create(&field, 1);
    CHECK(s->scene != NULL && s->fields != NULL);
    for (u32 i = 0; i < FAKE_SPHERES; i++) {
        Entity *entity = &s->entities[i];
        entity->id = i + 1;
        snprintf(entity->name, sizeof entity->name, "sphere-%u", i);
        entity->movable = 1;
        entity->generation = 1;
        entity->first = i;
        entity->count = 1;
        entity->mass_kg = 1.0f;
        entity->appearance.kind = APPEARANCE_SHAPE;
        entity->appearance.color[3] = 1.0f;
        entity->appearance.shape.kind = SHAPE_SPHERE;
        entity->appearance.shape.radius = 0.4f;
    }
    pthread_mutex_init(&s->mutex, NULL);
    return &s->base;
}

void fake_source_scene(Source *source, const u8 *bytes, u32 byte_count)
{
    FakeSource *s = (FakeSource *)source;
    pthread_mutex_lock(&s->mutex);
    s->scene_bytes = bytes;
    s->scene_byte_count = byte_count;
    pthread_mutex_unlock(&s->mutex);
}

u32 fake_source_inputs(Source *source, Input *inputs, u32 max)
{
    FakeSource *s = (FakeSource *)source;
    pthread_mutex_lock(&s->mutex);
    u32 count = u32_min(s->input_count, max);
    memcpy(inputs, s->inputs, count * sizeof *inputs);
    pthread_mutex_unlock(&s->mutex);
    return count;
}

void fake_source_rewind(Source *source)
{
    FakeSource *s = (FakeSource *)source;
    pthread_mutex_lock(&s->mutex);
    s->rewind = true;
    pthread_mutex_unlock(&s->mutex);
}

void fake_source_end(Source *source)
{
    FakeSource *s = (FakeSource *)source;
    pthread_mutex_lock(&s->mutex);
    s->ended = true;
    pthread_mutex_unlock(&s->mutex);
}
