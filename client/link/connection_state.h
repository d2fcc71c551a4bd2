/*
 * connection_state.h: the inside of a Connection, shared by the files connection*.c. Each calls
 * those above it in this list: connection_bulk.c (transfers, and what waits for them),
 * connection_link.c (sending, and the end of a link), connection_receive.c (what messages and
 * headers change), connection.c (handshake, sealing, inputs: drives the others).
 * Layer: client/link, private.
 */
#ifndef PLENUM_CLIENT_LINK_CONNECTION_STATE_H
#define PLENUM_CLIENT_LINK_CONNECTION_STATE_H

#include "client/link/connection.h"
#include "client/link/couplings.h"
#include "client/link/static_colliders.h"
#include "client/link/timeline.h"
#include "protocol/stream/bulk.h"
#include "protocol/stream/entity_list.h"

enum {
    DEBUG_KEPT = 16,  /* pictures of the inside: more than a second of them */
    NEWS_MAX = 256,   /* events and texts that nobody asked for yet; the oldest are dropped */
    USERS_MAX = 4096, /* of a roster, and presences */
    PRESENCES_MESSAGE_MAX = 64,
    LOSS_SECONDS = 5,
    EARLY_MAX = 64,
    /* Of the bulk channel while a transfer before them is under way: minutes of events. */
    DEFERRED_MAX = 16384,
    DEFERRED_BYTES_MAX = 8 << 20,
    /* State packets that came before the world that they belong to. */
    REORDERED_MAX = 128,
    REORDERED_MS_MAX = 2000,
};

/* What waits for its turn on the bulk channel: a message, or the place of a transfer. */
typedef struct DeferredMessage {
    u8 *data; /* NULL: a place */
    u32 bytes;
    u32 transfer;
} DeferredMessage;

typedef struct ReorderedMessage {
    u64 arrived_ns;
    u32 bytes; /* 0: free */
    u8 data[STATE_PAYLOAD_BYTES_MAX];
} ReorderedMessage;

struct Connection {
    Link *link;       /* owned; NULL between attempts */
    u64 welcome_hash; /* of the WELCOME that was taken: the others are repeats of it */
    u32 welcome_bytes;
    u32 peer;
    ConnectionOptions options;
    u8 token[TOKEN_BYTES_MAX];
    u32 token_bytes;
    ConnectionState state;
    ErrorText error;
    char refused_text[TEXT_BYTES_MAX];
    bool polled;
    u64 now_ns, begun_ns, heard_ns, retry_at_ns;
    u64 arrived_ns; /* when the payload in hand came, ≤ now_ns */
    u32 retry_gap_ms;
    u8 *scratch; /* [scratch_bytes] plain or sealed payload */
    u32 scratch_bytes;

    /* Payloads of the bulk channels that overtook the WELCOME, in order; see payload_receive. */
    struct {
        u8 *data;
        u32 bytes;
        u32 channel;
    } early[EARLY_MAX];
    u32 early_count;
    u32 early_bytes;

    /* connection_bulk.c */
    BulkReceiver *bulk;    /* NULL before the WELCOME */
    DeferredMessage *held; /* ring of deferred_capacity, in the order of the channel */
    u32 deferred_first, deferred_count, deferred_capacity;
    u64 deferred_bytes;
    u64 bulk_known;     /* blocks that came, and when the last of them did */
    u64 bulk_announced; /* most bytes that transfers announced together */
    u64 bulk_progress_ns;
    ReorderedMessage *ahead; /* ring of REORDERED_MAX; NULL: none */
    u32 reordered_next;

    SealKeyPair keys;
    Seal seal;
    bool welcomed;
    u32 user, tick_rate, snapshot_rate;
    Role role;
    u64 resume;

    /* The world: all NULL before its first arrival. */
    u32 worlds;
    u8 epoch;
    Scene *scene;
    FieldSet *fields;
    SpanCoder *coder; /* of all receivers, with the first; NULL before */
    SnapshotReceiver *receiver;
    Timeline *timeline;
    StaticColliders *colliders;
    Couplings *couplings;
    EntityList entities;
    const Timeline *bodies_of; /* the timeline that knows which points of them are one body, ... */
    u64 bodies_version;        /* ... and of which version of them */
    ScalarInfo *parameters, *probes;
    u32 parameter_count, probe_count;

