/*
 * heavy.h: contacts that carry far more than the weight of their own bodies. With the softness
 * required by single sweeps they would be compressed by a large part of the bodies' size; stiffer
 * ones need hundreds of sweeps. Bodies connected by such contacts form a cluster, and all contacts
 * of a cluster are solved directly in each substep, before the sweeps: heavy.c finds clusters,
 * solve_heavy.c solves them.
 * Layer: server/physics/rigid/solve, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_SOLVE_HEAVY_H
#define PLENUM_SERVER_PHYSICS_RIGID_SOLVE_HEAVY_H

#include "server/physics/rigid/rigid_internal.h"

enum {
    HEAVY_NORMALS = MANIFOLD_POINTS,
    HEAVY_SLIP = HEAVY_NORMALS, /* and the next: along the tangents */
    HEAVY_TWIST = HEAVY_NORMALS + 2,
    HEAVY_ROWS,         /* rows of a contact, one velocity each */
    HEAVY_AXES = 6,     /* linear and angular velocity */
    HEAVY_BODIES = 64,  /* per cluster: a set of them is one word */
    HEAVY_BLOCKS = 512, /* of 6 × 6 numbers in the factor of a cluster */
    HEAVY_ALL = 1024    /* bodies of all clusters */
};
#define HEAVY_FIXED 0xffffffffu

/* Passes over the contacts of a cluster. */
typedef enum HeavyPass {
    HEAVY_PUSH,
    HEAVY_RELAX,
    HEAVY_PASSES
} HeavyPass;

/* A contact of a cluster, with its lane of a row of the sweeps. */
typedef struct HeavyContact {
    u32 row, lane;
    u32 sides[2]; /* bodies, as indices in the cluster; HEAVY_FIXED: immovable */
    u32 points;
    /* Bits of active rows; for points, four bits higher, those with softness. */
    u32 solved, factored[HEAVY_PASSES];
    f64 speeds[HEAVY_ROWS][2][HEAVY_AXES]; /* velocity of a row per velocities of the sides */
    f64 response[HEAVY_ROWS];              /* velocity of a row per unit impulse */
    /* Of a pass: velocity to be removed without and with softness terms, stiffness (N s per
     * m/s), former impulse, its change. */
    f64 asked[HEAVY_ROWS], target[HEAVY_ROWS], weight[HEAVY_ROWS];
    f64 before[HEAVY_ROWS], change[HEAVY_ROWS];
} HeavyContact;

typedef struct HeavyBody {
    u32 slot;
    u32 first;            /* index of the first body in its row of blocks */
    u32 block;            /* its row in the factor, in blocks */
    f64 mass, inertia[6]; /* kg, kg m²: xx yy zz xy xz yz, world */
    f64 inverse_mass, inverse_inertia[6];
    f64 change[HEAVY_AXES]; /* of the velocities in a pass */
} HeavyBody;

typedef struct HeavyCluster {
    u32 body, bodies;      /* in heavy_bodies */
    u32 contact, contacts; /* in heavy_contacts */
    u32 block, blocks;     /* in heavy_blocks, for each pass */
    bool factored[HEAVY_PASSES];
} HeavyCluster;

/* Row of blocks of a body: column by column the numbers of its six rows. */
typedef f64 HeavyBlock[HEAVY_AXES][HEAVY_AXES];

/* Data of the running tick, and memory for the next; created by heavy_init. */
typedef struct HeavyStore {
    HeavyContact *contacts;           /* [contact_capacity] cluster by cluster */
    HeavyBody *bodies;                /* [body_capacity] cluster by cluster */
    HeavyCluster *clusters;           /* [cluster_capacity] */
    HeavyBlock *blocks[HEAVY_PASSES]; /* [block_capacity] */
    u32 contact_count, body_count, cluster_count, block_count;
    u32 contact_capacity, body_capacity, cluster_capacity, block_capacity[HEAVY_PASSES];
    /* During the search for clusters: [slots] plus one, and [contacts]. */
    u32 *parents, *sizes, *places, *starts, *queue, *below;
    u32 *uppers; /* [contacts] as found by rows: see heavy.c */
    f32 *loads;
    u8 *lanes; /* [rows] one bit per lane: solved by a cluster */
    u32 parent_capacity, size_capacity, place_capacity, start_capacity, queue_capacity;
    u32 below_capacity, upper_capacity, load_capacity, lane_capacity;
    bool searches; /* memory for the search is available */
    f32 gravity;   /* m/s² */
} HeavyStore;

/* heavy.c */
bool heavy_init(Rigid *rigid); /* false: out of memory */
void heavy_destroy(HeavyStore *store);
/* Once per tick, before rows are made: reserves memory for the search. */
void heavy_begin_search(Rigid *rigid);
/* Collects the search data of the contacts of a row, and their CONTACT_HEAVY; rows in parallel.
 * Returns whether the search is worthwhile for them. */
bool heavy_weigh(Rigid *rigid, const ContactWide *row);
/* Finds this tick's clusters from contacts with CONTACT_HEAVY, and stiffens their rows. */
void heavy_prepare(Rigid *rigid);

/* solve_heavy.c. Data of a cluster that is constant within a tick; then each pass of a substep. */
void heavy_begin(Rigid *rigid, HeavyCluster *cluster);
void heavy_solve(Rigid *rigid, HeavyPass pass);
/* For other direct solvers of contacts (solve_joint_ring_blow.c), which set slots, rows, lanes
 * and sides: masses of a body; rows of a contact of such bodies, and their individual responses;
 * the requests of a pass. */
void heavy_begin_body(const Rigid *rigid, HeavyBody *body);
void heavy_begin_contact(const Rigid *rigid, const HeavyBody *bodies, HeavyContact *contact);
void heavy_ask(const Rigid *rigid, HeavyContact *contact, HeavyPass pass);
/* Whether the contact has this row. */
bool heavy_has_row(const Rigid *rigid, const HeavyContact *contact, u32 r);
/* Velocity of a row for the changes of its bodies. */
f64 heavy_speed(const HeavyBody *bodies, const HeavyContact *contact, u32 r);
/* Applies an impulse along a row to the velocity changes of one side's body. */
void heavy_move_side(HeavyBody *bodies, const HeavyContact *contact, u32 r, u32 side, f64 impulse);
/* Several sweeps over the contacts: the residual of a row changes its impulse, and `move` the
 * velocities of the bodies accordingly. */
typedef struct HeavySweep HeavySweep;
struct HeavySweep {
    HeavyBody *bodies;
    HeavyContact *contacts;
    u32 count; /* of contacts */
    void (*move)(const HeavySweep *sweep, const HeavyContact *contact, u32 r, f64 impulse);
    const void *context;
};
void heavy_sweep(const Rigid *rigid, const HeavySweep *sweep);
/* Writes the changes of the impulses to the rows of the sweeps and to the bodies. */
void heavy_store(Rigid *rigid, HeavyBody *bodies, u32 body_count, HeavyContact *contacts,
                 u32 contact_count);

#endif
