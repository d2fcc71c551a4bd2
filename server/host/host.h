/*
 * host.h: one server: a Source provides frames, clients join over a Link, and one libuv loop runs
 * it all on one thread. The host manages sessions, permissions and replication; it does not know
 * how frames are made.
 *
 * A session: transport connected, in a sealed tunnel -> HELLO (within 3 s) -> WELCOME, or REFUSE
 * with a reason -> MESSAGE_QUEUE while it waits for a place ->
 * MESSAGE_WORLD -> snapshots; GOODBYE or a timeout ends it.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_HOST_H
#define PLENUM_SERVER_HOST_HOST_H

#include "protocol/session/link.h"
#include "protocol/session/token.h"
#include "server/host/admit.h"
#include "server/host/source.h"

typedef struct HostOptions {
    u32 clients_max;
    u32 snapshot_rate; /* Hz */
    i32 open_role;     /* Role of clients without tokens; −1: participants */
    i32 local_role;    /* minimal Role of clients from this machine; behind a local proxy that is
                        * all */
    u32 reserved;      /* of clients_max: places for operators and returning users only */
    u32 queue_max;     /* clients that may wait for a place */
    AdmitLimits limits;
    const char *password;     /* required from clients without a token; NULL: none */
    const char *bans, *allow; /* files of ban.h, or NULL */
    const char *audit;        /* file of the audit log, or NULL */
    bool audit_json;
    bool relays;         /* relays without a token may speak for their users */
    bool hangup_ends;    /* SIGHUP ends the server; otherwise it reloads its lists */
    const char *console; /* path of the console's socket, or NULL */
    bool tokens;         /* only clients with a token signed by token_key may join */
    u8 token_key[TOKEN_PUBLIC_BYTES];
    const Identity *identity;   /* of this server, for tokens that name it; NULL: none; copied */
    const char *tokens_revoked; /* file of ids (token_ledger.h), read again when it changes */
    const char *tokens_used;    /* file that remembers tokens for one session; NULL: forgotten */
    const char *name;           /* of the world, for lists; NULL or "": its scene's */
    u16 port;                   /* of the link, for lists; 0: unknown */
    bool lan;                   /* answers searches for worlds on the local network */
    const char *lobby;          /* URL where the world is announced, or NULL */
    const char *lobby_token;    /* file of the token for it */
    const char *lobby_address;  /* "HOST:PORT" for clients; NULL: as the lobby sees it */
    const char *http;           /* "ADDR:PORT" of the metrics and health pages, or NULL */
    u32 client_bytes_s;         /* maximal rate per client; 0: default */
    u64 memory_max_bytes;       /* above it joins and spawns are refused; 0: no limit */
    struct Trace *trace;        /* trace.h, borrowed; NULL none */
    bool encoder;               /* first snapshots of clients are built on a thread of their own */
    u32 own_times;              /* of a recording: how many may leave the common time; 0: none */
    const char *saves; /* folder of the worlds that operators save by name; NULL: they cannot */
    const char *record, *checkpoint; /* path that the source writes to, whose free space is
                                      * reported; or NULL */
} HostOptions;

typedef struct HostStats {
    u32 clients, waiting;
    u64 write_failures; /* of the list of bans */
    u64 descriptor_shortages, hangups;
    u64 joined, refused, timed_out, flooded;
    u64 memory_bytes;  /* resident memory of the process at the last check */
    u64 worlds_packed; /* for joins */
    u64 bytes_out, snapshots, blocks, events, inputs, inputs_refused, malformed, forged;
} HostStats;

typedef struct Host Host;

/* Number of peers that the host's link should have: places, the queue, and slots for clients that
 * have not identified themselves. */
u32 host_peers(const HostOptions *options);
/* Takes ownership of the link (listening) and the source, also on failure. NULL with an error
 * text. */
Host *host_create(const HostOptions *options, Link *link, Source *source, ErrorText *error);
/* Runs until SIGINT, SIGTERM, host_stop or the end of the source; disconnects all clients.
 * Returns an exit code. */
int host_run(Host *host);
/* Runs one iteration of the loop at the caller's time, for tests with virtual time; now_ns is
 * monotonic and not before the host's creation (clock_now_ns). Not to be combined with host_run. */
void host_iterate(Host *host, u64 now_ns);
/* Waits until the work of other threads is done, for tests with virtual time. */
void host_settle(Host *host);
/* Thread-safe: makes host_run drain and return. */
void host_stop(Host *host);
/* Destroys the source (which closes its recording) and the link. NULL is fine. */
void host_destroy(Host *host);
void host_stats(const Host *host, HostStats *stats);

#endif
