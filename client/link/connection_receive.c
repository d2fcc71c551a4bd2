/*
 * connection_receive.c: handles server messages: welcome, world, events, users, status, and the
 * headers of state packets. message_decode or the snapshot receiver have validated everything; the
 * checks here are whether it fits the known world.
 */
#include "client/link/connection_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS 1000000000ull

static void news_push(Connection *connection, const ConnectionNews *news)
{
    if (connection->news_count == NEWS_MAX) {
        connection->news_first = (connection->news_first + 1) % NEWS_MAX;
        connection->news_count--;
    }
    connection->news[(connection->news_first + connection->news_count) % NEWS_MAX] = *news;
    connection->news_count++;
}

bool connection_news(Connection *connection, ConnectionNews *news)
{
    if (connection->news_count == 0) {
        return false;
    }
    *news = connection->news[connection->news_first];
    connection->news_first = (connection->news_first + 1) % NEWS_MAX;
    connection->news_count--;
    return true;
}

static void text_push(Connection *connection, u32 user, const char *text)
{
    ConnectionNews news = {.tick = connection->stats.tick_last, .user = user};
    snprintf(news.text, sizeof news.text, "%s", text);
    news_push(connection, &news);
}

/* ---- state packets ---- */

static void inputs_acknowledged(Connection *connection, u32 sequence)
{
    if (sequence >= connection->inputs_next) {
        return; /* acknowledges inputs that were never sent */
    }
    u32 done = 0;
    while (done < connection->inputs_count && connection->inputs[done].sequence <= sequence) {
        done++;
    }
    connection->inputs_count -= done;
    memmove(connection->inputs, connection->inputs + done,
            connection->inputs_count * sizeof *connection->inputs);
}

static void tick_count(Connection *connection, u64 tick)
{
    ConnectionStats *stats = &connection->stats;
    if (connection->ticks_seen == 0 || tick > stats->tick_last) {
        u64 by = tick - stats->tick_last;
        connection->ticks_seen =
            connection->ticks_seen == 0 || by > 63 ? 1 : connection->ticks_seen << by | 1;
        stats->tick_last = tick;
        stats->snapshots++;
    } else if (stats->tick_last - tick < 64) {
        u64 bit = 1ull << (stats->tick_last - tick);
        stats->snapshots += (connection->ticks_seen & bit) == 0;
        connection->ticks_seen |= bit;
    }
    if (stats->tick_first == 0 || tick < stats->tick_first) {
        stats->tick_first = tick;
    }
}

static void header_receive(Connection *connection, const SnapshotHeader *header, u64 arrived_ns)
{
    connection->packet_due = true;
    u16 newer = (u16)(header->send_ms - connection->echo_ms);
    if (connection->echo_at_ns == 0 || newer < 0x8000) {
        connection->echo_ms = header->send_ms;
        connection->echo_at_ns = arrived_ns;
    }
    u16 sample_ms = (u16)((u16)(arrived_ns / 1000000) - header->echo_ms);
    if (header->echo_ms != 0 && sample_ms < 5000 && connection->stats.snapshots > 5) {
        f64 weight = connection->rtt_ms > 0 ? 0.1 : 1.0;
        connection->rtt_ms += weight * ((f64)sample_ms - connection->rtt_ms);
    }
    inputs_acknowledged(connection, header->input_ack);
    tick_count(connection, header->tick);
    timeline_arrival(connection->timeline, header, arrived_ns);
    if (connection->state == CONNECTION_JOINING) {
        connection->state = CONNECTION_LIVE;
        connection->retry_gap_ms = 0;
    }
}

