/*
 * guests.c: users of relays. A relay that may speak for others (by its token, or --relays) names
 * its users, and each becomes a session without a peer: with a name, a role of at most the relay's,
 * rate limits, and entries in roster and presence. The relay addresses them by the ids given here.
 */
#include "server/host/session.h"

#include "shared/base/check.h"
#include "shared/base/log.h"

#include <stdlib.h>
#include <string.h>

u32 guests_capacity(const HostOptions *options)
{
    return options->tokens || options->relays ? GUESTS_ALL_MAX : 0;
}

Session *guest_of_user(Host *host, const Session *relay, u32 user)
{
    Session *guest = relay->speaks ? session_of_user(host, user) : NULL;
    return guest != NULL && guest->guest_of == relay->peer + 1 ? guest : NULL;
}

static int guest_order(const void *a, const void *b)
{
    u32 x = (*(Session *const *)a)->guest_id, y = (*(Session *const *)b)->guest_id;
    return x < y ? -1 : x > y;
}

static Session *slot_free(Host *host)
{
    for (u32 i = host->peer_capacity; i < host->session_capacity; i++) {
        if (host->sessions[i].state == SESSION_FREE) {
            return &host->sessions[i];
        }
    }
    return NULL;
}

static Role role_of(const Session *relay, const UserInfo *info)
{
    return info->role < relay->role ? info->role : relay->role;
}

/* Both in order of the relay's ids. One that was removed here keeps its slot until the relay does
 * not name it any more, so that it does not come again. */
static void guests_merge(Host *host, Session *relay, Session **known, u32 known_count,
                         const Message *message, u32 *given)
{
    u32 k = 0;
    for (u32 i = 0; i < message->guests.count; i++) {
        const UserInfo *info = &message->guests.users[i];
        while (k < known_count && known[k]->guest_id < info->id) {
            guest_end(host, known[k++]);
        }
        Session *guest = NULL;
        if (k < known_count && known[k]->guest_id == info->id) {
            guest = known[k++];
        } else if ((guest = slot_free(host)) != NULL) {
            session_guest_begin(host, guest, relay, info, role_of(relay, info));
        }
        bool live = guest != NULL && guest->state == SESSION_LIVE;
        given[i] = live ? guest->user : 0;
        if (live && guest->role != role_of(relay, info)) {
            guest->role = guest->permissions.role = role_of(relay, info);
            host->roster_dirty = true;
        }
    }
    while (k < known_count) {
        guest_end(host, known[k++]);
    }
}

void guests_named(Host *host, Session *relay, const Message *message, u32 *given)
{
    Session *known[GUESTS_MAX] = {NULL};
    u32 known_count = 0;
    for (u32 i = host->peer_capacity; i < host->session_capacity; i++) {
        if (host->sessions[i].guest_of == relay->peer + 1) {
            CHECK(known_count < GUESTS_MAX);
            known[known_count++] = &host->sessions[i];
        }
    }
    qsort(known, known_count, sizeof known[0], guest_order);
    guests_merge(host, relay, known, known_count, message, given);
}

void guests_receive(Host *host, Session *relay, const Message *message)
{
    u32 given[GUESTS_MAX];
    if (!relay->speaks) {
        return;
    }
    guests_named(host, relay, message, given);
    Message answer = {.kind = MESSAGE_GUESTS};
    answer.guests.given = given;
    answer.guests.given_count = message->guests.count;
    session_message(host, relay, CHANNEL_CONTROL, &answer);
}

/* A relay reports the eyes and cursors of its users, with the ids assigned here. */
void guests_presence(Host *host, Session *relay, const Message *message)
{
    for (u32 i = 0; i < message->presence.count; i++) {
        const Presence *hand = &message->presence.presences[i];
        Session *guest = guest_of_user(host, relay, hand->user);
        if (guest != NULL) {
            guest->view.eye = hand->eye;
            guest->cursor.origin = hand->eye;
            guest->cursor.direction =
                vec3_normalize_or(vec3_sub(hand->cursor, hand->eye), vec3(0.0f, 0.0f, -1.0f));
            guest->cursor_visible = hand->cursor_visible != 0;
        }
    }
}
