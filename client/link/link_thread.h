/*
 * link_thread.h: a Link that receives on a separate thread. Packets are timestamped on arrival,
 * however rarely the owner polls: a client that draws six pictures a second still knows the
 * stream's clock to the millisecond, and reliable packets are acknowledged at once. The only thread
 * of client/link. All calls are made by the owner; the thread only receives.
 * Layer: client/link.
 */
#ifndef PLENUM_CLIENT_LINK_LINK_THREAD_H
#define PLENUM_CLIENT_LINK_LINK_THREAD_H

#include "protocol/session/link.h"

enum {
    /* Limit of queued data: seconds of the widest link. Beyond it packets wait in the socket. */
    LINK_THREAD_BYTES_MAX = 16 << 20,
    LINK_THREAD_WAIT_MS = 5, /* interval at which the transport's timers are served */
};

/* Takes ownership of `inner`, also on failure (NULL: out of memory or no thread; inner NULL:
 * NULL). now_ns: the owner's clock, callable from any thread. */
Link *link_thread_create(Link *inner, u64 (*now_ns)(void), ErrorText *error);

#endif
