/*
 * bulk.h: large contents (a world and its scene, pictures of its inside) as numbered blocks on an
 * unreliable channel, with a window, selective acknowledgements and a pace of our own: a reliable
 * channel of ENet moves 64 KiB a round trip. PROTOCOL.md, "Bulk transfer", is the byte-exact
 * standard.
 *
 * A content is packed once (bulk_content_create) and shared by the senders of all clients. Each
 * transfer has an id, one more than the one before; a message on the reliable bulk channel names
 * it at its place in the order of things, and there the receiver takes it.
 * Layer: protocol/stream. Pure: time is an argument; nothing here opens, seals or sends.
 */
#ifndef PLENUM_PROTOCOL_STREAM_BULK_H
#define PLENUM_PROTOCOL_STREAM_BULK_H

#include "shared/base/error.h"
#include "shared/base/limits.h"

PL_BEGIN_C

enum {
    BULK_BLOCK_HEAD_BYTES = 14,
    BULK_BLOCK_BYTES = 1160, /* of a body in each block but the last */
    BULK_PACKET_BYTES_MAX = BULK_BLOCK_HEAD_BYTES + BULK_BLOCK_BYTES,
    BULK_BODY_HEAD_BYTES = 16, /* hash, size, packing */
    BULK_BODY_BYTES_MAX = MESSAGE_BYTES_MAX + BULK_BODY_HEAD_BYTES,
    /* Transfers that a receiver keeps at once, and the bytes that they may announce together: a
     * world, and the one that a seek sends after it. */
    BULK_OPEN_MAX = 8,
    BULK_OPEN_BYTES_MAX = 2 * BULK_BODY_BYTES_MAX,
    /* Transfers that wait in a sender, those included. */
    BULK_QUEUE_MAX = 64,
    /* Packets under way; 4.8 MB: 50 Mbit/s over a round trip of 760 ms. */
    BULK_WINDOW = 4096,
    BULK_ACK_HEAD_BYTES = 10,
    BULK_ACK_BYTES_MAX = BULK_ACK_HEAD_BYTES + BULK_WINDOW / 8,
    BULK_ACK_GAP_US = 16000,
    /* Without news too: a sender may wait to hear that something was taken. */
    BULK_ACK_REST_US = 1000000,
};

PL_STATIC_ASSERT((int)BULK_PACKET_BYTES_MAX <= (int)STATE_PAYLOAD_BYTES_MAX,
                 "a block is one packet");
PL_STATIC_ASSERT((int)BULK_ACK_BYTES_MAX <= (int)STATE_PAYLOAD_BYTES_MAX, "so is an ack");

/* ---- contents ---- */

/* Packed bytes with their hash, counted; not changed once made. One thread. */
typedef struct BulkContent BulkContent;

/* A copy of plain[bytes], compressed with zstd where that saves a sixteenth. NULL: no memory, or
 * not 1 .. MESSAGE_BYTES_MAX bytes. The caller has one reference. */
BulkContent *bulk_content_create(const void *fallback, u32 bytes);
BulkContent *bulk_content_acquire(BulkContent *content);
void bulk_content_release(BulkContent *content); /* NULL is fine */
/* Size of the body that goes over the wire. */
u32 bulk_content_bytes(const BulkContent *content);
/* For tests and other senders: the body itself [bulk_content_bytes]. */
const u8 *bulk_content_body(const BulkContent *content);

/* ---- sender ---- */

typedef struct BulkSender BulkSender;

typedef struct BulkSenderStats {
    u64 packets, repeated; /* sent, and those of them that repeat a block */
    u64 bytes;
    u64 rtt_us;       /* smoothed */
    u64 rtt_least_us; /* of the last seconds; 0: unknown */
    f64 bytes_s;      /* what the path is believed to give */
    u32 transfers;    /* not yet taken by the receiver */
} BulkSenderStats;

/* max_bytes_s: most that goes out in a second; 0: the default. NULL: no memory. */
BulkSender *bulk_sender_create(u32 max_bytes_s, u64 now_us);
void bulk_sender_destroy(BulkSender *sender); /* NULL is fine */
/* Queues a transfer (acquires the content) and gives its id; ERROR_LIMIT if BULK_QUEUE_MAX wait. */
int bulk_sender_add(BulkSender *sender, BulkContent *content, u32 *id);
/* Forgets all transfers so far; returns the id from which on they count, to be told with the next.
 */
u32 bulk_sender_void(BulkSender *sender);
/* Writes the next packet that may go out now, out[BULK_PACKET_BYTES_MAX]; 0: none. */
u32 bulk_sender_next(BulkSender *sender, u64 now_us, u8 *out);
/* True once every block of this and of all transfers before it went out (arrived or not). */
bool bulk_sender_went_out(const BulkSender *sender, u32 id);
/* True once every block of this and of all transfers before it was acknowledged, or is void. */
bool bulk_sender_arrived(const BulkSender *sender, u32 id);
/* False while anything is not acknowledged yet: call bulk_sender_next again soon. */
bool bulk_sender_done(const BulkSender *sender);
/* An acknowledgement from the wire. ERROR_FORMAT, ERROR_RANGE: it is not one of what was sent. */
int bulk_sender_ack(BulkSender *sender, const u8 *data, u32 bytes, u64 now_us);
void bulk_sender_stats(const BulkSender *sender, BulkSenderStats *stats);

/* ---- receiver ---- */

typedef struct BulkReceiver BulkReceiver;

typedef struct BulkReceiverStats {
    u64 blocks, repeated, refused;
    u64 open_bytes;  /* announced by transfers that are not taken yet: bounds the memory */
    u64 known_bytes; /* and how much of that is here */
    u32 open;
} BulkReceiverStats;

/* What was transferred. data is in memory, which the taker frees with free(). */
typedef struct BulkTaken {
    u8 *memory;
    const u8 *data; /* [bytes], aligned for anything */
    u32 bytes;
} BulkTaken;

BulkReceiver *bulk_receiver_create(void); /* NULL: no memory */
void bulk_receiver_destroy(BulkReceiver *receiver);
/* A packet from the wire. Repeats are fine. A negative Error: refused, not acknowledged, nothing
 * changed: FORMAT (no packet), RANGE (size, block or transfer that cannot be), MISMATCH (announces
 * another size than before), LIMIT (more than a receiver keeps), MEMORY. */
int bulk_receiver_push(BulkReceiver *receiver, const u8 *data, u32 bytes, u64 now_us);
/* Writes the acknowledgement that is due, out[BULK_ACK_BYTES_MAX]; 0: none is. */
u32 bulk_receiver_ack(BulkReceiver *receiver, u64 now_us, u8 *out);
/* Takes transfer `id`, which must be the next one (transfers are taken in order). 0: here it is;
 * ERROR_STATE: not complete yet; ERROR_RANGE: not the next; ERROR_FORMAT: it is complete and its
 * hash, its sizes or its packing are wrong; ERROR_MEMORY. */
int bulk_receiver_take(BulkReceiver *receiver, u32 id, BulkTaken *taken);
/* Transfers before `first` will never be complete. ERROR_RANGE: it is not ahead by a number that
 * can be. */
int bulk_receiver_void(BulkReceiver *receiver, u32 first);
/* The transfer to take next. */
u32 bulk_receiver_expected(const BulkReceiver *receiver);
void bulk_receiver_stats(const BulkReceiver *receiver, BulkReceiverStats *stats);

PL_END_C

#endif
