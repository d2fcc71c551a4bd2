/*
 * own_time.c: users who leave the common time of a recording, look around on their own and return.
 * Each gets a stream of its own, from a second source of the same recording; the common one goes
 * on as if nobody had left.
 *
 * The common stream keeps its epoch while a client is away, so late packets of before must not meet
 * the receiver of after: nobody returns within OWN_STAY_MS after the arrival of the world of the
 * own stream, which is as long as clients keep packets of other epochs.
 */
#include "server/host/session.h"

#include "shared/base/check.h"
#include "shared/base/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    OWN_STAY_MS = 2000,
    EPOCHS = 15,
};

bool own_times_offered(const Host *host)
{
    return host->options.own_times > 0 && host->common.source->ops->again != NULL;
}

f64 stream_recorded_tick(const Stream *stream)
{
    const PlaySegment *play = &stream->status.status.play;
    u64 tick = stream->history.newest != NULL ? stream->history.newest->tick : 0;
    u64 moved = tick > play->stream_tick ? tick - play->stream_tick : 0;
    return fmax((f64)play->tick + (f64)play->direction * (f64)moved, 0.0);
}

/* The session that watches the stream; NULL: none. */
static Session *session_with(Host *host, const Stream *stream)
{
    for (u32 i = 0; i < host->peer_capacity; i++) {
        if (host->sessions[i].own == stream) {
            return &host->sessions[i];
        }
    }
    return NULL;
}

/* The session's next states belong to another stream. */
static void stream_change(Host *host, Session *session, Stream *own)
{
    session_sender_end(session);
    session->world_sent = session->world_here = false;
    session->own = own;
    session->presence_ms = 0;
    session->presence_same = 0;
    host->roster_dirty = true;
}

static Stream *stream_free(Host *host)
{
    for (u32 i = 0; i < host->options.own_times; i++) {
        if (host->owns[i].source == NULL) {
            return &host->owns[i];
        }
    }
    return NULL;
}

int own_time_leave(Host *host, Session *session, ErrorText *error)
{
    if (!own_times_offered(host) || session->relay || host->memory_short) {
        return error_set(error, ERROR_UNSUPPORTED, "%s",
                         session->relay       ? "a relay follows the common time"
                         : host->memory_short ? "the server has reached its memory limit"
                         : host->common.status.status.replay
                             ? "this server offers no time of one's own"
                             : "only recordings can be watched in one's own time");
    }
    if (session->own != NULL) {
        return error_set(error, ERROR_STATE, "you already left the common time");
    }
    if (!session->world_here) {
        return error_set(error, ERROR_STATE, "wait until the world has arrived");
    }
    Stream *own = stream_free(host);
    if (own == NULL) {
        return error_set(error, ERROR_LIMIT,
                         "%u users already control their own time: try again later",
                         host->options.own_times);
    }
    Source *source = host->common.source->ops->again(host->common.source, error);
    if (source == NULL) {
        return error->code != ERROR_OK ? (int)error->code : ERROR_MEMORY;
    }
    if (!stream_init(own, source, host->scene)) {
        return error_set(error, ERROR_MEMORY, "out of memory");
    }
    /* Its first frame begins the next epoch: one after another, but never the common one. */
    own->epoch = (u8)((host->common.epoch + host->own_next++ % (EPOCHS - 1)) % EPOCHS);
    own->snapshot_ns = host->now_ns;
    own->opened_ms = host->now_ms;
    if (source->ops->start(source, host_wake, host, error) != 0) {
        stream_finish(own);
        return error->code != ERROR_OK ? (int)error->code : ERROR_MEMORY;
    }
    stream_change(host, session, own);
    host->own_count++;
    return 0;
}

static void go_back(Host *host, Session *session)
{
    CHECK(host->own_count > 0);
    host->own_count--;
    session->own->abandoned = true; /* its thread may be decoding: destroyed later */
    stream_change(host, session, NULL);
}

int own_time_return(Host *host, Session *session, ErrorText *error)
{
    if (session->own == NULL) {
        return error_set(error, ERROR_STATE, "you are already in the common time");
    }
    if (!session->world_here || host->now_ms - session->here_ms < OWN_STAY_MS) {
        return error_set(error, ERROR_STATE, "you have just left: wait a moment");
    }
    go_back(host, session);
    return 0;
}

void own_time_end(Host *host, Session *session)
{
    if (session->own != NULL) {
        go_back(host, session);
    }
}

void own_times_check(Host *host)
{
    for (u32 i = 0; i < host->options.own_times; i++) {
        Stream *own = &host->owns[i];
        if (own->source == NULL) {
            continue;
        }
        Session *session = session_with(host, own);
        CHECK_ITEM(i, own->abandoned == (session == NULL));
        if (own->abandoned) {
            if (own->source->ops->quit == NULL || own->source->ops->quit(own->source)) {
                stream_finish(own);
            }
        } else if (own->status.finished && host->now_ms - own->opened_ms >= OWN_STAY_MS) {
            log_warn("user \"%s\": the recording cannot be read again: %s", session->name,
                     error_name(own->status.error));
            session_notice(host, session, "the recording cannot be read: back to the common time");
            go_back(host, session);
        }
    }
}
