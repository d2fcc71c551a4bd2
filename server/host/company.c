/* company.c: see company.h. */
#include "server/host/company.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ids ---- */

u32 company_given(const RelayCompany *c, u32 own)
{
    u32 low = 0, high = c->guest_ids;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (c->by_own[middle].own < own) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < c->guest_ids && c->by_own[low].own == own ? c->by_own[low].given : 0;
}

u32 company_own_user(const RelayCompany *c, u32 given)
{
    u32 low = 0, high = c->guest_ids;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (c->by_given[middle].given < given) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return given != 0 && low < c->guest_ids && c->by_given[low].given == given
               ? c->by_given[low].own
               : 0;
}

u32 relay_user_here(u32 user_above)
{
    u32 level = user_above >> RELAY_LEVEL_SHIFT;
    return user_above == 0 || level >= RELAY_LEVELS_MAX ? 0
                                                        : user_above + (1u << RELAY_LEVEL_SHIFT);
}

u32 company_user(const RelayCompany *c, u32 user_above)
{
    u32 own = company_own_user(c, user_above);
    return own != 0 ? own : relay_user_here(user_above);
}

/* True for users who are not this host's own. */
static bool is_above(const RelayCompany *c, u32 user_above)
{
    return user_above != c->own_user && company_own_user(c, user_above) == 0;
}

static int given_order(const void *a, const void *b)
{
    u32 x = ((const CompanyGuest *)a)->given, y = ((const CompanyGuest *)b)->given;
    return x < y ? -1 : x > y;
}

static void guests_answer(RelayCompany *c, const u32 *given, u32 count)
{
    if (c->awaiting && count == c->notified_count) {
        for (u32 i = 0; i < count; i++) {
            c->by_own[i] = c->by_given[i] = (CompanyGuest){c->notified_users[i], given[i]};
        }
        c->guest_ids = count;
        qsort(c->by_given, count, sizeof c->by_given[0], given_order);
    }
    c->awaiting = false;
}

/* ---- sessions above ---- */

void company_forget(RelayCompany *c)
{
    c->guest_ids = 0;
    c->awaiting = false;
    c->guests_changed = true;
    while (c->outbox_count > 0) {
        message_free(company_outbox_pop(c).data);
    }
}

void company_part(RelayCompany *c)
{
    company_forget(c);
    c->user_count = 0;
    c->users_version++;
    presence_list_clear(&c->presences);
}

void company_finish(RelayCompany *c)
{
    company_forget(c);
    presence_list_finish(&c->presences);
    free(c->users);
    c->users = NULL;
}

/* ---- from above ---- */

static void message_push(RelayCompany *c, const Message *message)
{
    if (c->message_count == COMPANY_MESSAGES_MAX) {
        c->message_first = (c->message_first + 1) % COMPANY_MESSAGES_MAX;
        c->message_count--;
    }
    c->messages[(c->message_first + c->message_count++) % COMPANY_MESSAGES_MAX] = *message;
}

void company_notice(RelayCompany *c, const char *text)
{
    Message message = {.kind = MESSAGE_NOTICE};
    snprintf(message.notice.text, sizeof message.notice.text, "%s", text);
    message_push(c, &message);
}

static void roster_receive(RelayCompany *c, const UserInfo *users, u32 count)
{
    UserInfo *copy = calloc(u32_max(count, 1), sizeof *copy);
    u32 used = 0;
    for (u32 i = 0; copy != NULL && i < count && used < COMPANY_USERS_MAX; i++) {
        u32 id = relay_user_here(users[i].id);
        if (id != 0 && is_above(c, users[i].id)) {
            copy[used] = users[i];
            copy[used++].id = id;
        }
    }
    free(c->users);
    c->users = copy;
    c->user_count = used;
    c->users_version++;
}

void company_receive(RelayCompany *c, const Message *message)
{
    Message chat;
    switch (message->kind) {
    case MESSAGE_ROSTER:
        roster_receive(c, message->roster.users, message->roster.count);
        break;
    case MESSAGE_PRESENCE:
        (void)presence_list_apply(&c->presences, message);
        break;
    case MESSAGE_CHAT:
        chat = *message;
        chat.chat.user = relay_user_here(message->chat.user);
        if (company_own_user(c, message->chat.user) == 0) { /* otherwise it was already sent here */
            message_push(c, &chat);
        }
        break;
    case MESSAGE_GUESTS:
        guests_answer(c, message->guests.given, message->guests.given_count);
        break;
    default:
        break;
    }
}

