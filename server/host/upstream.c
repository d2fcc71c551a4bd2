/* upstream.c: see upstream.h. */
#include "server/host/upstream.h"

#include "protocol/session/bulk_queue.h"
#include "protocol/session/input.h"
#include "shared/base/hash.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000ull

enum {
    JOIN_TIMEOUT_MS = 20000,   /* transport, handshake and world, even on a lossy path */
    SILENCE_TIMEOUT_MS = 3000, /* a server sends many packets a second, even when paused */
    PACKET_GAP_MS = 8,         /* a server accepts at most 300 packets a second */
    IDLE_GAP_MS = 50,
    RETRY_FIRST_MS = 250,
    RETRY_MAX_MS = 4000,
    EARLY_MAX = 64,
};

/* A payload of a bulk channel that arrived before the WELCOME: channels are not ordered relative to
 * each other, and a reliable one delivers each payload only once. */
typedef struct EarlyPayload {
    u8 *data;
    u32 bytes, channel;
} EarlyPayload;

struct Upstream {
    UpstreamOptions options;
    UpstreamHandler handler;
    UpstreamState state;
    Link *link; /* NULL between attempts */
    u32 peer;
    ErrorText error;
    char refused[TEXT_BYTES_MAX]; /* reason given in a REFUSE; "": none */
    u64 now_ns, begun_ns, heard_ns, retry_at_ns;
    u32 retry_gap_ms;
    bool ended; /* by a received message: the link is dropped after its poll */

    u64 welcome_hash; /* of the accepted WELCOME, to recognize repeats */
    u32 welcome_bytes;
    u32 user;
    u64 resume;
    bool has_world;
    EarlyPayload early[EARLY_MAX];
    u32 early_count, early_bytes;
    BulkQueue bulk;

    SnapshotAck ack;
    bool packet_due;
    u64 packet_at_ns;
    u16 echo_ms; /* newest send_ms of the server, and its arrival time */
    u64 echo_at_ns;
    InputPacket packet;
    u64 sessions; /* begun so far */
};

Upstream *upstream_create(const UpstreamOptions *options, const UpstreamHandler *handler,
                          ErrorText *error)
{
    Upstream *upstream = calloc(1, sizeof *upstream);
    if (upstream == NULL || seal_start() != ERROR_OK) {
        error_set(error, ERROR_MEMORY, "out of memory for the connection to the server above");
        free(upstream);
        return NULL;
    }
    upstream->options = *options;
    upstream->handler = *handler;
    return upstream;
}

static void early_drop(Upstream *upstream)
{
    for (u32 i = 0; i < upstream->early_count; i++) {
        free(upstream->early[i].data);
    }
    upstream->early_count = upstream->early_bytes = 0;
}

static void link_drop(Upstream *upstream)
{
    if (upstream->link != NULL) {
        upstream->link->ops->destroy(upstream->link);
        upstream->link = NULL;
    }
    early_drop(upstream);
    bulk_queue_end(&upstream->bulk);
    upstream->ended = false;
}

/* ---- sending ---- */

static int send_bytes(Upstream *upstream, u32 channel, const void *data, u32 bytes)
{
    if (upstream->link == NULL) {
        return ERROR_STATE;
    }
    return upstream->link->ops->send(upstream->link, upstream->peer, channel, data, bytes);
}

static int message_send(Upstream *upstream, u32 channel, const Message *message)
{
    u32 bytes = 0;
    u8 *encoded = message_encode(message, &bytes);
    int result = encoded != NULL ? send_bytes(upstream, channel, encoded, bytes) : ERROR_LIMIT;
    message_free(encoded);
    return result;
}

int upstream_send(Upstream *upstream, u32 channel, const Message *message)
{
    return upstream->state == UPSTREAM_JOINED ? message_send(upstream, channel, message)
                                              : ERROR_STATE;
}

int upstream_send_payload(Upstream *upstream, u32 channel, const u8 *data, u32 bytes)
{
    return upstream->state == UPSTREAM_JOINED ? send_bytes(upstream, channel, data, bytes)
                                              : ERROR_STATE;
}

