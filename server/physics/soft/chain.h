/*
 * chain.h: consecutive edges, solved together. A pass over single edges leaves a stretch that grows
 * with the square of their number, as each sees only its neighbours. Along a chain the XPBD
 * equations are tridiagonal, and elimination (Thomas 1949) gives all multipliers of a step at once:
 * ropes carry any load, as do the warp and weft of cloth and the boundaries of skins. Edges outside
 * chains (loops, short ends, diagonals) are still solved one by one.
 * Layer: server/physics/soft, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_CHAIN_H
#define PLENUM_SERVER_PHYSICS_SOFT_CHAIN_H

#include "server/physics/soft/batches.h"

/* Consecutive edges of a body. Only the ends may be pinned. */
typedef struct Chain {
    u32 first; /* in points: links + 1 of them */
    u32 links;
    u32 body;
    u32 color; /* chains of one piece and colour share no moving particle; for a line, its set */
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
    u8 *lines; /* [soft->count] bit set of the line sets that use the particle */
} Chains;

/* chain_find.c: finds chains of edges, as straight as possible, cut at piece borders (batches
 * must be cut already). Pieces of lines follow those of batches_place: group_count +
 * boundary_count + cut_count + index of the cut body. ERROR_MEMORY or 0; call chains_finish in
 * either case. */
int chains_find(Soft *soft, Chains *chains);
void chains_finish(Chains *chains);

/* Eight chains in the stream: this head, a ChainPoint for each point of the longest, and
 * CHAIN_ROWS scratch vectors per link if there are more than CHAIN_LOCAL. */
typedef struct ChainHead {
    u32 links;   /* of the longest; shorter ones stay at their last point */
    u32 even;    /* of the shortest */
    u32 tension; /* index of its first link's; the largest T h² w / l follows the last */
    u32 spare[5];
    f32 compliance[SIMD_LANES]; /* m/N */
} __attribute__((aligned(32))) ChainHead;

typedef struct ChainPoint {
    u32 at[SIMD_LANES];   /* bytes, offset of the point in the array */
    f32 rest[SIMD_LANES]; /* m, to the next; 0: no link, after the last */
} __attribute__((aligned(32))) ChainPoint;

enum {
    CHAIN_LOCAL = 128,
    CHAIN_ROWS = 11
};

/* Size in units of 32 bytes of a batch of `links` links. */
u32 chain_size(u32 links);
/* Solves one step of `count` batches in order; scale: factor on the compliance. tension: N s, of
 * all links in the previous step. */
void chain_run(SoftPoint *points, f32x8 *batches, f32x8 *tension, u32 count, f32 h, f32 scale);

#endif
