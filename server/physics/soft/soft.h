/*
 * soft.h: the one particle store for everything soft: cloth, rope, balloons, jelly, plants, stick
 * figures. A body is a SoftMesh with constraints; bodies collide with the rigid world, with each
 * other and with themselves. A tick is soft_begin, then soft_substep after each rigid_substep.
 * Method: XPBD (Macklin, Müller, Chentanez 2016) with small steps, one iteration a step (Macklin et
 * al. 2019), solved on velocities; others selectable per body, to compare side by side.
 * Units SI, world axes. Nothing is allocated in a tick unless a table must grow.
 * Layer: server/physics (includes shared only).
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_SOFT_H
#define PLENUM_SERVER_PHYSICS_SOFT_SOFT_H

#include "server/physics/rigid/rigid.h"
#include "server/physics/state.h"
#include "shared/soft_mesh.h"

typedef struct Soft Soft;

/* How the constraints of a body are solved. All share wind, contact and hands. */
typedef enum SoftMethod {
    SOFT_XPBD = 0,            /* small steps, one iteration in each */
    SOFT_XPBD_ITERATIONS = 1, /* one step a tick with `iterations`, multipliers accumulated */
    SOFT_PBD = 2,             /* one step a tick, `iterations` of plain PBD with `stiffness` */
    SOFT_EULER = 3,           /* springs of 1 / compliance, explicit Euler */
    SOFT_MIDPOINT = 4,        /* the same, explicit midpoint */
    SOFT_VERLET = 5,          /* the same, Störmer–Verlet */
    SOFT_RELAX = 6, /* Jakobsen 2001: Verlet and `iterations` of square-root-free sticks */
    SOFT_METHOD_COUNT
} SoftMethod;

typedef enum SoftBend {
    SOFT_BEND_NONE = 0,
    SOFT_BEND_DISTANCE = 1, /* springs across an edge, or to the next but one of a grid */
    SOFT_BEND_DIHEDRAL = 2, /* angle between triangles, θ² |e|² / A (Grinspun et al. 2003) */
    SOFT_BEND_ISOMETRIC = 3 /* Bergou et al. 2006; sticks bend as with DISTANCE in either case */
} SoftBend;

/* How the volume inside a surface is found: by the divergence theorem, or from simple bodies about
 * it, to show their error. */
typedef enum SoftVolume {
    SOFT_VOLUME_GAUSS = 0,
    SOFT_VOLUME_BOX = 1,
    SOFT_VOLUME_ELLIPSOID = 2
} SoftVolume;

typedef enum SoftMatch {
    SOFT_MATCH_NONE = 0,
    SOFT_MATCH_RIGID = 1,
    SOFT_MATCH_LINEAR = 2,
    SOFT_MATCH_QUADRATIC = 3
} SoftMatch;

typedef struct SoftPin {
    u32 point;   /* of the body */
    BodyId body; /* attached to it where the point is now; generation 0: fixed in the world */
} SoftPin;

typedef struct SoftDef {
    const SoftMesh *mesh; /* needed only by soft_add */
    Vec3 position;        /* m */
    Quat orientation;     /* unit */
    Vec3 velocity;        /* m/s */
    Vec3 spin;            /* rad/s about the middle of its points */
    f32 mass_kg;          /* of all: by volume of tetrahedra, else area of triangles and sticks */
    SoftMethod method;
    u32 iterations; /* of the methods that have them, 1..1000 */
    f32 stiffness;  /* SOFT_PBD: [0, 1] of each iteration */
    /* Compliances in m/N (distance), m²·m²/J (area), m³·m³/J (volume), and of the dihedral and
     * isometric bending in 1/(N m): one over the bending stiffness of the sheet, E t³ / 12 of a
     * thin strip. Negative: no such constraint. */
    f32 stretch_compliance; /* of edges and sticks */
    f32 shear_compliance;   /* of a grid's diagonals */
    SoftBend bend;
    f32 bend_compliance;
    f32 area_compliance;          /* of each triangle */
    f32 volume_compliance;        /* of each tetrahedron */
    f32 stretch_min, stretch_max; /* limits of edges, as parts of the rest length; 0: none */
    bool tethers; /* long-range attachments to the nearest pins (Kim, Chentanez, Müller 2012) */
    /* Tetrahedra of stable Neo-Hookean matter (Macklin, Müller 2021); young 0: none. */
    f32 young;   /* Pa */
    f32 poisson; /* [0, 0.5) */
    /* A gas inside a closed surface, P V = n R T: pressure above the air's at the rest volume. A
     * ring of sticks that closes, in order, is a ball in two dimensions of 1 m depth. */
    f32 pressure; /* Pa, 0: none */
    SoftVolume volume;
    f32 inflate_s; /* the pressure grows from 0 in this time */
    SoftMatch match;
    f32 match_stiffness; /* (0, 1] of the way to the goal in each step */
    f32 match_beta;      /* [0, 1] linear and quadratic: share of the deformation that is allowed */
    f32 yield, creep;    /* plastic flow: strain it begins at (0: none), rate 1/s */
    f32 plastic_max;     /* largest plastic strain */
    f32 damping;         /* 1/s, of velocity */
    f32 smoothing;       /* 1/s, of differences of velocity along edges (Laplacian); 0: none */
    /* s, of the springs of explicit methods: their damping over their stiffness. Negative: just
     * what keeps the method from gaining energy, none for Verlet. */
    f32 spring_damping;
    f32 thickness;          /* m, kept from bodies and from other cloth */
    f32 friction;           /* of both kinds, kinetic; static is static_friction */
    f32 static_friction;    /* 0: as friction */
    f32 contact_stiffness;  /* N/m of a spring at each touching particle; 0: contacts are hard */
    f32 rolling_resistance; /* coefficient: moment over normal force and distance to the centre */
    bool self_collision;    /* with itself; with other soft bodies it always collides */
    u32 group, mask;        /* as of rigid bodies; 0: 1 and all */
    const SoftPin *pins;    /* [pin_count] */
    u32 pin_count;
} SoftDef;

