/*
 * source_recording.c: a recording as a source: all clients watch together; operators pause, seek,
 * step, loop and change speed and direction. Frames are decoded and paced on a separate thread.
 *
 * Stream and recording have different clocks: ticks of the stream always ascend, by as much as the
 * recording moves, and a jump counts as one. So a seek is only another frame of the same stream,
 * delta-coded like any other, and clients play backwards exactly as they play forwards. The status
 * tells which recorded tick a stream tick shows (MessageStatus.play).
 */
#include "server/host/branch.h"
#include "server/host/frame_merge.h"
#include "server/host/frame_queue.h"
#include "server/host/probe_print.h"
#include "server/host/source.h"
#include "server/host/survey.h"
#include "server/host/tape.h"

#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/thread.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NS_PER_S = 1000000000,
    LATE_NS_MAX = NS_PER_S / 4, /* if later than this, playback continues from now */
    FRAMES_PER_S_MAX = 240,     /* faster than this, frames are left out */
    STEPS_MAX = 3600,
    GAP_S = 2,                  /* longer gaps in the recording are jumps */
    AGAIN_BYTES_MAX = 64 << 20, /* bytes of frames kept for a user who left the common time */
};

#define SPEED_MIN 0.05
#define SPEED_MAX 16.0

typedef struct RecordingSource {
    Source source;
    Tape *tape; /* owned by the thread once it runs; NULL: the thread opens it */
    bool again; /* made by source_again: the head is borrowed. Head and info are constant */
    RecordingHead head;
    RecordingInfo info;
    SourceWorldOptions options;
    FieldSet *fields;
    ProbePrint probes;
    void (*wake)(void *context);
    void *wake_context;
    pthread_t thread;
    bool running;

    pthread_mutex_t mutex; /* guards everything below */
    pthread_cond_t changed;
    FrameQueue made;
    bool quit, ended, paused, finished, at_end; /* ended: the thread is done */
    bool begun;                                 /* a frame was produced */
    Error error;
    f64 speed;                 /* negative: backwards */
    i64 steps;                 /* requested single steps, in either direction */
    bool seek;                 /* a seek is requested ... */
    u64 seek_tick;             /* ... to this tick */
    u64 loop_first, loop_last; /* played again and again; equal: none */
    u64 made_tick;             /* newest frame produced, on the stream's clock */
    u64 at_tick;               /* the same on the recording's */
    PlaySegment segment;       /* since the last jump or turn */
    u64 played;
    u64 late_ticks;

    EntityList sent; /* owned by the thread: entities after the stream's frames so far */

    char *path;
    Survey *survey;      /* host's */
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
    ORDER_MOVE
} PlayOrder;

/* Where to go next. */
typedef struct PlayMove {
    PlayOrder order;
    bool jump; /* not along the recording */
    bool backward;
    u64 tick; /* jump: there; otherwise at least as far as this */
} PlayMove;

static bool loops(const RecordingSource *s)
{
    return s->loop_last > s->loop_first;
}

/* The next move in a direction, by `stride` ticks: around at the end of a loop. */
static PlayMove move_along(const RecordingSource *s, bool backward, u64 stride)
{
    PlayMove move = {.order = ORDER_MOVE, .backward = backward};
    if (loops(s) && !backward && s->at_tick >= s->loop_last) {
        return (PlayMove){ORDER_MOVE, true, backward, s->loop_first};
    }
    if (loops(s) && backward && s->at_tick <= s->loop_first) {
        return (PlayMove){ORDER_MOVE, true, backward, s->loop_last};
    }
    u64 end = loops(s) ? (backward ? s->loop_first : s->loop_last)
                       : (backward ? s->info.first_tick : s->info.last_tick);
    if (backward) {
        /* From outside a loop the way back leads to the recording's start. */
        end = s->at_tick <= end ? s->info.first_tick : end;
        move.tick = s->at_tick > end + stride ? s->at_tick - stride : end;
    } else {
        end = s->at_tick >= end ? s->info.last_tick : end;
        move.tick = s->at_tick + stride < end ? s->at_tick + stride : end;
    }
    return move;
}

/* A single step if one is requested; otherwise by the speed. */
static PlayMove next_move(RecordingSource *s, u64 stride)
{
    if (s->steps != 0) {
        bool backward = s->steps < 0;
        s->steps += backward ? 1 : -1;
        return move_along(s, backward, 1);
    }
    return move_along(s, s->speed < 0.0, stride);
}

/* Waits until the queue has space for a frame and the frame is due. base: when time last began to
 * run, and with which stream tick. */
