/*
 * source_broker.c: see source_broker.h. A thread takes messages from the broker and makes frames of
 * them (follow.h); it meets the host at one mutex. At the live end frames continue as they come;
 * those from a point in the past are paced by the clock. After a lost connection it reconnects, and
 * continues where it was.
 */
#include "server/host/source_broker.h"

#include "server/host/branch.h"
#include "server/host/follow.h"
#include "server/host/frame_merge.h"
#include "server/host/frame_queue.h"
#include "server/host/live_leaf.h"
#include "server/host/recorder.h"
#include "server/host/world_chain.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/thread.h"

#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    NS_PER_S = 1000000000,
    NS_PER_MS = 1000000,
    NEXT_MS = 100, /* the longest wait for a message, and for the end of the program */
    RETRY_MS = 500,
    WAIT_MS = 30000, /* for the first frame */
    QUIET_MS = 2000, /* without frames for this time the world counts as stopped */
    LATE_MS = 250,   /* larger delays are not caught up */
    DAMAGED_SAID_EACH = 1000,
    LIVE_EACH_MAX = 64, /* payloads beside the stream at a time */
};

#define SPEED_MIN 0.05
#define SPEED_MAX 16.0

typedef struct BrokerSource {
    Source source;
    SourceBrokerOptions options;

    /* ---- the follower's ---- */
    Broker *broker;
    Follow *follow;
    WorldChain worlds;
    RecordingHead head;
    EntityList before; /* entities before the next frame, for the recording's HEAD */
    BrokerFrom from;   /* where to begin ... */
    u64 value;         /* ... at a tick or a time */
    bool placed;       /* `from` and `value` are known */
    bool joined;       /* there was a message: `sequence` is of the last */
    u64 sequence;
    bool skip;      /* frames are not for viewers yet */
    Frame *skipped; /* the events of those; NULL none */
    bool recorded;  /* there was a recording */
    bool said_lost;
    pthread_t thread;
    bool started;

    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* ---- below: under the mutex ---- */
    bool stop, paused;
    f64 speed;
    u64 base_ns, base_tick;      /* when paced time last began to run, and with which tick */
    void (*wake)(void *context); /* NULL before the source is started */
    void *wake_context;
    Recorder *recorder; /* set by the follower */
    FrameQueue made;
    bool ready;      /* there was a frame */
    ErrorText fails; /* why there is none */
    u64 tick, frame_ns;
    SourceStatus status;
    LiveLeaf live; /* no users, unless the live end is followed */
} BrokerSource;

static BrokerSource *from(Source *source)
{
    return (BrokerSource *)source;
}

/* ---- the recording ---- */

static void recorder_set(BrokerSource *s, Recorder *recorder)
{
    pthread_mutex_lock(&s->mutex);
    Recorder *old = s->recorder;
    s->recorder = recorder;
    pthread_mutex_unlock(&s->mutex);
    recorder_destroy(old);
}

/* A file holds one world, from one frame on. */
static void recorder_start(BrokerSource *s, const Frame *frame)
{
    ErrorText error = {0};
    RecordingHead head = s->head;
    const RecorderOptions options = {.path = s->options.record_path,
                                     .picture_rate = s->options.record_rate,
                                     .force = s->options.record_force};
    head.world = s->worlds.newest->message;
    head.world.tick = frame->tick;
    head.world.entities = s->before.items;
    head.world.entity_count = s->before.count;
    Recorder *recorder = recorder_create(&options, &head, &error);
    if (recorder == NULL) {
        log_error("%s", error.text);
    }
    s->recorded = true;
    recorder_set(s, recorder);
}

static void frame_record(BrokerSource *s, Frame *frame, bool anew, const Input *inputs, u32 count)
{
    if (s->options.record_path == NULL) {
        return;
    }
    if (s->recorder != NULL && anew) {
        log_warn("the followed world changed: the recording %s ends here",
                 recorder_path(s->recorder));
        recorder_set(s, NULL);
    } else if (!s->recorded) {
        recorder_start(s, frame);
    }
    if (s->recorder != NULL) {
        recorder_tick(s->recorder, frame, inputs, count);
    }
}

/* ---- frames ---- */

static void world_receive(void *context, WorldCopy *world, const RecordingHead *head)
{
    BrokerSource *s = context;
    world_chain_add(&s->worlds, world, &s->mutex);
    s->head = *head;
    s->head.parent = (RecordingParent){0};
    entity_list_clear(&s->before);
    s->before.scene = world->scene;
    for (u32 i = 0; i < world->entities.count; i++) {
        (void)entity_list_put(&s->before, world->fields, &world->entities.items[i]);
    }
}

