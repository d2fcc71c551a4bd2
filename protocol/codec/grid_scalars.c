/*
 * grid_scalars.c: scalars for grid_code.c: which of them change, and their residuals from linear
 * extrapolation, on an integer scale ordered like the f32 values.
 */
#include "protocol/codec/grid_symbol.h"

/* Maps the bits of an f32 to integers in the order of the values. */
static u32 ordered(u32 bits)
{
    return (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
}

static u32 unordered(u32 order)
{
    return (order >> 31) != 0 ? order & 0x7FFFFFFFu : ~order;
}

void grid_code_scalars(GridCodec *codec, const GridSpan *span, u32 *now, u32 count)
{
    u32 history = 0, last = 0;
    for (u32 i = 0; i < count; i++) {
        u32 old[GRID_STATES] = {0, 0, 0};
        for (u32 s = 0; s < GRID_STATES; s++) {
            const u32 *state = s < codec->known ? span->state[s] : NULL;
            old[s] = state != NULL ? state[i] : s > 0 ? old[s - 1] : 0;
        }
        u32 moved = (u32)(old[0] != old[1]) * 2 + (old[1] != old[2]);
        u32 motion = moved * 4 + codec->known;
        const u32 c[INPUTS] = {motion, (history & 15) * 4 + moved,
                               (history >> 7 & 1) * 8 + (history & 1) * 4 + moved};
        take(codec, KIND_CHANGED, c);
        u32 changed = code_bit(codec, 0, now[i] != old[0]);
        history = history << 1 | changed;
        if (changed == 0) {
            now[i] = old[0];
            continue;
        }
        u32 a = ordered(old[0]), b = ordered(old[1]), e = ordered(old[2]);
        u32 speed = u32_bit_length(i32_magnitude((i32)(a - b))),
            acceleration = u32_bit_length(i32_magnitude((i32)(a - 2 * b + e)));
        const u32 which[INPUTS] = {speed, acceleration * 4 + codec->known, last};
        take(codec, KIND_SCALAR, which);
        i32 off = code_signed(codec, (i32)(ordered(now[i]) - (2 * a - b)));
        now[i] = unordered(2 * a - b + (u32)off);
        last = u32_bit_length(i32_magnitude(off));
    }
}