static bool state_packet(Connection *connection, const u8 *data, u32 bytes, u64 arrived_ns)
{
    if (connection->receiver == NULL) {
        return false;
    }
    /* Only the header tells which stream this belongs to: 16 + 32 + 32 + 16 + 16 + 16 bits
     * before the flags. Packets of another epoch must not change any state. */
    BitReader reader;
    bit_reader_init(&reader, data, bytes);
    bits_get(&reader, 64);
    bits_get(&reader, 64);
    u32 flags = (u32)bits_get(&reader, 8);
    if (reader.failed) {
        connection->stats.malformed++;
        return true;
    }
    if (flags >> 4 != connection->epoch) {
        connection->other_epoch++;
        return false;
    }
    SnapshotHeader header;
    int result = snapshot_receiver_push(connection->receiver, data, bytes, &header);
    if (result == ERROR_OK) { /* otherwise counted by the receiver: nothing was stored */
        header_receive(connection, &header, arrived_ns);
    }
    return true;
}

/* ---- states before their world ---- */

static void reordered_keep(Connection *connection, const u8 *data, u32 bytes)
{
    if (connection->ahead == NULL) {
        connection->ahead = calloc(REORDERED_MAX, sizeof *connection->ahead);
    }
    if (connection->ahead == NULL || bytes > STATE_PAYLOAD_BYTES_MAX) {
        return;
    }
    ReorderedMessage *ahead = &connection->ahead[connection->reordered_next++ % REORDERED_MAX];
    ahead->arrived_ns = connection->arrived_ns;
    ahead->bytes = bytes;
    memcpy(ahead->data, data, bytes);
}

/* Selects packets by the epoch in their headers; since it wraps, old ones are excluded. */
static void reordered_push(Connection *connection)
{
    ReorderedMessage *all = connection->ahead;
    u32 next = connection->reordered_next;
    connection->ahead = NULL;
    for (u32 i = 0; all != NULL && i < REORDERED_MAX; i++) {
        const ReorderedMessage *ahead = &all[(next + i) % REORDERED_MAX];
        u64 age_ns = connection->now_ns - ahead->arrived_ns;
        if (ahead->bytes > 0 && age_ns < REORDERED_MS_MAX * 1000000ull) {
            (void)state_packet(connection, ahead->data, ahead->bytes, ahead->arrived_ns);
        }
    }
    free(all);
}

void connection_state_receive(Connection *connection, const u8 *data, u32 bytes)
{
    if (!state_packet(connection, data, bytes, connection->arrived_ns)) {
        reordered_keep(connection, data, bytes);
    }
}

/* ---- handshake ---- */

static void welcome_receive(Connection *connection, const MessageWelcome *welcome)
{
    if (connection->welcomed) {
        connection->stats.malformed++;
        return;
    }
    if (welcome->major != PROTOCOL_MAJOR) {
        char text[TEXT_BYTES_MAX];
        snprintf(text, sizeof text, "the server uses protocol %u, this client uses %d",
                 welcome->major, PROTOCOL_MAJOR);
        connection_fail(connection, ERROR_VERSION, text);
        return;
    }
    bool valid = welcome->tick_rate >= TICK_RATE_MIN && welcome->tick_rate <= TICK_RATE_MAX &&
                 welcome->snapshot_rate > 0;
    if (!valid) {
        connection_fail(connection, ERROR_FORMAT, "the server's WELCOME is invalid");
        return;
    }
    if (!bulk_queue_begin(&connection->bulk)) {
        connection_fail(connection, ERROR_MEMORY, "out of memory for the connection");
        return;
    }
    connection->welcomed = true;
    connection->queue_position = 0;
    connection->debug_subscribed = 0;
    connection->segment_count = 0;
    message_free(connection->survey_storage);
    connection->survey_storage = NULL;
    message_free(connection->saves_storage);
    connection->saves_storage = NULL;
    presence_list_clear(&connection->presences);
    connection->user = welcome->user;
    connection->role = welcome->role;
    connection->tick_rate = welcome->tick_rate;
    connection->snapshot_rate = welcome->snapshot_rate;
    connection->resume = welcome->resume;
    connection->heard_ns = connection->now_ns;
    connection->state = CONNECTION_JOINING;
}

