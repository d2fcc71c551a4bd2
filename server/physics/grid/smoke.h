/*
 * smoke.h: air with smoke, heat and fire on a staggered grid: incompressible flow ("stable fluids",
 * Stam 1999; Fedkiw, Stam & Jensen 2001), in two or three dimensions, in contact with all other
 * matter. A tick is smoke_step; between ticks everything below is valid.
 *
 * Obstacles are colliders: the air within them moves with them (by fractions of cells), and they
 * lose the momentum that the air gains (Uhlmann 2005, "An immersed boundary method"). Bricks of 8
 * cells a side that contain nothing are asleep: air at rest at constant pressure.
 * Units SI, world axes. A tick allocates nothing.
 * Layer: server/physics (includes shared only).
 */
#ifndef PLENUM_SERVER_PHYSICS_GRID_SMOKE_H
#define PLENUM_SERVER_PHYSICS_GRID_SMOKE_H

#include "server/physics/contact/contact.h"
#include "server/physics/contact/medium.h"
#include "server/physics/state.h"
#include "shared/base/error.h"
#include "shared/base/kinds.h"
#include "shared/base/limits.h"

enum {
    SMOKE_SIDES = 6,           /* low x, high x, low y, ... */
    SMOKE_SOURCES_MAX = 64,    /* of one grid */
    SMOKE_CELLS_MAX = 1 << 22, /* of one grid; about 70 bytes each */
    SMOKE_COLLIDERS_MAX = 16,
    SMOKE_DRAGS_MAX = 1024, /* maximal number of things whose forces are reported */
};

typedef struct Smoke Smoke;

/* The options of shared/rows/smoke_side.def. Both sides of an axis are periodic (of a multiple of 8
 * cells), or none. */
typedef struct SmokeSide {
#define MEMBER(type, name) type name;
#include "shared/rows/smoke_side.def"
} SmokeSide;

/* What may change between ticks: the options of shared/rows/smoke.def that concern the solver. */
typedef struct SmokeOptions {
#define SOLVER_ROWS
#define MEMBER(type, name) type name;
#include "shared/rows/smoke.def"
    bool midpoint;  /* characteristics of second order */
    bool unlimited; /* MacCormack without its limiter */
    bool drifts;    /* smoke, heat and fuel are transported like velocity, not by conservative
                     * fluxes */
} SmokeOptions;

/* The options of shared/rows/smoke_grid.def and smoke.def. In two dimensions (dims) the grid lies
 * along x and y, and the last number of cells is ignored. Wind from closed sides keeps all bricks
 * awake anyway. */
typedef struct SmokeDef {
#define MEMBER(type, name)          type name;
#define MEMBERS(type, name, number) type name[number];
#include "shared/rows/smoke_grid.def"
    SmokeSide sides[SMOKE_SIDES];
    SmokeOptions options;
} SmokeDef;

/* Something that makes smoke, heat, fuel or wind within a ball, or a box of half extents `half` if
 * its radius is 0: the options of shared/rows/smoke_source.def that concern the solver. */
typedef struct SmokeSource {
#define SOLVER_ROWS
#define MEMBER(type, name) type name;
#include "shared/rows/smoke_source.def"
} SmokeSource;

/* 2-D of a square metre or so, closed, MacCormack, multigrid to 1e-3, air. */
SmokeDef smoke_default(void);
/* Brings options into the ranges that the solver accepts. */
void smoke_options_clamp(SmokeOptions *options);
Error smoke_check(const SmokeDef *def, ErrorText *error);
u64 smoke_bytes(const SmokeDef *def);
/* NULL: the definition is invalid, or no memory; see `error` (may be NULL). */
Smoke *smoke_create(const SmokeDef *def, ErrorText *error);
void smoke_destroy(Smoke *smoke); /* NULL is fine */
/* Air at rest. */
void smoke_clear(Smoke *smoke);
const SmokeDef *smoke_def(const Smoke *smoke);
/* False: an option is out of range, and nothing changed. */
bool smoke_set_options(Smoke *smoke, const SmokeOptions *options);
/* Velocity of a closed side, m/s; ignored if not finite or too fast. */
void smoke_set_side(Smoke *smoke, u32 side, Vec3 velocity);
/* Whether each component is in 0..1. */
bool smoke_color_is_valid(Vec3 color);
/* Copies at most SMOKE_SOURCES_MAX; those out of range are dropped. */
void smoke_set_sources(Smoke *smoke, const SmokeSource *sources, u32 count);

