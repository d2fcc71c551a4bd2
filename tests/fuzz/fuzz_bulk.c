/*
 * fuzz_bulk.c: hostile bulk transfers: blocks to a receiver, acknowledgements to a sender, bodies
 * whose hash is right. The input is a list of [kind u8][size u8 or u16][bytes].
 */
#include "protocol/stream/bulk.h"
#include "shared/base/check.h"
#include "shared/base/hash.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

typedef struct Ends {
    BulkSender *sender;
    BulkReceiver *receiver;
    u64 now_us;
    u32 packets;
} Ends;

static void taken_check(Ends *ends)
{
    BulkTaken taken = {0};
    BulkReceiverStats stats;
    if (bulk_receiver_take(ends->receiver, bulk_receiver_expected(ends->receiver), &taken) == 0) {
        if (taken.bytes == 0 || taken.bytes > MESSAGE_BYTES_MAX) {
            __builtin_trap();
        }
        free(taken.memory);
    }
    bulk_receiver_stats(ends->receiver, &stats);
    if (stats.open_bytes > BULK_OPEN_BYTES_MAX || stats.open > BULK_OPEN_MAX) {
        __builtin_trap();
    }
}

/* A whole small body in one block, with a correct hash, so that the code behind the check is
 * reached. */
static void body_push(Ends *ends, const u8 *body, u32 size)
{
    u8 packet[BULK_PACKET_BYTES_MAX] = {0};
    u32 id = bulk_receiver_expected(ends->receiver);
    u32 number = 0x10000 + ends->packets++;
    size = u32_min(size, BULK_BLOCK_BYTES);
    if (size <= BULK_BODY_HEAD_BYTES) {
        return;
    }
    memcpy(packet, &number, 4);
    memcpy(packet + 4, &id, 4);
    memcpy(packet + 8, &size, 4);
    memcpy(packet + BULK_BLOCK_HEAD_BYTES, body, size);
    u64 hash = hash_bytes(body + 8, size - 8, 0);
    memcpy(packet + BULK_BLOCK_HEAD_BYTES, &hash, 8);
    (void)bulk_receiver_push(ends->receiver, packet, BULK_BLOCK_HEAD_BYTES + size, ends->now_us);
}

static void step(Ends *ends, u32 kind, const u8 *data, u32 bytes)
{
    u8 out[BULK_PACKET_BYTES_MAX];
    switch (kind % 5) {
    case 0:
        (void)bulk_receiver_push(ends->receiver, data, bytes, ends->now_us);
        break;
    case 1:
        (void)bulk_sender_ack(ends->sender, data, bytes, ends->now_us);
        break;
    case 2:
        body_push(ends, data, bytes);
        break;
    case 3:
        (void)bulk_receiver_void(ends->receiver, bytes > 0 ? data[0] : 0);
        break;
    default:
        for (u32 i = 0; i < 20 && bulk_sender_next(ends->sender, ends->now_us, out) > 0; i++) {
        }
        break;
    }
    ends->now_us += 1000 * (kind / 5);
    if (bulk_receiver_ack(ends->receiver, ends->now_us, out) > BULK_ACK_BYTES_MAX) {
        __builtin_trap();
    }
    taken_check(ends);
}

static BulkContent *content;

static void prepare(void)
{
    static u8 plain[20000];
    for (u32 i = 0; i < sizeof plain; i++) {
        plain[i] = (u8)(i * i >> 3); /* some of it packs */
    }
    content = bulk_content_create(plain, sizeof plain);
    CHECK(content != NULL);
}

static void run(const u8 *data, size_t bytes)
{
    Ends ends = {.sender = bulk_sender_create(0, 0), .receiver = bulk_receiver_create()};
    u32 id;
    for (u32 i = 0; i < 3; i++) {
        (void)bulk_sender_add(ends.sender, content, &id);
    }
    for (size_t at = 0; at + 3 <= bytes;) {
        u32 kind = data[at];
        size_t size = data[at + 1] | (size_t)(data[at + 2] & 7) << 8;
        at += 3;
        size = size < bytes - at ? size : bytes - at;
        step(&ends, kind, data + at, (u32)size);
        at += size;
    }
    bulk_sender_destroy(ends.sender);
    bulk_receiver_destroy(ends.receiver);
}

const FuzzTarget fuzz_target = {.prepare = prepare,
                                .run = run,
                                .size_max = 1 << 20,
                                .memory_fixed =
                                    BULK_OPEN_BYTES_MAX + MESSAGE_BYTES_MAX + (1 << 20)};
