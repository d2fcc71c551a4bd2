/*
 * grid_symbol.h: the state of the grid codec, its contexts, and how a bit and a number are coded.
 * For grid_code.c.
 * Layer: protocol.
 */
#ifndef PLENUM_PROTOCOL_GRID_SYMBOL_H
#define PLENUM_PROTOCOL_GRID_SYMBOL_H

#include "protocol/grid_block.h"
#include "protocol/grid_fit.h"
#include "protocol/mix_three.h"
#include "shared/check.h"

enum {
    INPUTS = 3,         /* contexts of a bit */
    PLANE_WEIGHTS = 32, /* of the filters of a channel and a number of states */
    TIME_AT = 0,
    SPACE_AT = 16,
    BIT_LENGTHS = 32,
    ERROR_MAX = 32767,
    START_ONE = 2048,  /* of the starting filters in the tables */
    LEARNED_SHIFT = 4, /* how fast they follow in training */
    RATE_LAST = 300,   /* slower a context does not learn, 65536ths */
    /* Of both kinds, channels and all numbers of states. */
    FILTERS = 2 * GRID_CHANNELS * (GRID_STATES + 1),
    FILTER_SETS = FILTERS * PLANE_WEIGHTS / MIX_LANES,
};

/* Kinds of symbols; each has INPUTS contexts of its own. */
enum {
    KIND_SAME, /* is a chunk as it was? */
    KIND_BASE, /* of chunks of which no state is known */
    KIND_OWN,  /* are the filters sent? */
    KIND_WEIGHT,
    KIND_EMPTY, /* is a row of voxels all zero? */
    KIND_CELL,  /* four: channels of cells, of voxels */
    KIND_CHANGED = KIND_CELL + 4,
    KIND_SCALAR,
    KINDS
};

enum {
    SIZES = 24,  /* of errors */
    COARSE = 8,  /* the same, coarsely */
    PHASES = 4,  /* distance of what is foretold from a whole number */
    ROUGHS = 12, /* of the foretold picture */
    ROUGHS3 = 6,
    LEVELS = 4,
    SIGNED2 = 9,
    SIGNED3 = 5,
    VOXEL_SETS = 8, /* of weights for each slot: by the expected size of the error */
};

/* How many contexts each input of each kind has. */
extern const u16 grid_contexts[KINDS][INPUTS];

/* Slots of a signed number in a row: is its bit length more than i, the sign and the first bit
 * below the top one, both by length. */
enum {
    SLOT_LONGER = 0, /* 10 */
    LONGER_MAX = 9,
    SLOT_SIGN = 10,  /* 3 */
    SLOT_FIRST = 13, /* 3 */
};

struct GridCodec {
    Mix mix;
    MixTables start;  /* of a codec that starts from nothing, or learns */
    bool own, learns; /* start is ours */
    u32 row[KINDS][INPUTS];
    MixSlot *rows[INPUTS]; /* of the coming symbol */
    u32 set;               /* weights of its first slot; 0: it is not mixed by weights */
    GridPlan plan;
    u32 known; /* states */
    /* Of the span; [chunks] or [elements × channels], a channel after the other. */
    u32 chunk_room, field_room;
    size_t element_room;
    GridBox *boxes;
    u32 *where; /* [chunks of the field] */
    u8 *same;
    i32 *bases;
    i32 *foretold; /* in time, 16ths */
    i32 *seen;     /* the same, and 16 × the value of what is coded */
    i16 *errors;   /* 16ths */
    i32 filters[GRID_CHANNELS][PLANE_WEIGHTS];
    GridBlock states[GRID_STATES], picture, coded, missed;
    GridFit fit;
};

/* ---- symbols ---- */

static inline void take(GridCodec *codec, u32 kind, const u32 context[INPUTS])
{
    for (u32 i = 0; i < INPUTS; i++) {
        VALIDATE(context[i] < grid_contexts[kind][i]);
        codec->rows[i] = mix_take_row(&codec->mix, codec->row[kind][i] + context[i]);
    }
    codec->set = 0;
}

/* Voxels are mixed by learned weights (mix_three.h); of all else, of which there is more or less,
 * the first context counts for two. */
static inline u32 code_bit(GridCodec *codec, u32 slot, u32 bit)
{
    if (codec->set != 0) {
        return mix_three_bit(&codec->mix, codec->rows, slot, codec->set + slot, bit);
    }
    MixSlot *at[INPUTS] = {codec->rows[0] + slot, codec->rows[1] + slot, codec->rows[2] + slot};
    u32 p = (2u * at[0]->chance + at[1]->chance + at[2]->chance) >> 2;
    bit = range_bit(&codec->mix.coder, bit, p);
    u32 turned = (0u - bit) & 65535u; /* towards 1 as towards 0, with all bits turned round */
    for (u32 i = 0; i < INPUTS; i++) {
        u32 chance = at[i]->chance ^ turned, rate = at[i]->rate;
        at[i]->chance = (u16)((chance - (chance * rate >> 16)) ^ turned);
        u32 next = rate - (rate * rate >> 16);
        at[i]->rate = (u16)(next < RATE_LAST ? RATE_LAST : next);
    }
    return bit;
}

static inline u32 bit_length(u32 v)
{
    return v == 0 ? 0 : 32 - (u32)__builtin_clz(v);
}

static inline u32 size_of(i32 v)
{
    return v < 0 ? 0u - (u32)v : (u32)v;
}

/* Any i32 by the contexts that were taken. */
static inline i32 code_signed(GridCodec *codec, i32 value)
{
    u32 size = size_of(value), length = bit_length(size), n = 0;
    for (; n < BIT_LENGTHS; n++) {
        if (code_bit(codec, SLOT_LONGER + u32_min(n, LONGER_MAX), n < length) == 0) {
            break;
        }
    }
    if (n == 0) {
        return 0;
    }
    u32 negative = code_bit(codec, SLOT_SIGN + u32_min(n - 1, 2), value < 0);
    u32 made = 1, left = n - 1;
    if (left > 0) {
        left--;
        made = made << 1 | code_bit(codec, SLOT_FIRST + u32_min(n - 2, 2), size >> left & 1);
    }
    if (left > 0) {
        made = made << left | range_bits(&codec->mix.coder, size & ((1u << left) - 1), left);
    }
    return (i32)(negative != 0 ? 0u - made : made);
}

static inline u32 logarithm(u32 v, u32 most)
{
    return u32_min(bit_length(v), most);
}

/* Half octaves: 0, 1, 2, 3, 4..5, 6..7, 8..11, ... */
static inline u32 half_octaves(u32 v, u32 most)
{
    if (v < 4) {
        return v;
    }
    u32 n = bit_length(v);
    return u32_min(2 * n - 2 + (v >> (n - 2) & 1), most);
}

/* 0..2 × half: sign and size. */
static inline u32 signed_class(i32 v, u32 half, u32 shift)
{
    u32 n = u32_min((bit_length(size_of(v) >> shift) + 1) / 2, half);
    return v < 0 ? half - n : half + n;
}

/* Codes `count` scalars, or writes them. */
void grid_code_scalars(GridCodec *codec, const GridSpan *span, u32 *now, u32 count);

#endif
