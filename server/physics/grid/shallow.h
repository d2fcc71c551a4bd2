/*
 * shallow.h: shallow water over terrain on a grid of square cells: depth and horizontal velocity,
 * by well-balanced finite volumes of second order. Water runs, breaks in bores, floods dry land
 * and falls dry; a lake at rest stays at rest on any bed; volume is conserved to rounding.
 *
 * Cell (i, k) has its centre at ((i + 0.5) cell, (k + 0.5) cell) along x and z of the grid, which
 * the owner places in the world. Heights are relative to the owner's datum: a datum near the water
 * preserves their precision.
 * Methods: Audusse et al. 2004 (hydrostatic reconstruction), van Leer 1977 and 1979 (limited
 * slopes, half step in time: MUSCL-Hancock, without splitting of the directions), Harten, Lax and
 * van Leer 1983 (flux), Kurganov & Petrova 2007 (velocity of thin water), implicit friction. Units
 * SI. A step allocates nothing. The same bits for any number of threads.
 * Layer: server/physics (includes shared only).
 */
#ifndef PLENUM_SERVER_PHYSICS_GRID_SHALLOW_H
#define PLENUM_SERVER_PHYSICS_GRID_SHALLOW_H

#include "server/physics/grid/heights.h"
#include "server/physics/state.h"
#include "shared/base/error.h"
#include "shared/base/jobs.h"

enum {
    SHALLOW_STEPS_MAX = 32, /* of one call of shallow_step; beyond that, water is slowed down */
};

typedef struct ShallowDef {
    u32 size[2];                            /* cells along x and z, 1..HEIGHTS_SIDE_MAX */
    f32 cell_m;                             /* side of a cell, HEIGHTS_CELL_MIN_M.. */
    WaterBorder border[HEIGHTS_SIDE_COUNT]; /* periodic: on both opposite sides, or neither */
    f32 friction;                           /* of the bed: c in −c |u| u / depth, 0..1 */
    f32 damping;                            /* 1/s, 0..100 */
    bool awake;                             /* still water is computed, too */
} ShallowDef;

typedef struct Shallow Shallow;

/* Closed borders, no friction, cells of 0.1 m. */
ShallowDef shallow_def_default(void);
/* Whether it can be simulated; an error names the member. */
Error shallow_check(const ShallowDef *def, ErrorText *error);
u64 shallow_bytes(const ShallowDef *def);
/* A dry grid on a flat bed at height 0. NULL: the definition is invalid, or no memory. */
Shallow *shallow_create(const ShallowDef *def, ErrorText *error);
void shallow_destroy(Shallow *shallow); /* NULL is fine */
/* Dries it; the bed stays. */
void shallow_clear(Shallow *shallow);
/* Changes friction and damping, within their ranges; false: out of range, nothing changed. */
bool shallow_tune(Shallow *shallow, f32 friction, f32 damping);

/* Sets the bed, [size[1]][size[0]] m; depths and velocities stay. False, and nothing changes: a
 * height is not finite or beyond HEIGHTS_LEVEL_MAX_M. */
bool shallow_set_bed(Shallow *shallow, const f32 *bed);
/* The bed of one cell, m; its depth and velocity stay. Out of range: nothing. */
void shallow_set_bed_at(Shallow *shallow, u32 i, u32 k, f32 height);
/* Sets one cell between steps and wakes its surroundings: depth m (kept within
 * 0..HEIGHTS_DEPTH_MAX_M), velocity m/s along x and z. Values that are not finite are 0. */
void shallow_set(Shallow *shallow, u32 i, u32 k, f32 depth, f32 u, f32 w);

/* ---- between steps; rows are `stride` apart ---- */

/* Cell (i, k) is at [k · stride + i]. */
typedef struct ShallowCells {
    const f32 *bed, *depth; /* m */
    const f32 *u, *w;       /* m/s along x and z */
    u32 stride;
} ShallowCells;
ShallowCells shallow_cells(const Shallow *shallow);

/* Advances by time_s > 0 under a downward gravity (m/s², at least 0) in as many steps as waves
 * need, at most SHALLOW_STEPS_MAX. */
void shallow_step(Shallow *shallow, f32 time_s, f32 gravity, Jobs *jobs);
void shallow_wake(Shallow *shallow);

/* Momentum that the water lost in the last shallow_step, m⁴/s along x and z (as in ShallowSums), by
 * cause: its momentum plus all losses so far is constant, to rounding. Only for water that counts
 * it, which then never sleeps. */
typedef struct ShallowTaken {
    f64 sides[HEIGHTS_SIDE_COUNT][2]; /* by pressure and outflow; periodic ones none */
    f64 bed[2];                       /* by pressure on its slopes */
    f64 friction[2];                  /* of the bed, damping, and velocity limits */
} ShallowTaken;
void shallow_count(Shallow *shallow, bool counts);
ShallowTaken shallow_taken(const Shallow *shallow);

typedef struct ShallowStats {
    u32 steps;       /* of the last shallow_step */
    u32 tiles_awake; /* of them computed in its last one, */
    u32 tiles;       /* of all */
    f32 slowed;      /* < 1: factor on gravity, where waves would need more than SHALLOW_STEPS_MAX
                      * steps */
    f32 speed_max;   /* m/s: fastest water */
} ShallowStats;
ShallowStats shallow_stats(const Shallow *shallow);

/* Sums over all cells, in double and in order; energies need the density (kg/m³). Zero of the
 * potential is the datum. */
typedef struct ShallowSums {
    f64 volume;      /* m³ */
    f64 momentum[2]; /* m⁴/s: volume times velocity along x and z */
    f64 kinetic;     /* m⁵/s²: energy by density */
    f64 potential;   /* m⁴: energy by density and gravity */
} ShallowSums;
ShallowSums shallow_sums(const Shallow *shallow);

/* Serializes depths and velocities (not the definition or the bed). After a failure the grid is
 * dry. */
void shallow_serialize(Shallow *shallow, State *state);
/* NULL if the grid is consistent between steps, else the reason. */
const char *shallow_validate(const Shallow *shallow);

#endif
