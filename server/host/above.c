/*
 * above.c: chat, notices, users and presences between a relay's host and the servers above. Chat
 * and notices from above go to all clients; users and presences are listed with the host's own.
 */
#include "server/host/company.h"
#include "server/host/session.h"

#include "shared/base/hash.h"

#include <stdlib.h>
#include <string.h>

enum {
    ABOVE_MS = 50, /* interval at which changes of users and presences are sent up */
    ABOVE_PRESENCES = 11,
};

u32 above_users(Host *host, UserInfo *out, u32 max)
{
    return host->common.source->ops->users != NULL
               ? host->common.source->ops->users(host->common.source, out, max,
                                                 &host->above_version)
               : 0;
}

u32 above_presences(Host *host, Presence *out, u32 max)
{
    return host->common.source->ops->presences != NULL
               ? host->common.source->ops->presences(host->common.source, out, max)
               : 0;
}

void above_notify(Host *host, const Message *message)
{
    if (host->common.source->ops->notify != NULL) {
        host->common.source->ops->notify(host->common.source, message);
    }
}

static void users_notify(Host *host)
{
    u32 count = 0;
    for (u32 i = 0; i < host->session_capacity && count < GUESTS_MAX; i++) {
        const Session *session = &host->sessions[i];
        if (session->state == SESSION_LIVE) {
            session_user_info(session, &host->roster[count++]);
        }
    }
    qsort(host->roster, count, sizeof *host->roster, user_info_order);
    host->common.source->ops->notify_users(host->common.source, host->roster, count);
}

/* Includes users who point at nothing: a user's reach is measured from the eye. */
static void presences_notify(Host *host)
{
    Presence hands[ABOVE_PRESENCES];
    Message message = {.kind = MESSAGE_PRESENCE};
    message.presence.presences = hands;
    message.presence.to = UINT32_MAX;
    for (u32 i = 0; i < host->session_capacity; i++) {
        Session *session = &host->sessions[i];
        if (session->state != SESSION_LIVE) {
            continue;
        }
        Presence *hand = &hands[message.presence.count];
        *hand = (Presence){.user = session->user,
                           .cursor_visible = session->cursor_visible,
                           .eye = session->view.eye};
        hand->cursor = vec3_add_scaled(session->cursor.origin, 5.0f, session->cursor.direction);
        u64 hash = hash_bytes(&hand->eye, 2 * sizeof hand->eye, hand->cursor_visible);
        if (hash == session->above_hash && host->now_ms < session->above_ms) {
            continue;
        }
        session->above_hash = hash;
        session->above_ms = host->now_ms + 1000;
        if (++message.presence.count == ABOVE_PRESENCES) {
            above_notify(host, &message);
            message.presence.count = 0;
        }
    }
    if (message.presence.count > 0) {
        above_notify(host, &message);
    }
}

void above_run(Host *host)
{
    const SourceOps *ops = host->common.source->ops;
    Message message;
    u32 version = host->above_version;
    while (ops->next_message != NULL && ops->next_message(host->common.source, &message)) {
        sessions_message(host, CHANNEL_CONTROL, &message, NULL);
    }
    if (ops->users != NULL) {
        (void)ops->users(host->common.source, NULL, 0, &version);
    }
    host->roster_dirty = host->roster_dirty || version != host->above_version;
    if (ops->notify_users != NULL && host->now_ms >= host->above_notify_ms) {
        host->above_notify_ms = host->now_ms + ABOVE_MS;
        users_notify(host);
        presences_notify(host);
    }
}
