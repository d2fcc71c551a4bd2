/*
 * lan.h: answers searches for worlds on the local network: queries (inquiry.h) that arrive at UDP
 * port LAN_PORT by broadcast, or by multicast to LAN_GROUP of IPv6. All servers of a machine share
 * the port. Only neighbours are answered: senders in a network of this machine, or with a
 * link-local address.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_LAN_H
#define PLENUM_SERVER_HOST_LAN_H

#include "shared/base/error.h"

#include <uv.h>

struct Host;
typedef struct Lan Lan;

/* Opens the sockets; failures are logged. NULL: none could be opened. */
Lan *lan_create(struct Host *host, uv_loop_t *loop);
/* Number of queries answered, and of those that came too often. NULL: 0. */
void lan_asked(const Lan *lan, u64 *answered, u64 *refused);
/* After the loop has closed all handles. NULL is fine. */
void lan_destroy(Lan *lan);

#endif
