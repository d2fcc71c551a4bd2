/* memory.c: see memory.h. */
#include "shared/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

u64 memory_resident_bytes(void)
{
    unsigned long long size, resident;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL) {
        return 0;
    }
    bool good = fscanf(file, "%llu %llu", &size, &resident) == 2;
    fclose(file);
    return good ? (u64)resident * (u64)sysconf(_SC_PAGESIZE) : 0;
}

bool memory_grow(void **items, u32 *capacity, u32 needed, size_t size)
{
    if (needed <= *capacity) {
        return true;
    }
    const u32 least = 64; /* or the first few would each be an allocation within a tick */
    u32 larger = u32_max(u32_max(needed, least), *capacity * 2);
    void *moved = realloc(*items, larger * size);
    if (moved == NULL) {
        return false;
    }
    *items = moved;
    *capacity = larger;
    return true;
}
