/*
 * notice.h: what a host says of its world to strangers (inquiry.h), kept up to date: to who asks at
 * its port, to who looks for worlds on the local network (lan.h), and to a lobby (announce.h).
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_NOTICE_H
#define PLENUM_SERVER_HOST_NOTICE_H

#include "protocol/session/inquiry.h"

enum {
    NOTICE_MS = 500 /* so often it is made anew at most */
};

struct Host;
/* Makes the notice anew when that is due, and hands it on. Call in each iteration. */
void notice_run(struct Host *host);

#endif
