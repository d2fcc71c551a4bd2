/*
 * connection_internal.h: internals of a Connection, shared by the files connection*.c. Each calls
 * only those before it in this list: connection_link.c (sending, and the end of a link),
 * connection_receive.c (incoming messages and headers), connection.c (handshake, inputs: drives the
 * others).
 * Layer: client/link, private.
 */
#ifndef PLENUM_CLIENT_LINK_CONNECTION_INTERNAL_H
#define PLENUM_CLIENT_LINK_CONNECTION_INTERNAL_H

#include "client/link/connection.h"
#include "client/link/couplings.h"
#include "client/link/static_colliders.h"
#include "client/link/timeline.h"
#include "protocol/session/bulk_queue.h"
#include "protocol/session/presence_list.h"
#include "protocol/stream/entity_list.h"

enum {
    SEGMENTS_KEPT = 16, /* jumps of a recording within the playout delay */
    DEBUG_KEPT = 16,    /* debug pictures: more than a second of them */
    NEWS_MAX = 256,     /* queued events and texts; the oldest are dropped */
    USERS_MAX = 4096,   /* of a roster */
    LOSS_SECONDS = 5,
    EARLY_MAX = 64,
    /* State packets that arrived before their world. */
    REORDERED_MAX = 128,
    REORDERED_MS_MAX = 2000,
};

typedef struct ReorderedMessage {
    u64 arrived_ns;
    u32 bytes; /* 0: free */
    u8 data[STATE_PAYLOAD_BYTES_MAX];
} ReorderedMessage;

struct Connection {
    Link *link;       /* owned; NULL between attempts */
    u64 welcome_hash; /* of the accepted WELCOME: the others are repeats of it */
    u32 welcome_bytes;
    u32 peer;
    ConnectionOptions options;
    u8 token[TOKEN_BYTES_MAX];
    u32 token_bytes;
    Identity identity;
    bool proves; /* by that identity */
    ConnectionState state;
    ErrorText error;
    char refused_text[TEXT_BYTES_MAX];
    bool polled;
    u64 now_ns, begun_ns, heard_ns, retry_at_ns;
    u64 arrived_ns; /* arrival time of the current payload, ≤ now_ns */
    u32 retry_gap_ms;

    /* Payloads of the bulk channels that arrived before the WELCOME, in order; see
     * payload_receive. */
    struct {
        u8 *data;
        u32 bytes;
        u32 channel;
    } early[EARLY_MAX];
    u32 early_count;
    u32 early_bytes;

    BulkQueue bulk;          /* begun with the WELCOME */
    ReorderedMessage *ahead; /* ring of REORDERED_MAX; NULL: none */
    u32 reordered_next;

    bool welcomed;
    u32 queue_position, queue_waiting; /* 0: not in a queue */
    u32 user, tick_rate, snapshot_rate;
    Role role;
    u64 resume;

    /* The world: all NULL before its first arrival. */
    u32 worlds;
    u8 epoch;
    Scene *scene;
    FieldSet *fields;
    SpanCoder *coder; /* shared by all receivers, created with the first */
    SnapshotReceiver *receiver;
    Timeline *timeline;
    StaticColliders *colliders;
    Couplings *couplings;
    EntityList entities;
    const Timeline *bodies_of; /* the timeline that knows which points form bodies, ... */
    u64 bodies_version;        /* ... and the version of that list */
    ScalarInfo *parameters, *probes;
    u32 parameter_count, probe_count;

    UserInfo *users;
    u32 user_count;
    PresenceList presences;
    MessageStatus status;
    u64 status_ns;                       /* when it came */
    PlaySegment segments[SEGMENTS_KEPT]; /* [segment_count] of a recording's stream, oldest first */
    u32 segment_count;
    MessageSurvey survey;  /* of a recording; arrays in survey_storage */
    u8 *survey_storage;    /* NULL: none arrived */
    u32 surveys;           /* received so far */
    const SaveInfo *saves; /* [save_count], in saves_storage */
    u32 save_count;
    u8 *saves_storage;    /* NULL: none arrived */
    u32 debug_mask;       /* requested */
    u32 debug_subscribed; /* last sent to the server */
    /* In order of arrival: the shown one, then those of later ticks. */
    DebugPicture debug[DEBUG_KEPT]; /* [debug_count] */
    u8 *debug_memory[DEBUG_KEPT];
    u32 debug_count;
    ConnectionNews news[NEWS_MAX]; /* ring */
    u32 news_first, news_count;

    Input inputs[INPUTS_UNACKED_MAX]; /* [inputs_count], ascending sequence */
    u32 inputs_count;
    u32 inputs_next; /* next sequence */
    u32 inputs_sent; /* newest sequence sent at least once */
    Input move;      /* the newest target, if the queue was full */
    bool move_waits;
    SnapshotView view;
    Ray cursor;
    bool cursor_visible;
    bool packet_due; /* a new ack or input is to be sent */
    u64 packet_at_ns;
    u16 echo_ms; /* newest send_ms of the server, and its arrival time */
    u64 echo_at_ns;
    InputPacket packet;

    ConnectionStats stats;
    u64 other_epoch; /* state packets of ended or future streams */
    u64 ticks_seen;  /* bit i: tick_last − i was received */
    f64 rtt_ms;
    u64 second_ns; /* start of the current second */
    u64 second_bytes;
    u64 loss_packets[LOSS_SECONDS], loss_lost[LOSS_SECONDS];
    u32 loss_at;
    u64 former_packets, former_lost;                /* values at the start of the current second */
    u64 ended_lost, ended_desyncs, ended_malformed; /* of destroyed receivers */
};

/* connection_link.c: calls none of the others. */
int connection_send(Connection *connection, const Message *message);
/* Sends a payload; the link exists. */
int connection_send_bytes(Connection *connection, u32 channel, const void *data, u32 bytes);
void connection_early_drop(Connection *connection);
void connection_link_drop(Connection *connection);
/* Closes the connection, or schedules a reconnect if that may help. */
void connection_fail(Connection *connection, Error code, const char *text);

/* connection_receive.c: calls connection_link.c. */
void connection_message(Connection *connection, const u8 *data, u32 bytes);
/* Handles a state packet of the known stream; one of another stream is kept for a while, since
 * its world may still arrive. */
void connection_state_receive(Connection *connection, const u8 *data, u32 bytes);
void connection_world_drop(Connection *connection);
void connection_debug_drop(Connection *connection);
/* Computes the rates of the past second. */
void connection_second(Connection *connection);

#endif
