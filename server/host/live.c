/* live.c: see live.h. */
#include "server/host/live.h"

#include "shared/base/check.h"

#include <stdlib.h>
#include <string.h>

PL_STATIC_ASSERT(sizeof(LiveHead) == LIVE_HEAD_BYTES, "a payload begins with the struct");

LivePayload live_write_encoded(const LiveHead *head, const u8 *data, u32 bytes)
{
    LivePayload payload = {0};
    if (data != NULL && bytes <= LIVE_PAYLOAD_BYTES_MAX - LIVE_HEAD_BYTES) {
        payload.data = malloc(LIVE_HEAD_BYTES + bytes);
    }
    if (payload.data != NULL) {
        payload.bytes = LIVE_HEAD_BYTES + bytes;
        memcpy(payload.data, head, sizeof *head);
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
    memcpy(payload->data + offsetof(LiveHead, run), &run, sizeof run);
}

int live_read_head(const u8 *data, size_t bytes, LiveHead *out)
{
    if (bytes <= LIVE_HEAD_BYTES || bytes > LIVE_PAYLOAD_BYTES_MAX) {
        return ERROR_FORMAT;
    }
    memcpy(out, data, sizeof *out);
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
        (from == LIVE_FROM_FOLLOWER && bytes > LIVE_FOLLOWER_BYTES_MAX)) {
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
