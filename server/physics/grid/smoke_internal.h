/*
 * smoke_internal.h: internals of the smoke solver.
 *   smoke.c            definition, memory, options, cells
 *   smoke_step.c       the order of a tick, sources, sleep
 *   smoke_side.c       ghosts of velocities: walls, openings
 *   smoke_force.c      buoyancy, vorticity confinement, viscosity
 *   smoke_project.c    divergence, pressure
 *   smoke_carry.c      transport, fire, cooling
 *   smoke_obstacle.c   other matter
 *   smoke_air.c        what blows through surfaces and particles
 *   smoke_measure.c    sums, statistics, serialization
 *   smoke_tally.c      who takes the air's momentum
 * Velocities are those of low faces, m/s. "Pressed" is pressure × dt / (density × spacing), m/s:
 * its differences between cells are changes of velocity.
 * Layer: server/physics/grid, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_GRID_SMOKE_INTERNAL_H
#define PLENUM_SERVER_PHYSICS_GRID_SMOKE_INTERNAL_H

#include "server/physics/grid/advect.h"
#include "server/physics/grid/pressure.h"
#include "server/physics/grid/smoke.h"

/* A brick in which everything is below these falls asleep. */
#define SMOKE_QUIET_M_S   0.03f
#define SMOKE_QUIET_K     0.2f
#define SMOKE_QUIET_KG_M3 1e-5f
/* Values are limited to these. */
#define SMOKE_SPEED_MAX   400.0f
#define SMOKE_WARMTH_MAX  5000.0f
#define SMOKE_FILL_MAX    1e4f

/* A thing in a brick. */
typedef struct SmokeContact {
    u32 brick, collider, thing, number;
    bool moves, takes; /* takes: impulses */
    f32 coupling;      /* fraction of the air that the thing covers */
    Vec3 impulse;      /* N s, on the thing in this tick, */
    Vec3 moment;       /* Σ |J| x over faces, */
    f32 weight;        /* and Σ |J| */
} SmokeContact;

/* Of a span in a tick: sums of velocities, m/s, of faces that are not at sides. */
typedef struct SmokeTally {
    f64 within[3];                /* before pressure */
    f64 force[3];                 /* what forces added */
    f64 friction[SMOKE_SIDES][3]; /* taken by sides through viscosity */
    f64 pressed[SMOKE_SIDES];     /* sums of pressure along sides, as a change of velocity */
    f64 faces[SMOKE_SIDES];       /* of faces at sides, through them */
} SmokeTally;

/* The same after a tick, kept for the next one; only f64. */
typedef struct SmokeAccount {
    f64 within[3], faces[SMOKE_SIDES];
    f64 given[3];  /* since then: from sources and pushes, */
    f64 matter[3]; /* and from what drags the air */
} SmokeAccount;

struct Smoke {
    SmokeDef def;
    AirGrid grid;
    Pressure pressure;
    f32 *velocity[3], *next[3];
    f32 *pressed; /* of the solver of pressure */
    f32 *ahead;
    f32 *field[SMOKE_FIELDS];
    f32 *coupled;    /* kg of air that may be dragged in the tick, at cells; NULL without wind */
    bool is_coupled; /* it is not all 0 */
    f32 *growth;     /* m/s: expansion of cells × spacing */
    u8 *busy;        /* [bricks] */
    u8 *full[SMOKE_FIELDS]; /* [bricks] contains something, or is adjacent to one that does */
    f32 *most;              /* [bricks] by span: greatest speed */
    u8 *memory;
    SmokeSource sources[SMOKE_SOURCES_MAX];
    u32 source_count;
    SmokeContact *contacts; /* [contact_capacity] */
    u32 contact_count, contact_capacity;
    SmokeDrag drags[SMOKE_DRAGS_MAX];
    u32 drag_count;
    SmokeTally *tallies; /* [spans] */
    SmokeAccount account;
    SmokeTaken taken;
    /* of the tick */
    f64 held[3], passed[3]; /* N s, on things, and the part that they took */
    f32 tick_s;
    Vec3 gravity;
    Jobs *jobs;
    const Collider *colliders;
    u32 collider_count;
    /* kept */
    f32 last_s;   /* s, length of the last tick, to which `pressed` belongs */
    f32 speed;    /* greatest component, m/s */
    f32 residual; /* relative, of the last tick */
    u32 iterations;
    bool burns; /* there may be fuel */
    bool woken; /* bricks that no span has */
};