void upstream_destroy(Upstream *upstream)
{
    if (upstream == NULL) {
        return;
    }
    if (upstream->link != NULL) {
        Message goodbye = {.kind = MESSAGE_GOODBYE};
        goodbye.goodbye.reason = REFUSE_LEFT;
        (void)upstream_send(upstream, CHANNEL_CONTROL, &goodbye);
        upstream->link->ops->disconnect(upstream->link, upstream->peer, REFUSE_LEFT);
        upstream->link->ops->flush(upstream->link);
    }
    link_drop(upstream);
    credentials_wipe(&upstream->options.shown);
    seal_wipe(upstream, sizeof *upstream); /* resume secret */
    free(upstream);
}

/* ---- attempts ---- */

static void fail(Upstream *upstream, Error code, const char *text)
{
    bool joined = upstream->state == UPSTREAM_JOINED;
    error_set(&upstream->error, code, "%s", text);
    link_drop(upstream);
    bool final = upstream->sessions == 0 && code != ERROR_NETWORK;
    upstream->state = final ? UPSTREAM_CLOSED : UPSTREAM_CONNECTING;
    upstream->retry_gap_ms = upstream->retry_gap_ms == 0
                                 ? RETRY_FIRST_MS
                                 : u32_min(2 * upstream->retry_gap_ms, RETRY_MAX_MS);
    upstream->retry_at_ns = upstream->now_ns + upstream->retry_gap_ms * MS;
    if (joined) {
        upstream->handler.lost(upstream->handler.context, upstream->error.text);
    }
}

static void attempt(Upstream *upstream)
{
    ErrorText error = {0};
    if (upstream->now_ns < upstream->retry_at_ns) {
        return;
    }
    upstream->begun_ns = upstream->heard_ns = upstream->packet_at_ns = upstream->now_ns;
    upstream->refused[0] = '\0';
    upstream->ack = (SnapshotAck){0};
    upstream->echo_at_ns = 0;
    upstream->has_world = false;
    upstream->link = upstream->options.dial(upstream->options.dial_context, &error);
    if (upstream->link == NULL) {
        fail(upstream, error.code == ERROR_USAGE ? ERROR_USAGE : ERROR_NETWORK, error.text);
    }
}

void upstream_reject(Upstream *upstream, const char *why)
{
    error_set(&upstream->error, ERROR_FORMAT, "%s", why);
    upstream->ended = true; /* keep the link: this may be a callback from it */
}

void upstream_world(Upstream *upstream, bool valid)
{
    upstream->has_world = valid;
    if (valid) {
        upstream->retry_gap_ms = 0;
    } else {
        upstream_reject(upstream, "the world of the server above is not valid");
    }
}

static void hello_send(Upstream *upstream)
{
    Message message = {.kind = MESSAGE_HELLO};
    MessageHello *hello = &message.hello;
    hello->major = PROTOCOL_MAJOR;
    hello->minor = PROTOCOL_MINOR;
    memcpy(hello->name, upstream->options.name, NAME_BYTES_MAX);
    const Credentials *shown = &upstream->options.shown;
    memcpy(hello->token, shown->token, shown->token_bytes);
    hello->token_bytes = shown->token_bytes;
    hello->resume = upstream->resume;
    hello->relay = upstream->options.relay;
    credentials_prove(shown->proves ? &shown->identity : NULL, upstream->link, upstream->peer,
                      hello);
    memcpy(hello->version, PLENUM_VERSION, sizeof PLENUM_VERSION);
    (void)message_send(upstream, CHANNEL_CONTROL, &message);
    seal_wipe(&message, sizeof message);
}

/* ---- messages ---- */