/* Users of the followed world get other ids than those of this host. */
static Frame *frame_for_viewers(Frame *frame)
{
    bool users = false;
    for (u32 i = 0; i < frame->event_count; i++) {
        users = users || frame->events[i].user != 0;
    }
    if (!users) {
        return frame_acquire(frame);
    }
    Frame *copy = frame_create(frame->fields, frame->tick, frame->event_count);
    if (copy != NULL) {
        memcpy(copy->data, frame->data, frame->fields->frame_bytes);
        memcpy(copy->events, frame->events, frame->event_count * sizeof *copy->events);
        copy->world_hash = frame->world_hash;
        copy->world_time_s = frame->world_time_s;
        for (u32 i = 0; i < copy->event_count; i++) {
            copy->events[i].user = relay_user_here(copy->events[i].user);
        }
    }
    return copy;
}

/* Waits until a frame from the past is due. */
static void pace(BrokerSource *s, u64 tick)
{
    pthread_mutex_lock(&s->mutex);
    while (!s->stop) {
        if (s->paused || frame_queue_full(&s->made)) {
            s->base_ns = 0;
            pthread_cond_wait(&s->changed, &s->mutex);
            continue;
        }
        u64 now_ns = clock_now_ns();
        f64 rate = s->head.tick_rate * s->speed;
        f64 ahead_s = tick > s->base_tick ? (f64)(tick - s->base_tick) / rate : 0.0;
        u64 due_ns = s->base_ns + (u64)(fmin(ahead_s, 1e6) * NS_PER_S);
        if (s->base_ns == 0 || tick <= s->base_tick || now_ns > due_ns + (u64)LATE_MS * NS_PER_MS) {
            s->base_ns = due_ns = now_ns;
            s->base_tick = tick;
        }
        if (now_ns >= due_ns) {
            break;
        }
        struct timespec until = {(time_t)(due_ns / NS_PER_S), (long)(due_ns % NS_PER_S)};
        pthread_cond_timedwait(&s->changed, &s->mutex, &until);
    }
    pthread_mutex_unlock(&s->mutex);
}

/* A host that is too slow for the live end loses frames, but no events. */
static void frame_push(BrokerSource *s, Frame *frame)
{
    pthread_mutex_lock(&s->mutex);
    if (frame_queue_full(&s->made)) {
        Frame *newest = frame_queue_pop_newest(&s->made);
        if (newest->fields == frame->fields) {
            frame = frame_merge(newest, frame);
        } else { /* of a world that the next one replaces */
            frame_release(newest);
        }
    }
    if (frame != NULL) {
        s->tick = frame->tick;
        frame_queue_push(&s->made, frame);
    }
    s->ready = true;
    s->frame_ns = clock_now_ns();
    void (*wake)(void *context) = s->wake;
    void *context = s->wake_context;
    pthread_mutex_unlock(&s->mutex);
    if (wake != NULL) {
        wake(context);
    }
}

static void frame_receive(void *context, Frame *frame, bool anew, const Input *inputs, u32 count)
{
    BrokerSource *s = context;
    frame_record(s, frame, anew && s->recorded, inputs, count);
    (void)entity_list_frame(&s->before, frame);
    Frame *shown = frame_for_viewers(frame);
    if (shown != NULL && s->skipped != NULL && s->skipped->fields == shown->fields) {
        shown = frame_merge(s->skipped, shown);
        s->skipped = NULL;
    }
    bool early = s->skip || (s->from == BROKER_FROM_TICK && frame->tick < s->value);
    frame_release(frame);
    if (shown == NULL) {
        log_error("out of memory for a frame");
        return;
    }
    if (early) {
        frame_release(s->skipped);
        s->skipped = shown;
        return;
    }
    s->from = s->from == BROKER_FROM_TICK ? BROKER_FROM_NEWEST : s->from; /* it is reached */
    if (s->options.at != NULL) {
        pace(s, shown->tick);
    }
    frame_push(s, shown);
}

/* ---- the thread ---- */

static bool stopping(BrokerSource *s)
{
    pthread_mutex_lock(&s->mutex);
    bool stop = s->stop;
    pthread_mutex_unlock(&s->mutex);
    return stop;
}

static void wait_ms(BrokerSource *s, u32 ms)
{
    u64 until_ns = clock_now_ns() + (u64)ms * NS_PER_MS;
    struct timespec until = {(time_t)(until_ns / NS_PER_S), (long)(until_ns % NS_PER_S)};
    pthread_mutex_lock(&s->mutex);
    while (!s->stop && clock_now_ns() < until_ns) {
        pthread_cond_timedwait(&s->changed, &s->mutex, &until);
    }
    pthread_mutex_unlock(&s->mutex);
}

