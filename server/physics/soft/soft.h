/*
 * soft.h: the particle store for everything soft: cloth, rope, balloons, jelly, plants, stick
 * figures. A body is a SoftMesh with constraints; bodies collide with all matter that offers a
 * collider, with each other and with themselves. A tick is soft_begin, then soft_substep after each
 * substep of the others.
 * Method: XPBD (Macklin, Müller, Chentanez 2016) with small steps, one iteration per step (Macklin
 * et al. 2019), solved on velocities; others selectable per body, for comparison side by side.
 * Units SI, world axes. No allocation in a tick unless a table must grow.
 * Layer: server/physics (includes shared only).
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_SOFT_H
#define PLENUM_SERVER_PHYSICS_SOFT_SOFT_H

#include "server/physics/contact/bodies.h"
#include "server/physics/contact/medium.h"
#include "server/physics/state.h"
#include "shared/base/kinds.h"
#include "shared/soft/soft_mesh.h"

typedef struct Soft Soft;

typedef struct SoftPin {
    u32 point;   /* of the body */
    BodyId body; /* of a collider, at its current position; generation 0: fixed in the world */
} SoftPin;

/* The options are those of shared/rows/soft.def, in SI units (pressure in Pa); see there for
 * ranges and meaning. Compliances below 0: no such constraint. group, mask as for rigid bodies. */
typedef struct SoftDef {
    const SoftMesh *mesh; /* needed only by soft_add */
#define MEMBER(type, name) type name;
#include "shared/rows/soft.def"
    const SoftPin *pins; /* [pin_count] */
    u32 pin_count;
} SoftDef;

/* Where an added body is stored. */
typedef struct SoftRange {
    u32 first, count; /* particles */
    u32 body;         /* index */
    f32 mass_kg;
} SoftRange;

/* A grab on a particle: a damped spring with a bounded force. Invalid numbers (not finite,
 * beyond the world) exert no force. No particle exceeds 100 m/s or leaves the cube of
 * ±WORLD_EXTENT_MAX_M: it stops at the limit. */
typedef struct SoftGrab {
    u32 particle;
    u32 live;
    Vec3 target;   /* m */
    f32 stiffness; /* N/m */
    f32 damping;   /* N s/m */
    f32 force_max; /* N */
    Vec3 force;    /* N, in the last step */
} SoftGrab;

enum {
    SOFT_GRABS_MAX = 1024,
    SOFT_STEPS_MAX = 16,
    SOFT_COLLIDERS_MAX = 8,
};

SoftDef soft_def_default(void); /* cloth of 0 kg without a mesh */
Soft *soft_create(void);        /* NULL: out of memory */
void soft_destroy(Soft *soft);  /* NULL is allowed */
/* Adds a body; *range gets its particles. The pins' bodies are things of `holder`, the first
 * collider of each tick that offers bodies; NULL: no pin has one. Returns 0 or a negative Error
 * with a text that names the field of the definition. Outside a tick only. */
int soft_add(Soft *soft, const Collider *holder, const SoftDef *def, SoftRange *range,
             ErrorText *error);
/* Sorts the constraints into batches. Call after the last addition, before the first tick. */
int soft_build(Soft *soft);

/* Numbers of all particles, bodies and constraints; the body of a particle. */
u32 soft_particles(const Soft *soft);
u32 soft_bodies(const Soft *soft);
u32 soft_constraints(const Soft *soft);
u32 soft_body_of(const Soft *soft, u32 particle);
Vec3 soft_position(const Soft *soft, u32 particle); /* m */
Vec3 soft_velocity(const Soft *soft, u32 particle); /* m/s */
/* 1/kg; 0: pinned to the world */
f32 soft_inverse_mass(const Soft *soft, u32 particle);
/* Largest |length / rest − 1| over the edges of a body. */
f32 soft_strain(const Soft *soft, u32 body);
/* m³ inside a body with a closed surface, by the divergence theorem, or m² inside a ring of
 * sticks; 0 for others. */
f32 soft_volume(const Soft *soft, u32 body);
/* The same by another method. */
f32 soft_volume_by(const Soft *soft, u32 body, SoftVolume way);
/* Pa, gauge pressure of a body's gas in the last step. */
f32 soft_pressure(const Soft *soft, u32 body);
/* J stored in a body's constraints and its gas (energy.c); methods other than SOFT_XPBD store
 * what they do not measure. */
