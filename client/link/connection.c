/*
 * connection.c: the client's side of a session: transport, handshake. Incoming payloads go
 * to connection_receive.c's message handlers or to the snapshot receiver; outgoing is one input
 * packet at a time with everything unacknowledged.
 */
#include "client/link/connection_internal.h"

#include "protocol/session/credentials.h"
#include "shared/base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000ull

enum {
    JOIN_TIMEOUT_MS = 20000,    /* transport, handshake and world, also on a lossy path */
    SILENCE_TIMEOUT_MS = 10000, /* a live server sends many packets a second */
    PACKET_GAP_MS = 16,         /* 60 input packets a second */
    IDLE_GAP_MS = 50,
    MOVES_UNACKED_MAX = INPUTS_UNACKED_MAX - 8,
};

/* ---- life ---- */

Connection *connection_create(Link *link, const ConnectionOptions *options, ErrorText *error)
{
    Connection *connection = link != NULL ? calloc(1, sizeof *connection) : NULL;
    if (connection == NULL || seal_start() != ERROR_OK) {
        error_set(error, connection == NULL ? ERROR_MEMORY : ERROR_CRYPTO,
                  "cannot start a connection");
        free(connection);
        if (link != NULL) {
            link->ops->destroy(link);
        }
        return NULL;
    }
    connection->link = link;
    connection->options = *options;
    connection->options.token = NULL;
    connection->token_bytes = u32_min(options->token_bytes, TOKEN_BYTES_MAX);
    if (connection->token_bytes > 0) {
        memcpy(connection->token, options->token, connection->token_bytes);
    }
    connection->proves = options->identity != NULL;
    if (connection->proves) {
        connection->identity = *options->identity;
    }
    connection->options.identity = NULL;
    connection->options.name[NAME_BYTES_MAX - 1] = 0;
    connection->state = CONNECTION_CONNECTING;
    connection->inputs_next = 1;
    return connection;
}

/* Channels are not ordered relative to each other: if the packet with the WELCOME is lost, the
 * world on the bulk channel arrives before it and must be kept. */
static void early_keep(Connection *connection, const LinkEvent *event)
{
    if (connection->early_count == EARLY_MAX ||
        event->bytes > MESSAGE_BYTES_MAX - connection->early_bytes) {
        connection->stats.malformed++;
        return;
    }
    u8 *copy = malloc(event->bytes);
    if (copy != NULL) {
        memcpy(copy, event->data, event->bytes);
        connection->early[connection->early_count].data = copy;
        connection->early[connection->early_count].bytes = event->bytes;
        connection->early[connection->early_count].channel = event->channel;
        connection->early_count++;
        connection->early_bytes += event->bytes;
    }
}

void connection_destroy(Connection *connection)
{
    if (connection == NULL) {
        return;
    }
    if (connection->link != NULL && connection->state != CONNECTION_CLOSED) {
        if (connection->welcomed) {
            Message goodbye = {.kind = MESSAGE_GOODBYE};
            goodbye.goodbye.reason = REFUSE_LEFT;
            connection_send(connection, &goodbye);
        }
        connection->link->ops->disconnect(connection->link, connection->peer, REFUSE_LEFT);
        connection->link->ops->flush(connection->link);
    }
    connection_link_drop(connection);
    connection_world_drop(connection);
    message_free(connection->survey_storage);
    message_free(connection->saves_storage);
    span_coder_destroy(connection->coder);
    entity_list_finish(&connection->entities);
    free(connection->users);
    presence_list_finish(&connection->presences);
    seal_wipe(connection->token, sizeof connection->token);
    identity_finish(&connection->identity);
    free(connection);
}

static void retry(Connection *connection)
{
    if (connection->now_ns < connection->retry_at_ns) {
        return;
    }
    ErrorText error = {0};
    connection->link = connection->options.dial(connection->options.dial_context, &error);
    if (connection->link == NULL) {
        connection_fail(connection, ERROR_NETWORK, error.text);
        return;
    }
    connection->begun_ns = connection->heard_ns = connection->now_ns;
    /* Another session: its streams restart, and the old picture stays until its world arrives. */
    connection->epoch = 0;
    connection->echo_at_ns = 0;
    connection->refused_text[0] = 0;
    /* The server numbers this session's inputs from 1 again; older inputs are obsolete. */
    connection->inputs_count = 0;
    connection->inputs_next = 1;
    connection->move_waits = false;
}

