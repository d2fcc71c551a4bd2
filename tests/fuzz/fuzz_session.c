/*
 * fuzz_session.c: hostile clients of a host from their first message on, with a valid tunnel: HELLO
 * of every kind, messages and inputs well formed and not, in any state and order, while others
 * come, leave, resume and fall silent. The input is the options of the host and a list of steps.
 * After each the invariants of session.h hold, and the world gets no forbidden input.
 */
#include "server/author/scene_load.h"
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
    PEERS = 5,
    STEPS_MAX = 64,
    TURN_MS = 8,
    TURNS_MAX = 150, /* of an input: a second and more of world time */
    JUMP_MS = 500
};

typedef enum StepKind {
    STEP_CONNECT,
    STEP_LOSE,
    STEP_RAW,
    STEP_HELLO,
    STEP_MESSAGE,
    STEP_INPUTS,
    STEP_WAIT,
    STEP_JUMP, /* time without a turn: timeouts */
    STEP_KINDS
} StepKind;

typedef struct Stage {
    JoinRig clock;
    Link *link;
    Host *host;
    u32 turns;
} Stage;

static Scene *scene;
static SourceOps checked_ops;
static const SourceOps *world_ops;
static Stage *stage;

/* All that reaches the world. */
static u32 input_checked(Source *source, const Input *inputs, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        const Session *session = session_of_user(stage->host, inputs[i].user);
        CHECK(input_check(&inputs[i]) == 0 && inputs[i].user <= stage->host->next_user);
        if (inputs[i].user == 0) { /* the host itself, for what a leaver spawned */
            CHECK(inputs[i].kind == INPUT_REMOVE);
            continue;
        }
        if (inputs[i].kind == INPUT_RESET || inputs[i].kind == INPUT_SET ||
            inputs[i].kind == INPUT_REMOVE) {
            CHECK(session != NULL && session->role >= ROLE_OPERATOR);
        }
        CHECK(inputs[i].kind == INPUT_RELEASE ||
              (session != NULL && session->role > ROLE_VIEWER && !moderate_frozen(session)));
    }
    return world_ops->input(source, inputs, count);
}

static void prepare(void)
{
    static const char json[] =
        "{\"name\":\"session\",\"bodies\":[{\"name\":\"ground\",\"shape\":{\"kind\":\"plane\"},"
        "\"motion\":\"static\"},"
        "{\"name\":\"box\",\"shape\":{\"kind\":\"box\",\"half\":[1,1,1]},\"position\":[0,1,0],"
        "\"mass\":5,\"repeat\":{\"count\":[3,1,1],\"spacing\":[3,1,1]}}],"
        "\"prefabs\":[{\"name\":\"ball\",\"body\":{\"name\":\"ball\",\"shape\":{\"kind\":"
        "\"sphere\",\"radius\":0.2},\"mass\":1}}],\"hands\":{\"spawn_stay\":2}}";
    ErrorText error;
    log_set_level(LOG_QUIET);
    scene = scene_parse(json, sizeof json - 1, "session", &error);
    CHECK(scene != NULL);
}

static void begin(Stage *s, Feed *feed)
{
    u32 flags = feed_u8(feed);
    HostOptions options = {.clients_max = 2,
                           .snapshot_rate = 30,
                           .open_role = (i32)(flags & 3),
                           .queue_max = flags >> 2 & 1,
                           .reserved = flags >> 3 & 1,
                           .password = flags & 16 ? "open" : NULL,
                           .limits = {.per_address = 2, .joins_minute = flags & 32 ? 4 : 0}};
    ErrorText error;
    memset(s, 0, sizeof *s);
    s->clock.start_ns = s->clock.now_ns = (clock_now_ns() / 1000000 + 1) * 1000000;
    s->link = link_script_create(NULL, NULL);
    Source *source = join_rig_source(&s->clock, scene);
    world_ops = source->ops;
    checked_ops = *world_ops;
    checked_ops.input = input_checked;
    source->ops = &checked_ops;
    stage = s;
    s->host = host_create(&options, s->link, source, &error);
    CHECK(s->host != NULL);
}

static void turn(Stage *s)
{
    host_iterate(s->host, s->clock.now_ns);
    sessions_validate(s->host);
    stream_validate(&s->host->common);
}

static void send_message(Stage *s, u32 peer, const Message *message)
{
    u32 bytes;
    u8 *data = message_encode(message, &bytes);
    if (data != NULL) {
        link_script_payload(s->link, peer, CHANNEL_CONTROL, data, bytes);
        message_free(data);
    }
}

static void step_hello(Stage *s, u32 peer, Feed *feed)
{
    Message message = {.kind = MESSAGE_HELLO};
    MessageHello *hello = &message.hello;
    u32 flags = feed_u8(feed), other = feed_u8(feed);
    hello->major = flags & 1 ? (u16)feed_u8(feed) : (u16)PROTOCOL_MAJOR;
    if (flags & 2) { /* the secret of one who is here, or of one who left */
        hello->resume = flags & 4 ? s->host->formers[other % 8].resume
                                  : s->host->sessions[other % PEERS].resume;
    }
    if (flags & 8) {
        hello->token_bytes = other;
        feed_copy(feed, hello->token, other);
    }
    if (flags & 16) {
        hello->proves = true;
        feed_copy(feed, hello->client, sizeof hello->client);
        feed_copy(feed, hello->proof, sizeof hello->proof);
    }
    feed_text(feed, hello->name, sizeof hello->name);
    feed_text(feed, hello->version, sizeof hello->version);
    send_message(s, peer, &message);
}

