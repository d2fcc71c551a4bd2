/*
 * connection_bulk.c: the receiving side of bulk transfers: a message on the reliable bulk channel
 * marks the position of a transfer in the order of that channel; later messages wait until the
 * transfer is complete.
 */
#include "client/link/connection_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* Minimal accepted rate of a transfer: half of a client's minimal budget. */
    BYTES_S_MIN = 4000,
    DEFERRED_CAPACITY_FIRST = 16,
};

bool connection_bulk_begin(Connection *connection)
{
    connection_bulk_end(connection);
    connection->bulk = bulk_receiver_create();
    return connection->bulk != NULL;
}

static void deferred_drop(Connection *connection)
{
    DeferredMessage *held = &connection->held[connection->deferred_first];
    connection->deferred_bytes -= held->bytes;
    free(held->data);
    connection->deferred_first = (connection->deferred_first + 1) % connection->deferred_capacity;
    connection->deferred_count--;
}

void connection_bulk_end(Connection *connection)
{
    while (connection->deferred_count > 0) {
        deferred_drop(connection);
    }
    free(connection->held);
    free(connection->ahead);
    bulk_receiver_destroy(connection->bulk);
    connection->held = NULL;
    connection->ahead = NULL;
    connection->bulk = NULL;
    connection->deferred_capacity = connection->deferred_first = 0;
    connection->bulk_known = connection->bulk_announced = 0;
}

/* ---- the order of the channel ---- */

static bool deferred_reserve(Connection *connection)
{
    if (connection->deferred_count < connection->deferred_capacity) {
        return true;
    }
    u32 capacity = u32_max(2 * connection->deferred_capacity, DEFERRED_CAPACITY_FIRST);
    DeferredMessage *grown = capacity <= DEFERRED_MAX ? malloc(capacity * sizeof *grown) : NULL;
    if (grown == NULL) {
        return false;
    }
    for (u32 i = 0; i < connection->deferred_count; i++) {
        grown[i] =
            connection->held[(connection->deferred_first + i) % connection->deferred_capacity];
    }
    free(connection->held);
    connection->held = grown;
    connection->deferred_capacity = capacity;
    connection->deferred_first = 0;
    return true;
}

/* data NULL: the position of a transfer. */
static bool deferred_push(Connection *connection, const u8 *data, u32 bytes, u32 transfer)
{
    u8 *copy = NULL;
    if (connection->deferred_bytes + bytes > DEFERRED_BYTES_MAX || !deferred_reserve(connection)) {
        return false;
    }
    if (data != NULL) {
        copy = malloc(bytes);
        if (copy == NULL) {
            return false;
        }
        memcpy(copy, data, bytes);
    }
    u32 at =
        (connection->deferred_first + connection->deferred_count) % connection->deferred_capacity;
    connection->held[at] = (DeferredMessage){copy, bytes, transfer};
    connection->deferred_count++;
    connection->deferred_bytes += bytes;
    return true;
}

int connection_bulk_take(Connection *connection, BulkTaken *taken)
{
    if (connection->bulk == NULL || connection->deferred_count == 0) {
        return ERROR_STATE;
    }
    DeferredMessage held = connection->held[connection->deferred_first];
    *taken = (BulkTaken){.memory = held.data, .data = held.data, .bytes = held.bytes};
    if (held.data == NULL) {
        int result = bulk_receiver_take(connection->bulk, held.transfer, taken);
        if (result != ERROR_OK) {
            return result == ERROR_STATE ? ERROR_STATE : ERROR_FORMAT;
        }
    }
    connection->held[connection->deferred_first].data = NULL;
    deferred_drop(connection);
    return ERROR_OK;
}

/* Messages that wait before a transfer that voids earlier ones belong to an ended stream. */
static bool place_push(Connection *connection, u32 transfer, u32 first)
{
    if ((i32)(first - bulk_receiver_expected(connection->bulk)) > 0) {
        while (connection->deferred_count > 0) {
            deferred_drop(connection);
        }
        if (bulk_receiver_void(connection->bulk, first) != 0) {
            return false;
        }
    }
    return deferred_push(connection, NULL, 0, transfer);
}

BulkPush connection_bulk_push(Connection *connection, const u8 *data, u32 bytes)
{
    Message message = {0};
    u8 *storage = NULL;
    /* Bulk messages are small; larger ones need not be decoded to rule that out. */
    bool place = bytes < 128 && message_decode(data, bytes, &message, &storage, NULL) == 0 &&
                 message.kind == MESSAGE_BULK;
    message_free(storage);
    if (!place && connection->deferred_count == 0) {
        return BULK_NOW;
    }
    bool kept = place ? place_push(connection, message.bulk.transfer, message.bulk.first)
                      : deferred_push(connection, data, bytes, 0);
    return kept ? BULK_KEPT : BULK_FULL;
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
