/* mix.c: see mix.h. */
#include "protocol/codec/mix_row.h"

#include <stdlib.h>
#include <string.h>

/* What 65536 / (1 + exp(−x)) is at x = −8, −7.5, ..., 8; between them it is a straight line. */
static const u16 mix_logistic[33] = {22,    36,    60,    98,    162,   267,   439,   720,   1179,
                                     1921,  3108,  4971,  7812,  11955, 17625, 24743, 32768, 40793,
                                     47911, 53581, 57724, 60565, 62428, 63615, 64357, 64816, 65097,
                                     65269, 65374, 65438, 65476, 65500, 65514};

const u32 mix_logistic_pairs[32] = {
    0x80248016u, 0x803C8024u, 0x8062803Cu, 0x80A28062u, 0x810B80A2u, 0x81B7810Bu, 0x82D081B7u,
    0x849B82D0u, 0x8781849Bu, 0x8C248781u, 0x936B8C24u, 0x9E84936Bu, 0xAEB39E84u, 0xC4D9AEB3u,
    0xE0A7C4D9u, 0x0000E0A7u, 0x1F590000u, 0x3B271F59u, 0x514D3B27u, 0x617C514Du, 0x6C95617Cu,
    0x73DC6C95u, 0x787F73DCu, 0x7B65787Fu, 0x7D307B65u, 0x7E497D30u, 0x7EF57E49u, 0x7F5E7EF5u,
    0x7F9E7F5Eu, 0x7FC47F9Eu, 0x7FDC7FC4u, 0x7FEA7FDCu};

static size_t slot_count(const MixTables *tables)
{
    return (size_t)tables->rows * 2 * MIX_ROW;
}

static size_t weight_count(const MixTables *tables)
{
    return (size_t)tables->sets * MIX_SET;
}

bool mix_tables_allocate(MixTables *tables, u32 rows, u32 sets)
{
    *tables = (MixTables){.rows = rows, .sets = sets};
    tables->slots = aligned_alloc(64, slot_count(tables) * sizeof *tables->slots);
    tables->weights = malloc(weight_count(tables) * sizeof *tables->weights);
    if (tables->slots == NULL || tables->weights == NULL) {
        mix_tables_destroy(tables);
        return false;
    }
    return true;
}

bool mix_tables_create(MixTables *tables, u32 rows, u32 sets)
{
    if (!mix_tables_allocate(tables, rows, sets)) {
        return false;
    }
    for (size_t i = 0; i < slot_count(tables); i++) {
        tables->slots[i] = i / MIX_ROW % 2 == 0 ? 32768 : MIX_RATE_FIRST;
    }
    for (size_t i = 0; i < weight_count(tables); i++) {
        tables->weights[i] = i % MIX_LANES == MIX_INPUTS ? 0 : MIX_WEIGHT_ONE * 3 / 10;
    }
    return true;
}

void mix_tables_destroy(MixTables *tables)
{
    free(tables->slots);
    free(tables->weights);
    *tables = (MixTables){.rows = 0};
}

static size_t pair_count(const Mix *mix)
{
    return 2 * (size_t)mix->start->sets;
}

static void arrange_weights(const MixTables *tables, u32 *pairs)
{
    for (u32 i = 0; i < 2 * tables->sets; i++) {
        const i16 *w = tables->weights + (size_t)(i % tables->sets) * MIX_SET;
        w += i / tables->sets * 2;
        pairs[i] = (u16)w[0] | (u32)(u16)w[1] << 16;
    }
}

void mix_keep(Mix *mix, u32 first)
{
    for (u32 row = 0; row < mix->now.rows; row++) {
        mix_take_row(mix, row);
    }
    for (u32 set = first; set < mix->now.sets; set++) {
        i16 *w = mix->now.weights + (size_t)set * MIX_SET;
        const u32 pairs[2] = {mix->pairs[set], mix->pairs[mix->now.sets + set]};
        for (u32 k = 0; k < MIX_LANES; k++) {
            w[k] = (i16)mix_weight(pairs, k);
        }
    }
}

bool mix_create(Mix *mix, const MixTables *start)
{
    enum {
        BEYOND = MIX_ROW /* slots that a whole-row access may touch */
    };
    *mix = (Mix){.start = start, .epoch = 1};
    size_t pairs = pair_count(mix);
    mix->row_epoch = calloc(start->rows, sizeof *mix->row_epoch);
    mix->pairs = calloc(pairs + BEYOND, sizeof *mix->pairs);
    mix->first_pairs = malloc(pairs * sizeof *mix->first_pairs);
    if (mix->row_epoch == NULL || mix->pairs == NULL || mix->first_pairs == NULL ||
        !mix_tables_allocate(&mix->now, start->rows, start->sets)) {
        mix_destroy(mix);
        return false;
    }
    memcpy(mix->now.weights, start->weights, weight_count(start) * sizeof *start->weights);
    arrange_weights(start, mix->first_pairs);
    memcpy(mix->pairs, mix->first_pairs, pairs * sizeof *mix->pairs);
    for (u32 x = 0; x < MIX_SQUASH; x++) {
        u32 i = x >> 7, part = x & 127;
        mix->squash[x] = (u16)((mix_logistic[i] * (128 - part) + mix_logistic[i + 1] * part) >> 7);
    }
    return true;
}

void mix_destroy(Mix *mix)
{
    free(mix->row_epoch);
    free(mix->pairs);
    free(mix->first_pairs);
    mix_tables_destroy(&mix->now);
    *mix = (Mix){.start = NULL};
}

void mix_reset(Mix *mix)
{
    memcpy(mix->pairs, mix->first_pairs, pair_count(mix) * sizeof *mix->pairs);
    mix->epoch++;
    if (mix->epoch == 0) {
        memset(mix->row_epoch, 0, mix->start->rows * sizeof *mix->row_epoch);
        mix->epoch = 1;
    }
}
