/*
 * udp.h: UDP sockets over IPv6 and IPv4. Addresses are those of IPv6 with IPv4 mapped into it
 * (address.h), whatever the kind of socket. Nothing blocks.
 * Layer: protocol/session.
 */
#ifndef PLENUM_PROTOCOL_SESSION_UDP_H
#define PLENUM_PROTOCOL_SESSION_UDP_H

#include "protocol/session/probe.h"

PL_BEGIN_C

typedef struct Udp {
    int fd;      /* −1: none */
    bool v6;     /* an IPv6 socket, which carries IPv4 as well unless bound to one address */
    bool answer; /* bound to all addresses: answers come from the one that was asked */
} Udp;

/* A socket bound to `own`. All zero, "::", stands for all addresses of this machine, of both kinds
 * where it has IPv6. ERROR_NETWORK with a text. */
int udp_bind(Udp *udp, const ProbeAddress *own, ErrorText *error);
/* A socket that can send to both kinds of addresses, if this machine has them. */
int udp_open(Udp *udp, ErrorText *error);
/* Takes over an open UDP socket. ERROR_USAGE with a text if it is not one. */
int udp_adopt(Udp *udp, int fd, ErrorText *error);
void udp_close(Udp *udp);
/* The address that it is bound to; false: none. */
bool udp_bound(const Udp *udp, ProbeAddress *own);
/* False: not sent. */
bool udp_send(const Udp *udp, const ProbeAddress *to, const void *data, u32 bytes);
/* Receives one datagram. Returns its bytes, 0 if none is there. Empty ones and those of more than
 * `capacity` bytes are dropped. */
u32 udp_receive(const Udp *udp, ProbeAddress *from, void *data, u32 capacity);

PL_END_C

#endif
