/*
 * upstream.h: a relay's connection to the server above it: handshake, order of the bulk channel,
 * acknowledgements, time-outs and the search for a server that was lost. What it receives is
 * decoded and checked as any external bytes; what it means is for its owner (source_relay.c). One
 * owner thread; time is an argument.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_UPSTREAM_H
#define PLENUM_SERVER_HOST_UPSTREAM_H

#include "protocol/session/link.h"
#include "protocol/session/message.h"
#include "protocol/stream/snapshot.h"

typedef enum UpstreamState {
    UPSTREAM_CONNECTING, /* transport or handshake in progress, or waiting for the next attempt */
    UPSTREAM_JOINED,     /* welcomed: messages may be sent */
    UPSTREAM_CLOSED,     /* it never was welcomed, and that is final: see upstream_error */
} UpstreamState;

typedef struct UpstreamOptions {
    char name[NAME_BYTES_MAX];
    u8 token[TOKEN_BYTES_MAX];
    u32 token_bytes;
    char password[PASSWORD_BYTES_MAX]; /* "": none */
    /* Creates the link of the next attempt; NULL: failed. */
    Link *(*dial)(void *context, ErrorText *error);
    void *dial_context;
} UpstreamOptions;

/* What arrives, called from upstream_poll. Arrays of a message are borrowed. */
typedef struct UpstreamHandler {
    void *context;
    /* A session began; `same`: as the user of the last one, so it is the same server. */
    void (*welcomed)(void *context, const MessageWelcome *welcome, bool same);
    /* Any message of a server after the WELCOME. */
    void (*message)(void *context, const Message *message);
    /* A payload of CHANNEL_STATE. */
    void (*state)(void *context, const u8 *packet, u32 bytes);
    /* The session ended; another is tried for. */
    void (*lost)(void *context, const char *why);
} UpstreamHandler;

typedef struct Upstream Upstream;

/* Copies both. The first attempt begins with the first poll. NULL: out of memory. */
Upstream *upstream_create(const UpstreamOptions *options, const UpstreamHandler *handler,
                          ErrorText *error);
/* Says goodbye. NULL is fine. */
void upstream_destroy(Upstream *upstream);
/* Receives, and sends what is due. Call at least every 16 ms, and when the descriptor is
 * readable. */
void upstream_poll(Upstream *upstream, u64 now_ns);
/* −1: none now. */
int upstream_fd(const Upstream *upstream);
UpstreamState upstream_state(const Upstream *upstream);
/* Why the last session or attempt ended. */
const ErrorText *upstream_error(const Upstream *upstream);
/* The world was received, or is not valid: without it a session is not kept for long. */
void upstream_world(Upstream *upstream, bool valid);
/* Acknowledges what a snapshot receiver has, with the next packet, which is due. header: of the
 * packet that arrived. */
void upstream_acknowledge(Upstream *upstream, SnapshotAck ack, const SnapshotHeader *header);
/* Ends the session because of what it sent, and looks for another. */
void upstream_reject(Upstream *upstream, const char *why);
/* 0 or a negative Error: ERROR_STATE before the WELCOME. */
int upstream_send(Upstream *upstream, u32 channel, const Message *message);
/* The same for an encoded one. */
int upstream_send_payload(Upstream *upstream, u32 channel, const u8 *data, u32 bytes);

typedef struct UpstreamStats {
    u64 bytes_in, bytes_out, packets_in, malformed;
    u64 sessions; /* begun so far */
} UpstreamStats;
void upstream_stats(const Upstream *upstream, UpstreamStats *stats);

#endif
