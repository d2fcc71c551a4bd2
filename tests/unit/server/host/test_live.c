/* test_live.c: both ends of the messages beside the stream of a published world, in virtual
 * time. */
#include "server/host/live_hub.h"
#include "server/host/live_leaf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    RUN = 3,
    FOLLOWER = 4
};

static void leaf_user(LiveLeaf *leaf, u32 id)
{
    UserInfo user = {.id = id, .role = ROLE_PARTICIPANT, .name = "ada"};
    company_notify_users(&leaf->company, &user, id != 0);
}

/* The publisher's answer to a list of one user. */
static int answer(LiveLeaf *leaf, u32 id, u32 given, u64 now_ms)
{
    UserInfo user = {.id = id, .name = "ada"};
    Message message = {.kind = MESSAGE_GUESTS};
    message.guests.users = &user;
    message.guests.given = &given;
    message.guests.count = message.guests.given_count = 1;
    LivePayload payload = live_write(&(LiveHead){RUN, FOLLOWER}, &message);
    int result = live_leaf_receive(leaf, payload.data, payload.bytes, now_ms);
    free(payload.data);
    return result;
}

/* Number of payloads that are due, and the kind of the last. */
static u32 due(LiveLeaf *leaf, u64 now_ms, MessageKind *kind)
{
    u32 count = 0;
    LivePayload payload;
    while ((payload = live_leaf_next(leaf, now_ms)).data != NULL) {
        LiveHead head;
        Message message;
        u8 *storage;
        assert_int_equal(
            live_read(LIVE_FROM_FOLLOWER, payload.data, payload.bytes, &head, &message, &storage),
            0);
        assert_int_equal(head.run, RUN);
        assert_int_equal(head.follower, FOLLOWER);
        *kind = message.kind;
        message_free(storage);
        free(payload.data);
        count++;
    }
    return count;
}

/* A late answer, to an outdated list, assigns no user another's id. */
static void test_late_answer(void **state)
{
    PL_UNUSED(state);
    static LiveLeaf leaf;
    MessageKind kind;
    live_leaf_init(&leaf, FOLLOWER, 1000);
    leaf_user(&leaf, 11);
    assert_int_equal(due(&leaf, 1000, &kind), 0); /* no publisher yet */
    live_leaf_follow(&leaf, RUN);
    assert_int_equal(due(&leaf, 1000, &kind), 1);
    assert_int_equal(kind, MESSAGE_GUESTS);
    leaf_user(&leaf, 12);
    assert_int_equal(due(&leaf, 1500, &kind), 0); /* one at a time */
    assert_int_equal(due(&leaf, 3100, &kind), 1); /* no answer came */
    assert_int_equal(answer(&leaf, 11, 701, 3200), 0);
    assert_int_equal(company_given(&leaf.company, 12), 0);
    assert_int_equal(answer(&leaf, 12, 702, 3300), 0);
    assert_int_equal(company_given(&leaf.company, 12), 702);
    assert_int_equal(company_own_user(&leaf.company, 702), 12);
    /* Sent again every five seconds; another publisher knows none of them. */
    assert_int_equal(due(&leaf, 7000, &kind), 0);
    assert_int_equal(due(&leaf, 8200, &kind), 1);
    live_leaf_follow(&leaf, RUN + 1);
    assert_int_equal(company_given(&leaf.company, 12), 0);
    assert_int_equal(answer(&leaf, 12, 702, 8300), ERROR_STATE);
    assert_int_equal(leaf.refused, 1);
    live_leaf_finish(&leaf);
}

/* A follower without users sends nothing, except once that the last one left. */
static void test_nobody(void **state)
{
    PL_UNUSED(state);
    static LiveLeaf leaf;
    MessageKind kind;
    live_leaf_init(&leaf, FOLLOWER, 1000);
    live_leaf_follow(&leaf, RUN);
    for (u64 ms = 1000; ms < 20000; ms += 500) {
        assert_int_equal(due(&leaf, ms, &kind), 0);
    }
    leaf_user(&leaf, 11);
    assert_int_equal(due(&leaf, 20000, &kind), 1);
    assert_int_equal(answer(&leaf, 11, 701, 20010), 0);
    leaf_user(&leaf, 0);
    u32 sent = 0;
    for (u64 ms = 20100; ms < 60000; ms += 500) {
        sent += due(&leaf, ms, &kind);
    }
    assert_int_equal(sent, 1);
    live_leaf_finish(&leaf);
}

