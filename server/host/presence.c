/*
 * presence.c: sends the cursors and grabs of all users to all clients. A change of a client's own
 * grab comes first in its messages, since its picture waits for the answer; then the users in order
 * of id, as many as fit a packet and the client's budget; the rest follows in the next messages. A
 * message states the range of ids for which it is complete, so ended presences need no entry and a
 * lost message costs one cycle.
 */
#include "server/host/session.h"

#include "shared/base/hash.h"

#include <stddef.h>

enum {
    PRESENCE_MS = 50,
    /* Interval of unchanged presences, after some repeats against loss. */
    PRESENCE_REST_MS = 500,
    PRESENCE_REPEATS = 3,
    /* Presences in one unreliable message: some 90 bytes each. */
    PRESENCES_MAX = 11,
    PRESENCE_BYTES = 90,
    PRESENCE_HEAD_BYTES = 150, /* of message, seal and packet */
    PRESENCE_SHARE = 10,       /* a client's budget divided by this is for presence */
    PRESENCE_LEFT_BYTES_S = 6000,
    /* Maximal interval on a narrow link, so that messages do not consist of headers only. */
    PRESENCE_GAP_MS = 1000,
};

PL_STATIC_ASSERT(PRESENCES_MAX *PRESENCE_BYTES + PRESENCE_HEAD_BYTES <= STATE_PAYLOAD_BYTES_MAX,
                 "a message is one packet");

/* Users who left the common time see another tick than the others. */
static bool presence_active(const Session *session)
{
    return session->state == SESSION_LIVE && (session->world_sent || session->guest_of != 0) &&
           (session->cursor_visible || session->grabbed != 0) && session->own == NULL;
}

static Presence presence_of(const Session *session)
{
    Presence presence = {.user = session->user,
                         .cursor_visible = session->cursor_visible,
                         .eye = session->view.eye,
                         .grabbed = session->grabbed,
                         .element = session->element,
                         .local = session->local,
                         .target = session->target};
    /* Where the cursor's ray hits something depends on the viewer's picture; a point a few
     * metres along it shows the direction. */
    presence.cursor = vec3_add_scaled(session->cursor.origin, 5.0f, session->cursor.direction);
    return presence;
}

u32 presence_gather(Host *host)
{
    u32 count = 0;
    for (u32 i = 0; i < host->session_capacity; i++) {
        if (!presence_active(&host->sessions[i])) {
            continue;
        }
        Presence hand = presence_of(&host->sessions[i]);
        u32 at = count++;
        for (; at > 0 && host->hands[at - 1].user > hand.user; at--) {
            host->hands[at] = host->hands[at - 1];
        }
        host->hands[at] = hand;
    }
    return count + above_presences(host, host->hands + count, host->roster_capacity - count);
}

/* Presence bytes per second of a client: its share, or half of the budget not used by states. */
static f64 presence_bytes_s(const Session *session)
{
    f64 trusted = budget_trusted(&session->budget);
    f64 left = 0.5 * (trusted - session->budget.sent_bytes_s);
    left = left < PRESENCE_LEFT_BYTES_S ? left : PRESENCE_LEFT_BYTES_S;
    return left > trusted / PRESENCE_SHARE ? left : trusted / PRESENCE_SHARE;
}

/* Number of presences per message to this client. */
static u32 presence_capacity(const Session *session)
{
    f64 bytes = presence_bytes_s(session) * PRESENCE_GAP_MS / 1000.0 - PRESENCE_HEAD_BYTES;
    return bytes > PRESENCES_MAX * PRESENCE_BYTES ? PRESENCES_MAX
           : bytes > 2 * PRESENCE_BYTES           ? (u32)(bytes / PRESENCE_BYTES)
                                                  : 2;
}

/* Fills a client's next message: its own grab if that changed, and the users next in the cycle. */
static void presence_fill(Host *host, Session *session, u32 count, Presence *out, Message *message)
{
    u32 capacity = presence_capacity(session), used = 0, at = 0;
    while (at < count && host->hands[at].user < session->presence_from) {
        at++;
    }
    message->presence.from = session->presence_from;
    bool own = session->presence_own > 0;
    if (own) {
        out[used++] = presence_of(session); /* also when idle: it was released */
        session->presence_own--;
    }
    for (; at < count && used < capacity; at++) {
        if (!own || host->hands[at].user != session->user) {
            out[used++] = host->hands[at];
        }
    }
    bool rest = at < count;
    message->presence.to = rest ? host->hands[at].user - 1 : UINT32_MAX;
    session->presence_from = rest ? host->hands[at].user : 0;
    message->presence.presences = out;
    message->presence.count = used;
}

