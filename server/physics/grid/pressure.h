/*
 * pressure.h: Poisson's equation on a grid of air: of a cell with d neighbours that are not behind
 * a closed side, d x − Σ x of its neighbours = b, with x = 0 on open sides. Sleeping bricks that
 * hang together are still air of one pressure: one more unknown, or 0 where they reach an open side
 * (pressure_still.c). Methods: damped Jacobi; conjugate gradients with a symmetric Gauss-Seidel
 * sweep (red and black within bricks' rows, the rows by colours) as preconditioner; the same with a
 * V-cycle of multigrid with such sweeps (McAdams, Sifakis & Teran 2010, "A parallel multigrid
 * Poisson solver for fluids simulation on large grids").
 * Layer: server/physics/grid, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_GRID_PRESSURE_H
#define PLENUM_SERVER_PHYSICS_GRID_PRESSURE_H

#include "server/physics/grid/air_grid.h"

enum {
    PRESSURE_LEVELS_MAX = 12,
    PRESSURE_ROWS = 9, /* tables of diagonals, by air_pressure_row */
};

typedef enum PressureMethod {
    PRESSURE_MULTIGRID,
    PRESSURE_GRADIENTS,
    PRESSURE_JACOBI,
    PRESSURE_METHODS
} PressureMethod;

typedef struct PressureLevel {
    AirGrid grid; /* of the finest level: shares its spans with the owner */
    f32 *x, *b, *r;
    f32 *diagonal[PRESSURE_ROWS], *inverse[PRESSURE_ROWS]; /* d and 1/d by x; 0 beyond the grid */
    /* Of a coarse level while bricks sleep: 1/d of each cell; 0, and x = 0, over those. */
    f32 *open;
} PressureLevel;

/* Sleeping bricks that hang together. */
typedef struct PressureStill {
    u32 faces, bricks; /* faces to awake bricks */
    bool held;         /* x is 0: an open side, or the largest of a closed grid */
    f64 x, b;          /* as those of a cell that has all these faces */
    f64 better, direction, product;
} PressureStill;

/* Faces between an awake brick and a sleeping one. */
typedef struct PressurePatch {
    u32 still, axis;
    bool above;       /* the sleeping one is */
    i32 inner, outer; /* first cells, awake and asleep */
    i32 count[2], step[2];
} PressurePatch;

typedef struct Pressure {
    u32 levels;
    PressureLevel level[PRESSURE_LEVELS_MAX];
    /* Of the finest level: b is the residual, of the solution it starts from and then of what that
     * has become; level[0].x the preconditioned residual. */
    f32 *solution, *direction;
    f32 *from, *to; /* Jacobi: what is added to the solution */
    f64 *sums;      /* [spans of the finest level] */
    f64 *totals;    /* [the same] Σ of the residual, or of the preconditioned one */
    /* Still air; its cells next to awake ones hold its x in solution during a tick and, while
     * solving, in direction. */
    PressureStill *still;                     /* [bricks] */
    PressurePatch *patches;                   /* [6 × bricks] */
    u32 *label, *queue;                       /* [bricks] number of a sleeping brick's still air */
    u32 still_count, patch_count, free_count; /* free: not held */
    Jobs *jobs;
    f32 step;      /* α or β of the loop at work */
    f32 shift;     /* subtracted from the right-hand side, or the preconditioned residual */
    bool singular; /* no open side: x is known up to a constant */
    bool periodic;
    bool sparse; /* some bricks sleep */
    bool closed; /* no side of the grid is open */
    bool gains;  /* set by the owner: b may contain more than flows between cells */
} Pressure;

typedef struct PressureResult {
    u32 iterations;
    f64 residual; /* root mean square, in units of b */
} PressureResult;

