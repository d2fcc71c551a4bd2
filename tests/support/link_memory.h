/*
 * link_memory.h: Links between a server and its clients in one process, over a simulated network
 * (netsim.h) and without sockets, for tests of everything above Link. Channels 0 and 3 are reliable
 * and ordered, the others are not. All links of one server belong to one thread
 * and are polled with the same clock.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_LINK_MEMORY_H
#define PLENUM_TESTS_SUPPORT_LINK_MEMORY_H

#include "protocol/session/link.h"
#include "tests/support/netsim.h"

PL_BEGIN_C

/* A server for up to peers_max clients; others get no answer. NULL: out of memory. */
Link *link_memory_listen(u32 peers_max);
/* A client of `server` (created by link_memory_listen), connecting; its peer handle is 0. up:
 * client to server; NULL is a perfect network. Either side may be destroyed first: the other
 * then sees a timeout. */
Link *link_memory_connect(Link *server, const NetsimOptions *up, const NetsimOptions *down);
/* Changes the conditions of a client's network. */
void link_memory_set(Link *client, const NetsimOptions *up, const NetsimOptions *down);

PL_END_C

#endif
