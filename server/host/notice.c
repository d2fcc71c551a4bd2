/* notice.c: see notice.h. */
#include "server/host/notice.h"

#include "server/host/announce.h"
#include "server/host/lan.h"
#include "server/host/session.h"

#include <string.h>

static void notice_make(const Host *host, WorldNotice *out)
{
    const HostOptions *options = &host->options;
    bool named = options->name != NULL && options->name[0] != '\0';
    memset(out, 0, sizeof *out);
    memcpy(out->key, host->identity.public_key, sizeof out->key);
    out->port = options->port;
    out->users = (u16)u32_min(host->stats.clients, UINT16_MAX);
    out->places = (u16)options->clients_max;
    out->flags = (options->password != NULL ? WORLD_PASSWORD : 0) |
                 (options->tokens ? WORLD_TOKEN : 0) |
                 (host->common.status.status.replay ? WORLD_REPLAY : 0) |
                 (host->common.status.forwarded ? WORLD_RELAY : 0);
    (void)notice_text(out->name, sizeof out->name, named ? options->name : host->scene->name);
    (void)notice_text(out->scene, sizeof out->scene, host->scene->name);
    (void)notice_text(out->version, sizeof out->version, PLENUM_VERSION);
}

void notice_run(Host *host)
{
    if (host->options.port != 0 && host->now_ms >= host->notice_ms) {
        host->notice_ms = host->now_ms + NOTICE_MS;
        notice_make(host, &host->notice);
        if (host->link->ops->notify != NULL) {
            host->link->ops->notify(host->link, &host->notice);
        }
    }
    announce_run(host);
}
