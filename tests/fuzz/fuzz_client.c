/*
 * fuzz_client.c: an authenticated but hostile server: worlds, states, events, users, debug pictures
 * and transfers, well formed, damaged or in the wrong order, while the client shows its state. The
 * input is a list of steps. The client may give up, with a text; what it shows is finite, and its
 * lists are bounded.
 */
#include "client/link/connection_internal.h"
#include "shared/base/check.h"
#include "tests/fuzz/target.h"
#include "tests/support/feed.h"
#include "tests/support/link_script.h"
#include "tests/support/world_stage.h"

#include <stdlib.h>

enum {
    EPOCHS = 2,
    TICKS = 24,
    PACKETS_MAX = 160,
    STEPS_MAX = 64,
    POLL_MS = 16,
    FLAGS_AT = 16, /* of a state packet */
    ELEMENTS_MAX = 1 << 16
};

typedef enum StepKind {
    STEP_RAW,
    STEP_WORLD,
    STEP_STATES,
    STEP_MESSAGE,
    STEP_EVENTS,
    STEP_USERS,
    STEP_WAIT,
    STEP_ACT,
    STEP_KINDS
} StepKind;

typedef struct Packet {
    u32 bytes;
    u8 data[STATE_PAYLOAD_BYTES_MAX];
} Packet;

typedef struct Stage {
    Link *link;
    Connection *connection;
    u64 now_ns;
    u32 serial, transfer;
} Stage;

static u8 *worlds[EPOCHS]; /* as MESSAGE_WORLD */
static u32 world_bytes[EPOCHS];
static Packet packets[PACKETS_MAX]; /* an honest stream of it */
static u32 packet_count;
static ShownPose *poses;
static ShownPoint *points;
static f32 *values;

static void keep_packet(void *context, const u8 *data, u32 bytes)
{
    SnapshotReceiver *receiver = context;
    if (packet_count < PACKETS_MAX) {
        packets[packet_count].bytes = bytes;
        memcpy(packets[packet_count++].data, data, bytes);
    }
    CHECK(snapshot_receiver_push(receiver, data, bytes, NULL) == 0);
}

static void record_stream(World *world)
{
    History history;
    ChunkCache *cache = chunk_cache_create();
    SnapshotSender *sender = snapshot_sender_create(world_fields(world));
    SnapshotReceiver *receiver = snapshot_receiver_create(world_fields(world));
    SnapshotView view = {.forward = vec3(0, 0, -1)};
    SnapshotHeader header = {.speed = 1024, .flags = 1 << 4};
    CHECK(cache != NULL && sender != NULL && receiver != NULL);
    history_init(&history);
    for (u32 tick = 0; tick < TICKS; tick++) {
        Frame *frame = world_frame(world);
        history_push(&history, frame);
        frame_release(frame);
        CHECK(chunk_cache_begin(cache, &history));
        header.send_ms = (u16)(tick * 17);
        (void)snapshot_sender_build(sender, cache, &view, &header,
                                    (SnapshotLine){20000, tick * 17, 20}, keep_packet, receiver);
        (void)snapshot_sender_ack(sender, snapshot_receiver_ack(receiver), NULL);
        world_tick(world, NULL, 0);
    }
    snapshot_sender_destroy(sender);
    snapshot_receiver_destroy(receiver);
    chunk_cache_destroy(cache);
    history_finish(&history);
}

static void prepare(void)
{
    Scene *scene;
    World *world = world_stage_create("tests/fuzz/matter_scene.json", &scene);
    CHECK(seal_start() == 0);
    for (u32 i = 0; i < EPOCHS; i++) {
        Message message = {.kind = MESSAGE_WORLD};
        world_describe(world, &message.world);
        message.world.epoch = (u8)(1 + i);
        worlds[i] = message_encode(&message, &world_bytes[i]);
        CHECK(worlds[i] != NULL);
    }
    record_stream(world);
    poses = calloc(ELEMENTS_MAX, sizeof *poses);
    points = calloc(ELEMENTS_MAX, sizeof *points);
    values = calloc(ELEMENTS_MAX, sizeof *values);
    CHECK(poses != NULL && points != NULL && values != NULL && packet_count > 10);
    world_destroy(world);
    scene_destroy(scene);
}

