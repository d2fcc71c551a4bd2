/*
 * memory.h: how much memory the program holds.
 * Layer: shared/base.
 */
#ifndef PLENUM_SHARED_BASE_MEMORY_H
#define PLENUM_SHARED_BASE_MEMORY_H

#include "shared/base/base.h"

PL_BEGIN_C
/* Bytes of this process that are resident; 0 where the system does not tell. A system call: not
 * for each tick. */
u64 memory_resident_bytes(void);
PL_END_C

#endif
