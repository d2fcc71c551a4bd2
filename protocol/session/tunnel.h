/*
 * tunnel.h: sealed datagrams below ENet. After the handshake every datagram of a client and its
 * server is one of
 *
 *   tunnel id u32 · counter u64 · ciphertext of what ENet (or a path question, below) says · tag 16
 *
 * sealed as seal.h says. ENet never sees a datagram that was not sealed by the other end, and none
 * twice: nobody else can disconnect, throttle or send to a peer, and headers cannot be read on the
 * path.
 *
 * A tunnel is known by its id, not by the address it comes from. A server that receives the newest
 * datagram of a tunnel from another address (a NAT chose a new port) asks there whether the client
 * receives; after the answer it sends there. A copy sent from elsewhere has no effect.
 *
 *   path question   "PQ" · number 8        path answer   "PA" · the same number
 *
 * As an ENet header 'P' has the "compressed" flag, which no peer uses.
 * Bytes in, bytes out, time is an argument: no sockets here.
 * Layer: protocol/session.
 */
#ifndef PLENUM_PROTOCOL_SESSION_TUNNEL_H
#define PLENUM_PROTOCOL_SESSION_TUNNEL_H

#include "protocol/session/handshake.h"
#include "protocol/session/probe.h"

PL_BEGIN_C

enum {
    TUNNEL_OVERHEAD_BYTES = 4 + SEAL_OVERHEAD_BYTES,
    TUNNEL_DATAGRAM_MAX = 4096,
    TUNNEL_PATH_BYTES = 10,
    /* Lifetime of an unused new tunnel. */
    TUNNEL_HALF_MS_MAX = 5000,
    /* Longer than ENet waits for a silent peer. */
    TUNNEL_SILENT_MS_MAX = 25000,
    /* After the end of its connection. */
    TUNNEL_ENDED_MS_MAX = 1000,
    TUNNEL_PATH_GAP_MS = 50,
    /* Handshakes cost 0.2 ms each: this bounds their share of the thread, and that of one host. */
    TUNNEL_HANDSHAKES_S = 512,
    TUNNEL_HANDSHAKES_HOST_S = 128,
    TUNNEL_HOSTS = 1024,
    /* Sites are counted by hash: two that collide only share places. */
    TUNNEL_SITES = 1024,
    TUNNEL_REPLY_BYTES_MAX = HANDSHAKE_ACCEPT_BYTES
};

typedef enum TunnelState {
    TUNNEL_FREE,
    TUNNEL_HALF, /* answered; nothing sealed arrived yet */
    TUNNEL_LIVE
} TunnelState;

typedef struct Tunnel {
    TunnelState state;
    u32 id;
    ProbeAddress address; /* where it sends to: proven */
    u64 opened_ms, heard_ms;
    Seal seal;
    u8 binding[BINDING_BYTES];
    bool newest;  /* the datagram opened last was the newest so far */
    u64 ended_ms; /* its connection ended; 0: not yet */
    /* Server. */
    bool used; /* its one ENet connection was opened */
    bool kept; /* its client has joined: it is not dropped for others */
    u8 client_key[SEAL_KEY_BYTES];
    u8 accept[HANDSHAKE_ACCEPT_BYTES]; /* the answer, as it was sent */
    u64 path_number, path_ms;          /* the last path question, and its time */
    ProbeAddress path_address;         /* ... and its address; port 0: none */
} Tunnel;

typedef struct TunnelStats {
    u64 opened, busy, moved;
} TunnelStats;

typedef struct TunnelServer {
    Identity identity;
    ProbeServer probe;
    Tunnel *tunnels;  /* [capacity] */
    u32 *connect_ids; /* [capacity] of the ENet connection of each tunnel, 0 none */
    u32 capacity, found;
    u64 second;
    u32 in_second;
    u8 by_host[TUNNEL_HOSTS]; /* handshakes in this second, by keyed hash of the address */
    TunnelStats stats;
} TunnelServer;

/* ---- both ends ---- */

/* Opens a datagram of this tunnel. Returns the bytes of its content (out holds bytes), or a
 * negative Error. */
int tunnel_open(Tunnel *tunnel, const u8 *data, u32 bytes, u64 now_ms, u8 *out);
/* Seals one; out holds bytes + TUNNEL_OVERHEAD_BYTES. Returns its size. */
u32 tunnel_seal(Tunnel *tunnel, const void *plain, u32 bytes, u8 *out);
/* If `plain` is a path question, writes the answer to it, sealed; returns its size, else 0. */
u32 tunnel_path_answer(Tunnel *tunnel, const u8 *plain, u32 bytes,
                       u8 out[TUNNEL_PATH_BYTES + TUNNEL_OVERHEAD_BYTES]);
/* True if it is a path question or answer, not content for ENet. */
bool tunnel_is_path(const u8 *plain, u32 bytes);
/* Takes over the keys of a handshake and wipes it. */
void tunnel_begin(Tunnel *tunnel, Handshake *handshake, ProbeAddress other, u64 now_ms);
void tunnel_end(Tunnel *tunnel);

/* ---- the server ---- */

/* identity NULL: a new one for this process. False: out of memory. */
bool tunnel_server_init(TunnelServer *server, const Identity *identity, u32 capacity);
void tunnel_server_finish(TunnelServer *server);
/* Handles datagrams before a tunnel (probe_is). Returns the bytes to send back, 0 for none. */
u32 tunnel_server_greet(TunnelServer *server, ProbeAddress from, const u8 *data, u32 bytes,
                        u64 now_ms, u8 reply[TUNNEL_REPLY_BYTES_MAX]);
/* The tunnel with the id of a datagram; NULL: none. */
Tunnel *tunnel_server_find(TunnelServer *server, const u8 *data, u32 bytes);
/* After a datagram from `from` was opened as the newest of its tunnel: the question to ask there,
 * sealed, if it came from a new address; returns its size, else 0. */
u32 tunnel_server_path(Tunnel *tunnel, ProbeAddress from, u64 now_ms,
                       u8 out[TUNNEL_PATH_BYTES + TUNNEL_OVERHEAD_BYTES]);
/* Handles an answer: true if the tunnel moved to `from`. */
bool tunnel_server_moved(TunnelServer *server, Tunnel *tunnel, ProbeAddress from, const u8 *plain,
                         u32 bytes);
/* Binds an ENet connection, by its id, to a tunnel. False: the tunnel has another connection, or
 * another tunnel has this one. */
bool tunnel_server_bind(TunnelServer *server, Tunnel *tunnel, u32 connect_id);
/* The tunnel of an ENet connection; NULL: none. */
Tunnel *tunnel_server_of(TunnelServer *server, u32 connect_id);
/* Ends tunnels that were not used or fell silent. */
void tunnel_server_sweep(TunnelServer *server, u64 now_ms);

PL_END_C

#endif