static void refuse_receive(Connection *connection, u32 reason, const char *text)
{
    char whole[TEXT_BYTES_MAX + 64];
    snprintf(whole, sizeof whole, "the server refused: %s%s%s", refuse_reason_text(reason),
             text[0] != 0 ? ": " : "", text);
    snprintf(connection->refused_text, sizeof connection->refused_text, "%.*s", TEXT_BYTES_MAX - 1,
             whole);
    /* A user who was already connected may meet a restarting server, or one that still holds the
     * old session. */
    bool passing = reason == REFUSE_SHUTDOWN || reason == REFUSE_TIMEOUT ||
                   (reason == REFUSE_FULL && connection->resume != 0);
    connection_fail(connection, passing ? ERROR_NETWORK : ERROR_DENIED, connection->refused_text);
}

/* ---- the world ---- */

/* Receiver and timeline belong to one stream: their counts are kept in the connection. */
static void stream_drop(Connection *connection)
{
    if (connection->receiver != NULL) {
        SnapshotReceiverStats stats;
        snapshot_receiver_stats(connection->receiver, &stats);
        connection->ended_lost += stats.lost;
        connection->ended_desyncs += stats.desyncs;
        connection->ended_malformed += stats.malformed + stats.missing_baselines;
        connection->former_packets = connection->former_lost = 0;
    }
    static_colliders_destroy(connection->colliders);
    couplings_destroy(connection->couplings);
    timeline_destroy(connection->timeline);
    snapshot_receiver_destroy(connection->receiver);
    connection->colliders = NULL;
    connection->couplings = NULL;
    connection->timeline = NULL;
    connection->bodies_of = NULL;
    connection->receiver = NULL;
}

static bool stream_begin(Connection *connection)
{
    if (connection->coder == NULL) {
        connection->coder = span_coder_create();
    }
    if (connection->coder != NULL) {
        connection->receiver =
            snapshot_receiver_create_sharing(connection->fields, connection->coder);
    }
    if (connection->receiver == NULL) {
        return false;
    }
    connection->timeline =
        timeline_create(connection->receiver, connection->tick_rate, connection->snapshot_rate);
    connection->colliders = static_colliders_create(connection->fields);
    connection->couplings = couplings_create(connection->fields);
    if (connection->timeline == NULL || connection->colliders == NULL ||
        connection->couplings == NULL) {
        return false;
    }
    timeline_set_static(connection->timeline, connection->colliders);
    timeline_couple(connection->timeline, connection->couplings);
    return true;
}

void connection_world_drop(Connection *connection)
{
    connection_debug_drop(connection);
    stream_drop(connection);
    field_set_release(connection->fields);
    scene_destroy(connection->scene);
    free(connection->parameters);
    free(connection->probes);
    connection->fields = NULL;
    connection->scene = NULL;
    entity_list_clear(&connection->entities); /* their shapes point into the scene */
    connection->entities.scene = NULL;
    connection->parameters = connection->probes = NULL;
    connection->parameter_count = connection->probe_count = 0;
}

static bool scalars_fit(const FieldSet *fields, const ScalarInfo *infos, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        const ScalarInfo *info = &infos[i];
        if (info->field >= fields->count) {
            return false;
        }
        const FieldDesc *field = &fields->fields[info->field];
        if (field->kind != FIELD_SCALARS || info->components < 1 || info->components > 4 ||
            info->first > field->capacity || info->components > field->capacity - info->first) {
            return false;
        }
    }
    return true;
}

static ScalarInfo *scalars_copy(const ScalarInfo *infos, u32 count)
{
    ScalarInfo *copy = calloc(count > 0 ? count : 1, sizeof *copy);
    if (copy != NULL && count > 0) {
        memcpy(copy, infos, count * sizeof *copy);
    }
    return copy;
}

static bool world_take(Connection *connection, const MessageWorld *world, ErrorText *error)
{
    connection_world_drop(connection);
    connection->scene = scene_from_bytes(world->scene, world->scene_bytes, error);
    connection->fields = field_set_create(world->fields, world->field_count);
    if (connection->scene == NULL || connection->fields == NULL) {
        return false;
    }
    connection->entities.scene = connection->scene;
    if (!stream_begin(connection) || world->parameter_count > PARAMETERS_MAX ||
        world->probe_count > PROBES_MAX ||
        !scalars_fit(connection->fields, world->parameters, world->parameter_count) ||
        !scalars_fit(connection->fields, world->probes, world->probe_count)) {
        return false;
    }
    connection->parameters = scalars_copy(world->parameters, world->parameter_count);
    connection->probes = scalars_copy(world->probes, world->probe_count);
    if (connection->parameters == NULL || connection->probes == NULL) {
        return false;
    }
    connection->parameter_count = world->parameter_count;
    connection->probe_count = world->probe_count;
    return entity_list_set(&connection->entities, connection->fields, world->entities,
                           world->entity_count) == 0;
}

