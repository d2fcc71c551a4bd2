/*
 * chain.h: edges one behind the other, solved together. A pass over edges one by one leaves a
 * stretch that grows with the square of their number, as each hears of its neighbours only; along a
 * chain the equations of XPBD are tridiagonal, and elimination (Thomas 1949) gives all multipliers
 * of a step at once: ropes carry any load, cloth its threads along and across, skins their
 * boundaries. What is no chain (loops, short ends, diagonals) is solved one by one as before.
 * Layer: server/physics/soft, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_CHAIN_H
#define PLENUM_SERVER_PHYSICS_SOFT_CHAIN_H

#include "server/physics/soft/batches.h"

/* Edges of a body in a row. Only its ends may be pinned. */
typedef struct Chain {
    u32 first; /* in points: links + 1 of them */
    u32 links;
    u32 body;
    u32 color; /* those of one piece and colour share no particle that moves; of a line its set */
    u32 piece; /* as batches_place */
    u32 role;  /* of its edges */
} Chain;

/* The chains of all bodies of SOFT_XPBD. */
typedef struct Chains {
    Chain *chains; /* [count] */
    u32 count, capacity;
    u32 *points; /* [point_count] */
    u32 point_count, point_capacity;
    u32 *edges; /* [point_count] constraint from each point to the next; SOFT_NONE after the last */
    u32 edge_capacity;
    u8 *taken; /* [soft->constraint_count] constraint is part of a chain */
    u8 *lines; /* [soft->count] sets of lines that have the particle, a bit each */
} Chains;

/* chain_find.c: chains of the edges, as straight as they go, cut where pieces ask for it (batches
 * must be cut already). Pieces of lines follow those of batches_place: group_count + boundary_count
 * + cut_count + which cut body. ERROR_MEMORY or 0; chains_finish in either case. */
int chains_find(Soft *soft, Chains *chains);
void chains_finish(Chains *chains);

/* Eight chains, in the stream: this head, a ChainPoint for each point of the longest, and room for
 * numbers of CHAIN_ROWS vectors a link where there are more than CHAIN_LOCAL. */
typedef struct ChainHead {
    u32 links;   /* of the longest; shorter ones stay at their last point */
    u32 even;    /* of the shortest */
    u32 tension; /* index of its first link's; after the last is the most of T h² w / l */
    u32 spare[5];
    f32 compliance[SIMD_LANES]; /* m/N */
} __attribute__((aligned(32))) ChainHead;

typedef struct ChainPoint {
    u32 at[SIMD_LANES];   /* bytes, of the point from the first of all */
    f32 rest[SIMD_LANES]; /* m, to the next; 0: after the last, no link */
} __attribute__((aligned(32))) ChainPoint;

enum {
    CHAIN_LOCAL = 128,
    CHAIN_ROWS = 11
};

/* Units of 32 bytes of a batch of so many links. */
u32 chain_size(u32 links);
/* One step of `count` batches, one after the other; scale: factor on the compliance. tension: N s,
 * of all links in the step before. */
void chain_run(SoftPoint *points, f32x8 *batches, f32x8 *tension, u32 count, f32 h, f32 scale);

#endif
