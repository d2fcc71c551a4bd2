/*
 * pose_model.h: the symbols of the pose codec: their contexts among the tables, and how a bit and a
 * number are coded by them. For pose_code.c.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_POSE_MODEL_H
#define PLENUM_PROTOCOL_CODEC_POSE_MODEL_H

#include "protocol/codec/mix.h"
#include "shared/base/check.h"

/* Kinds of symbols; each has MIX_INPUTS contexts of its own. */
enum {
    KIND_CALM, /* does anything change among the calm ones of a block? */
    KIND_CHANGED,
    KIND_FLAGS,
    KIND_MOVED,
    KIND_FLAG,
    KIND_POSITION,
    KIND_LARGEST,
    KIND_ROTATION,
    KINDS
};

/* How many contexts each input has. One-bit kinds pack 16 (KIND_LARGEST: 4) of them into a row. */
extern const u16 pose_contexts[KINDS][MIX_INPUTS];
extern const u8 pose_context_slots[KINDS];

typedef struct PoseModel {
    Mix mix;
    MixTables start;  /* of a model that starts from nothing, or learns */
    bool own, learns; /* start is ours */
    u32 row[KINDS][MIX_INPUTS], set[KINDS];
    MixSlot *slots[MIX_INPUTS]; /* of the coming symbol */
} PoseModel;

/* As pose_codec_create and its like. False: no memory (destroy is then harmless). */
bool pose_model_create(PoseModel *model, const MixTables *start);
void pose_model_destroy(PoseModel *model);

/* The contexts of the coming symbol. */
static inline void take(PoseModel *model, u32 kind, const u32 context[MIX_INPUTS])
{
    for (u32 i = 0; i < MIX_INPUTS; i++) {
        VALIDATE(context[i] < pose_contexts[kind][i]);
        u32 slot = context[i] * pose_context_slots[kind];
        model->slots[i] =
            mix_take_row(&model->mix, model->row[kind][i] + slot / MIX_ROW) + slot % MIX_ROW;
    }
}

static inline u32 code_bit(PoseModel *model, u32 kind, u32 slot, u32 set, u32 bit)
{
    return mix_bit(&model->mix, model->slots, slot, model->set[kind] + set, bit);
}

/* A number of up to 31 bits and its sign; `lane` (0..2) has weights of its own. */
i32 pose_code_number(PoseModel *model, u32 kind, u32 lane, i32 value);

static inline u32 bit_length(u32 v)
{
    return 63 - (u32)__builtin_clzll((u64)v << 1 | 1); /* 0 without a branch */
}

#endif
