/*
 * heights_pool.h: a pool: a grid of water (shallow.h or wave.h) placed in the world, with
 * everything that disturbs it: floating bodies, hands, pushes, springs and drains, rain. A tick is
 *   pool_begin, for each substep of the world pool_substep, pool_finish
 * with the colliders of the bodies in begin.
 *
 * Bodies. A body is sampled by vertical lines through cells: the part of each below the surface
 * displaces water, is lifted by the level of its cell, and is dragged by the water's motion. The
 * displaced volume raises the level of its cell, whose water runs off: so bodies make waves, and
 * the volume of the pool's water plus that displaced by bodies is constant (Chentanez & Müller
 * 2010, "Real-time simulation of large bodies of water"). Horizontal impulses are exchanged with
 * the momentum of the cells of shallow water; vertical ones with its bed. The wave equation has no
 * momentum: there a push makes waves.
 * Units SI, world axes; y is up. A tick allocates nothing after the first few.
 * Layer: server/physics (includes shared only).
 */
#ifndef PLENUM_SERVER_PHYSICS_GRID_HEIGHTS_POOL_H
#define PLENUM_SERVER_PHYSICS_GRID_HEIGHTS_POOL_H

#include "server/physics/contact/contact.h"
#include "server/physics/grid/heights.h"
#include "server/physics/state.h"
#include "shared/base/jobs.h"

enum {
    POOL_COLLIDERS_MAX = 4,
    POOL_HANDS_MAX = 256,
};
/* Greatest change of the water's speed by a push or a hand, m/s. */
#define POOL_PUSH_M_S 10.0f

/* The options of shared/rows/water.def that concern the solver, in SI units. depth_m: of the floor
 * below the datum; group and mask 0: 1 and all. */
typedef struct PoolDef {
#define SOLVER_ROWS
#define MEMBER(type, name) type name;
#include "shared/rows/water.def"
    u32 size[2]; /* cells along x and z */
    WaterBorder border[HEIGHTS_SIDE_COUNT];
    Vec3 corner; /* m: x and z of the corner of cell (0, 0), y of the level at rest (the datum) */
    bool awake;  /* never sleeps */
} PoolDef;

typedef struct Pool Pool;

/* Memory that pool_create takes. */
u64 pool_bytes(const PoolDef *def);
/* Full to the datum over a flat floor. NULL: the definition is invalid, or no memory. */
Pool *pool_create(const PoolDef *def, ErrorText *error);
void pool_destroy(Pool *pool); /* NULL is fine */
/* At rest and full to the datum over its bed; no hands. */
void pool_clear(Pool *pool);
/* Shallow only: sets the heights of the bed above the datum, [size[1]][size[0]] m; the level stays.
 * False: a height is not finite or out of range, and nothing changed. */
bool pool_set_bed(Pool *pool, const f32 *bed);
f32 pool_bed(const Pool *pool, u32 i, u32 k);
/* Shallow only, between ticks: the bed of a cell moves, and lifts or lowers its water. Then, when
 * all have moved, pool_find_falls. */
void pool_move_bed(Pool *pool, u32 i, u32 k, f32 height);
void pool_find_falls(Pool *pool);
/* Between ticks; both are kept within the ranges of their options. */
void pool_tune(Pool *pool, f32 friction, f32 damping);
/* Shallow only: sets the level of a cell above the datum (or makes it dry) and its flow to u, w
 * m/s. */
void pool_set_level(Pool *pool, u32 i, u32 k, f32 level, f32 u, f32 w);

/* ---- between ticks ---- */

/* m above the datum: the surface, or the bed of a dry cell. */
f32 pool_level(const Pool *pool, u32 i, u32 k);
/* m, 0 of a dry cell. */
f32 pool_depth(const Pool *pool, u32 i, u32 k);
/* m/s along x and z; 0 of waves. */
void pool_flow(const Pool *pool, u32 i, u32 k, f32 *u, f32 *w);
/* Fraction of a cell covered by foam, 0..1. */
f32 pool_foam(const Pool *pool, u32 i, u32 k);
/* The cell at a position; false: outside the grid. */
bool pool_cell(const Pool *pool, Vec3 place, u32 *i, u32 *k);

