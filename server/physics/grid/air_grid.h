/*
 * air_grid.h: the cells of a grid of air: their memory, the bricks that are awake, and loops over
 * them. Arrays have a border of ghost cells, so that stencils need no cases; cells are loaded eight
 * at a time along x. A brick is 8 × 8 × 8 cells (8 × 8 in two dimensions); consecutive awake bricks
 * along x form one span, the unit of parallel work: what a loop computes, and the order of its
 * sums, depends on the spans alone.
 * Layer: server/physics/grid, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_GRID_AIR_GRID_H
#define PLENUM_SERVER_PHYSICS_GRID_AIR_GRID_H

#include "shared/base/jobs.h"
#include "shared/math/simd.h"

enum {
    AIR_BRICK = 8,  /* cells a side */
    AIR_GHOSTS = 8, /* cells beyond each side along x */
    AIR_RIM = 2,    /* and along y and z */
    AIR_COLORS = 4, /* spans of one colour are not neighbours */
    AIR_SIDES = 6,  /* low x, high x, low y, ... */
};

/* What lies beyond a side. */
typedef enum AirSide {
    AIR_CLOSED,
    AIR_OPEN,
    AIR_PERIODIC
} AirSide;

/* Cells [x0, x1) × [y0, y1) × [z0, z1); x0 and x1 are multiples of 8, x1 may exceed the grid. */
typedef struct AirSpan {
    i32 x0, x1, y0, y1, z0, z1;
} AirSpan;

/* A run of places at the sides of an axis: a single one for axis 0, for others several along x. */
typedef struct AirRun {
    i32 at; /* index of the first, for coordinate 0 along the axis */
    i32 floats;
} AirRun;

typedef struct AirGrid {
    u32 dims;       /* 2 or 3 */
    i32 n[3];       /* cells; n[2] is 1 in two dimensions */
    i32 row, slab;  /* floats from a cell to its neighbour along y and z */
    i32 origin;     /* index of cell 0, 0, 0 */
    u32 floats;     /* of an array, ghosts included */
    i32 bricks[3];  /* along each axis */
    u8 *awake;      /* [bricks] */
    AirSpan *spans; /* [span_count], at most one for every other brick */
    u32 span_count;
    u32 *order;                /* [span_count] spans by colour */
    u32 color_end[AIR_COLORS]; /* in order */
    AirSide sides[AIR_SIDES];  /* in two dimensions the last two are unused */
    /* Ghosts of each axis: those of awake bricks and their neighbours, or all. */
    AirRun *runs[3];
    u32 run_count[3];
    u8 *near; /* [bricks] awake, or adjacent to an awake one */
    bool all;
} AirGrid;

typedef void AirLoop(void *context, const AirSpan *span, u32 index);

/* Sets up sizes; memory follows by air_grid_place. n: 1 or more each. */
void air_grid_init(AirGrid *grid, u32 dims, const i32 n[3], const AirSide sides[AIR_SIDES]);
/* Bytes of its tables; with `at` (64-byte aligned) places them there, all bricks awake. */
u64 air_grid_place(AirGrid *grid, u8 *at);
u32 air_grid_bricks(const AirGrid *grid);
/* The cells of a brick, as a span. */
AirSpan air_grid_brick(const AirGrid *grid, u32 brick);
/* Makes the spans from `awake`, and the runs. */
void air_grid_spans(AirGrid *grid);
/* Whether ghosts far from awake bricks are filled, too. */
void air_grid_fill_all(AirGrid *grid, bool all);
/* Marks the neighbours of marked bricks too, around periodic sides; marks: [bricks]. */
void air_bricks_spread(const AirGrid *grid, u8 *marks);
/* The cells of a span from its first to its last marked brick, [x[0], x[1]), or none; all if marks
 * is NULL. */
void air_span_marked(const AirGrid *grid, const AirSpan *span, const u8 *marks, i32 x[2]);
/* Calls the loop for all spans, in parallel. */
void air_each(const AirGrid *grid, Jobs *jobs, AirLoop *loop, void *context);
/* The same, colour by colour, ascending or descending: neighbours never run at the same time.
 * `between` (may be NULL) is called after each colour. */
void air_each_color(const AirGrid *grid, Jobs *jobs, bool down, AirLoop *loop,
                    void (*between)(void *context), void *context);
/* Values of the ghosts behind open sides: factor × the next cell + value. `odd_empty`: those beyond
 * the high side of an odd number of cells are 0, whatever the side. */
typedef struct AirBeyond {
    f32 factor, value;
    bool odd_empty;
} AirBeyond;
/* Fills the ghosts: a copy of the next cell behind closed sides, wrapped where periodic. */
void air_ghosts(const AirGrid *grid, f32 *cells, AirBeyond beyond);
/* Wraps the ghosts of periodic sides, leaves others. */
void air_wrap(const AirGrid *grid, f32 *cells);
/* Zeros all ghosts. */
void air_ghosts_clear(const AirGrid *grid, f32 *cells);
/* Low faces of an axis that belong to sleeping bricks above a span, around a periodic side too. */
typedef struct AirRim {
    i32 at, floats;              /* so many along x */
    i32 low[3], high[3], now[3]; /* cells, and the position within */
} AirRim;
/* False: there is none, or it is the same one. */
bool air_rim_first(const AirGrid *grid, const AirSpan *span, u32 axis, AirRim *rim);
bool air_rim_next(const AirGrid *grid, AirRim *rim);
/* Copies those of all spans; from NULL: zeros. */
void air_rim_copy(const AirGrid *grid, u32 axis, const f32 *from, f32 *to);
/* Whether a cell's brick is awake; cells beyond the grid are, or, on periodic axes, follow the
 * opposite side. */
bool air_is_awake(const AirGrid *grid, i32 x, i32 y, i32 z);
bool air_is_periodic(const AirGrid *grid);

/* Index of a cell in an array of the grid; a ring of cells lies around it. */
static inline i32 air_at(const AirGrid *grid, i32 x, i32 y, i32 z)
{
    return grid->origin + x + y * grid->row + z * grid->slab;
}

typedef f32 f32x8_loose __attribute__((vector_size(32), aligned(4), may_alias));

/* Eight numbers of a row. */
SIMD_INLINE f32x8 air_load(const f32 *at) /* of any alignment */
{
    return (f32x8) * (const f32x8_loose *)(const void *)at;
}
/* Whole vectors of a row. */
SIMD_INLINE void air_clear(f32 *row, i32 x, i32 end)
{
    for (; x < end; x += SIMD_LANES) {
        f32x8_store(row + x, f32x8_set(0.0f));
    }
}
SIMD_INLINE f32 air_sum8(f32x8 v)
{
    return ((v[0] + v[4]) + (v[1] + v[5])) + ((v[2] + v[6]) + (v[3] + v[7]));
}

#endif