static PlayMove wait_for_move(RecordingSource *s, u64 *base_ns, u64 *base_tick)
{
    PlayMove move = {.order = ORDER_QUIT};
    pthread_mutex_lock(&s->mutex);
    while (!s->quit) {
        if (s->seek) {
            s->seek = false;
            s->at_end = false;
            *base_ns = 0;
            move = (PlayMove){ORDER_SEEK, true, s->speed < 0.0, s->seek_tick};
            break;
        }
        bool still = (s->paused && s->steps == 0) || s->at_end || s->finished;
        if (still || frame_queue_full(&s->made)) {
            *base_ns = 0; /* time stands still meanwhile */
            pthread_cond_wait(&s->changed, &s->mutex);
            continue;
        }
        f64 rate = s->head.tick_rate * fabs(s->speed);
        u64 stride = rate > FRAMES_PER_S_MAX ? (u64)ceil(rate / FRAMES_PER_S_MAX) : 1;
        if (s->options.fast || s->steps != 0) {
            move = next_move(s, 1);
            break;
        }
        u64 now_ns = clock_now_ns();
        if (*base_ns == 0) {
            *base_ns = now_ns;
            *base_tick = s->made_tick;
        }
        f64 ahead_s = (f64)(s->made_tick + stride - *base_tick) / rate;
        u64 due_ns = *base_ns + (u64)(ahead_s * NS_PER_S);
        if (now_ns >= due_ns) {
            if (now_ns - due_ns > LATE_NS_MAX) {
                s->late_ticks++;
                *base_ns = 0;
            }
            move = next_move(s, stride);
            break;
        }
        struct timespec until = {(time_t)(due_ns / NS_PER_S), (long)(due_ns % NS_PER_S)};
        pthread_cond_timedwait(&s->changed, &s->mutex, &until);
    }
    pthread_mutex_unlock(&s->mutex);
    return move;
}

/* ---- frames of the stream ---- */

/* A recorded frame at a tick of the stream, with only those events that change the entities from
 * the stream's state to the current one. NULL: out of memory or unreadable. */
static Frame *frame_elsewhere(RecordingSource *s, const Frame *recorded, u64 stream_tick)
{
    const EntityList *now = &s->sent;
    u64 from = s->begun ? s->at_tick : 0; /* `sent` is then from before the first tick */
    if (tape_entities_change(s->tape, u64_min(from, recorded->tick),
                             u64_max(from, recorded->tick)) &&
        tape_entities(s->tape, recorded->tick, &now) != 0) {
        return NULL;
    }
    u32 count = now != &s->sent ? entity_list_changes(&s->sent, now, NULL) : 0;
    Frame *frame = frame_create(recorded->fields, stream_tick, count);
    if (frame != NULL) {
        memcpy(frame->data, recorded->data, recorded->fields->frame_bytes);
        frame->world_hash = recorded->world_hash;
        frame->world_time_s = recorded->world_time_s;
        if (count > 0) {
            (void)entity_list_changes(&s->sent, now, frame->events);
        }
    }
    return frame;
}

/* The next frame along the recording, with its own events. */
static Frame *frame_following(const Frame *recorded, u64 stream_tick)
{
    Frame *frame = frame_create(recorded->fields, stream_tick, recorded->event_count);
    if (frame != NULL) {
        memcpy(frame->data, recorded->data, recorded->fields->frame_bytes);
        frame->world_hash = recorded->world_hash;
        frame->world_time_s = recorded->world_time_s;
        if (recorded->event_count > 0) {
            memcpy(frame->events, recorded->events,
                   recorded->event_count * sizeof *recorded->events);
        }
    }
    return frame;
}

typedef struct RecordedProbes {
    const RecordingSource *source;
    const Frame *frame;
} RecordedProbes;

static bool probe_value(const void *context, u32 probe, f64 *value)
{
    const RecordedProbes *recorded = context;
    const ScalarInfo *info = &recorded->source->head.world.probes[probe];
    const FieldSet *fields = recorded->source->fields;
    if (info->field >= fields->count || fields->fields[info->field].kind != FIELD_SCALARS ||
        info->first >= fields->fields[info->field].capacity) {
        return false;
    }
    f32 scalar;
    memcpy(&scalar, (const f32 *)frame_field(recorded->frame, info->field) + info->first,
           sizeof scalar);
    *value = (f64)scalar;
    return true;
}

static void print_probe(const RecordingSource *s, const Frame *frame)
{
    const RecordedProbes recorded = {s, frame};
    if (frame->tick != 0) {
        probe_print_tick(&s->probes, frame->tick, probe_value, &recorded);
    }
}

