/*
 * lan.h: answers those who look for worlds on the local network: questions (inquiry.h) that came to
 * UDP port LAN_PORT by broadcast, or by multicast to LAN_GROUP of IPv6. All servers of a machine
 * share the port. Only neighbours are answered: senders in a network of this machine, or with a
 * link-local address.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_LAN_H
#define PLENUM_SERVER_HOST_LAN_H

#include "shared/base/error.h"

#include <uv.h>

struct Host;
typedef struct Lan Lan;

/* Opens the sockets; what cannot be opened is logged. NULL: none could. */
Lan *lan_create(struct Host *host, uv_loop_t *loop);
/* Questions that were answered, and that came too often. NULL: 0. */
void lan_asked(const Lan *lan, u64 *answered, u64 *refused);
/* After the loop has closed all handles. NULL is fine. */
void lan_destroy(Lan *lan);

#endif
