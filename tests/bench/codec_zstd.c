/* codec_zstd.c: see codec_zstd.h. */
#include "tests/bench/codec_zstd.h"

#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

const int codec_zstd_levels[CODEC_ZSTD_LEVELS] = {3, 19};

static void *need(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "plenum-bench: out of memory\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

static u32 fold(i32 x)
{
    return (u32)x << 1 ^ (x < 0 ? UINT32_MAX : 0);
}

void codec_zstd_frame(CodecZstd *zstd, u32 way, const i32 *differences, size_t count)
{
    u32 most = 1, planes = 0;
    for (size_t i = 0; i < count; i++) {
        most |= fold(differences[i]);
    }
    for (; most != 0; most >>= 8) {
        planes++;
    }
    size_t raw = count * planes, bound = ZSTD_compressBound(raw);
    u8 *bytes = need(malloc(raw + 1)), *packed = need(malloc(bound));
    for (u32 plane = 0; plane < planes; plane++) {
        for (size_t i = 0; i < count; i++) {
            bytes[plane * count + i] = (u8)(fold(differences[i]) >> (8 * plane));
        }
    }
    for (u32 level = 0; level < CODEC_ZSTD_LEVELS; level++) {
        zstd->bytes[way][level] +=
            ZSTD_compress(packed, bound, bytes, raw, codec_zstd_levels[level]);
    }
    zstd->values[way] += count;
    free(bytes);
    free(packed);
}

f64 codec_zstd_bits(const CodecZstd *zstd, u32 level)
{
    f64 best = 0.0;
    for (u32 way = 0; way < CODEC_ZSTD_WAYS; way++) {
        if (zstd->values[way] > 0) {
            f64 bits = (f64)zstd->bytes[way][level] * 8.0 / (f64)zstd->values[way];
            best = best == 0.0 || bits < best ? bits : best;
        }
    }
    return best;
}
