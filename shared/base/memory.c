/* memory.c: see memory.h. */
#include "shared/base/memory.h"

#include <stdio.h>
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
