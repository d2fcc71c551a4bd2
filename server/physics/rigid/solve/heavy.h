/*
 * heavy.h: contacts that carry far more than their own bodies weigh. As soft as one sweep bears
 * they would give way by a good part of the bodies' size, and made harder they need hundreds of
 * sweeps. Bodies that such contacts connect are a cluster, and all contacts of a cluster are solved
 * at once in each substep, before the sweeps: heavy.c finds clusters, solve_heavy.c solves them.
 * Layer: server/physics/rigid/solve, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_SOLVE_HEAVY_H
#define PLENUM_SERVER_PHYSICS_RIGID_SOLVE_HEAVY_H

#include "server/physics/rigid/body.h"

enum {
    HEAVY_NORMALS = MANIFOLD_POINTS,
    HEAVY_SLIP = HEAVY_NORMALS, /* and the next: along the tangents */
    HEAVY_TWIST = HEAVY_NORMALS + 2,
    HEAVY_ROWS,         /* of a contact: what is asked of it, one speed each */
    HEAVY_AXES = 6,     /* velocity, spin */
    HEAVY_BODIES = 64,  /* of a cluster: a set of them is one word */
    HEAVY_BLOCKS = 512, /* of 6 × 6 numbers in the factor of a cluster */
    HEAVY_ALL = 1024    /* bodies of all clusters */
};
#define HEAVY_FIXED 0xffffffffu

/* How the contacts of a cluster are solved. */
typedef enum HeavyPass {
    HEAVY_PUSH,
    HEAVY_RELAX,
    HEAVY_PASSES
} HeavyPass;

/* A contact of a cluster, from its lane of a row of the sweeps. */
typedef struct HeavyContact {
    u32 row, lane;
    u32 sides[2]; /* bodies, as places in the cluster; HEAVY_FIXED: nothing moves it */
    u32 points;
    /* Bits of rows that are solved for; of points, four bits on, those that give way softly. */
    u32 solved, factored[HEAVY_PASSES];
    f64 speeds[HEAVY_ROWS][2][HEAVY_AXES]; /* of a row for velocities of the sides */
    f64 response[HEAVY_ROWS];              /* speed of a row for its impulse */
    /* Of a pass: speed to take away without and with what softness adds, stiffness (N s per m/s),
     * impulse before, its change. */
    f64 asked[HEAVY_ROWS], target[HEAVY_ROWS], weight[HEAVY_ROWS];
    f64 before[HEAVY_ROWS], change[HEAVY_ROWS];
} HeavyContact;

typedef struct HeavyBody {
    u32 slot;
    u32 first;            /* place of the first body that its row of blocks reaches */
    u32 block;            /* its row in the factor, blocks */
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

/* Of the tick that runs, and room for the next; made by heavy_init. */
typedef struct HeavyStore {
    HeavyContact *contacts;           /* [contact_capacity] cluster by cluster */
    HeavyBody *bodies;                /* [body_capacity] cluster by cluster */
    HeavyCluster *clusters;           /* [cluster_capacity] */
    HeavyBlock *blocks[HEAVY_PASSES]; /* [block_capacity] */
    u32 contact_count, body_count, cluster_count, block_count;
    u32 contact_capacity, body_capacity, cluster_capacity, block_capacity[HEAVY_PASSES];
    /* While clusters are found: [slots] and one, and [contacts]. */
    u32 *parents, *sizes, *places, *starts, *queue, *below;
    u32 *uppers; /* [contacts] as rows have found them: see heavy.c */
    f32 *loads;
    u8 *lanes; /* [rows] bit by lane: solved by a cluster */
    u32 parent_capacity, size_capacity, place_capacity, start_capacity, queue_capacity;
    u32 below_capacity, upper_capacity, load_capacity, lane_capacity;
    bool searches; /* there is room for the search */
    f32 gravity;   /* m/s² */
} HeavyStore;

/* heavy.c */
bool heavy_init(Rigid *rigid); /* false: no memory */
void heavy_destroy(HeavyStore *store);
/* Each tick, before the rows are made: room for the search. */
void heavy_begin_search(Rigid *rigid);
/* What the search asks of the contacts of a row, and their CONTACT_HEAVY; rows side by side.
 * Returns whether the search is worth it for them. */
bool heavy_weigh(Rigid *rigid, const ContactWide *row);
/* The clusters of this tick, from contacts with CONTACT_HEAVY, and harder rows for them. */
void heavy_prepare(Rigid *rigid);

/* solve_heavy.c. What of a cluster does not change within a tick; then each pass of a substep. */
void heavy_begin(Rigid *rigid, HeavyCluster *cluster);
void heavy_solve(Rigid *rigid, HeavyPass pass);
/* For what else solves contacts together (solve_joint_ring_blow.c), where slots, rows, lanes and
 * sides are set: masses of a body; rows of a contact of such bodies, and how these answer alone;
 * what a pass asks of it, by its response. */
void heavy_begin_body(const Rigid *rigid, HeavyBody *body);
void heavy_begin_contact(const Rigid *rigid, const HeavyBody *bodies, HeavyContact *contact);
void heavy_ask(const Rigid *rigid, HeavyContact *contact, HeavyPass pass);
/* Does the contact have the row? */
bool heavy_has_row(const Rigid *rigid, const HeavyContact *contact, u32 r);
/* Speed of a row for the changes of its bodies. */
f64 heavy_speed(const HeavyBody *bodies, const HeavyContact *contact, u32 r);
/* An impulse along a row, on the changes of the velocities of the body of a side, alone. */
void heavy_move_side(HeavyBody *bodies, const HeavyContact *contact, u32 r, u32 side, f64 impulse);
/* Contacts one after the other, some times: what a row still asks changes its impulse, and `move`
 * the velocities of the bodies by that. */
typedef struct HeavySweep HeavySweep;
struct HeavySweep {
    HeavyBody *bodies;
    HeavyContact *contacts;
    u32 count; /* of contacts */
    void (*move)(const HeavySweep *sweep, const HeavyContact *contact, u32 r, f64 impulse);
    const void *context;
};
void heavy_sweep(const Rigid *rigid, const HeavySweep *sweep);
/* The changes of the impulses, to the rows of the sweeps and to the bodies, each alone. */
void heavy_store(Rigid *rigid, HeavyBody *bodies, u32 body_count, HeavyContact *contacts,
                 u32 contact_count);

#endif