    UserInfo *users;
    u32 user_count;
    Presence *presences;
    u32 presence_count, presence_capacity, presence_serial;
    MessageStatus status;
    u32 debug_mask;       /* wanted */
    u32 debug_subscribed; /* and what the server knows of it */
    /* In the order of arrival: the one shown, then those of ticks yet to come. */
    DebugPicture debug[DEBUG_KEPT]; /* [debug_count] */
    u8 *debug_memory[DEBUG_KEPT];
    u32 debug_count;
    ConnectionNews news[NEWS_MAX]; /* ring */
    u32 news_first, news_count;

    Input inputs[INPUTS_UNACKED_MAX]; /* [inputs_count], ascending sequence */
    u32 inputs_count;
    u32 inputs_next; /* sequence of the next */
    u32 inputs_sent; /* newest sequence that went out at least once */
    Input move;      /* the newest target that found the queue full */
    bool move_waits;
    SnapshotView view;
    Ray cursor;
    bool cursor_visible;
    bool packet_due; /* something new to say: an ack or an input */
    u64 packet_at_ns;
    u16 echo_ms; /* newest send_ms of the server, and when it came */
    u64 echo_at_ns;
    InputPacket packet;

    ConnectionStats stats;
    u64 other_epoch; /* state packets of a stream that is over or not begun */
    u64 ticks_seen;  /* bit i: tick_last − i came */
    f64 rtt_ms;
    u64 second_ns; /* begin of the running second */
    u64 second_bytes;
    u64 loss_packets[LOSS_SECONDS], loss_lost[LOSS_SECONDS];
    u32 loss_at;
    u64 former_packets, former_lost;                /* at the begin of the running second */
    u64 ended_lost, ended_desyncs, ended_malformed; /* of receivers that are gone */
};

/* connection_bulk.c: calls none of the others. */
typedef enum BulkPush {
    BULK_NOW,  /* nothing is before it: its turn is now, and it is not kept */
    BULK_KEPT, /* a transfer before it is under way */
    BULK_FULL
} BulkPush;
bool connection_bulk_begin(Connection *connection);
void connection_bulk_end(Connection *connection);
/* A payload of CHANNEL_BULK. */
BulkPush connection_bulk_push(Connection *connection, const u8 *data, u32 bytes);
/* What is next of it, to be freed (memory). ERROR_STATE: it is not there yet; ERROR_FORMAT: it is
 * not valid. */
int connection_bulk_take(Connection *connection, BulkTaken *taken);
/* A payload of CHANNEL_BLOCKS. */
void connection_bulk_block(Connection *connection, const u8 *data, u32 bytes);
/* The acknowledgement that is due, out[BULK_ACK_BYTES_MAX]; 0: none. */
u32 connection_bulk_ack(Connection *connection, u8 *out);
/* False: nothing of a transfer came for too long, or it takes longer than its size allows. */
bool connection_bulk_alive(const Connection *connection, u64 begun_ns, u64 quiet_ns);

/* connection_link.c: calls connection_bulk.c. */
int connection_send(Connection *connection, const Message *message);
/* A sealed payload; the link is there. */
int connection_send_bytes(Connection *connection, u32 channel, const void *data, u32 bytes);
/* Room in `scratch`; false without memory. */
bool connection_scratch_reserve(Connection *connection, u32 bytes);
void connection_early_drop(Connection *connection);
void connection_link_drop(Connection *connection);
/* Closes, or waits for the next attempt where that may help. */
void connection_fail(Connection *connection, Error code, const char *text);

/* connection_receive.c: calls both. */
void connection_message(Connection *connection, const u8 *data, u32 bytes);
/* A state packet of the stream that is known; one of another is kept for a while: the world that it
 * belongs to may come yet. */
void connection_state_receive(Connection *connection, const u8 *data, u32 bytes);
void connection_world_drop(Connection *connection);
void connection_debug_drop(Connection *connection);
/* Rates of the second that ends. */
void connection_second(Connection *connection);

#endif
