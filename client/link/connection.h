/*
 * connection.h: one client's connection to a server: handshake, messages, state packets,
 * redundant inputs, clock, and the known state of the world (fields, entities, users). Polled by
 * its owner; no threads, no drawing, no SDL. Used by bots, headless clients and the window.
 * Layer: client/link.
 */
#ifndef PLENUM_CLIENT_LINK_CONNECTION_H
#define PLENUM_CLIENT_LINK_CONNECTION_H

#include "protocol/scene/scene.h"
#include "protocol/session/input.h"
#include "protocol/session/link.h"
#include "protocol/session/message.h"

typedef enum ConnectionState {
    CONNECTION_CONNECTING, /* transport or handshake in progress */
    CONNECTION_JOINING,    /* welcomed, waiting for the world */
    CONNECTION_LIVE,       /* world known, snapshots arriving */
    CONNECTION_CLOSED,     /* left, refused or lost: see connection_error */
} ConnectionState;

typedef struct ConnectionOptions {
    char name[NAME_BYTES_MAX];
    const u8 *token;
    u32 token_bytes;
    const Identity *identity;          /* shown to the server and proven; NULL: none; copied */
    char password[PASSWORD_BYTES_MAX]; /* "": none */
    bool reconnect;                    /* keep reconnecting after a loss, with the same user id */
    /* Creates the link of the next attempt (NULL: failed); without it a loss is final. */
    Link *(*dial)(void *context, ErrorText *error);
    void *dial_context;
} ConnectionOptions;

typedef struct Connection Connection;

/* Takes ownership of the link (an outgoing one). NULL: out of memory. */
Connection *connection_create(Link *link, const ConnectionOptions *options, ErrorText *error);
/* Sends GOODBYE if live. NULL is fine. */
void connection_destroy(Connection *connection);
/* Receives, and sends what is due. Call at least every 16 ms. */
void connection_poll(Connection *connection, u64 now_ns);
/* Descriptor to wait on between polls: readable when a packet arrived. −1: none now. */
int connection_fd(const Connection *connection);
ConnectionState connection_state(const Connection *connection);
/* While JOINING: position in the queue for a place (1 is next) of `waiting`; 0: not in a queue. */
u32 connection_queue(const Connection *connection, u32 *waiting);
const ErrorText *connection_error(const Connection *connection);

/* ---- known state of the world (valid from LIVE on; borrowed until the next poll) ---- */
const Scene *connection_scene(const Connection *connection);
const FieldSet *connection_fields(const Connection *connection);
/* Live entities in id order. `version` changes whenever the list does. */
const Entity *connection_entities(const Connection *connection, u32 *count, u64 *version);
const Entity *connection_entity(const Connection *connection, u32 id); /* or NULL */
const Entity *connection_entity_named(const Connection *connection, const char *name);
const ScalarInfo *connection_parameters(const Connection *connection, u32 *count);
const ScalarInfo *connection_probes(const Connection *connection, u32 *count);
const UserInfo *connection_users(const Connection *connection, u32 *count);
const Presence *connection_presences(const Connection *connection, u32 *count);
const MessageStatus *connection_status(const Connection *connection);
/* The recorded tick that a tick of the stream shows; the same in a live world. */
f64 connection_recorded_tick(const Connection *connection, f64 stream_tick);
/* While away (OWN_TIME_AWAY): the recorded tick of the common time. */
f64 connection_common_tick(const Connection *connection);
/* The survey of the recording; NULL: a live world, or not known yet. `version` (may be NULL)
 * changes with every new one. */
const MessageSurvey *connection_survey(const Connection *connection, u32 *version);
/* The worlds that an operator can load by name; NULL: the server sent no list. */
const SaveInfo *connection_saves(const Connection *connection, u32 *count);
u32 connection_user(const Connection *connection); /* own id */
Role connection_role(const Connection *connection);
u32 connection_tick_rate(const Connection *connection);
/* Number of worlds received: when it changes, scene, fields, timeline and entities are replaced. */
u32 connection_worlds(const Connection *connection);
/* Epoch of the received stream, 1 to 15: a reset or a seek starts another in the same world. 0:
 * none. */
u32 connection_epoch(const Connection *connection);
/* Next event (impact, hold, refusal, chat as text ...) in order of arrival; false if none. */
typedef struct ConnectionNews {
    u64 tick;
    Event event;               /* kind EVENT_NONE for texts */
    u32 user;                  /* sender of a chat */
    char text[TEXT_BYTES_MAX]; /* chat or notice, else "" */
} ConnectionNews;
bool connection_news(Connection *connection, ConnectionNews *news);

/* ---- state as shown: see timeline.h ---- */
struct Timeline;
struct Timeline *connection_timeline(Connection *connection);

/* ---- the debug picture of the simulation ---- */
/* Subscribes to the parts of the debug picture in DEBUG_ bits, across reconnections; 0:
 * unsubscribes. */
void connection_debug_subscribe(Connection *connection, u32 mask);
/* The newest debug picture not newer than the shown tick; NULL: none yet. Borrowed until the
 * next poll. */
const DebugPicture *connection_debug(Connection *connection);

/* ---- reaching in ---- */
/* Queues an input (sets user and sequence); returns its sequence, 0 if the queue is full. */
u32 connection_input(Connection *connection, const Input *input);
/* Sets camera and cursor for the next input packets. */
void connection_view(Connection *connection, const SnapshotView *view, Ray cursor,
                     bool cursor_visible);
int connection_control(Connection *connection, ControlKind kind, f64 value);
/* Adds a bookmark at a recorded tick (0: now) to the timeline. */
int connection_bookmark(Connection *connection, u64 tick, const char *text);
int connection_chat(Connection *connection, const char *text);

typedef struct ConnectionStats {
    u64 snapshots; /* distinct ticks received */
    u64 bytes_in, bytes_out, packets_in, packets_lost;
    u64 desyncs, refused, malformed;
    u64 tick_first, tick_last;
    f64 rtt_ms, jitter_ms, loss; /* loss: fraction over the last seconds, [0, 1] */
    f64 bytes_in_per_s;          /* over the last second */
    f64 coarse; /* fraction of the shown state received in reduced detail, [0, 1] */
} ConnectionStats;
void connection_stats(const Connection *connection, ConnectionStats *stats);

#endif
