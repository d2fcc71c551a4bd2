/* hands.c: releases the grabs of users who leave or are frozen. A release is never lost: the host
 * keeps it until the source has accepted it. */
#include "server/host/session.h"

#include "shared/base/log.h"

#include <stdlib.h>

void release_later(Host *host, u32 user, u32 sequence)
{
    if (host->release_count == host->release_capacity) {
        u32 capacity = u32_max(2 * host->release_capacity, 64);
        PendingRelease *grown = realloc(host->releases, capacity * sizeof *grown);
        if (grown == NULL) {
            log_error("out of memory: the grabs of user %u are not released", user);
            return;
        }
        host->releases = grown;
        host->release_capacity = capacity;
    }
    host->releases[host->release_count++] = (PendingRelease){user, sequence};
}

void releases_run(Host *host)
{
    u32 done = 0;
    while (done < host->release_count) {
        Input release = {.kind = INPUT_RELEASE,
                         .user = host->releases[done].user,
                         .sequence = host->releases[done].sequence,
                         .rotation = quat_identity()};
        if (host->common.source->ops->input(host->common.source, &release, 1) != 1) {
            break;
        }
        done++;
    }
    host->release_count -= done;
    for (u32 i = 0; done > 0 && i < host->release_count; i++) {
        host->releases[i] = host->releases[i + done];
    }
}

void session_let_go(Host *host, Session *session)
{
    if (session->permissions.holds) {
        session->permissions.holds = false;
        /* After all inputs of the user in that tick; no client uses this sequence number. */
        release_later(host, session->user, UINT32_MAX);
    }
}
