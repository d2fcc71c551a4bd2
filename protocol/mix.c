/* mix.c: see mix.h. */
#include "protocol/mix.h"

#include <stdlib.h>
#include <string.h>

/* 65536 / (1 + exp(−x)) for x = −8, −7.5, ..., 8. */
static const u16 logistic[33] = {22,    36,    60,    98,    162,   267,   439,   720,   1179,
                                 1921,  3108,  4971,  7812,  11955, 17625, 24743, 32768, 40793,
                                 47911, 53581, 57724, 60565, 62428, 63615, 64357, 64816, 65097,
                                 65269, 65374, 65438, 65476, 65500, 65514};

bool mix_tables_create(MixTables *tables, u32 rows, u32 sets)
{
    size_t slots = (size_t)rows * MIX_ROW, weights = (size_t)sets * MIX_LANES;
    *tables = (MixTables){.rows = rows,
                          .sets = sets,
                          .slots = aligned_alloc(64, slots * sizeof *tables->slots),
                          .weights = aligned_alloc(16, weights * sizeof *tables->weights)};
    if (tables->slots == NULL || tables->weights == NULL) {
        mix_tables_destroy(tables);
        return false;
    }
    for (size_t i = 0; i < slots; i++) {
        tables->slots[i] = (MixSlot){32768, MIX_RATE_FIRST};
    }
    for (size_t i = 0; i < weights; i++) {
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

bool mix_create(Mix *mix, const MixTables *start)
{
    *mix = (Mix){.start = start, .epoch = 1};
    mix->row_epoch = calloc(start->rows, sizeof *mix->row_epoch);
    mix->set_epoch = calloc(start->sets, sizeof *mix->set_epoch);
    if (mix->row_epoch == NULL || mix->set_epoch == NULL ||
        !mix_tables_create(&mix->now, start->rows, start->sets)) {
        mix_destroy(mix);
        return false;
    }
    for (u32 x = 0; x < MIX_SQUASH; x++) {
        u32 i = x >> 7, part = x & 127;
        mix->squash[x] = (u16)((logistic[i] * (128 - part) + logistic[i + 1] * part) >> 7);
    }
    return true;
}

void mix_destroy(Mix *mix)
{
    free(mix->row_epoch);
    free(mix->set_epoch);
    mix_tables_destroy(&mix->now);
    *mix = (Mix){.start = NULL};
}

void mix_reset(Mix *mix)
{
    mix->epoch++;
    if (mix->epoch == 0) {
        memset(mix->row_epoch, 0, mix->start->rows * sizeof *mix->row_epoch);
        memset(mix->set_epoch, 0, mix->start->sets * sizeof *mix->set_epoch);
        mix->epoch = 1;
    }
}
