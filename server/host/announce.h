/*
 * announce.h: announces a host's world to a lobby (server/lobby) by HTTP: at the start, every
 * ANNOUNCE_MS, when users join and leave, and a last time to remove it from the list. Each
 * announcement is signed by the server's key and carries a token of the lobby's operator
 * (announcement.h). Nothing waits for an answer: without a lobby the world continues.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_ANNOUNCE_H
#define PLENUM_SERVER_HOST_ANNOUNCE_H

#include "shared/base/error.h"

#include <uv.h>

enum {
    ANNOUNCE_MS = 10000,    /* a lobby forgets worlds after three of these */
    ANNOUNCE_NEWS_MS = 2000 /* minimal interval between announcements of changes */
};

struct Host;
typedef struct Announce Announce;

typedef struct AnnounceStats {
    u64 heard, failed; /* announcements */
    bool listed;       /* the last one was heard */
} AnnounceStats;

/* url: "http://HOST[:PORT]"; token: path of the token's file; address: "HOST:PORT" at which
 * clients join, looked up here, or NULL: as the lobby sees the server. NULL with a text. */
Announce *announce_create(uv_loop_t *loop, const char *url, const char *token, const char *address,
                          ErrorText *error);
/* Announces if due. */
void announce_run(struct Host *host);
/* True while the removal has not been announced. NULL: false. */
bool announce_is_busy(const Announce *announce);
void announce_stats(const Announce *announce, AnnounceStats *out); /* NULL: zeros */
/* Before the loop closes its handles. NULL is fine. */
void announce_stop(Announce *announce);
/* After the loop has closed all handles. NULL is fine. */
void announce_destroy(Announce *announce);

#endif
