/*
 * probe.h: a stateless cookie exchange that proves a client's address before the server computes or
 * stores anything for it.
 *
 * A client sends a padded probe; the server answers with a cookie (keyed hash of address and time),
 * far smaller than the probe; the client returns the cookie in the message that opens its tunnel
 * (handshake.h). Nothing is stored before, and a forged source address receives fewer bytes than it
 * cost.
 *
 *   probe   magic 4 · kind 1 (1) · zero 3 · nonce 8 · zero 8 · zeros to PROBE_BYTES
 *   reply   magic 4 · kind 1 (2 cookie) · zero 3 · nonce 8 · cookie 8
 *
 * No tunnel has the magic "PLNM" as its id. Bytes in, bytes out, time is an argument.
 * Layer: protocol/session.
 */
#ifndef PLENUM_PROTOCOL_SESSION_PROBE_H
#define PLENUM_PROTOCOL_SESSION_PROBE_H

#include "protocol/session/address.h"
#include "protocol/session/seal.h"

PL_BEGIN_C

#define PROBE_MAGIC "PLNM"

enum {
    PROBE_BYTES = 1000,
    PROBE_REPLY_BYTES = 24,
    /* A cookie is valid for one to two of these. */
    PROBE_BUCKET_MS = 16000,
    PROBE_RETRY_MS_MIN = 200,
    PROBE_RETRY_MS_MAX = 500
};

typedef struct ProbeAddress {
    NetAddress host;
    u32 scope; /* the interface, for IPv6 addresses of one link; else 0 */
    u16 port;
    NetAddress own; /* of the receiver, to answer from it; 0: any */
} ProbeAddress;

typedef struct ProbeStats {
    u64 probes, malformed, cookies, proven, refused;
} ProbeStats;

typedef struct ProbeServer {
    u8 key[SEAL_HASH_KEY_BYTES];
    ProbeStats stats;
} ProbeServer;

typedef struct ProbeClient {
    u64 nonce;
    u64 cookie; /* 0: none yet */
    u64 next_ms;
    u32 retry_ms;
} ProbeClient;

/* True if the datagram is one of those before a tunnel. */
bool probe_is(const void *data, u32 bytes);
/* Whatever `own` is. */
bool probe_address_same(ProbeAddress a, ProbeAddress b);

/* key: of the cookies with which probes prove their address. */
void probe_server_init(ProbeServer *server, const u8 key[SEAL_HASH_KEY_BYTES]);
/* Handles one probe; returns the bytes of the reply to send back to `from`, 0 for none. */
u32 probe_server_receive(ProbeServer *server, ProbeAddress from, const void *data, u32 bytes,
                         u64 now_ms, u8 reply[PROBE_REPLY_BYTES]);
/* True if this is a valid cookie of `from`. */
bool probe_server_proven(ProbeServer *server, ProbeAddress from, u64 cookie, u64 now_ms);

/* nonce: unpredictable, so that only a receiver of the probes can answer. */
void probe_client_init(ProbeClient *client, u64 nonce);
/* True if a request is due, with exponential backoff: a probe, or with a cookie the message that
 * opens the tunnel. */
bool probe_client_due(ProbeClient *client, u64 now_ms);
void probe_client_write(const ProbeClient *client, u8 out[PROBE_BYTES]);
/* Handles a reply. True if it contained a cookie; after the first one the next request is due at
 * once. */
bool probe_client_receive(ProbeClient *client, const void *data, u32 bytes, u64 now_ms);

PL_END_C

#endif
