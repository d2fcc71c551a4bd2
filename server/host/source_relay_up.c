/*
 * source_relay_up.c: what a relay sends up on behalf of its users, if the server above allows it:
 * the list of users, chat, presence and inputs. The server above assigns each user an id; users
 * without one can only watch.
 */
#include "server/host/source_relay_internal.h"
#include "shared/base/log.h"

#include <stdlib.h>
#include <string.h>

/* ---- ids; mutex held, or on the follower's thread, the only one to change them ---- */

static u32 given_to(const RelaySource *s, u32 own)
{
    u32 low = 0, high = s->guest_ids;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (s->by_own[middle].own < own) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < s->guest_ids && s->by_own[low].own == own ? s->by_own[low].given : 0;
}

u32 relay_own_user(const RelaySource *s, u32 given)
{
    u32 low = 0, high = s->guest_ids;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (s->by_given[middle].given < given) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return given != 0 && low < s->guest_ids && s->by_given[low].given == given
               ? s->by_given[low].own
               : 0;
}

u32 relay_user_here(u32 user_above)
{
    u32 level = user_above >> RELAY_LEVEL_SHIFT;
    return user_above == 0 || level >= RELAY_LEVELS_MAX ? 0
                                                        : user_above + (1u << RELAY_LEVEL_SHIFT);
}

u32 relay_user(const RelaySource *s, u32 user_above)
{
    u32 own = relay_own_user(s, user_above);
    return own != 0 ? own : relay_user_here(user_above);
}

static int given_order(const void *a, const void *b)
{
    u32 x = ((const RelayGuest *)a)->given, y = ((const RelayGuest *)b)->given;
    return x < y ? -1 : x > y;
}

void relay_guests_answer(RelaySource *s, const u32 *given, u32 count)
{
    pthread_mutex_lock(&s->mutex);
    if (s->awaiting && count == s->notified_count) {
        for (u32 i = 0; i < count; i++) {
            s->by_own[i] = s->by_given[i] = (RelayGuest){s->notified_users[i], given[i]};
        }
        s->guest_ids = count;
        qsort(s->by_given, count, sizeof s->by_given[0], given_order);
    }
    s->awaiting = false;
    pthread_mutex_unlock(&s->mutex);
}

void relay_guests_forget(RelaySource *s)
{
    pthread_mutex_lock(&s->mutex);
    s->guest_ids = 0;
    s->awaiting = false;
    s->guests_changed = true;
    while (s->outbox_count > 0) {
        message_free(s->outbox[s->outbox_first].data);
        s->outbox_first = (s->outbox_first + 1) % RELAY_OUTBOX_MAX;
        s->outbox_count--;
    }
    pthread_mutex_unlock(&s->mutex);
}

/* ---- the host's side; mutex held ---- */

static bool outbox_push(RelaySource *s, const Message *message)
{
    u32 bytes = 0;
    u8 *data = s->outbox_count < RELAY_OUTBOX_MAX ? message_encode(message, &bytes) : NULL;
    if (data != NULL) {
        u32 at = (s->outbox_first + s->outbox_count++) % RELAY_OUTBOX_MAX;
        s->outbox[at] = (RelayPayload){data, bytes};
    }
    return data != NULL;
}

u32 relay_input(RelaySource *s, const Input *inputs, u32 count)
{
    u32 accepted = 0;
    pthread_mutex_lock(&s->mutex);
    for (; accepted < count; accepted++) {
        u32 given = s->stats.linked ? given_to(s, inputs[accepted].user) : 0;
        if (given == 0 && inputs[accepted].kind == INPUT_RELEASE) {
            continue; /* holds nothing: the server above releases for users who left */
        }
        Message message = {.kind = MESSAGE_GUEST_INPUT};
        Input input = inputs[accepted];
        BitWriter writer;
        message.guest_input.user = input.user = given;
        bit_writer_init(&writer, message.guest_input.input, sizeof message.guest_input.input);
        input_encode(&writer, &input);
        message.guest_input.bytes = bit_writer_bytes(&writer);
        if (given == 0 || writer.failed || !outbox_push(s, &message)) {
            break;
        }
    }
    pthread_mutex_unlock(&s->mutex);
    return accepted;
}

void relay_notify(RelaySource *s, const Message *message)
{
    Presence hands[RELAY_PRESENCES_MAX];
    Message up = *message;
    pthread_mutex_lock(&s->mutex);
    if (message->kind == MESSAGE_CHAT) {
        up.chat.user = given_to(s, message->chat.user);
        if (up.chat.user != 0) {
            (void)outbox_push(s, &up);
        }
    } else if (message->kind == MESSAGE_PRESENCE) {
        up.presence.presences = hands;
        up.presence.count = 0;
        for (u32 i = 0; i < message->presence.count && i < RELAY_PRESENCES_MAX; i++) {
            Presence *hand = &hands[up.presence.count];
            *hand = message->presence.presences[i];
            hand->user = given_to(s, hand->user);
            up.presence.count += hand->user != 0;
        }
        if (up.presence.count > 0) {
            (void)outbox_push(s, &up);
        }
    }
    pthread_mutex_unlock(&s->mutex);
}

void relay_notify_users(RelaySource *s, const UserInfo *users, u32 count)
{
    count = u32_min(count, GUESTS_MAX);
    pthread_mutex_lock(&s->mutex);
    if (count != s->guest_count || memcmp(users, s->guests, count * sizeof *users) != 0) {
        memcpy(s->guests, users, count * sizeof *users);
        s->guest_count = count;
        s->guests_changed = true;
    }
    pthread_mutex_unlock(&s->mutex);
}

/* ---- the follower's side ---- */

static void guests_send(RelaySource *s)
{
    UserInfo users[GUESTS_MAX];
    Message message = {.kind = MESSAGE_GUESTS};
    pthread_mutex_lock(&s->mutex);
    bool due = s->guests_changed && !s->awaiting && s->begun;
    if (due) {
        memcpy(users, s->guests, s->guest_count * sizeof users[0]);
        message.guests.users = users;
        message.guests.count = s->notified_count = s->guest_count;
        for (u32 i = 0; i < s->guest_count; i++) {
            s->notified_users[i] = users[i].id;
        }
        s->guests_changed = false;
        s->awaiting = true;
    }
    pthread_mutex_unlock(&s->mutex);
    if (due) {
        (void)upstream_send(s->upstream, CHANNEL_CONTROL, &message);
    }
}

void relay_send(RelaySource *s)
{
    if (upstream_state(s->upstream) != UPSTREAM_JOINED) {
        return;
    }
    guests_send(s);
    for (;;) {
        pthread_mutex_lock(&s->mutex);
        RelayPayload payload = {0};
        if (s->outbox_count > 0) {
            payload = s->outbox[s->outbox_first];
            s->outbox_first = (s->outbox_first + 1) % RELAY_OUTBOX_MAX;
            s->outbox_count--;
        }
        pthread_mutex_unlock(&s->mutex);
        if (payload.data == NULL) {
            return;
        }
        (void)upstream_send_payload(s->upstream, CHANNEL_CONTROL, payload.data, payload.bytes);
        message_free(payload.data);
    }
}
