/*
 * numbering.h: gives equal things one number, so that equal shapes share a mesh and equal colours a
 * material. Keys are 64-bit hashes; two that collide by chance count as equal.
 * Layer: server/export, private.
 */
#ifndef PLENUM_SERVER_EXPORT_NUMBERING_H
#define PLENUM_SERVER_EXPORT_NUMBERING_H

#include "protocol/field/entity.h"

typedef struct Numbering {
    u64 *keys; /* [capacity], 0: free */
    u32 *numbers;
    u32 count, capacity; /* capacity: 0 or a power of two */
} Numbering;

PL_BEGIN_C
/* The number of a key: a new one is `count`, *is_new. Negative: out of memory. */
i64 numbering_get(Numbering *numbering, u64 key, bool *is_new);
void numbering_finish(Numbering *numbering);
u64 export_shape_key(const Shape *shape);
/* Of colour and roughness. */
u64 export_appearance_key(const Appearance *appearance);
PL_END_C

#endif
