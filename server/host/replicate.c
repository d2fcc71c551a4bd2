/*
 * replicate.c: sends clients the world when they join or when it restarts, the events of each tick,
 * snapshots within their budgets, and the state of world time. Frames are encoded once for all
 * clients with the same baseline.
 */
#include "server/host/session.h"

#include "shared/base/check.h"
#include "shared/base/log.h"

#include <math.h>
#include <string.h>

enum {
    STATUS_MS = 1000,
    IMPACTS_SHARE = 8, /* a client's budget divided by this is for impacts */
    ROSTER_MS = 5000,  /* the roster contains round trip times, which change */
};

/* ---- frames ---- */

static bool fields_same(const FieldSet *a, const FieldSet *b)
{
    return a == b || (a->count == b->count &&
                      memcmp(a->fields, b->fields, a->count * sizeof a->fields[0]) == 0);
}

static void grabs_clear(Host *host)
{
    for (u32 i = 0; i < host->session_capacity; i++) {
        host->sessions[i].grabbed = 0;
    }
}

/* The server above a relay may continue with another world. */
static void scene_follow(Host *host, Stream *stream, const MessageWorld *world)
{
    ErrorText error = {0};
    if (world->scene_bytes == host->scene->byte_count &&
        memcmp(world->scene, host->scene->bytes, world->scene_bytes) == 0) {
        return;
    }
    Scene *scene = scene_from_bytes(world->scene, world->scene_bytes, &error);
    if (scene == NULL) {
        log_error("the source describes a scene that is not valid: %s", error.text);
        return;
    }
    scene_destroy(host->scene);
    host->scene = scene;
    host->tick_rate = scene->tick_rate;
    stream->entities.scene = scene;
}

/* After a seek, a reset or a change of world all clients start with a new description. */
static void epoch_begin(Host *host, Stream *stream, const Frame *frame)
{
    MessageWorld world = {0};
    stream->epoch = (u8)(stream->epoch % 15 + 1);
    history_finish(&stream->history);
    history_init(&stream->history);
    stream->cache_begun = false;
    stream->source->ops->describe(stream->source, &world);
    entity_list_clear(&stream->entities);
    scene_follow(host, stream, &world);
    if (entity_list_set(&stream->entities, frame->fields, world.entities, world.entity_count) !=
        0) {
        log_error("the source describes entities that do not fit its fields");
    }
    if (stream == &host->common) {
        grabs_clear(host);
    }
    for (u32 i = 0; i < host->session_capacity; i++) {
        Session *session = &host->sessions[i];
        if (stream_of(host, session) != stream) {
            continue;
        }
        session_sender_end(session);
        session->world_sent = false;
    }
}

static bool frame_starts_epoch(const Stream *stream, const Frame *frame)
{
    const Frame *newest = stream->history.newest;
    if (newest == NULL || frame->tick <= newest->tick ||
        !fields_same(frame->fields, newest->fields)) {
        return true;
    }
    for (u32 i = 0; i < frame->event_count; i++) {
        if (frame->events[i].kind == EVENT_RESET) {
            return true;
        }
    }
    return false;
}

static void grab_apply(Host *host, const Event *event)
{
    Session *session = session_of_user(host, event->user);
    if (session != NULL) {
        session->grabbed = event->a;
        session->element = event->element;
        session->local = event->position;
    }
}

/* Impacts cause sounds and marks but change no state: a client gets as many as its link can carry,
 * and none before it has the world. */
static bool impacts_wanted(Host *host, Session *session, u32 bytes)
{
    if (!session->world_here || host->now_ms < session->impacts_ms) {
        return false;
    }
    f64 cost = bytes + SEAL_OVERHEAD_BYTES + BUDGET_HEAD_BYTES;
    session->impacts_ms =
        host->now_ms + (u64)(1000.0 * IMPACTS_SHARE * cost / budget_trusted(&session->budget));
    return true;
}

static bool only_impacts(const MessageEvents *events)
{
    for (u32 i = 0; i < events->count; i++) {
        if (events->events[i].kind != EVENT_IMPACT) {
            return false;
        }
    }
    return true;
}