static void welcome_receive(Upstream *upstream, const MessageWelcome *welcome)
{
    char text[TEXT_BYTES_MAX];
    if (welcome->major != PROTOCOL_MAJOR) {
        snprintf(text, sizeof text, "the server above uses protocol %u, this program uses %d",
                 welcome->major, PROTOCOL_MAJOR);
        upstream_reject(upstream, text);
        return;
    }
    if (!bulk_queue_begin(&upstream->bulk)) {
        upstream_reject(upstream, "out of memory for the connection to the server above");
        return;
    }
    bool same = upstream->sessions > 0 && welcome->user == upstream->user;
    upstream->state = UPSTREAM_JOINED;
    upstream->sessions++;
    upstream->user = welcome->user;
    upstream->resume = welcome->resume;
    upstream->handler.welcomed(upstream->handler.context, welcome, same);
}

static void refuse_receive(Upstream *upstream, u32 reason, const char *text)
{
    snprintf(upstream->refused, sizeof upstream->refused, "the server above refused: %.60s%s%.150s",
             refuse_reason_text(reason), text[0] != '\0' ? ": " : "", text);
    bool passing = reason == REFUSE_SHUTDOWN || reason == REFUSE_TIMEOUT || reason == REFUSE_FULL;
    error_set(&upstream->error, passing ? ERROR_NETWORK : ERROR_DENIED, "%s", upstream->refused);
    upstream->ended = true;
}

static void password_send(Upstream *upstream)
{
    Message message = {.kind = MESSAGE_PASSWORD};
    memcpy(message.password.text, upstream->options.shown.password, sizeof message.password.text);
    if (message.password.text[0] == '\0') {
        upstream_reject(upstream, "the server above asks for a password");
    } else {
        (void)message_send(upstream, CHANNEL_CONTROL, &message);
    }
    seal_wipe(&message, sizeof message);
}

static void message_receive(Upstream *upstream, const u8 *data, u32 bytes)
{
    Message message;
    u8 *storage = NULL;
    char text[TEXT_BYTES_MAX];
    if (message_decode(data, bytes, &message, &storage, NULL) != ERROR_OK) {
        return;
    }
    bool joined = upstream->state == UPSTREAM_JOINED;
    switch (message.kind) {
    case MESSAGE_WELCOME:
        if (!joined) {
            welcome_receive(upstream, &message.welcome);
        } else {
        }
        break;
    case MESSAGE_REFUSE:
        refuse_receive(upstream, message.refuse.reason, message.refuse.text);
        break;
    case MESSAGE_GOODBYE:
        snprintf(text, sizeof text, "the server above ended the connection: %s",
                 refuse_reason_text(message.goodbye.reason));
        error_set(&upstream->error, ERROR_NETWORK, "%s", text);
        upstream->ended = true;
        break;
    case MESSAGE_PASSWORD:
        password_send(upstream);
        break;
    case MESSAGE_QUEUE:
        upstream->begun_ns = upstream->now_ns; /* the world has not started to arrive */
        break;
    default:
        if (joined) {
            upstream->handler.message(upstream->handler.context, &message);
        } else {
        }
        break;
    }
    message_free(storage);
}

/* ---- payloads ---- */

static void bulk_receive(Upstream *upstream, const u8 *data, u32 bytes)
{
    BulkPush push = bulk_queue_push(&upstream->bulk, data, bytes);
    if (push == BULK_NOW) {
        message_receive(upstream, data, bytes);
    } else if (push == BULK_FULL) {
        upstream_reject(upstream, "the server above sends more than can be kept");
    }
}

static void bulk_ack_send(Upstream *upstream)
{
    u8 encoded[BULK_ACK_BYTES_MAX];
    u32 bytes = bulk_queue_ack(&upstream->bulk, upstream->now_ns, encoded);
    if (bytes > 0) {
        (void)send_bytes(upstream, CHANNEL_BLOCKS, encoded, bytes);
    }
}