u64 presence_hash(const Presence *hands, u32 count)
{
    u64 hash = count;
    for (u32 i = 0; i < count; i++) {
        const Presence *hand = &hands[i];
        u64 seed = hash * 31 + 2ull * hand->user + hand->cursor_visible;
        hash = hash_bytes(&hand->eye, sizeof *hand - offsetof(Presence, eye), seed);
    }
    return hash;
}

/* Sends one message to a client, already encoded or encoded here, and schedules the next. */
static void presence_notify(Host *host, Session *session, const u8 *cleartext, u32 bytes)
{
    session_send(host, session, CHANNEL_INPUT, cleartext, bytes);
    f64 cost = bytes + SEAL_OVERHEAD_BYTES + BUDGET_HEAD_BYTES;
    u64 gap_ms = (u64)(1000.0 * cost / presence_bytes_s(session));
    bool rests = session->presence_same >= PRESENCE_REPEATS;
    u64 least_ms = rests ? PRESENCE_REST_MS : PRESENCE_MS;
    session->presence_ms = host->now_ms + u64_max(gap_ms, least_ms);
    session->presence_grabbed = session->grabbed;
}

static bool presence_due(const Host *host, const Session *session, bool changed)
{
    bool waits = host->now_ms < session->presence_ms;
    /* Changes after an idle time, and of the client's own grab, are sent immediately. */
    bool urgent = (changed && session->presence_same >= PRESENCE_REPEATS) ||
                  session->presence_grabbed != session->grabbed;
    return session->state == SESSION_LIVE && session->world_here && (!waits || urgent);
}

/* Users in own time see no presences. */
static void presence_send_none(Host *host, Session *session)
{
    Message message = {.kind = MESSAGE_PRESENCE};
    u32 bytes = 0;
    if (!presence_due(host, session, session->presence_hash != 0)) {
        return;
    }
    session->presence_same = session->presence_hash != 0 ? 0 : session->presence_same + 1;
    session->presence_hash = 0;
    message.presence.to = UINT32_MAX;
    message.presence.serial = ++host->presence_serial;
    u8 *cleartext = message_encode(&message, &bytes);
    if (cleartext != NULL) {
        presence_notify(host, session, cleartext, bytes);
    }
    message_free(cleartext);
}

void presence_send(Host *host)
{
    Presence own[PRESENCES_MAX + 1];
    Message message = {.kind = MESSAGE_PRESENCE};
    u32 count = presence_gather(host), bytes = 0;
    u64 hash = presence_hash(host->hands, count);
    u8 *shared = NULL; /* all presences, for all clients for which they fit */
    for (u32 i = 0; i < host->session_capacity; i++) {
        Session *session = &host->sessions[i];
        if (session->own != NULL) {
            presence_send_none(host, session);
            continue;
        }
        bool changed = session->presence_hash != hash;
        if (!presence_due(host, session, changed)) {
            continue;
        }
        bool all = count <= presence_capacity(session);
        bool hold = session->presence_grabbed != session->grabbed;
        session->presence_own = hold ? PRESENCE_REPEATS : session->presence_own;
        session->presence_same = changed || !all ? 0 : session->presence_same + 1;
        session->presence_hash = hash;
        if (all && shared == NULL) {
            message.presence.presences = host->hands;
            message.presence.count = count;
            message.presence.from = 0;
            message.presence.to = UINT32_MAX;
            message.presence.serial = ++host->presence_serial;
            shared = message_encode(&message, &bytes);
        }
        if (all && shared != NULL) {
            presence_notify(host, session, shared, bytes);
            continue;
        }
        u32 own_bytes = 0;
        presence_fill(host, session, count, own, &message);
        message.presence.serial = ++host->presence_serial;
        u8 *cleartext = message_encode(&message, &own_bytes);
        if (cleartext != NULL) {
            presence_notify(host, session, cleartext, own_bytes);
        }
        message_free(cleartext);
    }
    message_free(shared);
}