f64 soft_elastic_energy(const Soft *soft, u32 body);
u64 soft_memory(const Soft *soft);

/* m/s². */
void soft_set_gravity(Soft *soft, Vec3 gravity);
/* Sets wind (m/s) and air density (kg/m³): per triangle f = ((w − v)·n) n A ρ (with 1 m/s as
 * unit). */
void soft_set_wind(Soft *soft, Vec3 wind, f32 air_density);
/* Sets the factors on the compliances of stretch and shear, and of bending. */
void soft_set_compliance(Soft *soft, f32 stretch_scale, f32 bend_scale);
/* Sets the factor on the pressure of all bodies. */
void soft_set_pressure(Soft *soft, f32 scale);
/* Sets the steps of the particles in each substep of the bodies, 1..SOFT_STEPS_MAX (3): residual
 * stretch falls with the square of the step, and particles are cheap. */
void soft_set_steps(Soft *soft, u32 steps);
/* Applies an impulse (N s) to a particle. */
void soft_impulse(Soft *soft, u32 particle, Vec3 impulse);

/* Returns the index of the grab or −1. */
i32 soft_grab_add(Soft *soft, const SoftGrab *grab);
void soft_grab_remove(Soft *soft, u32 grab);
SoftGrab *soft_grab(Soft *soft, u32 grab);

/* The colliders that the bodies may touch in a tick, at most SOFT_COLLIDERS_MAX; their data must
 * outlive it. */
typedef struct SoftOthers {
    const Collider *colliders; /* [count] */
    u32 count;
} SoftOthers;

/* The media of the tick, before soft_stir: inside a medium its velocity is the wind. Borrowed until
 * the next call. */
void soft_set_media(Soft *soft, const Medium *media, u32 count);
/* Starts a tick: computes wind forces and finds candidate contacts. jobs may be NULL and must
 * outlive the tick. */
void soft_begin(Soft *soft, SoftOthers others, Jobs *jobs, f32 tick_s);
/* Predicts, solves, exchanges impulses with the others. h in s. */
void soft_substep(Soft *soft, f32 h);

/* ---- sleep: bodies at rest cost nothing ---- Islands are those of the first collider that offers
 * bodies. soft_stir before the others' begin; after the substeps soft_rest, the end of the others'
 * tick, soft_sleep. Who calls none of them has bodies that never sleep. */

/* Wakes bodies that something moving touches or holds. */
void soft_stir(Soft *soft, SoftOthers others, f32 tick_s);
/* Reports to the islands which soft bodies are at rest, and what they touch. */
void soft_rest(Soft *soft);
/* Puts bodies to sleep, and wakes sleeping ones that touch something awake. */
void soft_sleep(Soft *soft);
bool soft_awake(const Soft *soft, u32 body);
void soft_wake(Soft *soft, u32 body);
void soft_wake_all(Soft *soft);

/* ---- spares: bodies that are absent until they are placed ----
 * Outside a tick. An absent body is neither simulated nor touched; its constraints are built. */

/* Takes a body out of the world; grabs on it must have been removed, and it must have no pins. */
void soft_take_away(Soft *soft, u32 body);
/* Puts an absent body there as it was built, awake: its mesh's origin at position (m), rotated from
 * the mesh's frame by orientation (unit); velocity in m/s, besides the angular velocity of its
 * definition. */
void soft_place(Soft *soft, u32 body, Vec3 position, Quat orientation, Vec3 velocity);
/* Wakes bodies that may touch something within the bounds, m: call before its removal. */
void soft_wake_within(Soft *soft, Bounds bounds);
bool soft_is_absent(const Soft *soft, u32 body);

/* Aborts if an invariant of the store between two ticks is violated: bodies and their particles,
 * constraints and their partition, pins, grabs, contacts, sleep, self-collision. soft_begin
 * calls it in debug and sanitizer builds. */
void soft_validate(const Soft *soft);

/* Counts, hashes, saves or loads the dynamic state. */
void soft_serialize(Soft *soft, State *state);

#endif