/* Handles complete entries. Loading a world may take long, so acknowledgements are sent first. */
static void bulk_apply(Upstream *upstream)
{
    BulkTaken taken;
    int result = bulk_queue_take(&upstream->bulk, &taken);
    for (; result == ERROR_OK; result = bulk_queue_take(&upstream->bulk, &taken)) {
        if (!upstream->ended) {
            message_receive(upstream, taken.data, taken.bytes);
        }
        free(taken.memory);
    }
    if (result == ERROR_FORMAT) {
        upstream_reject(upstream, "what the server above transferred is not valid");
    }
}

static void joined_receive(Upstream *upstream, u32 channel, const u8 *data, u32 bytes)
{
    upstream->heard_ns = upstream->now_ns;
    bool repeat = (channel == CHANNEL_CONTROL || channel == CHANNEL_INPUT) &&
                  bytes == upstream->welcome_bytes &&
                  hash_bytes(data, bytes, 0) == upstream->welcome_hash;
    if (repeat) {
        return;
    }
    if (bytes > MESSAGE_BYTES_MAX) {
    } else if (channel == CHANNEL_STATE) {
        upstream->handler.state(upstream->handler.context, data, bytes);
    } else if (channel == CHANNEL_BULK) {
        bulk_receive(upstream, data, bytes);
    } else if (channel == CHANNEL_BLOCKS) {
        (void)bulk_queue_block(&upstream->bulk, data, bytes, upstream->now_ns, upstream->now_ns);
    } else {
        message_receive(upstream, data, bytes);
    }
}

static void early_keep(Upstream *upstream, u32 channel, const u8 *data, u32 bytes)
{
    u8 *copy = NULL;
    if (upstream->early_count < EARLY_MAX && bytes <= MESSAGE_BYTES_MAX - upstream->early_bytes) {
        copy = malloc(u32_max(bytes, 1));
    }
    if (copy == NULL) {
        return;
    }
    memcpy(copy, data, bytes);
    upstream->early[upstream->early_count++] = (EarlyPayload){copy, bytes, channel};
    upstream->early_bytes += bytes;
}

static void payload_receive(Upstream *upstream, u32 channel, const u8 *data, u32 bytes)
{
    if (upstream->state == UPSTREAM_JOINED) {
        joined_receive(upstream, channel, data, bytes);
        return;
    }
    if (channel == CHANNEL_BULK || channel == CHANNEL_BLOCKS) {
        early_keep(upstream, channel, data, bytes);
        return;
    }
    if (channel != CHANNEL_STATE) {
        message_receive(upstream, data, bytes);
    }
    if (upstream->state == UPSTREAM_JOINED) {
        upstream->welcome_hash = hash_bytes(data, bytes, 0);
        upstream->welcome_bytes = bytes;
        for (u32 i = 0; i < upstream->early_count; i++) {
            const EarlyPayload *early = &upstream->early[i];
            joined_receive(upstream, early->channel, early->data, early->bytes);
        }
        early_drop(upstream);
    }
}

/* ---- polls ---- */

void upstream_acknowledge(Upstream *upstream, SnapshotAck ack, const SnapshotHeader *header)
{
    upstream->ack = ack;
    upstream->packet_due = true;
    u16 newer = (u16)(header->send_ms - upstream->echo_ms);
    if (upstream->echo_at_ns == 0 || newer < 0x8000) {
        upstream->echo_ms = header->send_ms;
        upstream->echo_at_ns = upstream->now_ns;
    }
}

/* A relay has no camera: all chunks have the same weight. */
static void packet_send(Upstream *upstream)
{
    InputPacket *packet = &upstream->packet;
    u8 encoded[STATE_PAYLOAD_BYTES_MAX];
    memset(packet, 0, offsetof(InputPacket, inputs));
    packet->send_ms = (u16)(upstream->now_ns / MS);
    u64 deferred_ms = (upstream->now_ns - upstream->echo_at_ns) / MS;
    packet->echo_ms = (u16)(upstream->echo_ms + u64_min(deferred_ms, 30000));
    packet->ack = upstream->ack;
    u32 bytes = input_packet_encode(packet, encoded);
    (void)send_bytes(upstream, CHANNEL_INPUT, encoded, bytes);
    upstream->packet_at_ns = upstream->now_ns;
    upstream->packet_due = false;
}

