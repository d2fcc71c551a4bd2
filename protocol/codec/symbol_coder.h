/*
 * symbol_coder.h: a range coder (Martin 1979; with carry propagation into written bytes) for
 * alphabets of sixteen symbols: one step where a binary coder needs four or five. Symbol
 * frequencies are the mean of two contexts, which adapt towards each coded symbol, one vector each
 * (as in Giesen's adaptive nibbles, "Mixing and adaptive models", 2015). Integers only, the same
 * bytes on every machine.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_SYMBOL_CODER_H
#define PLENUM_PROTOCOL_CODEC_SYMBOL_CODER_H

#include "shared/math/simd.h"

enum {
    SYMBOLS = 16,
    SYMBOL_BITS = 15, /* probabilities are in 32768ths */
    SYMBOL_ONE = 1 << SYMBOL_BITS,
    SYMBOL_RANGE_MIN = 1 << 24,
    SYMBOL_RATE = 7,
};

/* Cumulative frequency at the end of each symbol, ascending; the last is SYMBOL_ONE. */
typedef u16 SymbolEnds __attribute__((vector_size(32)));
typedef i16 SymbolSteps __attribute__((vector_size(32)));

typedef struct SymbolCoder {
    u32 low;  /* encoding */
    u32 code; /* decoding: the next bytes, minus the low end */
    u32 range;
    u8 *out;      /* encoding: [room] */
    const u8 *in; /* decoding: [room] */
    u32 capacity, used;
    bool decoding;
    bool failed; /* encoding: out of space */
} SymbolCoder;

/* The next byte of input; 0 behind its end. */
static inline u32 symbol_next_byte(SymbolCoder *coder)
{
    u32 byte = coder->used < coder->capacity ? coder->in[coder->used] : 0;
    coder->used++;
    return byte;
}

/* Writes to out [capacity]; borrowed. */
static inline void symbol_encode_begin(SymbolCoder *coder, u8 *out, u32 capacity)
{
    *coder = (SymbolCoder){.range = UINT32_MAX, .out = out, .capacity = capacity};
}

/* Reads in [bytes]; borrowed. Input that is too short decodes to some symbols, never out of
 * bounds. */
static inline void symbol_decode_begin(SymbolCoder *coder, const u8 *in, u32 bytes)
{
    *coder = (SymbolCoder){.range = UINT32_MAX, .in = in, .capacity = bytes, .decoding = true};
    for (u32 i = 0; i < 4; i++) {
        coder->code = coder->code << 8 | symbol_next_byte(coder);
    }
}

/* Sets `failed` where the output is full. */
static inline void symbol_put_byte(SymbolCoder *coder, u8 byte)
{
    if (coder->used < coder->capacity) {
        coder->out[coder->used++] = byte;
    } else {
        coder->failed = true;
    }
}

/* Adds a carry to the bytes already written. */
static inline void symbol_carry(SymbolCoder *coder)
{
    u32 i = coder->used;
    while (i > 0 && !coder->failed && ++coder->out[--i] == 0) {
    }
}

/* Encodes the interval [from, from + share) of 2^bits. */
SIMD_INLINE void symbol_encode_part(SymbolCoder *coder, u32 from, u32 share, u32 bits)
{
    u32 unit = coder->range >> bits, low = coder->low + unit * from;
    if (low < coder->low) {
        symbol_carry(coder);
    }
    coder->low = low;
    coder->range = unit * share;
    if (PL_LIKELY(coder->used + 4 <= coder->capacity)) { /* unpredictable number of bytes */
        u32 done = (u32)__builtin_clz(coder->range) & 24, next = __builtin_bswap32(low);
        memcpy(coder->out + coder->used, &next, sizeof next);
        coder->low = low << done;
        coder->range <<= done;
        coder->used += done >> 3;
        return;
    }
    while (coder->range < SYMBOL_RANGE_MIN) {
        symbol_put_byte(coder, (u8)(coder->low >> 24));
        coder->low <<= 8;
        coder->range <<= 8;
    }
}

/* Removes the interval [from, from + share) of the range, in units. */
SIMD_INLINE void symbol_decode_part(SymbolCoder *coder, u32 unit, u32 from, u32 share)
{
    coder->code -= unit * from;
    coder->range = unit * share;
    if (PL_LIKELY(coder->used + 4 <= coder->capacity)) { /* unpredictable number of bytes */
        u32 bits = (u32)__builtin_clz(coder->range) & 24, next;
        memcpy(&next, coder->in + coder->used, sizeof next);
        next = __builtin_bswap32(next);
        coder->code = coder->code << bits | (u32)((u64)next >> (32 - bits));
        coder->range <<= bits;
        coder->used += bits >> 3;
        return;
    }
    while (coder->range < SYMBOL_RANGE_MIN) {
        coder->code = coder->code << 8 | symbol_next_byte(coder);
        coder->range <<= 8;
    }
}