/* Sends events to all viewers of the stream in one encoding; a refusal goes only to its user. */
static void events_notify(Host *host, const Stream *stream, const Frame *frame, bool epoch)
{
    Message message = {.kind = MESSAGE_EVENTS};
    u32 first = 0;
    bool common = stream == &host->common; /* the others have no users */
    message.events.tick = frame->tick;
    /* Runs between refusals: usually the whole tick is one run. */
    for (u32 i = 0; i <= frame->event_count; i++) {
        const Event *event = i < frame->event_count ? &frame->events[i] : NULL;
        if (common && event != NULL && event->kind == EVENT_GRAB) {
            grab_apply(host, event);
        }
        if (common && event != NULL) {
            spawns_event(host, event);
            undo_event(host, event);
            if (event->kind == EVENT_RESET && event->code == EVENT_RESET_LOAD) {
                keep_owners_restore(host);
            }
        }
        if (event != NULL && event->kind != EVENT_REFUSED) {
            continue;
        }
        message.events.events = frame->events != NULL ? &frame->events[first] : NULL;
        message.events.count = i - first;
        if (message.events.count > 0 && !epoch && host->stats.clients > 0) {
            stream_message(host, stream, CHANNEL_BULK, &message,
                           only_impacts(&message.events) ? impacts_wanted : NULL);
            host->stats.events += message.events.count;
        }
        first = i + 1;
        Session *session = common && event != NULL ? session_of_user(host, event->user) : NULL;
        if (session != NULL) {
            session_refused(host, session, event->sequence, event->code);
        }
    }
}

static void frame_apply(Host *host, Stream *stream, Frame *frame)
{
    bool epoch = frame_starts_epoch(stream, frame);
    if (epoch) {
        epoch_begin(host, stream, frame);
    } else {
        (void)entity_list_frame(&stream->entities, frame);
        for (u32 i = 0; i < frame->event_count; i++) {
            transfer_world_event(stream, &frame->events[i]);
        }
    }
    history_push(&stream->history, frame);
    events_notify(host, stream, frame, epoch);
}

/* Status as sent to the viewers of the stream. */
static MessageStatus status_now(const Host *host, const Stream *stream)
{
    MessageStatus status = stream->status.status;
    const MessageStatus *common = &host->common.status.status;
    bool own = stream != &host->common;
    status.own_time = own_times_offered(host) ? OWN_TIME_OFFERED : OWN_TIME_NONE;
    status.own_time = own ? OWN_TIME_AWAY : status.own_time;
    status.common_tick = own ? (u64)stream_recorded_tick(&host->common) : 0;
    status.common_speed = own && !common->paused ? common->speed : 0.0f;
    return status;
}

/* True: users in own time have not been told yet that the common time jumped. */
static bool common_moved(const Host *host, const Stream *stream)
{
    const PlaySegment *play = &host->common.status.status.play;
    return stream != &host->common && memcmp(play, &stream->common_sent, sizeof *play) != 0;
}

/* The world and the changes of its entities since it was packed. */
static int world_transfer(Host *host, const Stream *stream, Session *session)
{
    int result = transfer_world(host, stream, session);
    if (result == 0 && stream->world_tail_count > 0) {
        Message tail = {.kind = MESSAGE_EVENTS};
        tail.events.tick = stream->history.newest->tick;
        tail.events.events = stream->world_tail;
        tail.events.count = stream->world_tail_count;
        result = session_message(host, session, CHANNEL_BULK, &tail);
    }
    return result;
}

static void world_send(Host *host, const Stream *stream, Session *session)
{
    Message message = {.kind = MESSAGE_STATUS};
    session->sender = snapshot_sender_create(stream->history.newest->fields);
    if (session->sender == NULL || world_transfer(host, stream, session) != 0) {
        session_close(host, session, REFUSE_KICKED, "the world cannot be sent");
        return;
    }
    snapshot_sender_allow_coarse(session->sender, true);
    session->world_sent = true;
    session->world_here = false;
    session->early_bytes = 0;
    message.status = status_now(host, stream);
    session_message(host, session, CHANNEL_CONTROL, &message);
    chronicle_send(host, session);
    saves_send(host, session);
}

static void worlds_send(Host *host, Stream *stream)
{
    bool ready = false;
    for (u32 i = 0; i < host->peer_capacity && stream->history.newest != NULL; i++) {
        Session *session = &host->sessions[i];
        if (session->state == SESSION_LIVE && !session->world_sent &&
            stream_of(host, session) == stream) {
            if (!ready && !(ready = transfer_world_ready(host, stream))) {
                return;
            }
            world_send(host, stream, session);
            host->roster_dirty = true;
        }
    }
}

/* ---- snapshots ---- */

