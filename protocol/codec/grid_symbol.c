/* grid_symbol.c: coding of numbers of any size, bit by bit. See grid_symbol.h. */
#include "protocol/codec/grid_symbol.h"

i32 grid_code_bits(GridCodec *codec, i32 value, u32 n)
{
    u32 size = i32_magnitude(value), length = u32_bit_length(size);
    for (; n < BIT_LENGTHS; n++) {
        if (code_bit(codec, SLOT_LONGER + u32_min(n, LONGER_MAX), n < length) == 0) {
            break;
        }
    }
    if (n == 0) {
        return 0;
    }
    u32 negative = code_bit(codec, SLOT_SIGN + u32_min(n - 1, 2), value < 0);
    u32 made = 1, left = n - 1;
    if (left > 0) {
        left--;
        made = made << 1 | code_bit(codec, SLOT_FIRST + u32_min(n - 2, 2), size >> left & 1);
    }
    if (left > 0) {
        made = made << left | range_bits(&codec->mix.coder, size & ((1u << left) - 1), left);
    }
    return (i32)(negative != 0 ? 0u - made : made);
}
