/*
 * pose_tables.c: planes of bytes under zstd: the probabilities with 8 bits in the logistic domain
 * would be as good; 10 bits are kept. Counts become powers of two: how far a slot still bends.
 */
#include "protocol/pose_tables.h"

#include "protocol/pose_code.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "pose_tables_bin.h"

enum {
    COUNT_MAX = 63, /* of a start: what a packet says must still matter */
    KEPT_BITS = 6,  /* of a chance that are left out */
    LEVEL = 19,
};

static size_t raw_bytes(u32 rows, u32 sets)
{
    return (size_t)rows * MIX_ROW * 3 + (size_t)sets * MIX_LANES * sizeof(i32);
}

static u8 keep_count(u32 count)
{
    u32 kept = 0;
    while (kept < count && kept < COUNT_MAX) {
        kept = 2 * kept + 1;
    }
    return (u8)(kept > count ? kept / 2 : kept);
}

size_t pose_tables_pack(const MixTables *tables, u8 **bytes)
{
    size_t raw = raw_bytes(tables->rows, tables->sets), bound = ZSTD_compressBound(raw);
    size_t slots = (size_t)tables->rows * MIX_ROW;
    u8 *planes = malloc(raw);
    *bytes = malloc(bound);
    size_t packed = 0;
    if (planes != NULL && *bytes != NULL) {
        for (size_t i = 0; i < slots; i++) {
            MixSlot slot = tables->slots[i];
            u32 chance = slot.chance >> KEPT_BITS;
            planes[i] = (u8)(chance >> 8);
            planes[slots + i] = (u8)chance;
            planes[2 * slots + i] = keep_count(slot.count);
        }
        memcpy(planes + 3 * slots, tables->weights,
               (size_t)tables->sets * MIX_LANES * sizeof *tables->weights);
        packed = ZSTD_compress(*bytes, bound, planes, raw, LEVEL);
    }
    free(planes);
    if (packed == 0 || ZSTD_isError(packed)) {
        free(*bytes);
        *bytes = NULL;
        return 0;
    }
    return packed;
}

bool pose_tables_load(MixTables *tables)
{
    u32 rows, sets;
    pose_codec_sizes(&rows, &sets);
    size_t raw = raw_bytes(rows, sets), slots = (size_t)rows * MIX_ROW;
    u8 *planes = malloc(raw);
    if (planes == NULL || !mix_tables_create(tables, rows, sets)) {
        free(planes);
        return false;
    }
    bool good = ZSTD_decompress(planes, raw, pose_tables_bin, sizeof pose_tables_bin - 1) == raw;
    for (size_t i = 0; good && i < slots; i++) {
        u32 chance = (u32)planes[i] << 8 | planes[slots + i];
        tables->slots[i].chance = (u16)(chance << KEPT_BITS | 1u << (KEPT_BITS - 1));
        tables->slots[i].count = planes[2 * slots + i];
    }
    if (good) {
        memcpy(tables->weights, planes + 3 * slots, (size_t)sets * MIX_LANES * sizeof(i32));
    } else {
        mix_tables_destroy(tables);
    }
    free(planes);
    return good;
}
