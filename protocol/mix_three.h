/*
 * mix_three.h: mix.h for three contexts instead of seven, in four lanes: for models whose time is
 * scarce. The same slots, tables and arithmetic; of a set of weights only the first four count, the
 * last of them for the constant. Layer: protocol.
 */
#ifndef PLENUM_PROTOCOL_MIX_THREE_H
#define PLENUM_PROTOCOL_MIX_THREE_H

#include "protocol/mix.h"

enum {
    MIX_THREE = 3,
    MIX_THREE_LANES = 4,
};

/* What is used of a bit's slots between its guess and what is learned from it. */
typedef struct MixThreePlain {
    u16 chance[MIX_THREE_LANES], rate[MIX_THREE_LANES];
    i16 in[MIX_THREE_LANES];
} MixThreePlain;

static inline i32 mix_three_guess_plain(MixThreePlain *lanes, MixSlot *const row[MIX_THREE],
                                        u32 slot, const i16 weights[MIX_THREE_LANES])
{
    i32 dot = 0;
    for (u32 k = 0; k < MIX_THREE; k++) {
        lanes->chance[k] = row[k][slot].chance;
        lanes->rate[k] = row[k][slot].rate;
        i32 odds = mix_log(lanes->chance[k]) - mix_log(65535u - lanes->chance[k]);
        lanes->in[k] = (i16)(odds * 11357 >> 16);
    }
    lanes->in[MIX_THREE] = 256;
    for (u32 k = 0; k < MIX_THREE_LANES; k++) {
        dot += lanes->in[k] * weights[k];
    }
    return dot;
}

/* error: 1536 × (bit − p). */
static inline void mix_three_learn_plain(const MixThreePlain *lanes, MixSlot *const row[MIX_THREE],
                                         u32 slot, i16 weights[MIX_THREE_LANES], u32 bit, i32 error)
{
    for (u32 k = 0; k < MIX_THREE_LANES; k++) {
        i32 step = (lanes->in[k] * 8 * error >> 16) + 1;
        i32 w = weights[k] + (step >> 1);
        weights[k] = (i16)(w > INT16_MAX ? INT16_MAX : w < INT16_MIN ? INT16_MIN : w);
    }
    for (u32 k = 0; k < MIX_THREE; k++) {
        u32 chance = lanes->chance[k], rate = lanes->rate[k];
        chance =
            bit != 0 ? chance + ((65535u - chance) * rate >> 16) : chance - (chance * rate >> 16);
        u32 next = rate - (rate * rate >> 16);
        row[k][slot] = (MixSlot){(u16)chance, (u16)(next < MIX_RATE_LAST ? MIX_RATE_LAST : next)};
    }
}

#if defined(__SSE2__)
typedef struct MixThreeVector {
    __m128i chance, rate, in; /* in the lower four of eight lanes */
} MixThreeVector;

static inline i32 mix_three_load(const MixSlot *slot)
{
    i32 v;
    memcpy(&v, slot, sizeof v);
    return v;
}

static inline i32 mix_three_guess_vector(MixThreeVector *lanes, MixSlot *const row[MIX_THREE],
                                         u32 slot, const i16 weights[MIX_THREE_LANES])
{
    const __m128i low = _mm_set1_epi32(0xFFFF), zero = _mm_setzero_si128();
    __m128i v = _mm_setr_epi32(mix_three_load(row[0] + slot), mix_three_load(row[1] + slot),
                               mix_three_load(row[2] + slot), 32768);
    __m128i chance = _mm_and_si128(v, low), other = _mm_xor_si128(chance, low);
    lanes->rate = _mm_packs_epi32(_mm_srai_epi32(v, 16), zero);
    /* As in mix_low_halves and mix_logs, both logarithms in one vector. */
    lanes->chance = _mm_packs_epi32(_mm_srai_epi32(_mm_slli_epi32(v, 16), 16), zero);
    chance = _mm_castps_si128(_mm_cvtepi32_ps(chance));
    other = _mm_castps_si128(_mm_cvtepi32_ps(other));
    __m128i log = _mm_packs_epi32(_mm_srai_epi32(_mm_slli_epi32(chance, 3), 16),
                                  _mm_srai_epi32(_mm_slli_epi32(other, 3), 16));
    __m128i m = _mm_and_si128(log, _mm_set1_epi16(1023));
    __m128i bend = _mm_mulhi_epu16(_mm_mullo_epi16(m, _mm_set1_epi16(22)),
                                   _mm_sub_epi16(_mm_set1_epi16(1024), m));
    log = _mm_add_epi16(log, bend);
    __m128i odds = _mm_sub_epi16(log, _mm_shuffle_epi32(log, _MM_SHUFFLE(1, 0, 3, 2)));
    lanes->in = _mm_insert_epi16(_mm_mulhi_epi16(odds, _mm_set1_epi16(11357)), 256, MIX_THREE);
    __m128i w = _mm_loadl_epi64((const __m128i *)(const void *)weights);
    __m128i dot = _mm_madd_epi16(lanes->in, w);
    dot = _mm_add_epi32(dot, _mm_shuffle_epi32(dot, _MM_SHUFFLE(2, 3, 0, 1)));
    return _mm_cvtsi128_si32(dot);
}

