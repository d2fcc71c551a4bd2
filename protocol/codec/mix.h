/*
 * mix.h: context mixing: the probability of a bit from three contexts. Each context has an adaptive
 * probability, and an online-trained linear mix in the logistic domain combines them (Mahoney,
 * "Adaptive weighing of context models for lossless data compression", 2005). Starts from trained
 * tables in each packet, so every packet decodes independently. Integers only. For all bits of a
 * symbol at once see mix_row.h.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_MIX_H
#define PLENUM_PROTOCOL_CODEC_MIX_H

#include "protocol/codec/range_coder.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum {
    MIX_INPUTS = 3, /* contexts of a bit; the fourth lane is a constant */
    MIX_LANES = 4,
    MIX_SET = 8,            /* numbers per set in the tables, of which MIX_LANES are used */
    MIX_ROW = 16,           /* slots that belong to one context: a cache line */
    MIX_RATE_FIRST = 43690, /* rate of an unused slot: 2/3 */
    MIX_RATE_LAST = 300,    /* minimal rate */
    MIX_WEIGHT_ONE = 8192,
    MIX_STRETCH_MAX = 2047, /* 8 in units of 1/256 */
    MIX_SQUASH = 2 * MIX_STRETCH_MAX + 2,
};

/* A slot's probability of 1 in 65536ths: 1..65534. Its adaptation rate, in 65536ths, is stored
 * MIX_ROW further on: about 1 / (times used + 1.5). */
typedef u16 MixSlot;

/* Adaptive probabilities and the weights of the mix. */
typedef struct MixTables {
    u32 rows, sets;
    MixSlot *slots; /* [rows][2][MIX_ROW]: probabilities, then rates; 64-byte aligned */
    i16 *weights;   /* [sets × MIX_SET] 1 = MIX_WEIGHT_ONE */
} MixTables;

typedef struct Mix {
    RangeCoder coder;
    const MixTables *start; /* borrowed */
    MixTables now;          /* weights: only updated by mix_keep; rows that the packet has not
                             * used: undefined before it */
    /* The current and the starting weights: [2][sets] pairs, the first and the third in the low
     * halves, the second and the constant's in the high halves. */
    u32 *pairs, *first_pairs;
    u32 *row_epoch; /* [rows] packet in which the row was last copied from start */
    u32 epoch;
    u16 squash[MIX_SQUASH]; /* 65536 / (1 + exp(−x / 256)) for x = −2048 … 2047 */
} Mix;

/* Untrained tables of `rows` rows of slots and `sets` sets of weights; false: out of memory. */
bool mix_tables_create(MixTables *tables, u32 rows, u32 sets);
/* The same with undefined content, for a caller that fills them. */
bool mix_tables_allocate(MixTables *tables, u32 rows, u32 sets);
void mix_tables_destroy(MixTables *tables);

/* `start` must outlive the mix. False: out of memory (destroy is then harmless). */
bool mix_create(Mix *mix, const MixTables *start);
void mix_destroy(Mix *mix);
/* Resets to the starting tables: rows are copied on first use. The caller starts the coder. */
void mix_reset(Mix *mix);
/* Writes the current weights of the sets from `first` on, and the rows not used since the reset, to
 * mix->now. */
void mix_keep(Mix *mix, u32 first);

/* ---- the arithmetic of a bit ----
 * Implemented twice, with vectors and scalar for machines without them, with identical results
 * (a test compares them). */

/* Intermediate values kept between prediction and update of a bit. */
typedef struct MixScalar {
    u32 chance[MIX_INPUTS], rate[MIX_INPUTS];
    i32 in[MIX_LANES]; /* ln(p / (1 − p)) in 256ths */
} MixScalar;

/* log2 of 1..65535 in 1024ths, with the parabola 22 m (1024 − m) / 65536 for the mantissa m
 * (within 0.008), plus a constant. */
static inline i32 mix_log(u32 v)
{
    u32 top = 31 - (u32)__builtin_clz(v), m = (v << 10 >> top) & 1023;
    return (i32)(top << 10 | m) + (i32)(m * 22 * (1024 - m) >> 16);
}

/* The weight of a lane in its pair. */
static inline i32 mix_weight(const u32 pairs[2], u32 lane)
{
    return (i16)(pairs[lane / 2] >> lane % 2 * 16);
}

