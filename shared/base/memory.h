/*
 * memory.h: resident memory of the process, and growing arrays.
 * Layer: shared/base.
 */
#ifndef PLENUM_SHARED_BASE_MEMORY_H
#define PLENUM_SHARED_BASE_MEMORY_H

#include "shared/base/base.h"

PL_BEGIN_C
/* Resident bytes of this process; 0 if unknown. A system call: not for every tick. */
u64 memory_resident_bytes(void);
/* Zeroed memory for arrays that loops run over, aligned to a cache line, for free(); from 2 MiB on
 * in huge pages where the system has them. NULL: out of memory. */
void *memory_arrays(size_t bytes);
/* Reserves `needed` items of `size` bytes with realloc, at least doubling; false: out of memory,
 * nothing changed. */
bool memory_grow(void **items, u32 *capacity, u32 needed, size_t size);
PL_END_C

#endif