/* Memory for a grid, whose spans it uses; with `at` (64-byte aligned) places it there. */
u64 air_pressure_place(Pressure *pressure, const AirGrid *grid, u8 *at);
/* Zeros all that a solve leaves behind. */
void air_pressure_clear(Pressure *pressure);
/* After the grid's spans changed. */
void air_pressure_spans(Pressure *pressure, const AirGrid *grid);
/* Solves, from the solution that there is, until the residual's root mean square is at most
 * `tolerance`, in at most `most` iterations. The solution's ghosts are those of air_ghosts with 0
 * outside. */
PressureResult air_pressure_solve(Pressure *pressure, PressureMethod method, f64 tolerance,
                                  u32 most, Jobs *jobs);

/* pressure_still.c */
u64 air_still_place(Pressure *pressure, const AirGrid *grid, u8 *at);
/* Finds the still air, after the grid's spans changed. */
void air_still_find(Pressure *pressure);
/* Its pressure begins as the mean of the solution at its faces. Between ticks, as in images, it is
 * 0 like that of all sleeping bricks. */
void air_still_begin_tick(Pressure *pressure);
void air_still_end_tick(Pressure *pressure);
/* Before a solve: its b, from the velocities of low faces. */
void air_still_source(Pressure *pressure, f32 *const velocity[3]);
f64 air_still_gain(const Pressure *pressure); /* Σ b, with those held */
/* Sums of its pressure over its faces, against axes: what it took of the air's momentum. */
void air_still_push(const Pressure *pressure, f64 push[3]);
/* Parts of a solver's loop, for what is not held; they return what its sums lack. */
f64 air_still_begin(Pressure *pressure);        /* b² */
f64 air_still_precondition(Pressure *pressure); /* b · better */
void air_still_turn(Pressure *pressure);
f64 air_still_apply(Pressure *pressure);            /* direction · product */
f64 air_still_step(Pressure *pressure);             /* b² */
f64 air_still_jacobi(Pressure *pressure, f32 part); /* square of the residual */
/* After the loop; `jacobi`: x is what was added. */
void air_still_end(Pressure *pressure, bool jacobi);

/* pressure_level.c: one V-cycle for level[0].b, into level[0].x; `levels` 1: a sweep. Sums:
 * b · x. */
void air_pressure_cycle(Pressure *pressure, u32 levels);
/* b − A x of a vector of 8, ghosts of x as they are. */
SIMD_INLINE f32x8 air_pressure_near(const f32 *x, i32 row, i32 slab, bool deep)
{
    f32x8 sum = (air_load(x - 1) + air_load(x + 1)) + (air_load(x - row) + air_load(x + row));
    return deep ? sum + (air_load(x - slab) + air_load(x + slab)) : sum;
}
/* The table of a row: an open side adds one to d (the ghost is the mirror image, negative), a
 * closed one takes one away. */
SIMD_INLINE i32 air_pressure_side(AirSide side)
{
    return side == AIR_OPEN ? 1 : side == AIR_CLOSED ? -1 : 0;
}
static inline u32 air_pressure_row(const AirGrid *grid, i32 y, i32 z)
{
    const AirSide *sides = grid->sides;
    i32 more = 4;
    more += y == 0 ? air_pressure_side(sides[2]) : 0;
    more += y == grid->n[1] - 1 ? air_pressure_side(sides[3]) : 0;
    if (grid->dims == 3) {
        more += z == 0 ? air_pressure_side(sides[4]) : 0;
        more += z == grid->n[2] - 1 ? air_pressure_side(sides[5]) : 0;
    }
    return (u32)more;
}
/* 1/d of the cells of a row, from x = 0 on. */
static inline const f32 *air_pressure_inverse(const Pressure *pressure, const PressureLevel *level,
                                              i32 y, i32 z)
{
    return pressure->sparse && level->open != NULL
               ? level->open + air_at(&level->grid, 0, y, z)
               : level->inverse[air_pressure_row(&level->grid, y, z)];
}
/* The solution, and what is interpolated, changes sign beyond an open side. */
static const AirBeyond air_pressure_beyond = {-1.0f, 0.0f, false},
                       air_pressure_folded = {-1.0f, 0.0f, true};

#endif
