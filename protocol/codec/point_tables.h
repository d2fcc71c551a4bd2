/*
 * point_tables.h: the trained start of the codec of points. The tables are a part of the protocol:
 * both ends must have the same. `make codec-tables` trains them anew on worlds of our own and
 * writes point_tables.bin, which the build turns into an array.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_POINT_TABLES_H
#define PLENUM_PROTOCOL_CODEC_POINT_TABLES_H

#include "protocol/codec/point_code.h"

/* Unpacks the built-in tables. False: no memory, or the tables are of another version of the codec
 * (a build that was put together wrongly). */
bool point_tables_load(PointTables *tables);
/* What point_tables.bin has to hold for these tables: *bytes from malloc; their number, 0 without
 * memory. */
size_t point_tables_pack(const PointTables *tables, u8 **bytes);

#endif
