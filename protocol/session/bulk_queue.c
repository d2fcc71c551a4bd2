/* bulk_queue.c: see bulk_queue.h. */
#include "protocol/session/bulk_queue.h"

#include "protocol/session/message.h"
#include "shared/base/check.h"
#include "shared/base/error.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* Minimal accepted rate of a transfer: half of a client's minimal budget. */
    BYTES_S_MIN = 4000,
    DEFERRED_CAPACITY_FIRST = 16,
    /* Messages queued behind an incomplete transfer: minutes of events. */
    DEFERRED_MAX = 16384,
    DEFERRED_BYTES_MAX = 8 << 20,
};

/* An entry of the queue: a message, or the position of a transfer. */
typedef struct DeferredMessage {
    u8 *data; /* NULL: the position of a transfer */
    u32 bytes;
    u32 transfer;
} DeferredMessage;

bool bulk_queue_begin(BulkQueue *queue)
{
    bulk_queue_end(queue);
    queue->receiver = bulk_receiver_create();
    return queue->receiver != NULL;
}

static void deferred_drop(BulkQueue *queue)
{
    DeferredMessage *held = &queue->held[queue->first];
    queue->bytes -= held->bytes;
    free(held->data);
    queue->first = (queue->first + 1) % queue->capacity;
    queue->count--;
}

void bulk_queue_end(BulkQueue *queue)
{
    while (queue->count > 0) {
        deferred_drop(queue);
    }
    free(queue->held);
    bulk_receiver_destroy(queue->receiver);
    queue->held = NULL;
    queue->receiver = NULL;
    queue->capacity = queue->first = 0;
    queue->known = queue->announced = 0;
}

/* ---- the order of the channel ---- */

static bool deferred_reserve(BulkQueue *queue)
{
    if (queue->count < queue->capacity) {
        return true;
    }
    u32 capacity = u32_max(2 * queue->capacity, DEFERRED_CAPACITY_FIRST);
    DeferredMessage *grown = capacity <= DEFERRED_MAX ? malloc(capacity * sizeof *grown) : NULL;
    if (grown == NULL) {
        return false;
    }
    for (u32 i = 0; i < queue->count; i++) {
        grown[i] = queue->held[(queue->first + i) % queue->capacity];
    }
    free(queue->held);
    queue->held = grown;
    queue->capacity = capacity;
    queue->first = 0;
    return true;
}

/* data NULL: the position of a transfer. */
static bool deferred_push(BulkQueue *queue, const u8 *data, u32 bytes, u32 transfer)
{
    u8 *copy = NULL;
    if (queue->bytes + bytes > DEFERRED_BYTES_MAX || !deferred_reserve(queue)) {
        return false;
    }
    if (data != NULL) {
        copy = malloc(bytes);
        if (copy == NULL) {
            return false;
        }
        memcpy(copy, data, bytes);
    }
    u32 at = (queue->first + queue->count) % queue->capacity;
    queue->held[at] = (DeferredMessage){copy, bytes, transfer};
    queue->count++;
    queue->bytes += bytes;
    return true;
}

int bulk_queue_take(BulkQueue *queue, BulkTaken *taken)
{
    if (queue->receiver == NULL || queue->count == 0) {
        return ERROR_STATE;
    }
    CHECK(queue->count <= queue->capacity);
    DeferredMessage held = queue->held[queue->first];
    *taken = (BulkTaken){.memory = held.data, .data = held.data, .bytes = held.bytes};
    if (held.data == NULL) {
        int result = bulk_receiver_take(queue->receiver, held.transfer, taken);
        if (result != ERROR_OK) {
            return result == ERROR_STATE ? ERROR_STATE : ERROR_FORMAT;
        }
    }
    queue->held[queue->first].data = NULL;
    deferred_drop(queue);
    return ERROR_OK;
}

/* Messages queued before a transfer that voids earlier ones belong to an ended stream. */
static bool place_push(BulkQueue *queue, u32 transfer, u32 first)
{
    if ((i32)(first - bulk_receiver_expected(queue->receiver)) > 0) {
        while (queue->count > 0) {
            deferred_drop(queue);
        }
        if (bulk_receiver_void(queue->receiver, first) != 0) {
            return false;
        }
    }
    return deferred_push(queue, NULL, 0, transfer);
}

BulkPush bulk_queue_push(BulkQueue *queue, const u8 *data, u32 bytes)
{
    Message message = {0};
    u8 *storage = NULL;
    /* Bulk messages are small; larger ones need not be decoded to rule that out. */
    bool place = bytes < 128 && message_decode(data, bytes, &message, &storage, NULL) == 0 &&
                 message.kind == MESSAGE_BULK;
    message_free(storage);
    if (!place && queue->count == 0) {
        return BULK_NOW;
    }
    bool kept = place ? place_push(queue, message.bulk.transfer, message.bulk.first)
                      : deferred_push(queue, data, bytes, 0);
    return kept ? BULK_KEPT : BULK_FULL;
}

/* ---- blocks ---- */

bool bulk_queue_block(BulkQueue *queue, const u8 *data, u32 bytes, u64 arrived_ns, u64 now_ns)
{
    if (bulk_receiver_push(queue->receiver, data, bytes, arrived_ns / 1000) != 0) {
        return false;
    }
    BulkReceiverStats stats;
    bulk_receiver_stats(queue->receiver, &stats);
    if (stats.blocks != queue->known) {
        queue->known = stats.blocks;
        queue->announced = u64_max(queue->announced, stats.open_bytes);
        queue->progress_ns = now_ns;
    }
    return true;
}

u32 bulk_queue_ack(BulkQueue *queue, u64 now_ns, u8 *out)
{
    return queue->receiver != NULL ? bulk_receiver_ack(queue->receiver, now_ns / 1000, out) : 0;
}

bool bulk_queue_alive(const BulkQueue *queue, u64 now_ns, u64 begun_ns, u64 quiet_ns)
{
    u64 most_ns = quiet_ns + queue->announced * (1000000000ull / BYTES_S_MIN);
    return queue->known > 0 && now_ns - queue->progress_ns < quiet_ns &&
           now_ns - begun_ns < most_ns;
}
