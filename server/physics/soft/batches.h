/*
 * batches.h: constraints eight wide, partitioned into pieces that run in parallel. A piece is a
 * group of particles that no other piece writes: some small bodies, or a slab of a large one.
 * Groups run first, then the boundaries between neighbouring slabs, then chains across many slabs,
 * then the remaining constraints of a body (normally none). So threads synchronize two to four
 * times per step instead of once per colour. The pieces depend on the bodies alone, never on the
 * number of threads: same pieces, same order within each, same bits.
 * Layer: server/physics/soft, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_BATCHES_H
#define PLENUM_SERVER_PHYSICS_SOFT_BATCHES_H

#include "server/physics/soft/soft_internal.h"
#include "shared/math/simd.h"

enum {
    BATCH_UNIT = 8, /* bytes: addressing modes scale an index by up to this for free */
    BATCH_POINT = sizeof(SoftPoint) / BATCH_UNIT,
    BATCH_REACH = UINT16_MAX / BATCH_POINT /* points */
};

/* Eight constraints that share no particle. Points are in units of BATCH_UNIT from the run's
 * base; unused lanes repeat lane 0 with all its numbers, so both store the same. */
typedef struct BatchDistance {
    u16 point[2][SIMD_LANES];
    f32 low[SIMD_LANES]; /* m */
} __attribute__((aligned(32))) BatchDistance;

typedef struct BatchLimits {
    u16 point[2][SIMD_LANES];
    f32 low[SIMD_LANES], high[SIMD_LANES]; /* m */
} __attribute__((aligned(32))) BatchLimits;

/* Batches of one type, in the order of their colours; distances of one colour share no moving
 * point. */
typedef struct BatchRun {
    u32 at;         /* in the stream, in units of 32 bytes */
    u32 count;      /* batches or constraints */
    u32 base;       /* particle */
    f32 compliance; /* of distances; of hinges the least `high` */
    u8 kind, role;
    u8 loose; /* not batches but indices of constraints, solved one by one */
    u8 exact; /* low equals high */
    u8 chain; /* batches of chain.h */
    u8 fixed; /* distances: the second points are pinned and may be shared; other kinds: some
                 points are pinned */
} BatchRun;

typedef struct BatchSpan {
    u32 first, count;
} BatchSpan;

typedef struct BatchGroup {
    BatchSpan particles; /* a range, or entries of `order` */
    BatchSpan bodies;    /* whole bodies; none in a slab */
    BatchSpan runs;
    BatchSpan held; /* particles held by rigid bodies */
    bool ordered;   /* particles are entries of `order` */
} BatchGroup;

/* Sums over the points of a body or a slab (rotation.c): m is the mass, r and u are position and
 * velocity relative to those of the first point, which keeps precision far from the origin. */
typedef struct RotationSums {
    Vec3 from, speed;           /* of the first */
    f64 mass;                   /* Σ m */
    f64 place[3], motion[3];    /* Σ m r, Σ m u */
    f64 momentum[3];            /* Σ m r × u */
    f64 xx, yy, zz, xy, xz, yz; /* Σ m r rᵀ */
    bool pinned;                /* one of them is pinned to the world */
} RotationSums;

/* A body divided into slabs. */
typedef struct BatchBody {
    u32 body;
    u32 first_group, first_boundary, group_count;
    BatchSpan runs; /* constraints in no slab and no boundary */
} BatchBody;

enum {
    LINE_SETS = 3 /* a grid has its columns and two sets of diagonals */
};

struct ConstraintBatches {
    BatchGroup *groups;    /* [group_count] */
    BatchSpan *boundaries; /* [boundary_count] of runs */
    BatchBody *cut;        /* [cut_count] */
    u32 group_count, boundary_count, cut_count;
    u32 group_capacity, boundary_capacity, cut_capacity;
    BatchSpan lines[LINE_SETS]; /* runs: chains across slabs; those of one set share no point */
    BatchRun *runs;             /* [run_count] */
    u32 run_count, run_capacity;
    f32x8 *stream; /* batches, run after run */
    u32 stream_used, stream_capacity;
    f32x8 *tension; /* [tension_count] N s, of chain links in the last step */
    u32 tension_count;
    u32 particles;           /* count when it was built */
    u32 *order;              /* [particles] particles of slabs sorted along an axis */
    u32 *group_of;           /* [particles] */
    RotationSums *rotations; /* [group_count] of slabs, in this step */
    u64 weight;              /* of all constraints, in units of one distance */
};

/* A particle by its 16-bit offset from a base. */
static inline SoftPoint *batch_point(SoftPoint *base, u16 at)
{
    return (SoftPoint *)(void *)((u8 *)base + (size_t)at * BATCH_UNIT);
}

/* batches_validate.c: part of soft_validate. */
void batches_validate(const Soft *soft);
void batches_serialize(ConstraintBatches *batches, State *state);
/* Solves the runs in order. */
void batches_run(Soft *soft, BatchSpan runs, f32 h);

/* rotation.c, for a body divided into slabs: each slab before its constraints, then the whole
 * body; and after them. */
void rotation_begin_slab(Soft *soft, u32 group);
void rotation_begin_cut(Soft *soft, const BatchBody *of);
void rotation_end_cut(Soft *soft, const BatchBody *of);

#endif
