/*
 * mix.h: the probability of a bit out of several contexts: each context keeps an adaptive
 * probability, and an online-trained linear mix in the logistic domain makes one of them (Mahoney,
 * "Adaptive weighing of context models for lossless data compression", 2005). Starts each packet
 * from trained tables, so that every packet decodes alone. Integers only.
 * Layer: protocol.
 */
#ifndef PLENUM_PROTOCOL_MIX_H
#define PLENUM_PROTOCOL_MIX_H

#include "protocol/range_coder.h"

#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

enum {
    MIX_INPUTS = 7, /* contexts of a bit; the eighth lane is a constant */
    MIX_LANES = 8,
    MIX_ROW = 16,           /* slots that belong to one context: a cache line */
    MIX_RATE_FIRST = 43690, /* of a slot that knows nothing: 2/3 */
    MIX_RATE_LAST = 300,    /* slower it does not become */
    MIX_WEIGHT_ONE = 8192,
    MIX_STRETCH_MAX = 2047, /* 8 in units of 1/256 */
    MIX_SQUASH = 2 * MIX_STRETCH_MAX + 2,
};

typedef struct MixSlot {
    u16 chance; /* of 1, in 65536ths: 1..65534 */
    u16 rate;   /* of learning, in 65536ths: about 1 / (times used + 1.5) */
} MixSlot;

/* Adaptive probabilities and the weights of the mix. */
typedef struct MixTables {
    u32 rows, sets;
    MixSlot *slots; /* [rows × MIX_ROW], 64-byte aligned */
    i16 *weights;   /* [sets × MIX_LANES] 1 = MIX_WEIGHT_ONE, 16-byte aligned */
} MixTables;

typedef struct Mix {
    RangeCoder coder;
    const MixTables *start; /* borrowed */
    MixTables now;
    u32 *row_epoch; /* [rows] packet in which the row was last taken from start */
    u32 *set_epoch; /* [sets] */
    u32 epoch;
    u16 squash[MIX_SQUASH]; /* 65536 / (1 + exp(−x / 256)) for x = −2048 … 2047 */
} Mix;

bool mix_tables_create(MixTables *tables, u32 rows, u32 sets);
void mix_tables_destroy(MixTables *tables);

/* `start` must outlive the mix. False: no memory (destroy is then harmless). */
bool mix_create(Mix *mix, const MixTables *start);
void mix_destroy(Mix *mix);
/* Everything is as in the starting tables again, without a cost: rows and sets are copied when they
 * are used. The coder is the caller's to begin. */
void mix_reset(Mix *mix);

/* ---- the arithmetic of a bit ----
 * Twice: with vectors, and plainly for machines without; the same bits (a test compares them). */

/* What is used of a bit's slots between its guess and what is learned from it. */
typedef struct MixPlain {
    u16 chance[MIX_LANES], rate[MIX_LANES];
    i16 in[MIX_LANES]; /* ln(p / (1 − p)) in 256ths */
} MixPlain;

/* log2 of 1..65535 in 1024ths, as far as the parabola 22 m (1024 − m) / 65536 for the mantissa m
 * goes (within 0.008), plus a constant. */
static inline i32 mix_log(u32 v)
{
    u32 top = 31 - (u32)__builtin_clz(v), m = (v << 10 >> top) & 1023;
    return (i32)(top << 10 | m) + (i32)(m * 22 * (1024 - m) >> 16);
}

/* The dot product of inputs and weights, before it is scaled. */
static inline i32 mix_guess_plain(MixPlain *lanes, MixSlot *const slot[MIX_INPUTS],
                                  const i16 weights[MIX_LANES])
{
    i32 dot = 0;
    for (u32 k = 0; k < MIX_INPUTS; k++) {
        lanes->chance[k] = slot[k]->chance;
        lanes->rate[k] = slot[k]->rate;
        i32 odds = mix_log(lanes->chance[k]) - mix_log(65535u - lanes->chance[k]);
        lanes->in[k] = (i16)(odds * 11357 >> 16);
    }
    lanes->in[MIX_INPUTS] = 256;
    for (u32 k = 0; k < MIX_LANES; k++) {
        dot += lanes->in[k] * weights[k];
    }
    return dot;
}

