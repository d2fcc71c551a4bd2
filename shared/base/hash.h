/*
 * hash.h: 64-bit content hashes (xxHash's XXH3). Little-endian hosts only, like the whole project.
 * Layer: shared/base.
 */
#ifndef PLENUM_SHARED_BASE_HASH_H
#define PLENUM_SHARED_BASE_HASH_H

#include "shared/base/base.h"

PL_BEGIN_C
/* Seeded XXH3-64 of `bytes` bytes; chain by passing the previous hash as the seed. */
u64 hash_bytes(const void *data, size_t bytes, u64 seed);
PL_END_C

#endif
