/*
 * codec_zstd.h: a general compressor on the same data, for comparison with the codecs: zstd over
 * planes of bytes of differences, at levels 3 and 19, with the best of several differences.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_BENCH_CODEC_ZSTD_H
#define PLENUM_TESTS_BENCH_CODEC_ZSTD_H

#include "shared/base/base.h"

enum {
    CODEC_PASSES = 3, /* number of timed repetitions; the shortest counts */
};

enum {
    CODEC_ZSTD_WAYS = 4,
    CODEC_ZSTD_LEVELS = 2,
};

/* Levels 3 and 19. */
extern const int codec_zstd_levels[CODEC_ZSTD_LEVELS];

/* Zero-initialized: nothing was measured. */
typedef struct CodecZstd {
    u64 bytes[CODEC_ZSTD_WAYS][CODEC_ZSTD_LEVELS];
    u64 values[CODEC_ZSTD_WAYS];
} CodecZstd;

/* Compresses differences[count] of one frame, made in one of the ways (a kind of prediction that
 * the caller numbers): each is folded (0, −1, 1, −2, ... to 0, 1, 2, 3, ...) and cut into bytes,
 * and all the lowest bytes go first, then all the next. Arrange them so that similar ones are
 * adjacent. Ends the program if out of memory. */
void codec_zstd_frame(CodecZstd *zstd, u32 way, const i32 *differences, size_t count);
/* Bits a value at codec_zstd_levels[level], of the way that is best at that level; 0: nothing was
 * measured. */
f64 codec_zstd_bits(const CodecZstd *zstd, u32 level);

#endif
