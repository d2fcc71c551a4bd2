/*
 * connection.h: one client's connection to a server: handshake, sealing, messages, state packets,
 * inputs with redundancy, clock, and what is known of the world (fields, entities, users).
 * Polled by its owner; no threads, no drawing, no SDL. Bots, headless clients and the window use
 * it.
 * Layer: client/link.
 */
#ifndef PLENUM_CLIENT_LINK_CONNECTION_H
#define PLENUM_CLIENT_LINK_CONNECTION_H

#include "protocol/scene/scene.h"
#include "protocol/session/input.h"
#include "protocol/session/link.h"
#include "protocol/session/message.h"

typedef enum ConnectionState {
    CONNECTION_CONNECTING, /* transport or handshake under way */
    CONNECTION_JOINING,    /* welcomed, waiting for the world */
    CONNECTION_LIVE,       /* world known, snapshots arriving */
    CONNECTION_CLOSED,     /* left, refused or lost: see connection_error */
} ConnectionState;

typedef struct ConnectionOptions {
    char name[NAME_BYTES_MAX];
    const u8 *token;
    u32 token_bytes;
    bool reconnect; /* keep trying after a loss, with the same user id */
    /* Makes the link of the next attempt (NULL: failed); without it a loss is final. */
    Link *(*dial)(void *context, ErrorText *error);
    void *dial_context;
} ConnectionOptions;

typedef struct Connection Connection;

/* Takes ownership of the link (an outgoing one). */
Connection *connection_create(Link *link, const ConnectionOptions *options, ErrorText *error);
/* Leaves politely if live. NULL is fine. */
void connection_destroy(Connection *connection);
/* Receives and sends whatever is due. Call at least every 16 ms. */
void connection_poll(Connection *connection, u64 now_ns);
/* Readable when something came: to wait on between polls. −1: there is none now. */
int connection_fd(const Connection *connection);
ConnectionState connection_state(const Connection *connection);
const ErrorText *connection_error(const Connection *connection);

/* ---- what is known of the world (valid from LIVE on; borrowed until the next poll) ---- */
const Scene *connection_scene(const Connection *connection);
const FieldSet *connection_fields(const Connection *connection);
/* Entities in id order; those despawned are gone. `version` changes whenever the list does. */
const Entity *connection_entities(const Connection *connection, u32 *count, u64 *version);
const Entity *connection_entity(const Connection *connection, u32 id); /* or NULL */
const Entity *connection_entity_named(const Connection *connection, const char *name);
const ScalarInfo *connection_parameters(const Connection *connection, u32 *count);
const ScalarInfo *connection_probes(const Connection *connection, u32 *count);
const UserInfo *connection_users(const Connection *connection, u32 *count);
const Presence *connection_presences(const Connection *connection, u32 *count);
const MessageStatus *connection_status(const Connection *connection);
u32 connection_user(const Connection *connection); /* own id */
Role connection_role(const Connection *connection);
u32 connection_tick_rate(const Connection *connection);
/* Counts the worlds received: when it changes, scene, fields, timeline and entities are others. */
u32 connection_worlds(const Connection *connection);
/* Of the stream received, 1 to 15: a reset or a seek begins another in the same world. 0: none. */
u32 connection_epoch(const Connection *connection);
/* Next event (impact, hold, refusal, chat as text ...) in order of arrival; false when none. */
typedef struct ConnectionNews {
    u64 tick;
    Event event;               /* kind EVENT_NONE for texts */
    u32 user;                  /* of a chat */
    char text[TEXT_BYTES_MAX]; /* chat or notice, else "" */
} ConnectionNews;
bool connection_news(Connection *connection, ConnectionNews *news);

/* ---- state as shown: see timeline.h ---- */
struct Timeline;
struct Timeline *connection_timeline(Connection *connection);

/* ---- the debug picture of the simulation ---- */
/* Asks for what the DEBUG_ bits say from now on, through reconnections; 0: no more of it. */
void connection_debug_subscribe(Connection *connection, u32 mask);
/* The newest picture that is not of a later tick than is shown; NULL: none yet. Borrowed until the
 * next poll. */
const DebugPicture *connection_debug(Connection *connection);

/* ---- reaching in ---- */
/* Queues an input (user and sequence are filled in); returns its sequence, 0 if the queue is full.
 */
u32 connection_input(Connection *connection, const Input *input);
/* Camera and cursor for the next input packets. */
void connection_view(Connection *connection, const SnapshotView *view, Ray cursor,
                     bool cursor_visible);
int connection_control(Connection *connection, ControlKind kind, f64 value);
int connection_chat(Connection *connection, const char *text);

typedef struct ConnectionStats {
    u64 snapshots; /* distinct ticks received */
    u64 bytes_in, bytes_out, packets_in, packets_lost;
    u64 desyncs, refused, malformed;
    u64 tick_first, tick_last;
    f64 rtt_ms, jitter_ms, loss; /* loss: share of the last seconds, [0, 1] */
    f64 bytes_in_per_s;          /* over the last second */
    f64 coarse; /* share of what is shown that came in less than full detail, [0, 1] */
} ConnectionStats;
void connection_stats(const Connection *connection, ConnectionStats *stats);

#endif
