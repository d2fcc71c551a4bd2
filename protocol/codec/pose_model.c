/* pose_model.c: see pose_model.h. */
#include "protocol/codec/pose_model.h"

#include "protocol/codec/mix_row.h"
#include "protocol/codec/pose_code.h"
#include "protocol/codec/rotation.h"

/* ---- tables ---- */

const u16 pose_contexts[KINDS][MIX_INPUTS] = {
    [KIND_CALM] = {264, 352, 1024},  [KIND_CHANGED] = {128, 2048, 384},
    [KIND_FLAGS] = {64, 128, 256},   [KIND_MOVED] = {64, 128, 256},
    [KIND_FLAG] = {8, 512, 512},     [KIND_POSITION] = {300, 1040, 1352},
    [KIND_LARGEST] = {100, 40, 320}, [KIND_ROTATION] = {1000, 256, 416},
};
const u8 pose_context_slots[KINDS] = {1, 1, 1, 1, 1, MIX_ROW, 4, MIX_ROW};
/* Number of weight sets of each kind. */
static const u16 kind_sets[KINDS] = {1, 8, 4, 4, 8, 3 * MIX_ROW, 4, 3 * MIX_ROW};

enum {
    BIT_LENGTHS = 31
};

/* Slots of a signed number in a row: whether its bit length exceeds i (0..7), the sign, the
 * first bit below the top one by length, the second by length and the first. */
enum {
    SLOT_LONGER = 0,
    LONGER_MAX = 7,
    SLOT_SIGN = 8,
    SLOT_FIRST = 9,
    SLOT_SECOND = 13,
};

static u32 kind_rows(u32 kind, u32 input)
{
    return (pose_contexts[kind][input] * pose_context_slots[kind] + MIX_ROW - 1) / MIX_ROW;
}

void pose_codec_sizes(u32 *rows, u32 *sets)
{
    *rows = *sets = 0;
    for (u32 kind = 0; kind < KINDS; kind++) {
        *sets += kind_sets[kind];
        for (u32 i = 0; i < MIX_INPUTS; i++) {
            *rows += kind_rows(kind, i);
        }
    }
}

bool pose_model_create(PoseModel *model, const MixTables *start)
{
    u32 rows, sets, row = 0, set = 0;
    pose_codec_sizes(&rows, &sets);
    CHECK(start == NULL || (start->rows == rows && start->sets == sets));
    *model = (PoseModel){.own = start == NULL};
    if ((model->own && !mix_tables_create(&model->start, rows, sets)) ||
        !mix_create(&model->mix, model->own ? &model->start : start)) {
        pose_model_destroy(model);
        return false;
    }
    for (u32 kind = 0; kind < KINDS; kind++) {
        model->set[kind] = set;
        set += kind_sets[kind];
        for (u32 i = 0; i < MIX_INPUTS; i++) {
            model->row[kind][i] = row;
            row += kind_rows(kind, i);
        }
    }
    return true;
}

void pose_model_destroy(PoseModel *model)
{
    mix_destroy(&model->mix);
    mix_tables_destroy(&model->start);
}

/* ---- numbers ---- */

/* A signed number of up to 31 bits, bit by bit; each `lane` (0..2) has its own weights. The
 * first `n` bits of its length are known to be set. */
static i32 code_bits(PoseModel *model, u32 kind, u32 lane, i32 value, u32 n)
{
    u32 set = lane * MIX_ROW, size = i32_magnitude(value), length = u32_bit_length(size);
    for (; n < BIT_LENGTHS; n++) {
        u32 slot = SLOT_LONGER + u32_min(n, LONGER_MAX);
        if (code_bit(model, kind, slot, set + slot, n < length) == 0) {
            break;
        }
    }
    if (n == 0) {
        return 0;
    }
    u32 negative = code_bit(model, kind, SLOT_SIGN, set + SLOT_SIGN, value < 0);
    u32 made = 1, left = n - 1;
    if (left > 0) {
        u32 slot = SLOT_FIRST + u32_min(n - 2, SLOT_SECOND - SLOT_FIRST - 1);
        left--;
        made = made << 1 | code_bit(model, kind, slot, set + slot, size >> left & 1);
    }
    if (left > 0) {
        u32 slot = SLOT_SECOND + (made & 1) + (n > 4);
        left--;
        made = made << 1 | code_bit(model, kind, slot, set + slot, size >> left & 1);
    }
    if (left > 0) {
        u32 rest = range_bits(&model->mix.coder, size & ((1u << left) - 1), left);
        made = made << left | rest;
    }
    return negative != 0 ? (i32)(0u - made) : (i32)made;
}

#if defined(MIX_WIDE)
/* The same with the probabilities of all bits computed at once. */
SIMD_INLINE i32 code_signed_as(PoseModel *model, bool decoding, u32 kind, u32 lane, i32 value)
{
    Mix *mix = &model->mix;
    RangeCoder coder = mix->coder; /* in registers */
    u32 set = model->set[kind] + lane * MIX_ROW, size = i32_magnitude(value);
    u32 length = u32_bit_length(size), n = 0, p[MIX_ROW];
    MixSixteen all;
    mix_load_rows(&all, model->slots);
    mix_guess_rows(mix, &all, set);
    __m256i chances = mix_squash_half(&all, 0);
    mix_store(p, chances);
    while (n < LONGER_MAX && range_branch_as(&coder, decoding, n < length, p[n])) {
        n++;
    }
    u32 bits = (1u << n) - 1, used = n < LONGER_MAX ? bits << 1 | 1 : bits;
    mix_learn_weights(mix, &all, 0, set, chances, used, bits);
    if (n == 0 || n == LONGER_MAX) {
        mix_learn_rows(&all, model->slots, used, bits);
        mix->coder = coder;
        return n == 0 ? 0 : code_bits(model, kind, lane, value, n);
    }
    chances = mix_squash_half(&all, 1);
    mix_store(p + MIX_ROW / 2, chances);
    u32 negative = range_bit_as(&coder, decoding, value < 0, p[SLOT_SIGN]);
    u32 made = 1, left = n - 1;
    used |= 1u << SLOT_SIGN;
    bits |= negative << SLOT_SIGN;
    if (left > 0) {
        u32 slot = SLOT_FIRST + u32_min(n - 2, SLOT_SECOND - SLOT_FIRST - 1);
        left--;
        u32 bit = range_bit_as(&coder, decoding, size >> left & 1, p[slot]);
        made = made << 1 | bit;
        used |= 1u << slot;
        bits |= bit << slot;
    }
    if (left > 0) {
        u32 slot = SLOT_SECOND + (made & 1) + (n > 4);
        left--;
        u32 bit = range_bit_as(&coder, decoding, size >> left & 1, p[slot]);
        made = made << 1 | bit;
        used |= 1u << slot;
        bits |= bit << slot;
    }
    mix_learn_weights(mix, &all, 1, set, chances, used >> 8, bits >> 8);
    mix_learn_rows(&all, model->slots, used, bits);
    while (left > 0) {
        left--;
        made = made << 1 | range_bit_as(&coder, decoding, size >> left & 1, 32768);
    }
    mix->coder = coder;
    return negative != 0 ? (i32)(0u - made) : (i32)made;
}

i32 pose_code_number(PoseModel *model, u32 kind, u32 lane, i32 value)
{
    return model->mix.coder.decoding ? code_signed_as(model, true, kind, lane, value)
                                     : code_signed_as(model, false, kind, lane, value);
}
#else
i32 pose_code_number(PoseModel *model, u32 kind, u32 lane, i32 value)
{
    return code_bits(model, kind, lane, value, 0);
}
#endif