/* ---- sending ---- */

static void hello_send(Connection *connection)
{
    Message message = {.kind = MESSAGE_HELLO};
    MessageHello *hello = &message.hello;
    hello->major = PROTOCOL_MAJOR;
    hello->minor = PROTOCOL_MINOR;
    memcpy(hello->name, connection->options.name, NAME_BYTES_MAX);
    memcpy(hello->token, connection->token, connection->token_bytes);
    hello->token_bytes = connection->token_bytes;
    hello->resume = connection->resume;
    memcpy(hello->version, PLENUM_VERSION, sizeof PLENUM_VERSION);
    credentials_prove(connection->proves ? &connection->identity : NULL, connection->link,
                      connection->peer, hello);
    if (connection_send(connection, &message) != ERROR_OK) {
        connection_fail(connection, ERROR_NETWORK, "cannot send the handshake");
    }
    seal_wipe(&message, sizeof message); /* token, resume secret */
}

static u16 clock_ms(const Connection *connection)
{
    return (u16)(connection->now_ns / MS);
}

static void input_packet_send(Connection *connection)
{
    InputPacket *packet = &connection->packet;
    memset(packet, 0, offsetof(InputPacket, inputs));
    packet->send_ms = clock_ms(connection);
    u64 deferred_ms = (connection->now_ns - connection->echo_at_ns) / MS;
    packet->echo_ms = (u16)(connection->echo_ms + u64_min(deferred_ms, 30000));
    if (connection->receiver != NULL) {
        packet->ack = snapshot_receiver_ack(connection->receiver);
    }
    packet->view = connection->view;
    packet->cursor = connection->cursor;
    packet->cursor_visible = connection->cursor_visible;
    packet->count = (u16)connection->inputs_count;
    for (u32 i = 0; i < connection->inputs_count; i++) {
        packet->inputs[i] = connection->inputs[i];
    }
    u8 encoded[STATE_PAYLOAD_BYTES_MAX];
    u32 bytes = input_packet_encode(packet, encoded);
    if (connection_send_bytes(connection, CHANNEL_INPUT, encoded, bytes) == ERROR_OK) {
        connection->packet_at_ns = connection->now_ns;
        connection->packet_due = false;
        connection->inputs_sent =
            connection->inputs_count > 0 ? connection->inputs_next - 1 : connection->inputs_sent;
    }
}

static void bulk_ack_send(Connection *connection)
{
    u8 encoded[BULK_ACK_BYTES_MAX];
    u32 bytes = bulk_queue_ack(&connection->bulk, connection->now_ns, encoded);
    if (bytes > 0) {
        (void)connection_send_bytes(connection, CHANNEL_BLOCKS, encoded, bytes);
    }
}

static void inputs_flush(Connection *connection)
{
    if (connection->move_waits && connection->inputs_count < MOVES_UNACKED_MAX) {
        connection->move_waits = false;
        connection_input(connection, &connection->move);
    }
    u64 gap_ns = connection->now_ns - connection->packet_at_ns;
    bool due = connection->inputs_count > 0 || connection->packet_due;
    if ((due && gap_ns >= PACKET_GAP_MS * MS) || gap_ns >= IDLE_GAP_MS * MS) {
        input_packet_send(connection);
    }
}

/* ---- receiving ---- */

/* Handles a payload of CHANNEL_BULK; queues it while an earlier transfer is incomplete. */
static void bulk_receive(Connection *connection, const u8 *data, u32 bytes)
{
    BulkPush push = bulk_queue_push(&connection->bulk, data, bytes);
    if (push == BULK_NOW) {
        connection_message(connection, data, bytes);
    } else if (push == BULK_FULL) {
        connection_fail(connection, ERROR_LIMIT, "the server sends more than can be kept");
    }
}

/* Processes all queue entries that are ready. A world may take long, so this comes after sending
 * acknowledgements. Any message may close the connection and free the queue. */
static void bulk_apply(Connection *connection)
{
    BulkTaken taken;
    int result = bulk_queue_take(&connection->bulk, &taken);
    for (; result == ERROR_OK; result = bulk_queue_take(&connection->bulk, &taken)) {
        connection_message(connection, taken.data, taken.bytes);
        free(taken.memory);
    }
    if (result == ERROR_FORMAT) {
        connection_fail(connection, ERROR_FORMAT, "what the server transferred is not valid");
    }
}