/* Shallow only: adds a volume (m³; negative: removes, at most as much as there is) over a disc of
 * `radius` around a point. Returns what was added. */
f64 pool_pour(Pool *pool, Vec3 place, f32 radius, f64 volume);
/* An impulse (N s) on the water within `radius`: a horizontal one moves it along, a downward one
 * drives it apart. */
void pool_push(Pool *pool, Vec3 place, f32 radius, Vec3 impulse);
/* A drop: presses a cell down by `depth` m and raises its neighbours, then raises it by what the
 * drop brings, `more` m, which is at rest. Returns how much of that there was room for. */
f32 pool_drop(Pool *pool, u32 i, u32 k, f32 depth, f32 more);

/* Hands drag water. `hand` < POOL_HANDS_MAX is the caller's number. */
bool pool_hand_grab(Pool *pool, u32 hand, Vec3 place, f32 radius);
void pool_hand_drag(Pool *pool, u32 hand, Vec3 target); /* non-finite targets are ignored */
void pool_hand_release(Pool *pool, u32 hand);
bool pool_hand_holds(const Pool *pool, u32 hand);

/* ---- tick ---- */

/* Wakes bodies that the water's motion reaches. */
void pool_begin(Pool *pool, const Collider *colliders, u32 count, f32 tick_s, f32 gravity,
                Jobs *jobs);
void pool_substep(Pool *pool, f32 h);
void pool_finish(Pool *pool);
void pool_wake(Pool *pool);

/* ---- parcels, after pool_finish ---- */

/* Water outside the grid: drops of equal mass, moved by another solver. */
typedef struct PoolParcel {
    Vec3 position, velocity;
} PoolParcel;

/* Takes a parcel over; false: not now, it stays in the pool. */
typedef struct PoolTaker {
    bool (*take)(void *context, const PoolParcel *parcel);
    void *context;
} PoolTaker;

/* Shallow only: size and mass of parcels, before the first tick; 0: the pool sheds none. */
void pool_set_parcels(Pool *pool, f32 size_m, f32 mass_kg);
/* Sheds parcels where water falls over an edge of the bed at least three parcels high, and where a
 * front breaks. The pool loses their mass and horizontal momentum; energy never grows: a front
 * throws them up with a fraction of the energy that it loses. */
void pool_shed(Pool *pool, const PoolTaker *to);
/* Whether a falling parcel is at the surface, or on dry bed: then it is added to the water, with
 * its mass and horizontal momentum, and the caller removes it. */
bool pool_catch(Pool *pool, const PoolParcel *parcel);

/* ---- measurements and state ---- */

typedef struct PoolSums {
    f64 volume;             /* m³ of water without displaced volume; of waves above rest */
    f64 displaced;          /* m³ */
    f64 kinetic, potential; /* J; of the water without bodies, potential zero at y = 0 */
    f64 momentum[3];        /* kg m/s */
} PoolSums;
PoolSums pool_sums(const Pool *pool, f32 gravity);

/* Momentum that shallow water lost in the last tick, N s, by cause: the momentum of the water and
 * of the bodies in it plus all losses so far is constant to rounding. Only for a pool that counts
 * it, whose water then never sleeps; not counted are the vertical forces: the weight of the water
 * and of floating bodies. */
typedef struct PoolTaken {
    f64 sides[HEIGHTS_SIDE_COUNT][3]; /* by pressure and outflow */
    f64 bed[3];                       /* by pressure */
    f64 friction[3];                  /* of the bed, damping, and velocity limits */
} PoolTaken;
void pool_count(Pool *pool);
PoolTaken pool_taken(const Pool *pool);

typedef struct PoolStats {
    bool awake;
    u32 bodies, columns; /* in the water, and lines through them, in the last tick */
    u32 shed, caught;    /* parcels, in the last tick */
    f32 slowed;          /* < 1: waves are slowed down for stability (shallow.h, wave.h) */
} PoolStats;
PoolStats pool_stats(const Pool *pool);

/* Counts, hashes, saves or loads all state (state.h). */
void pool_serialize(Pool *pool, State *state);
/* NULL if consistent between ticks, else the reason. */
const char *pool_validate(const Pool *pool);

#endif
