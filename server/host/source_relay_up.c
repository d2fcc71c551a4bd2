/*
 * source_relay_up.c: messages that a relay sends up for its users, if the server above allows it:
 * the list of users, chat, presence and inputs. The server above assigns each user an id; users
 * without one can only watch.
 */
#include "server/host/source_relay_internal.h"
#include "shared/base/log.h"

#include <stdlib.h>
#include <string.h>

void relay_guests_forget(RelaySource *s)
{
    pthread_mutex_lock(&s->mutex);
    company_forget(&s->company);
    pthread_mutex_unlock(&s->mutex);
}

/* ---- the host's side ---- */

u32 relay_input(RelaySource *s, const Input *inputs, u32 count)
{
    u32 accepted = 0;
    pthread_mutex_lock(&s->mutex);
    for (; accepted < count; accepted++) {
        u32 given = s->stats.linked ? company_given(&s->company, inputs[accepted].user) : 0;
        if (given == 0 && inputs[accepted].kind == INPUT_RELEASE) {
            continue; /* holds nothing: the server above releases the grabs of users who left */
        }
        Message message = {.kind = MESSAGE_GUEST_INPUT};
        Input input = inputs[accepted];
        BitWriter writer;
        message.guest_input.user = input.user = given;
        bit_writer_init(&writer, message.guest_input.input, sizeof message.guest_input.input);
        input_encode(&writer, &input);
        message.guest_input.bytes = bit_writer_bytes(&writer);
        if (given == 0 || writer.failed || !company_outbox_push(&s->company, &message)) {
            break;
        }
    }
    pthread_mutex_unlock(&s->mutex);
    return accepted;
}

void relay_notify(RelaySource *s, const Message *message)
{
    pthread_mutex_lock(&s->mutex);
    company_notify(&s->company, message);
    pthread_mutex_unlock(&s->mutex);
}

void relay_notify_users(RelaySource *s, const UserInfo *users, u32 count)
{
    pthread_mutex_lock(&s->mutex);
    company_notify_users(&s->company, users, count);
    pthread_mutex_unlock(&s->mutex);
}

/* ---- the follower's side ---- */

static void guests_send(RelaySource *s)
{
    UserInfo users[GUESTS_MAX];
    Message message;
    pthread_mutex_lock(&s->mutex);
    bool due = s->begun && company_guests_due(&s->company, users, &message);
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
        CompanyPayload payload = company_outbox_pop(&s->company);
        pthread_mutex_unlock(&s->mutex);
        if (payload.data == NULL) {
            return;
        }
        (void)upstream_send_payload(s->upstream, CHANNEL_CONTROL, payload.data, payload.bytes);
        message_free(payload.data);
    }
}
