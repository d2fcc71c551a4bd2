/*
 * source_relay_follow.c: how a relay handles worlds, events, snapshots and users from above.
 * message_decode and the snapshot receiver have validated the data; this file only checks that it
 * fits the known world. Runs on the relay's thread.
 */
#include "server/host/frame_merge.h"
#include "server/host/source_relay_internal.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000ull

enum {
    /* After this long without a complete snapshot, viewers get the newest state of each chunk. */
    TIMEOUT_MS = 100,
    /* Wait longer for the first frame of a world. */
    TIMEOUT_FIRST_MS = 5000,
    TICKS_AHEAD_MAX = 1 << 20,
};

/* ---- worlds ---- */

static int entities_copy(EntityList *list, const WorldCopy *world, const EntityList *from)
{
    entity_list_clear(list);
    list->scene = world->scene;
    return entity_list_set(list, world->fields, from->items, from->count);
}

static void recorder_end(RelaySource *s)
{
    log_warn("the world above changed: the recording %s ends here", recorder_path(s->recorder));
    pthread_mutex_lock(&s->mutex);
    Recorder *recorder = s->recorder;
    s->recorder = NULL;
    pthread_mutex_unlock(&s->mutex);
    recorder_destroy(recorder);
}

static void recorder_frame(RelaySource *s, Frame *frame)
{
    bool follows = s->recorded_tick == 0 || (frame->tick > s->recorded_tick &&
                                             frame->tick - s->recorded_tick <= TICKS_AHEAD_MAX);
    if (s->recorder != NULL && !follows) {
        recorder_end(s);
    }
    if (s->recorder != NULL) {
        recorder_tick(s->recorder, frame, NULL, 0);
        s->recorded_tick = frame->tick;
    }
}

/* The recording covers the first world only: a file holds one world. */
static void recorder_follow(RelaySource *s, const MessageWorld *described)
{
    if (s->recorder != NULL) {
        recorder_end(s);
    } else if (s->options.record_path != NULL && s->stats.worlds == 0) {
        ErrorText error = {0};
        RecordingHead head = {.tick_rate = s->worlds.newest->scene->tick_rate,
                              .created_unix_s = clock_unix_s(),
                              .world = *described};
        RecorderOptions options = {.path = s->options.record_path,
                                   .picture_rate = s->options.record_rate,
                                   .force = s->options.record_force};
        snprintf(head.build, sizeof head.build, "plenum %s, a relay", PLENUM_VERSION);
        Recorder *recorder = recorder_create(&options, &head, &error);
        if (recorder == NULL) {
            log_error("%s", error.text);
        }
        pthread_mutex_lock(&s->mutex);
        s->recorder = recorder;
        pthread_mutex_unlock(&s->mutex);
    }
}

/* The same world after a reconnect: its stream restarts, its frames continue, unless their ticks
 * show that the world is a different one after all (whole_receive). */
static bool world_continue(RelaySource *s, WorldCopy *again)
{
    int result = entities_copy(&s->now, s->worlds.newest, &again->entities);
    world_copy_destroy(again);
    s->diverged = true;
    return result == 0;
}

static bool world_replace(RelaySource *s, WorldCopy *world, const MessageWorld *described)
{
    bool other = !world_copy_same(s->worlds.newest, world);
    world_chain_add(&s->worlds, world, &s->mutex);
    s->anew = true;
    s->diverged = false;
    s->begun = false;
    if (entities_copy(&s->now, world, &world->entities) != 0 ||
        entities_copy(&s->sent, world, &world->entities) != 0) {
        return false;
    }
    if (other) {
        recorder_follow(s, described);
    }
    pthread_mutex_lock(&s->mutex);
    s->stats.worlds++;
    pthread_mutex_unlock(&s->mutex);
    return true;
}

static void world_receive(RelaySource *s, const MessageWorld *message)
{
    ErrorText error = {0};
    WorldCopy *world = world_copy_create(message, &error);
    if (world == NULL) {
        upstream_world(s->upstream, false);
        return;
    }
    bool continues = s->same && s->begun && world_copy_same(s->worlds.newest, world);
    s->same = false; /* a second world in one session is a new one */
    frame_assembly_destroy(s->assembly);
    s->assembly = NULL;
    s->event_count = 0;
    bool valid = continues ? world_continue(s, world) : world_replace(s, world, message);
    if (valid) {
        s->assembly = frame_assembly_create(s->worlds.newest->fields, s->coder);
    }
    s->epoch = message->epoch;
    s->world_ns = s->now_ns;
    upstream_world(s->upstream, s->assembly != NULL);
}

/* ---- frames ---- */

static u32 events_until(const RelaySource *s, u64 tick)
{
    u32 count = 0;
    for (u32 i = 0; i < s->event_count; i++) {
        count += s->events[i].tick <= tick;
    }
    return count;
}

