/*
 * broker.h: a world's recording as a stream of a NATS JetStream broker: the connection, the
 * messages, and where to begin. The only part of the server that knows the NATS library.
 *
 * A world has the stream PLENUM_WORLD with the subjects plenum.WORLD.start (messages that begin
 * with a HEAD block, from which a follower can begin) and plenum.WORLD.tick. A message is a few
 * ticks of the recording, whole blocks; one larger than the broker takes goes in parts. Its headers
 * say where it belongs. What comes from a broker is untrusted data: headers that are not as
 * described here, and more bytes than allowed, are counted and skipped; the blocks are for the
 * reader of recordings to judge.
 * Beside it go two plain subjects, plenum-live.WORLD and plenum-said.WORLD, whose payloads nobody
 * stores (live.h).
 * A broker belongs to one thread; the library has threads of its own, for the socket.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_BROKER_H
#define PLENUM_SERVER_HOST_BROKER_H

#include "shared/base/error.h"

enum {
    BROKER_WORLD_BYTES = 65, /* a name: letters, digits, - and _ */
    BROKER_URL_BYTES = 512,
    BROKER_PARTS_MAX = 4096,
    /* Of a message, all parts: a key of the largest world, its HEAD and events. */
    BROKER_MESSAGE_BYTES_MAX = 160 << 20,
    BROKER_PART_BYTES = 512 << 10 /* at most; less where the broker takes less */
};

/* Where a world is published. */
typedef struct BrokerAddress {
    char url[BROKER_URL_BYTES];                             /* for the library */
    char host[BROKER_URL_BYTES];                            /* for TLS */
    char shown[BROKER_URL_BYTES + BROKER_WORLD_BYTES + 16]; /* for logs */
    char world[BROKER_WORLD_BYTES];
    bool tls;
} BrokerAddress;

/* True for nats:// and tls:// addresses. */
bool broker_is_address(const char *text);
/* "nats://HOST[:PORT]/WORLD", or tls:// for one that must be encrypted. 0 or ERROR_USAGE with a
 * text. A user or password in it is refused, and the text does not tell them. */
int broker_address(const char *text, BrokerAddress *out, ErrorText *error);

typedef struct BrokerOptions {
    BrokerAddress address;
    const char *creds; /* file of a key (broker_key.h); NULL none */
    const char *ca;    /* file with certificates to trust instead of the system's; NULL none */
    const char *name;  /* of the connection, for the broker's monitoring */
} BrokerOptions;

/* A message or a part of one. */
typedef struct BrokerMessage {
    u64 run;         /* of the publisher: random for each start */
    u64 number;      /* of the message in it, from 1, without holes */
    u64 tick;        /* first one in it */
    u32 tick_rate;   /* Hz */
    u32 back;        /* messages of the broker since the last start's first part; 0: is one */
    u32 part, parts; /* part < parts */
    bool start;      /* begins with a HEAD */
    const u8 *data;  /* borrowed until the next call */
    size_t bytes;
    /* ---- of a received one ---- */
    u64 sequence; /* in the stream, from 1 */
    i64 time_ns;  /* when the broker got it, since 1970 */
    u64 pending;  /* messages still pending at the broker */
} BrokerMessage;

/* The headers as text, for the library and for tests. */
enum {
    BROKER_HEADERS = 5,
    BROKER_VALUE_BYTES = 48
};
extern const char *const broker_header_names[BROKER_HEADERS];
void broker_headers_write(const BrokerMessage *message, char values[][BROKER_VALUE_BYTES]);
/* Fills the members given by headers; a NULL is a missing one. 0 or ERROR_FORMAT. */
int broker_headers_read(const char *const values[BROKER_HEADERS], BrokerMessage *out);

typedef struct Broker Broker;
/* Connects later. NULL with an error text: a file that cannot be read. */
Broker *broker_create(const BrokerOptions *options, ErrorText *error);
void broker_destroy(Broker *broker);
/* True if there is a connection now; otherwise tries to connect, for at most two seconds, and sets
 * the error if it fails. */
bool broker_ready(Broker *broker, ErrorText *error);
/* Maximal bytes of a part that the broker accepts. */
size_t broker_part_bytes(const Broker *broker);
/* Ends the library's threads; no broker may exist. */
void broker_library_close(void);

/* ---- publishing ---- */

typedef struct BrokerLimits {
    u32 age_s; /* 0: unchanged, of a new stream a day */
    u64 bytes; /* 0: unchanged, of a new stream 4 GiB */
} BrokerLimits;

/* Creates the world's stream, or sets the given limits of an existing one. 0 or a negative Error
 * with a text. */
int broker_stream(Broker *broker, const BrokerLimits *limits, ErrorText *error);
/* Publishes a part and waits at most `wait_ms` until the broker has stored it. The same part may be
 * published again: the broker keeps one. 0; ERROR_NOT_FOUND: there is no such stream; or another
 * negative Error with a text. */
int broker_publish(Broker *broker, const BrokerMessage *message, u32 wait_ms, ErrorText *error);

/* ---- following ---- */

typedef enum BrokerFrom {
    BROKER_FROM_NEWEST, /* the newest start */
    BROKER_FROM_TICK,   /* the last start at or before a tick of the newest run */
    BROKER_FROM_TIME    /* the last start at or before a time, in ns since 1970 */
} BrokerFrom;

/* What a stream holds of its newest run. */
typedef struct BrokerSpan {
    u64 first_tick, last_tick;
    u32 tick_rate;
} BrokerSpan;

/* 0, ERROR_NOT_FOUND: nothing is published yet; or another negative Error with a text. */
int broker_span(Broker *broker, BrokerSpan *out, ErrorText *error);
/* The sequence at which to subscribe; errors as above. */
int broker_find(Broker *broker, BrokerFrom from, u64 value, u64 *sequence, ErrorText *error);
/* The sequence of the newest message; errors as above. */
int broker_last(Broker *broker, u64 *sequence, ErrorText *error);
/* Asks for all messages from `sequence` on, or from the oldest one behind it. 0 or a negative Error
 * with a text. */
int broker_subscribe(Broker *broker, u64 sequence, ErrorText *error);
bool broker_subscribed(const Broker *broker);
/* The next part: 0; ERROR_NOT_FOUND: none within wait_ms; ERROR_FORMAT: one was skipped;
 * ERROR_NETWORK: the subscription has ended, subscribe again. */
int broker_next(Broker *broker, u32 wait_ms, BrokerMessage *out);

/* ---- beside the stream: not stored, for current listeners ---- */

typedef enum BrokerSide {
    BROKER_LIVE, /* plenum-live.WORLD: from the publisher to followers */
    BROKER_SAID  /* plenum-said.WORLD: from followers to the publisher */
} BrokerSide;

/* True if there is a connection now; does not try to connect. */
bool broker_linked(const Broker *broker);
/* From now on broker_receive returns the payloads sent there, as long as there is a connection;
 * those that arrive faster than they are fetched are dropped. 0 or ERROR_NETWORK. */
int broker_listen(Broker *broker, BrokerSide side);
/* Sends to all who listen now. 0 or ERROR_NETWORK. */
int broker_send(Broker *broker, BrokerSide side, const void *data, size_t bytes);
/* The next payload, borrowed until the next call; never waits. False: none. */
bool broker_receive(Broker *broker, const u8 **data, size_t *bytes);
/* Payloads dropped since broker_listen. */
u64 broker_dropped(const Broker *broker);

#endif