static bool same_fields(const FieldSet *fields, const MessageWorld *world)
{
    if (fields == NULL || fields->count != world->field_count) {
        return false;
    }
    for (u32 i = 0; i < fields->count; i++) {
        FieldDesc wanted = world->fields[i];
        wanted.id = (u8)i;
        if (memcmp(&fields->fields[i], &wanted, sizeof wanted) != 0) {
            return false;
        }
    }
    return true;
}

/* The same world after a seek or a reset: only states, clock and entities restart. */
static bool world_again(Connection *connection, const MessageWorld *world)
{
    bool same = same_fields(connection->fields, world) && connection->scene != NULL &&
                connection->timeline != NULL &&
                connection->scene->byte_count == world->scene_bytes &&
                memcmp(connection->scene->bytes, world->scene, world->scene_bytes) == 0 &&
                connection->parameter_count == world->parameter_count &&
                connection->probe_count == world->probe_count;
    if (!same) {
        return false;
    }
    /* A new receiver, because the new epoch's sender restarts its sequence. */
    TimelineShown *shown = timeline_shown(connection->timeline);
    stream_drop(connection);
    if (!stream_begin(connection)) {
        timeline_shown_free(shown);
        return false;
    }
    timeline_inherit(connection->timeline, shown);
    return entity_list_set(&connection->entities, connection->fields, world->entities,
                           world->entity_count) == 0;
}

static void world_receive(Connection *connection, const MessageWorld *world)
{
    ErrorText error = {0};
    connection->queue_position = 0;
    if (!world_again(connection, world)) {
        if (!world_take(connection, world, &error)) {
            char text[TEXT_BYTES_MAX];
            snprintf(text, sizeof text, "the server's world is invalid%s%.180s",
                     error.text[0] != 0 ? ": " : "", error.text);
            connection_world_drop(connection);
            connection_fail(connection, ERROR_FORMAT, text);
            return;
        }
        connection->worlds++;
    }
    connection_debug_drop(connection); /* of an ended stream */
    connection->epoch = world->epoch;
    connection->ticks_seen = 0;
    connection->stats.tick_last = 0;
    reordered_push(connection);
}

/* ---- events, users, status ---- */

static void event_apply(Connection *connection, const Event *event)
{
    if (entity_list_event(&connection->entities, connection->fields, event) != 0) {
        connection->stats.malformed++;
    }
    if (event->kind == EVENT_REFUSED) {
        connection->stats.refused += event->user == connection->user;
    }
}

static void events_receive(Connection *connection, const MessageEvents *events)
{
    if (connection->fields == NULL) {
        connection->stats.malformed++;
        return;
    }
    for (u32 i = 0; i < events->count; i++) {
        const Event *event = &events->events[i];
        event_apply(connection, event);
        if (event->kind != EVENT_SPAWN && event->kind != EVENT_DESPAWN) {
            ConnectionNews news = {.tick = events->tick, .event = *event, .user = event->user};
            news_push(connection, &news);
        }
    }
}

static void roster_receive(Connection *connection, const UserInfo *users, u32 count)
{
    if (count > USERS_MAX) {
        connection->stats.malformed++;
        return;
    }
    UserInfo *copy = calloc(count > 0 ? count : 1, sizeof *copy);
    if (copy == NULL) {
        return;
    }
    if (count > 0) {
        memcpy(copy, users, count * sizeof *copy);
    }
    free(connection->users);
    connection->users = copy;
    connection->user_count = count;
    for (u32 i = 0; i < count; i++) {
        if (users[i].id == connection->user) {
            connection->role = users[i].role;
        }
    }
}

