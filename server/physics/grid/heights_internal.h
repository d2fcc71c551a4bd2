/*
 * heights_internal.h: a pool and its bodies.
 * Layer: server/physics/grid, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_GRID_HEIGHTS_INTERNAL_H
#define PLENUM_SERVER_PHYSICS_GRID_HEIGHTS_INTERNAL_H

#include "server/physics/contact/bodies.h"
#include "server/physics/grid/heights_pool.h"
#include "server/physics/grid/shallow.h"
#include "server/physics/grid/wave.h"

/* A vertical line through a body, within a cell. Its ends move with the body within a tick: */
typedef struct PoolColumn {
    u32 cell;
    Vec3 middle;  /* m, of the part below the mean surface */
    f32 low, top; /* m, ends of the body's part above the bed */
    f32 risen;    /* m, since the start of the tick */
    f32 area;     /* m² */
    f32 under;    /* m, below the mean surface */
    f32 cover;    /* fraction of its cell's surface that the body pierces */
    f32 slope[2]; /* of the surface along x and z, in its cell */
    bool pierces; /* the mean surface: `under` grows as it sinks */
    /* Of the substep. */
    Vec3 arm;               /* m, from the body's centre */
    Vec3 slip;              /* m/s, against the water */
    Vec3 force, resistance; /* N; kg/s, against that */
} PoolColumn;

typedef struct PoolBody {
    u32 collider, thing;
    u32 first, end; /* columns [first, end) */
    f32 area;       /* m², of all of them */
    /* The surface around it, mostly without its own waves, m: */
    f32 level, slope[2];
} PoolBody;

/* An edge of the bed, from a cell towards its neighbour. */
typedef struct PoolFall {
    u32 cell, side;
    f32 owed; /* parcels that have flowed over it and have not been emitted yet */
    u32 shed; /* and that have */
} PoolFall;

typedef struct PoolHand {
    Vec3 place, target; /* m */
    f32 radius;
    u32 live;
} PoolHand;

/* Cells [first, end) of a row; none if first ≥ end. */
typedef struct PoolSpan {
    u32 first, end;
} PoolSpan;

struct Pool {
    PoolDef def;
    Shallow *shallow; /* one of the two */
    Wave *wave;
    f32 *bed;     /* [cells] m above the datum */
    f32 *held;    /* [cells] m of level displaced by bodies */
    f32 *wanted;  /* [cells] m that they should displace in this tick */
    f64 *pushed;  /* [cells][2] N s along x and z, from bodies, in this tick */
    u32 *touched; /* [touched_count ≤ cells] cells of which any of these is not 0 */
    u8 *listed;   /* [cells] in `touched` */
    u32 touched_count;
    PoolHand hands[POOL_HANDS_MAX];
    u32 hand_end;
    f32 parcel_m, parcel_kg; /* kg, of the parcels that it sheds; 0: none */
    PoolFall *falls;
    u32 fall_count, fall_capacity;
    u64 drawn; /* random numbers */
    /* NULL: no foam. Outside the spans of its rows it is 0. */
    f32 *foam, *foam_next; /* [cells] 0..1 */
    PoolSpan *foam_spans;  /* [2][size[1]] of both */
    /* Of the tick. */
    Collider colliders[POOL_COLLIDERS_MAX];
    u32 collider_count;
    u64 *pairs; /* collider, thing, cell: 4, 28, 32 bits; sorted */
    u32 pair_count, pair_capacity;
    PoolColumn *columns;
    u32 column_count, column_capacity;
    PoolBody *bodies;
    u32 body_count, body_capacity;
    f64 missing; /* m⁴: moment of the displaced volume about y = 0, which contains no water */
    f32 tick_s, gravity;
    Jobs *jobs;
    PoolStats stats;
};

/* Adds a cell to the list of those that bodies touch. */
void pool_touch(Pool *pool, u32 cell);
/* Adds to a cell's level and velocity between ticks. */
void pool_add(Pool *pool, u32 cell, f32 level, f32 u, f32 w);
/* heights_press.c: upward force on a column, N, and its increase as the column sinks, N/m. */
f32 pool_lift(const Pool *pool, const PoolColumn *column, f32 *stiffness);
/* Applies the volume and impulses of bodies at the end of a tick. */
void pool_displace(Pool *pool);

/* The submerged part of a column. */
static inline void pool_column_under(PoolColumn *column, const PoolBody *around)
{
    column->under = f32_max(f32_min(column->top, around->level) - column->low, 0.0f);
    column->middle.y = column->low + 0.5f * column->under;
}

/* heights_foam.c: a tick's foam, after the step. */
void pool_foam_step(Pool *pool);
/* For a body that in a tick sank by `sunk` m in a cell and accelerated its water by m/s; for a
 * parcel that fell into it. */
void pool_foam_of_body(Pool *pool, u32 cell, f32 sunk, f32 faster);
void pool_foam_of_parcel(Pool *pool, u32 cell);
void pool_foam_clear(Pool *pool);
void pool_serialize_foam(Pool *pool, State *state);

/* heights_shed.c */
void pool_serialize_falls(Pool *pool, State *state);

/* All cells, wet or not. */
static inline u32 pool_cells(const Pool *pool)
{
    return pool->def.size[0] * pool->def.size[1];
}

#endif
