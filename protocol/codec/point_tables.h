/*
 * point_tables.h: the trained tables of the point codec. They are part of the protocol: both ends
 * must have the same. `make codec-tables` trains them on our own worlds and writes
 * point_tables.bin, which the build embeds as an array.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_POINT_TABLES_H
#define PLENUM_PROTOCOL_CODEC_POINT_TABLES_H

#include "protocol/codec/point_code.h"

/* Unpacks the embedded tables. False: out of memory, or the tables are of another version of the
 * codec (a broken build). */
bool point_tables_load(PointTables *tables);
/* Packs tables for point_tables.bin: *bytes from malloc; returns their number, 0 if out of
 * memory. */
size_t point_tables_pack(const PointTables *tables, u8 **bytes);

#endif
