/*
 * bulk_queue.h: the receiving side of the bulk channel: a message on this reliable channel marks
 * the position of a transfer (bulk.h) in the channel's order; later messages wait until the
 * transfer is complete. Used by clients and relays; time is an argument.
 * Layer: protocol/session.
 */
#ifndef PLENUM_PROTOCOL_SESSION_BULK_QUEUE_H
#define PLENUM_PROTOCOL_SESSION_BULK_QUEUE_H

#include "protocol/stream/bulk.h"

PL_BEGIN_C

/* Zeroed: no session. */
typedef struct BulkQueue {
    BulkReceiver *receiver;       /* NULL before bulk_queue_begin */
    struct DeferredMessage *held; /* ring of `capacity`, in channel order */
    u32 first, count, capacity;
    u64 bytes;     /* of the messages held */
    u64 known;     /* blocks received, and the time of the last new one */
    u64 announced; /* maximal total size announced by transfers */
    u64 progress_ns;
} BulkQueue;

typedef enum BulkPush {
    BULK_NOW,  /* the queue is empty: process it now; not queued */
    BULK_KEPT, /* queued behind an incomplete transfer */
    BULK_FULL
} BulkPush;

/* Starts with a session; false: out of memory. */
bool bulk_queue_begin(BulkQueue *queue);
/* Drops everything. */
void bulk_queue_end(BulkQueue *queue);
/* Handles a payload of CHANNEL_BULK. */
BulkPush bulk_queue_push(BulkQueue *queue, const u8 *data, u32 bytes);
/* Takes the next queue entry, to be freed (memory). ERROR_STATE: none, or not complete yet;
 * ERROR_FORMAT: invalid. */
int bulk_queue_take(BulkQueue *queue, BulkTaken *taken);
/* Handles a payload of CHANNEL_BLOCKS; false: malformed. */
bool bulk_queue_block(BulkQueue *queue, const u8 *data, u32 bytes, u64 arrived_ns, u64 now_ns);
/* Writes the acknowledgement that is due to out[BULK_ACK_BYTES_MAX]; 0: none. */
u32 bulk_queue_ack(BulkQueue *queue, u64 now_ns, u8 *out);
/* False: a transfer stalled for quiet_ns, or takes longer than its size allows. */
bool bulk_queue_alive(const BulkQueue *queue, u64 now_ns, u64 begun_ns, u64 quiet_ns);

PL_END_C

#endif