/* ---- tick ---- */

/* A tick of s seconds. Colliders (at most SMOKE_COLLIDERS_MAX) have begun the tick. */
void smoke_step(Smoke *smoke, f32 s, Vec3 gravity, const Collider *colliders, u32 count,
                Jobs *jobs);

/* Force that a thing felt in the last tick: impulses on it, summed. */
typedef struct SmokeDrag {
    u32 collider, thing;
    Vec3 impulse; /* N s */
    u32 bricks;   /* that it touches */
} SmokeDrag;
const SmokeDrag *smoke_drags(const Smoke *smoke, u32 *count);

/* The medium for surfaces and particles (contact/medium.h), before smoke_step; without ops unless
 * def.wind. */
Medium smoke_medium(Smoke *smoke);
/* Distributes an impulse, N s, over the air within `radius`; no cell gains more than 100 m/s.
 * Returns the impulse applied. */
Vec3 smoke_push(Smoke *smoke, Vec3 place, f32 radius, Vec3 impulse);

/* ---- what there is ---- */

typedef enum SmokeField {
    SMOKE_SMOKE,       /* kg/m³ */
    SMOKE_TEMPERATURE, /* K above the air around */
    SMOKE_FUEL,        /* kg/m³ */
    SMOKE_RED,         /* kg/m³, smoke times its colour (linear, 0..1); only if def.dyed */
    SMOKE_GREEN,
    SMOKE_BLUE,
    SMOKE_FIELDS
} SmokeField;
/* Row of cells [cells[0]] at y, z, of an existing field. */
const f32 *smoke_row(const Smoke *smoke, SmokeField field, u32 y, u32 z);
/* Sets a cell, or the velocity at the low face of a cell; for scenes and tests. Wakes it. */
void smoke_set(Smoke *smoke, SmokeField field, u32 x, u32 y, u32 z, f32 value);
void smoke_set_velocity(Smoke *smoke, u32 axis, u32 x, u32 y, u32 z, f32 value);
f32 smoke_velocity(const Smoke *smoke, u32 axis, u32 x, u32 y, u32 z);
/* Interpolated, m/s; 0 outside. */
Vec3 smoke_velocity_at(const Smoke *smoke, Vec3 place);
/* Pa, of the cell, relative to open air or the mean. */
f32 smoke_pressure(const Smoke *smoke, u32 x, u32 y, u32 z);

typedef struct SmokeSums {
    f64 smoke, fuel;  /* kg */
    f64 heat;         /* J above the ambient air, at 1005 J/(kg K) */
    f64 kinetic;      /* J */
    f64 momentum[3];  /* kg m/s */
    f64 divergence;   /* 1/s, rms over awake cells */
    f64 smoke_height; /* m, mean height of smoke; 0 without smoke */
    f64 speed;        /* m/s, greatest component */
} SmokeSums;
SmokeSums smoke_sums(const Smoke *smoke);

/* Momentum that the air lost in the last tick, N s, by cause: its momentum plus all losses so far
 * is constant, to rounding. */
typedef struct SmokeTaken {
    f64 sides[SMOKE_SIDES][3]; /* closed sides, by pressure and friction */
    f64 obstacles[3];          /* things that do not respond, or sleep */
    f64 matter[3];             /* things that received it; surfaces and particles in the wind */
    f64 forces[3];             /* gravity: buoyancy and the weight of smoke; vorticity */
    f64 sources[3];            /* minus the momentum from sources and pushes */
    f64 flow[3];               /* through open sides, to still air, and lost by transport */
} SmokeTaken;
SmokeTaken smoke_taken(const Smoke *smoke);

typedef struct SmokeStats {
    u32 cells, bricks, awake; /* awake: bricks */
    u32 iterations;           /* of pressure in the last tick */
    f32 residual;             /* relative */
    u64 memory_bytes;
} SmokeStats;
SmokeStats smoke_stats(const Smoke *smoke);

/* Serializes the dynamic state, not definition, options or sources. If the state failed, the grid
 * has been cleared. */
void smoke_serialize(Smoke *smoke, State *state);
/* NULL if it is consistent between ticks, else the reason. */
const char *smoke_validate(const Smoke *smoke);

#endif