/* "2026-11-27T07:00:00Z" as ns since 1970; false: it is none. */
static bool date_read(const char *text, u64 *time_ns)
{
    struct tm when = {0};
    char end, more;
    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%c%c", &when.tm_year, &when.tm_mon, &when.tm_mday,
               &when.tm_hour, &when.tm_min, &when.tm_sec, &end, &more) != 7 ||
        end != 'Z' || when.tm_year < 1970 || when.tm_year > 2200 || when.tm_mon < 1 ||
        when.tm_mon > 12 || when.tm_mday < 1 || when.tm_mday > 31) {
        return false;
    }
    when.tm_year -= 1900;
    when.tm_mon -= 1;
    time_t seconds = timegm(&when);
    *time_ns = (u64)seconds * NS_PER_S;
    return seconds >= 0;
}

/* Finds out where to begin. 0 or a negative Error. */
static int place(BrokerSource *s, ErrorText *error)
{
    BrokerSpan span;
    s->from = BROKER_FROM_NEWEST;
    if (s->options.at == NULL || s->placed) {
        return ERROR_OK;
    }
    if (date_read(s->options.at, &s->value)) {
        s->from = BROKER_FROM_TIME;
        s->placed = true;
        return ERROR_OK;
    }
    int result = broker_span(s->broker, &span, error);
    if (result != ERROR_OK) {
        return result;
    }
    const RecordingInfo info = {.first_tick = span.first_tick, .last_tick = span.last_tick};
    result = branch_tick(s->options.at, span.tick_rate, &info, &s->value, error);
    s->from = BROKER_FROM_TICK;
    s->placed = result == ERROR_OK;
    return result;
}

/* Where to continue: behind the last message, or at the first place to start. */
static int subscribe(BrokerSource *s, ErrorText *error)
{
    u64 sequence = 0, last = 0;
    int result = s->joined ? broker_last(s->broker, &last, error) : place(s, error);
    if (result == ERROR_OK && s->joined && last >= s->sequence) {
        sequence = s->sequence + 1;
    } else if (result == ERROR_OK) { /* the first time, or the stream was made again */
        result = broker_find(s->broker, s->from, s->value, &sequence, error);
    }
    return result == ERROR_OK ? broker_subscribe(s->broker, sequence, error) : result;
}

/* Logs once that there is nothing to follow, and stores the reason. */
static void lost(BrokerSource *s, const ErrorText *why)
{
    pthread_mutex_lock(&s->mutex);
    s->fails = *why;
    s->status.broker.failing = true;
    live_leaf_follow(&s->live, 0);
    pthread_mutex_unlock(&s->mutex);
    if (s->joined && !s->said_lost) {
        log_warn("broker: %s; looking for it again", why->text);
        s->said_lost = true;
    }
}

static void message_receive(BrokerSource *s, const BrokerMessage *m)
{
    i64 now_ns = (i64)clock_unix_ms() * NS_PER_MS;
    s->joined = true;
    s->sequence = m->sequence;
    s->skip = s->from == BROKER_FROM_TIME && m->time_ns < (i64)s->value;
    if (s->from == BROKER_FROM_TIME && !s->skip) {
        s->from = BROKER_FROM_NEWEST;
    }
    if (s->said_lost) {
        log_info("broker: %s is reachable again", s->options.broker.address.shown);
        s->said_lost = false;
    }
    u64 damaged = follow_stats(s->follow)->damaged;
    int result = follow_message(s->follow, m);
    const FollowStats *stats = follow_stats(s->follow);
    if (stats->damaged > damaged && damaged % DAMAGED_SAID_EACH == 0) {
        log_warn("broker: message %" PRIu64 " of %s is damaged (%s): %" PRIu64 " so far",
                 m->sequence, s->options.broker.address.shown, error_name((Error)result),
                 stats->damaged);
    }
    pthread_mutex_lock(&s->mutex);
    SourceBrokerStatus *status = &s->status.broker;
    status->failing = false;
    status->messages = stats->messages;
    status->ticks = stats->frames;
    status->skipped = stats->skipped;
    status->damaged = stats->damaged + status->foreign;
    status->bytes += m->bytes;
    status->waiting = m->pending;
    status->lag_s = fmax((f64)(now_ns - m->time_ns) * 1e-9, 0.0);
    if (result == ERROR_OK && s->options.at == NULL) {
        live_leaf_follow(&s->live, m->run);
    }
    pthread_mutex_unlock(&s->mutex);
}

