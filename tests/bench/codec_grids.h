/*
 * codec_grids.h: water and smoke of our own as sequences of quantized grids: the training data of
 * the grid codec's tables, on which it is also measured, besides external dumps. Small solvers made
 * only for this purpose, independent of the world's.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_BENCH_CODEC_GRIDS_H
#define PLENUM_TESTS_BENCH_CODEC_GRIDS_H

#include "protocol/field/field.h"

typedef struct GridTrace {
    FieldDesc field;
    u32 frames;
    void *elements; /* [frames × field.capacity × field_element_bytes] */
} GridTrace;

/* Shallow water of 128 × 128 cells in a closed basin with drops and a moving body, after some
 * seconds of its own: heights above the bed, `hertz` frames a second. Method: staggered grid,
 * fluxes of mean depths. Two channels: the flow along x as well, in quantum × 10 a second. Stops
 * the program without memory. */
GridTrace codec_grid_water(u64 seed, u32 frames, u32 hertz, f32 quantum_m, u32 channels);
/* Smoke that rises through 64³ voxels around a ball, densities of 8 bits at 60 Hz. Method: stable
 * fluids (Stam 1999) with buoyancy. */
GridTrace codec_grid_smoke(u64 seed, u32 frames, u32 channels);
/* Scalars as probes and parameters would be: most rest, some oscillate, some jump. */
GridTrace codec_grid_scalars(u64 seed, u32 frames, u32 count);
/* Reads frames of dims[0] × dims[1] (× dims[2], 0: two dimensions) little-endian f32, row by row;
 * grids of two dimensions become u16, of three u8, of values from low to high in steps of quantum.
 * Stops the program with a text if the file's size does not fit, a number is not finite or out of
 * the range, or the range has more steps than the elements. */
GridTrace codec_grid_load(const char *path, const u32 dims[3], f32 quantum, f32 low, f32 high);
void codec_grid_free(GridTrace *trace);

typedef struct CodecGridsJob {
    const char *trace;  /* path of a dump, or NULL: worlds of our own */
    const char *dims;   /* "WxH" or "WxHxD" of the dump */
    const char *bounds; /* "LOW,HIGH" of its numbers */
    f64 quantum;        /* and their step */
    u32 delay;          /* frames between a state and its base */
    bool deep;          /* GRID3 */
} CodecGridsJob;

/* Codes and decodes frames as one code a frame and as packets, compares, and prints a line of JSON
 * for each kind of world, with zstd's figures of the same. Returns an exit status. */
int codec_grids_measure(const CodecGridsJob *job);
/* Trains the tables on worlds that are not measured and writes them to a file. */
int codec_grids_train(const char *path);

/* Frame f of the trace. */
static inline const u8 *codec_grid_frame(const GridTrace *trace, u32 frame)
{
    size_t bytes = (size_t)trace->field.capacity * field_element_bytes(&trace->field);
    return (const u8 *)trace->elements + frame * bytes;
}

#endif