static void welcomed_receive(Connection *connection, const LinkEvent *event);

/* The server repeats the WELCOME on the unreliable channel until it receives an answer. */
static bool is_welcome(const LinkEvent *event)
{
    Message message = {0};
    u8 *storage = NULL;
    bool is = event->bytes <= STATE_PAYLOAD_BYTES_MAX &&
              message_decode(event->data, event->bytes, &message, &storage, NULL) == 0 &&
              message.kind == MESSAGE_WELCOME;
    message_free(storage);
    return is;
}

static bool is_welcome_again(const Connection *connection, const LinkEvent *event)
{
    return (event->channel == CHANNEL_CONTROL || event->channel == CHANNEL_INPUT) &&
           event->bytes == connection->welcome_bytes &&
           hash_bytes(event->data, event->bytes, 0) == connection->welcome_hash;
}

static void early_receive(Connection *connection, const LinkEvent *event)
{
    if (event->channel == CHANNEL_BULK || event->channel == CHANNEL_BLOCKS) {
        early_keep(connection, event);
    } else if (event->channel == CHANNEL_CONTROL ||
               (event->channel == CHANNEL_INPUT && is_welcome(event))) {
        connection->welcome_hash = hash_bytes(event->data, event->bytes, 0);
        connection->welcome_bytes = event->bytes;
        connection_message(connection, event->data, event->bytes);
    }
    if (!connection->welcomed) {
        return;
    }
    for (u32 i = 0; i < connection->early_count; i++) {
        LinkEvent early = {.kind = LINK_RECEIVED,
                           .peer = event->peer,
                           .channel = connection->early[i].channel,
                           .data = connection->early[i].data,
                           .bytes = connection->early[i].bytes};
        welcomed_receive(connection, &early);
    }
    connection_early_drop(connection);
}

static void payload_receive(Connection *connection, const LinkEvent *event)
{
    connection->stats.bytes_in += event->bytes;
    connection->stats.packets_in++;
    connection->arrived_ns = connection->now_ns;
    if (event->arrived_ns != 0) {
        connection->arrived_ns = u64_min(event->arrived_ns, connection->now_ns);
    }
    if (!connection->welcomed) {
        early_receive(connection, event);
    } else if (!is_welcome_again(connection, event)) {
        welcomed_receive(connection, event);
    }
}

static void welcomed_receive(Connection *connection, const LinkEvent *event)
{
    if (event->bytes > MESSAGE_BYTES_MAX) {
        connection->stats.malformed++;
        return;
    }
    connection->heard_ns = connection->now_ns;
    if (event->channel == CHANNEL_STATE) {
        connection_state_receive(connection, event->data, event->bytes);
    } else if (event->channel == CHANNEL_BULK) {
        bulk_receive(connection, event->data, event->bytes);
    } else if (event->channel == CHANNEL_BLOCKS) {
        connection->stats.malformed +=
            !bulk_queue_block(&connection->bulk, event->data, event->bytes, connection->arrived_ns,
                              connection->now_ns);
    } else {
        connection_message(connection, event->data, event->bytes);
    }
}

static void disconnected(Connection *connection, u32 reason)
{
    if (reason != REFUSE_NONE && connection->refused_text[0] != 0) {
        connection_fail(connection, ERROR_DENIED, connection->refused_text);
    } else if (reason == REFUSE_IDENTITY) {
        connection_fail(connection, ERROR_CRYPTO, refuse_reason_text(reason));
    } else if (reason != REFUSE_NONE && reason != REFUSE_TIMEOUT) {
        char text[TEXT_BYTES_MAX];
        snprintf(text, sizeof text, "the server ended the connection: %s",
                 refuse_reason_text(reason));
        connection_fail(connection, reason == REFUSE_SHUTDOWN ? ERROR_NETWORK : ERROR_DENIED, text);
    } else if (connection->refused_text[0] != 0) {
        connection_fail(connection, ERROR_DENIED, connection->refused_text);
    } else if (connection->welcomed) {
        connection_fail(connection, ERROR_NETWORK, "the connection to the server was lost");
    } else {
        char text[TEXT_BYTES_MAX];
        snprintf(text, sizeof text, "no answer: is a server running there? (waited %.1f s)",
                 (f64)(connection->now_ns - connection->begun_ns) * 1e-9);
        connection_fail(connection, ERROR_NETWORK, text);
    }
}

