/* grid_tables.c: the table file of `make codec-tables`, embedded by the build. */
#include "protocol/codec/grid_tables.h"

#include "protocol/codec/grid_code.h"
#include "protocol/codec/mix_tables.h"

#include "grid_tables_bin.h"

bool grid_tables_load(MixTables *tables)
{
    u32 rows, sets;
    grid_codec_sizes(&rows, &sets);
    return mix_tables_unpack(tables, rows, sets, grid_tables_bin, sizeof grid_tables_bin - 1);
}
