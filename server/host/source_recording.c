/*
 * source_recording.c: a recording as a source: all clients watch together; operators pause, seek,
 * step and change the speed. Frames are decoded and paced on a separate thread.
 *
 * After a seek in either direction the next frame carries a RESET and a SPAWN of every entity alive
 * at that tick.
 */
#include "protocol/record/recording.h"
#include "protocol/stream/entity_list.h"
#include "server/host/frame_queue.h"
#include "server/host/source.h"

#include "shared/base/clock.h"
#include "shared/base/log.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NS_PER_S = 1000000000,
    LATE_NS_MAX = NS_PER_S / 4, /* if later than this, playback continues from now */
};

typedef struct RecordingSource {
    Source source;
    RecordingReader *reader; /* owned by the thread once it runs; head and info are constant */
    RecordingHead head;
    RecordingInfo info;
    SourceWorldOptions options;
    FieldSet *fields;
    const ScalarInfo *probe; /* of --probe, or NULL */
    void (*wake)(void *context);
    void *wake_context;
    pthread_t thread;
    bool running;

    pthread_mutex_t mutex; /* guards everything below */
    pthread_cond_t changed;
    FrameQueue made;
    bool quit, paused, finished, at_end;
    Error error;
    f64 speed;
    u64 steps;     /* requested single steps */
    bool seek;     /* a seek is requested ... */
    u64 seek_tick; /* ... to this tick */
    u64 made_tick; /* newest frame produced */
    u64 late_ticks;

    EntityList entities; /* host's thread: as of the frame taken last */
    u64 taken_tick;
} RecordingSource;

static RecordingSource *from(Source *source)
{
    return (RecordingSource *)source;
}

/* ---- the playing thread ---- */

/* The thread's next action, decided under the lock. */
typedef enum PlayOrder {
    ORDER_QUIT,
    ORDER_SEEK,
    ORDER_NEXT
} PlayOrder;

/* Waits until the queue has space for a frame and the frame is due. */
static PlayOrder wait_for_order(RecordingSource *s, u64 *base_ns, u64 *base_tick, u64 *seek_tick)
{
    pthread_mutex_lock(&s->mutex);
    for (;;) {
        if (s->quit) {
            pthread_mutex_unlock(&s->mutex);
            return ORDER_QUIT;
        }
        if (s->seek) {
            s->seek = false;
            s->at_end = false;
            *seek_tick = s->seek_tick;
            *base_ns = 0;
            pthread_mutex_unlock(&s->mutex);
            return ORDER_SEEK;
        }
        bool still = (s->paused && s->steps == 0) || s->at_end || s->finished;
        if (still || frame_queue_full(&s->made)) {
            *base_ns = 0; /* time stands still meanwhile */
            pthread_cond_wait(&s->changed, &s->mutex);
            continue;
        }
        if (s->options.fast || s->steps > 0) {
            s->steps -= s->steps > 0;
            break;
        }
        u64 now_ns = clock_now_ns();
        if (*base_ns == 0) {
            *base_ns = now_ns;
            *base_tick = s->made_tick;
        }
        f64 ahead_s = (f64)(s->made_tick + 1 - *base_tick) / (s->head.tick_rate * s->speed);
        u64 due_ns = *base_ns + (u64)(ahead_s * NS_PER_S);
        if (now_ns >= due_ns) {
            if (now_ns - due_ns > LATE_NS_MAX) {
                s->late_ticks++;
                *base_ns = 0;
            }
            break;
        }
        struct timespec until = {(time_t)(due_ns / NS_PER_S), (long)(due_ns % NS_PER_S)};
        pthread_cond_timedwait(&s->changed, &s->mutex, &until);
    }
    pthread_mutex_unlock(&s->mutex);
    return ORDER_NEXT;
}

/* The first frame after a seek, with a reset and all entities before its own events. */
static Frame *frame_after_seek(const RecordingSource *s, Frame *frame)
{
    Entity *entities = malloc(ENTITIES_MAX * sizeof *entities);
    if (entities == NULL) {
        return frame;
    }
    u32 count = recording_reader_entities(s->reader, entities, ENTITIES_MAX);
    Frame *told = frame_create(frame->fields, frame->tick, count + 1 + frame->event_count);
    if (told != NULL) {
        memcpy(told->data, frame->data, frame->fields->frame_bytes);
        told->world_hash = frame->world_hash;
        told->world_time_s = frame->world_time_s;
        told->events[0].kind = EVENT_RESET;
        for (u32 i = 0; i < count; i++) {
            told->events[1 + i].kind = EVENT_SPAWN;
            told->events[1 + i].entity = entities[i];
        }
        /* The list already includes this frame: its own entity events would be duplicates. */
        u32 used = count + 1;
        for (u32 i = 0; i < frame->event_count; i++) {
            u32 kind = frame->events[i].kind;
            if (kind != EVENT_SPAWN && kind != EVENT_DESPAWN && kind != EVENT_RESET) {
                told->events[used++] = frame->events[i];
            }
        }
        told->event_count = used;
        frame_release(frame);
        frame = told;
    }
    free(entities);
    return frame;
}

