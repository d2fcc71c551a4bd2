/*
 * notice.h: the public description of a host's world (inquiry.h), kept up to date. It answers
 * queries at the server's port and on the local network (lan.h), and is announced to a lobby
 * (announce.h).
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_NOTICE_H
#define PLENUM_SERVER_HOST_NOTICE_H

#include "protocol/session/inquiry.h"

enum {
    NOTICE_MS = 500 /* minimal interval between updates */
};

struct Host;
/* Updates the notice when it is due, and passes it on. Call in each iteration. */
void notice_run(struct Host *host);

#endif
