/*
 * liquid.h: liquids and grains: one particle store of several phases, a position-based fluid with
 * friction for grains, in contact with all other matter. A tick is
 *   liquid_stir, liquid_begin, for each substep of the world liquid_substep, liquid_rest,
 *   liquid_finish
 * with the colliders of the kinds before it in stir and begin; liquid_collider is the collider for
 * later kinds. Between ticks everything below is valid; in a tick positions and velocities are
 * those of its start until liquid_finish.
 * Units SI, world axes. A tick allocates nothing after the first few (contacts may grow).
 * Methods: Ihmsen et al. 2014, "Implicit incompressible SPH"; Bender & Koschier 2015 (warm-started
 * divergence); Solenthaler & Pajarola 2008 (several densities); Macklin et al. 2019, "Small steps".
 * Layer: server/physics (includes shared only).
 */
#ifndef PLENUM_SERVER_PHYSICS_LIQUID_LIQUID_H
#define PLENUM_SERVER_PHYSICS_LIQUID_LIQUID_H

#include "server/physics/contact/contact.h"
#include "server/physics/state.h"
#include "shared/base/error.h"
#include "shared/base/limits.h"

enum {
    LIQUID_COLLIDERS_MAX = 16,
    LIQUID_USERS_MAX = 16,      /* kinds that meet the liquid */
    LIQUID_HANDS_MAX = 256,     /* as for soft bodies: one for each user */
    LIQUID_NEIGHBOURS_MAX = 80, /* of a particle; about 30 at rest */
};
/* Largest change of speed by a push, m/s. */
#define LIQUID_PUSH_M_S 10.0f
/* A liquid sleeps after this time at rest, s. */
#define LIQUID_REST_S   0.5f

typedef struct Liquid Liquid;

typedef enum LiquidKind {
    LIQUID_FLUID,
    LIQUID_GRAINS,
    LIQUID_KIND_COUNT
} LiquidKind;

/* A phase: particles of one substance. Phase p owns the slots behind those of phase p − 1. The
 * options are those of shared/rows/liquid.def and grains.def that concern the solver, in SI units.
 * capacity: slots, 1..LIQUID_PARTICLES_MAX. Grains ignore viscosity, surface_tension and vorticity;
 * liquids ignore friction and static_friction, and stick to other matter by viscosity. group and
 * mask 0: 1 and all. */
typedef struct LiquidPhaseDef {
    LiquidKind kind;
#define SOLVER_ROWS
#define MEMBER(type, name) type name;
#include "shared/rows/liquid.def"
} LiquidPhaseDef;

typedef struct LiquidDef {
    f32 spacing;    /* m, between particles at rest, 0.001..1: each stands for spacing³ */
    u32 iterations; /* steps in each substep of the world, 1..16 (0: 1) */
    u32 phase_count;
    LiquidPhaseDef phases[LIQUID_PHASES_MAX];
} LiquidDef;

/* Water, or grains of quartz; capacity 0. */
LiquidPhaseDef liquid_phase_default(LiquidKind kind);
/* Brings the options of a phase into the ranges that the solver accepts. */
void liquid_phase_clamp(LiquidPhaseDef *def);

/* Whether it can be simulated; an error names the phase and member. Checks capacities before
 * anything is allocated. */
Error liquid_check(const LiquidDef *def, ErrorText *error);
/* Bytes that liquid_create would allocate; valid for any def, however large. */
u64 liquid_bytes(const LiquidDef *def);
/* NULL: the definition is invalid, or no memory; see `error` (may be NULL). */
Liquid *liquid_create(const LiquidDef *def, ErrorText *error);
void liquid_destroy(Liquid *liquid); /* NULL is fine */
/* Removes all particles and hands. Generations continue. */
void liquid_clear(Liquid *liquid);
/* Changes what may change between ticks: all of a phase but kind and capacity; false: invalid, and
 * nothing changed. Wakes. */
bool liquid_set_phase(Liquid *liquid, u32 phase, const LiquidPhaseDef *def);
const LiquidPhaseDef *liquid_phase(const Liquid *liquid, u32 phase);
u32 liquid_phases(const Liquid *liquid);
f32 liquid_spacing(const Liquid *liquid);

/* ---- slots ---- */

/* All slots, free ones included: [0, liquid_slots()). */
u32 liquid_slots(const Liquid *liquid);
/* First slot of a phase, for phase = liquid_phases() the number of all slots. */
u32 liquid_first(const Liquid *liquid, u32 phase);
u32 liquid_phase_of(const Liquid *liquid, u32 slot);
/* Live particles, of a phase (LIQUID_ANY: of all). */
#define LIQUID_ANY UINT32_MAX
u32 liquid_count(const Liquid *liquid, u32 phase);
/* [slots] m, m/s, and the generation of a live slot; 0: free, then position and velocity are 0.
 * From time to time particles change slots within their phase, so that neighbours in space have
 * neighbouring slots; their slots then have new generations. */