/* ---- messages of the server ---- */

static void say(Stage *s, u32 channel, const Message *message)
{
    u32 bytes;
    u8 *data = message_encode(message, &bytes);
    if (data != NULL) {
        link_script_payload(s->link, 0, channel, data, bytes);
        message_free(data);
    }
}

static void welcome(Stage *s, u32 flags)
{
    Message message = {.kind = MESSAGE_WELCOME};
    message.welcome.major = flags & 1 ? (u16)flags : (u16)PROTOCOL_MAJOR;
    message.welcome.user = 1;
    message.welcome.role = ROLE_OPERATOR;
    message.welcome.tick_rate = flags & 2 ? flags : 60;
    message.welcome.snapshot_rate = flags & 4 ? flags : 30;
    message.welcome.resume = 5;
    say(s, CHANNEL_CONTROL, &message);
}

/* Some bytes are others. */
static void damage(u8 *data, u32 bytes, Feed *feed)
{
    for (u32 edits = feed_u8(feed) % 5; edits > 0 && bytes > 0; edits--) {
        u32 at = feed_u32(feed) % bytes;
        data[at] = (u8)feed_u8(feed);
    }
}

static void step_world(Stage *s, Feed *feed)
{
    u32 which = feed_u8(feed) % EPOCHS;
    u8 *copy = malloc(world_bytes[which]);
    CHECK(copy != NULL);
    memcpy(copy, worlds[which], world_bytes[which]);
    damage(copy, world_bytes[which], feed);
    link_script_payload(s->link, 0, CHANNEL_BULK, copy, world_bytes[which]);
    free(copy);
}

static void step_states(Stage *s, Feed *feed)
{
    u32 first = feed_u8(feed), count = 1 + feed_u8(feed) % 16, epoch = feed_u8(feed);
    for (u32 i = 0; i < count; i++) {
        Packet packet = packets[(first + i) % packet_count];
        if (epoch < 32) {
            packet.data[FLAGS_AT] = (u8)((packet.data[FLAGS_AT] & 15) | epoch << 4);
        }
        if (i + 1 == count) {
            damage(packet.data, packet.bytes, feed);
        }
        link_script_payload(s->link, 0, CHANNEL_STATE, packet.data, packet.bytes);
    }
}

static void step_events(Stage *s, Feed *feed)
{
    static Event events[8];
    Message message = {.kind = MESSAGE_EVENTS};
    memset(events, 0, sizeof events);
    message.events.tick = feed_u8(feed);
    message.events.events = events;
    message.events.count = feed_u8(feed) % (PL_COUNT(events) + 1);
    for (u32 i = 0; i < message.events.count; i++) {
        Event *event = &events[i];
        u32 count = 0;
        const Entity *known = connection_entities(s->connection, &count, NULL);
        event->kind = feed_u8(feed) % EVENT_KIND_COUNT;
        event->user = feed_u8(feed) % 3;
        event->a = feed_u8(feed);
        event->b = feed_u8(feed);
        event->position = feed_vec3(feed);
        event->impulse = feed_f32(feed);
        if (count > 0) {
            event->entity = known[event->a % count];
        }
        event->entity.id = event->b;
        event->entity.first += feed_u8(feed) % 4;
        event->entity.field = (u8)(event->entity.field + (feed_u8(feed) == 1));
        event->entity.generation++;
    }
    say(s, CHANNEL_BULK, &message);
}

static void step_users(Stage *s, Feed *feed)
{
    UserInfo users[6] = {0};
    Presence presences[6] = {0};
    u32 flags = feed_u8(feed), count = flags % 7;
    Message message = {.kind = flags & 128 ? MESSAGE_ROSTER : MESSAGE_PRESENCE};
    for (u32 i = 0; i < count; i++) {
        users[i].id = presences[i].user = feed_u8(feed) % 8;
        users[i].role = feed_u8(feed) % ROLE_COUNT;
        feed_text(feed, users[i].name, sizeof users[i].name);
        presences[i].grabbed = feed_u8(feed);
        presences[i].element = feed_u8(feed);
        presences[i].local = feed_vec3(feed);
        presences[i].target = feed_vec3(feed);
    }
    if (message.kind == MESSAGE_ROSTER) {
        message.roster.users = users;
        message.roster.count = count;
    } else {
        message.presence.presences = presences;
        message.presence.count = count;
        message.presence.serial = flags & 64 ? feed_u32(feed) : ++s->serial;
        message.presence.from = feed_u8(feed) % 8;
        message.presence.to = feed_u8(feed);
    }
    say(s, flags & 128 ? CHANNEL_CONTROL : CHANNEL_INPUT, &message);
}

