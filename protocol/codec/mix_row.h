/*
 * mix_row.h: the probabilities of all bits of a symbol before its first bit is known: the sixteen
 * slots of three rows at once. No slot of a symbol depends on its other bits, so a decoder need not
 * wait for one bit before it works on the next, and the update is one step. Only with AVX2
 * (MIX_WIDE); bit-identical to the sequential code (a test compares them).
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_MIX_ROW_H
#define PLENUM_PROTOCOL_CODEC_MIX_ROW_H

#include "protocol/codec/mix.h"
#include "shared/math/simd.h"

#if defined(__AVX2__) && !defined(MIX_SCALAR)
#define MIX_WIDE 1

/* The logistic function minus 32768: an entry in the low half, the next one in the high half. */
extern const u32 mix_logistic_pairs[32];

/* Values kept between prediction and update. One of sixteen lanes per slot. */
typedef struct MixSixteen {
    __m256i chance[MIX_INPUTS], rate[MIX_INPUTS];
    __m256i in[2][2]; /* of slots 0..7 and 8..15: pairs as those of the weights */
    __m256i dot[2];   /* of these */
} MixSixteen;

/* Sixteen 16-bit numbers of any alignment. */
SIMD_INLINE __m256i mix_load(const void *at)
{
    return _mm256_loadu_si256((const __m256i *)at);
}

/* Sixteen 16-bit numbers of any alignment. */
SIMD_INLINE void mix_store(void *at, __m256i v)
{
    _mm256_storeu_si256((__m256i *)at, v);
}

/* The chances and rates of sixteen slots of each row. */
SIMD_INLINE void mix_load_rows(MixSixteen *all, MixSlot *const row[MIX_INPUTS])
{
    for (u32 k = 0; k < MIX_INPUTS; k++) {
        all->chance[k] = mix_load(row[k]);
        all->rate[k] = mix_load(row[k] + MIX_ROW);
    }
}

/* (a + b) / 2, rounded down. */
SIMD_INLINE __m256i mix_mean(__m256i a, __m256i b)
{
    return _mm256_add_epi16(_mm256_and_si256(a, b), _mm256_srli_epi16(_mm256_xor_si256(a, b), 1));
}

/* Unweighted probabilities: the first context has double weight. */
SIMD_INLINE void mix_mean_rows(const MixSixteen *all, u16 p[MIX_ROW])
{
    mix_store(p, mix_mean(all->chance[0], mix_mean(all->chance[1], all->chance[2])));
}

/* mix_log from float bits: exponent and mantissa are its parts. */
SIMD_INLINE __m256i mix_logs(__m256i v)
{
    __m256i zero = _mm256_setzero_si256();
    __m256i low = _mm256_castps_si256(_mm256_cvtepi32_ps(_mm256_unpacklo_epi16(v, zero)));
    __m256i high = _mm256_castps_si256(_mm256_cvtepi32_ps(_mm256_unpackhi_epi16(v, zero)));
    low = _mm256_srai_epi32(_mm256_slli_epi32(low, 3), 16);
    high = _mm256_srai_epi32(_mm256_slli_epi32(high, 3), 16);
    __m256i log = _mm256_packs_epi32(low, high);
    __m256i m = _mm256_and_si256(log, _mm256_set1_epi16(1023));
    __m256i bend = _mm256_mulhi_epu16(_mm256_mullo_epi16(m, _mm256_set1_epi16(22)),
                                      _mm256_sub_epi16(_mm256_set1_epi16(1024), m));
    return _mm256_add_epi16(log, bend);
}

/* ln(p / (1 − p)) in 256ths; slots 0..3, 8..11, 4..7, 12..15. */
SIMD_INLINE __m256i mix_stretch(__m256i chance)
{
    __m256i other = _mm256_xor_si256(chance, _mm256_set1_epi16(-1));
    __m256i odds = _mm256_sub_epi16(mix_logs(chance), mix_logs(other));
    odds = _mm256_mulhi_epi16(odds, _mm256_set1_epi16(11357));
    return _mm256_permute4x64_epi64(odds, _MM_SHUFFLE(3, 1, 2, 0));
}

/* Inputs and dot products, with the weights of the sixteen sets from `set` on. */
SIMD_INLINE void mix_guess_rows(const Mix *mix, MixSixteen *all, u32 set)
{
    __m256i a = mix_stretch(all->chance[0]), b = mix_stretch(all->chance[1]);
    __m256i c = mix_stretch(all->chance[2]), one = _mm256_set1_epi16(256);
    const u32 *weights = mix->pairs + set, *others = weights + mix->start->sets;
    all->in[0][0] = _mm256_unpacklo_epi16(a, b);
    all->in[0][1] = _mm256_unpacklo_epi16(c, one);
    all->in[1][0] = _mm256_unpackhi_epi16(a, b);
    all->in[1][1] = _mm256_unpackhi_epi16(c, one);
    for (u32 half = 0; half < 2; half++) {
        __m256i first = _mm256_madd_epi16(all->in[half][0], mix_load(weights + 8 * half));
        __m256i second = _mm256_madd_epi16(all->in[half][1], mix_load(others + 8 * half));
        all->dot[half] = _mm256_add_epi32(first, second);
    }
}

