/* transfer.c: sends messages that do not fit one packet as bulk transfers (bulk.h). */
#include "server/host/session.h"
#include "shared/base/check.h"

#include <string.h>

enum {
    /* Of a sender's queue; the rest is reserved for worlds, which cannot be sent another way
     * while earlier transfers wait. */
    WAITING_MAX = BULK_QUEUE_MAX / 2,
    /* A link that loses at least REPEATS_MIN packets, and one in REPEATS_SHARE, carries no more
     * than what arrived. */
    REPEATS_MIN = 3,
    REPEATS_SHARE = 4,
    /* Of a world, in one iteration of the loop: half a millisecond. */
    PART_BYTES = 128 << 10,
};

u32 transfers_waiting(const Session *session)
{
    BulkSenderStats stats = {0};
    if (session->bulk != NULL) {
        bulk_sender_stats(session->bulk, &stats);
    }
    return stats.transfers;
}

bool transfer_fits(const Session *session, u32 channel, u32 bytes)
{
    return channel == CHANNEL_BULK && bytes > STATE_PAYLOAD_BYTES_MAX && session->welcomed &&
           transfers_waiting(session) < WAITING_MAX;
}

int transfer_send(Host *host, Session *session, BulkContent *content)
{
    CHECK(session->state == SESSION_LIVE && content != NULL);
    if (session->bulk == NULL) {
        session->bulk = bulk_sender_create(host->options.client_bytes_s, host->now_ns / 1000);
    }
    Message place = {.kind = MESSAGE_BULK};
    int result = session->bulk != NULL
                     ? bulk_sender_add(session->bulk, content, &place.bulk.transfer)
                     : ERROR_MEMORY;
    if (result != 0) {
        return result;
    }
    place.bulk.first = session->bulk_first;
    return session_send_message(host, session, CHANNEL_BULK, &place);
}

/* ---- the world ---- */

static void world_drop(Stream *stream)
{
    bulk_packer_destroy(stream->packer);
    bulk_content_release(stream->world);
    message_free(stream->world_clear);
    stream->packer = NULL;
    stream->world = NULL;
    stream->world_clear = NULL;
}

/* While others play, a large world is packed in parts; otherwise all would wait for it. */
static bool others_play(const Host *host)
{
    for (u32 i = 0; i < host->session_capacity; i++) {
        if (host->sessions[i].world_sent) {
            return true;
        }
    }
    return false;
}

static void world_begin(Host *host, Stream *stream)
{
    Message message = {.kind = MESSAGE_WORLD};
    u32 bytes = 0;
    world_drop(stream);
    stream->source->ops->describe(stream->source, &message.world);
    message.world.epoch = stream->epoch;
    message.world.tick = stream->history.newest->tick;
    stream->world_clear = message_encode(&message, &bytes);
    stream->packer =
        stream->world_clear != NULL ? bulk_packer_create(stream->world_clear, bytes) : NULL;
    stream->world_epoch = stream->epoch;
    stream->world_tail_count = 0;
    host->stats.worlds_packed++;
}

/* False: there is more to pack. */
static bool world_pack(const Host *host, Stream *stream)
{
    u32 part = others_play(host) ? PART_BYTES : MESSAGE_BYTES_MAX;
    if (stream->packer == NULL || !bulk_packer_step(stream->packer, part)) {
        return stream->packer == NULL; /* out of memory: transfer_world says so */
    }
    stream->world = bulk_packer_finish(stream->packer);
    stream->packer = NULL;
    message_free(stream->world_clear);
    stream->world_clear = NULL;
    return true;
}

bool transfer_world_ready(Host *host, Stream *stream)
{
    if (stream->world_epoch != stream->epoch || (stream->world == NULL && stream->packer == NULL)) {
        world_begin(host, stream);
    }
    return stream->world != NULL || world_pack(host, stream);
}

void transfer_world_event(Stream *stream, const Event *event)
{
    if ((event->kind != EVENT_SPAWN && event->kind != EVENT_DESPAWN) ||
        (stream->world == NULL && stream->packer == NULL)) {
        return;
    }
    if (stream->world_tail_count == WORLD_TAIL_MAX) {
        world_drop(stream);
        return;
    }
    stream->world_tail[stream->world_tail_count++] = *event;
}

int transfer_world(Host *host, const Stream *stream, Session *session)
{
    if (stream->world == NULL) {
        return ERROR_LIMIT;
    }
    if (session->bulk != NULL) {
        session->bulk_first = bulk_sender_void(session->bulk);
    }
    session->world_transfer = session->bulk_first;
    return transfer_send(host, session, stream->world);
}

bool transfer_world_out(const Session *session)
{
    return session->bulk == NULL || bulk_sender_is_sent(session->bulk, session->world_transfer);
}

bool transfer_world_arrived(const Session *session)
{
    return session->bulk == NULL || bulk_sender_arrived(session->bulk, session->world_transfer);
}

f64 transfer_bytes_s(const Session *session, f64 *rtt_ms, bool *near)
{
    BulkSenderStats stats = {0};
    if (session->bulk != NULL) {
        bulk_sender_stats(session->bulk, &stats);
    }
    *rtt_ms = (f64)stats.rtt_us / 1000.0;
    *near = stats.rtt_least_us > 0 && stats.rtt_least_us < BUDGET_NEAR_US;
    bool limited = stats.repeated >= REPEATS_MIN && REPEATS_SHARE * stats.repeated >= stats.packets;
    return limited ? stats.bytes_s : 0.0;
}

void transfer_end(Session *session)
{
    bulk_sender_destroy(session->bulk);
    session->bulk = NULL;
}

/* Called after the states of the same iteration, so that those go first. */
void transfers_pump(Host *host)
{
    u8 packet[BULK_PACKET_BYTES_MAX];
    for (u32 i = 0; i < host->session_capacity; i++) {
        Session *session = &host->sessions[i];
        if (session->state != SESSION_LIVE || session->bulk == NULL ||
            bulk_sender_done(session->bulk)) {
            continue;
        }
        u32 bytes;
        while ((bytes = bulk_sender_next(session->bulk, host->now_ns / 1000, packet)) > 0) {
            session_send(host, session, CHANNEL_BLOCKS, packet, bytes);
            host->stats.blocks++;
        }
    }
}
