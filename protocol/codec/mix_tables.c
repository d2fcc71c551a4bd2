/*
 * mix_tables.c: byte planes compressed with zstd. Probabilities keep 10 bits (8 bits in the
 * logistic domain would do); rates are one of seven.
 */
#include "protocol/codec/mix_tables.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum {
    KEPT_BITS = 6, /* omitted low bits of a probability */
    LEVEL = 19,
};

static size_t raw_bytes(u32 rows, u32 sets)
{
    return (size_t)rows * MIX_ROW * 3 + (size_t)sets * MIX_SET * sizeof(i16);
}

/* Possible starting rates: after 0, 1, 3, 7, 15, 31 and 63 uses. */
static const u16 rates[] = {MIX_RATE_FIRST, 65536 * 2 / 5,  65536 * 2 / 9,  65536 * 2 / 17,
                            65536 * 2 / 33, 65536 * 2 / 65, 65536 * 2 / 129};

static u8 keep_rate(u32 rate)
{
    u32 kept = 0;
    while (kept + 1 < PL_COUNT(rates) && rate <= rates[kept + 1]) {
        kept++;
    }
    return (u8)kept;
}

/* Index of slot i of all rows. */
static size_t slot_at(size_t i)
{
    return i / MIX_ROW * 2 * MIX_ROW + i % MIX_ROW;
}

size_t mix_tables_pack(const MixTables *tables, u8 **bytes)
{
    size_t raw = raw_bytes(tables->rows, tables->sets), bound = ZSTD_compressBound(raw);
    size_t slots = (size_t)tables->rows * MIX_ROW;
    u8 *planes = malloc(raw);
    *bytes = malloc(bound);
    size_t packed = 0;
    if (planes != NULL && *bytes != NULL) {
        for (size_t i = 0; i < slots; i++) {
            const MixSlot *slot = tables->slots + slot_at(i);
            u32 chance = (u32)*slot >> KEPT_BITS;
            planes[i] = (u8)(chance >> 8);
            planes[slots + i] = (u8)chance;
            planes[2 * slots + i] = keep_rate(slot[MIX_ROW]);
        }
        memcpy(planes + 3 * slots, tables->weights,
               (size_t)tables->sets * MIX_SET * sizeof *tables->weights);
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

static void unpack_planes(const u8 *planes, MixTables *tables)
{
    size_t slots = (size_t)tables->rows * MIX_ROW;
    for (size_t i = 0; i < slots; i++) {
        u32 chance = (u32)planes[i] << 8 | planes[slots + i];
        MixSlot *slot = tables->slots + slot_at(i);
        *slot = (u16)(chance << KEPT_BITS | 1u << (KEPT_BITS - 1));
        slot[MIX_ROW] = rates[planes[2 * slots + i] % PL_COUNT(rates)];
    }
    memcpy(tables->weights, planes + 3 * slots, (size_t)tables->sets * MIX_SET * sizeof(i16));
}

bool mix_tables_unpack(MixTables *tables, u32 rows, u32 sets, const u8 *packed, size_t packed_bytes)
{
    size_t raw = raw_bytes(rows, sets);
    u8 *planes = malloc(raw);
    if (planes == NULL || !mix_tables_create(tables, rows, sets)) {
        free(planes);
        return false;
    }
    bool good = ZSTD_decompress(planes, raw, packed, packed_bytes) == raw;
    if (good) {
        unpack_planes(planes, tables);
    } else {
        mix_tables_destroy(tables);
    }
    free(planes);
    return good;
}
