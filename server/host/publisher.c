/* publisher.c: see publisher.h. */
#include "server/host/publisher.h"

#include "protocol/stream/entity_list.h"
#include "server/host/tick_queue.h"
#include "server/host/world_copy.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/thread.h"
#include "shared/base/version.h"

#include <inttypes.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ANSWER_MS = 1500,            /* wait for the broker's answer */
    MESSAGE_BYTES = 192 << 10,   /* no further tick is added to a message of this size */
    HEAD_INTERVAL_S = 30,        /* a HEAD at least this often ... */
    HEAD_SHARE = 4,              /* ... and where it adds at most a quarter */
    BYTES_PER_TICK_ABOUT = 1024, /* of memory, beside the frame's */
    LIVE_MS = 25,                /* interval at which messages of followers are fetched */
    LIVE_EACH_MAX = 64,          /* payloads at a time */
};

#define RETRY_NS 500000000ull
#define QUIT_NS  1500000000ull /* an answer may be waited for at that time */

struct Publisher {
    PublisherOptions options;
    u32 tick_rate;
    LiveHub *live;

    /* ---- owned by the publisher's thread ---- */
    Broker *broker;
    RecordingWriter *writer;
    WorldCopy *world;
    EntityList sent;   /* entities after the ticks encoded */
    u64 created_s;     /* when the run began */
    u64 head_tick;     /* of the last HEAD */
    u64 since_head;    /* bytes published since */
    u64 head_bytes;    /* of the last message with one */
    bool begun;        /* there was a HEAD */
    bool break_off;    /* the next message must begin with one */
    bool stream_known; /* the broker has it */
    BrokerMessage next;
    bool said_failing;
    pthread_t thread;
    bool started;

    pthread_mutex_t mutex;
    pthread_cond_t work;
    /* ---- below: under the mutex ---- */
    TickQueue queue;
    bool quit;
    u64 quit_ns;
    PublisherStats stats;
};

/* ---- the simulation's side ---- */

void publisher_tick(Publisher *p, Frame *frame, const Input *inputs, u32 input_count)
{
    pthread_mutex_lock(&p->mutex);
    bool queued = tick_queue_push(&p->queue, frame, inputs, input_count) != NULL;
    p->stats.ticks_lost += !queued;
    if (queued) {
        pthread_cond_signal(&p->work);
    }
    pthread_mutex_unlock(&p->mutex);
    if (!queued) {
        tick_queue_drop(&p->queue, frame);
    }
}

LiveHub *publisher_live(Publisher *p)
{
    return p->live;
}

void publisher_stats(Publisher *p, PublisherStats *out)
{
    pthread_mutex_lock(&p->mutex);
    *out = p->stats;
    out->refused += live_hub_refused(p->live);
    out->waiting = p->queue.count;
    if (p->queue.count > 0) {
        out->lag_s = (f64)(clock_now_ns() - tick_queue_at(&p->queue, 0)->queued_ns) * 1e-9;
    }
    pthread_mutex_unlock(&p->mutex);
}

/* ---- the publisher's thread ---- */

static bool out_of_time(Publisher *p)
{
    pthread_mutex_lock(&p->mutex);
    bool over = p->quit && clock_now_ns() > p->quit_ns + QUIT_NS;
    pthread_mutex_unlock(&p->mutex);
    return over;
}

static void wait_until(Publisher *p, u64 until_ns)
{
    struct timespec until = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
    pthread_mutex_lock(&p->mutex);
    while (!p->quit && clock_now_ns() < until_ns) {
        pthread_cond_timedwait(&p->work, &p->mutex, &until);
    }
    bool quit = p->quit;
    pthread_mutex_unlock(&p->mutex);
    if (quit) { /* each attempt may be the last */
        clock_sleep_until_ns(u64_min(until_ns, clock_now_ns() + RETRY_NS / 10));
    }
}

