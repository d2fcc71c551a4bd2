/*
 * shallow_internal.h: arrays of the shallow water solver.
 * Layer: server/physics/grid, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_GRID_SHALLOW_INTERNAL_H
#define PLENUM_SERVER_PHYSICS_GRID_SHALLOW_INTERNAL_H

#include "server/physics/grid/shallow.h"
#include "shared/math/simd.h"

enum {
    SHALLOW_MARGIN = 8, /* columns before the first cell, and at least as many after the last */
    SHALLOW_GHOSTS = 2, /* rows and columns beyond the border that a step reads */
    SHALLOW_ROWS = 32,  /* of a tile, */
    SHALLOW_COLUMNS = 64,
    SHALLOW_REST = 32, /* calm calls of shallow_step after which a tile sleeps */
};
/* Thinner water (m) is slowed down: its velocity is the quotient of two tiny numbers. */
#define SHALLOW_THIN_CELLS   1e-3f
#define SHALLOW_THIN_MAX_M   1e-3f
#define SHALLOW_CALM_M_S     5e-4f
/* Where the bed bends by more than this part of the depth from cell to cell, values are constant
 * within cells: the half step in time would treat the bed's slope as the water's, and a ripple on a
 * lake over a rough bed would grow without bound. */
#define SHALLOW_SMOOTH       0.5f
/* Smaller flows (m²/s) and velocities (m/s) are set to 0: a film that thins out forever would fill
 * dry land with subnormal numbers, which processors compute slowly (a third of the time of a dam
 * break). Both sides of a face see the same, so no volume is lost. */
#define SHALLOW_TRICKLE      1e-12f
#define SHALLOW_CREEP_M_S    1e-10f
/* Courant numbers of waves, and of the water itself (a cell loses at most a quarter of its water
 * through each of its faces). */
#define SHALLOW_COURANT      0.45f
#define SHALLOW_COURANT_FLOW 0.25f

/* Depth and velocity of all cells, [rows][stride] each with ghosts. */
typedef struct ShallowState {
    f32 *depth, *u, *w;
} ShallowState;

/* Rows of one worker, [stride] each. */
typedef enum ShallowRow {
    ROW_EAST,                 /* level, depth, u, w of a cell at its face towards +x */
    ROW_WEST = ROW_EAST + 4,  /* and −x, */
    ROW_NORTH = ROW_WEST + 4, /* +z of the row before */
    ROW_X = ROW_NORTH + 4,  /* through the faces towards −x: volume, momentum for either side, */
                            /* momentum along the face */
    ROW_Z = ROW_X + 4,      /* through those towards −z of the row before, */
    ROW_Z_NEXT = ROW_Z + 4, /* and of this one */
    ROW_BED = ROW_Z_NEXT + 4, /* pressure of the bed along x and z, of the row before */
    ROW_BED_NEXT = ROW_BED + 2,
    ROW_DRY = ROW_BED_NEXT + 2, /* at the first of eight cells: they and their neighbours are dry,
                                 * of the row before */
    ROW_DRY_NEXT,
    ROW_SOUTH, /* depth of a cell at its face towards −z; only for water that counts momentum */
    ROW_COUNT
} ShallowRow;

struct Shallow {
    ShallowDef def;
    u32 stride, rows; /* with ghosts */
    size_t first;     /* index of cell (0, 0) */
    f32 *memory;
    f32 *bed; /* [rows][stride], ghosts included */
    ShallowState now, next;
    f32 *scratch; /* [workers][ROW_COUNT][stride] */
    u32 workers;
    u32 tiles[2];    /* along x and z */
    u8 *calm;        /* [tiles] calls without motion, up to SHALLOW_REST */
    u8 *frozen;      /* [tiles] asleep: still, and equal in `now` and `next` */
    f32 *tile_speed; /* [tiles] m/s, greatest component of a velocity, */
    f32 *tile_depth; /* and m, greatest depth, after the last step */
    f32 thin;        /* m */
    /* Of the step in progress. */
    f32 time_s, gravity, speed_limit;
    ShallowStats stats;
    bool counts;
    ShallowTaken taken;
    ShallowTaken *tallies; /* [tiles[1]] of a call */
};

/* shallow_step.c: one step of shallow->time_s from `now` to `next` for a row of tiles. */
void shallow_step_rows(void *context, u32 first, u32 end, u32 worker);
/* shallow_border.c: ghosts of `now`; those of the bed. */
void shallow_border(const Shallow *shallow);
void shallow_border_bed(const Shallow *shallow);

/* shallow_tally.c: for a call, for a row with its new values, and for a row with its faces. */
void shallow_tally_begin(Shallow *shallow);
void shallow_tally_row(const Shallow *shallow, f32 *const *rows, i32 k, ShallowTaken *to);
void shallow_tally_faces(const Shallow *shallow, f32 *const *rows, i32 k, ShallowTaken *to);
void shallow_tally_end(Shallow *shallow);

/* Whether the tile sleeps; across a periodic border, and false beyond another one. */
bool shallow_is_frozen(const Shallow *shallow, i32 tile_x, i32 tile_z);

/* Index of a cell; rows are padded and have ghost cells. */
static inline size_t shallow_at(const Shallow *shallow, i32 i, i32 k)
{
    return (size_t)((i64)shallow->first + (i64)k * shallow->stride + i);
}

#endif