static void presence_receive(Connection *connection, const Message *message)
{
    connection->stats.malformed += !presence_list_apply(&connection->presences, message);
}

static void password_send(Connection *connection)
{
    Message message = {.kind = MESSAGE_PASSWORD};
    memcpy(message.password.text, connection->options.password, sizeof message.password.text);
    if (message.password.text[0] == '\0') {
        connection_fail(connection, ERROR_DENIED, "the server asks for a password (--password)");
    } else {
        (void)connection_send(connection, &message);
    }
}

static void goodbye_receive(Connection *connection, u32 reason)
{
    char text[TEXT_BYTES_MAX];
    snprintf(text, sizeof text, "the server ended the connection: %s", refuse_reason_text(reason));
    connection_fail(connection, reason == REFUSE_KICKED ? ERROR_DENIED : ERROR_NETWORK, text);
}

static void debug_forget(Connection *connection, u32 index)
{
    message_free(connection->debug_memory[index]);
    connection->debug_count--;
    u32 after = connection->debug_count - index;
    memmove(&connection->debug[index], &connection->debug[index + 1],
            after * sizeof connection->debug[0]);
    memmove(&connection->debug_memory[index], &connection->debug_memory[index + 1],
            after * sizeof connection->debug_memory[0]);
}

void connection_debug_drop(Connection *connection)
{
    while (connection->debug_count > 0) {
        debug_forget(connection, connection->debug_count - 1);
    }
}

/* Keeps the picture and its memory; false: too late to be shown. */
static bool debug_receive(Connection *connection, const DebugPicture *picture, u8 *storage)
{
    if (connection->scene == NULL || connection->debug_mask == 0) {
        return false;
    }
    if (connection->debug_count == DEBUG_KEPT) {
        debug_forget(connection, 0);
    }
    connection->debug[connection->debug_count] = *picture;
    connection->debug_memory[connection->debug_count++] = storage;
    return true;
}

const DebugPicture *connection_debug(Connection *connection)
{
    f64 now = connection->timeline != NULL ? timeline_tick(connection->timeline) + 1.0 : 0.0;
    while (connection->debug_count > 1 && (f64)connection->debug[1].tick <= now) {
        debug_forget(connection, 0);
    }
    return connection->debug_count > 0 ? &connection->debug[0] : NULL;
}

/* Keeps the last segments of a recording's stream: packets of former ones are still to be shown. */
static void status_receive(Connection *connection, const MessageStatus *status)
{
    if ((status->own_time == OWN_TIME_AWAY) != (connection->status.own_time == OWN_TIME_AWAY)) {
        connection->segment_count = 0; /* another stream */
    }
    connection->status = *status;
    connection->status_ns = connection->now_ns;
    const PlaySegment *play = &status->play;
    u32 count = connection->segment_count;
    const PlaySegment *newest = count > 0 ? &connection->segments[count - 1] : NULL;
    if (play->direction == 0 ||
        (newest != NULL && newest->stream_tick == play->stream_tick && newest->tick == play->tick &&
         newest->direction == play->direction)) {
        return;
    }
    if (newest != NULL && play->stream_tick <= newest->stream_tick) {
        connection->segment_count = count = 0; /* another stream */
    }
    if (count == SEGMENTS_KEPT) {
        memmove(connection->segments, connection->segments + 1,
                (count - 1) * sizeof connection->segments[0]);
        count--;
    }
    connection->segments[count] = *play;
    connection->segment_count = count + 1;
}

f64 connection_recorded_tick(const Connection *connection, f64 stream_tick)
{
    u32 i = connection->segment_count;
    if (i == 0) {
        return stream_tick;
    }
    /* Between two segments the tick is interpolated from one to the other. */
    while (i > 1 && stream_tick < (f64)connection->segments[i - 1].stream_tick - 0.5) {
        i--;
    }
    const PlaySegment *segment = &connection->segments[i - 1];
    f64 moved = fmax(stream_tick - (f64)segment->stream_tick, 0.0);
    f64 tick = (f64)segment->tick + (f64)segment->direction * moved;
    return fmin(fmax(tick, (f64)connection->status.first_tick), (f64)connection->status.last_tick);
}

