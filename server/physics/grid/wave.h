/*
 * wave.h: waves on water of one depth: the wave equation ∂²h/∂t² = c² ∇²h for the level h above
 * rest, c = √(gravity depth). The cheapest water: it never breaks, floods or flows. The volume is
 * constant: what rises in one place is missing in others.
 *
 * Cells as in shallow.h. Leap-frog steps (Courant, Friedrichs & Lewy 1928); absorbing borders of
 * first order (Mur 1981). Units SI. A step allocates nothing. The same bits for any number of
 * threads.
 * Layer: server/physics (includes shared only).
 */
#ifndef PLENUM_SERVER_PHYSICS_GRID_WAVE_H
#define PLENUM_SERVER_PHYSICS_GRID_WAVE_H

#include "server/physics/grid/heights.h"
#include "server/physics/state.h"
#include "shared/base/error.h"
#include "shared/base/jobs.h"

enum {
    WAVE_STEPS_MAX = 64, /* of one call of wave_step; beyond that, waves are slowed down */
};

typedef struct WaveDef {
    u32 size[2]; /* cells along x and z, 1..HEIGHTS_SIDE_MAX */
    f32 cell_m;
    WaterBorder border[HEIGHTS_SIDE_COUNT]; /* periodic: on both opposite sides, or neither */
    f32 depth_m;                            /* of the water at rest, > 0 */
    f32 damping;                            /* 1/s, 0..100, of the level's velocity */
} WaveDef;

typedef struct Wave Wave;

/* Closed borders, 1 m deep, cells of 0.1 m. */
WaveDef wave_def_default(void);
Error wave_check(const WaveDef *def, ErrorText *error);
u64 wave_bytes(const WaveDef *def);
/* At rest. NULL: the definition is invalid, or no memory. */
Wave *wave_create(const WaveDef *def, ErrorText *error);
void wave_destroy(Wave *wave); /* NULL is fine */
void wave_clear(Wave *wave);   /* at rest, as after wave_create */
bool wave_tune(Wave *wave, f32 damping);

/* Levels between steps, m above rest: cell (i, k) at [k · stride + i]. */
const f32 *wave_levels(const Wave *wave, u32 *stride);
/* Raises one cell by `level` m and its velocity by `speed` m/s; values that are not finite are 0.
 * The level is limited to ± the depth: the excess is spread over all cells, as is the mean velocity
 * if no side is open, so that the volume is constant. Returns by how much this raised the cell,
 * m. */
f32 wave_add(Wave *wave, u32 i, u32 k, f32 level, f32 speed);

/* Advances by time_s > 0 under a downward gravity ≥ 0. */
void wave_step(Wave *wave, f32 time_s, f32 gravity, Jobs *jobs);

/* This method does not compute the water's velocity: energies are those of the equation. */
typedef struct WaveSums {
    f64 volume;    /* m³ above rest */
    f64 potential; /* m⁴: energy by density and gravity */
    f64 invariant; /* m⁴/s²: ½ ∫ (∂h/∂t)² + c² |∇h|²: constant without damping and absorption */
    f32 slowed; /* < 1: factor on gravity in the last call, where waves would need more than
                 * WAVE_STEPS_MAX steps */
    u32 steps;  /* of the last call */
} WaveSums;
WaveSums wave_sums(const Wave *wave);
/* Only `slowed` and `steps`; the rest is 0. */
WaveSums wave_step_facts(const Wave *wave);

/* Serializes the levels at both times. After a failure the water is at rest. */
void wave_serialize(Wave *wave, State *state);
const char *wave_validate(const Wave *wave);

#endif
