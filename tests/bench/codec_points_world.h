/*
 * codec_points_world.h: worlds of our own whose points the codec is trained and measured on, and
 * dumps of others: positions in metres, frame after frame.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_BENCH_CODEC_POINTS_WORLD_H
#define PLENUM_TESTS_BENCH_CODEC_POINTS_WORLD_H

#include "shared/base/base.h"

typedef struct PointTrace {
    f32 *at; /* [frames][count][3] m */
    u32 frames, count;
} PointTrace;

/* A block of liquid breaks in a tank: position-based fluids (Macklin and Müller 2013), 60 frames a
 * second. The seed chooses the block, the tank and the size of the particles; their number comes
 * out as about `particles`. Stops the program without memory. */
PointTrace codec_liquid(u64 seed, u32 particles, u32 frames);
/* side × side points of cloth in a wind of changing direction, a ball falls on it; 60 frames a
 * second. */
PointTrace codec_cloth(u64 seed, u32 side, u32 frames);
/* Raw little-endian f32 [frames][count][3]. Stops the program with a text if the file is not one:
 * its size, or a number that is not finite. */
PointTrace codec_points_load(const char *path, u32 count);
void codec_points_free(PointTrace *trace);

#endif
