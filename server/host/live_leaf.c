/* live_leaf.c: see live_leaf.h. */
#include "server/host/live_leaf.h"

#include "shared/base/check.h"

#include <stdlib.h>
#include <string.h>

enum {
    NAME_MS = 5000,    /* users are named again: a publisher forgets followers that are silent */
    ANSWER_MS = 2000,  /* without an answer they are named again at once */
    SILENT_MS = 15000, /* a publisher that stops listing users has none */
    PRESENCES_S = 20,  /* payloads of presences a second */
};

void live_leaf_init(LiveLeaf *leaf, u64 follower, u64 now_ms)
{
    CHECK(follower != 0);
    memset(leaf, 0, sizeof *leaf);
    leaf->follower = follower;
    token_bucket_init(&leaf->wanted, PRESENCES_S, PRESENCES_S, now_ms);
}

void live_leaf_finish(LiveLeaf *leaf)
{
    company_finish(&leaf->company);
}

void live_leaf_follow(LiveLeaf *leaf, u64 run)
{
    if (run != leaf->run) {
        leaf->run = run;
        leaf->heard_ms = 0;
        company_part(&leaf->company);
    }
}

/* True for the answer to the list of users that was sent last: it repeats the list. */
static bool answers(const RelayCompany *company, const Message *message)
{
    bool same = message->guests.count == company->notified_count &&
                message->guests.given_count == company->notified_count;
    for (u32 i = 0; same && i < company->notified_count; i++) {
        same = message->guests.users[i].id == company->notified_users[i];
    }
    return same;
}

int live_leaf_receive(LiveLeaf *leaf, const u8 *data, size_t bytes, u64 now_ms)
{
    LiveHead head;
    Message message;
    u8 *storage;
    int result = live_read(LIVE_FROM_PUBLISHER, data, bytes, &head, &message, &storage);
    if (result != ERROR_OK) {
        leaf->refused++;
        return result;
    }
    if (head.run != leaf->run) {
        result = ERROR_STATE; /* of one that ends, or that is not followed yet */
        leaf->refused++;
    } else if (head.follower == 0 ||
               (head.follower == leaf->follower && answers(&leaf->company, &message))) {
        company_receive(&leaf->company, &message);
        leaf->heard_ms = message.kind == MESSAGE_ROSTER ? now_ms : leaf->heard_ms;
    }
    message_free(storage);
    return result;
}

/* Sends the list of our users if it is due. */
static LivePayload guests_next(LiveLeaf *leaf, u64 now_ms)
{
    UserInfo users[GUESTS_MAX];
    Message message;
    RelayCompany *company = &leaf->company;
    u64 since_ms = now_ms - leaf->named_ms;
    if (since_ms > NAME_MS || (company->awaiting && since_ms > ANSWER_MS)) {
        company->awaiting = false;
        company->guests_changed = true;
    }
    bool none = company->guest_count == 0 && !leaf->sent_any; /* nobody needs to know */
    if (none || !company_guests_due(company, users, &message)) {
        return (LivePayload){0};
    }
    leaf->named_ms = now_ms;
    leaf->sent_any = message.guests.count > 0;
    return live_write(&(LiveHead){leaf->run, leaf->follower}, &message);
}

LivePayload live_leaf_next(LiveLeaf *leaf, u64 now_ms)
{
    RelayCompany *company = &leaf->company;
    if (leaf->run == 0) {
        return (LivePayload){0};
    }
    if (leaf->heard_ms != 0 && now_ms - leaf->heard_ms > SILENT_MS) {
        leaf->heard_ms = 0;
        company_part(company);
    }
    LivePayload payload = guests_next(leaf, now_ms);
    while (payload.data == NULL && company->outbox_count > 0) {
        CompanyPayload up = company_outbox_pop(company);
        if (up.kind == MESSAGE_CHAT || token_bucket_take(&leaf->wanted, 1.0, now_ms)) {
            payload = live_write_encoded(&(LiveHead){leaf->run, leaf->follower}, up.data, up.bytes);
        }
        message_free(up.data);
    }
    return payload;
}