/* Moves the events up to this tick to the frame. */
static void events_take(RelaySource *s, Frame *frame)
{
    u32 used = 0, kept = 0;
    for (u32 i = 0; i < s->event_count; i++) {
        if (s->events[i].tick <= frame->tick) {
            frame->events[used++] = s->events[i].event;
        } else {
            s->events[kept++] = s->events[i];
        }
    }
    s->event_count = kept;
}

/* Makes a frame with the events up to its tick. */
static Frame *frame_begin(RelaySource *s, u64 tick)
{
    Frame *frame;
    if (s->anew) {
        frame = frame_create(s->worlds.newest->fields, tick, 1 + s->now.count);
        if (frame != NULL) {
            frame->events[0].kind = EVENT_RESET;
            for (u32 i = 0; i < s->now.count; i++) {
                frame->events[1 + i].kind = EVENT_SPAWN;
                frame->events[1 + i].entity = s->now.items[i];
            }
            s->event_count = 0;
        }
    } else if (s->diverged) {
        frame = frame_create(s->worlds.newest->fields, tick,
                             entity_list_changes(&s->sent, &s->now, NULL));
        if (frame != NULL) {
            (void)entity_list_changes(&s->sent, &s->now, frame->events);
            s->event_count = 0;
        }
    } else {
        frame = frame_create(s->worlds.newest->fields, tick, events_until(s, tick));
        if (frame != NULL) {
            events_take(s, frame);
        }
    }
    return frame;
}

static void host_wake(RelaySource *s)
{
    pthread_mutex_lock(&s->mutex);
    void (*wake)(void *context) = s->wake;
    void *context = s->wake_context;
    pthread_mutex_unlock(&s->mutex);
    if (wake != NULL) {
        wake(context);
    }
}

/* Passes a frame to the host. A host that is too slow loses frames, but no events. */
static void frame_give(RelaySource *s, Frame *frame, bool whole)
{
    pthread_mutex_lock(&s->mutex);
    if (frame_queue_full(&s->made)) {
        frame = frame_merge(frame_queue_pop_newest(&s->made), frame);
    }
    if (frame != NULL) {
        s->tick = frame->tick;
        frame_queue_push(&s->made, frame);
    }
    s->stats.frames += whole;
    s->stats.guessed += !whole;
    s->stats.linked = true;
    pthread_mutex_unlock(&s->mutex);
    host_wake(s);
}

/* Makes a frame from the assembled elements. */
static void frame_make(RelaySource *s, u64 tick, bool whole)
{
    /* Baselines cannot be this old: treat any such jump of ticks as a new stream. */
    s->anew = s->anew || (s->begun && tick - s->made_tick > TICKS_AHEAD_MAX);
    Frame *frame = frame_begin(s, tick);
    if (frame == NULL) {
        log_error("out of memory for a frame");
        return;
    }
    memcpy(frame->data, frame_assembly_data(s->assembly), frame->fields->frame_bytes);
    frame->world_time_s = (f64)tick / s->worlds.newest->scene->tick_rate;
    (void)entity_list_frame(&s->sent, frame);
    s->anew = s->diverged = false;
    s->begun = true;
    s->made_tick = tick;
    s->made_ns = s->now_ns;
    recorder_frame(s, frame);
    frame_give(s, frame, whole);
}

/* A snapshot is complete. */
static void whole_receive(RelaySource *s, u64 tick)
{
    if (s->begun && s->diverged && tick < s->made_tick) {
        s->diverged = s->begun = false; /* the server was restarted */
        s->anew = true;
    }
    if (!s->begun || tick > s->made_tick) {
        frame_make(s, tick, true);
    } else {
        pthread_mutex_lock(&s->mutex);
        s->stats.linked = true; /* the world is paused */
        pthread_mutex_unlock(&s->mutex);
    }
}

static void state_receive(void *context, const u8 *packet, u32 bytes)
{
    enum {
        FLAGS_AT = 16 /* byte offset in a packet, after 16 + 32 + 32 + 16 + 16 + 16 bits */
    };
    RelaySource *s = context;
    SnapshotHeader header;
    u64 tick;
    if (s->assembly == NULL || bytes <= FLAGS_AT || packet[FLAGS_AT] >> 4 != s->epoch ||
        frame_assembly_push(s->assembly, packet, bytes, &header) != ERROR_OK) {
        return;
    }
    upstream_acknowledge(s->upstream, snapshot_receiver_ack(frame_assembly_receiver(s->assembly)),
                         &header);
    if (frame_assembly_whole(s->assembly, &tick)) {
        whole_receive(s, tick);
    }
}

/* On a link that completes no snapshots, viewers get the states received so far, as a frame of the
 * tick before the newest, so that the newest can still follow if it completes. */