static void message_foreign(BrokerSource *s)
{
    pthread_mutex_lock(&s->mutex);
    s->status.broker.foreign++;
    s->status.broker.damaged++;
    pthread_mutex_unlock(&s->mutex);
}

/* Messages beside the stream; there are none in the past. */
static void live_run(BrokerSource *s)
{
    const u8 *data;
    size_t bytes;
    if (s->options.at != NULL || broker_listen(s->broker, BROKER_LIVE) != ERROR_OK) {
        return;
    }
    u64 now_ms = clock_now_ns() / NS_PER_MS, dropped = broker_dropped(s->broker);
    for (u32 i = 0; i < LIVE_EACH_MAX && broker_receive(s->broker, &data, &bytes); i++) {
        pthread_mutex_lock(&s->mutex);
        (void)live_leaf_receive(&s->live, data, bytes, now_ms);
        pthread_mutex_unlock(&s->mutex);
    }
    for (u32 i = 0; i < LIVE_EACH_MAX; i++) {
        pthread_mutex_lock(&s->mutex);
        LivePayload payload = live_leaf_next(&s->live, now_ms);
        s->status.broker.refused = s->live.refused + dropped;
        pthread_mutex_unlock(&s->mutex);
        if (payload.data == NULL) {
            return;
        }
        (void)broker_send(s->broker, BROKER_SAID, payload.data, payload.bytes);
        free(payload.data);
    }
}

static void *follow_main(void *argument)
{
    BrokerSource *s = argument;
    thread_name("plenum-follow");
    while (!stopping(s)) {
        ErrorText error = {0};
        int result = broker_ready(s->broker, &error) ? ERROR_OK : ERROR_NETWORK;
        if (result == ERROR_OK && !broker_subscribed(s->broker)) {
            result = subscribe(s, &error);
        }
        if (result != ERROR_OK) {
            lost(s, &error);
            wait_ms(s, RETRY_MS);
            continue;
        }
        BrokerMessage message;
        result = broker_next(s->broker, NEXT_MS, &message);
        if (result == ERROR_OK) {
            message_receive(s, &message);
        } else if (result == ERROR_FORMAT) {
            message_foreign(s);
        }
        live_run(s);
    }
    return NULL;
}

/* ---- the host's side ---- */

static int source_start(Source *source, void (*wake)(void *context), void *context,
                        ErrorText *error)
{
    BrokerSource *s = from(source);
    PL_UNUSED(error);
    pthread_mutex_lock(&s->mutex);
    s->wake = wake;
    s->wake_context = context;
    pthread_mutex_unlock(&s->mutex);
    return ERROR_OK;
}

static Frame *source_take(Source *source)
{
    BrokerSource *s = from(source);
    Frame *frame = frame_queue_take(&s->made, &s->mutex, &s->changed);
    world_chain_take(&s->worlds, frame, &s->mutex);
    return frame;
}

static void source_describe(Source *source, MessageWorld *out)
{
    world_chain_describe(&from(source)->worlds, out);
}

static u32 source_input(Source *source, const Input *inputs, u32 count)
{
    PL_UNUSED(source);
    PL_UNUSED(inputs);
    PL_UNUSED(count);
    return 0; /* inputs cannot be sent through a broker */
}

static int apply_control(BrokerSource *s, u32 kind, f64 value)
{
    switch (kind) {
    case CONTROL_PAUSE:
        s->paused = true;
        return ERROR_OK;
    case CONTROL_RESUME:
        s->paused = false;
        return ERROR_OK;
    case CONTROL_SPEED:
        if (!(value >= SPEED_MIN && value <= SPEED_MAX)) {
            return ERROR_RANGE;
        }
        s->speed = value;
        s->base_tick = UINT64_MAX; /* paced anew from the next frame on */
        return ERROR_OK;
    default:
        return ERROR_UNSUPPORTED;
    }
}

/* The live end is controlled where the world is simulated. */
static int source_control(Source *source, u32 user, u32 kind, f64 value)
{
    PL_UNUSED(user);
    BrokerSource *s = from(source);
    if (s->options.at == NULL) {
        return ERROR_UNSUPPORTED;
    }
    pthread_mutex_lock(&s->mutex);
    int result = apply_control(s, kind, value);
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->mutex);
    return result;
}

static void source_status(Source *source, SourceStatus *out)
{
    BrokerSource *s = from(source);
    pthread_mutex_lock(&s->mutex);
    *out = s->status;
    out->broker.following = true;
    out->tick = s->tick;
    out->status.paused = s->paused || clock_now_ns() - s->frame_ns > (u64)QUIET_MS * NS_PER_MS;
    out->status.speed = (f32)s->speed;
    if (s->recorder != NULL) {
        recorder_report(s->recorder, out);
    }
    pthread_mutex_unlock(&s->mutex);
}

