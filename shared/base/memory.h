/*
 * memory.h: how much memory the program holds, and arrays that grow.
 * Layer: shared/base.
 */
#ifndef PLENUM_SHARED_BASE_MEMORY_H
#define PLENUM_SHARED_BASE_MEMORY_H

#include "shared/base/base.h"

PL_BEGIN_C
/* Bytes of this process that are resident; 0 where the system does not tell. A system call: not
 * for each tick. */
u64 memory_resident_bytes(void);
/* Makes room for `needed` items of `size` bytes, by realloc, twice as many as there were; false
 * without memory: then nothing has changed. */
bool memory_grow(void **items, u32 *capacity, u32 needed, size_t size);
PL_END_C

#endif
