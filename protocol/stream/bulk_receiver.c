/*
 * bulk_receiver.c: reassembles blocks. Announced sizes are checked before any memory is allocated;
 * refused packets are not acknowledged and change nothing.
 */
#include "protocol/stream/bulk_content.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* Each acknowledgement repeats the contents of the previous ones in case they were lost. */
    ACKS_REPEATED = 4,
    /* The first packets are acknowledged immediately: the sender estimates the path from them. */
    PACKETS_EAGER = 16,
    /* Extra acknowledgements of a completed transfer: no later packet triggers another one. */
    COMPLETE_REPEATS = 2,
    WAITED_MS_MAX = 60000,
};

typedef struct Incoming {
    u32 size; /* of the body; 0: nothing received yet */
    u32 here; /* blocks received */
    u8 *body; /* [size] */
    u64 *got; /* one bit per block */
} Incoming;

struct BulkReceiver {
    Incoming open[BULK_OPEN_MAX]; /* slot id modulo */
    u32 expected;                 /* next id to take */
    u64 open_bytes;

    bool any;                   /* a packet was received */
    u32 newest;                 /* number of the newest packet */
    u64 newest_us;              /* its arrival time */
    u64 seen[BULK_WINDOW / 64]; /* which of the last packets were received: slot number modulo */
    u32 lowest[ACKS_REPEATED];  /* oldest packet number received before each of the last acks */
    bool lowest_any[ACKS_REPEATED];
    bool due, at_once;
    u32 repeats; /* acknowledgements still to be sent without new packets */
    u64 acked_us;
    BulkReceiverStats stats;
};

BulkReceiver *bulk_receiver_create(void)
{
    return calloc(1, sizeof(BulkReceiver));
}

static void incoming_drop(BulkReceiver *receiver, Incoming *incoming)
{
    receiver->open_bytes -= incoming->size;
    free(incoming->body);
    free(incoming->got);
    memset(incoming, 0, sizeof *incoming);
}

void bulk_receiver_destroy(BulkReceiver *receiver)
{
    if (receiver == NULL) {
        return;
    }
    for (u32 i = 0; i < BULK_OPEN_MAX; i++) {
        incoming_drop(receiver, &receiver->open[i]);
    }
    free(receiver);
}

static Incoming *incoming_of(BulkReceiver *receiver, u32 id)
{
    return &receiver->open[id % BULK_OPEN_MAX];
}

/* ---- packets ---- */

/* False: too old to track, or implausibly far ahead. */
static bool packet_possible(const BulkReceiver *receiver, u32 packet)
{
    i32 ahead = bulk_ahead(packet, receiver->newest);
    return !receiver->any || (ahead > -BULK_WINDOW && ahead < 16 * BULK_WINDOW);
}

static void packet_note(BulkReceiver *receiver, u32 packet, u64 now_us)
{
    i32 ahead = receiver->any ? bulk_ahead(packet, receiver->newest) : BULK_WINDOW;
    if (ahead >= BULK_WINDOW) {
        memset(receiver->seen, 0, sizeof receiver->seen);
    }
    for (i32 i = 1; ahead < BULK_WINDOW && i <= ahead; i++) {
        bulk_bit_clear(receiver->seen, (receiver->newest + (u32)i) % BULK_WINDOW);
    }
    if (ahead > 0) {
        receiver->newest = packet;
        receiver->newest_us = now_us;
    }
    receiver->any = true;
    bulk_bit_set(receiver->seen, packet % BULK_WINDOW);
    if (!receiver->lowest_any[0] || bulk_ahead(packet, receiver->lowest[0]) < 0) {
        receiver->lowest[0] = packet;
        receiver->lowest_any[0] = true;
    }
    receiver->due = true;
    receiver->at_once = receiver->at_once || receiver->stats.blocks < PACKETS_EAGER;
}

static int incoming_begin(BulkReceiver *receiver, Incoming *incoming, u32 size)
{
    if (size > BULK_OPEN_BYTES_MAX - receiver->open_bytes) {
        return ERROR_LIMIT;
    }
    u32 words = (bulk_block_count(size) + 63) / 64;
    u8 *body = malloc(size);
    u64 *got = calloc(words, sizeof *got);
    if (body == NULL || got == NULL) {
        free(body);
        free(got);
        return ERROR_MEMORY;
    }
    *incoming = (Incoming){.size = size, .body = body, .got = got};
    receiver->open_bytes += size;
    return 0;
}

/* Stores a block of a transfer that is not taken yet. */
static int block_put(BulkReceiver *receiver, u32 id, u32 size, u32 block, const u8 *data)
{
    Incoming *incoming = incoming_of(receiver, id);
    if (incoming->size == 0) {
        int result = incoming_begin(receiver, incoming, size);
        if (result != 0) {
            return result;
        }
    }
    if (incoming->size != size) {
        return ERROR_MISMATCH;
    }
    if (bulk_bit(incoming->got, block)) {
        receiver->stats.repeated++;
        return 0;
    }
    memcpy(incoming->body + (size_t)block * BULK_BLOCK_BYTES, data, bulk_block_size(size, block));
    bulk_bit_set(incoming->got, block);
    incoming->here++;
    receiver->stats.blocks++;
    if (incoming->here == bulk_block_count(size)) {
        receiver->at_once = true;
        receiver->repeats = COMPLETE_REPEATS;
    }
    return 0;
}

