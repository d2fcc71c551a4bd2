/* live.c: see live.h. */
#include "server/host/live.h"

#include "shared/base/check.h"

#include <stdlib.h>
#include <string.h>

static void u64_write(u8 *at, u64 value)
{
    for (u32 i = 0; i < 8; i++) {
        at[i] = (u8)(value >> (8 * i));
    }
}

static u64 u64_read(const u8 *at)
{
    u64 value = 0;
    for (u32 i = 0; i < 8; i++) {
        value |= (u64)at[i] << (8 * i);
    }
    return value;
}

LivePayload live_write_encoded(const LiveHead *head, const u8 *data, u32 bytes)
{
    LivePayload payload = {0};
    if (data != NULL && bytes <= LIVE_PAYLOAD_BYTES_MAX - LIVE_HEAD_BYTES) {
        payload.data = malloc(LIVE_HEAD_BYTES + bytes);
    }
    if (payload.data != NULL) {
        payload.bytes = LIVE_HEAD_BYTES + bytes;
        u64_write(payload.data, head->run);
        u64_write(payload.data + 8, head->follower);
        memcpy(payload.data + LIVE_HEAD_BYTES, data, bytes);
    }
    return payload;
}

LivePayload live_write(const LiveHead *head, const Message *message)
{
    u32 bytes = 0;
    u8 *data = message_encode(message, &bytes);
    LivePayload payload = live_write_encoded(head, data, bytes);
    message_free(data);
    return payload;
}

void live_set_run(LivePayload *payload, u64 run)
{
    CHECK(payload->bytes > LIVE_HEAD_BYTES);
    u64_write(payload->data, run);
}

int live_read_head(const u8 *data, size_t bytes, LiveHead *out)
{
    if (bytes <= LIVE_HEAD_BYTES || bytes > LIVE_PAYLOAD_BYTES_MAX) {
        return ERROR_FORMAT;
    }
    out->run = u64_read(data);
    out->follower = u64_read(data + 8);
    return ERROR_OK;
}

/* True for a message of a kind, and to or from whom it is sent. */
static bool expected(LiveFrom from, const LiveHead *head, MessageKind kind)
{
    if (from == LIVE_FROM_FOLLOWER) {
        return head->run != 0 && head->follower != 0 &&
               (kind == MESSAGE_GUESTS || kind == MESSAGE_CHAT || kind == MESSAGE_PRESENCE);
    }
    return head->run != 0 &&
           (head->follower != 0
                ? kind == MESSAGE_GUESTS
                : kind == MESSAGE_CHAT || kind == MESSAGE_ROSTER || kind == MESSAGE_PRESENCE);
}

int live_read(LiveFrom from, const u8 *data, size_t bytes, LiveHead *head, Message *message,
              u8 **storage)
{
    *storage = NULL;
    if (live_read_head(data, bytes, head) != ERROR_OK ||
        (from == LIVE_FROM_FOLLOWER && bytes > LIVE_SAID_BYTES_MAX)) {
        return ERROR_FORMAT;
    }
    int result = message_decode(data + LIVE_HEAD_BYTES, (u32)(bytes - LIVE_HEAD_BYTES), message,
                                storage, NULL);
    if (result == ERROR_OK && !expected(from, head, message->kind)) {
        message_free(*storage);
        *storage = NULL;
        return ERROR_FORMAT;
    }
    CHECK(result != ERROR_OK || message->kind != MESSAGE_NONE);
    return result;
}
