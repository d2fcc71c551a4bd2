/*
 * source_relay.c: the host's side of a relay, and its thread, which waits for packets from the
 * server above and handles them immediately (source_relay_follow.c).
 */
#include "server/host/source_relay_internal.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/thread.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define MS 1000000ull

enum {
    POLL_MS = 4,
    WAIT_MS = 30000
};

static RelaySource *from(Source *source)
{
    return (RelaySource *)source;
}

/* ---- the thread ---- */

static bool stopping(RelaySource *s)
{
    pthread_mutex_lock(&s->mutex);
    bool stop = s->stop;
    pthread_mutex_unlock(&s->mutex);
    return stop;
}

static void *follow(void *argument)
{
    RelaySource *s = argument;
    thread_name("plenum-follow");
    while (!stopping(s)) {
        struct pollfd wait[2] = {{.fd = upstream_fd(s->upstream), .events = POLLIN},
                                 {.fd = s->wakes, .events = POLLIN}};
        u64 count;
        (void)poll(wait, PL_COUNT(wait), POLL_MS);
        ssize_t done = s->wakes >= 0 ? read(s->wakes, &count, sizeof count) : 0;
        PL_UNUSED(done); /* would block: nothing was signalled */
        relay_follow(s, clock_now_ns());
    }
    return NULL;
}

static void thread_wake(RelaySource *s)
{
    u64 one = 1;
    ssize_t done = s->wakes >= 0 ? write(s->wakes, &one, sizeof one) : 0;
    PL_UNUSED(done);
}

/* ---- the host's side ---- */

static int source_start(Source *source, void (*wake)(void *context), void *context,
                        ErrorText *error)
{
    RelaySource *s = from(source);
    PL_UNUSED(error);
    pthread_mutex_lock(&s->mutex);
    s->wake = wake;
    s->wake_context = context;
    pthread_mutex_unlock(&s->mutex);
    return ERROR_OK;
}

static Frame *source_take(Source *source)
{
    RelaySource *s = from(source);
    pthread_mutex_lock(&s->mutex);
    Frame *frame = frame_queue_pop(&s->made);
    pthread_mutex_unlock(&s->mutex);
    world_chain_take(&s->worlds, frame, &s->mutex);
    return frame;
}

static void source_describe(Source *source, MessageWorld *out)
{
    world_chain_describe(&from(source)->worlds, out);
}

static u32 source_input(Source *source, const Input *inputs, u32 count)
{
    RelaySource *s = from(source);
    u32 accepted = relay_input(s, inputs, count);
    thread_wake(s);
    return accepted;
}

static void source_notify(Source *source, const Message *message)
{
    relay_notify(from(source), message);
    thread_wake(from(source));
}

static void source_notify_users(Source *source, const UserInfo *users, u32 count)
{
    relay_notify_users(from(source), users, count);
}

static int source_control(Source *source, u32 user, u32 kind, f64 value)
{
    PL_UNUSED(source);
    PL_UNUSED(user);
    PL_UNUSED(kind);
    PL_UNUSED(value);
    return ERROR_UNSUPPORTED; /* only the root controls world time */
}

static void source_status(Source *source, SourceStatus *out)
{
    RelaySource *s = from(source);
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&s->mutex);
    out->status = s->above;
    out->status.seekable = 0; /* a relay cannot seek */
    out->status.paused = s->above.paused || !s->stats.linked;
    out->tick = s->tick;
    out->forwarded = true;
    if (s->recorder != NULL) {
        RecorderStats recorded;
        recorder_stats(s->recorder, &recorded);
        out->recording_lost = recorded.stuck;
    }
    pthread_mutex_unlock(&s->mutex);
}

static int source_note(Source *source, const RecordingNote *note, ErrorText *error)
{
    RelaySource *s = from(source);
    pthread_mutex_lock(&s->mutex);
    bool recording = s->recorder != NULL;
    if (recording) {
        recorder_note(s->recorder, note);
    }
    pthread_mutex_unlock(&s->mutex);
    return recording ? ERROR_OK
                     : error_set(error, ERROR_STATE, "the session is not being recorded");
}

static bool source_next_message(Source *source, Message *out)
{
    RelaySource *s = from(source);
    pthread_mutex_lock(&s->mutex);
    bool any = company_next_message(&s->company, out);
    pthread_mutex_unlock(&s->mutex);
    return any;
}

static u32 source_users(Source *source, UserInfo *out, u32 max, u32 *version)
{
    RelaySource *s = from(source);
    pthread_mutex_lock(&s->mutex);
    u32 count = company_users(&s->company, out, max, version);
    pthread_mutex_unlock(&s->mutex);
    return count;
}

