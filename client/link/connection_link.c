/*
 * connection_link.c: the transport of a connection: sending, and the end of a link, permanently or
 * until the next attempt.
 */
#include "client/link/connection_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    RETRY_FIRST_MS = 500,
    RETRY_MAX_MS = 8000,
};

/* ---- sending ---- */

int connection_send_bytes(Connection *connection, u32 channel, const void *data, u32 bytes)
{
    int result =
        connection->link->ops->send(connection->link, connection->peer, channel, data, bytes);
    if (result == ERROR_OK) {
        connection->stats.bytes_out += bytes;
    }
    return result;
}

int connection_send(Connection *connection, const Message *message)
{
    if (connection->link == NULL) {
        return ERROR_STATE;
    }
    u32 bytes = 0;
    u8 *encoded = message_encode(message, &bytes);
    if (encoded == NULL) {
        return ERROR_LIMIT;
    }
    int result = connection->welcomed || message->kind == MESSAGE_HELLO
                     ? connection_send_bytes(connection, CHANNEL_CONTROL, encoded, bytes)
                     : ERROR_STATE;
    message_free(encoded);
    return result;
}

/* ---- the end ---- */

void connection_early_drop(Connection *connection)
{
    for (u32 i = 0; i < connection->early_count; i++) {
        free(connection->early[i].data);
    }
    connection->early_count = 0;
    connection->early_bytes = 0;
}

void connection_link_drop(Connection *connection)
{
    if (connection->link != NULL) {
        connection->link->ops->destroy(connection->link);
        connection->link = NULL;
    }
    connection_early_drop(connection);
    bulk_queue_end(&connection->bulk);
    free(connection->ahead);
    connection->ahead = NULL;
    connection->welcomed = false;
}

static void close_for_good(Connection *connection)
{
    connection_link_drop(connection);
    connection->state = CONNECTION_CLOSED;
}

void connection_fail(Connection *connection, Error code, const char *text)
{
    error_set(&connection->error, code, "%s", text);
    bool again = connection->options.reconnect && connection->options.dial != NULL &&
                 code == ERROR_NETWORK && connection->resume != 0;
    if (!again) {
        close_for_good(connection);
        return;
    }
    connection_link_drop(connection);
    connection->state = CONNECTION_CONNECTING;
    connection->retry_gap_ms = connection->retry_gap_ms == 0
                                   ? RETRY_FIRST_MS
                                   : u32_min(2 * connection->retry_gap_ms, RETRY_MAX_MS);
    connection->retry_at_ns = connection->now_ns + connection->retry_gap_ms * 1000000ull;
}
