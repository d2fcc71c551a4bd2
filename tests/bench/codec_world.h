/*
 * codec_world.h: worlds of our own as sequences of quantized poses: the training data of the
 * codec's tables, on which it is also measured, besides recorded traces.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_BENCH_CODEC_WORLD_H
#define PLENUM_TESTS_BENCH_CODEC_WORLD_H

#include "protocol/field/field.h"

typedef struct PoseTrace {
    QPose *poses; /* [frames × count] */
    u32 frames, count;
    u32 rotation_bits; /* 9 or 10, see pose_code.h */
} PoseTrace;

typedef enum CodecWorld {
    CODEC_WORLD_PUSH, /* a big cube drives and blows through a field of small ones */
    CODEC_WORLD_ROLL, /* it draws them to itself and rolls */
    CODEC_WORLD_DROP, /* boxes, balls and capsules fall into a bin */
    CODEC_WORLDS
} CodecWorld;

/* Simulates a world at 60 Hz from a seed. Stops the program without memory. */
PoseTrace codec_world(CodecWorld kind, u64 seed, u32 frames);
/* A trace of the "901 cubes" challenge: frames of 901 × 8 little-endian i32 {largest, a, b, c, x,
 * y, z, interacting}, z up. Stops the program with a text if the file is not one. */
PoseTrace codec_trace_load(const char *path);
void codec_trace_free(PoseTrace *trace);

#endif
