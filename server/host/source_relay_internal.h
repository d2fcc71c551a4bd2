/*
 * source_relay_internal.h: the state of a relay, shared by source_relay.c (creation and the host's
 * side), source_relay_follow.c (data from above) and source_relay_up.c (data sent up).
 * Layer: server/host, private.
 */
#ifndef PLENUM_SERVER_HOST_SOURCE_RELAY_INTERNAL_H
#define PLENUM_SERVER_HOST_SOURCE_RELAY_INTERNAL_H

#include "protocol/scene/scene.h"
#include "protocol/stream/entity_list.h"
#include "protocol/stream/frame_assembly.h"
#include "server/host/company.h"
#include "server/host/frame_queue.h"
#include "server/host/recorder.h"
#include "server/host/source_relay.h"
#include "server/host/upstream.h"
#include "server/host/world_chain.h"

#include <pthread.h>

enum {
    RELAY_EVENTS_MAX = 1 << 16, /* waiting for a frame */
};

typedef struct WaitingRelayEvent {
    u64 tick;
    Event event;
} WaitingRelayEvent;

typedef struct RelaySource {
    Source source;
    RelayOptions options;

    /* ---- the follower's ---- */
    Upstream *upstream;
    SpanCoder *coder;
    WorldChain worlds;
    u8 epoch; /* of the stream from above */
    FrameAssembly *assembly;
    EntityList now;            /* entities after all events received */
    EntityList sent;           /* entities after the frames made */
    WaitingRelayEvent *events; /* [event_count] not yet in a frame, in order of arrival */
    u32 event_count, event_capacity;
    bool same;     /* the session continues the world of the previous one */
    bool anew;     /* the next frame starts a new stream epoch */
    bool diverged; /* the next frame must list how `now` differs from `sent` */
    bool begun;    /* a frame of this world was made */
    u64 made_tick; /* of the last frame */
    u64 now_ns, made_ns, world_ns;
    u64 recorded_tick; /* 0: none */

    pthread_t thread;
    bool started;
    int wakes; /* eventfd that wakes the thread; −1: none */

    pthread_mutex_t mutex;
    /* ---- below: under the mutex ---- */
    bool stop;
    void (*wake)(void *context); /* NULL before the source is started */
    void *wake_context;
    Recorder *recorder;  /* set by the follower */
    MessageStatus above; /* status of the server above */
    ErrorText closed;    /* why joining failed for good; code 0: it has not */
    FrameQueue made;
    RelayStats stats;
    u64 tick; /* newest frame made */
    RelayCompany company;
} RelaySource;

/* ---- source_relay_follow.c ---- */

/* Receives from the server above and makes frames. */
void relay_follow(RelaySource *s, u64 now_ns);
UpstreamHandler relay_handler(RelaySource *s);

/* ---- source_relay_up.c ---- */

/* Call when a session ends: the next one assigns new ids. */
void relay_guests_forget(RelaySource *s);
u32 relay_input(RelaySource *s, const Input *inputs, u32 count);
void relay_notify(RelaySource *s, const Message *message);
void relay_notify_users(RelaySource *s, const UserInfo *users, u32 count);
/* Sends the queued payloads; called by the follower. */
void relay_send(RelaySource *s);

#endif
