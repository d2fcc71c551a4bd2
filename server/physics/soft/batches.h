/*
 * batches.h: constraints eight wide, and how they are cut into pieces that run in parallel.
 * A piece is a group of particles that nothing outside it is written by: some small bodies, or a
 * slab of a large one. Groups run first, then the boundaries between neighbouring slabs, then
 * chains through many of them, then what is left of a body (normally nothing): so threads meet two
 * to four times a step and not once a colour. The pieces depend on the bodies alone, never on the
 * number of threads: same pieces, same order within each, same bits.
 * Layer: server/physics/soft, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_BATCHES_H
#define PLENUM_SERVER_PHYSICS_SOFT_BATCHES_H

#include "server/physics/soft/soft_internal.h"
#include "shared/math/simd.h"

enum {
    BATCH_UNIT = 8, /* bytes: what an address may multiply an index by at no cost */
    BATCH_POINT = sizeof(SoftPoint) / BATCH_UNIT,
    BATCH_REACH = UINT16_MAX / BATCH_POINT /* points */
};

/* Eight constraints that share no particle. Points are so many units from the run's base; a lane
 * too many repeats lane 0 with all its numbers, so both store the same. */
typedef struct BatchDistance {
    u16 point[2][SIMD_LANES];
    f32 low[SIMD_LANES]; /* m */
} __attribute__((aligned(32))) BatchDistance;

typedef struct BatchLimits {
    u16 point[2][SIMD_LANES];
    f32 low[SIMD_LANES], high[SIMD_LANES]; /* m */
} __attribute__((aligned(32))) BatchLimits;

/* Batches of one sort, in the order of their colours; distances of one colour: no two of them share
 * a point that moves. */
typedef struct BatchRun {
    u32 at;    /* in the stream, in units of 32 bytes */
    u32 count; /* batches or constraints */
    u32 base;  /* particle */
    f32 compliance;
    u8 kind, role;
    u8 loose; /* not batches but indices of constraints, each solved alone */
    u8 exact; /* low equals high */
    u8 chain; /* batches of chain.h */
    u8 fixed; /* distances: the second points are pinned, and shared with others; other kinds: some
                 points are */
} BatchRun;

typedef struct BatchSpan {
    u32 first, count;
} BatchSpan;

typedef struct BatchGroup {
    BatchSpan particles; /* consecutive, or entries of `order` */
    BatchSpan bodies;    /* whole ones; none in a slab */
    BatchSpan runs;
    BatchSpan held; /* particles that rigid bodies hold */
    bool ordered;   /* particles are entries of `order` */
} BatchGroup;

/* Of the points of a body, or a slab (rotation.c): m is their mass, r and u are places and
 * velocities from those of the first, which keeps digits far from the origin. */
typedef struct RotationSums {
    Vec3 from, speed;           /* of the first */
    f64 mass;                   /* Σ m */
    f64 place[3], motion[3];    /* Σ m r, Σ m u */
    f64 momentum[3];            /* Σ m r × u */
    f64 xx, yy, zz, xy, xz, yz; /* Σ m r rᵀ */
    bool pinned;                /* one of them is held by the world */
} RotationSums;

/* A body that was cut. */
typedef struct BatchBody {
    u32 body;
    u32 first_group, first_boundary, group_count;
    BatchSpan runs; /* what is in no slab and no boundary */
} BatchBody;

enum {
    LINE_SETS = 3 /* a grid has its columns and two sorts of diagonals */
};

struct ConstraintBatches {
    BatchGroup *groups;    /* [group_count] */
    BatchSpan *boundaries; /* [boundary_count] of runs */
    BatchBody *cut;        /* [cut_count] */
    u32 group_count, boundary_count, cut_count;
    u32 group_capacity, boundary_capacity, cut_capacity;
    BatchSpan lines[LINE_SETS]; /* runs: chains from slab to slab; those of a set share nothing */
    BatchRun *runs;             /* [run_count] */
    u32 run_count, run_capacity;
    f32x8 *stream; /* batches, one run after the other */
    u32 stream_used, stream_capacity;
    f32x8 *tension; /* [tension_count] N s, of the links of chains in the last step */
    u32 tension_count;
    u32 particles;       /* when it was built */
    u32 *order;          /* [particles] particles of slabs along an axis */
    u32 *group_of;       /* [particles] */
    RotationSums *turns; /* [group_count] of slabs, in this step */
    u64 weight;          /* of all constraints, as multiples of a distance */
};

static inline SoftPoint *batch_point(SoftPoint *base, u16 at)
{
    return (SoftPoint *)(void *)((u8 *)base + (size_t)at * BATCH_UNIT);
}

/* batches_validate.c: part of soft_validate. */
void batches_validate(const Soft *soft);
void batches_serialize(ConstraintBatches *batches, State *state);
/* Solves runs one after the other. */
void batches_run(Soft *soft, BatchSpan runs, f32 h);

/* rotation.c, of a body that is cut: each slab before its constraints, then all of it; and after
 * them.
 */
void rotation_begin_slab(Soft *soft, u32 group);
void rotation_begin_cut(Soft *soft, const BatchBody *of);
void rotation_end_cut(Soft *soft, const BatchBody *of);

#endif
