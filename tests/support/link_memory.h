/*
 * link_memory.h: a server and its clients in one process, with a bad network (netsim.h) between
 * them and no sockets: for tests of everything above Link. Channels 0 and 3 are ordered and
 * retransmitted, the others get what the network does. All links of one server belong to one thread
 * and are polled with the same clock.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_LINK_MEMORY_H
#define PLENUM_TESTS_SUPPORT_LINK_MEMORY_H

#include "protocol/session/link.h"
#include "tests/support/netsim.h"

PL_BEGIN_C

/* A server that up to peers_max clients can reach; more get no answer. NULL: no memory. */
Link *link_memory_listen(u32 peers_max);
/* A client of `server` (which link_memory_listen made), its connection under way; its peer handle
 * is 0. up: client to server; NULL is a perfect network. Either side may be destroyed first: the
 * other then sees a time-out. */
Link *link_memory_connect(Link *server, const NetsimOptions *up, const NetsimOptions *down);
/* New conditions for a client's network from now on. */
void link_memory_set(Link *client, const NetsimOptions *up, const NetsimOptions *down);

PL_END_C

#endif
