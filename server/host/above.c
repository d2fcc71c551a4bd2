/*
 * above.c: the host of a relay: what comes from the servers above besides frames: what is said
 * there goes to all clients; users and presences appear beside the host's own.
 */
#include "server/host/session.h"

u32 above_users(Host *host, UserInfo *out, u32 max)
{
    return host->source->ops->users != NULL
               ? host->source->ops->users(host->source, out, max, &host->above_version)
               : 0;
}

u32 above_presences(Host *host, Presence *out, u32 max)
{
    return host->source->ops->presences != NULL
               ? host->source->ops->presences(host->source, out, max)
               : 0;
}

void above_run(Host *host)
{
    const SourceOps *ops = host->source->ops;
    Message message;
    u32 version = host->above_version;
    while (ops->said != NULL && ops->said(host->source, &message)) {
        sessions_message(host, CHANNEL_CONTROL, &message, NULL);
    }
    if (ops->users != NULL) {
        (void)ops->users(host->source, NULL, 0, &version);
    }
    host->roster_dirty = host->roster_dirty || version != host->above_version;
}