/* Records whether the broker accepts messages, and logs changes. */
static void attempted(Publisher *p, bool failed, const char *why)
{
    pthread_mutex_lock(&p->mutex);
    p->stats.failing = failed;
    pthread_mutex_unlock(&p->mutex);
    if (failed && !p->said_failing) {
        log_error("cannot publish: %s: the world continues unpublished", why);
    } else if (!failed && p->said_failing) {
        log_info("%s: publishing again", p->options.broker.address.shown);
    }
    p->said_failing = failed;
}

/* ---- encoding ---- */

/* A HEAD whose entities are those before the frame. 0 or a negative Error. */
static int put_head(Publisher *p, const Frame *frame)
{
    RecordingHead head = {
        .tick_rate = p->tick_rate, .created_unix_s = p->created_s, .world = p->world->message};
    snprintf(head.build, sizeof head.build, "plenum %s, %s", PLENUM_VERSION, __VERSION__);
    head.world.tick = frame->tick;
    head.world.entities = p->sent.items;
    head.world.entity_count = p->sent.count;
    p->head_tick = frame->tick;
    p->begun = true;
    return recording_writer_head(p->writer, &head);
}

/* True if the message with this tick must begin with a HEAD. */
static bool head_due(const Publisher *p, const QueuedTick *tick)
{
    if (!p->begun || p->break_off || tick->gap.last_tick != 0) {
        return true;
    }
    return recording_writer_key_next(p->writer, tick->frame) &&
           (p->since_head >= HEAD_SHARE * p->head_bytes ||
            tick->frame->tick - p->head_tick >= (u64)HEAD_INTERVAL_S * p->tick_rate);
}

static int put_tick(Publisher *p, const QueuedTick *tick)
{
    int result = 0;
    if (tick->gap.last_tick != 0) {
        log_warn("%s: ticks %" PRIu64 " to %" PRIu64 " are not published: the broker did not keep "
                 "up",
                 p->options.broker.address.shown, tick->gap.first_tick, tick->gap.last_tick);
        result = recording_writer_gap(p->writer, tick->gap);
    }
    if (result == 0) {
        result = recording_writer_tick(p->writer, tick->frame, tick->inputs, tick->input_count);
    }
    (void)entity_list_frame(&p->sent, tick->frame);
    return result;
}

/* A copy of the tick at this place in the queue; its frame and inputs stay there. */
static bool tick_at(Publisher *p, u32 place, QueuedTick *out)
{
    pthread_mutex_lock(&p->mutex);
    const QueuedTick *tick = tick_queue_at(&p->queue, place);
    if (tick != NULL) {
        *out = *tick;
    }
    pthread_mutex_unlock(&p->mutex);
    return tick != NULL;
}

/* Makes a message of the queued ticks. Returns their number; 0: none, or the writer failed. */
static u32 message_make(Publisher *p, const u8 **blocks, size_t *bytes)
{
    QueuedTick tick;
    u32 count = 0;
    size_t used = 0;
    int result = 0;
    p->next.start = false;
    while (count < PUBLISHER_MESSAGE_TICKS && used < MESSAGE_BYTES && tick_at(p, count, &tick)) {
        bool head = head_due(p, &tick);
        if (head && count > 0) {
            break;
        }
        if (count == 0) {
            p->next.tick = tick.frame->tick;
            p->next.start = head;
            result = head ? put_head(p, tick.frame) : 0;
            p->break_off = false;
        }
        result = result == 0 ? put_tick(p, &tick) : result;
        count++;
        used = recording_writer_pending(p->writer);
        if (result != 0) {
            break;
        }
    }
    *blocks = recording_writer_take(p->writer, bytes);
    if (result != 0) {
        attempted(p, true, error_name((Error)result));
    }
    return result == 0 ? count : 0;
}

/* ---- sending ---- */

