/*
 * mix_tables.h: trained starts of mixing codecs as they are kept in files.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_MIX_TABLES_H
#define PLENUM_PROTOCOL_CODEC_MIX_TABLES_H

#include "protocol/codec/mix.h"

/* What a file has to hold for these tables: *bytes from malloc; their number, 0 without memory. */
size_t mix_tables_pack(const MixTables *tables, u8 **bytes);
/* Makes tables of these sizes out of such a file; the caller destroys them. False: no memory, or
 * the file is of other sizes. */
bool mix_tables_unpack(MixTables *tables, u32 rows, u32 sets, const u8 *packed,
                       size_t packed_bytes);

#endif
