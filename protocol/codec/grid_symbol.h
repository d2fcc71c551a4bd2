/*
 * grid_symbol.h: the state of the grid codec, its contexts, and coding of bits and numbers. For
 * grid_code.c.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_GRID_SYMBOL_H
#define PLENUM_PROTOCOL_CODEC_GRID_SYMBOL_H

#include "protocol/codec/grid_block.h"
#include "protocol/codec/grid_fit.h"
#include "protocol/codec/mix_row.h"
#include "shared/base/check.h"

enum {
    INPUTS = 3,         /* contexts of a bit */
    PLANE_WEIGHTS = 32, /* of the filters for one channel and number of states */
    TIME_AT = 0,
    SPACE_AT = 16,
    BIT_LENGTHS = 32,
    ERROR_MAX = 32767,
    START_ONE = 2048,  /* of the starting filters in the tables */
    LEARNED_SHIFT = 4, /* adaptation rate in training */
    /* For both kinds, channels and all numbers of states. */
    FILTERS = 2 * GRID_CHANNELS * (GRID_STATES + 1),
    FILTER_SETS = FILTERS * PLANE_WEIGHTS / MIX_SET,
};

/* Kinds of symbols; each has INPUTS contexts. */
enum {
    KIND_SAME, /* is a chunk unchanged? */
    KIND_BASE, /* base of chunks without a known state */
    KIND_OWN,  /* are fitted filters transmitted? */
    KIND_WEIGHT,
    KIND_EMPTY, /* is a row of voxels all zero? */
    KIND_CELL,  /* four: channels of cells, of voxels */
    KIND_CHANGED = KIND_CELL + 4,
    KIND_SCALAR,
    KINDS
};

enum {
    SIZES = 24,  /* classes of errors */
    COARSE = 8,  /* coarser classes */
    PHASES = 4,  /* distance of the prediction from an integer */
    ROUGHS = 12, /* of the predicted picture */
    ROUGHS3 = 6,
    LEVELS = 4,
    SIGNED2 = 9,
    SIGNED3 = 5,
    VOXEL_SETS = 8, /* weight sets for each slot: by the expected error */
};

/* Number of contexts of each input of each kind. */
extern const u16 grid_contexts[KINDS][INPUTS];

/* Slots of a signed number in a row: whether its bit length exceeds i; the sign, and the first
 * bit below the top one, both by length. */
enum {
    SLOT_LONGER = 0, /* 10 */
    LONGER_MAX = 9,
    SLOT_SIGN = 10,  /* 3 */
    SLOT_FIRST = 13, /* 3 */
};

struct GridCodec {
    Mix mix;
    MixTables start; /* of an untrained codec */
    bool own;        /* start is owned */
    bool chained;    /* adaptation continues from one code to the next */
    bool trains;     /* so do the filters, slowly */
    u32 row[KINDS][INPUTS];
    MixSlot *rows[INPUTS]; /* rows of the next symbol */
    u32 set;               /* weight set of its first slot; 0: not mixed by weights */
    GridPlan plan;
    u32 known; /* number of known states */
    /* Of the span; [chunks] or [elements × channels], channel by channel. */
    u32 chunk_capacity, field_capacity;
    size_t element_capacity;
    GridBox *boxes;
    u32 *where; /* [chunks of the field] */
    u8 *same;
    i32 *bases;
    i32 *predicted; /* prediction in time, 16ths */
    i32 *seen;      /* the same, and 16 × the value of coded cells */
    i16 *errors;    /* 16ths */
    i32 filters[GRID_CHANNELS][PLANE_WEIGHTS];
    /* Features of the filter in space: offsets in a block. */
    i32 coded_at[GRID_SPACE_MAX], around_at[GRID_SPACE_MAX];
    u32 before, beside;
    GridBlock states[GRID_STATES], picture, coded, missed;
    GridFit fit;
};

/* ---- the span ---- */

static inline u32 grid_box_elements(const GridBox *box)
{
    return (u32)box->size[0] * box->size[1] * box->size[2];
}

/* A channel of a state in the plan's format, for reading as i32. */
static inline GridPicture grid_picture(const GridPlan *plan, const void *state, u32 channel)
{
    return (GridPicture){state, plan->kind == FIELD_GRID3 ? GRID_FROM_U8 : GRID_FROM_U16,
                         plan->channels, channel};
}

/* Element i of a state. */
static inline i32 grid_value(const GridPlan *plan, const void *state, size_t i)
{
    return plan->kind == FIELD_GRID3 ? ((const u8 *)state)[i] : ((const u16 *)state)[i];
}

/* Rim used by the filter in space. */
static inline u32 grid_space_rim(const GridPlan *plan)
{
    return plan->kind == FIELD_GRID3 ? 1 : 2;
}

/* Whether the chunk at this offset from the box is in the span. */
static inline bool grid_in_span(const GridPlan *plan, const GridBox *box, i32 x, i32 y, i32 z)
{
    i32 at[3] = {box->at[0] + x, box->at[1] + y, box->at[2] + z};
    for (u32 axis = 0; axis < 3; axis++) {
        if (at[axis] < 0 || at[axis] >= (i32)plan->across[axis]) {
            return false;
        }
    }
    u32 chunk = (u32)at[0] + plan->across[0] * ((u32)at[1] + plan->across[1] * (u32)at[2]);
    return plan->where[chunk] != UINT32_MAX;
}

/* ---- symbols ---- */

static inline void take(GridCodec *codec, u32 kind, const u32 context[INPUTS])
{
    for (u32 i = 0; i < INPUTS; i++) {
        VALIDATE(context[i] < grid_contexts[kind][i]);
        codec->rows[i] = mix_take_row(&codec->mix, codec->row[kind][i] + context[i]);
    }
    codec->set = 0;
}