/* The first symbol whose end is above v (< SYMBOL_ONE). */
SIMD_INLINE u32 symbol_find(const u16 *ends, u32 v)
{
#if defined(__SSE2__)
    __m128i at = _mm_set1_epi16((i16)v), a, b;
    memcpy(&a, ends, sizeof a);
    memcpy(&b, ends + 8, sizeof b);
    /* The last end appears negative: it is set explicitly. */
    __m128i above = _mm_packs_epi16(_mm_cmpgt_epi16(a, at), _mm_cmpgt_epi16(b, at));
    return (u32)__builtin_ctz((u32)_mm_movemask_epi8(above) | 1u << (SYMBOLS - 1));
#else
    u32 symbol = 0;
    while (ends[symbol] <= v) {
        symbol++;
    }
    return symbol;
#endif
}

/* Adapts both contexts to `symbol`: a 128th of the way. */
SIMD_INLINE void symbol_learn(SymbolEnds *a, SymbolEnds *b, u32 symbol)
{
    enum {
        MOST = SYMBOL_ONE - SYMBOLS
    };
    static const u16 least[SYMBOLS] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    static const u16 most[2 * SYMBOLS] = {0,    0,    0,    0,    0,    0,    0,    0,    0,
                                          0,    0,    0,    0,    0,    0,    0,    MOST, MOST,
                                          MOST, MOST, MOST, MOST, MOST, MOST, MOST, MOST, MOST,
                                          MOST, MOST, MOST, MOST, MOST}; /* read at an offset given
                                                                        by the symbol */
    SymbolEnds goal, above;
    memcpy(&goal, least, sizeof goal);
    memcpy(&above, most + SYMBOLS - symbol, sizeof above);
    goal += above; /* every symbol keeps a frequency of at least 1; differences fit i16, that of
                      the last end is 0 */
    *a += (SymbolEnds)((SymbolSteps)(goal - *a) >> SYMBOL_RATE);
    *b += (SymbolEnds)((SymbolSteps)(goal - *b) >> SYMBOL_RATE);
}

/* The mean of two ends. */
SIMD_INLINE u32 symbol_mean(const SymbolEnds *a, const SymbolEnds *b, u32 symbol)
{
    u16 x, y;
    memcpy(&x, (const u8 *)a + symbol * sizeof x, sizeof x);
    memcpy(&y, (const u8 *)b + symbol * sizeof y, sizeof y);
    return ((u32)x + y + 1) >> 1;
}

/* Decodes a symbol; a and b must be different. */
SIMD_INLINE u32 symbol_decode(SymbolCoder *coder, SymbolEnds *a, SymbolEnds *b)
{
#if defined(__AVX2__)
    SymbolEnds mean = (SymbolEnds)_mm256_avg_epu16((__m256i)*a, (__m256i)*b);
#else
    SymbolEnds mean = (*a | *b) - ((*a ^ *b) >> 1);
#endif
    u16 ends[SYMBOLS + 1];
    ends[0] = 0;
    memcpy(ends + 1, &mean, sizeof mean);
    u32 unit = coder->range >> SYMBOL_BITS, v = coder->code / unit;
    u32 symbol = symbol_find(ends + 1, v < SYMBOL_ONE ? v : SYMBOL_ONE - 1);
    symbol_decode_part(coder, unit, ends[symbol], (u32)(ends[symbol + 1] - ends[symbol]));
    symbol_learn(a, b, symbol);
    return symbol;
}

/* Encodes a symbol; reads only its own ends. */
SIMD_INLINE void symbol_encode(SymbolCoder *coder, SymbolEnds *a, SymbolEnds *b, u32 symbol)
{
    u32 from = symbol > 0 ? symbol_mean(a, b, symbol - 1) : 0;
    symbol_encode_part(coder, from, symbol_mean(a, b, symbol) - from, SYMBOL_BITS);
    symbol_learn(a, b, symbol);
}

/* A bit with probability p of 1, in 65536ths, 1..65535: encodes `bit`, or decodes one. */
static inline u32 symbol_bit(SymbolCoder *coder, u32 bit, u32 p)
{
    if (!coder->decoding) {
        symbol_encode_part(coder, bit != 0 ? 0 : p, bit != 0 ? p : 65536 - p, 16);
        return bit;
    }
    u32 unit = coder->range >> 16;
    bit = coder->code < unit * p;
    symbol_decode_part(coder, unit, bit != 0 ? 0 : p, bit != 0 ? p : 65536 - p);
    return bit;
}

/* Ends the code so that any following bytes do not matter. */
static inline void symbol_encode_end(SymbolCoder *coder)
{
    for (u32 bits = 8; bits <= 32; bits += 8) {
        u64 step = 1ull << (32 - bits), value = (coder->low + step - 1) & ~(step - 1);
        if (value + step <= (u64)coder->low + coder->range) {
            if (value >> 32 != 0) {
                symbol_carry(coder);
            }
            for (u32 i = 0; i < bits; i += 8) {
                symbol_put_byte(coder, (u8)(value >> (24 - i)));
            }
            return;
        }
    }
}

#endif
