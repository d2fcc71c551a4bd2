/*
 * fuzz_live.c: hostile messages beside the stream of a published world: to the host that publishes
 * it, in the name of followers, and to a follower, in the name of the publisher. Both talk to each
 * other meanwhile. The input is a list of steps; after each, the invariants of session.h and
 * company.h hold.
 */
#include "server/author/scene_load.h"
#include "server/host/live_hub.h"
#include "server/host/live_leaf.h"
#include "server/host/session.h"
#include "shared/base/check.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "tests/fuzz/target.h"
#include "tests/support/feed.h"
#include "tests/support/join_rig.h"
#include "tests/support/link_script.h"

#include <stdlib.h>

enum {
    STEPS_MAX = 48,
    TURN_MS = 8,
    TURNS_MAX = 100, /* of an input */
    JUMP_MS = 500,
    USERS = 12,
    OTHERS = 80, /* followers that the strangers claim to be */
    RUN = 5,
    FOLLOWER = 9
};

typedef enum StepKind {
    STEP_USERS, /* of the follower */
    STEP_CHAT,
    STEP_PRESENCE,
    STEP_SAID, /* of strangers to the publisher, a message */
    STEP_SAID_RAW,
    STEP_LIVE, /* to the follower */
    STEP_LIVE_RAW,
    STEP_RUN, /* another publisher */
    STEP_WAIT,
    STEP_JUMP,
    STEP_KINDS
} StepKind;

typedef struct Stage {
    JoinRig clock;
    Host *host;
    LiveHub *hub;
    LiveLeaf *leaf;
    u32 turns;
} Stage;

static Scene *scene;
static SourceOps published_ops;
static const SourceOps *world_ops;
static Stage *stage;

/* ---- a source that is published ---- */

static void published_status(Source *source, SourceStatus *out)
{
    world_ops->status(source, out);
    out->broker.publishing = true;
}

static void published_answer(Source *source, u64 follower, const Message *message)
{
    PL_UNUSED(source);
    live_hub_push(stage->hub, message->kind, live_write(&(LiveHead){0, follower}, message),
                  stage->host->now_ms);
}

static void published_notify(Source *source, const Message *message)
{
    published_answer(source, 0, message);
}

static LivePayload published_payload(Source *source)
{
    PL_UNUSED(source);
    return live_hub_received(stage->hub);
}

static void prepare(void)
{
    static const char json[] =
        "{\"name\":\"live\",\"bodies\":[{\"name\":\"ground\",\"shape\":{\"kind\":\"plane\"},"
        "\"motion\":\"static\"}]}";
    ErrorText error;
    log_set_level(LOG_QUIET);
    scene = scene_parse(json, sizeof json - 1, "live", &error);
    CHECK(scene != NULL);
}

static void begin(Stage *s)
{
    HostOptions options = {
        .clients_max = 2, .snapshot_rate = 30, .open_role = ROLE_PARTICIPANT, .relays = true};
    ErrorText error;
    memset(s, 0, sizeof *s);
    s->clock.start_ns = s->clock.now_ns = (clock_now_ns() / 1000000 + 1) * 1000000;
    s->hub = live_hub_create(RUN);
    s->leaf = malloc(sizeof *s->leaf);
    Source *source = join_rig_source(&s->clock, scene);
    CHECK(s->hub != NULL && s->leaf != NULL);
    live_leaf_init(s->leaf, FOLLOWER, s->clock.now_ns / 1000000);
    live_leaf_follow(s->leaf, RUN);
    world_ops = source->ops;
    published_ops = *world_ops;
    published_ops.status = published_status;
    published_ops.notify = published_notify;
    published_ops.follower_payload = published_payload;
    published_ops.follower_answer = published_answer;
    source->ops = &published_ops;
    stage = s;
    s->host = host_create(&options, link_script_create(NULL, NULL), source, &error);
    CHECK(s->host != NULL);
}

/* ---- what must hold ---- */

