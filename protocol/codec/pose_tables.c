/* pose_tables.c: the table file of `make codec-tables`, embedded by the build. */
#include "protocol/codec/pose_tables.h"

#include "protocol/codec/mix_tables.h"
#include "protocol/codec/pose_code.h"

#include "pose_tables_bin.h"

bool pose_tables_load(MixTables *tables)
{
    u32 rows, sets;
    pose_codec_sizes(&rows, &sets);
    return mix_tables_unpack(tables, rows, sets, pose_tables_bin, sizeof pose_tables_bin - 1);
}