/* One part, again until the broker has it. False: given up. */
static bool part_send(Publisher *p, size_t part_bytes)
{
    ErrorText error;
    for (;;) {
        memset(&error, 0, sizeof error);
        int result = broker_ready(p->broker, &error) ? ERROR_OK : ERROR_NETWORK;
        if (result == ERROR_OK && broker_part_bytes(p->broker) < part_bytes) {
            return false; /* another broker, with a lower limit */
        }
        if (result == ERROR_OK && !p->stream_known) {
            result = broker_stream(p->broker, &p->options.limits, &error);
            p->stream_known = result == ERROR_OK;
        }
        result =
            result == ERROR_OK ? broker_publish(p->broker, &p->next, ANSWER_MS, &error) : result;
        attempted(p, result != ERROR_OK, error.text);
        if (result == ERROR_OK) {
            return true;
        }
        p->stream_known = p->stream_known && result != ERROR_NOT_FOUND;
        if (out_of_time(p)) {
            return false;
        }
        wait_until(p, clock_now_ns() + RETRY_NS);
    }
}

/* False: given up; the broker may have some parts. */
static bool message_send(Publisher *p, const u8 *blocks, size_t bytes)
{
    ErrorText error = {0};
    while (!broker_ready(p->broker, &error)) {
        attempted(p, true, error.text);
        if (out_of_time(p)) {
            return false;
        }
        wait_until(p, clock_now_ns() + RETRY_NS);
    }
    size_t part_bytes = broker_part_bytes(p->broker);
    p->next.number++;
    p->next.parts = (u32)((bytes + part_bytes - 1) / part_bytes);
    p->next.back = p->next.start ? 0 : p->next.back;
    for (u32 part = 0; part < p->next.parts; part++) {
        p->next.part = part;
        p->next.data = blocks + part * part_bytes;
        p->next.bytes = (size_t)u64_min(part_bytes, bytes - part * part_bytes);
        if (p->next.parts > BROKER_PARTS_MAX || !part_send(p, part_bytes)) {
            return false;
        }
        p->next.back++;
    }
    return true;
}

/* Releases the first `count` ticks of the queue. */
static void ticks_done(Publisher *p, u32 count, size_t bytes, bool stored)
{
    pthread_mutex_lock(&p->mutex);
    for (u32 i = 0; i < count; i++) {
        p->stats.lag_s = (f64)(clock_now_ns() - tick_queue_at(&p->queue, 0)->queued_ns) * 1e-9;
        tick_queue_pop(&p->queue);
    }
    p->stats.ticks += stored ? count : 0;
    p->stats.ticks_lost += stored ? 0 : count;
    p->stats.messages += stored;
    p->stats.bytes += stored ? bytes : 0;
    pthread_mutex_unlock(&p->mutex);
}

/* Publishes a message of the queued ticks. False: the writer failed. */
static bool publish(Publisher *p)
{
    const u8 *blocks;
    size_t bytes;
    u32 count = message_make(p, &blocks, &bytes);
    if (count == 0) {
        return false;
    }
    bool stored = message_send(p, blocks, bytes);
    p->break_off = !stored;
    p->since_head = p->next.start ? 0 : p->since_head + bytes;
    p->head_bytes = p->next.start ? bytes : p->head_bytes;
    ticks_done(p, count, bytes, stored);
    return true;
}

/* Sends the host's messages for followers, and fetches theirs. */
static void live_run(Publisher *p)
{
    const u8 *data;
    size_t bytes;
    u64 now_ms = clock_now_ns() / 1000000u;
    if (!broker_linked(p->broker)) {
        return;
    }
    for (u32 i = 0; i < LIVE_EACH_MAX; i++) {
        LivePayload payload = live_hub_next(p->live, now_ms);
        bool sent = payload.data != NULL &&
                    broker_send(p->broker, BROKER_LIVE, payload.data, payload.bytes) == ERROR_OK;
        free(payload.data);
        if (!sent) {
            break;
        }
    }
    if (!p->options.listens || broker_listen(p->broker, BROKER_SAID) != ERROR_OK) {
        return;
    }
    for (u32 i = 0; i < LIVE_EACH_MAX && broker_receive(p->broker, &data, &bytes); i++) {
        live_hub_receive(p->live, data, bytes);
    }
    u64 dropped = broker_dropped(p->broker);
    pthread_mutex_lock(&p->mutex);
    p->stats.refused = dropped;
    pthread_mutex_unlock(&p->mutex);
}