/* The dot product of inputs and weights, unscaled. */
static inline i32 mix_guess_scalar(MixScalar *lanes, MixSlot *const row[MIX_INPUTS], u32 slot,
                                   const u32 pairs[2])
{
    i32 dot = 256 * mix_weight(pairs, MIX_INPUTS);
    lanes->in[MIX_INPUTS] = 256;
    for (u32 k = 0; k < MIX_INPUTS; k++) {
        lanes->chance[k] = row[k][slot];
        lanes->rate[k] = row[k][slot + MIX_ROW];
        i32 odds = mix_log(lanes->chance[k]) - mix_log(65535u - lanes->chance[k]);
        lanes->in[k] = odds * 11357 >> 16;
        dot += lanes->in[k] * mix_weight(pairs, k);
    }
    return dot;
}

/* Updates a slot by a bit. */
static inline void mix_learn_slot(MixSlot *slot, u32 chance, u32 rate, u32 bit)
{
    u32 rotated = (0u - bit) & 0xFFFFu; /* complement, so that 1 is handled like 0 */
    chance ^= rotated;
    slot[0] = (u16)((chance - (chance * rate >> 16)) ^ rotated);
    rate -= rate * rate >> 16;
    slot[MIX_ROW] = (u16)(rate < MIX_RATE_LAST ? MIX_RATE_LAST : rate);
}

/* error: 1536 × (bit − p). */
static inline void mix_learn_scalar(const MixScalar *lanes, MixSlot *const row[MIX_INPUTS],
                                    u32 slot, u32 pairs[2], u32 bit, i32 error)
{
    u32 made[2] = {0, 0};
    for (u32 k = 0; k < MIX_LANES; k++) {
        i32 step = (lanes->in[k] * 8 * error >> 16) + 1;
        i32 w = mix_weight(pairs, k) + (step >> 1);
        w = w > INT16_MAX ? INT16_MAX : w < INT16_MIN ? INT16_MIN : w;
        made[k / 2] |= (u32)(u16)w << k % 2 * 16;
    }
    memcpy(pairs, made, sizeof made);
    for (u32 k = 0; k < MIX_INPUTS; k++) {
        mix_learn_slot(row[k] + slot, lanes->chance[k], lanes->rate[k], bit);
    }
}

#if defined(__SSE2__)
typedef struct MixVector {
    __m128i chance, rate, in; /* in the low four of eight lanes */
} MixVector;

/* mix_guess in one vector: keeps in `lanes` what mix_learn_vector needs. */
static inline i32 mix_guess_vector(MixVector *lanes, MixSlot *const row[MIX_INPUTS], u32 slot,
                                   const u32 pairs[2])
{
    const MixSlot *a = row[0] + slot, *b = row[1] + slot, *c = row[2] + slot;
    __m128i zero = _mm_setzero_si128(), ones = _mm_set1_epi16(-1);
    lanes->rate = _mm_setr_epi16((i16)a[MIX_ROW], (i16)b[MIX_ROW], (i16)c[MIX_ROW], 0, 0, 0, 0, 0);
    lanes->chance = _mm_setr_epi16((i16)*a, (i16)*b, (i16)*c, INT16_MIN, 0, 0, 0, 0);
    __m128i chance = _mm_unpacklo_epi16(lanes->chance, zero);
    __m128i other = _mm_unpacklo_epi16(_mm_xor_si128(lanes->chance, ones), zero);
    /* mix_log from float bits: exponent and mantissa are its parts; both logarithms in one
     * vector. */
    chance = _mm_castps_si128(_mm_cvtepi32_ps(chance));
    other = _mm_castps_si128(_mm_cvtepi32_ps(other));
    __m128i log = _mm_packs_epi32(_mm_srai_epi32(_mm_slli_epi32(chance, 3), 16),
                                  _mm_srai_epi32(_mm_slli_epi32(other, 3), 16));
    __m128i m = _mm_and_si128(log, _mm_set1_epi16(1023));
    __m128i bend = _mm_mulhi_epu16(_mm_mullo_epi16(m, _mm_set1_epi16(22)),
                                   _mm_sub_epi16(_mm_set1_epi16(1024), m));
    log = _mm_add_epi16(log, bend);
    __m128i odds = _mm_sub_epi16(log, _mm_shuffle_epi32(log, _MM_SHUFFLE(1, 0, 3, 2)));
    lanes->in = _mm_insert_epi16(_mm_mulhi_epi16(odds, _mm_set1_epi16(11357)), 256, MIX_INPUTS);
    __m128i dot = _mm_madd_epi16(lanes->in, _mm_setr_epi32((i32)pairs[0], (i32)pairs[1], 0, 0));
    dot = _mm_add_epi32(dot, _mm_shuffle_epi32(dot, _MM_SHUFFLE(2, 3, 0, 1)));
    return _mm_cvtsi128_si32(dot);
}