/* error: 1536 × (bit − p). */
static inline void mix_learn_plain(const MixPlain *lanes, MixSlot *const slot[MIX_INPUTS],
                                   i16 weights[MIX_LANES], u32 bit, i32 error)
{
    for (u32 k = 0; k < MIX_LANES; k++) {
        i32 step = (lanes->in[k] * 8 * error >> 16) + 1;
        i32 w = weights[k] + (step >> 1);
        weights[k] = (i16)(w > INT16_MAX ? INT16_MAX : w < INT16_MIN ? INT16_MIN : w);
    }
    for (u32 k = 0; k < MIX_INPUTS; k++) {
        u32 chance = lanes->chance[k], rate = lanes->rate[k];
        chance =
            bit != 0 ? chance + ((65535u - chance) * rate >> 16) : chance - (chance * rate >> 16);
        u32 next = rate - (rate * rate >> 16);
        *slot[k] = (MixSlot){(u16)chance, (u16)(next < MIX_RATE_LAST ? MIX_RATE_LAST : next)};
    }
}

#if defined(__SSE2__)
typedef struct MixVector {
    __m128i chance, rate, in;
} MixVector;

static inline __m128i mix_four(MixSlot *const *slot)
{
    i32 v[4];
    for (u32 k = 0; k < 4; k++) {
        memcpy(&v[k], slot[k], sizeof v[k]);
    }
    return _mm_setr_epi32(v[0], v[1], v[2], v[3]);
}

/* The low halves of eight numbers, as they are. */
static inline __m128i mix_low_halves(__m128i a, __m128i b)
{
    a = _mm_srai_epi32(_mm_slli_epi32(a, 16), 16);
    b = _mm_srai_epi32(_mm_slli_epi32(b, 16), 16);
    return _mm_packs_epi32(a, b);
}

/* mix_log in the bits of floats: the exponent and the mantissa are its parts. */
static inline __m128i mix_logs(__m128i v)
{
    __m128i zero = _mm_setzero_si128();
#if defined(__AVX2__)
    __m256i bits = _mm256_castps_si256(_mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(v)));
    bits = _mm256_srai_epi32(_mm256_slli_epi32(bits, 3), 16);
    __m128i log = _mm_packs_epi32(_mm256_castsi256_si128(bits), _mm256_extracti128_si256(bits, 1));
    (void)zero;
#else
    __m128i low = _mm_castps_si128(_mm_cvtepi32_ps(_mm_unpacklo_epi16(v, zero)));
    __m128i high = _mm_castps_si128(_mm_cvtepi32_ps(_mm_unpackhi_epi16(v, zero)));
    low = _mm_srai_epi32(_mm_slli_epi32(low, 3), 16);
    high = _mm_srai_epi32(_mm_slli_epi32(high, 3), 16);
    __m128i log = _mm_packs_epi32(low, high);
#endif
    __m128i m = _mm_and_si128(log, _mm_set1_epi16(1023));
    __m128i bend = _mm_mulhi_epu16(_mm_mullo_epi16(m, _mm_set1_epi16(22)),
                                   _mm_sub_epi16(_mm_set1_epi16(1024), m));
    return _mm_add_epi16(log, bend);
}

static inline i32 mix_guess_vector(MixVector *lanes, MixSlot *const slot[MIX_INPUTS],
                                   const i16 weights[MIX_LANES])
{
    MixSlot unused = {32768, 0};
    MixSlot *const last[4] = {slot[4], slot[5], slot[6], &unused};
    __m128i low = mix_four(slot), high = mix_four(last);
    lanes->chance = mix_low_halves(low, high);
    lanes->rate = _mm_packs_epi32(_mm_srai_epi32(low, 16), _mm_srai_epi32(high, 16));
    __m128i other = _mm_xor_si128(lanes->chance, _mm_set1_epi16(-1));
    __m128i odds = _mm_sub_epi16(mix_logs(lanes->chance), mix_logs(other));
    lanes->in = _mm_insert_epi16(_mm_mulhi_epi16(odds, _mm_set1_epi16(11357)), 256, MIX_INPUTS);
    __m128i w = _mm_load_si128((const __m128i *)(const void *)weights);
    __m128i dot = _mm_madd_epi16(lanes->in, w);
    dot = _mm_add_epi32(dot, _mm_shuffle_epi32(dot, _MM_SHUFFLE(1, 0, 3, 2)));
    dot = _mm_add_epi32(dot, _mm_shuffle_epi32(dot, _MM_SHUFFLE(2, 3, 0, 1)));
    return _mm_cvtsi128_si32(dot);
}