static void timeout_check(RelaySource *s)
{
    u64 since_ns = s->begun ? u64_max(s->made_ns, s->world_ns) : s->world_ns;
    u64 timeout_ns = (s->begun ? TIMEOUT_MS : TIMEOUT_FIRST_MS) * MS;
    if (s->assembly == NULL || s->now_ns - since_ns < timeout_ns) {
        return;
    }
    u64 newest = snapshot_receiver_tick(frame_assembly_receiver(s->assembly));
    if (newest > 0 && (!s->begun || newest - 1 > s->made_tick)) {
        (void)frame_assembly_newest(s->assembly);
        frame_make(s, newest - 1, false);
    }
}

/* ---- events and users ---- */

static void event_keep(RelaySource *s, u64 tick, const Event *event)
{
    if (s->event_count == s->event_capacity) {
        u32 capacity = u32_max(2 * s->event_capacity, 64);
        WaitingRelayEvent *grown =
            capacity <= RELAY_EVENTS_MAX ? realloc(s->events, capacity * sizeof *grown) : NULL;
        if (grown == NULL) {
            upstream_reject(s->upstream, "the server above sends more events than can be kept");
            return;
        }
        s->events = grown;
        s->event_capacity = capacity;
    }
    WaitingRelayEvent *waiting = &s->events[s->event_count++];
    *waiting = (WaitingRelayEvent){tick, *event};
    waiting->event.user = company_user(&s->company, event->user);
}

static void events_receive(RelaySource *s, const MessageEvents *events)
{
    if (s->assembly == NULL) {
        return;
    }
    for (u32 i = 0; i < events->count; i++) {
        const Event *event = &events->events[i];
        /* A reset arrives as a new world; a refusal concerns a user of the relay, or the relay. */
        bool forward =
            event->kind != EVENT_RESET &&
            (event->kind != EVENT_REFUSED || company_own_user(&s->company, event->user) != 0) &&
            entity_list_event(&s->now, s->worlds.newest->fields, event) == 0;
        if (forward) {
            event_keep(s, events->tick, event);
        }
    }
}

static void company_hear(RelaySource *s, const Message *message)
{
    pthread_mutex_lock(&s->mutex);
    company_receive(&s->company, message);
    pthread_mutex_unlock(&s->mutex);
}

static void notice_push(RelaySource *s, const char *text)
{
    pthread_mutex_lock(&s->mutex);
    company_notice(&s->company, text);
    pthread_mutex_unlock(&s->mutex);
}

/* ---- callbacks of the upstream ---- */

static void message_receive(void *context, const Message *message)
{
    RelaySource *s = context;
    switch (message->kind) {
    case MESSAGE_WORLD:
        world_receive(s, &message->world);
        break;
    case MESSAGE_EVENTS:
        events_receive(s, &message->events);
        break;
    case MESSAGE_STATUS:
        pthread_mutex_lock(&s->mutex);
        s->above = message->status;
        pthread_mutex_unlock(&s->mutex);
        break;
    case MESSAGE_ROSTER:
    case MESSAGE_PRESENCE:
    case MESSAGE_CHAT:
    case MESSAGE_GUESTS:
        company_hear(s, message);
        break;
    default: /* notices are for the relay itself; the rest is not needed */
        break;
    }
}

static void welcomed(void *context, const MessageWelcome *welcome, bool same)
{
    RelaySource *s = context;
    s->same = same;
    relay_guests_forget(s);
    pthread_mutex_lock(&s->mutex);
    s->company.own_user = welcome->user;
    s->stats.sessions++;
    presence_list_clear(&s->company.presences);
    pthread_mutex_unlock(&s->mutex);
    log_info("relay: joined the server above as user %u, %s", welcome->user,
             role_name(welcome->role));
    if (s->stats.sessions > 1) {
        notice_push(s, "the server above is reachable again");
    }
}

static void lost(void *context, const char *why)
{
    RelaySource *s = context;
    frame_assembly_destroy(s->assembly);
    s->assembly = NULL;
    pthread_mutex_lock(&s->mutex);
    bool was = s->stats.linked;
    s->stats.linked = false;
    company_part(&s->company);
    pthread_mutex_unlock(&s->mutex);
    log_warn("relay: %s; looking for it again", why);
    if (was) {
        notice_push(s, "lost the server above: the world is frozen until it answers");
    }
    host_wake(s);
}

UpstreamHandler relay_handler(RelaySource *s)
{
    return (UpstreamHandler){.context = s,
                             .welcomed = welcomed,
                             .message = message_receive,
                             .state = state_receive,
                             .lost = lost};
}

void relay_follow(RelaySource *s, u64 now_ns)
{
    s->now_ns = now_ns;
    relay_send(s);
    upstream_poll(s->upstream, now_ns);
    timeout_check(s);
    if (upstream_state(s->upstream) == UPSTREAM_CLOSED) {
        pthread_mutex_lock(&s->mutex);
        s->closed = *upstream_error(s->upstream);
        pthread_mutex_unlock(&s->mutex);
    }
}