static void snapshot_send(Host *host, Stream *stream, Session *session)
{
    const MessageStatus *status = &stream->status.status;
    if (session->encoding ||
        (snapshot_elsewhere(host, stream, session) && snapshot_can_wait(host))) {
        return;
    }
    u32 allowed = budget_take(&session->budget, host->now_ms);
    if (allowed == 0) {
        return;
    }
    f32 speed = status->paused ? 0.0f : f32_clamp(fabsf(status->speed), 0.0f, 60.0f);
    SnapshotHeader header = {
        .tick = (u32)stream->history.newest->tick,
        .input_ack = session->input_newest,
        .send_ms = (u16)host->now_ms,
        .speed = (u16)(speed * 1024.0f),
        .flags =
            (u8)(stream->epoch << 4 | (session->limited ? SNAPSHOT_LIMITED : 0) |
                 (status->slowed ? SNAPSHOT_SLOWED : 0) | (status->replay ? SNAPSHOT_REPLAY : 0)),
    };
    if (session->relay) {
        stream->frame_hash =
            stream->frame_hash != 0 ? stream->frame_hash : frame_hash(stream->history.newest);
        header.frame_hash = stream->frame_hash;
    }
    if (session->echo_at_ms != 0) {
        u64 held_ms = u64_min(host->now_ms - session->echo_at_ms, 30000);
        header.echo_ms = (u16)(session->echo_ms + held_ms);
    }
    u32 rtt_ms = session->rtt_ms > 0.0 ? (u32)session->rtt_ms : 100;
    snapshot_build(host, stream, session, &header, (SnapshotLine){allowed, host->now_ms, rtt_ms});
}

/* A client without a world cannot acknowledge. Its first states are sent right after the blocks
 * of the world, so that on most links the picture appears with it; more would only delay lost
 * blocks on a narrow link. */
static bool states_wanted(Host *host, Session *session)
{
    if (session->state != SESSION_LIVE || !session->world_sent || session->encoding) {
        return false;
    }
    if (!session->world_here && transfer_world_arrived(session)) {
        bool near;
        f64 rtt_ms, bytes_s = transfer_bytes_s(session, &rtt_ms, &near);
        session->world_here = true;
        session->here_ms = host->now_ms;
        if (!session->joined) {
            buckets_add(&host->measures.join, &BOUNDS_SECONDS,
                        (f64)(host->now_ms - session->opened_ms) * 1e-3);
        }
        session->joined = true;
        session->rtt_ms = session->rtt_ms > 0.0 ? session->rtt_ms : rtt_ms;
        if (session->early_bytes > 0) {
            budget_begin(&session->budget, bytes_s, rtt_ms, host->now_ms);
        }
        if (near && bytes_s == 0.0) {
            budget_near(&session->budget);
        }
        snapshot_sender_expect(session->sender, session->budget.bytes_s, host->now_ms);
    }
    return session->world_here ||
           (transfer_world_out(session) && session->early_bytes < BUDGET_FIRST_BYTES);
}

/* Points of liquids, grains, billboards and clouds may be decimated; cloth, ropes and soft bodies
 * keep theirs. */
static void points_decimate(Stream *stream)
{
    chunk_cache_decimate_none(stream->cache);
    for (u32 i = 0; i < stream->entities.count; i++) {
        const Entity *entity = &stream->entities.items[i];
        if (appearance_is_loose(&entity->appearance)) {
            chunk_cache_decimate(stream->cache, entity->field, entity->first, entity->count);
        }
    }
}

static void snapshots_send(Host *host, Stream *stream)
{
    u64 interval_ns = 1000000000ull / host->options.snapshot_rate;
    stream->snapshot_ns += interval_ns;
    if (stream->snapshot_ns < host->now_ns) {
        stream->snapshot_ns = host->now_ns + interval_ns;
    }
    if (stream->history.newest == NULL || host->stats.clients == 0) {
        return;
    }
    snapshots_cache_free(host); /* a world that stands still has the same tick again */
    if (!stream->cache_begun || stream->cache_tick != stream->history.newest->tick) {
        bool anew = !stream->cache_begun || stream->decimate_version != stream->entities.version;
        if (chunk_cache_begin(stream->cache, &stream->history) && anew) {
            points_decimate(stream);
            stream->decimate_version = stream->entities.version;
        }
        stream->cache_tick = stream->history.newest->tick;
        stream->cache_begun = true;
        stream->frame_hash = 0;
    }
    for (u32 i = 0; i < host->session_capacity; i++) {
        Session *session = &host->sessions[i];
        if (stream_of(host, session) == stream && states_wanted(host, session)) {
            snapshot_send(host, stream, session);
        }
    }
    snapshots_hand_over(host, stream);
    host->link->ops->flush(host->link);
}

