/*
 * bits.c: bit packing through 64-bit words. Away from the end of the buffer one call is one
 * unaligned load and one store; the last bytes are accessed singly, so nothing beyond the end is
 * touched.
 */
#include "protocol/codec/bits.h"
#include "shared/base/check.h"

#include <string.h>

enum {
    WORD_BITS = 64,
    /* Bits that fit an unaligned word at any bit offset in its first byte. */
    PUT_BITS_MAX = 57,
    WIDTH_BITS = 6,
    /* Width code of values that need all 64 bits. */
    WIDTH_ESCAPE = 63,
};

static u64 low_mask(u32 count)
{
    return count >= WORD_BITS ? ~0ull : (1ull << count) - 1;
}

static u32 bit_length(u64 value)
{
    return value == 0 ? 0 : WORD_BITS - (u32)__builtin_clzll(value);
}

void bit_writer_init(BitWriter *writer, void *data, u32 bytes_max)
{
    CHECK(bytes_max <= UINT32_MAX / 8); /* bits are counted in 32 bits */
    writer->data = data;
    writer->bytes_max = bytes_max;
    writer->bit = 0;
    writer->failed = false;
}

static void put_word(BitWriter *writer, u64 value, u32 count)
{
    u32 byte = writer->bit >> 3, shift = writer->bit & 7;
    u8 *at = writer->data + byte;
    u64 kept = shift != 0 ? at[0] & low_mask(shift) : 0;
    u64 word = kept | (value << shift);
    if (byte + sizeof word <= writer->bytes_max) {
        memcpy(at, &word, sizeof word);
    } else {
        for (u32 used = 0; used < shift + count; used += 8) {
            *at++ = (u8)(word >> used);
        }
    }
    writer->bit += count;
}

void bits_put(BitWriter *writer, u64 value, u32 count)
{
    VALIDATE(count <= WORD_BITS);
    if (count == 0 || writer->failed) {
        return;
    }
    if ((u64)writer->bit + count > (u64)writer->bytes_max * 8) {
        writer->failed = true;
        return;
    }
    value &= low_mask(count);
    if (count > PUT_BITS_MAX) {
        put_word(writer, value & low_mask(32), 32);
        value >>= 32;
        count -= 32;
    }
    put_word(writer, value, count);
}

void bit_writer_rewind(BitWriter *writer, u32 bit)
{
    CHECK(bit <= writer->bit);
    writer->bit = bit;
    writer->failed = false;
    if ((bit & 7) != 0) {
        writer->data[bit >> 3] &= (u8)low_mask(bit & 7);
    }
}

u32 bit_writer_bytes(const BitWriter *writer)
{
    return (writer->bit + 7) / 8;
}

void bit_reader_init(BitReader *reader, const void *data, u32 bytes)
{
    reader->data = data;
    reader->bytes = bytes;
    reader->bit = 0;
    reader->failed = false;
}

static u64 get_word(BitReader *reader, u32 count)
{
    u32 byte = reader->bit >> 3, shift = reader->bit & 7;
    const u8 *at = reader->data + byte;
    u64 word = 0;
    if (byte + sizeof word <= reader->bytes) {
        memcpy(&word, at, sizeof word);
    } else {
        for (u32 used = 0; used < shift + count; used += 8) {
            word |= (u64)*at++ << used;
        }
    }
    reader->bit += count;
    return (word >> shift) & low_mask(count);
}

u64 bits_get(BitReader *reader, u32 count)
{
    if (count == 0 || reader->failed) {
        return 0;
    }
    if ((u64)reader->bit + count > (u64)reader->bytes * 8) {
        reader->failed = true;
        return 0;
    }
    if (count > PUT_BITS_MAX) {
        u64 low = get_word(reader, 32);
        return low | get_word(reader, count - 32) << 32;
    }
    return get_word(reader, count);
}

void bits_put_unsigned(BitWriter *writer, u64 value)
{
    u32 width = bit_length(value);
    if (width >= WIDTH_ESCAPE) {
        bits_put(writer, WIDTH_ESCAPE, WIDTH_BITS);
        bits_put(writer, value, WORD_BITS);
        return;
    }
    bits_put(writer, width, WIDTH_BITS);
    if (width > 1) {
        bits_put(writer, value, width - 1);
    }
}

u64 bits_get_unsigned(BitReader *reader)
{
    u32 width = (u32)bits_get(reader, WIDTH_BITS);
    u64 value = 0;
    if (width == WIDTH_ESCAPE) {
        value = bits_get(reader, WORD_BITS);
    } else if (width > 0) {
        value = bits_get(reader, width - 1) | 1ull << (width - 1);
    }
    return reader->failed ? 0 : value;
}