f64 connection_common_tick(const Connection *connection)
{
    const MessageStatus *status = &connection->status;
    f64 passed_s = (f64)(connection->now_ns - connection->status_ns) * 1e-9;
    f64 moved = passed_s * (f64)status->common_speed * (f64)connection->tick_rate;
    f64 tick = (f64)status->common_tick + moved;
    return fmin(fmax(tick, (f64)status->first_tick), (f64)status->last_tick);
}

static bool survey_receive(Connection *connection, const MessageSurvey *survey, u8 *storage)
{
    message_free(connection->survey_storage);
    connection->survey = *survey;
    connection->survey_storage = storage;
    connection->surveys++;
    return true;
}

const MessageSurvey *connection_survey(const Connection *connection, u32 *version)
{
    if (version != NULL) {
        *version = connection->surveys;
    }
    return connection->survey_storage != NULL ? &connection->survey : NULL;
}

static bool saves_receive(Connection *connection, const Message *message, u8 *storage)
{
    message_free(connection->saves_storage);
    connection->saves = message->saves.items;
    connection->save_count = message->saves.count;
    connection->saves_storage = storage;
    return true;
}

const SaveInfo *connection_saves(const Connection *connection, u32 *count)
{
    *count = connection->saves_storage != NULL ? connection->save_count : 0;
    return connection->saves_storage != NULL ? connection->saves : NULL;
}

/* Returns true if it keeps the storage. */
static bool message_apply(Connection *connection, const Message *message, u8 *storage)
{
    switch (message->kind) {
    case MESSAGE_WELCOME:
        welcome_receive(connection, &message->welcome);
        break;
    case MESSAGE_REFUSE:
        refuse_receive(connection, message->refuse.reason, message->refuse.text);
        break;
    case MESSAGE_WORLD:
        world_receive(connection, &message->world);
        break;
    case MESSAGE_EVENTS:
        events_receive(connection, &message->events);
        break;
    case MESSAGE_CHAT:
        text_push(connection, message->chat.user, message->chat.text);
        break;
    case MESSAGE_NOTICE:
        if (message->notice.kind != NOTICE_END) {
            text_push(connection, 0, message->notice.text);
        }
        break;
    case MESSAGE_ROSTER:
        roster_receive(connection, message->roster.users, message->roster.count);
        break;
    case MESSAGE_PRESENCE:
        presence_receive(connection, message);
        break;
    case MESSAGE_STATUS:
        status_receive(connection, &message->status);
        break;
    case MESSAGE_DEBUG:
        return debug_receive(connection, &message->debug, storage);
    case MESSAGE_QUEUE:
        connection->queue_position = message->queue.position;
        connection->queue_waiting = message->queue.waiting;
        connection->begun_ns = connection->now_ns; /* the world has not started to arrive */
        break;
    case MESSAGE_SURVEY:
        return survey_receive(connection, &message->survey, storage);
    case MESSAGE_SAVES:
        return saves_receive(connection, message, storage);
    case MESSAGE_PASSWORD:
        password_send(connection);
        break;
    case MESSAGE_GOODBYE:
        goodbye_receive(connection, message->goodbye.reason);
        break;
    default: /* client-only messages */
        connection->stats.malformed++;
        break;
    }
    return false;
}

void connection_message(Connection *connection, const u8 *data, u32 bytes)
{
    Message message;
    u8 *storage = NULL;
    if (message_decode(data, bytes, &message, &storage, NULL) != ERROR_OK) {
        connection->stats.malformed++;
        return;
    }
    bool kept = false;
    bool first = message.kind == MESSAGE_WELCOME || message.kind == MESSAGE_REFUSE;
    if (connection->welcomed || first) {
        kept = message_apply(connection, &message, storage);
    } else {
        connection->stats.malformed++; /* no other message is allowed before */
    }
    if (!kept) {
        message_free(storage);
    }
}

/* ---- rates ---- */

