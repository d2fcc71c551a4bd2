/*
 * point_tables.c: planes of bytes under zstd: 10 bits of each chance.
 */
#include "protocol/point_tables.h"

#include <stdlib.h>
#include <zstd.h>

#include "point_tables_bin.h"

enum {
    CHANCES = POINT_ROWS * POINT_ROW,
    KEPT_BITS = 6, /* of a chance that are left out */
    LEVEL = 19,
};

size_t point_tables_pack(const PointTables *tables, u8 **bytes)
{
    size_t bound = ZSTD_compressBound(2 * CHANCES), packed = 0;
    u8 *planes = malloc(2 * CHANCES);
    *bytes = malloc(bound);
    if (planes != NULL && *bytes != NULL) {
        for (u32 i = 0; i < CHANCES; i++) {
            u32 chance = (u32)tables->chances[i] >> KEPT_BITS;
            planes[i] = (u8)(chance >> 8);
            planes[CHANCES + i] = (u8)chance;
        }
        packed = ZSTD_compress(*bytes, bound, planes, 2 * CHANCES, LEVEL);
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
    u8 *planes = malloc(2 * CHANCES);
    bool good = planes != NULL && ZSTD_decompress(planes, 2 * CHANCES, point_tables_bin,
                                                  sizeof point_tables_bin - 1) == 2 * CHANCES;
    for (u32 i = 0; good && i < CHANCES; i++) {
        u32 chance = ((u32)planes[i] << 8 | planes[CHANCES + i]) << KEPT_BITS;
        tables->chances[i] = (u16)(chance | 1u << (KEPT_BITS - 1));
    }
    free(planes);
    return good;
}
