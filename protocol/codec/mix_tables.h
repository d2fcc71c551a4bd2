/*
 * mix_tables.h: the file format of trained tables of mixing codecs.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_MIX_TABLES_H
#define PLENUM_PROTOCOL_CODEC_MIX_TABLES_H

#include "protocol/codec/mix.h"

/* Packs tables for a file: *bytes from malloc; returns their number, 0 if out of memory. */
size_t mix_tables_pack(const MixTables *tables, u8 **bytes);
/* Unpacks tables of these sizes; the caller destroys them. False: out of memory, or the file has
 * other sizes. */
bool mix_tables_unpack(MixTables *tables, u32 rows, u32 sets, const u8 *packed,
                       size_t packed_bytes);

#endif
