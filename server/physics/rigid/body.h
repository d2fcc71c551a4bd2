/*
 * body.h: the inside of the rigid world, shared by the files of this folder only.
 * Hot state (what the solver touches each substep) is apart from cold data; everything is indexed
 * by slot. Every struct that is saved and hashed is free of padding.
 * Layer: server/physics/rigid, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_BODY_H
#define PLENUM_SERVER_PHYSICS_RIGID_BODY_H

#include "server/physics/rigid/joint_state.h"
#include "server/physics/rigid/manifold.h"
#include "server/physics/rigid/rigid.h"
#include "server/physics/tree.h"
#include "shared/limits.h"

/* Distance at which contacts are made before shapes touch. */
#define RIGID_MARGIN_M         0.02f
/* Slack of broad-phase bounds, so that small motions leave the tree alone. */
#define RIGID_FAT_M            0.05f
/* Bodies slower than this for the time below sleep. */
#define RIGID_SLEEP_SPEED_M_S  0.05f
#define RIGID_SLEEP_SPIN_RAD_S 0.08f
#define RIGID_SLEEP_S          0.5f
/* Slower impacts do not bounce. */
#define RIGID_BOUNCE_M_S       0.25f
/* Overlap is pushed out no faster than this. */
#define RIGID_PUSH_M_S         3.0f

/* 64 bytes. A slot of a static or free body has inverse mass 0 and stays at rest. */
typedef struct BodyState {
    Vec3 velocity; /* m/s */
    f32 inverse_mass;
    Vec3 spin; /* rad/s, world */
    f32 gravity_scale;
    Vec3 shift; /* m, motion of the centre since the tick began */
    f32 reserved;
    Vec3 turn; /* rad, integral of the spin since the tick began */
    f32 reserved2;
} BodyState;

enum {
    BODY_LIVE = 1,
    BODY_ASLEEP = 2,
    BODY_MOVED = 4 /* its fat bounds changed: look for new pairs */
};

typedef struct Body {
    Vec3 position;
    Quat orientation;
    Shape shape;
    Vec3 inertia, inverse_inertia; /* diagonals in the body's frame */
    Bounds fat;                    /* in the tree */
    f32 mass, friction, restitution, rolling;
    f32 sleep_s;
    u32 motion; /* BodyMotion */
    u32 flags;
    u32 generation;
    u32 group, mask, family; /* group and mask are not 0 */
    u32 sensor;              /* 1: pushes nothing */
} Body;

enum {
    CONTACT_TOUCHING = 1,
    CONTACT_BEGAN = 2, /* touches since this tick */
    CONTACT_DEAD = 4
};

/* A pair whose fat bounds overlap, a < b. 160 bytes. */
typedef struct Contact {
    u32 a, b;
    u32 flags;
    f32 twist_impulse;
    Vec3 friction_impulse; /* N s, world, on b */
    f32 reserved;
    Vec3 rolling_impulse; /* N m s, world, on b */
    f32 reserved2;
    Manifold manifold;
} Contact;

/* One point of a manifold for the solver; arms are crossed with the normal. 80 bytes. */
typedef struct PointRow {
    Vec3 angular_a;
    f32 mass;
    Vec3 angular_b;
    f32 separation;
    Vec3 turn_a; /* I⁻¹ angular */
    f32 impulse;
    Vec3 turn_b;
    f32 impulse_max;
    f32 approach; /* m/s, normal velocity just before the first impulse of the tick */
    f32 lever;    /* m, from the patch centre, for twisting friction */
    f32 reserved[2];
} PointRow;

typedef struct ContactRow {
    u32 a, b, contact, count;
    Vec3 normal;
    f32 friction;
    Vec3 tangent1;
    f32 restitution;
    Vec3 tangent2;
    f32 rolling;
    Vec3 arm_a; /* to the patch centre */
    f32 twist_mass;
    Vec3 arm_b;
    f32 twist_impulse;
    f32 friction_mass[3]; /* inverse of the 2×2 patch matrix: 11, 22, 12 */
    f32 friction_impulse[2];
    Vec3 rolling_impulse;
    Symmetric3 rolling_mass;
    f32 bias_rate, mass_scale, impulse_scale; /* soft constraint */
    PointRow points[MANIFOLD_POINTS];
} ContactRow;

typedef struct PairKey {
    u32 a, b;
} PairKey;

struct Rigid {
    RigidDef def;
    Vec3 gravity;
    f32 friction_scale, restitution_min;
    u32 substeps;
    u32 slots; /* high-water mark */

    BodyState *states;    /* [capacity + 1] */
    Body *bodies;         /* [capacity] */
    Symmetric3 *inertias; /* [capacity] inverse, world, of this tick */
    u32 *leaves;          /* [capacity] tree nodes */
    Tree moving, fixed;
    u32 *planes; /* [capacity] slots, ascending */
    u32 plane_count;

    Contact *contacts, *merged; /* [contact_capacity], sorted by (a, b) */
    u32 contact_count, contact_capacity;
    PairKey *pairs; /* [pair_capacity] found this tick */
    u32 pair_count, pair_capacity;
    bool pairs_lost; /* no memory: some pairs are found again next tick */

    ContactRow *rows; /* [row_capacity] */
    u32 row_count, row_capacity;

    f32 *flights; /* [capacity] share of the tick's way that a body keeps (ccd.c) */
    u32 *parents; /* [capacity] union-find */
    u8 *island_awake, *island_restless;
    u32 island_count, touching;
    f32 penetration_max;

    JointStore joints;
    Grip grips[RIGID_GRIPS_MAX];
    u32 grip_count;
    RigidImpact impacts[RIGID_IMPACTS_MAX];
    u32 impact_count;
    u64 memory;
};

/* Soft constraint coefficients of a mass-independent spring over a step h (Catto 2011). */
typedef struct Softness {
    f32 bias_rate, mass_scale, impulse_scale;
} Softness;
Softness softness(f32 frequency_hz, f32 damping_ratio, f32 h);

/* contact.c */
bool contact_reserve(Rigid *rigid, u32 contacts);
void contact_update_pairs(Rigid *rigid);
void contact_remove_body(Rigid *rigid, u32 slot);
void contact_narrow(Rigid *rigid, Jobs *jobs);
void broad_insert(Rigid *rigid, u32 slot);
void broad_remove(Rigid *rigid, u32 slot);
void broad_refresh(Rigid *rigid);
/* ccd.c */
/* Distance (m) within which a pair's contacts are made: a tick ahead, but no more than bodies are
 * thick. */
f32 ccd_margin(const Rigid *rigid, u32 a, u32 b);
/* At the end of a tick: trees follow what moved, and fast bodies are stopped where they first
 * touched. */
void ccd_finish(Rigid *rigid);
/* island.c */
void island_wake(Rigid *rigid);
void island_sleep(Rigid *rigid);
void body_wake(Rigid *rigid, u32 slot);
/* solve_contact.c */
void contact_prepare(Rigid *rigid);
void contact_warm_start(Rigid *rigid);
void contact_solve(Rigid *rigid, bool use_bias);
void contact_restitution(Rigid *rigid);
void contact_store(Rigid *rigid);

/* The pose of its shape's frame, for the narrow phase and queries. */
static inline ShapePose body_pose(const Body *body)
{
    ShapePose pose = {&body->shape, body->position, body->orientation};
    return pose;
}

static inline bool body_is_active(const Body *body)
{
    return (body->flags & (BODY_LIVE | BODY_ASLEEP)) == BODY_LIVE && body->motion != BODY_STATIC;
}

#endif