/* Moves weights and slots of the last mix_guess_vector towards `bit`. */
static inline void mix_learn_vector(const MixVector *lanes, MixSlot *const row[MIX_INPUTS],
                                    u32 slot, u32 pairs[2], u32 bit, i32 error)
{
    __m128i step = _mm_mulhi_epi16(_mm_slli_epi16(lanes->in, 3), _mm_set1_epi16((i16)error));
    step = _mm_srai_epi16(_mm_add_epi16(step, _mm_set1_epi16(1)), 1);
    __m128i w = _mm_adds_epi16(_mm_setr_epi32((i32)pairs[0], (i32)pairs[1], 0, 0), step);
    pairs[0] = (u32)_mm_cvtsi128_si32(w);
    pairs[1] = (u32)_mm_cvtsi128_si32(_mm_shuffle_epi32(w, 1));
    /* Complemented for a 1, so that it is handled like a 0: 65535 − v. */
    __m128i rotated = _mm_set1_epi16((i16)(0 - bit)), rate = lanes->rate;
    __m128i chance = _mm_xor_si128(lanes->chance, rotated);
    chance = _mm_sub_epi16(chance, _mm_mulhi_epu16(chance, rate));
    chance = _mm_xor_si128(chance, rotated);
    rate = _mm_sub_epi16(rate, _mm_mulhi_epu16(rate, rate));
    /* Rates are below 65536 − 300, so this is a maximum. */
    const __m128i least = _mm_set1_epi16(MIX_RATE_LAST);
    rate = _mm_add_epi16(_mm_subs_epu16(rate, least), least);
    for (u32 k = 0; k < MIX_INPUTS; k++) {
        row[k][slot] = (u16)((__v8hi)chance)[k];
        row[k][slot + MIX_ROW] = (u16)((__v8hi)rate)[k];
    }
}
#endif

/* ---- what callers use ---- */

/* Prepares a row for the next bits. */
static inline MixSlot *mix_take_row(Mix *mix, u32 row)
{
    size_t at = (size_t)row * 2 * MIX_ROW;
    if (mix->row_epoch[row] != mix->epoch) {
        mix->row_epoch[row] = mix->epoch;
        memcpy(mix->now.slots + at, mix->start->slots + at, 2 * MIX_ROW * sizeof *mix->now.slots);
    }
    return mix->now.slots + at;
}

/* Codes or decodes a bit, with the same slot (< MIX_ROW) of prepared rows. */
static inline u32 mix_bit(Mix *mix, MixSlot *const row[MIX_INPUTS], u32 slot, u32 set, u32 bit)
{
    u32 *low = mix->pairs + set, *high = low + mix->start->sets, pairs[2] = {*low, *high};
#if defined(__SSE2__) && !defined(MIX_SCALAR)
    MixVector lanes;
    i32 dot = mix_guess_vector(&lanes, row, slot, pairs) >> 13;
#else
    MixScalar lanes;
    i32 dot = mix_guess_scalar(&lanes, row, slot, pairs) >> 13;
#endif
    dot = dot > MIX_STRETCH_MAX ? MIX_STRETCH_MAX : dot < -MIX_STRETCH_MAX ? -MIX_STRETCH_MAX : dot;
    u32 p = mix->squash[dot + MIX_STRETCH_MAX + 1];
    bit = range_bit(&mix->coder, bit, p);
    i32 error = ((i32)(bit << 16) - (i32)p) * 3 >> 7;
#if defined(__SSE2__) && !defined(MIX_SCALAR)
    mix_learn_vector(&lanes, row, slot, pairs, bit, error);
#else
    mix_learn_scalar(&lanes, row, slot, pairs, bit, error);
#endif
    *low = pairs[0];
    *high = pairs[1];
    return bit;
}

#endif
