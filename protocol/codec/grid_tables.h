/*
 * grid_tables.h: the trained start of the grid codec. The tables are a part of the protocol: both
 * ends must have the same. `make codec-tables` trains them anew on worlds of our own and writes
 * grid_tables.bin, which the build turns into an array.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_GRID_TABLES_H
#define PLENUM_PROTOCOL_CODEC_GRID_TABLES_H

#include "protocol/codec/mix.h"

/* Unpacks the built-in tables; the caller destroys them. False: no memory, or the tables are of
 * another version of the codec (a build that was put together wrongly). */
bool grid_tables_load(MixTables *tables);

#endif
