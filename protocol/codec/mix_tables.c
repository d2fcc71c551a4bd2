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

/* Possible starting rates: after 0, 1, 3, 7, 15, 31 and 63 uses; the last is a spare, so that any
 * three bits are the number of one. */
enum {
    RATES = 7
};
static const u16 rates[RATES + 1] = {MIX_RATE_FIRST,  65536 * 2 / 5,  65536 * 2 / 9,
                                     65536 * 2 / 17,  65536 * 2 / 33, 65536 * 2 / 65,
                                     65536 * 2 / 129, MIX_RATE_FIRST};

static u8 keep_rate(u32 rate)
{
    u32 kept = 0;
    while (kept + 1 < RATES && rate <= rates[kept + 1]) {
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

/* Copies of a row's bytes, which nothing overlaps, let compilers make all of its slots at once. */
static void unpack_planes(const u8 *planes, MixTables *tables)
{
    size_t slots = (size_t)tables->rows * MIX_ROW;
    for (size_t first = 0; first < slots; first += MIX_ROW) {
        u8 bytes[3][MIX_ROW];
        u16 row[2][MIX_ROW];
        for (u32 plane = 0; plane < PL_COUNT(bytes); plane++) {
            memcpy(bytes[plane], planes + plane * slots + first, MIX_ROW);
        }
        for (u32 i = 0; i < MIX_ROW; i++) {
            u32 chance = (u32)bytes[0][i] << 8 | bytes[1][i];
            row[0][i] = (u16)(chance << KEPT_BITS | 1u << (KEPT_BITS - 1));
        }
        for (u32 i = 0; i < MIX_ROW; i++) {
            row[1][i] = rates[bytes[2][i] & (PL_COUNT(rates) - 1)];
        }
        memcpy(tables->slots + slot_at(first), row, sizeof row);
    }
    memcpy(tables->weights, planes + 3 * slots, (size_t)tables->sets * MIX_SET * sizeof(i16));
}

bool mix_tables_unpack(MixTables *tables, u32 rows, u32 sets, const u8 *packed, size_t packed_bytes)
{
    size_t raw = raw_bytes(rows, sets);
    u8 *planes = malloc(raw);
    if (planes == NULL || !mix_tables_allocate(tables, rows, sets)) {
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
