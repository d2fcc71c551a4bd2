/*
 * pose_model.h: the symbols of the pose codec: their contexts in the tables, and coding of bits and
 * numbers. For pose_code.c.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_POSE_MODEL_H
#define PLENUM_PROTOCOL_CODEC_POSE_MODEL_H

#include "protocol/codec/mix.h"
#include "shared/base/check.h"

/* Kinds of symbols; each has MIX_INPUTS contexts. */
enum {
    KIND_CALM, /* does any calm slot of a block change? */
    KIND_CHANGED,
    KIND_FLAGS,
    KIND_MOVED,
    KIND_FLAG,
    KIND_POSITION,
    KIND_LARGEST,
    KIND_ROTATION,
    KINDS
};

/* Number of contexts of each input. One-bit kinds pack 16 (KIND_LARGEST: 4) of them into a row. */
extern const u16 pose_contexts[KINDS][MIX_INPUTS];
extern const u8 pose_context_slots[KINDS];

typedef struct PoseModel {
    Mix mix;
    MixTables start; /* of an untrained model */
    bool own;        /* start is owned */
    bool chained;    /* adaptation continues from one code to the next */
    u32 row[KINDS][MIX_INPUTS], set[KINDS];
    MixSlot *slots[MIX_INPUTS]; /* slots of the next symbol */
} PoseModel;

/* See pose_codec_create and the following. False: out of memory (destroy is then harmless). */
bool pose_model_create(PoseModel *model, const MixTables *start);
void pose_model_destroy(PoseModel *model);

/* Selects the contexts of the next symbol. */
static inline void take(PoseModel *model, u32 kind, const u32 context[MIX_INPUTS])
{
    for (u32 i = 0; i < MIX_INPUTS; i++) {
        VALIDATE(context[i] < pose_contexts[kind][i]);
        u32 slot = context[i] * pose_context_slots[kind];
        model->slots[i] =
            mix_take_row(&model->mix, model->row[kind][i] + slot / MIX_ROW) + slot % MIX_ROW;
    }
}

/* Codes one bit by mixed contexts; returns it. */
static inline u32 code_bit(PoseModel *model, u32 kind, u32 slot, u32 set, u32 bit)
{
    return mix_bit(&model->mix, model->slots, slot, model->set[kind] + set, bit);
}

/* Codes a signed number of up to 31 bits; each `lane` (0..2) has its own weights. */
i32 pose_code_number(PoseModel *model, u32 kind, u32 lane, i32 value);

#endif
