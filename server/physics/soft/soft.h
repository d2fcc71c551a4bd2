/*
 * soft.h: the one particle store for everything soft, with XPBD distance constraints in coloured
 * batches, attachments to bodies, wind on triangles, hands, and two-way contact with rigid bodies.
 * A tick is soft_begin, then soft_substep after each rigid_substep.
 * Method: XPBD (Macklin, Müller, Chentanez 2016) with small steps, one iteration a substep (Macklin
 * et al. 2019); position-based friction (Müller et al. 2007; Macklin et al. 2014, eq. 24).
 * Units SI, world axes. Nothing is allocated in a tick unless a table must grow.
 * Layer: server/physics (includes shared only).
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_SOFT_H
#define PLENUM_SERVER_PHYSICS_SOFT_SOFT_H

#include "server/physics/rigid/rigid.h"
#include "server/physics/state.h"

typedef struct Soft Soft;

typedef struct SoftPin {
    u32 point;   /* index in the cloth */
    BodyId body; /* attached to it where the point is now; generation 0: fixed in the world */
} SoftPin;

/* A rectangular cloth of columns × rows points, column fastest, in its local x (columns) and y
 * (rows) plane. */
typedef struct ClothDef {
    u32 columns, rows; /* each ≥ 2 */
    f32 size[2];       /* m */
    Vec3 position;     /* m, of point 0 */
    Quat orientation;
    f32 area_density;                                          /* kg/m² */
    f32 stretch_compliance, shear_compliance, bend_compliance; /* m/N */
    f32 damping;                                               /* 1/s, of velocity */
    f32 thickness;                                             /* m, kept from bodies */
    f32 friction;
    const SoftPin *pins; /* [pin_count] */
    u32 pin_count;
} ClothDef;

typedef struct SoftRange {
    u32 first, count; /* particles */
    f32 mass_kg;
} SoftRange;

/* A hand on a particle: a damped spring with a bounded force. */
typedef struct SoftGrip {
    u32 particle;
    u32 live;
    Vec3 target;   /* m */
    f32 stiffness; /* N/m */
    f32 damping;   /* N s/m */
    f32 force_max; /* N */
    Vec3 force;    /* N, of the last step */
} SoftGrip;

enum {
    SOFT_GRIPS_MAX = 1024
};

Soft *soft_create(void);       /* NULL: no memory */
void soft_destroy(Soft *soft); /* NULL is fine */
/* Adds a cloth; *range says where its particles are. rigid (may be NULL) resolves the pins' bodies.
 * 0 or a negative Error. Outside a tick only. */
int soft_add_cloth(Soft *soft, const Rigid *rigid, const ClothDef *def, SoftRange *range);
/* Colours the constraints into batches; after the last addition, before the first tick. */
int soft_build(Soft *soft);

u32 soft_particles(const Soft *soft);
u32 soft_constraints(const Soft *soft);
const Vec3 *soft_positions(const Soft *soft);  /* [particles] m */
const Vec3 *soft_velocities(const Soft *soft); /* [particles] m/s */
/* [particles] 1/kg; 0: pinned */
const f32 *soft_inverse_masses(const Soft *soft);
/* Largest |length / rest − 1| over the stretch constraints among the particles of a range. */
f32 soft_strain(const Soft *soft, SoftRange range);
u64 soft_memory(const Soft *soft);

void soft_set_gravity(Soft *soft, Vec3 gravity);
/* Wind (m/s) and air density (kg/m³): per triangle f = ((w − v)·n) n A ρ (with 1 m/s as unit). */
void soft_set_wind(Soft *soft, Vec3 wind, f32 air_density);
/* Factors on the compliances of stretch and shear, and of bending. */
void soft_set_compliance(Soft *soft, f32 stretch_scale, f32 bend_scale);
/* Adds an impulse (N s) to a particle. */
void soft_impulse(Soft *soft, u32 particle, Vec3 impulse);

/* Index of the grip or −1. */
i32 soft_grip_add(Soft *soft, const SoftGrip *grip);
void soft_grip_remove(Soft *soft, u32 grip);
SoftGrip *soft_grip(Soft *soft, u32 grip);

/* Wind forces of the tick, and which particles may touch which bodies within it. */
void soft_begin(Soft *soft, Rigid *rigid, f32 tick_s);
/* Predicts, solves, exchanges impulses with the bodies. h in s. */
void soft_substep(Soft *soft, Rigid *rigid, f32 h);

/* Walks the dynamic state. */
void soft_walk(Soft *soft, State *state);

#endif
