/*
 * upstream.h: a connection to the server above, of a relay or of a console: handshake, order of the
 * bulk channel, acknowledgements, time-outs and reconnection. Decodes and validates what it
 * receives; the owner (source_relay.c) interprets it. One owner thread; time is an argument.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_UPSTREAM_H
#define PLENUM_SERVER_HOST_UPSTREAM_H

#include "protocol/session/credentials.h"
#include "protocol/session/message.h"
#include "protocol/stream/snapshot.h"

typedef enum UpstreamState {
    UPSTREAM_CONNECTING, /* transport or handshake in progress, or waiting for the next attempt */
    UPSTREAM_JOINED,     /* welcomed: messages may be sent */
    UPSTREAM_CLOSED,     /* refused for good before any WELCOME: see upstream_error */
} UpstreamState;

typedef struct UpstreamOptions {
    char name[NAME_BYTES_MAX];
    Credentials shown; /* wiped when the upstream ends */
    bool relay;        /* it serves what it receives to others */
    /* Creates the link of the next attempt; NULL: failed. */
    Link *(*dial)(void *context, ErrorText *error);
    void *dial_context;
} UpstreamOptions;

/* Callbacks, made from upstream_poll. Arrays of a message are borrowed. */
typedef struct UpstreamHandler {
    void *context;
    /* A session began; `same`: it resumes the user of the last one, so the server is the same. */
    void (*welcomed)(void *context, const MessageWelcome *welcome, bool same);
    /* Any message after the WELCOME. */
    void (*message)(void *context, const Message *message);
    /* A payload of CHANNEL_STATE. */
    void (*state)(void *context, const u8 *packet, u32 bytes);
    /* The session ended; the upstream reconnects. */
    void (*lost)(void *context, const char *why);
} UpstreamHandler;

typedef struct Upstream Upstream;

/* Copies both arguments. The first poll starts the first attempt. NULL: out of memory. */
Upstream *upstream_create(const UpstreamOptions *options, const UpstreamHandler *handler,
                          ErrorText *error);
/* Disconnects. NULL is allowed. */
void upstream_destroy(Upstream *upstream);
/* Receives, and sends what is due. Call at least every 16 ms, and when the descriptor is
 * readable. */
void upstream_poll(Upstream *upstream, u64 now_ns);
/* −1: none at present. */
int upstream_fd(const Upstream *upstream);
UpstreamState upstream_state(const Upstream *upstream);
/* Why the last session or attempt ended. */
const ErrorText *upstream_error(const Upstream *upstream);
/* Reports that the world was received, or is invalid: a session without a world times out. */
void upstream_world(Upstream *upstream, bool valid);
/* Schedules an acknowledgement of a snapshot receiver's state for the next packet. header: of the
 * packet that arrived. */
void upstream_acknowledge(Upstream *upstream, SnapshotAck ack, const SnapshotHeader *header);
/* Ends a session that sent invalid data, and reconnects. */
void upstream_reject(Upstream *upstream, const char *why);
/* Sends a message. 0 or a negative Error: ERROR_STATE before the WELCOME. */
int upstream_send(Upstream *upstream, u32 channel, const Message *message);
/* The same for an encoded message. */
int upstream_send_payload(Upstream *upstream, u32 channel, const u8 *data, u32 bytes);

#endif
