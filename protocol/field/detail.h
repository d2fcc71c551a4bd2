/*
 * detail.h: reduced precision for narrow links. A detail gives the number of low bits omitted from
 * positions, rotations and values, and the decimation of points. The client's state at a detail is
 * a fixed function of the full state, in full units, so that drawing and comparing need not care. A
 * finer state of the same tick determines each coarser one, and any state can be the baseline of
 * any other: codes are of reduced states, and a baseline is reduced like the new state.
 * PROTOCOL.md, "Details".
 * Layer: protocol/field.
 */
#ifndef PLENUM_PROTOCOL_FIELD_DETAIL_H
#define PLENUM_PROTOCOL_FIELD_DETAIL_H

#include "protocol/field/field.h"

PL_BEGIN_C

/* Bits 0..3: shift; bits 4..5: decimation n: only every 2^n-th point of a chunk exists. */
typedef u8 Detail;

enum {
    DETAIL_FULL = 0,
    DETAIL_SHIFT_MAX = 8,
    DETAIL_DECIMATION_MAX = 3,
    DETAIL_BITS = 6,
};

/* shift: low bits left out; decimation: exponent of the stride of points. */
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
/* Low bits omitted from the components of a rotation. */
u32 detail_rotation_shift(Detail detail);
/* Low bits omitted from a grid's values and from points' scalars. */
u32 detail_value_shift(const FieldDesc *field, Detail detail);
/* Restores a position without its `shift` low bits: the middle of the values with the same upper
 * bits. */
i32 detail_position_restore(i32 code, u32 shift);
/* The same for a value of at most `most`, except that 0 stays 0. */
u32 detail_value_restore(u32 code, u32 shift, u32 most);

/* Dense states of whole chunks, `count` elements, in place. */
/* Reduces a state at any finer or coarser detail to the coded state at this one. */
void detail_reduce(const FieldDesc *field, Detail detail, void *elements, u32 count);
/* Restores the stored state from the decoded one. Any numbers give a state within the field's
 * limits. */
void detail_restore(const FieldDesc *field, Detail detail, void *elements, u32 count);
/* Converts a full state to the one that a client stores: both in sequence. */
void detail_store(const FieldDesc *field, Detail detail, void *elements, u32 count);

PL_END_C

#endif
