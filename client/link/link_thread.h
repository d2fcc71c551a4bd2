/*
 * link_thread.h: a Link that another thread receives for. What comes is noted with the time at
 * which it came, however rarely the owner polls: a client that draws six pictures a second still
 * knows the clock of the stream to the millisecond, and what is reliable is acknowledged at once.
 * The only thread of client/link. All calls are the owner's; the other one only receives.
 * Layer: client/link.
 */
#ifndef PLENUM_CLIENT_LINK_LINK_THREAD_H
#define PLENUM_CLIENT_LINK_LINK_THREAD_H

#include "protocol/session/link.h"

enum {
    /* Of what waits for the owner: seconds of the widest line. Beyond it the rest waits in the
     * socket. */
    LINK_THREAD_BYTES_MAX = 16 << 20,
    LINK_THREAD_WAIT_MS = 5, /* the transport's timers are looked at so often */
};

/* Takes over `inner`, also where it fails (NULL: no memory or no thread; inner NULL: NULL).
 * now_ns: the clock of the owner's now_ms, callable from any thread. */
Link *link_thread_create(Link *inner, u64 (*now_ns)(void), ErrorText *error);

#endif
