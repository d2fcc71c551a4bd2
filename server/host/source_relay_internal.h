/*
 * source_relay_internal.h: the state of a relay as a Source, shared by source_relay.c (the host's
 * side, its creation) and source_relay_follow.c (the follower's: what comes from above).
 * Layer: server/host, private.
 */
#ifndef PLENUM_SERVER_HOST_SOURCE_RELAY_INTERNAL_H
#define PLENUM_SERVER_HOST_SOURCE_RELAY_INTERNAL_H

#include "protocol/scene/scene.h"
#include "protocol/session/presence_list.h"
#include "protocol/stream/entity_list.h"
#include "protocol/stream/frame_assembly.h"
#include "server/host/frame_queue.h"
#include "server/host/recorder.h"
#include "server/host/source_relay.h"
#include "server/host/upstream.h"

#include <pthread.h>

enum {
    RELAY_EVENTS_MAX = 1 << 16, /* that wait for a frame */
    RELAY_SAID_MAX = 64,        /* texts that the host has not taken; the oldest are dropped */
    RELAY_USERS_MAX = 4096,
    RELAY_OUTBOX_MAX = 1024,
    RELAY_PRESENCES_MAX = 64,
};

/* A description of the world, as a MESSAGE_WORLD gave it. */
typedef struct RelayWorld {
    struct RelayWorld *next; /* the one after it, NULL: it is the newest; under the mutex */
    u8 *scene_bytes;
    Scene *scene;
    FieldSet *fields;
    ScalarInfo *scalars;  /* parameters, then probes */
    MessageWorld message; /* points to these; entities are in a list */
    EntityList entities;  /* at its beginning */
} RelayWorld;

/* A user of this host, and the id that the server above gave it; 0: none. */
typedef struct RelayGuest {
    u32 own, given;
} RelayGuest;

typedef struct RelayPayload {
    u8 *data; /* of message_encode */
    u32 bytes;
} RelayPayload;

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
    RelayWorld *world; /* the newest; NULL before the first */
    u8 epoch;          /* of the stream from above */
    FrameAssembly *assembly;
    EntityList now;            /* entities as of all events that arrived */
    EntityList told;           /* as of the frames made */
    WaitingRelayEvent *events; /* [event_count] not in a frame yet, in order of arrival */
    u32 event_count, event_capacity;
    bool same;     /* the session goes on with the world of the one before */
    bool anew;     /* the next frame begins a new stream epoch */
    bool diverged; /* the next frame tells how entities differ from what was told */
    bool begun;    /* a frame of this world was made */
    u64 made_tick; /* of the last one */
    u64 now_ns, made_ns, world_ns;
    u64 recorded_tick; /* 0: none */

    pthread_t thread;
    bool started;
    int wakes; /* eventfd that ends a wait of the thread; −1: none */

    pthread_mutex_t mutex;
    /* ---- below: under the mutex ---- */
    bool stop;
    void (*wake)(void *context); /* NULL before the source is started */
    void *wake_context;
    Recorder *recorder;  /* changed by the follower */
    MessageStatus above; /* status of the server above */
    ErrorText closed;    /* why it could not be joined; code 0: it may still be */
    FrameQueue made;
    RelayStats stats;
    u64 tick;                     /* newest frame made */
    Message said[RELAY_SAID_MAX]; /* ring: chats and notices */
    u32 said_first, said_count;
    UserInfo *users; /* [user_count] of the servers above, with ids as here */
    u32 user_count, users_version;
    PresenceList presences;      /* as sent, with their ids */
    u32 own_user;                /* the relay's own id above */
    UserInfo guests[GUESTS_MAX]; /* [guest_count] users of this host */
    u32 guest_count;
    bool guests_changed;        /* since they were told above */
    u32 told_users[GUESTS_MAX]; /* [told_count] as told last */
    u32 told_count;
    bool awaiting;                                       /* the answer to that */
    RelayGuest by_own[GUESTS_MAX], by_given[GUESTS_MAX]; /* [guest_ids] as answered */
    u32 guest_ids;
    RelayPayload outbox[RELAY_OUTBOX_MAX]; /* ring of what is passed up */
    u32 outbox_first, outbox_count;

    /* ---- the host's ---- */
    RelayWorld *taken;   /* of the frame taken last; the oldest that is kept */
    EntityList entities; /* as of the frame taken last */
    u64 taken_tick;
} RelaySource;

/* ---- source_relay_follow.c ---- */

/* Receives, and makes frames of it. */
void relay_follow(RelaySource *s, u64 now_ns);
UpstreamHandler relay_handler(RelaySource *s);
void relay_world_destroy(RelayWorld *world);

/* ---- source_relay_up.c ---- */

/* The id here of a user of the server above: one of this host, or one of there. 0: neither. */
u32 relay_user(const RelaySource *s, u32 user_above);
/* The user of this host to whom the server above gave this id; 0: none. */
u32 relay_own_user(const RelaySource *s, u32 given);
void relay_guests_answer(RelaySource *s, const u32 *given, u32 count);
/* The session ended: the next server gives other ids. */
void relay_guests_forget(RelaySource *s);
u32 relay_input(RelaySource *s, const Input *inputs, u32 count);
void relay_tell(RelaySource *s, const Message *message);
void relay_tell_users(RelaySource *s, const UserInfo *users, u32 count);
/* Sends what waits; the follower's. */
void relay_send(RelaySource *s);

#endif