/* ---- to and from the host ---- */

bool company_next_message(RelayCompany *c, Message *out)
{
    bool any = c->message_count > 0;
    if (any) {
        *out = c->messages[c->message_first];
        c->message_first = (c->message_first + 1) % COMPANY_MESSAGES_MAX;
        c->message_count--;
    }
    return any;
}

u32 company_users(const RelayCompany *c, UserInfo *out, u32 max, u32 *version)
{
    u32 count = u32_min(c->user_count, max);
    if (count > 0) {
        memcpy(out, c->users, count * sizeof *out);
    }
    *version = c->users_version;
    return count;
}

static int presence_order(const void *a, const void *b)
{
    u32 x = ((const Presence *)a)->user, y = ((const Presence *)b)->user;
    return x < y ? -1 : x > y;
}

u32 company_presences(const RelayCompany *c, Presence *out, u32 max)
{
    u32 count = 0;
    for (u32 i = 0; i < c->presences.count && count < max; i++) {
        const Presence *above = &c->presences.items[i];
        u32 user = relay_user_here(above->user);
        if (user != 0 && is_above(c, above->user)) {
            out[count] = *above;
            out[count++].user = user;
        }
    }
    qsort(out, count, sizeof *out, presence_order);
    return count;
}

void company_notify(RelayCompany *c, const Message *message)
{
    Presence hands[COMPANY_PRESENCES_MAX];
    Message up = *message;
    if (message->kind == MESSAGE_CHAT) {
        up.chat.user = company_given(c, message->chat.user);
        if (up.chat.user != 0) {
            (void)company_outbox_push(c, &up);
        }
    } else if (message->kind == MESSAGE_PRESENCE) {
        up.presence.presences = hands;
        up.presence.count = 0;
        for (u32 i = 0; i < message->presence.count && i < COMPANY_PRESENCES_MAX; i++) {
            Presence *hand = &hands[up.presence.count];
            *hand = message->presence.presences[i];
            hand->user = company_given(c, hand->user);
            up.presence.count += hand->user != 0;
        }
        if (up.presence.count > 0) {
            (void)company_outbox_push(c, &up);
        }
    }
}

void company_notify_users(RelayCompany *c, const UserInfo *users, u32 count)
{
    count = u32_min(count, GUESTS_MAX);
    if (count != c->guest_count || memcmp(users, c->guests, count * sizeof *users) != 0) {
        memcpy(c->guests, users, count * sizeof *users);
        c->guest_count = count;
        c->guests_changed = true;
    }
}

/* ---- what goes up ---- */

bool company_guests_due(RelayCompany *c, UserInfo *users, Message *out)
{
    if (!c->guests_changed || c->awaiting) {
        return false;
    }
    memset(out, 0, sizeof *out);
    memcpy(users, c->guests, c->guest_count * sizeof users[0]);
    out->kind = MESSAGE_GUESTS;
    out->guests.users = users;
    out->guests.count = c->notified_count = c->guest_count;
    for (u32 i = 0; i < c->guest_count; i++) {
        c->notified_users[i] = users[i].id;
    }
    c->guests_changed = false;
    c->awaiting = true;
    return true;
}

bool company_outbox_push(RelayCompany *c, const Message *message)
{
    u32 bytes = 0;
    u8 *data = c->outbox_count < COMPANY_OUTBOX_MAX ? message_encode(message, &bytes) : NULL;
    if (data != NULL) {
        u32 at = (c->outbox_first + c->outbox_count++) % COMPANY_OUTBOX_MAX;
        c->outbox[at] = (CompanyPayload){data, bytes, message->kind};
    }
    return data != NULL;
}

CompanyPayload company_outbox_pop(RelayCompany *c)
{
    CompanyPayload payload = {0};
    if (c->outbox_count > 0) {
        payload = c->outbox[c->outbox_first];
        c->outbox_first = (c->outbox_first + 1) % COMPANY_OUTBOX_MAX;
        c->outbox_count--;
    }
    return payload;
}
