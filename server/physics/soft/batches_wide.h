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

/* Eight constraints that share no particle, as BatchDistance; only the numbers of the kind are
 * present (wide_rows). */
typedef struct BatchWide {
    u16 point[4][SIMD_LANES]; /* areas repeat the first as the last */
    f32 compliance[SIMD_LANES];
    f32 low[SIMD_LANES];                      /* Neo-Hookean: 1 / (6 rest volumes) */
    f32 value[WIDE_ROWS_MAX - 2][SIMD_LANES]; /* of the shape; then the body's stiff_limit;
                                                 of hinges `high` */
} __attribute__((aligned(32))) BatchWide;

/* Numbers per lane of the kind, 0 for kinds not handled here. */
u32 wide_rows(u32 kind);
/* Runs one XPBD iteration on velocities for each of `count` batches of the run's kind; points
 * are those from the run's base, `scale` the role's factor / h². */
void wide_run(SoftPoint *points, const BatchRun *run, const void *batches, f32 h, f32 scale);
/* The second one of rigid hinges (constraint_rigid_hinge), from the last on. */
void wide_run_back(SoftPoint *points, const BatchRun *run, const void *batches, f32 h, f32 scale);

#endif