/* The probabilities of slots 0..7 (half 0) or 8..15 in 32-bit lanes. */
SIMD_INLINE __m256i mix_squash_half(const MixSixteen *all, u32 half)
{
    __m256i x = _mm256_srai_epi32(all->dot[half], 13), found[4];
    x = _mm256_min_epi32(x, _mm256_set1_epi32(MIX_STRETCH_MAX));
    x = _mm256_max_epi32(x, _mm256_set1_epi32(-MIX_STRETCH_MAX));
    x = _mm256_add_epi32(x, _mm256_set1_epi32(MIX_STRETCH_MAX + 1));
    __m256i at = _mm256_srli_epi32(x, 7), part = _mm256_and_si256(x, _mm256_set1_epi32(127));
    for (u32 i = 0; i < 4; i++) {
        found[i] = _mm256_permutevar8x32_epi32(mix_load(mix_logistic_pairs + 8 * i), at);
    }
    __m256 odd = _mm256_castsi256_ps(_mm256_slli_epi32(at, 28));
    __m256 upper = _mm256_castsi256_ps(_mm256_slli_epi32(at, 27));
    __m256 low =
        _mm256_blendv_ps(_mm256_castsi256_ps(found[0]), _mm256_castsi256_ps(found[1]), odd);
    __m256 high =
        _mm256_blendv_ps(_mm256_castsi256_ps(found[2]), _mm256_castsi256_ps(found[3]), odd);
    __m256i ends = _mm256_castps_si256(_mm256_blendv_ps(low, high, upper));
    __m256i parts = _mm256_or_si256(_mm256_sub_epi32(_mm256_set1_epi32(128), part),
                                    _mm256_slli_epi32(part, 16));
    __m256i sum = _mm256_madd_epi16(ends, parts);
    return _mm256_srli_epi32(_mm256_add_epi32(sum, _mm256_set1_epi32(32768 << 7)), 7);
}

/* All ones in the lanes whose bit is set in the mask. */
SIMD_INLINE __m256i mix_lanes_of(u32 mask)
{
    const __m256i bit = _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096,
                                          8192, 16384, INT16_MIN);
    return _mm256_cmpeq_epi16(_mm256_and_si256(_mm256_set1_epi16((i16)mask), bit), bit);
}

/* All bits of lane k where bit k of the mask (8 bits) is set. */
SIMD_INLINE __m256i mix_lanes_of_half(u32 mask)
{
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((i32)mask), bit), bit);
}

/* Updates the slots; used, bits: which of them were coded, and which of these were 1. */
SIMD_INLINE void mix_learn_rows(const MixSixteen *all, MixSlot *const row[MIX_INPUTS], u32 used,
                                u32 bits)
{
    /* Complemented for a 1, so that it is handled like a 0. */
    __m256i rotated = mix_lanes_of(bits), mask = mix_lanes_of(used);
    for (u32 k = 0; k < MIX_INPUTS; k++) {
        __m256i rate = _mm256_and_si256(all->rate[k], mask), chance = all->chance[k];
        chance = _mm256_xor_si256(chance, rotated);
        chance = _mm256_sub_epi16(chance, _mm256_mulhi_epu16(chance, rate));
        mix_store(row[k], _mm256_xor_si256(chance, rotated));
        /* All rates are at least MIX_RATE_LAST. */
        rate = _mm256_sub_epi16(all->rate[k], _mm256_mulhi_epu16(rate, rate));
        rate = _mm256_max_epu16(rate, _mm256_set1_epi16(MIX_RATE_LAST));
        mix_store(row[k] + MIX_ROW, rate);
    }
}

/* Updates the weights of slots 0..7 (half 0) or 8..15 with probabilities p; used, bits: the
 * first slot is the lowest bit of the half. */
SIMD_INLINE void mix_learn_weights(Mix *mix, const MixSixteen *all, u32 half, u32 set, __m256i p,
                                   u32 used, u32 bits)
{
    __m256i one = _mm256_set1_epi32(65536), ones = mix_lanes_of_half(bits);
    __m256i error = _mm256_sub_epi32(_mm256_and_si256(ones, one), p);
    error = _mm256_srai_epi32(_mm256_add_epi32(_mm256_add_epi32(error, error), error), 7);
    error = _mm256_and_si256(error, mix_lanes_of_half(used)); /* no error, no step */
    error = _mm256_or_si256(_mm256_and_si256(error, _mm256_set1_epi32(0xFFFF)),
                            _mm256_slli_epi32(error, 16));
    for (u32 k = 0; k < 2; k++) {
        u32 *at = mix->pairs + (size_t)k * mix->start->sets + set + 8 * half;
        __m256i step = _mm256_mulhi_epi16(_mm256_slli_epi16(all->in[half][k], 3), error);
        step = _mm256_srai_epi16(_mm256_add_epi16(step, _mm256_set1_epi16(1)), 1);
        mix_store(at, _mm256_adds_epi16(mix_load(at), step));
    }
}
#endif

#endif
