/*
 * link.h: the transport interface between a host and its peers, with unreliable and reliable
 * channels: ENet (link_enet.c) in programs, in-process with a seeded network simulator
 * (tests/support/link_memory.h) in tests. One owner thread; nothing blocks.
 * Layer: protocol/session.
 */
#ifndef PLENUM_PROTOCOL_SESSION_LINK_H
#define PLENUM_PROTOCOL_SESSION_LINK_H

#include "protocol/session/inquiry.h"
#include "shared/base/error.h"
#include "shared/base/limits.h"

PL_BEGIN_C

typedef enum Channel {
    CHANNEL_CONTROL = 0, /* reliable messages */
    CHANNEL_STATE = 1,   /* server -> client state packets, unsequenced, unreliable */
    CHANNEL_INPUT = 2,   /* client -> server inputs; server -> client presence; unreliable */
    CHANNEL_BULK = 3,    /* reliable: events, and the positions of transfers (bulk.h) among them */
    CHANNEL_BLOCKS = 4,  /* blocks of transfers, and their acknowledgements back; unreliable */
    CHANNEL_COUNT
} Channel;

enum {
    LINK_PORT_DEFAULT = 7340
};

typedef enum LinkEventKind {
    LINK_NONE,
    LINK_CONNECTED,
    LINK_DISCONNECTED,
    LINK_RECEIVED
} LinkEventKind;

typedef struct LinkEvent {
    LinkEventKind kind;
    u32 peer; /* handle, unique among live peers; reused after DISCONNECTED */
    u32 channel;
    const u8 *data; /* borrowed until the next poll */
    u32 bytes;
    u32 reason;     /* DISCONNECTED: RefuseReason of message.h, or 0 for a timeout */
    u64 arrived_ns; /* arrival time, if known more precisely than the poll's; 0: now */
} LinkEvent;

typedef struct LinkStats {
    u32 rtt_ms;
    u64 bytes_in, bytes_out; /* on the wire, as far as the transport knows */
    u64 packets_in, packets_out;
    char address[64];
} LinkStats;

typedef struct Link Link;
typedef struct LinkOps {
    void (*destroy)(Link *link);
    /* Returns the next event; false if none. now_ms is monotonic. */
    bool (*poll)(Link *link, u64 now_ms, LinkEvent *event);
    /* Sends a payload. 0 or a negative Error. Channels 0 and 3 are reliable and ordered, the
     * others neither. */
    int (*send)(Link *link, u32 peer, u32 channel, const void *data, u32 bytes);
    /* Disconnects gracefully: earlier reliable data is still sent; LINK_DISCONNECTED follows. */
    void (*disconnect)(Link *link, u32 peer, u32 reason);
    /* Admits the peer: from now on it does not compete for places with half-open peers (door.h).
     * May be NULL. */
    void (*proven)(Link *link, u32 peer);
    void (*flush)(Link *link);
    bool (*stats)(Link *link, u32 peer, LinkStats *stats);
    /* File descriptor to wait on for reading, or −1. */
    int (*fd)(Link *link);
    /* Datagrams dropped so far because they were not sealed by a peer, or were repeats. May be
     * NULL. */
    u64 (*forged)(const Link *link);
    /* A secret hash shared only by the two ends of this connection (handshake.h), for signatures
     * that are valid only for it. False: not connected. May be NULL. */
    bool (*binding)(Link *link, u32 peer, u8 out[BINDING_BYTES]);
    /* From now on the link answers public queries (inquiry.h) with this notice. May be NULL: none
     * are answered. */
    void (*notify)(Link *link, const WorldNotice *notice);
    /* Number of such queries answered, and of those that came too often. May be NULL. */
    void (*asked)(const Link *link, u64 *answered, u64 *refused);
} LinkOps;

/* Implementations embed this as their first member. */
struct Link {
    const LinkOps *ops;
};

/* Which server a client accepts. `accept` is called with the key that signed the handshake; false:
 * this answer is ignored, and if no other arrives soon the connection ends with REFUSE_IDENTITY. */
typedef struct LinkTrust {
    bool (*accept)(void *context, const u8 key[IDENTITY_PUBLIC_BYTES]);
    void *context;
} LinkTrust;

/* A listening host. address is "ADDR:PORT" (port 0: any; see link_enet_port), or "fd:N": an already
 * bound UDP socket, which the link takes over. identity: the server's long-term key; NULL: a new
 * one. */
Link *link_enet_listen(const char *address, u32 peers_max, const Identity *identity,
                       ErrorText *error);
/* A client that connects to "HOST[:PORT]"; its peer handle is 0. trust NULL: any server. */
Link *link_enet_connect(const char *address, const LinkTrust *trust, ErrorText *error);
/* Limits a listening host's half-open connections from one address (0: no limit); local: also
 * from this machine. */
void link_enet_limit(Link *link, u32 half_open_per_address, bool local);
/* The UDP port actually bound. */
u16 link_enet_port(const Link *link);

PL_END_C

#endif
