/* transfer.c: sends messages that do not fit one packet as bulk transfers (bulk.h). */
#include "server/host/session.h"

#include <string.h>

enum {
    /* Of a sender's queue; the rest is reserved for worlds, which cannot be sent another way
     * while earlier transfers wait. */
    WAITING_MAX = BULK_QUEUE_MAX / 2,
    /* A link that loses at least REPEATS_MIN packets, and one in REPEATS_SHARE, carries no more
     * than what arrived. */
    REPEATS_MIN = 3,
    REPEATS_SHARE = 4,
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

static BulkContent *world_content(Host *host, const Message *message)
{
    if (host->world != NULL && host->world_epoch == host->epoch) {
        return host->world;
    }
    u32 bytes = 0;
    u8 *cleartext = message_encode(message, &bytes);
    bulk_content_release(host->world);
    host->world = cleartext != NULL ? bulk_content_create(cleartext, bytes) : NULL;
    host->world_epoch = host->epoch;
    host->world_tail_count = 0;
    host->stats.worlds_packed++;
    message_free(cleartext);
    return host->world;
}

void transfer_world_event(Host *host, const Event *event)
{
    if ((event->kind != EVENT_SPAWN && event->kind != EVENT_DESPAWN) || host->world == NULL) {
        return;
    }
    if (host->world_tail_count == WORLD_TAIL_MAX) {
        bulk_content_release(host->world);
        host->world = NULL;
        return;
    }
    host->world_tail[host->world_tail_count++] = *event;
}

int transfer_world(Host *host, Session *session, const Message *message)
{
    BulkContent *content = world_content(host, message);
    if (content == NULL) {
        return ERROR_LIMIT;
    }
    if (session->bulk != NULL) {
        session->bulk_first = bulk_sender_void(session->bulk);
    }
    session->world_transfer = session->bulk_first;
    return transfer_send(host, session, content);
}

bool transfer_world_out(const Session *session)
{
    return session->bulk == NULL || bulk_sender_went_out(session->bulk, session->world_transfer);
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