static void users_check(const Stage *s)
{
    u32 guests = 0;
    for (u32 i = 0; i < s->host->session_capacity; i++) {
        const Session *session = &s->host->sessions[i];
        if (session->state == SESSION_LIVE && session->guest_of != 0) {
            CHECK(session->guest_of > s->host->session_capacity);
            CHECK(session->role <= ROLE_PARTICIPANT);
            guests++;
        }
        for (u32 k = 0; k < i && session->state == SESSION_LIVE; k++) {
            CHECK(s->host->sessions[k].state != SESSION_LIVE ||
                  s->host->sessions[k].skeleton != session->skeleton);
        }
    }
    CHECK(guests <= GUESTS_ALL_MAX);
    const RelayCompany *company = &s->leaf->company;
    CHECK(company->message_count <= COMPANY_MESSAGES_MAX && company->guest_ids <= GUESTS_MAX);
    for (u32 i = 0; i < company->user_count; i++) {
        CHECK(company->users[i].id >= 1u << RELAY_LEVEL_SHIFT);
    }
    for (u32 i = 0; i < company->guest_ids; i++) {
        u32 given = company->by_own[i].given;
        CHECK(given == 0 || company_own_user(company, given) != 0);
    }
}

static void turn(Stage *s)
{
    u64 now_ms = s->clock.now_ns / 1000000;
    LivePayload payload;
    host_iterate(s->host, s->clock.now_ns);
    sessions_validate(s->host);
    while ((payload = live_hub_next(s->hub, now_ms)).data != NULL) {
        if (s->leaf->run == RUN) {
            CHECK(live_leaf_receive(s->leaf, payload.data, payload.bytes, now_ms) == ERROR_OK);
        }
        free(payload.data);
    }
    while ((payload = live_leaf_next(s->leaf, now_ms)).data != NULL) {
        live_hub_receive(s->hub, payload.data, payload.bytes);
        free(payload.data);
    }
    users_check(s);
}

/* ---- steps ---- */

static u32 feed_users(Feed *feed, UserInfo *out)
{
    u32 count = feed_u8(feed) % (USERS + 1), id = 0;
    memset(out, 0, USERS * sizeof *out);
    for (u32 i = 0; i < count; i++) {
        u32 bits = feed_u8(feed);
        id += 1 + bits % 4;
        out[i].id = bits >= 250 ? id << RELAY_LEVEL_SHIFT | id : id;
        out[i].role = bits / 4 % ROLE_COUNT;
        feed_text(feed, out[i].name, 12);
    }
    return count;
}

static u32 feed_hands(Feed *feed, Presence *out)
{
    u32 count = feed_u8(feed) % (USERS + 1);
    memset(out, 0, USERS * sizeof *out);
    for (u32 i = 0; i < count; i++) {
        out[i].user = feed_u8(feed) % 16;
        out[i].cursor_visible = 1;
        out[i].eye = feed_vec3(feed);
        out[i].cursor = feed_vec3(feed);
    }
    return count;
}

/* A message of strangers. */
static LivePayload feed_message(Feed *feed, LiveHead head)
{
    static const MessageKind kinds[] = {MESSAGE_GUESTS, MESSAGE_CHAT, MESSAGE_PRESENCE,
                                        MESSAGE_ROSTER, MESSAGE_CONTROL};
    UserInfo users[USERS];
    Presence hands[USERS];
    u32 given[USERS];
    Message message = {.kind = kinds[feed_u8(feed) % PL_COUNT(kinds)]};
    switch (message.kind) {
    case MESSAGE_GUESTS:
        message.guests.users = users;
        message.guests.count = feed_users(feed, users);
        message.guests.given = given;
        message.guests.given_count = feed_u8(feed) % (USERS + 1);
        for (u32 i = 0; i < message.guests.given_count; i++) {
            given[i] = feed_u8(feed);
        }
        break;
    case MESSAGE_CHAT:
        message.chat.user = feed_u8(feed) % 32;
        feed_text(feed, message.chat.text, sizeof message.chat.text);
        break;
    case MESSAGE_PRESENCE:
        message.presence.presences = hands;
        message.presence.count = feed_hands(feed, hands);
        message.presence.serial = feed_u8(feed);
        message.presence.from = feed_u8(feed);
        message.presence.to = message.presence.from + feed_u8(feed);
        break;
    case MESSAGE_ROSTER:
        message.roster.users = users;
        message.roster.count = feed_users(feed, users);
        break;
    default:
        break;
    }
    return live_write(&head, &message);
}

