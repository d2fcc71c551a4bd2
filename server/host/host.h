/*
 * host.h: one server: a Source feeds it frames, clients join over a Link, one libuv loop drives it
 * all on one thread. The host knows who is here, what they may do and what they are told; it knows
 * nothing of how frames are made.
 *
 * A session: transport connected -> HELLO in clear (within 5 s) -> WELCOME with keys, or REFUSE
 * with a reason -> everything sealed -> MESSAGE_WORLD -> snapshots; GOODBYE or time-out ends it.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_HOST_H
#define PLENUM_SERVER_HOST_HOST_H

#include "protocol/session/link.h"
#include "protocol/session/token.h"
#include "server/host/source.h"

typedef struct HostOptions {
    u32 clients_max;
    u32 snapshot_rate; /* Hz */
    i32 open_role;     /* Role of everybody without tokens; −1: operators from loopback,
                          participants from elsewhere */
    bool tokens;       /* only who shows a token signed by token_key may join */
    u8 token_key[TOKEN_PUBLIC_BYTES];
    const char *http;     /* "ADDR:PORT" of metrics and health, or NULL */
    u32 client_bytes_s;   /* most that one client is sent; 0: default */
    u64 memory_max_bytes; /* beyond it nobody joins and nothing is spawned; 0: no limit */
} HostOptions;

typedef struct HostStats {
    u32 clients;
    u64 joined, refused, timed_out, flooded;
    u64 memory_bytes; /* resident, of the whole process, when last looked */
    u64 bytes_out, snapshots, blocks, events, inputs, inputs_refused, malformed, forged;
} HostStats;

typedef struct Host Host;

/* Takes the link (listening) and the source, also on failure. NULL with a text. */
Host *host_create(const HostOptions *options, Link *link, Source *source, ErrorText *error);
/* Runs until SIGINT, SIGTERM, host_stop or the source's end; says goodbye to all. Returns an exit
 * code. */
int host_run(Host *host);
/* One turn of the loop at a time of the caller's, for tests that make their own time; now_ns does
 * not go back and is not before the host's creation (clock_now_ns). Not together with host_run. */
void host_iterate(Host *host, u64 now_ns);
/* From any thread: drain and return from host_run. */
void host_stop(Host *host);
/* Ends the source (which closes its recording) and the link. NULL is fine. */
void host_destroy(Host *host);
void host_stats(const Host *host, HostStats *stats);

#endif
