/*
 * bulk.h: transfers large contents (a world and its scene, debug pictures) as numbered blocks on an
 * unreliable channel, with a window, selective acknowledgements and its own pacing: a reliable
 * channel of ENet is limited to 64 KiB per round trip. PROTOCOL.md, "Bulk transfer", is the
 * byte-exact specification.
 *
 * A content is packed once (bulk_content_create) and shared by the senders of all clients. Transfer
 * ids increase by one; a message on the reliable bulk channel names the transfer at its position in
 * the message order, where the receiver delivers it.
 * Layer: protocol/stream. Pure: time is an argument; nothing here opens, seals or sends packets.
 */
#ifndef PLENUM_PROTOCOL_STREAM_BULK_H
#define PLENUM_PROTOCOL_STREAM_BULK_H

#include "shared/base/error.h"
#include "shared/base/limits.h"

PL_BEGIN_C

enum {
    BULK_BLOCK_HEAD_BYTES = 14,
    BULK_BLOCK_BYTES = 1160, /* payload of each block but the last */
    BULK_PACKET_BYTES_MAX = BULK_BLOCK_HEAD_BYTES + BULK_BLOCK_BYTES,
    BULK_BODY_HEAD_BYTES = 16, /* hash, size, packing */
    BULK_BODY_BYTES_MAX = MESSAGE_BYTES_MAX + BULK_BODY_HEAD_BYTES,
    /* Transfers that a receiver stores at once, and the total size that they may announce: a
     * world, and the one that a seek sends after it. */
    BULK_OPEN_MAX = 8,
    BULK_OPEN_BYTES_MAX = 2 * BULK_BODY_BYTES_MAX,
    /* Transfers queued in a sender, including the stored ones above. */
    BULK_QUEUE_MAX = 64,
    /* Packets in flight; 4.8 MB: 50 Mbit/s over a round trip of 760 ms. */
    BULK_WINDOW = 4096,
    BULK_ACK_HEAD_BYTES = 10,
    BULK_ACK_BYTES_MAX = BULK_ACK_HEAD_BYTES + BULK_WINDOW / 8,
    BULK_ACK_GAP_US = 16000,
    /* Acknowledgement interval when idle: a sender may wait to learn that a transfer was taken. */
    BULK_ACK_IDLE_US = 1000000,
};

PL_STATIC_ASSERT((int)BULK_PACKET_BYTES_MAX <= (int)STATE_PAYLOAD_BYTES_MAX,
                 "a block is one packet");
PL_STATIC_ASSERT((int)BULK_ACK_BYTES_MAX <= (int)STATE_PAYLOAD_BYTES_MAX, "so is an ack");

/* ---- contents ---- */

/* Packed bytes with their hash, reference-counted; immutable. Single-threaded. */
typedef struct BulkContent BulkContent;

/* Copies the message of `bytes` bytes, compressed with zstd where that saves a sixteenth. NULL:
 * out of memory, or not 1 .. MESSAGE_BYTES_MAX bytes. The caller owns one reference. */
BulkContent *bulk_content_create(const void *unpacked, u32 bytes);
/* The same in parts, for a thread that has other work meanwhile. The message is borrowed until the
 * packer's end. NULL as above. */
typedef struct BulkPacker BulkPacker;
BulkPacker *bulk_packer_create(const void *unpacked, u32 bytes);
/* Packs at most this many more bytes; true: finished. */
bool bulk_packer_step(BulkPacker *packer, u32 bytes);
/* Ends a finished packer. NULL: out of memory. */
BulkContent *bulk_packer_finish(BulkPacker *packer);
void bulk_packer_destroy(BulkPacker *packer); /* NULL is fine */
BulkContent *bulk_content_acquire(BulkContent *content);
void bulk_content_release(BulkContent *content); /* NULL is fine */
/* Size of the body sent over the wire. */
u32 bulk_content_bytes(const BulkContent *content);
/* The body itself [bulk_content_bytes], for tests and other senders. */
const u8 *bulk_content_body(const BulkContent *content);

/* ---- sender ---- */

typedef struct BulkSender BulkSender;

