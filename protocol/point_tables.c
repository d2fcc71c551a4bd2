/*
 * point_tables.c: planes of bytes under zstd: 10 bits of each chance, and a count that says how far
 * it still bends.
 */
#include "protocol/point_tables.h"

#include <stdlib.h>
#include <zstd.h>

#include "point_tables_bin.h"

enum {
    CHANCES = POINT_ROWS * POINT_ROW,
    COUNT_MAX = 63, /* of a start: what a packet says must still matter */
    KEPT_BITS = 6,  /* of a chance that are left out */
    LEVEL = 19,
};

/* The largest of 0, 1, 3, 7, ... up to count. */
static u8 keep_count(u32 count)
{
    u32 kept = 0;
    while (2 * kept + 1 <= count && kept < COUNT_MAX) {
        kept = 2 * kept + 1;
    }
    return (u8)kept;
}

size_t point_tables_pack(const PointTables *tables, u8 **bytes)
{
    size_t bound = ZSTD_compressBound(3 * CHANCES), packed = 0;
    u8 *planes = malloc(3 * CHANCES);
    *bytes = malloc(bound);
    if (planes != NULL && *bytes != NULL) {
        for (u32 i = 0; i < CHANCES; i++) {
            u32 chance = tables->chances[i].chance >> KEPT_BITS;
            planes[i] = (u8)(chance >> 8);
            planes[CHANCES + i] = (u8)chance;
            planes[2 * CHANCES + i] = keep_count(tables->chances[i].count);
        }
        packed = ZSTD_compress(*bytes, bound, planes, 3 * CHANCES, LEVEL);
    }
    free(planes);
    if (packed == 0 || ZSTD_isError(packed)) {
        free(*bytes);
        *bytes = NULL;
        return 0;
    }
    return packed;
}

bool point_tables_load(PointTables *tables)
{
    u8 *planes = malloc(3 * CHANCES);
    bool good = planes != NULL && ZSTD_decompress(planes, 3 * CHANCES, point_tables_bin,
                                                  sizeof point_tables_bin - 1) == 3 * CHANCES;
    for (u32 i = 0; good && i < CHANCES; i++) {
        u32 chance = ((u32)planes[i] << 8 | planes[CHANCES + i]) << KEPT_BITS;
        tables->chances[i].chance = (u16)(chance | 1u << (KEPT_BITS - 1));
        tables->chances[i].count = planes[2 * CHANCES + i];
    }
    free(planes);
    return good;
}