static inline void mix_three_learn_vector(const MixThreeVector *lanes,
                                          MixSlot *const row[MIX_THREE], u32 slot,
                                          i16 weights[MIX_THREE_LANES], u32 bit, i32 error)
{
    __m128i *at = (__m128i *)(void *)weights;
    __m128i step = _mm_mulhi_epi16(_mm_slli_epi16(lanes->in, 3), _mm_set1_epi16((i16)error));
    step = _mm_srai_epi16(_mm_add_epi16(step, _mm_set1_epi16(1)), 1);
    _mm_storel_epi64(at, _mm_adds_epi16(_mm_loadl_epi64(at), step));
    /* Towards 1 as towards 0, with all bits turned round: 65535 − v. */
    __m128i turned = _mm_set1_epi16((i16)(0 - bit)), rate = lanes->rate;
    __m128i chance = _mm_xor_si128(lanes->chance, turned);
    chance = _mm_sub_epi16(chance, _mm_mulhi_epu16(chance, rate));
    chance = _mm_xor_si128(chance, turned);
    rate = _mm_sub_epi16(rate, _mm_mulhi_epu16(rate, rate));
    const __m128i least = _mm_set1_epi16(MIX_RATE_LAST);
    rate = _mm_add_epi16(_mm_subs_epu16(rate, least), least); /* the greater one */
    __m128i v = _mm_unpacklo_epi16(chance, rate);
    for (u32 k = 0; k < MIX_THREE; k++) {
        i32 made = ((__v4si)v)[k];
        memcpy(row[k] + slot, &made, sizeof made);
    }
}
#endif

/* The weights of all sets as in the starting tables: after mix_reset. */
static inline void mix_three_reset(Mix *mix)
{
    const MixTables *start = mix->start;
    memcpy(mix->now.weights, start->weights,
           (size_t)start->sets * MIX_LANES * sizeof *start->weights);
}

/* Codes or decodes a bit, from the same slot (< MIX_ROW) of rows that were taken. */
static inline u32 mix_three_bit(Mix *mix, MixSlot *const row[MIX_THREE], u32 slot, u32 set, u32 bit)
{
    i16 *weights = mix->now.weights + (size_t)set * MIX_LANES;
#if defined(__SSE2__) && !defined(MIX_PLAIN)
    MixThreeVector lanes;
    i32 dot = mix_three_guess_vector(&lanes, row, slot, weights) >> 13;
#else
    MixThreePlain lanes;
    i32 dot = mix_three_guess_plain(&lanes, row, slot, weights) >> 13;
#endif
    dot = dot > MIX_STRETCH_MAX ? MIX_STRETCH_MAX : dot < -MIX_STRETCH_MAX ? -MIX_STRETCH_MAX : dot;
    u32 p = mix->squash[dot + MIX_STRETCH_MAX + 1];
    bit = range_bit(&mix->coder, bit, p);
    i32 error = ((i32)(bit << 16) - (i32)p) * 3 >> 7;
#if defined(__SSE2__) && !defined(MIX_PLAIN)
    mix_three_learn_vector(&lanes, row, slot, weights, bit, error);
#else
    mix_three_learn_plain(&lanes, row, slot, weights, bit, error);
#endif
    return bit;
}

#endif