static int packet_read(BulkReceiver *receiver, const u8 *data, u32 bytes, u64 now_us)
{
    u32 packet, id, size;
    u16 block;
    if (bytes <= BULK_BLOCK_HEAD_BYTES) {
        return ERROR_FORMAT;
    }
    memcpy(&packet, data, sizeof packet);
    memcpy(&id, data + 4, sizeof id);
    memcpy(&size, data + 8, sizeof size);
    memcpy(&block, data + 12, sizeof block);
    i32 ahead = bulk_ahead(id, receiver->expected);
    if (size <= BULK_BODY_HEAD_BYTES || size > BULK_BODY_BYTES_MAX ||
        block >= bulk_block_count(size) ||
        bytes != BULK_BLOCK_HEAD_BYTES + bulk_block_size(size, block) || ahead >= BULK_OPEN_MAX ||
        !packet_possible(receiver, packet)) {
        return ERROR_RANGE;
    }
    /* Late packets of taken or void transfers are acknowledged as well. */
    if (ahead >= 0) {
        int result = block_put(receiver, id, size, block, data + BULK_BLOCK_HEAD_BYTES);
        if (result != 0) {
            return result;
        }
    } else {
        receiver->stats.repeated++;
    }
    packet_note(receiver, packet, now_us);
    return 0;
}

int bulk_receiver_push(BulkReceiver *receiver, const u8 *data, u32 bytes, u64 now_us)
{
    int result = packet_read(receiver, data, bytes, now_us);
    receiver->stats.refused += result != 0;
    return result;
}

/* ---- acknowledging ---- */

/* Number of packets before the newest that the bits cover. */
static u32 ack_reach(const BulkReceiver *receiver)
{
    i32 reach = 0;
    for (u32 i = 0; i < ACKS_REPEATED; i++) {
        if (receiver->lowest_any[i]) {
            reach = i32_max(reach, bulk_ahead(receiver->newest, receiver->lowest[i]));
        }
    }
    return (u32)i32_min(reach, BULK_WINDOW - 1);
}

u32 bulk_receiver_ack(BulkReceiver *receiver, u64 now_us, u8 *out)
{
    bool repeat = !receiver->due && receiver->repeats > 0;
    u64 gap_us = receiver->at_once         ? 0
                 : receiver->due || repeat ? BULK_ACK_GAP_US
                                           : BULK_ACK_IDLE_US;
    if (!receiver->any || now_us - receiver->acked_us < gap_us) {
        return 0;
    }
    u32 reach = ack_reach(receiver);
    u64 waited_ms = (now_us - receiver->newest_us) / 1000;
    u16 waited = (u16)u64_min(waited_ms, WAITED_MS_MAX);
    memcpy(out, &receiver->newest, 4);
    memcpy(out + 4, &receiver->expected, 4);
    memcpy(out + 8, &waited, 2);
    u32 bytes = (reach + 7) / 8;
    memset(out + BULK_ACK_HEAD_BYTES, 0, bytes);
    for (u32 i = 0; i < reach; i++) {
        if (bulk_bit(receiver->seen, (receiver->newest - 1 - i) % BULK_WINDOW)) {
            out[BULK_ACK_HEAD_BYTES + i / 8] |= (u8)(1u << (i % 8));
        }
    }
    for (u32 i = ACKS_REPEATED - 1; i > 0; i--) {
        receiver->lowest[i] = receiver->lowest[i - 1];
        receiver->lowest_any[i] = receiver->lowest_any[i - 1];
    }
    receiver->lowest_any[0] = false;
    receiver->due = receiver->at_once = false;
    receiver->repeats -= repeat;
    receiver->acked_us = now_us;
    return BULK_ACK_HEAD_BYTES + bytes;
}

/* ---- taking ---- */

/* The sender waits for space: acknowledge at once if anything was received yet. */
static void expected_advance(BulkReceiver *receiver)
{
    incoming_drop(receiver, incoming_of(receiver, receiver->expected));
    receiver->expected++;
    receiver->due = receiver->at_once = receiver->any;
}

int bulk_receiver_take(BulkReceiver *receiver, u32 id, BulkTaken *taken)
{
    Incoming *incoming = incoming_of(receiver, id);
    if (id != receiver->expected) {
        return ERROR_RANGE;
    }
    if (incoming->size == 0 || incoming->here < bulk_block_count(incoming->size)) {
        return ERROR_STATE;
    }
    int result = bulk_body_open(incoming->body, incoming->size, taken);
    if (result == 0) {
        incoming->body = NULL;
        expected_advance(receiver);
    }
    return result;
}

int bulk_receiver_void(BulkReceiver *receiver, u32 first)
{
    i32 ahead = bulk_ahead(first, receiver->expected);
    if (ahead < 0 || ahead > BULK_QUEUE_MAX) {
        return ERROR_RANGE;
    }
    while (receiver->expected != first) {
        expected_advance(receiver);
    }
    return 0;
}

u32 bulk_receiver_expected(const BulkReceiver *receiver)
{
    return receiver->expected;
}

void bulk_receiver_stats(const BulkReceiver *receiver, BulkReceiverStats *stats)
{
    *stats = receiver->stats;
    stats->open_bytes = receiver->open_bytes;
    for (u32 i = 0; i < BULK_OPEN_MAX; i++) {
        const Incoming *incoming = &receiver->open[i];
        stats->open += incoming->size > 0;
        stats->known_bytes += u64_min((u64)incoming->here * BULK_BLOCK_BYTES, incoming->size);
    }
}