static u32 source_presences(Source *source, Presence *out, u32 max)
{
    RelaySource *s = from(source);
    pthread_mutex_lock(&s->mutex);
    u32 count = company_presences(&s->company, out, max);
    pthread_mutex_unlock(&s->mutex);
    return count;
}

static void source_destroy(Source *source)
{
    RelaySource *s = from(source);
    if (s->started) {
        pthread_mutex_lock(&s->mutex);
        s->stop = true;
        pthread_mutex_unlock(&s->mutex);
        thread_wake(s);
        pthread_join(s->thread, NULL);
    }
    upstream_destroy(s->upstream);
    recorder_destroy(s->recorder);
    frame_queue_clear(&s->made);
    frame_assembly_destroy(s->assembly);
    span_coder_destroy(s->coder);
    entity_list_finish(&s->now);
    entity_list_finish(&s->sent);
    world_chain_finish(&s->worlds);
    company_finish(&s->company);
    free(s->events);
    if (s->wakes >= 0) {
        close(s->wakes);
    }
    pthread_mutex_destroy(&s->mutex);
    seal_wipe(&s->options, sizeof s->options); /* token, password */
    free(s);
}

/* ---- creation ---- */

static const SourceOps operations = {
    .destroy = source_destroy,
    .start = source_start,
    .take = source_take,
    .describe = source_describe,
    .input = source_input,
    .control = source_control,
    .status = source_status,
    .note = source_note,
    .next_message = source_next_message,
    .users = source_users,
    .presences = source_presences,
    .notify = source_notify,
    .notify_users = source_notify_users,
};

Source *source_relay_create_polled(const RelayOptions *options, ErrorText *error)
{
    RelaySource *s = calloc(1, sizeof *s);
    if (s == NULL) {
        error_set(error, ERROR_MEMORY, "out of memory for the relay");
        return NULL;
    }
    s->source.ops = &operations;
    s->options = *options;
    s->above.speed = 1.0f;
    s->wakes = -1;
    pthread_mutex_init(&s->mutex, NULL);
    s->coder = span_coder_create();
    UpstreamHandler handler = relay_handler(s);
    s->options.above.relay = true;
    s->upstream = upstream_create(&s->options.above, &handler, error);
    credentials_wipe(&s->options.above.shown);
    if (s->coder == NULL || s->upstream == NULL) {
        error_set(error, ERROR_MEMORY, "out of memory for the relay");
        source_destroy(&s->source);
        return NULL;
    }
    return &s->source;
}

void relay_poll(Source *source, u64 now_ns)
{
    relay_follow(from(source), now_ns);
}

bool relay_ready(Source *source)
{
    RelaySource *s = from(source);
    pthread_mutex_lock(&s->mutex);
    bool ready = s->stats.worlds > 0;
    pthread_mutex_unlock(&s->mutex);
    return ready;
}

void relay_stats(Source *source, RelayStats *stats)
{
    RelaySource *s = from(source);
    pthread_mutex_lock(&s->mutex);
    *stats = s->stats;
    pthread_mutex_unlock(&s->mutex);
}

/* Waits for the first world. 0 or a negative Error. */
static int world_wait(RelaySource *s, ErrorText *error)
{
    u64 until_ns = clock_now_ns() + (s->options.wait_ms > 0 ? s->options.wait_ms : WAIT_MS) * MS;
    while (!relay_ready(&s->source)) {
        pthread_mutex_lock(&s->mutex);
        ErrorText closed = s->closed;
        pthread_mutex_unlock(&s->mutex);
        if (closed.code != ERROR_OK) {
            return error_set(error, closed.code, "%s", closed.text);
        }
        if (clock_now_ns() > until_ns) {
            return error_set(error, ERROR_NETWORK, "the server above does not answer");
        }
        (void)poll(NULL, 0, POLL_MS);
    }
    return ERROR_OK;
}

Source *source_relay_create(const RelayOptions *options, ErrorText *error)
{
    Source *source = source_relay_create_polled(options, error);
    if (source == NULL) {
        return NULL;
    }
    RelaySource *s = from(source);
    s->wakes = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (pthread_create(&s->thread, NULL, follow, s) != 0) {
        error_set(error, ERROR_MEMORY, "cannot start the relay's thread");
        source_destroy(source);
        return NULL;
    }
    s->started = true;
    if (world_wait(s, error) != ERROR_OK) {
        source_destroy(source);
        return NULL;
    }
    return source;
}