typedef struct BulkSenderStats {
    u64 packets, repeated; /* sent in total, and those that repeat a block */
    u64 bytes;
    u64 rtt_us;       /* smoothed */
    u64 rtt_least_us; /* minimum of the last seconds; 0: unknown */
    f64 bytes_s;      /* estimated bandwidth of the path */
    u32 transfers;    /* not yet taken by the receiver */
} BulkSenderStats;

/* max_bytes_s: sending limit in bytes per second; 0: the default. NULL: out of memory. */
BulkSender *bulk_sender_create(u32 max_bytes_s, u64 now_us);
void bulk_sender_destroy(BulkSender *sender); /* NULL is fine */
/* Queues a transfer (acquires the content) and returns its id, or ERROR_LIMIT if BULK_QUEUE_MAX
 * wait. */
int bulk_sender_add(BulkSender *sender, BulkContent *content, u32 *id);
/* Voids all transfers so far; returns the first valid id, which the next Bulk message announces. */
u32 bulk_sender_void(BulkSender *sender);
/* Writes the next packet that may be sent now to out[BULK_PACKET_BYTES_MAX]; 0: none. */
u32 bulk_sender_next(BulkSender *sender, u64 now_us, u8 *out);
/* True once every block of this and all earlier transfers was sent (received or not). */
bool bulk_sender_is_sent(const BulkSender *sender, u32 id);
/* True once every block of this and all earlier transfers was acknowledged or voided. */
bool bulk_sender_arrived(const BulkSender *sender, u32 id);
/* False while anything is unacknowledged: call bulk_sender_next again soon. */
bool bulk_sender_done(const BulkSender *sender);
/* Applies an acknowledgement from the wire. ERROR_FORMAT, ERROR_RANGE: it does not match what
 * was sent. */
int bulk_sender_ack(BulkSender *sender, const u8 *data, u32 bytes, u64 now_us);
void bulk_sender_stats(const BulkSender *sender, BulkSenderStats *stats);

/* ---- receiver ---- */

typedef struct BulkReceiver BulkReceiver;

typedef struct BulkReceiverStats {
    u64 blocks, repeated, refused;
    u64 open_bytes;  /* announced by transfers not taken yet: bounds the memory */
    u64 known_bytes; /* part of open_bytes already received */
    u32 open;
} BulkReceiverStats;

/* A delivered content. The caller frees data with free(). */
typedef struct BulkTaken {
    u8 *memory;
    const u8 *data; /* [bytes], aligned for anything */
    u32 bytes;
} BulkTaken;

BulkReceiver *bulk_receiver_create(void); /* NULL: out of memory */
void bulk_receiver_destroy(BulkReceiver *receiver);
/* Processes a packet from the wire. Repeats are fine. A negative Error means refused, not
 * acknowledged, nothing changed: FORMAT (malformed), RANGE (invalid size, block or transfer),
 * MISMATCH (announces a different size than before), LIMIT (exceeds the receiver's storage),
 * MEMORY. */
int bulk_receiver_push(BulkReceiver *receiver, const u8 *data, u32 bytes, u64 now_us);
/* Writes the acknowledgement that is due to out[BULK_ACK_BYTES_MAX]; 0: none is. */
u32 bulk_receiver_ack(BulkReceiver *receiver, u64 now_us, u8 *out);
/* Takes transfer `id`, which must be the next one (transfers are delivered in order). 0: taken;
 * ERROR_STATE: not complete yet; ERROR_RANGE: not the next; ERROR_FORMAT: complete, but its
 * hash, sizes or packing are wrong; ERROR_MEMORY. */
int bulk_receiver_take(BulkReceiver *receiver, u32 id, BulkTaken *taken);
/* Voids transfers before `first`. ERROR_RANGE: `first` is not ahead by a valid number. */
int bulk_receiver_void(BulkReceiver *receiver, u32 first);
/* Id of the next transfer to take. */
u32 bulk_receiver_expected(const BulkReceiver *receiver);
void bulk_receiver_stats(const BulkReceiver *receiver, BulkReceiverStats *stats);

PL_END_C

#endif
