/*
 * probe.h: a stateless cookie exchange that proves a client's address before ENet sees a datagram.
 *
 * A client sends a padded probe; the server answers with a cookie (keyed hash of address and time),
 * far smaller than the probe; the client repeats the probe with the cookie; now its address is
 * proven and one ENet CONNECT from it is accepted. Nothing is stored before the cookie returns, and
 * a forged source address receives fewer bytes than it cost.
 *
 *   probe   magic 4 · kind 1 (1) · zero 3 · nonce 8 · cookie 8 (0 at first) · zeros to PROBE_BYTES
 *   reply   magic 4 · kind 1 (2 cookie, 3 accepted) · zero 3 · nonce 8 · cookie 8
 *
 * The magic "PLNM" interpreted as an ENet header has the "compressed" flag, which no peer uses, so
 * the two can share a port. Bytes in, bytes out, time is an argument.
 * Layer: protocol/session.
 */
#ifndef PLENUM_PROTOCOL_SESSION_PROBE_H
#define PLENUM_PROTOCOL_SESSION_PROBE_H

#include "protocol/session/seal.h"

PL_BEGIN_C

enum {
    PROBE_BYTES = 1000,
    PROBE_REPLY_BYTES = 24,
    /* A cookie is valid for one to two of these. */
    PROBE_BUCKET_MS = 16000,
    /* A proven address may connect for this long. */
    PROBE_PROVEN_MS = 20000,
    PROBE_SETS = 256,
    PROBE_WAYS = 8,
    PROBE_RETRY_MS_MIN = 200,
    PROBE_RETRY_MS_MAX = 500
};

typedef struct ProbeAddress {
    u32 host; /* network order */
    u16 port;
    u16 reserved; /* 0: the whole struct is hashed */
} ProbeAddress;

/* An address that returned its cookie. */
typedef struct ProbeEntry {
    ProbeAddress address;
    u64 until_ms;   /* 0: free */
    u32 connect_id; /* of the only connection it may start */
    bool bound;
} ProbeEntry;

typedef struct ProbeStats {
    u64 probes, malformed, cookies, proven, refused;
} ProbeStats;

typedef struct ProbeServer {
    u8 key[SEAL_HASH_KEY_BYTES];
    ProbeEntry entries[PROBE_SETS][PROBE_WAYS];
    ProbeStats stats;
} ProbeServer;

typedef struct ProbeClient {
    u64 nonce;
    u64 cookie; /* 0: none yet */
    u64 next_ms;
    u32 retry_ms;
} ProbeClient;

/* True if the datagram is a probe and not ENet's. */
bool probe_is(const void *data, u32 bytes);

void probe_server_init(ProbeServer *server, const u8 key[SEAL_HASH_KEY_BYTES]);
/* Handles one probe; returns the bytes of the reply to send back to `from`, 0 for none. */
u32 probe_server_receive(ProbeServer *server, ProbeAddress from, const void *data, u32 bytes,
                         u64 now_ms, u8 reply[PROBE_REPLY_BYTES]);
/* True if `from` may start (or repeat) the connection with this id. */
bool probe_server_admit(ProbeServer *server, ProbeAddress from, u32 connect_id, u64 now_ms);

/* nonce: unpredictable, so that only a receiver of the probes can answer. */
void probe_client_init(ProbeClient *client, u64 nonce);
/* True if a probe is due (written to out); with exponential backoff. */
bool probe_client_send(ProbeClient *client, u64 now_ms, u8 out[PROBE_BYTES]);
/* Handles a reply. True if it brought a cookie: the next probe is due at once and proves the
 * address. */
bool probe_client_receive(ProbeClient *client, const void *data, u32 bytes, u64 now_ms);

PL_END_C

#endif