static void time_outs(Connection *connection)
{
    u64 now = connection->now_ns;
    if (connection->state == CONNECTION_LIVE) {
        if (now - connection->heard_ns > SILENCE_TIMEOUT_MS * MS) {
            connection_fail(connection, ERROR_NETWORK, "no data from the server for 10 s");
        }
    } else if (now - connection->begun_ns > JOIN_TIMEOUT_MS * MS &&
               !bulk_queue_alive(&connection->bulk, now, connection->begun_ns,
                                 JOIN_TIMEOUT_MS * MS)) {
        connection_fail(connection, ERROR_NETWORK,
                        connection->welcomed
                            ? "the world did not arrive within 20 s"
                            : "no answer: is a server running there? (waited 20 s)");
    }
}

static int body_order(const void *a, const void *b)
{
    const TimelineBody *x = a, *y = b;
    u64 p = (u64)x->field << 32 | x->first, q = (u64)y->field << 32 | y->first;
    return p < q ? -1 : p > q;
}

/* Tells the timeline which points form a body, and the couplings which bodies are jointed. */
static void bodies_update(Connection *connection)
{
    const EntityList *entities = &connection->entities;
    if (connection->bodies_of == connection->timeline &&
        connection->bodies_version == entities->version) {
        return;
    }
    TimelineBody *bodies = malloc(u32_max(entities->count, 1) * sizeof *bodies);
    if (bodies == NULL) {
        return; /* the next poll retries */
    }
    u32 found = 0, count = 0;
    for (u32 i = 0; i < entities->count; i++) {
        const Entity *entity = &entities->items[i];
        bool soft = entity->appearance.kind == APPEARANCE_CLOTH ||
                    entity->appearance.kind == APPEARANCE_ROPE;
        if (soft && entity->count > 0 &&
            connection->fields->fields[entity->field].kind == FIELD_POINTS) {
            bodies[found++] = (TimelineBody){entity->field, entity->first, entity->count};
        }
    }
    qsort(bodies, found, sizeof *bodies, body_order);
    for (u32 i = 0; i < found; i++) { /* an entity within another one is part of it */
        const TimelineBody *last = count > 0 ? &bodies[count - 1] : NULL;
        if (last == NULL || last->field != bodies[i].field ||
            last->first + last->count <= bodies[i].first) {
            bodies[count++] = bodies[i];
        }
    }
    if (timeline_bodies(connection->timeline, bodies, count) &&
        couplings_update(connection->couplings, connection->scene, entities, bodies, count)) {
        connection->bodies_of = connection->timeline;
        connection->bodies_version = entities->version;
    }
    free(bodies);
}

static bool shown_pose(const void *timeline, u32 field, u32 element, ShownPose *pose)
{
    return timeline_pose(timeline, field, element, pose);
}

u32 connection_queue(const Connection *connection, u32 *waiting)
{
    bool waits = connection->state == CONNECTION_JOINING && connection->queue_position > 0;
    *waiting = waits ? connection->queue_waiting : 0;
    return waits ? connection->queue_position : 0;
}

int connection_fd(const Connection *connection)
{
    return connection->link != NULL ? connection->link->ops->fd(connection->link) : -1;
}

void connection_poll(Connection *connection, u64 now_ns)
{
    if (connection->state == CONNECTION_CLOSED) {
        return;
    }
    if (!connection->polled) {
        connection->polled = true;
        connection->begun_ns = connection->heard_ns = connection->packet_at_ns = now_ns;
        connection->second_ns = now_ns;
    }
    connection->now_ns = u64_max(now_ns, connection->now_ns);
    if (connection->link == NULL) {
        retry(connection);
        return;
    }
    LinkEvent event;
    while (connection->link != NULL &&
           connection->link->ops->poll(connection->link, connection->now_ns / MS, &event)) {
        if (event.kind == LINK_CONNECTED) {
            connection->peer = event.peer;
            hello_send(connection);
        } else if (event.kind == LINK_RECEIVED) {
            payload_receive(connection, &event);
        } else if (event.kind == LINK_DISCONNECTED) {
            disconnected(connection, event.reason);
        }
    }
    if (connection->link != NULL && connection->welcomed && connection->bulk.count > 0) {
        bulk_ack_send(connection);
        connection->link->ops->flush(connection->link);
        bulk_apply(connection);
    }
    connection_second(connection);
    if (connection->link != NULL) {
        time_outs(connection);
    }
    if (connection->link != NULL && connection->welcomed &&
        connection->state >= CONNECTION_JOINING) {
        bulk_ack_send(connection);
        inputs_flush(connection);
    }
    if (connection->state == CONNECTION_LIVE &&
        connection->debug_mask != connection->debug_subscribed) {
        Message message = {.kind = MESSAGE_DEBUG_SUBSCRIBE};
        message.debug_subscribe.mask = connection->debug_mask;
        if (connection_send(connection, &message) == ERROR_OK) {
            connection->debug_subscribed = connection->debug_mask;
        }
    }
    if (connection->link != NULL) {
        connection->link->ops->flush(connection->link);
    }
    if (connection->timeline != NULL) {
        bodies_update(connection);
        static_colliders_update(connection->colliders, &connection->entities, shown_pose,
                                connection->timeline);
        timeline_advance(connection->timeline, connection->now_ns);
    }
}

