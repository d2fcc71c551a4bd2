/*
 * range_coder.h: a binary range coder (Martin 1979; carry-less as in Mahoney's lpaq, 2007, but with
 * 64 bits, so that bytes are moved in groups of four): one bit with a 16-bit probability, integers
 * only, the same bytes on every machine. One struct encodes and decodes, so that a model is written
 * once for both. A decoder reads zeros beyond the end, and the encoder omits trailing zeros.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_RANGE_CODER_H
#define PLENUM_PROTOCOL_CODEC_RANGE_CODER_H

#include "shared/math/simd.h"

typedef struct RangeCoder {
    u64 low, high;
    u64 code;     /* decoding: the next bytes */
    u8 *out;      /* encoding: [room] */
    const u8 *in; /* decoding: [room] */
    u32 capacity, used;
    bool decoding;
    bool failed; /* encoding: out of space */
} RangeCoder;

enum {
    RANGE_WORD = 4 /* bytes written or read at once */
};

/* Writes to out [capacity]; borrowed. */
static inline void range_encode_begin(RangeCoder *coder, u8 *out, u32 capacity)
{
    *coder = (RangeCoder){.high = UINT64_MAX, .out = out, .capacity = capacity};
}

/* The next RANGE_WORD bytes of input, the first as the highest; zeros behind its end. */
static inline u32 range_next_word(RangeCoder *coder)
{
    u32 word = 0;
    for (u32 i = 0; i < RANGE_WORD; i++, coder->used++) {
        word = word << 8 | (coder->used < coder->capacity ? coder->in[coder->used] : 0);
    }
    return word;
}

/* Reads in [bytes]; borrowed. Input that is too short decodes to some symbols, never out of
 * bounds. */
static inline void range_decode_begin(RangeCoder *coder, const u8 *in, u32 bytes)
{
    *coder = (RangeCoder){.high = UINT64_MAX, .in = in, .capacity = bytes, .decoding = true};
    for (u32 i = 0; i < 2; i++) {
        coder->code = coder->code << 32 | range_next_word(coder);
    }
}

/* A zero that does not fit may be an omitted trailing zero. */
static inline void range_put_byte(RangeCoder *coder, u8 byte)
{
    if (coder->used < coder->capacity) {
        coder->out[coder->used] = byte;
    } else if (byte != 0) {
        coder->failed = true;
    }
    coder->used++;
}

/* Writes settled bytes, or reads new ones. */
SIMD_INLINE void range_settle(RangeCoder *coder, bool decoding)
{
    while (__builtin_expect((coder->low ^ coder->high) >> 32 == 0, 0)) {
        if (decoding) {
            coder->code = coder->code << 32 | range_next_word(coder);
        } else {
            for (u32 i = 0; i < RANGE_WORD; i++) {
                range_put_byte(coder, (u8)(coder->high >> (56 - 8 * i)));
            }
        }
        coder->low <<= 32;
        coder->high = coder->high << 32 | UINT32_MAX;
    }
}

/* range_bit with `decoding` as a compile-time constant. */
SIMD_INLINE u32 range_bit_as(RangeCoder *coder, bool decoding, u32 bit, u32 p)
{
    u64 middle = coder->low + ((coder->high - coder->low) >> 16) * p;
    if (decoding) {
        bit = coder->code <= middle;
    }
    /* Branch-free: coded bits are unpredictable. */
    u64 ones = 0 - (u64)bit;
    coder->high = (middle & ones) | (coder->high & ~ones);
    coder->low = (coder->low & ones) | ((middle + 1) & ~ones);
    range_settle(coder, decoding);
    return bit;
}

/* The same for a bit that the caller branches on. */
SIMD_INLINE bool range_branch_as(RangeCoder *coder, bool decoding, bool bit, u32 p)
{
    u64 middle = coder->low + ((coder->high - coder->low) >> 16) * p;
    bit = decoding ? coder->code <= middle : bit;
    if (bit) {
        coder->high = middle;
    } else {
        coder->low = middle + 1;
    }
    range_settle(coder, decoding);
    return bit;
}

/* Encodes `bit`, or decodes one and ignores the argument. p: probability of 1 in 65536ths,
 * 1..65535. */
static inline u32 range_bit(RangeCoder *coder, u32 bit, u32 p)
{
    return range_bit_as(coder, coder->decoding, bit, p);
}

/* `count` (≤ 32) equiprobable bits. */
static inline u32 range_bits(RangeCoder *coder, u32 value, u32 count)
{
    u32 result = 0;
    for (u32 i = count; i-- > 0;) {
        result = result << 1 | range_bit(coder, value >> i & 1, 32768);
    }
    return result;
}

/* Returns the bytes of the code, 0: it did not fit (an empty code takes one byte). */
static inline u32 range_encode_end(RangeCoder *coder)
{
    /* The shortest number in [low, high] followed by zeros. */
    for (u32 bytes = 1; bytes <= 8 && coder->low != 0; bytes++) {
        u64 rest = UINT64_MAX >> (8 * bytes - 1) >> 1, value = coder->low & ~rest;
        value = value == coder->low ? value : value + rest + 1;
        if (value >= coder->low && value <= coder->high) {
            for (u32 i = 0; i < bytes; i++) {
                range_put_byte(coder, (u8)(value >> (56 - 8 * i)));
            }
            break;
        }
    }
    if (coder->used == 0) {
        range_put_byte(coder, 0);
        coder->failed = coder->capacity == 0;
    }
    if (coder->failed) {
        return 0;
    }
    coder->used = coder->used < coder->capacity ? coder->used : coder->capacity;
    while (coder->used > 1 && coder->out[coder->used - 1] == 0) {
        coder->used--;
    }
    return coder->used;
}

#endif