static void print_probe(const RecordingSource *s, const Frame *frame)
{
    if (s->probe == NULL || frame->tick == 0 || frame->tick % s->head.tick_rate != 0) {
        return;
    }
    f32 value;
    const u8 *scalars = frame_field(frame, s->probe->field);
    memcpy(&value, scalars + s->probe->first * sizeof value, sizeof value);
    printf("probe %" PRIu64 " %s %.9g\n", frame->tick, s->probe->name, (f64)value);
    fflush(stdout);
}

static void hand_over(RecordingSource *s, Frame *frame, bool after_seek)
{
    pthread_mutex_lock(&s->mutex);
    if (after_seek) { /* frames from before the seek are obsolete */
        frame_queue_clear(&s->made);
    }
    frame_queue_push(&s->made, frame);
    s->made_tick = frame->tick;
    u64 played = frame->tick - s->info.first_tick;
    s->finished = s->finished || (s->options.ticks_max != 0 && played >= s->options.ticks_max);
    pthread_mutex_unlock(&s->mutex);
    s->wake(s->wake_context);
}

static void stop_at(RecordingSource *s, int result)
{
    pthread_mutex_lock(&s->mutex);
    s->at_end = true;
    s->paused = true;
    bool damaged = result != ERROR_NOT_FOUND;
    if (damaged) {
        s->error = result;
        log_error("recording: damaged after tick %" PRIu64 ": %s", s->made_tick,
                  error_name(result));
    }
    s->finished = s->finished || s->options.fast || (damaged && s->made_tick == 0);
    pthread_mutex_unlock(&s->mutex);
    s->wake(s->wake_context);
}

static void *play(void *context)
{
    RecordingSource *s = context;
    u64 base_ns = 0, base_tick = 0, seek_tick = 0;
    for (;;) {
        PlayOrder order = wait_for_order(s, &base_ns, &base_tick, &seek_tick);
        if (order == ORDER_QUIT) {
            return NULL;
        }
        int result = order == ORDER_SEEK ? recording_reader_seek(s->reader, seek_tick) : 0;
        Frame *frame = NULL;
        if (result == 0) {
            result = recording_reader_next(s->reader, &frame, NULL, NULL);
        }
        if (result != 0) {
            stop_at(s, result);
            continue;
        }
        if (order == ORDER_SEEK) {
            frame = frame_after_seek(s, frame);
        }
        print_probe(s, frame);
        hand_over(s, frame, order == ORDER_SEEK);
    }
}

/* ---- the host's side ---- */

static int source_start(Source *source, void (*wake)(void *context), void *context,
                        ErrorText *error)
{
    RecordingSource *s = from(source);
    s->wake = wake;
    s->wake_context = context;
    /* The first picture is shown even when playback starts paused. */
    s->steps = 1;
    if (pthread_create(&s->thread, NULL, play, s) != 0) {
        return error_set(error, ERROR_MEMORY, "cannot start the playback thread");
    }
    s->running = true;
    return 0;
}

static Frame *source_take(Source *source)
{
    RecordingSource *s = from(source);
    Frame *frame = frame_queue_take(&s->made, &s->mutex, &s->changed);
    if (frame != NULL) {
        s->taken_tick = frame->tick;
        (void)entity_list_frame(&s->entities, frame);
    }
    return frame;
}

static void source_describe(Source *source, MessageWorld *out)
{
    RecordingSource *s = from(source);
    *out = s->head.world;
    out->tick = s->taken_tick;
    out->entities = s->entities.items;
    out->entity_count = s->entities.count;
}

static u32 source_input(Source *source, const Input *inputs, u32 count)
{
    PL_UNUSED(source);
    PL_UNUSED(inputs);
    PL_UNUSED(count);
    return 0; /* a recording accepts no inputs */
}

static int seek_to(RecordingSource *s, f64 time_s)
{
    f64 tick = time_s * s->head.tick_rate;
    if (!(tick >= 0.0 && tick < 1e15)) {
        return ERROR_RANGE;
    }
    u64 wanted = (u64)(tick + 0.5);
    s->seek = true;
    s->seek_tick = u64_min(u64_max(wanted, s->info.first_tick), s->info.last_tick);
    return 0;
}