/* Frames that the host has not taken are obsolete after a jump, but their events are not. Called
 * with the mutex held. Returns the frame with it, or NULL: out of memory. */
static Frame *queue_supersede(RecordingSource *s, Frame *frame)
{
    Frame *all = NULL;
    while (s->made.count > 0) {
        Frame *old = frame_queue_pop(&s->made);
        all = all != NULL ? frame_merge(all, old) : old;
        if (all == NULL) {
            frame_release(frame);
            return NULL;
        }
    }
    return all != NULL ? frame_merge(all, frame) : frame;
}

/* at_tick: the recorded tick of the frame. */
static int hand_over(RecordingSource *s, Frame *frame, u64 at_tick, const PlayMove *move)
{
    (void)entity_list_frame(&s->sent, frame);
    u64 tick = frame->tick;
    pthread_mutex_lock(&s->mutex);
    if (move->order == ORDER_SEEK) {
        frame = queue_supersede(s, frame);
    }
    if (frame != NULL) {
        frame_queue_push(&s->made, frame);
    }
    i32 direction = move->backward ? -1 : 1;
    if (move->jump || direction != s->segment.direction) {
        s->segment = (PlaySegment){tick, at_tick, direction, 0};
    }
    s->begun = true;
    s->made_tick = tick;
    s->at_tick = at_tick;
    s->played++;
    s->finished = s->finished || (s->options.ticks_max != 0 && s->played > s->options.ticks_max);
    pthread_mutex_unlock(&s->mutex);
    s->wake(s->wake_context);
    return frame != NULL ? 0 : ERROR_MEMORY;
}

static void stop_at(RecordingSource *s, int result)
{
    pthread_mutex_lock(&s->mutex);
    s->at_end = true;
    s->paused = true;
    s->steps = 0;
    bool damaged = result != ERROR_NOT_FOUND;
    if (damaged) {
        s->error = result;
        log_error("recording: damaged after tick %" PRIu64 ": %s", s->at_tick, error_name(result));
    }
    s->finished = s->finished || s->options.fast || (damaged && !s->begun);
    pthread_mutex_unlock(&s->mutex);
    s->wake(s->wake_context);
}

/* Makes the frame of a move. 0, ERROR_NOT_FOUND at the recording's end, or another Error. */
static int play_move(RecordingSource *s, const PlayMove *move)
{
    Frame *recorded = NULL;
    bool first = !s->begun && move->order != ORDER_SEEK;
    if (!move->jump && !first && move->tick == s->at_tick) {
        return ERROR_NOT_FOUND;
    }
    int result = move->backward && !move->jump && !first
                     ? tape_before(s->tape, move->tick + 1, &recorded)
                     : tape_at(s->tape, first ? s->info.first_tick : move->tick, &recorded);
    if (result != 0) {
        return result;
    }
    u64 at_tick = recorded->tick;
    u64 moved = at_tick > s->at_tick ? at_tick - s->at_tick : s->at_tick - at_tick;
    PlayMove made = *move;
    made.jump = move->jump || moved > (u64)GAP_S * s->head.tick_rate; /* it is not waited for */
    u64 stream_tick = s->begun ? s->made_tick + (made.jump ? 1 : u64_max(moved, 1)) : at_tick;
    bool follow = first || (!move->jump && !move->backward && at_tick == s->at_tick + 1);
    Frame *frame =
        follow ? frame_following(recorded, stream_tick) : frame_elsewhere(s, recorded, stream_tick);
    print_probe(s, recorded);
    frame_release(recorded);
    return frame != NULL ? hand_over(s, frame, at_tick, &made) : ERROR_MEMORY;
}

/* The file may be another one meanwhile. */
static bool same_recording(const RecordingSource *s, const Tape *tape)
{
    const MessageWorld *a = &s->head.world, *b = &tape_head(tape)->world;
    return tape_info(tape)->first_tick == s->info.first_tick &&
           tape_info(tape)->last_tick == s->info.last_tick && a->field_count == b->field_count &&
           memcmp(a->fields, b->fields, a->field_count * sizeof a->fields[0]) == 0 &&
           a->scene_bytes == b->scene_bytes && memcmp(a->scene, b->scene, a->scene_bytes) == 0;
}