const Vec3 *liquid_positions(const Liquid *liquid);
const Vec3 *liquid_velocities(const Liquid *liquid);
const u16 *liquid_generations(const Liquid *liquid);
/* kg, of one particle of a phase. */
f32 liquid_particle_mass(const Liquid *liquid, u32 phase);

/* Adds a particle in the lowest free slot of the phase and wakes; −1: none is free, or position or
 * velocity is not finite or out of the world's range. Between ticks only, like the next. */
i32 liquid_spawn(Liquid *liquid, u32 phase, Vec3 position, Vec3 velocity);
/* Of a free slot: nothing. */
void liquid_remove(Liquid *liquid, u32 slot);
/* Moves a live particle; for tests and scripts. */
void liquid_set(Liquid *liquid, u32 slot, Vec3 position, Vec3 velocity);

/* ---- tick ---- */

/* Before the tick's search: wakes the liquid if a collider moves in it, and sleeping things that
 * it will hit. */
void liquid_stir(Liquid *liquid, const Collider *colliders, u32 count, f32 tick_s);
/* The colliders (at most LIQUID_COLLIDERS_MAX) are copied and used until liquid_finish. */
void liquid_begin(Liquid *liquid, const Collider *colliders, u32 count, f32 tick_s, Jobs *jobs);
/* h: s; gravity: m/s². */
void liquid_substep(Liquid *liquid, f32 h, Vec3 gravity);
/* After the substeps, before bodies finish: pools at rest for LIQUID_REST_S offer to sleep together
 * with the bodies that float in them. */
void liquid_rest(Liquid *liquid);
/* Publishes positions and velocities; after bodies have decided what sleeps. */
void liquid_finish(Liquid *liquid);
/* As balls of the spacing's diameter, for later kinds; user < LIQUID_USERS_MAX, one for each kind
 * that meets it. Stays valid until destroyed. */
Collider liquid_collider(Liquid *liquid, u32 user);
/* The phase of a thing of that collider. */
u32 liquid_thing_phase(const Liquid *liquid, u32 thing);
/* Whether any particle is awake; wakes all. */
bool liquid_awake(const Liquid *liquid);
void liquid_wake(Liquid *liquid);

/* ---- hands ---- */

/* A hand drags the particles within its radius by damped springs of bounded strength. */
/* `hand` < LIQUID_HANDS_MAX is the caller's number, `radius` m (kept within 2 spacings .. 100
 * spacings). False: the number is too large, or a value is not finite. */
bool liquid_hand_grab(Liquid *liquid, u32 hand, Vec3 place, f32 radius);
/* The hand moves to the target in the coming tick. Non-finite targets are ignored. */
void liquid_hand_drag(Liquid *liquid, u32 hand, Vec3 target);
void liquid_hand_release(Liquid *liquid, u32 hand);
bool liquid_hand_holds(const Liquid *liquid, u32 hand);
/* Distributes an impulse (N s) over the particles within `radius` of a point, by mass; no particle
 * gains more than LIQUID_PUSH_M_S. Returns the impulse applied. */
Vec3 liquid_push(Liquid *liquid, Vec3 place, f32 radius, Vec3 impulse);
/* The live particle nearest to a point within `radius`, −1: none. Linear in the slots. */
i32 liquid_nearest(const Liquid *liquid, Vec3 place, f32 radius);

/* ---- measurements ---- */

typedef struct LiquidSums {
    f64 mass;        /* kg */
    f64 kinetic;     /* J */
    f64 potential;   /* J, −Σ m g·x */
    f64 momentum[3]; /* kg m/s */
    f64 angular[3];  /* kg m²/s about the origin */
    f64 centre[3];   /* m, Σ m x / Σ m; 0 without particles */
} LiquidSums;
LiquidSums liquid_sums(const Liquid *liquid, Vec3 gravity);

typedef struct LiquidStats {
    u32 particles, awake;
    f32 density_error;      /* mean of max(0, ρ/ρ0 − 1), in the last step */
    f32 density_error_max;  /* greatest */
    f32 pressure_max;       /* Pa */
    f32 neighbours;         /* mean, within the kernel's support and its margin */
    u32 neighbours_dropped; /* pairs beyond LIQUID_NEIGHBOURS_MAX in this tick */
    u32 contacts;           /* particle-thing pairs of this tick */
    f32 speed_max;          /* m/s */
    u64 memory_bytes;
} LiquidStats;
LiquidStats liquid_stats(const Liquid *liquid);
/* Pa, that the solver holds for a live particle. */
f32 liquid_pressure(const Liquid *liquid, u32 slot);

/* Serializes the dynamic state (not the definition: the loading liquid has the same). If the state
 * failed, the liquid must be cleared. */
void liquid_serialize(Liquid *liquid, State *state);
/* NULL if the store is consistent between ticks, else the reason. */
const char *liquid_validate(const Liquid *liquid);

#endif