static inline void mix_put_four(__m128i v, MixSlot *const *slot, u32 count)
{
    i32 out[4];
    _mm_storeu_si128((__m128i *)(void *)out, v);
    for (u32 k = 0; k < count; k++) {
        memcpy(slot[k], &out[k], sizeof out[k]);
    }
}

static inline void mix_learn_vector(const MixVector *lanes, MixSlot *const slot[MIX_INPUTS],
                                    i16 weights[MIX_LANES], u32 bit, i32 error)
{
    __m128i *at = (__m128i *)(void *)weights;
    __m128i step = _mm_mulhi_epi16(_mm_slli_epi16(lanes->in, 3), _mm_set1_epi16((i16)error));
    step = _mm_srai_epi16(_mm_add_epi16(step, _mm_set1_epi16(1)), 1);
    _mm_store_si128(at, _mm_adds_epi16(_mm_load_si128(at), step));
    /* Towards 1 as towards 0, with all bits turned round: 65535 − v. */
    __m128i turned = _mm_set1_epi16((i16)(0 - bit)), rate = lanes->rate;
    __m128i chance = _mm_xor_si128(lanes->chance, turned);
    chance = _mm_sub_epi16(chance, _mm_mulhi_epu16(chance, rate));
    chance = _mm_xor_si128(chance, turned);
    rate = _mm_sub_epi16(rate, _mm_mulhi_epu16(rate, rate));
    /* Rates are below 65536 − 300, so that this is a maximum. */
    const __m128i least = _mm_set1_epi16(MIX_RATE_LAST);
    rate = _mm_add_epi16(_mm_subs_epu16(rate, least), least);
    mix_put_four(_mm_unpacklo_epi16(chance, rate), slot, 4);
    mix_put_four(_mm_unpackhi_epi16(chance, rate), slot + 4, MIX_INPUTS - 4);
}
#endif

/* ---- what callers use ---- */

/* A row that the coming bits use. */
static inline MixSlot *mix_take_row(Mix *mix, u32 row)
{
    size_t at = (size_t)row * MIX_ROW;
    if (mix->row_epoch[row] != mix->epoch) {
        mix->row_epoch[row] = mix->epoch;
        memcpy(mix->now.slots + at, mix->start->slots + at, MIX_ROW * sizeof *mix->now.slots);
    }
    return mix->now.slots + at;
}

/* Codes or decodes a bit, from slots of rows that were taken. */
static inline u32 mix_slots(Mix *mix, MixSlot *const slot[MIX_INPUTS], u32 set, u32 bit)
{
    i16 *weights = mix->now.weights + (size_t)set * MIX_LANES;
    if (mix->set_epoch[set] != mix->epoch) {
        mix->set_epoch[set] = mix->epoch;
        memcpy(weights, mix->start->weights + (size_t)set * MIX_LANES, MIX_LANES * sizeof *weights);
    }
#if defined(__SSE2__) && !defined(MIX_PLAIN)
    MixVector lanes;
    i32 dot = mix_guess_vector(&lanes, slot, weights) >> 13;
#else
    MixPlain lanes;
    i32 dot = mix_guess_plain(&lanes, slot, weights) >> 13;
#endif
    dot = dot > MIX_STRETCH_MAX ? MIX_STRETCH_MAX : dot < -MIX_STRETCH_MAX ? -MIX_STRETCH_MAX : dot;
    u32 p = mix->squash[dot + MIX_STRETCH_MAX + 1];
    bit = range_bit(&mix->coder, bit, p);
    i32 error = ((i32)(bit << 16) - (i32)p) * 3 >> 7;
#if defined(__SSE2__) && !defined(MIX_PLAIN)
    mix_learn_vector(&lanes, slot, weights, bit, error);
#else
    mix_learn_plain(&lanes, slot, weights, bit, error);
#endif
    return bit;
}

/* The same; slots[MIX_INPUTS] are row × MIX_ROW + slot of rows that were taken. */
static inline u32 mix_bit(Mix *mix, const u32 slots[MIX_INPUTS], u32 set, u32 bit)
{
    MixSlot *slot[MIX_INPUTS];
    for (u32 k = 0; k < MIX_INPUTS; k++) {
        slot[k] = mix->now.slots + slots[k];
    }
    return mix_slots(mix, slot, set, bit);
}

#endif
