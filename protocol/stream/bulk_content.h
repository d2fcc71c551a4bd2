/*
 * bulk_content.h: internals of bulk contents and sequence numbers, shared by the files behind
 * bulk.h.
 * Layer: protocol/stream, private.
 */
#ifndef PLENUM_PROTOCOL_STREAM_BULK_CONTENT_H
#define PLENUM_PROTOCOL_STREAM_BULK_CONTENT_H

#include "protocol/stream/bulk.h"

typedef enum BulkPacking {
    BULK_PACKING_NONE = 0,
    BULK_PACKING_ZSTD = 1
} BulkPacking;

/* Checks a complete body, body[bytes] from malloc, and extracts its content; takes ownership of
 * the body. On a negative Error the caller keeps it. */
int bulk_body_open(u8 *body, u32 bytes, BulkTaken *taken);

/* Blocks of a body; the last may be shorter. */
static inline u32 bulk_block_count(u32 body_bytes)
{
    return (body_bytes + BULK_BLOCK_BYTES - 1) / BULK_BLOCK_BYTES;
}

/* Bytes of a block of the body. */
static inline u32 bulk_block_size(u32 body_bytes, u32 block)
{
    return u32_min(BULK_BLOCK_BYTES, body_bytes - block * BULK_BLOCK_BYTES);
}

/* Packets and transfers are numbered modulo 2^32: returns how far a is ahead of b, negative if
 * behind. */
static inline i32 bulk_ahead(u32 a, u32 b)
{
    return (i32)(a - b);
}

/* Bit sets of blocks: [(count + 63) / 64]. */
static inline bool bulk_bit(const u64 *bits, u32 index)
{
    return (bits[index / 64] >> (index % 64) & 1) != 0;
}
static inline void bulk_bit_set(u64 *bits, u32 index)
{
    bits[index / 64] |= 1ull << (index % 64);
}
static inline void bulk_bit_clear(u64 *bits, u32 index)
{
    bits[index / 64] &= ~(1ull << (index % 64));
}

#endif