/* How many of the fields this grid carries. */
static inline u32 smoke_fields(const Smoke *smoke)
{
    return smoke->def.dyed ? SMOKE_FIELDS : SMOKE_RED; /* which are the last */
}
static inline i32 smoke_stride(const AirGrid *grid, u32 axis)
{
    return axis == 0 ? 1 : axis == 1 ? grid->row : grid->slab;
}
/* m³ of a cell. */
static inline f32 smoke_volume(const Smoke *smoke)
{
    f32 d = smoke->def.spacing;
    return d * d * (smoke->grid.dims == 3 ? d : smoke->def.depth);
}
static inline u32 smoke_brick(const AirGrid *grid, i32 x, i32 y, i32 z)
{
    return (u32)((z / AIR_BRICK * grid->bricks[1] + y / AIR_BRICK) * grid->bricks[0] +
                 x / AIR_BRICK);
}
static inline void smoke_swap(f32 **a, f32 **b)
{
    f32 *swap = *a;
    *a = *b;
    *b = swap;
}

/* smoke_side.c: ghosts and side faces of component c. */
typedef enum SmokeSides {
    SMOKE_SIDES_KEPT = 0,  /* faces of open sides keep their velocity */
    SMOKE_SIDES_FREE = 1,  /* they take that of the adjacent ones, minus what still air beyond
                            * takes */
    SMOKE_SIDES_STILL = 2, /* beyond open sides, entering air is still: for transport */
    SMOKE_SIDES_FACES = 4, /* only faces, for divergences, not the ghosts beyond */
} SmokeSides;
void smoke_sides(const Smoke *smoke, u32 c, f32 *cells, SmokeSides how);
void smoke_field_ghosts(const Smoke *smoke, f32 *cells);
/* smoke_force.c */
void smoke_forces(Smoke *smoke);
void smoke_viscosity(Smoke *smoke);
/* smoke_project.c */
void smoke_project(Smoke *smoke);
/* smoke_carry.c */
void smoke_carry_velocity(Smoke *smoke);
void smoke_carry_fields(Smoke *smoke);
/* Whether fire expands or air is blown through sides. */
bool smoke_makes_air(const Smoke *smoke);
/* Faces of sleeping bricks above awake ones, which only pressure moves: scratch arrays that replace
 * component c need them, too. */
void smoke_carry_rims(Smoke *smoke, u32 c);
/* Zeros there, in an array that had another use. */
void smoke_clear_rims(const Smoke *smoke, f32 *cells);
void smoke_burn(Smoke *smoke);
/* smoke_obstacle.c */
void smoke_find_contacts(Smoke *smoke);
void smoke_obstacles(Smoke *smoke);
/* smoke_air.c */
void smoke_uncouple(Smoke *smoke);
/* smoke_tally.c: begins and ends the sums of a tick; `cells` are those of component c with their
 * ghosts, of which viscosity diffuses `amount`. */
void smoke_tally_begin(Smoke *smoke);
void smoke_tally_friction(Smoke *smoke, u32 c, const f32 *cells, f32 amount);
void smoke_tally_end(Smoke *smoke);
bool smoke_tally_is_valid(const Smoke *smoke);
SIMD_INLINE f64 smoke_sum_wide(f32x8 v)
{
    typedef f64 Wide __attribute__((vector_size(SIMD_LANES * sizeof(f64))));
    Wide w = __builtin_convertvector(v, Wide);
    return ((w[0] + w[4]) + (w[1] + w[5])) + ((w[2] + w[6]) + (w[3] + w[7]));
}
/* Lanes of a vector of component c at x that are faces between two cells along x; others are 0. */
SIMD_INLINE f32x8 smoke_inner(const AirGrid *grid, u32 c, i32 x, f32x8 v)
{
    static const i32x8 numbers = {0, 1, 2, 3, 4, 5, 6, 7};
    i32 first = c == 0 && x == 0 && grid->sides[0] != AIR_PERIODIC, left = grid->n[0] - x;
    if (PL_UNLIKELY(first > 0 || left < SIMD_LANES)) {
        i32x8 from = {first, first, first, first, first, first, first, first};
        i32x8 end = {left, left, left, left, left, left, left, left};
        v = f32x8_and((numbers >= from) & (numbers < end), v);
    }
    return v;
}
/* Adds a row of these to component c, unless its faces are at a side. */
SIMD_INLINE void smoke_tally_row(const AirGrid *grid, u32 c, i32 y, i32 z, f32x8 row, f64 sums[3])
{
    bool side = (c == 1 && y == 0) || (c == 2 && z == 0);
    if (!side || grid->sides[2 * c] == AIR_PERIODIC) {
        sums[c] += smoke_sum_wide(row);
    }
}
/* smoke_step.c */
/* Between ticks; its spans follow by smoke_find_spans. */
void smoke_wake_brick(Smoke *smoke, u32 brick);
void smoke_find_spans(Smoke *smoke);

#endif