static LiveHead feed_head(Feed *feed)
{
    u32 bits = feed_u8(feed);
    return (LiveHead){bits & 1 ? RUN + 1 : RUN, bits & 2   ? 0
                                                : bits & 4 ? FOLLOWER
                                                           : FOLLOWER + bits % OTHERS};
}

/* Bytes of strangers, behind a head that may be right, in memory of just their size. */
static LivePayload feed_raw(Feed *feed)
{
    LiveHead head = feed_head(feed);
    u32 bytes;
    const u8 *data = feed_bytes(feed, &bytes);
    if (bytes > 0 && feed_u8(feed) % 2 == 0) {
        return live_write_encoded(&head, data, bytes);
    }
    LivePayload payload = {malloc(u32_max(bytes, 1)), bytes};
    CHECK(payload.data != NULL);
    if (bytes > 0) {
        memcpy(payload.data, data, bytes);
    }
    return payload;
}

static void step_wait(Stage *s, u32 turns)
{
    for (u32 i = 0; i < turns && s->turns < TURNS_MAX; i++, s->turns++) {
        s->clock.now_ns += (u64)TURN_MS * 1000000;
        turn(s);
    }
}

/* What the follower's own host has for it. */
static void step_own(Stage *s, StepKind kind, Feed *feed)
{
    UserInfo users[USERS];
    Presence hands[USERS];
    Message message = {.kind = kind == STEP_CHAT ? MESSAGE_CHAT : MESSAGE_PRESENCE};
    if (kind == STEP_USERS) {
        u32 count = feed_users(feed, users);
        company_notify_users(&s->leaf->company, users, count);
        return;
    }
    if (kind == STEP_CHAT) {
        message.chat.user = feed_u8(feed) % 32;
        feed_text(feed, message.chat.text, sizeof message.chat.text);
    } else {
        message.presence.presences = hands;
        message.presence.count = feed_hands(feed, hands);
    }
    company_notify(&s->leaf->company, &message);
}

static void step(Stage *s, Feed *feed)
{
    StepKind kind = feed_u8(feed) % STEP_KINDS;
    LivePayload payload = {0};
    u64 now_ms = s->clock.now_ns / 1000000;
    switch (kind) {
    case STEP_SAID:
    case STEP_LIVE:
        payload = feed_message(feed, feed_head(feed));
        break;
    case STEP_SAID_RAW:
    case STEP_LIVE_RAW:
        payload = feed_raw(feed);
        break;
    case STEP_RUN:
        live_leaf_follow(s->leaf, feed_u8(feed) % 2 == 0 ? RUN : feed_u8(feed) % 3);
        break;
    case STEP_WAIT:
        step_wait(s, 1 + feed_u8(feed) % 32);
        break;
    case STEP_JUMP: /* the world stands still meanwhile */
        s->clock.now_ns += JUMP_MS * 1000000ull * (1 + feed_u8(feed) % 64);
        s->clock.start_ns =
            s->clock.now_ns - (s->host->common.status.tick + 1) * 1000000000ull / 60;
        break;
    default:
        step_own(s, kind, feed);
        break;
    }
    if (payload.data != NULL && (kind == STEP_SAID || kind == STEP_SAID_RAW)) {
        live_hub_receive(s->hub, payload.data, payload.bytes);
    } else if (payload.data != NULL) {
        (void)live_leaf_receive(s->leaf, payload.data, payload.bytes, now_ms);
    }
    free(payload.data);
    turn(s);
}

static void run(const u8 *data, size_t bytes)
{
    Feed feed = {data, bytes};
    Stage s;
    begin(&s);
    for (u32 i = 0; i < STEPS_MAX && feed.left > 0; i++) {
        step(&s, &feed);
    }
    step_wait(&s, 4);
    host_destroy(s.host);
    live_hub_destroy(s.hub);
    live_leaf_finish(s.leaf);
    free(s.leaf);
}

const FuzzTarget fuzz_target = {
    .prepare = prepare, .run = run, .size_max = 4096, .memory_fixed = 256 << 20};