static void fill_status(MessageStatus *status, Feed *feed)
{
    status->replay = status->seekable = 1;
    status->paused = feed_u8(feed) & 1;
    status->speed = feed_f32(feed);
    status->first_tick = feed_u8(feed);
    status->last_tick = feed_u32(feed);
    status->play.stream_tick = feed_u8(feed);
    status->play.tick = feed_u32(feed);
    status->play.direction = (i32)(feed_u8(feed) % 3) - 1;
}

static void fill_survey(MessageSurvey *survey, Feed *feed)
{
    static f32 samples[64];
    static SurveyMark marks[4];
    memset(marks, 0, sizeof marks);
    survey->last_tick = feed_u32(feed);
    survey->samples = feed_u8(feed) % 9;
    survey->probes = feed_u8(feed) % 8;
    survey->values = samples;
    survey->marks = marks;
    survey->mark_count = feed_u8(feed) % 5;
    for (u32 i = 0; i < survey->mark_count; i++) {
        marks[i].tick = feed_u8(feed);
        marks[i].kind = feed_u8(feed);
    }
}

static void fill_saves(Message *message, Feed *feed)
{
    static SaveInfo saves[3];
    memset(saves, 0, sizeof saves);
    message->saves.items = saves;
    message->saves.count = feed_u8(feed) % 4;
    for (u32 i = 0; i < message->saves.count; i++) {
        feed_text(feed, saves[i].name, sizeof saves[i].name);
    }
}

static void step_message(Stage *s, Feed *feed)
{
    u32 flags = feed_u8(feed), channel = flags & 128 ? CHANNEL_BULK : CHANNEL_CONTROL;
    Message message = {.kind = (flags & 127) % MESSAGE_KIND_COUNT};
    switch (message.kind) {
    case MESSAGE_WELCOME:
        welcome(s, feed_u8(feed));
        return;
    case MESSAGE_STATUS:
        fill_status(&message.status, feed);
        break;
    case MESSAGE_SURVEY:
        fill_survey(&message.survey, feed);
        break;
    case MESSAGE_SAVES:
        fill_saves(&message, feed);
        break;
    case MESSAGE_BULK:
        message.bulk.transfer = s->transfer + feed_u8(feed) % 3;
        message.bulk.first = feed_u8(feed) % 3;
        break;
    case MESSAGE_QUEUE:
        message.queue.position = feed_u8(feed);
        message.queue.waiting = feed_u8(feed);
        break;
    case MESSAGE_REFUSE:
        message.refuse.reason = feed_u8(feed);
        feed_text(feed, message.refuse.text, sizeof message.refuse.text);
        break;
    case MESSAGE_CHAT:
        message.chat.user = feed_u8(feed);
        feed_text(feed, message.chat.text, sizeof message.chat.text);
        break;
    case MESSAGE_NOTICE:
        feed_text(feed, message.notice.text, sizeof message.notice.text);
        break;
    case MESSAGE_GOODBYE:
        message.goodbye.reason = feed_u8(feed);
        break;
    case MESSAGE_DEBUG:
        message.debug.tick = feed_u8(feed);
        message.debug.mask = feed_u8(feed);
        break;
    default:
        break;
    }
    say(s, channel, &message);
}

/* ---- actions of the client ---- */