void connection_second(Connection *connection)
{
    u64 elapsed = connection->now_ns - connection->second_ns;
    if (elapsed < SECOND_NS) {
        return;
    }
    ConnectionStats *stats = &connection->stats;
    stats->bytes_in_per_s = (f64)(stats->bytes_in - connection->second_bytes) * 1e9 / (f64)elapsed;
    connection->second_bytes = stats->bytes_in;
    connection->second_ns = connection->now_ns;
    if (connection->receiver == NULL) {
        return;
    }
    SnapshotReceiverStats received;
    snapshot_receiver_stats(connection->receiver, &received);
    connection->loss_packets[connection->loss_at] = received.packets - connection->former_packets;
    connection->loss_lost[connection->loss_at] = received.lost - connection->former_lost;
    connection->former_packets = received.packets;
    connection->former_lost = received.lost;
    connection->loss_at = (connection->loss_at + 1) % LOSS_SECONDS;
    u64 packets = 0, lost = 0;
    for (u32 i = 0; i < LOSS_SECONDS; i++) {
        packets += connection->loss_packets[i];
        lost += connection->loss_lost[i];
    }
    stats->loss = packets + lost > 0 ? (f64)lost / (f64)(packets + lost) : 0.0;
}

void connection_stats(const Connection *connection, ConnectionStats *stats)
{
    *stats = connection->stats;
    stats->packets_lost = connection->ended_lost;
    stats->desyncs = connection->ended_desyncs;
    stats->malformed += connection->ended_malformed;
    if (connection->receiver != NULL) {
        SnapshotReceiverStats received;
        snapshot_receiver_stats(connection->receiver, &received);
        stats->packets_lost += received.lost;
        stats->desyncs += received.desyncs;
        stats->malformed += received.malformed + received.missing_baselines;
        stats->coarse = (f64)received.coarse / (f64)u32_max(received.chunks, 1);
    }
    stats->rtt_ms = connection->rtt_ms;
    if (connection->timeline != NULL) {
        stats->jitter_ms = timeline_jitter_s(connection->timeline) * 1e3;
    }
}

/* ---- what is known ---- */

ConnectionState connection_state(const Connection *connection)
{
    return connection->state;
}
const ErrorText *connection_error(const Connection *connection)
{
    return &connection->error;
}
const Scene *connection_scene(const Connection *connection)
{
    return connection->scene;
}
const FieldSet *connection_fields(const Connection *connection)
{
    return connection->fields;
}
const Entity *connection_entities(const Connection *connection, u32 *count, u64 *version)
{
    *count = connection->entities.count;
    if (version != NULL) {
        *version = connection->entities.version;
    }
    return connection->entities.items;
}
const Entity *connection_entity(const Connection *connection, u32 id)
{
    return entity_list_find(&connection->entities, id);
}
const Entity *connection_entity_named(const Connection *connection, const char *name)
{
    return entity_list_named(&connection->entities, name);
}
const ScalarInfo *connection_parameters(const Connection *connection, u32 *count)
{
    *count = connection->parameter_count;
    return connection->parameters;
}
const ScalarInfo *connection_probes(const Connection *connection, u32 *count)
{
    *count = connection->probe_count;
    return connection->probes;
}
const UserInfo *connection_users(const Connection *connection, u32 *count)
{
    *count = connection->user_count;
    return connection->users;
}
const Presence *connection_presences(const Connection *connection, u32 *count)
{
    *count = connection->presences.count;
    return connection->presences.items;
}
const MessageStatus *connection_status(const Connection *connection)
{
    return &connection->status;
}
u32 connection_user(const Connection *connection)
{
    return connection->user;
}
Role connection_role(const Connection *connection)
{
    return connection->role;
}
u32 connection_tick_rate(const Connection *connection)
{
    return connection->tick_rate;
}
u32 connection_worlds(const Connection *connection)
{
    return connection->worlds;
}
u32 connection_epoch(const Connection *connection)
{
    return connection->epoch;
}
struct Timeline *connection_timeline(Connection *connection)
{
    return connection->timeline;
}