static int apply_control(RecordingSource *s, u32 kind, f64 value)
{
    switch (kind) {
    case CONTROL_PAUSE:
        s->paused = true;
        return 0;
    case CONTROL_RESUME:
        s->paused = false;
        /* Resuming at the end restarts playback. */
        return s->at_end ? seek_to(s, (f64)s->info.first_tick / s->head.tick_rate) : 0;
    case CONTROL_STEP:
        if (!(value >= 1.0 && value <= 1000.0)) {
            return ERROR_RANGE;
        }
        s->paused = true;
        s->steps += (u64)value;
        return 0;
    case CONTROL_SPEED:
        if (!(value >= 0.01 && value <= 16.0)) {
            return ERROR_RANGE;
        }
        s->speed = value;
        return 0;
    case CONTROL_SEEK:
        return seek_to(s, value);
    case CONTROL_RESET:
        return seek_to(s, (f64)s->info.first_tick / s->head.tick_rate);
    default:
        return ERROR_UNSUPPORTED;
    }
}

static int source_control(Source *source, u32 user, u32 kind, f64 value)
{
    PL_UNUSED(user);
    RecordingSource *s = from(source);
    pthread_mutex_lock(&s->mutex);
    int result = apply_control(s, kind, value);
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->mutex);
    return result;
}

static void source_status(Source *source, SourceStatus *out)
{
    RecordingSource *s = from(source);
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&s->mutex);
    out->status.paused = s->paused;
    out->status.replay = 1;
    out->status.seekable = 1;
    out->status.speed = (f32)s->speed;
    out->status.first_tick = s->info.first_tick;
    out->status.last_tick = s->info.last_tick;
    out->tick = s->made_tick;
    out->finished = s->finished && s->made.count == 0;
    out->error = s->error;
    out->late_ticks = s->late_ticks;
    pthread_mutex_unlock(&s->mutex);
}

static void source_destroy(Source *source)
{
    RecordingSource *s = from(source);
    if (s->running) {
        pthread_mutex_lock(&s->mutex);
        s->quit = true;
        pthread_cond_signal(&s->changed);
        pthread_mutex_unlock(&s->mutex);
        pthread_join(s->thread, NULL);
    }
    frame_queue_clear(&s->made);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->mutex);
    entity_list_finish(&s->entities);
    field_set_release(s->fields);
    recording_reader_destroy(s->reader);
    free(s);
}

static const SourceOps operations = {
    .destroy = source_destroy,
    .start = source_start,
    .take = source_take,
    .describe = source_describe,
    .input = source_input,
    .control = source_control,
    .status = source_status,
};

static int find_probe(RecordingSource *s, ErrorText *error)
{
    const MessageWorld *world = &s->head.world;
    for (u32 i = 0; i < world->probe_count; i++) {
        const ScalarInfo *probe = &world->probes[i];
        if (strcmp(probe->name, s->options.probe) == 0 && probe->field < s->fields->count &&
            s->fields->fields[probe->field].kind == FIELD_SCALARS &&
            probe->first < s->fields->fields[probe->field].capacity) {
            s->probe = probe;
            return 0;
        }
    }
    return error_set(error, ERROR_NOT_FOUND, "--probe: the recording has no probe \"%s\"",
                     s->options.probe);
}

Source *source_recording_create(const char *path, const SourceWorldOptions *options,
                                ErrorText *error)
{
    RecordingReader *reader = recording_reader_create(path, error);
    if (reader == NULL) {
        return NULL;
    }
    RecordingSource *s = calloc(1, sizeof *s);
    if (s == NULL) {
        recording_reader_destroy(reader);
        error_set(error, ERROR_MEMORY, "%s: out of memory", path);
        return NULL;
    }
    s->source.ops = &operations;
    s->reader = reader;
    s->head = *recording_reader_head(reader);
    s->info = *recording_reader_info(reader);
    s->options = *options;
    s->paused = options->paused;
    s->speed = options->speed > 0.0 ? options->speed : 1.0;
    s->made_tick = s->info.first_tick;
    s->taken_tick = s->info.first_tick;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    const MessageWorld *world = &s->head.world;
    s->fields = field_set_create(world->fields, world->field_count);
    if (s->fields == NULL ||
        entity_list_set(&s->entities, s->fields, world->entities, world->entity_count) != 0) {
        error_set(error, ERROR_FORMAT, "%s: its entities do not fit its fields", path);
    } else if (options->probe == NULL || find_probe(s, error) == 0) {
        return &s->source;
    }
    source_destroy(&s->source);
    return NULL;
}
