/*
 * batches_wide.h: constraints of three and four points, eight at a time.
 * Layer: server/physics/soft, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_BATCHES_WIDE_H
#define PLENUM_SERVER_PHYSICS_SOFT_BATCHES_WIDE_H

#include "server/physics/soft/batches.h"

enum {
    WIDE_ROWS_MAX = 13
};

/* Eight constraints that share no particle, as PackDistance; of the numbers only those of the kind
 * are there (wide_rows). */
typedef struct BatchWide {
    u16 point[4][SIMD_LANES]; /* the last is the first again for areas */
    f32 compliance[SIMD_LANES];
    f32 low[SIMD_LANES];                      /* Neo-Hookean: 1 / (6 rest volumes) */
    f32 value[WIDE_ROWS_MAX - 2][SIMD_LANES]; /* of the shape; then the body's stiff_limit */
} __attribute__((aligned(32))) BatchWide;

/* Numbers of a lane of the kind, 0 for kinds that are not of this sort. */
u32 wide_rows(u32 kind);
/* One XPBD iteration of each of `count` batches of the run's kind on velocities; points are those
 * from the run's base, `scale` the role's factor / h². */
void wide_run(SoftPoint *points, const BatchRun *run, const void *batches, f32 h, f32 scale);

#endif
