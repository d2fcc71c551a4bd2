/*
 * detail.h: coarser states for narrow lines. A detail says how many low bits of positions, turns
 * and values are left out, and which points. What a client has at a detail is a fixed function of
 * the fine state, in the units of the fine one, so that whoever draws or compares need not care.
 * A finer state of the same moment gives each coarser one, and any state can be the baseline of any
 * other: codes are of reduced states, and a baseline is reduced as the new state is.
 * PROTOCOL.md, "Details".
 * Layer: protocol/field.
 */
#ifndef PLENUM_PROTOCOL_FIELD_DETAIL_H
#define PLENUM_PROTOCOL_FIELD_DETAIL_H

#include "protocol/field/field.h"

PL_BEGIN_C

/* Bits 0..3: shift; bits 4..5: thin: only every 2^thin-th point of a chunk is there. */
typedef u8 Detail;

enum {
    DETAIL_FULL = 0,
    DETAIL_SHIFT_MAX = 8,
    DETAIL_DECIMATION_MAX = 3,
    DETAIL_BITS = 6,
};

static inline Detail detail_make(u32 shift, u32 decimation)
{
    return (Detail)(shift | decimation << 4);
}
static inline u32 detail_shift(Detail detail)
{
    return detail & 15;
}
static inline u32 detail_decimation(Detail detail)
{
    return detail >> 4;
}
static inline bool detail_valid(u32 detail)
{
    return (detail & 15) <= DETAIL_SHIFT_MAX && detail >> 4 <= DETAIL_DECIMATION_MAX;
}
/* Low bits that the components of a rotation leave out. */
u32 detail_rotation_shift(Detail detail);
/* Those of a grid's values and of points' scalars. */
u32 detail_value_shift(const FieldDesc *field, Detail detail);
/* A position that lacks `shift` low bits: the middle of what has the same upper ones. */
i32 detail_position_restore(i32 code, u32 shift);
/* The same of a value of at most `most`, but nothing stays nothing. */
u32 detail_value_restore(u32 code, u32 shift, u32 most);

/* Dense states of whole chunks, `count` elements, in place. */
/* A state at any finer or coarser detail, to what is coded at this one. */
void detail_reduce(const FieldDesc *field, Detail detail, void *elements, u32 count);
/* What was decoded, to what is kept. Any numbers give a state within the field's limits. */
void detail_restore(const FieldDesc *field, Detail detail, void *elements, u32 count);
/* A fine state to what a client keeps of it: both in turn. */
void detail_store(const FieldDesc *field, Detail detail, void *elements, u32 count);

PL_END_C

#endif
