/* memory.c: see memory.h. */
#include "shared/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

void *memory_arrays(size_t bytes)
{
    const size_t line = 64, huge = 2 << 20;
    size_t align = bytes >= huge ? huge : line;
    void *memory = aligned_alloc(align, (bytes + align - 1) / align * align);
    if (memory == NULL) {
        return NULL;
    }
    /* Whole ones only: the last takes the room of its bytes. If this fails, pages are small. */
    (void)madvise(memory, bytes / huge * huge, MADV_HUGEPAGE);
    memset(memory, 0, bytes);
    return memory;
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