static bool source_next_message(Source *source, Message *out)
{
    BrokerSource *s = from(source);
    pthread_mutex_lock(&s->mutex);
    bool any = company_next_message(&s->live.company, out);
    pthread_mutex_unlock(&s->mutex);
    return any;
}

static u32 source_users(Source *source, UserInfo *out, u32 max, u32 *version)
{
    BrokerSource *s = from(source);
    pthread_mutex_lock(&s->mutex);
    u32 count = company_users(&s->live.company, out, max, version);
    pthread_mutex_unlock(&s->mutex);
    return count;
}

static u32 source_presences(Source *source, Presence *out, u32 max)
{
    BrokerSource *s = from(source);
    pthread_mutex_lock(&s->mutex);
    u32 count = company_presences(&s->live.company, out, max);
    pthread_mutex_unlock(&s->mutex);
    return count;
}

static void source_notify(Source *source, const Message *message)
{
    BrokerSource *s = from(source);
    pthread_mutex_lock(&s->mutex);
    company_notify(&s->live.company, message);
    pthread_mutex_unlock(&s->mutex);
}

static void source_notify_users(Source *source, const UserInfo *users, u32 count)
{
    BrokerSource *s = from(source);
    pthread_mutex_lock(&s->mutex);
    company_notify_users(&s->live.company, users, count);
    pthread_mutex_unlock(&s->mutex);
}

static void source_destroy(Source *source)
{
    BrokerSource *s = from(source);
    if (s->started) {
        pthread_mutex_lock(&s->mutex);
        s->stop = true;
        pthread_cond_signal(&s->changed);
        pthread_mutex_unlock(&s->mutex);
        pthread_join(s->thread, NULL);
    }
    broker_destroy(s->broker);
    follow_destroy(s->follow);
    recorder_destroy(s->recorder);
    frame_queue_clear(&s->made);
    frame_release(s->skipped);
    live_leaf_finish(&s->live);
    entity_list_finish(&s->before);
    world_chain_finish(&s->worlds);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->mutex);
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
    .next_message = source_next_message,
    .users = source_users,
    .presences = source_presences,
    .notify = source_notify,
    .notify_users = source_notify_users,
};

/* ---- creation ---- */

/* Waits for the first frame. 0 or a negative Error. */
static int frame_wait(BrokerSource *s, ErrorText *error)
{
    u32 most_ms = s->options.wait_ms > 0 ? s->options.wait_ms : WAIT_MS;
    u64 until_ns = clock_now_ns() + (u64)most_ms * NS_PER_MS;
    for (;;) {
        pthread_mutex_lock(&s->mutex);
        bool ready = s->ready;
        ErrorText fails = s->fails;
        pthread_mutex_unlock(&s->mutex);
        if (ready) {
            return ERROR_OK;
        }
        bool hopeless = fails.code == ERROR_USAGE || fails.code == ERROR_RANGE;
        if (hopeless || clock_now_ns() > until_ns) {
            return error_set(error, hopeless ? fails.code : ERROR_NETWORK, "%s",
                             fails.code != ERROR_OK ? fails.text
                                                    : "no world is published there now");
        }
        clock_sleep_until_ns(clock_now_ns() + 4 * NS_PER_MS);
    }
}

static int open_all(BrokerSource *s, ErrorText *error)
{
    const FollowHandler handler = {s, world_receive, frame_receive};
    s->follow = follow_create(&handler);
    s->broker = broker_create(&s->options.broker, error);
    if (s->broker == NULL) {
        return ERROR_NETWORK;
    }
    if (s->follow == NULL || pthread_create(&s->thread, NULL, follow_main, s) != 0) {
        return error_set(error, ERROR_MEMORY, "cannot start the thread that follows a broker");
    }
    s->started = true;
    return frame_wait(s, error);
}

Source *source_broker_create(const SourceBrokerOptions *options, ErrorText *error)
{
    BrokerSource *s = calloc(1, sizeof *s);
    if (s == NULL) {
        error_set(error, ERROR_MEMORY, "out of memory for following a broker");
        return NULL;
    }
    s->source.ops = &operations;
    s->options = *options;
    u64 follower = 0;
    while (follower == 0) { /* none is 0 */
        randombytes_buf(&follower, sizeof follower);
    }
    live_leaf_init(&s->live, follower, clock_now_ns() / NS_PER_MS);
    s->speed = options->speed > 0.0 ? options->speed : 1.0;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (open_all(s, error) != ERROR_OK) {
        source_destroy(&s->source);
        return NULL;
    }
    return &s->source;
}