/* On the thread, since an index may be long. 0 or a negative Error. */
static int open_again(RecordingSource *s)
{
    ErrorText error = {0};
    s->tape = tape_create(s->path, &error);
    if (s->tape == NULL) {
        log_error("recording: cannot be opened again: %s", error.text);
        return ERROR_FORMAT; /* ERROR_NOT_FOUND would be its end */
    }
    tape_keep(s->tape, AGAIN_BYTES_MAX);
    return same_recording(s, s->tape) ? 0 : ERROR_FORMAT;
}

static void *play(void *context)
{
    RecordingSource *s = context;
    u64 base_ns = 0, base_tick = 0;
    thread_name("plenum-play");
    int opened = s->tape != NULL ? 0 : open_again(s);
    if (opened != 0) {
        stop_at(s, opened);
    }
    for (;;) {
        PlayMove move = {.order = ORDER_QUIT};
        if (opened == 0) {
            move = wait_for_move(s, &base_ns, &base_tick);
        }
        if (move.order == ORDER_QUIT) {
            pthread_mutex_lock(&s->mutex);
            s->ended = true;
            pthread_mutex_unlock(&s->mutex);
            return NULL;
        }
        int result = play_move(s, &move);
        if (result != 0) {
            stop_at(s, result);
        }
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
    s->steps = s->seek ? 0 : 1; /* a seek shows one too */
    if (pthread_create(&s->thread, NULL, play, s) != 0) {
        return error_set(error, ERROR_MEMORY, "cannot start the playback thread");
    }
    s->running = true;
    /* Without one there are no marks; a second source uses those of the first. */
    s->survey = s->again ? NULL : survey_create(s->path, wake, context);
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

/* The recorded tick at a world time, within the recording; false: no such time. */
static bool tick_of(const RecordingSource *s, f64 time_s, u64 *tick)
{
    f64 wanted = time_s * s->head.tick_rate;
    if (!(wanted >= 0.0 && wanted < 1e15)) {
        return false;
    }
    *tick = u64_min(u64_max((u64)(wanted + 0.5), s->info.first_tick), s->info.last_tick);
    return true;
}

static int seek_to(RecordingSource *s, f64 time_s)
{
    u64 tick;
    if (!tick_of(s, time_s, &tick)) {
        return ERROR_RANGE;
    }
    s->seek = true;
    s->seek_tick = tick;
    return 0;
}

static void seek_end(RecordingSource *s, bool last)
{
    s->seek = true;
    s->seek_tick = last ? s->info.last_tick : s->info.first_tick;
}

static int set_speed(RecordingSource *s, f64 speed)
{
    if (!(fabs(speed) >= SPEED_MIN && fabs(speed) <= SPEED_MAX)) {
        return ERROR_RANGE;
    }
    if (s->at_end && (speed < 0.0) != (s->speed < 0.0)) {
        s->at_end = false; /* away from the end */
    }
    s->speed = speed;
    return 0;
}

static int step_by(RecordingSource *s, f64 value)
{
    if (!(fabs(value) >= 1.0 && fabs(value) <= STEPS_MAX)) {
        return ERROR_RANGE;
    }
    i64 steps = s->steps + (i64)value;
    s->paused = true;
    s->at_end = false;
    s->steps = steps > STEPS_MAX ? STEPS_MAX : steps < -STEPS_MAX ? -STEPS_MAX : steps;
    return 0;
}

static int apply_control(RecordingSource *s, u32 kind, f64 value)
{
    switch (kind) {
    case CONTROL_PAUSE:
        s->paused = true;
        s->steps = 0;
        return 0;
    case CONTROL_RESUME:
        s->paused = false;
        s->steps = 0;
        if (s->at_end) { /* begins again, at the other end if time runs backwards */
            seek_end(s, s->speed < 0.0);
        }
        return 0;
    case CONTROL_STEP:
        return step_by(s, value);
    case CONTROL_SPEED:
        return set_speed(s, value);
    case CONTROL_SEEK:
        return seek_to(s, value);
    case CONTROL_LOOP_FIRST:
        return tick_of(s, value, &s->loop_first) ? 0 : ERROR_RANGE;
    case CONTROL_LOOP_LAST:
        return tick_of(s, value, &s->loop_last) ? 0 : ERROR_RANGE;
    case CONTROL_RESET:
        seek_end(s, false);
        return 0;
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
    out->status.play = s->segment;
    if (loops(s)) {
        out->status.loop_first = s->loop_first;
        out->status.loop_last = s->loop_last;
    }
    out->tick = s->made_tick;
    out->finished = s->finished && s->made.count == 0;
    out->error = s->error;
    out->late_ticks = s->late_ticks;
    pthread_mutex_unlock(&s->mutex);
}

static u32 source_survey(Source *source, MessageSurvey *out)
{
    RecordingSource *s = from(source);
    return s->survey != NULL ? survey_get(s->survey, out) : 0;
}

static int source_note(Source *source, const RecordingNote *note, ErrorText *error)
{
    RecordingSource *s = from(source);
    RecordingNote kept = *note;
    pthread_mutex_lock(&s->mutex);
    kept.tick = note->tick != 0 ? note->tick : s->at_tick;
    pthread_mutex_unlock(&s->mutex);
    if (kept.tick < s->info.first_tick || kept.tick > s->info.last_tick) {
        return error_set(error, ERROR_RANGE, "the recording has no tick %" PRIu64, kept.tick);
    }
    int result = recording_append_note(s->path, &kept, error);
    if (s->survey != NULL) {
        survey_add(s->survey, &kept); /* for this session, even if the file cannot be changed */
    }
    return result;
}

static bool source_quit(Source *source)
{
    RecordingSource *s = from(source);
    pthread_mutex_lock(&s->mutex);
    s->quit = true;
    pthread_cond_signal(&s->changed);
    bool ended = s->ended || !s->running;
    pthread_mutex_unlock(&s->mutex);
    return ended;
}

static Source *source_again(Source *source, ErrorText *error);

static void source_destroy(Source *source)
{
    RecordingSource *s = from(source);
    survey_destroy(s->survey);
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
    entity_list_finish(&s->sent);
    field_set_release(s->fields);
    tape_destroy(s->tape);
    free(s->path);
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
    .survey = source_survey,
    .note = source_note,
    .again = source_again,
    .quit = source_quit,
};

static int find_probe(RecordingSource *s, ErrorText *error)
{
    return probe_print_init(&s->probes, s->options.probe, s->options.probe_csv, &s->head.world,
                            s->head.tick_rate, error);
}

/* Where playing begins. */
static int seek_start(RecordingSource *s, ErrorText *error)
{
    if (s->options.at == NULL) {
        return ERROR_OK;
    }
    s->seek = true;
    return branch_tick(s->options.at, s->head.tick_rate, &s->info, &s->seek_tick, error);
}

/* Common part of both ways to create a source; without a tape. */
static RecordingSource *recording_create(const char *path, const RecordingHead *head,
                                         const RecordingInfo *info,
                                         const SourceWorldOptions *options, ErrorText *error)
{
    RecordingSource *s = calloc(1, sizeof *s);
    if (s == NULL) {
        error_set(error, ERROR_MEMORY, "%s: out of memory", path);
        return NULL;
    }
    s->source.ops = &operations;
    s->path = strdup(path);
    s->head = *head;
    s->info = *info;
    s->options = *options;
    s->paused = options->paused;
    s->speed = options->speed > 0.0 ? options->speed : 1.0;
    s->at_tick = s->taken_tick = s->info.first_tick;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    const MessageWorld *world = &s->head.world;
    s->fields = field_set_create(world->fields, world->field_count);
    if (s->fields == NULL || s->path == NULL ||
        entity_list_set(&s->entities, s->fields, world->entities, world->entity_count) != 0 ||
        entity_list_set(&s->sent, s->fields, world->entities, world->entity_count) != 0) {
        error_set(error, ERROR_FORMAT, "%s: its entities do not fit its fields", path);
        source_destroy(&s->source);
        return NULL;
    }
    return s;
}

static Source *source_again(Source *source, ErrorText *error)
{
    RecordingSource *s = from(source);
    SourceWorldOptions options = {.speed = 1.0};
    RecordingSource *other = recording_create(s->path, &s->head, &s->info, &options, error);
    if (other == NULL) {
        return NULL;
    }
    pthread_mutex_lock(&s->mutex);
    other->again = true;
    other->paused = s->paused;
    other->speed = s->speed;
    other->seek = true;
    other->seek_tick = s->at_tick;
    pthread_mutex_unlock(&s->mutex);
    return &other->source;
}

Source *source_recording_create(const char *path, const SourceWorldOptions *options,
                                ErrorText *error)
{
    Tape *tape = tape_create(path, error);
    if (tape == NULL) {
        return NULL;
    }
    RecordingSource *s = recording_create(path, tape_head(tape), tape_info(tape), options, error);
    if (s == NULL) {
        tape_destroy(tape);
        return NULL;
    }
    s->tape = tape;
    if (seek_start(s, error) != 0 || (options->probe != NULL && find_probe(s, error) != 0)) {
        source_destroy(&s->source);
        return NULL;
    }
    return &s->source;
}
