/*
 * codec_points.h: `plenum-bench codec --field points`: the size of points on the wire, compared
 * with zstd, and the training of their codec's starting tables.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_BENCH_CODEC_POINTS_H
#define PLENUM_TESTS_BENCH_CODEC_POINTS_H

#include "shared/base/base.h"

typedef struct CodecPointsJob {
    const char *trace; /* raw f32 [frames][points][3]; NULL: worlds of our own */
    u32 points;
    f64 quantum_m;      /* of a trace */
    const char *bounds; /* "x0,y0,z0,x1,y1,z1" m; NULL: those of the trace */
    u32 delay;          /* frames to the newest known state */
} CodecPointsJob;

/* Prints a line of JSON a measurement; returns the exit code. */
int codec_points_measure(const CodecPointsJob *job);
/* Trains on worlds that are not measured and writes the tables. */
int codec_points_train(const char *path);

#endif