/* Takes the stream's frames; true: there were some. */
static bool frames_take(Host *host, Stream *stream)
{
    Frame *frame;
    bool any = false;
    while ((frame = stream->source->ops->take(stream->source)) != NULL) {
        frame_apply(host, stream, frame);
        frame_release(frame);
        host->measures.frames++;
        any = true;
        VALIDATE_STORE(stream_validate(stream));
    }
    stream->source->ops->status(stream->source, &stream->status);
    worlds_send(host, stream);
    return any;
}

/* A snapshot is sent with the frame that makes it due: newer data than by a timer. Those of a relay
 * arrive when they are due above; if that is more often than here, some are skipped. */
static void snapshots_due(Host *host, Stream *stream)
{
    u64 early_ns = stream->status.forwarded ? 500000000ull / host->options.snapshot_rate : 2000000;
    if (host->now_ns + early_ns >= stream->snapshot_ns) {
        snapshots_send(host, stream);
    }
}

void replicate_frames(Host *host)
{
    snapshots_take(host);
    bool any = frames_take(host, &host->common);
    for (u32 i = 0; i < host->options.own_times; i++) {
        Stream *own = &host->owns[i];
        if (own->source != NULL && !own->abandoned && frames_take(host, own)) {
            snapshots_due(host, own);
        }
    }
    debug_subscription_send(host);
    if (any) {
        snapshots_due(host, &host->common);
    }
}

/* ---- by the clock ---- */

static void roster_send(Host *host)
{
    u32 count = 0;
    /* A message names no more. */
    u32 most = u32_min(host->roster_capacity, CLIENTS_MAX);
    for (u32 i = 0; i < host->session_capacity && count < most; i++) {
        const Session *session = &host->sessions[i];
        if (session->state == SESSION_LIVE) {
            UserInfo *user = &host->roster[count++];
            session_user_info(session, user);
            user->color = session->color;
            user->rtt_ms = (u32)session->rtt_ms;
            user->own_time = session->own != NULL;
        }
    }
    count += above_users(host, host->roster + count, most - count);
    Message message = {.kind = MESSAGE_ROSTER};
    message.roster.users = host->roster;
    message.roster.count = count;
    sessions_message(host, CHANNEL_CONTROL, &message, NULL);
    host->roster_dirty = false;
    host->roster_ms = host->now_ms + ROSTER_MS;
}

static void status_send(Host *host, Stream *stream)
{
    const MessageStatus wanted = status_now(host, stream), *now = &wanted;
    const MessageStatus *sent = &stream->status_sent;
    bool changed = now->paused != sent->paused || now->slowed != sent->slowed ||
                   now->speed != sent->speed || now->last_tick != sent->last_tick ||
                   now->loop_first != sent->loop_first || now->loop_last != sent->loop_last ||
                   memcmp(&now->play, &sent->play, sizeof now->play) != 0 ||
                   now->common_speed != sent->common_speed || common_moved(host, stream);
    if (!changed && host->now_ms < stream->status_ms) {
        return;
    }
    Message message = {.kind = MESSAGE_STATUS};
    message.status = *now;
    stream_message(host, stream, CHANNEL_CONTROL, &message, NULL);
    stream->common_sent = host->common.status.status.play;
    stream->status_sent = *now;
    stream->status_ms = host->now_ms + STATUS_MS;
}

/* No frame made it due: the source is paused or slower than the snapshot rate. */
static void snapshots_late(Host *host, Stream *stream)
{
    u64 interval_ns = 1000000000ull / host->options.snapshot_rate;
    if (host->now_ns > stream->snapshot_ns + interval_ns / 2) {
        snapshots_send(host, stream);
    }
}

void replicate_clock(Host *host)
{
    snapshots_late(host, &host->common);
    for (u32 i = 0; i < host->options.own_times; i++) {
        if (host->owns[i].source != NULL && !host->owns[i].abandoned) {
            snapshots_late(host, &host->owns[i]);
            status_send(host, &host->owns[i]);
        }
    }
    if (host->stats.clients == 0) {
        return;
    }
    status_send(host, &host->common);
    chronicle_check(host);
    if (host->roster_dirty || host->now_ms >= host->roster_ms) {
        roster_send(host);
    }
    presence_send(host);
}
