/* hash.c: the one place that calls xxHash. */
#include "shared/base/hash.h"

#include <xxhash.h>

u64 hash_bytes(const void *data, size_t bytes, u64 seed)
{
    return XXH3_64bits_withSeed(data, bytes, seed);
}