/* A user whose hand never rests takes no more than its share on the way up. */
static void test_presences_up(void **state)
{
    PL_UNUSED(state);
    static LiveLeaf leaf;
    MessageKind kind;
    u32 sent = 0;
    live_leaf_init(&leaf, FOLLOWER, 1000);
    live_leaf_follow(&leaf, RUN);
    leaf_user(&leaf, 11);
    assert_int_equal(due(&leaf, 1000, &kind), 1);
    assert_int_equal(answer(&leaf, 11, 701, 1010), 0);
    for (u64 ms = 2000; ms < 6000; ms += 5) {
        Presence hand = {.user = 11, .cursor_visible = 1, .eye = {0.0f, (f32)ms, 0.0f}};
        Message message = {.kind = MESSAGE_PRESENCE};
        message.presence.presences = &hand;
        message.presence.count = 1;
        company_notify(&leaf.company, &message);
        sent += due(&leaf, ms, &kind);
    }
    assert_in_range(sent, 80, 105); /* 20 a second, and 20 at once */
    live_leaf_finish(&leaf);
}

static LivePayload chat(u64 run, u64 follower, const char *text)
{
    Message message = {.kind = MESSAGE_CHAT};
    message.chat.user = 1;
    snprintf(message.chat.text, sizeof message.chat.text, "%s", text);
    return live_write(&(LiveHead){run, follower}, &message);
}

/* Chat in order, rosters before presences, of those the newest at ten a second; nothing that is
 * older than ten seconds; and of received messages, none for another run and no more than fit. */
static void test_hub(void **state)
{
    PL_UNUSED(state);
    LiveHub *hub = live_hub_create(RUN);
    Message roster = {.kind = MESSAGE_ROSTER}, hands = {.kind = MESSAGE_PRESENCE};
    LivePayload payload;
    u32 sent = 0;
    live_hub_push(hub, MESSAGE_CHAT, chat(0, 0, "old"), 1000);
    live_hub_push(hub, MESSAGE_CHAT, chat(0, 0, "new"), 11000);
    for (u32 i = 0; i < 3; i++) {
        live_hub_push(hub, MESSAGE_ROSTER, live_write(&(LiveHead){0, 0}, &roster), 12000);
    }
    static const MessageKind expected[] = {MESSAGE_CHAT, MESSAGE_ROSTER};
    for (u32 i = 0; (payload = live_hub_next(hub, 12000)).data != NULL; i++) {
        LiveHead head;
        Message message;
        u8 *storage;
        assert_in_range(i, 0, 1);
        assert_int_equal(
            live_read(LIVE_FROM_PUBLISHER, payload.data, payload.bytes, &head, &message, &storage),
            0);
        assert_int_equal(head.run, RUN);
        assert_int_equal(message.kind, expected[i]);
        assert_true(i != 0 || strcmp(message.chat.text, "new") == 0);
        message_free(storage);
        free(payload.data);
    }
    for (u64 ms = 13000; ms < 17000; ms += 5) {
        live_hub_push(hub, MESSAGE_PRESENCE, live_write(&(LiveHead){0, 0}, &hands), ms);
        while ((payload = live_hub_next(hub, ms)).data != NULL) {
            free(payload.data);
            sent++;
        }
    }
    assert_in_range(sent, 38, 41);
    payload = chat(RUN, FOLLOWER, "up");
    for (u32 i = 0; i < 300; i++) {
        live_hub_receive(hub, payload.data, payload.bytes);
    }
    assert_int_equal(live_hub_refused(hub), 300 - 256);
    live_set_run(&payload, RUN + 1);
    live_hub_receive(hub, payload.data, payload.bytes);
    live_hub_receive(hub, payload.data, LIVE_HEAD_BYTES);
    assert_int_equal(live_hub_refused(hub), 300 - 256 + 2);
    free(payload.data);
    for (sent = 0; (payload = live_hub_received(hub)).data != NULL; sent++) {
        free(payload.data);
    }
    assert_int_equal(sent, 256);
    live_hub_destroy(hub);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late_answer),
        cmocka_unit_test(test_nobody),
        cmocka_unit_test(test_presences_up),
        cmocka_unit_test(test_hub),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
