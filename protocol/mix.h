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
#include "shared/simd.h"

enum {
    MIX_INPUTS = 7, /* contexts of a bit; the eighth lane is a constant */
    MIX_LANES = 8,
    MIX_ROW = 32, /* slots that belong to one context */
    MIX_COUNT_MAX = 1023,
};

typedef struct MixSlot {
    u16 chance; /* of 1, in 65536ths */
    u16 count;  /* times used, ≤ MIX_COUNT_MAX */
} MixSlot;

/* Adaptive probabilities and how often each was used, and the weights of the mix. */
typedef struct MixTables {
    u32 rows, sets;
    MixSlot *slots; /* [rows × MIX_ROW] */
    i32 *weights;   /* [sets × MIX_LANES] 1 = 65536, 32-byte aligned */
} MixTables;

typedef struct Mix {
    RangeCoder coder;
    const MixTables *start; /* borrowed */
    MixTables now;
    u32 *row_epoch; /* [rows] packet in which the row was last taken from start */
    u32 *set_epoch; /* [sets] */
    u32 epoch;
    i16 stretch[4096];           /* ln(p / (1 − p)) in 256ths for p in 4096ths */
    u32 rate[MIX_COUNT_MAX + 1]; /* of learning, in 65536ths, by count */
} Mix;

bool mix_tables_create(MixTables *tables, u32 rows, u32 sets);
void mix_tables_destroy(MixTables *tables);
void mix_tables_copy(MixTables *to, const MixTables *from);

/* `start` must outlive the mix. False: no memory (destroy is then harmless). */
bool mix_create(Mix *mix, const MixTables *start);
void mix_destroy(Mix *mix);
/* Everything is as in the starting tables again. The coder is the caller's to begin. */
void mix_reset(Mix *mix);

/* ---- inline, for speed ---- */

enum {
    MIX_STRETCH_MAX = 2047, /* 8 in units of 1/256 */
    MIX_LEARNING = 6,
    MIX_LEARNING_SHIFT = 14,
    MIX_CHANCE_MIN = 32,
};

/* 65536 / (1 + exp(−x)) for x = −8, −7.5, ..., 8. */
static const u16 mix_logistic[33] = {22,    36,    60,    98,    162,   267,   439,   720,   1179,
                                     1921,  3108,  4971,  7812,  11955, 17625, 24743, 32768, 40793,
                                     47911, 53581, 57724, 60565, 62428, 63615, 64357, 64816, 65097,
                                     65269, 65374, 65438, 65476, 65500, 65514};

static inline u32 mix_squash(i32 x)
{
    u32 at = (u32)(x + 2048), i = at >> 7, part = at & 127;
    return (mix_logistic[i] * (128 - part) + mix_logistic[i + 1] * part) >> 7;
}

/* A row that the coming bits use. */
static inline void mix_take_row(Mix *mix, u32 row)
{
    if (mix->row_epoch[row] == mix->epoch) {
        return;
    }
    mix->row_epoch[row] = mix->epoch;
    size_t at = (size_t)row * MIX_ROW;
    memcpy(mix->now.slots + at, mix->start->slots + at, MIX_ROW * sizeof *mix->now.slots);
}

static inline i32 mix_sum_lanes(i32x8 v)
{
    v += __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3);
    v += __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5);
    v += __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6);
    return v[0];
}

/* Codes or decodes a bit: slots[MIX_INPUTS] are row × MIX_ROW + slot of rows that were taken. */
static inline u32 mix_bit(Mix *mix, const u32 slots[MIX_INPUTS], u32 set, u32 bit)
{
    MixSlot *all = mix->now.slots;
    i32 *weights = mix->now.weights + (size_t)set * MIX_LANES;
    if (mix->set_epoch[set] != mix->epoch) {
        mix->set_epoch[set] = mix->epoch;
        memcpy(weights, mix->start->weights + (size_t)set * MIX_LANES, MIX_LANES * sizeof(i32));
    }
    i32x8 in = {mix->stretch[all[slots[0]].chance >> 4], mix->stretch[all[slots[1]].chance >> 4],
                mix->stretch[all[slots[2]].chance >> 4], mix->stretch[all[slots[3]].chance >> 4],
                mix->stretch[all[slots[4]].chance >> 4], mix->stretch[all[slots[5]].chance >> 4],
                mix->stretch[all[slots[6]].chance >> 4], 256};
    i32x8 w = *(const i32x8 *)(const void *)weights;
    /* Weights stay within ±4 (2^18), inputs within 2^11: sums of eight fit after a shift by 4. */
    i32 dot = mix_sum_lanes((w >> 4) * in) >> 12;
    dot = dot > MIX_STRETCH_MAX ? MIX_STRETCH_MAX : dot < -MIX_STRETCH_MAX ? -MIX_STRETCH_MAX : dot;
    u32 p = mix_squash(dot);
    bit = range_bit(&mix->coder, bit, p);

    i32 error = (((i32)(bit << 16) - (i32)p) >> 4) * MIX_LEARNING;
    w += (in * error + (1 << (MIX_LEARNING_SHIFT - 1))) >> MIX_LEARNING_SHIFT;
    const i32 limit = 4 << 16;
    i32x8 above = w > limit, below = w < -limit;
    w = (above & limit) | (below & -limit) | (~(above | below) & w);
    *(i32x8 *)(void *)weights = w;
    for (u32 k = 0; k < MIX_INPUTS; k++) {
        MixSlot *slot = &all[slots[k]];
        u32 n = slot->count, old = slot->chance;
        u32 rate = mix->rate[n];
        u32 next = bit != 0 ? old + (((65535 - old) * rate) >> 16) : old - ((old * rate) >> 16);
        slot->chance = (u16)(next < MIX_CHANCE_MIN           ? MIX_CHANCE_MIN
                             : next > 65535 - MIX_CHANCE_MIN ? 65535 - MIX_CHANCE_MIN
                                                             : next);
        slot->count = (u16)(n + (n < MIX_COUNT_MAX));
    }
    return bit;
}

#endif
