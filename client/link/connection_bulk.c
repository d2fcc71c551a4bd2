/*
 * connection_bulk.c: bulk transfers as a client sees them: a message on the reliable bulk channel
 * says where in the order of that channel a transfer belongs; what follows it there waits until it
 * is complete. State packets of the stream that a transfer begins may come before it is.
 */
#include "client/link/connection_state.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* Slowest that an announced size may take: half of the least budget of a client. */
    BYTES_S_MIN = 4000,
    HELD_ROOM_FIRST = 16,
};

bool connection_bulk_begin(Connection *connection)
{
    connection_bulk_end(connection);
    connection->bulk = bulk_receiver_create();
    return connection->bulk != NULL;
}

static void held_drop(Connection *connection)
{
    Held *held = &connection->held[connection->held_first];
    connection->held_bytes -= held->bytes;
    free(held->data);
    connection->held_first = (connection->held_first + 1) % connection->held_room;
    connection->held_count--;
}

void connection_bulk_end(Connection *connection)
{
    while (connection->held_count > 0) {
        held_drop(connection);
    }
    free(connection->held);
    free(connection->ahead);
    bulk_receiver_destroy(connection->bulk);
    connection->held = NULL;
    connection->ahead = NULL;
    connection->bulk = NULL;
    connection->held_room = connection->held_first = 0;
    connection->bulk_known = connection->bulk_announced = 0;
}

/* ---- the order of the channel ---- */

static bool held_reserve(Connection *connection)
{
    if (connection->held_count < connection->held_room) {
        return true;
    }
    u32 room = u32_max(2 * connection->held_room, HELD_ROOM_FIRST);
    Held *grown = room <= HELD_MAX ? malloc(room * sizeof *grown) : NULL;
    if (grown == NULL) {
        return false;
    }
    for (u32 i = 0; i < connection->held_count; i++) {
        grown[i] = connection->held[(connection->held_first + i) % connection->held_room];
    }
    free(connection->held);
    connection->held = grown;
    connection->held_room = room;
    connection->held_first = 0;
    return true;
}

/* data NULL: the place of a transfer. */
static bool held_push(Connection *connection, const u8 *data, u32 bytes, u32 transfer)
{
    u8 *copy = NULL;
    if (connection->held_bytes + bytes > HELD_BYTES_MAX || !held_reserve(connection)) {
        return false;
    }
    if (data != NULL) {
        copy = malloc(bytes);
        if (copy == NULL) {
            return false;
        }
        memcpy(copy, data, bytes);
    }
    u32 at = (connection->held_first + connection->held_count) % connection->held_room;
    connection->held[at] = (Held){copy, bytes, transfer};
    connection->held_count++;
    connection->held_bytes += bytes;
    return true;
}

/* Any message may end the connection, and what is held with it. */
void connection_bulk_apply(Connection *connection)
{
    while (connection->bulk != NULL && connection->held_count > 0) {
        Held held = connection->held[connection->held_first];
        BulkTaken taken = {.memory = held.data, .data = held.data, .bytes = held.bytes};
        if (held.data == NULL) {
            int result = bulk_receiver_take(connection->bulk, held.transfer, &taken);
            if (result == ERROR_STATE) {
                return;
            }
            if (result != 0) {
                connection_fail(connection, ERROR_FORMAT,
                                "what the server transferred is not valid");
                return;
            }
        }
        connection->held[connection->held_first].data = NULL;
        held_drop(connection);
        connection_message(connection, taken.data, taken.bytes);
        free(taken.memory);
    }
}

/* What came before a transfer that makes former ones void belongs to a stream that is over. */
static bool place_push(Connection *connection, u32 transfer, u32 first)
{
    if ((i32)(first - bulk_receiver_expected(connection->bulk)) > 0) {
        while (connection->held_count > 0) {
            held_drop(connection);
        }
        if (bulk_receiver_void(connection->bulk, first) != 0) {
            return false;
        }
    }
    return held_push(connection, NULL, 0, transfer);
}

void connection_bulk_message(Connection *connection, const u8 *data, u32 bytes)
{
    Message message = {0};
    u8 *storage = NULL;
    /* A place is small; what is larger need not be looked at to know that it is none. */
    bool place = bytes < 128 && message_decode(data, bytes, &message, &storage, NULL) == 0 &&
                 message.kind == MESSAGE_BULK;
    message_free(storage);
    if (!place && connection->held_count == 0) {
        connection_message(connection, data, bytes);
        return;
    }
    bool kept = place ? place_push(connection, message.bulk.transfer, message.bulk.first)
                      : held_push(connection, data, bytes, 0);
    if (!kept) {
        connection_fail(connection, ERROR_LIMIT, "the server sends more than can be kept");
    }
}

/* ---- blocks ---- */

void connection_bulk_block(Connection *connection, const u8 *data, u32 bytes)
{
    if (bulk_receiver_push(connection->bulk, data, bytes, connection->arrived_ns / 1000) != 0) {
        connection->stats.malformed++;
        return;
    }
    BulkReceiverStats stats;
    bulk_receiver_stats(connection->bulk, &stats);
    if (stats.blocks != connection->bulk_known) {
        connection->bulk_known = stats.blocks;
        connection->bulk_announced = u64_max(connection->bulk_announced, stats.open_bytes);
        connection->bulk_progress_ns = connection->now_ns;
    }
}

u32 connection_bulk_ack(Connection *connection, u8 *out)
{
    return connection->bulk != NULL
               ? bulk_receiver_ack(connection->bulk, connection->now_ns / 1000, out)
               : 0;
}

bool connection_bulk_alive(const Connection *connection, u64 begun_ns, u64 quiet_ns)
{
    u64 most_ns = quiet_ns + connection->bulk_announced * (1000000000ull / BYTES_S_MIN);
    return connection->bulk_known > 0 &&
           connection->now_ns - connection->bulk_progress_ns < quiet_ns &&
           connection->now_ns - begun_ns < most_ns;
}

/* ---- states before their world ---- */

void connection_ahead_keep(Connection *connection, const u8 *data, u32 bytes)
{
    if (connection->ahead == NULL) {
        connection->ahead = calloc(AHEAD_MAX, sizeof *connection->ahead);
    }
    if (connection->ahead == NULL || bytes > STATE_PAYLOAD_BYTES_MAX) {
        return;
    }
    Ahead *ahead = &connection->ahead[connection->ahead_next++ % AHEAD_MAX];
    ahead->arrived_ns = connection->arrived_ns;
    ahead->bytes = bytes;
    memcpy(ahead->data, data, bytes);
}

/* The epoch in their headers says which belong to it; it wraps, so the old ones are left out. */
void connection_ahead_push(Connection *connection)
{
    Ahead *all = connection->ahead;
    u32 next = connection->ahead_next;
    connection->ahead = NULL;
    for (u32 i = 0; all != NULL && i < AHEAD_MAX; i++) {
        const Ahead *ahead = &all[(next + i) % AHEAD_MAX];
        u64 age_ns = connection->now_ns - ahead->arrived_ns;
        if (ahead->bytes > 0 && age_ns < AHEAD_MS_MAX * 1000000ull) {
            (void)connection_state_packet(connection, ahead->data, ahead->bytes, ahead->arrived_ns);
        }
    }
    free(all);
}