static void disconnected(Upstream *upstream, u32 reason)
{
    char text[TEXT_BYTES_MAX];
    if (upstream->refused[0] != '\0') {
        fail(upstream, ERROR_DENIED, upstream->refused);
    } else if (reason == REFUSE_IDENTITY) {
        fail(upstream, ERROR_CRYPTO, refuse_reason_text(reason));
    } else if (upstream->state == UPSTREAM_JOINED) {
        snprintf(text, sizeof text, "the connection to the server above ended: %s",
                 reason != REFUSE_NONE ? refuse_reason_text(reason) : "no answer");
        fail(upstream, ERROR_NETWORK, text);
    } else {
        fail(upstream, ERROR_NETWORK, "no answer: is a server running there?");
    }
}

static void time_outs(Upstream *upstream)
{
    u64 now = upstream->now_ns;
    if (upstream->has_world) {
        if (now - upstream->heard_ns > SILENCE_TIMEOUT_MS * MS) {
            fail(upstream, ERROR_NETWORK, "no data from the server above for 3 s");
        }
    } else if (now - upstream->begun_ns > JOIN_TIMEOUT_MS * MS &&
               !bulk_queue_alive(&upstream->bulk, now, upstream->begun_ns, JOIN_TIMEOUT_MS * MS)) {
        fail(upstream, ERROR_NETWORK,
             upstream->state == UPSTREAM_JOINED ? "the world did not arrive within 20 s"
                                                : "no answer: is a server running there?");
    }
}

static void receive(Upstream *upstream)
{
    LinkEvent event;
    while (upstream->link != NULL && !upstream->ended &&
           upstream->link->ops->poll(upstream->link, upstream->now_ns / MS, &event)) {
        if (event.kind == LINK_CONNECTED) {
            upstream->peer = event.peer;
            hello_send(upstream);
        } else if (event.kind == LINK_RECEIVED) {
            payload_receive(upstream, event.channel, event.data, event.bytes);
        } else if (event.kind == LINK_DISCONNECTED) {
            disconnected(upstream, event.reason);
        }
    }
}

void upstream_poll(Upstream *upstream, u64 now_ns)
{
    upstream->now_ns = u64_max(now_ns, upstream->now_ns);
    if (upstream->state == UPSTREAM_CLOSED) {
        return;
    }
    if (upstream->link == NULL) {
        attempt(upstream);
        return;
    }
    receive(upstream);
    if (upstream->state == UPSTREAM_JOINED && !upstream->ended && upstream->bulk.count > 0) {
        bulk_ack_send(upstream);
        upstream->link->ops->flush(upstream->link);
        bulk_apply(upstream);
    }
    if (upstream->ended) {
        ErrorText why = upstream->error;
        if (upstream->link != NULL) {
            upstream->link->ops->disconnect(upstream->link, upstream->peer, REFUSE_LEFT);
            upstream->link->ops->flush(upstream->link);
        }
        fail(upstream, why.code, why.text);
    }
    if (upstream->link != NULL) {
        time_outs(upstream);
    }
    if (upstream->link == NULL) {
        return;
    }
    if (upstream->state == UPSTREAM_JOINED) {
        bulk_ack_send(upstream);
        u64 gap_ns = upstream->now_ns - upstream->packet_at_ns;
        if (gap_ns >= (upstream->packet_due ? PACKET_GAP_MS : IDLE_GAP_MS) * MS) {
            packet_send(upstream);
        }
    }
    upstream->link->ops->flush(upstream->link);
}

int upstream_fd(const Upstream *upstream)
{
    return upstream->link != NULL ? upstream->link->ops->fd(upstream->link) : -1;
}

UpstreamState upstream_state(const Upstream *upstream)
{
    return upstream->state;
}

const ErrorText *upstream_error(const Upstream *upstream)
{
    return &upstream->error;
}
