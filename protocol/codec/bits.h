/*
 * bits.h: bit streams, least significant bit first. A writer never writes past its end and a reader
 * never reads past its end: both set `failed`, and a failed reader returns zeros.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_BITS_H
#define PLENUM_PROTOCOL_CODEC_BITS_H

#include "shared/base/base.h"

PL_BEGIN_C

typedef struct BitWriter {
    u8 *data;
    u32 bytes_max;
    u32 bit;     /* next bit to write */
    bool failed; /* out of space */
} BitWriter;

typedef struct BitReader {
    const u8 *data;
    u32 bytes;
    u32 bit;
    bool failed; /* out of data */
} BitReader;

/* Writes to data [bytes_max], which is borrowed and need not be zeroed. */
void bit_writer_init(BitWriter *writer, void *data, u32 bytes_max);
/* Writes the low `count` (0..64) bits of value, or nothing if they do not fit; unused bits of
 * the last byte are zero. */
void bits_put(BitWriter *writer, u64 value, u32 count);
/* Removes everything from `bit` on, and the failure. */
void bit_writer_rewind(BitWriter *writer, u32 bit);
/* Bytes used so far, including a partial last byte. */
u32 bit_writer_bytes(const BitWriter *writer);
void bit_reader_init(BitReader *reader, const void *data, u32 bytes);
u64 bits_get(BitReader *reader, u32 count);

/* Writes an unsigned number in an Elias-gamma-like code: 6-bit width, then the bits below the
 * top one; width 63 is followed by all 64 bits. */
void bits_put_unsigned(BitWriter *writer, u64 value);
u64 bits_get_unsigned(BitReader *reader);

PL_END_C

#endif