/* What became of a body. */
typedef struct SoftRange {
    u32 first, count; /* particles */
    u32 body;         /* index */
    f32 mass_kg;
} SoftRange;

/* A hand on a particle: a damped spring with a bounded force. Numbers that make no sense (not
 * finite, beyond the world) do not pull. No particle goes faster than 100 m/s or leaves the cube of
 * ±WORLD_EXTENT_MAX_M: what would stays at its end, slow. */
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
    SOFT_GRIPS_MAX = 1024,
    SOFT_STEPS_MAX = 16,
    SOFT_ITERATIONS_MAX = 1000,
};

SoftDef soft_def_default(void); /* cloth of 0 kg without a mesh */
Soft *soft_create(void);        /* NULL: no memory */
void soft_destroy(Soft *soft);  /* NULL is fine */
/* Adds a body; *range says where its particles are. rigid (may be NULL) resolves the pins' bodies.
 * 0 or a negative Error with a text that names the field of the definition. Outside a tick only. */
int soft_add(Soft *soft, const Rigid *rigid, const SoftDef *def, SoftRange *range,
             ErrorText *error);
/* Sorts the constraints into batches; after the last addition, before the first tick. */
int soft_build(Soft *soft);

u32 soft_particles(const Soft *soft);
u32 soft_bodies(const Soft *soft);
u32 soft_constraints(const Soft *soft);
Vec3 soft_position(const Soft *soft, u32 particle); /* m */
Vec3 soft_velocity(const Soft *soft, u32 particle); /* m/s */
/* 1/kg; 0: pinned to the world */
f32 soft_inverse_mass(const Soft *soft, u32 particle);
/* Largest |length / rest − 1| over the edges of a body. */
f32 soft_strain(const Soft *soft, u32 body);
/* m³ inside a body with a closed surface, by the divergence theorem, or m² inside a ring of sticks;
 * 0 for others. */
f32 soft_volume(const Soft *soft, u32 body);
/* The same, found in another way. */
f32 soft_volume_by(const Soft *soft, u32 body, SoftVolume way);
/* Pa above the air's, with which the gas of a body pushed in the last step. */
f32 soft_pressure(const Soft *soft, u32 body);
u64 soft_memory(const Soft *soft);

void soft_set_gravity(Soft *soft, Vec3 gravity);
/* Wind (m/s) and air density (kg/m³): per triangle f = ((w − v)·n) n A ρ (with 1 m/s as unit). */
void soft_set_wind(Soft *soft, Vec3 wind, f32 air_density);
/* Factors on the compliances of stretch and shear, and of bending. */
void soft_set_compliance(Soft *soft, f32 stretch_scale, f32 bend_scale);
/* Factor on the pressure of all bodies. */
void soft_set_pressure(Soft *soft, f32 scale);
/* Steps of the particles in each substep of the bodies, 1..SOFT_STEPS_MAX (3): what is left of a
 * stretch goes with the square of the step, and particles are cheap. */
void soft_set_steps(Soft *soft, u32 steps);
/* Adds an impulse (N s) to a particle. */
void soft_impulse(Soft *soft, u32 particle, Vec3 impulse);

/* Index of the grip or −1. */
i32 soft_grip_add(Soft *soft, const SoftGrip *grip);
void soft_grip_remove(Soft *soft, u32 grip);
SoftGrip *soft_grip(Soft *soft, u32 grip);

/* Wind forces of the tick, and what may touch what within it. jobs may be NULL and must outlive the
 * tick. */
void soft_begin(Soft *soft, Rigid *rigid, Jobs *jobs, f32 tick_s);
/* Predicts, solves, exchanges impulses with the bodies. h in s. */
void soft_substep(Soft *soft, Rigid *rigid, f32 h);

/* ---- sleep: what rests costs nothing ----
 * soft_stir before rigid_collide; after the substeps soft_rest, rigid_finish, soft_sleep. Who calls
 * none of them has bodies that never sleep. */

/* Wakes what something that moves touches or holds. */
void soft_stir(Soft *soft, Rigid *rigid, f32 tick_s);
/* Tells the rigid world which soft bodies rest, and what they touch. */
void soft_rest(Soft *soft, Rigid *rigid);
/* Lets sleep what may, and wakes what it touches that is awake. */
void soft_sleep(Soft *soft, Rigid *rigid);
bool soft_awake(const Soft *soft, u32 body);
void soft_wake(Soft *soft, u32 body);
void soft_wake_all(Soft *soft);
/* Whatever may lie on this rigid body or hang on it: before it goes. */
void soft_wake_near(Soft *soft, const Rigid *rigid, u32 slot);

/* Stops the program where the store between two ticks is not as it should be: bodies and their
 * particles, constraints and how they are cut, pins, hands, touches, sleep, self-collision.
 * soft_begin calls it in debug and sanitizer builds. */
void soft_validate(const Soft *soft);

/* Walks the dynamic state. */
void soft_walk(Soft *soft, State *state);

#endif