/* Voxels are mixed by learned weights (mix.h); for all other symbols, which are less frequent,
 * the first context has double weight. */
static inline u32 code_bit(GridCodec *codec, u32 slot, u32 bit)
{
    if (codec->set != 0) {
        return mix_bit(&codec->mix, codec->rows, slot, codec->set + slot, bit);
    }
    u32 chance[MIX_INPUTS];
    for (u32 i = 0; i < MIX_INPUTS; i++) {
        chance[i] = codec->rows[i][slot];
    }
    u32 p = (2 * chance[0] + chance[1] + chance[2]) >> 2;
    bit = range_bit(&codec->mix.coder, bit, p);
    for (u32 i = 0; i < MIX_INPUTS; i++) {
        MixSlot *at = codec->rows[i] + slot;
        mix_learn_slot(at, chance[i], at[MIX_ROW], bit);
    }
    return bit;
}

/* Codes any i32 with the selected contexts, bit by bit. The first `n` bits of its length are
 * known to be set. */
i32 grid_code_bits(GridCodec *codec, i32 value, u32 n);

#if defined(MIX_WIDE)
/* The same with the probabilities of all bits computed at once, using the caller's copy of the
 * codec's coder. */
SIMD_INLINE i32 code_signed_as(GridCodec *codec, RangeCoder *coder, bool decoding, bool mixed,
                               i32 value)
{
    enum {
        KNOWN = 8 /* known bits of the length */
    };
    Mix *mix = &codec->mix;
    u32 size = i32_magnitude(value), length = u32_bit_length(size), n = 0, set = codec->set;
    union {
        u16 mean[MIX_ROW];
        u32 mixed[MIX_ROW];
    } p;
    MixSixteen all;
    __m256i chances = _mm256_setzero_si256();
    mix_load_rows(&all, codec->rows);
    if (mixed) {
        mix_guess_rows(mix, &all, set);
        chances = mix_squash_half(&all, 0);
        mix_store(p.mixed, chances);
    } else {
        mix_mean_rows(&all, p.mean);
    }
    while (n < KNOWN &&
           range_branch_as(coder, decoding, n < length, mixed ? p.mixed[n] : p.mean[n])) {
        n++;
    }
    u32 bits = (1u << n) - 1, used = (bits << 1 | 1) & 0xFF;
    if (mixed) {
        mix_learn_weights(mix, &all, 0, set, chances, used, bits);
    }
    if (n == 0) {
        mix_learn_rows(&all, codec->rows, used, bits);
        return 0;
    }
    if (n == KNOWN) {
        mix_learn_rows(&all, codec->rows, used, bits);
        mix->coder = *coder;
        value = grid_code_bits(codec, value, n);
        *coder = mix->coder;
        return value;
    }
    if (mixed) {
        chances = mix_squash_half(&all, 1);
        mix_store(p.mixed + MIX_ROW / 2, chances);
    }
    u32 sign = SLOT_SIGN + u32_min(n - 1, 2), left = n - 1, made = 1;
    u32 negative = range_bit_as(coder, decoding, value < 0, mixed ? p.mixed[sign] : p.mean[sign]);
    used |= 1u << sign;
    bits |= negative << sign;
    if (left > 0) {
        u32 first = SLOT_FIRST + u32_min(n - 2, 2);
        left--;
        u32 bit =
            range_bit_as(coder, decoding, size >> left & 1, mixed ? p.mixed[first] : p.mean[first]);
        made = made << 1 | bit;
        used |= 1u << first;
        bits |= bit << first;
    }
    if (mixed) {
        mix_learn_weights(mix, &all, 1, set, chances, used >> 8, bits >> 8);
    }
    mix_learn_rows(&all, codec->rows, used, bits);
    while (left > 0) {
        left--;
        made = made << 1 | range_bit_as(coder, decoding, size >> left & 1, 32768);
    }
    return (i32)(negative != 0 ? 0u - made : made);
}
#else
SIMD_INLINE i32 code_signed_as(GridCodec *codec, RangeCoder *coder, bool decoding, bool mixed,
                               i32 value)
{
    PL_UNUSED(decoding);
    PL_UNUSED(mixed);
    codec->mix.coder = *coder;
    value = grid_code_bits(codec, value, 0);
    *coder = codec->mix.coder;
    return value;
}
#endif

/* Codes any i32 with the selected contexts; returns it. */
static inline i32 code_signed(GridCodec *codec, i32 value)
{
    return grid_code_bits(codec, value, 0);
}

/* Bits of v, at most `most`: the class of a magnitude. */
static inline u32 logarithm(u32 v, u32 most)
{
    return u32_min(u32_bit_length(v), most);
}

/* Half octaves: 0, 1, 2, 3, 4..5, 6..7, 8..11, ... Branch-free, since branches would be
 * unpredictable. */
static inline u32 half_octaves(u32 v, u32 most)
{
    u32 less = v < 2 ? 2 : 0, n = 32 - (u32)__builtin_clz(v + less);
    return u32_min(2 * n - 2 + ((v + less) >> (n - 2) & 1) - less, most);
}

/* 0..2 × half: sign and magnitude class. */
static inline u32 signed_class(i32 v, u32 half, u32 shift)
{
    u32 n = u32_min((u32_bit_length(i32_magnitude(v) >> shift) + 1) / 2, half),
        sign = (u32)(v >> 31);
    return half + ((n ^ sign) - sign);
}

/* Codes or decodes `count` scalars. */
void grid_code_scalars(GridCodec *codec, const GridSpan *span, u32 *now, u32 count);

#endif