static void step_message(Stage *s, u32 peer, Feed *feed)
{
    static const MessageKind kinds[] = {MESSAGE_CONTROL,  MESSAGE_CHAT,     MESSAGE_DEBUG_SUBSCRIBE,
                                        MESSAGE_BOOKMARK, MESSAGE_PASSWORD, MESSAGE_GOODBYE,
                                        MESSAGE_WELCOME,  MESSAGE_QUEUE};
    Message message = {.kind = kinds[feed_u8(feed) % PL_COUNT(kinds)]};
    switch (message.kind) {
    case MESSAGE_CONTROL:
        message.control.kind = feed_u8(feed) % (CONTROL_KIND_COUNT + 1);
        message.control.value = (f64)feed_f32(feed);
        break;
    case MESSAGE_CHAT:
        feed_text(feed, message.chat.text, sizeof message.chat.text);
        break;
    case MESSAGE_DEBUG_SUBSCRIBE:
        message.debug_subscribe.mask = feed_u8(feed);
        break;
    case MESSAGE_BOOKMARK:
        message.bookmark.tick = feed_u32(feed);
        feed_text(feed, message.bookmark.text, sizeof message.bookmark.text);
        break;
    case MESSAGE_PASSWORD:
        feed_text(feed, message.password.text, sizeof message.password.text);
        break;
    case MESSAGE_GOODBYE:
        message.goodbye.reason = feed_u8(feed);
        break;
    default:
        break;
    }
    send_message(s, peer, &message);
}

static void step_inputs(Stage *s, u32 peer, Feed *feed)
{
    static InputPacket packet;
    u8 out[STATE_PAYLOAD_BYTES_MAX];
    const Session *session = &s->host->sessions[peer];
    memset(&packet, 0, sizeof packet);
    packet.send_ms = (u16)feed_u32(feed);
    packet.echo_ms = (u16)((u16)s->host->now_ms - feed_u8(feed));
    packet.ack.valid = feed_u8(feed) & 1;
    packet.ack.newest = (u16)feed_u8(feed);
    packet.ack.bits = feed_u32(feed) * 0x100000001ull;
    packet.view.eye = vec3(0, 1, 5);
    packet.view.forward = packet.cursor.direction = vec3(0, 0, -1);
    packet.view.pixels_per_radian = 500;
    packet.cursor_visible = 1;
    packet.count = (u16)(feed_u8(feed) % 5);
    for (u32 i = 0; i < packet.count; i++) {
        Input *input = &packet.inputs[i];
        input->kind = feed_u8(feed) % INPUT_KIND_COUNT;
        input->sequence = session->input_newest + 1 + i + feed_u8(feed) % 3;
        input->entity = feed_u8(feed) % 8;
        input->index = input->kind == INPUT_DYE ? feed_u32(feed) : feed_u8(feed) % 3;
        input->rotation = quat_identity();
        input->ray = (Ray){vec3(0, 1, 5), vec3(0, 0, -1)};
        input->seen_base = (u32)s->host->common.status.tick - feed_u8(feed) % 4;
        input->local = feed_vec3(feed);
        input->target = feed_vec3(feed);
        input->vector = feed_vec3(feed);
        input->values[0] = feed_f32(feed);
    }
    link_script_payload(s->link, peer, CHANNEL_INPUT, out, input_packet_encode(&packet, out));
}

static void step_wait(Stage *s, u32 turns)
{
    for (u32 i = 0; i < turns && s->turns < TURNS_MAX; i++, s->turns++) {
        s->clock.now_ns += (u64)TURN_MS * 1000000;
        turn(s);
    }
}

static void step(Stage *s, Feed *feed)
{
    u32 kind = feed_u8(feed), peer = kind / STEP_KINDS % PEERS, bytes;
    const u8 *data;
    bool there = s->host->sessions[peer].state != SESSION_FREE;
    switch ((StepKind)(kind % STEP_KINDS)) {
    case STEP_CONNECT:
        if (!there) {
            link_script_push(s->link, LINK_CONNECTED, peer, 0);
        }
        break;
    case STEP_LOSE:
        link_script_push(s->link, LINK_DISCONNECTED, peer, feed_u8(feed) % REFUSE_COUNT);
        break;
    case STEP_RAW:
        kind = feed_u8(feed) % (CHANNEL_COUNT + 1);
        data = feed_bytes(feed, &bytes);
        link_script_payload(s->link, peer, kind, data, bytes);
        break;
    case STEP_HELLO:
        step_hello(s, peer, feed);
        break;
    case STEP_MESSAGE:
        step_message(s, peer, feed);
        break;
    case STEP_INPUTS:
        step_inputs(s, peer, feed);
        break;
    case STEP_WAIT:
        step_wait(s, 1 + feed_u8(feed) % 32);
        break;
    default: /* the world stands still meanwhile */
        s->clock.now_ns += JUMP_MS * 1000000ull * (1 + feed_u8(feed));
        s->clock.start_ns =
            s->clock.now_ns - (s->host->common.status.tick + 1) * 1000000000ull / 60;
        break;
    }
    turn(s);
}

static void run(const u8 *data, size_t bytes)
{
    Feed feed = {data, bytes};
    Stage s;
    begin(&s, &feed);
    for (u32 i = 0; i < STEPS_MAX && feed.left > 0; i++) {
        step(&s, &feed);
    }
    step_wait(&s, 4);
    host_destroy(s.host);
}

const FuzzTarget fuzz_target = {
    .prepare = prepare, .run = run, .size_max = 4096, .memory_fixed = 256 << 20};