/* Waits for ticks; meanwhile messages beside the stream continue. Mutex held. */
static void ticks_wait(Publisher *p)
{
    while (p->queue.count == 0 && !p->quit) {
        u64 until_ns = clock_now_ns() + (u64)LIVE_MS * 1000000u;
        struct timespec until = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
        if (pthread_cond_timedwait(&p->work, &p->mutex, &until) != 0) {
            pthread_mutex_unlock(&p->mutex);
            live_run(p);
            pthread_mutex_lock(&p->mutex);
        }
    }
}

static void *publish_main(void *argument)
{
    Publisher *p = argument;
    bool good = true;
    thread_name("plenum-publish");
    pthread_mutex_lock(&p->mutex);
    for (;;) {
        ticks_wait(p);
        bool over = p->quit && (p->queue.count == 0 || clock_now_ns() > p->quit_ns + QUIT_NS);
        pthread_mutex_unlock(&p->mutex);
        if (over || !good) {
            return NULL;
        }
        good = publish(p);
        live_run(p);
        pthread_mutex_lock(&p->mutex);
    }
}

/* ---- creation ---- */

static int open_all(Publisher *p, const MessageWorld *world, ErrorText *error)
{
    p->writer = recording_writer_create_stream();
    p->world = world_copy_create(world, error);
    if (!tick_queue_init(&p->queue, p->options.ticks_max, PUBLISHER_BYTES_MAX,
                         BYTES_PER_TICK_ABOUT) ||
        p->writer == NULL || p->world == NULL || p->live == NULL ||
        entity_list_set(&p->sent, p->world->fields, world->entities, world->entity_count) != 0) {
        return error_set(error, ERROR_MEMORY, "out of memory for publishing");
    }
    p->broker = broker_create(&p->options.broker, error);
    if (p->broker == NULL) {
        return ERROR_NETWORK;
    }
    p->next.tick_rate = p->tick_rate;
    p->created_s = clock_unix_s();
    if (pthread_create(&p->thread, NULL, publish_main, p) != 0) {
        return error_set(error, ERROR_STATE, "cannot start the publisher's thread");
    }
    p->started = true;
    return ERROR_OK;
}

Publisher *publisher_create(const PublisherOptions *options, const MessageWorld *world,
                            u32 tick_rate, ErrorText *error)
{
    Publisher *p = calloc(1, sizeof *p);
    if (p == NULL) {
        error_set(error, ERROR_MEMORY, "out of memory for publishing");
        return NULL;
    }
    p->options = *options;
    p->options.ticks_max = options->ticks_max != 0 ? options->ticks_max : PUBLISHER_TICKS_MAX;
    p->tick_rate = tick_rate;
    while (p->next.run == 0) { /* none is 0 */
        randombytes_buf(&p->next.run, sizeof p->next.run);
    }
    p->live = live_hub_create(p->next.run);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->work, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (open_all(p, world, error) != 0) {
        publisher_destroy(p);
        return NULL;
    }
    return p;
}

void publisher_destroy(Publisher *p)
{
    if (p == NULL) {
        return;
    }
    if (p->started) {
        pthread_mutex_lock(&p->mutex);
        p->quit = true;
        p->quit_ns = clock_now_ns();
        pthread_cond_signal(&p->work);
        pthread_mutex_unlock(&p->mutex);
        pthread_join(p->thread, NULL);
        u64 missing = p->stats.ticks_lost + p->queue.count;
        if (missing > 0) {
            log_error("%s: %" PRIu64 " ticks are not published", p->options.broker.address.shown,
                      missing);
        }
    }
    tick_queue_finish(&p->queue);
    broker_destroy(p->broker);
    recording_writer_destroy(p->writer);
    entity_list_finish(&p->sent);
    world_copy_destroy(p->world);
    live_hub_destroy(p->live);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->mutex);
    free(p);
}
