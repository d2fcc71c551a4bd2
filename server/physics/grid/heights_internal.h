/*
 * heights_internal.h: a pool and its bodies.
 * Layer: server/physics/grid, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_GRID_HEIGHTS_INTERNAL_H
#define PLENUM_SERVER_PHYSICS_GRID_HEIGHTS_INTERNAL_H

#include "server/physics/grid/heights_pool.h"
#include "server/physics/grid/shallow.h"
#include "server/physics/grid/wave.h"

/* A vertical line through a body, within a cell. */
typedef struct PoolColumn {
    u32 collider, thing, cell;
    Vec3 middle;  /* m, of the part below the surface */
    f32 area;     /* m² */
    f32 under;    /* m, below the surface */
    f32 slope[2]; /* of the surface along x and z */
    f32 size;     /* m, root of the body's area in the water */
    f32 all;      /* m², that area */
    f32 risen;    /* m, since the start of the tick */
    bool pierces; /* the surface: `under` grows as it sinks */
} PoolColumn;

typedef struct PoolHand {
    Vec3 place, target; /* m */
    f32 radius;
    u32 live;
} PoolHand;

struct Pool {
    PoolDef def;
    Shallow *shallow; /* one of the two */
    Wave *wave;
    f32 *bed;     /* [cells] m above the datum */
    f32 *held;    /* [cells] m, of the level, that bodies displace */
    f32 *wanted;  /* [cells] m, that they should, in this tick */
    f64 *pushed;  /* [cells][2] N s along x and z, from bodies, in this tick */
    u32 *touched; /* [touched_count ≤ cells] cells of which any of these is not 0 */
    u8 *listed;   /* [cells] in `touched` */
    u32 touched_count;
    PoolHand hands[POOL_HANDS_MAX];
    u32 hand_end;
    /* Of the tick. */
    Collider colliders[POOL_COLLIDERS_MAX];
    u32 collider_count;
    u64 *pairs; /* collider, thing, cell: 4, 28, 32 bits; sorted */
    u32 pair_count, pair_capacity;
    PoolColumn *columns;
    u32 column_count, column_capacity;
    f32 tick_s, gravity;
    Jobs *jobs;
    PoolStats stats;
};

/* Puts a cell on the list of those that bodies touch. */
void pool_touch(Pool *pool, u32 cell);
/* Adds to a cell's level and velocity between ticks. */
void pool_add(Pool *pool, u32 cell, f32 level, f32 u, f32 w);
/* heights_float.c: what bodies displaced and pushed, at the end of a tick. */
void pool_displace(Pool *pool);

static inline u32 pool_cells(const Pool *pool)
{
    return pool->def.size[0] * pool->def.size[1];
}

#endif