/* ---- reaching in ---- */

u32 connection_input(Connection *connection, const Input *input)
{
    if (connection->state != CONNECTION_LIVE) {
        return 0;
    }
    u32 count = connection->inputs_count;
    Input *newest = count > 0 ? &connection->inputs[count - 1] : NULL;
    if (input->kind == INPUT_MOVE && newest != NULL && newest->kind == INPUT_MOVE &&
        newest->sequence > connection->inputs_sent) {
        newest->target = input->target; /* not sent yet: replaced by the newest */
        return newest->sequence;
    }
    /* Targets leave space for inputs that must not be lost: release, push. */
    if (count >= (input->kind == INPUT_MOVE ? MOVES_UNACKED_MAX : INPUTS_UNACKED_MAX)) {
        if (input->kind == INPUT_MOVE) {
            connection->move = *input;
            connection->move_waits = true;
        }
        return 0;
    }
    if (input->kind == INPUT_RELEASE || input->kind == INPUT_GRAB) {
        connection->move_waits = false; /* it belonged to the former grab */
    }
    Input queued = *input;
    queued.user = 0;
    queued.sequence = connection->inputs_next;
    if (input_check(&queued) != ERROR_OK) {
        return 0;
    }
    connection->inputs[count] = queued;
    connection->inputs_count++;
    connection->packet_due = true;
    return connection->inputs_next++;
}

void connection_view(Connection *connection, const SnapshotView *view, Ray cursor,
                     bool cursor_visible)
{
    bool valid = vec3_is_finite(view->eye) && vec3_is_finite(view->forward) &&
                 isfinite(view->pixels_per_radian) && vec3_is_finite(cursor.origin) &&
                 vec3_is_finite(cursor.direction);
    if (!valid) {
        return;
    }
    connection->view = *view;
    connection->view.forward = vec3_normalize_or(view->forward, vec3(0.0f, 0.0f, -1.0f));
    connection->cursor.origin = cursor.origin;
    connection->cursor.direction = vec3_normalize_or(cursor.direction, vec3(0.0f, 0.0f, -1.0f));
    connection->cursor_visible = cursor_visible;
}

int connection_control(Connection *connection, ControlKind kind, f64 value)
{
    if (connection->state != CONNECTION_LIVE) {
        return ERROR_STATE;
    }
    Message message = {.kind = MESSAGE_CONTROL};
    message.control.kind = kind;
    message.control.value = value;
    return connection_send(connection, &message);
}

void connection_debug_subscribe(Connection *connection, u32 mask)
{
    connection->debug_mask = mask;
    if (mask == 0) {
        connection_debug_drop(connection);
    }
}

int connection_bookmark(Connection *connection, u64 tick, const char *text)
{
    if (connection->state != CONNECTION_LIVE) {
        return ERROR_STATE;
    }
    Message message = {.kind = MESSAGE_BOOKMARK};
    message.bookmark.tick = tick;
    snprintf(message.bookmark.text, sizeof message.bookmark.text, "%s", text);
    return connection_send(connection, &message);
}

int connection_chat(Connection *connection, const char *text)
{
    if (connection->state != CONNECTION_LIVE) {
        return ERROR_STATE;
    }
    Message message = {.kind = MESSAGE_CHAT};
    message.chat.user = connection->user;
    snprintf(message.chat.text, sizeof message.chat.text, "%s", text);
    return connection_send(connection, &message);
}
