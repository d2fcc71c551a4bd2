/*
 * pose_tables.h: the trained tables of the pose codec. They are part of the protocol: both ends
 * must have the same. `make codec-tables` trains them on our own worlds and writes pose_tables.bin,
 * which the build embeds as an array.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_POSE_TABLES_H
#define PLENUM_PROTOCOL_CODEC_POSE_TABLES_H

#include "protocol/codec/mix.h"

/* Unpacks the embedded tables; the caller destroys them. False: out of memory, or the tables are
 * of another version of the codec (a broken build). */
bool pose_tables_load(MixTables *tables);

#endif
