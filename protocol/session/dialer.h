/*
 * dialer.h: how a client opens a tunnel (tunnel.h): it requests a cookie from all addresses of a
 * name and the handshake from the first one that answers; it gives up after a time, or restarts if
 * the server has dropped it. Bytes in, bytes out, time is an argument. PROTOCOL.md, "Session".
 * Layer: protocol/session.
 */
#ifndef PLENUM_PROTOCOL_SESSION_DIALER_H
#define PLENUM_PROTOCOL_SESSION_DIALER_H

#include "protocol/session/endpoint.h"
#include "protocol/session/link.h"
#include "protocol/session/tunnel.h"

PL_BEGIN_C

typedef struct Dialer {
    ProbeAddress remotes[ENDPOINTS_MAX]; /* all are tried; the first that answers is used */
    u32 remote_count;
    ProbeClient probe;
    HandshakeClient handshake;
    LinkTrust trust;   /* accept NULL: anybody */
    u64 distrusted_ms; /* when another server answered; 0: never */
    u64 give_up_ms;    /* 0: has not begun */
    bool notified;     /* the server sent a message in the tunnel; set by the caller */
} Dialer;

/* remotes: [count], 1 .. ENDPOINTS_MAX. trust: NULL accepts any server; its context must outlive
 * the dialer. */
void dialer_init(Dialer *dialer, const ProbeAddress *remotes, u32 count, const LinkTrust *trust);
/* Restarts with new keys; the deadline is unchanged. */
void dialer_restart(Dialer *dialer);
/* True if this is one of the addresses tried. */
bool dialer_asks(const Dialer *dialer, ProbeAddress from);
/* Handles a cookie, or the answer to the handshake, which opens the tunnel. */
void dialer_receive(Dialer *dialer, Tunnel *tunnel, ProbeAddress from, const u8 *data, u32 bytes,
                    u64 now_ms);
/* True if something is to be sent to all remotes now, while the tunnel is not open. */
bool dialer_ask(Dialer *dialer, u64 now_ms, u8 out[PROBE_BYTES]);
/* True if there is no connection in time, or only one to another server: *reason is the
 * RefuseReason to report. open: whether the tunnel is. The first call starts the clock. */
bool dialer_gives_up(Dialer *dialer, bool open, u64 now_ms, u32 *reason);
/* True if the tunnel has been silent for so long before the first message that the server must have
 * dropped it: servers do not notify peers that open for too long (door.h). */
bool dialer_forgotten(const Dialer *dialer, const Tunnel *tunnel, u64 now_ms);

PL_END_C

#endif
