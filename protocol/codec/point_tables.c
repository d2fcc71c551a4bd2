/*
 * point_tables.c: byte planes compressed with zstd.
 */
#include "protocol/codec/point_tables.h"

#include <stdlib.h>
#include <zstd.h>

#include "point_tables_bin.h"

enum {
    NUMBERS = POINT_ROWS * POINT_ROW + POINT_FLAGS,
    LEVEL = 19,
};

size_t point_tables_pack(const PointTables *tables, u8 **bytes)
{
    size_t bound = ZSTD_compressBound(2 * NUMBERS), packed = 0;
    u8 *planes = malloc(2 * NUMBERS);
    *bytes = malloc(bound);
    if (planes != NULL && *bytes != NULL) {
        for (u32 i = 0; i < NUMBERS; i++) {
            u32 symbols = POINT_ROWS * POINT_ROW;
            u32 number = i < symbols ? tables->ends[i] : tables->flags[i - symbols];
            planes[i] = (u8)(number >> 8);
            planes[NUMBERS + i] = (u8)number;
        }
        packed = ZSTD_compress(*bytes, bound, planes, 2 * NUMBERS, LEVEL);
    }
    free(planes);
    if (packed == 0 || ZSTD_isError(packed)) {
        free(*bytes);
        *bytes = NULL;
        return 0;
    }
    return packed;
}

/* Every symbol must have a non-zero frequency. */
static bool is_valid(const PointTables *tables)
{
    bool valid = true;
    for (u32 i = 0; i < POINT_ROWS * POINT_ROW; i++) {
        u32 before = i % POINT_ROW > 0 ? tables->ends[i - 1] : 0;
        valid = valid && tables->ends[i] > before;
        valid = valid && (i % POINT_ROW + 1 < POINT_ROW || tables->ends[i] == 32768);
    }
    for (u32 i = 0; i < POINT_FLAGS; i++) {
        valid = valid && tables->flags[i] > 0;
    }
    return valid;
}

bool point_tables_load(PointTables *tables)
{
    u8 *planes = malloc(2 * NUMBERS);
    bool good = planes != NULL && ZSTD_decompress(planes, 2 * NUMBERS, point_tables_bin,
                                                  sizeof point_tables_bin - 1) == 2 * NUMBERS;
    for (u32 i = 0; good && i < NUMBERS; i++) {
        u32 number = (u32)planes[i] << 8 | planes[NUMBERS + i], symbols = POINT_ROWS * POINT_ROW;
        *(i < symbols ? &tables->ends[i] : &tables->flags[i - symbols]) = (u16)number;
    }
    free(planes);
    return good && is_valid(tables);
}