static void look(Stage *s)
{
    Timeline *timeline = connection_timeline(s->connection);
    const FieldSet *fields = connection_fields(s->connection);
    u32 count;
    for (u32 f = 0; timeline != NULL && f < fields->count; f++) {
        const FieldDesc *field = &fields->fields[f];
        if (field->capacity > ELEMENTS_MAX) {
            continue;
        }
        if (field->kind == FIELD_POSES) {
            timeline_poses(timeline, f, poses);
            for (u32 i = 0; i < field->capacity; i++) {
                CHECK(!(poses[i].flags & POSE_LIVE) || vec3_is_finite(poses[i].position));
            }
        } else if (field->kind == FIELD_POINTS) {
            timeline_points(timeline, f, points);
            for (u32 i = 0; i < field->capacity; i++) {
                CHECK(points[i].generation == 0 || vec3_is_finite(points[i].position));
            }
        } else if (field->kind == FIELD_SCALARS) {
            (void)timeline_scalars(timeline, f, values);
        } else {
            (void)timeline_grid(timeline, f, 0, values);
        }
    }
    (void)connection_users(s->connection, &count);
    CHECK(count <= USERS_MAX);
    (void)connection_presences(s->connection, &count);
    CHECK(count <= USERS_MAX);
    (void)connection_debug(s->connection);
    CHECK(isfinite(connection_recorded_tick(s->connection, 20.0)));
}

static void act(Stage *s, Feed *feed)
{
    Input input = {.kind = 1 + feed_u8(feed) % (INPUT_KIND_COUNT - 1),
                   .entity = feed_u8(feed),
                   .rotation = quat_identity(),
                   .ray = {{0, 1, 5}, {0, 0, -1}}};
    input.index = input.entity * 0x10101;
    input.target = feed_vec3(feed);
    if (input_check(&input) == 0) {
        (void)connection_input(s->connection, &input);
    }
    connection_debug_subscribe(s->connection, feed_u8(feed) & DEBUG_ALL);
}

static void poll(Stage *s, u32 polls)
{
    ConnectionNews news;
    for (u32 i = 0; i < polls; i++) {
        s->now_ns += POLL_MS * 1000000ull;
        connection_poll(s->connection, s->now_ns);
    }
    while (connection_news(s->connection, &news)) {
        CHECK(memchr(news.text, 0, sizeof news.text) != NULL);
    }
    look(s);
}

static void step(Stage *s, Feed *feed)
{
    u32 kind = feed_u8(feed), bytes;
    const u8 *data;
    switch ((StepKind)(kind % STEP_KINDS)) {
    case STEP_RAW:
        data = feed_bytes(feed, &bytes);
        link_script_payload(s->link, 0, kind / STEP_KINDS % CHANNEL_COUNT, data, bytes);
        break;
    case STEP_WORLD:
        step_world(s, feed);
        break;
    case STEP_STATES:
        step_states(s, feed);
        break;
    case STEP_MESSAGE:
        step_message(s, feed);
        break;
    case STEP_EVENTS:
        step_events(s, feed);
        break;
    case STEP_USERS:
        step_users(s, feed);
        break;
    case STEP_WAIT:
        poll(s, 1 + feed_u8(feed) % 20);
        break;
    default:
        act(s, feed);
        break;
    }
    poll(s, 1);
}

static void run(const u8 *data, size_t bytes)
{
    Feed feed = {data, bytes};
    Stage s = {.link = link_script_create(NULL, NULL), .now_ns = 1000000000ull};
    ConnectionOptions options = {.name = "Ada"};
    ErrorText error;
    s.connection = connection_create(s.link, &options, &error);
    CHECK(s.connection != NULL);
    link_script_push(s.link, LINK_CONNECTED, 0, 0);
    poll(&s, 1);
    welcome(&s, feed_u8(&feed));
    for (u32 i = 0;
         i < STEPS_MAX && feed.left > 0 && connection_state(s.connection) != CONNECTION_CLOSED;
         i++) {
        step(&s, &feed);
    }
    CHECK(connection_state(s.connection) != CONNECTION_CLOSED ||
          connection_error(s.connection)->text[0] != 0);
    connection_destroy(s.connection);
}

/* A world of at most a megabyte, its scene and shapes, and what is shown of it. */
const FuzzTarget fuzz_target = {
    .prepare = prepare, .run = run, .size_max = 4096, .memory_fixed = 512 << 20};
