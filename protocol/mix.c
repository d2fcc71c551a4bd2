/* mix.c: see mix.h. */
#include "protocol/mix.h"

#include <stdlib.h>
#include <string.h>

bool mix_tables_create(MixTables *tables, u32 rows, u32 sets)
{
    u32 slots = rows * MIX_ROW;
    *tables = (MixTables){.rows = rows,
                          .sets = sets,
                          .slots = malloc(slots * sizeof *tables->slots),
                          .weights = aligned_alloc(32, sets * MIX_LANES * sizeof(i32))};
    if (tables->slots == NULL || tables->weights == NULL) {
        mix_tables_destroy(tables);
        return false;
    }
    for (u32 i = 0; i < slots; i++) {
        tables->slots[i] = (MixSlot){32768, 0};
    }
    for (u32 i = 0; i < sets * MIX_LANES; i++) {
        tables->weights[i] = i % MIX_LANES == MIX_INPUTS ? 0 : 65536 * 3 / 10;
    }
    return true;
}

void mix_tables_destroy(MixTables *tables)
{
    free(tables->slots);
    free(tables->weights);
    *tables = (MixTables){.rows = 0};
}

void mix_tables_copy(MixTables *to, const MixTables *from)
{
    memcpy(to->slots, from->slots, from->rows * MIX_ROW * sizeof *to->slots);
    memcpy(to->weights, from->weights, from->sets * MIX_LANES * sizeof *to->weights);
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
    i32 x = -MIX_STRETCH_MAX;
    for (u32 p = 0; p < 4096; p++) {
        while (x < MIX_STRETCH_MAX && mix_squash(x) < p * 16 + 8) {
            x++;
        }
        mix->stretch[p] = (i16)x;
    }
    for (u32 n = 0; n <= MIX_COUNT_MAX; n++) {
        mix->rate[n] = 65536 * 2 / (2 * n + 3);
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
