/*
 * joint_internal.h: internals of joints, shared by the files of this folder only. A joint is stored
 * with its solver state (forces, for warm starting); rows live for one tick.
 * Layer: server/physics/rigid/joint, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_JOINT_JOINT_INTERNAL_H
#define PLENUM_SERVER_PHYSICS_RIGID_JOINT_JOINT_INTERNAL_H

#include "server/physics/rigid/joint/joint.h"

/* Denotes the world where a body slot is expected. */
#define JOINT_WORLD   0xffffffffu
#define JOINT_NO_SLOT 0xffffffffu

enum {
    JOINT_COLORS = 64,            /* joints without a free colour are solved sequentially */
    JOINT_PGS = JOINT_COLORS + 1, /* joints of PGS bodies, in slot order */
    TREE_COUPLED = 11             /* maximal number of coupled blocks at one body; with more
                                     there is no tree */
};

/* Loads of a joint, as forces averaged over one substep (N, N m), independent of the substep.
 * Linear parts that accompany angular ones (for a slider: angular with linear) are not counted. */
typedef struct JointLoad {
    Vec3 linear;  /* on b at the anchor: world axes; slider: along a's (x unused), y, z */
    Vec3 angular; /* on b: fixed, slider, motor: world; hinge: about a's y, z; universal, x */
    f32 spring, motor, lower, upper; /* of the free motion: angle, translation or distance */
    f32 swing;
    Vec3 friction; /* N m, on b: world; universal: x, about a's x, and y, about b's y; hinge: x */
} JointLoad;

/* Saved and hashed: no padding. */
typedef struct Joint {
    JointDef def;
    u32 live, generation;
    JointLoad load;
    Vec3 force, torque; /* N, N m: on b, mean of the last tick */
    f32 error;          /* m, largest position error at the end of the last tick */
} Joint;

typedef struct JointRow JointRow;
typedef struct DryRow DryRow;
typedef struct BallWide BallWide;
typedef struct HingeWide HingeWide;
typedef struct TreeJoint TreeJoint;
typedef struct TreeRow TreeRow;
typedef struct TreeSides TreeSides;
typedef struct TreeBlock TreeBlock;
typedef struct TreeKeep TreeKeep;
typedef struct TreeLimit TreeLimit;

/* Rows that share no moving body. */
typedef struct JointColor {
    u32 ball, ball_count, hinge, hinge_count, row, row_count;
} JointColor;

/* Likewise, of dry friction: of all joints that have it, also those of trees. */
typedef struct DryColor {
    u32 row, row_count;
} DryColor;

/* Pairs excluded from collision by joints: open addressing, linear probing. */
typedef struct JointPair {
    u32 a, b; /* a < b; b = 0: empty */
    u32 count;
} JointPair;

typedef struct RingBlow RingBlow;

/* A tree of joints, or a small cluster with loops, solved directly. */
typedef struct JointTree {
    u32 first, count;     /* in tree_joints: one or two per joint */
    u32 body, body_count; /* in tree_bodies: its own, then those that hold it */
    u32 own_count;        /* movable bodies */
    u32 block_count;
    bool lone;    /* one movable body, held by one joint */
    bool taut;    /* held by more than one joint */
    bool exact;   /* its masses differ so much that it is solved in doubles */
    bool flies;   /* free, and without springs */
    bool dry;     /* a joint has dry friction */
    bool limited; /* a joint has limits, solved with the tree */
    bool ring;    /* it has loops: see solve_joint_ring.c; also in doubles */
    u32 fill;     /* of a ring: number of blocks of its matrix */
} JointTree;

/* Up to eight trees of one shape, one per lane. */
typedef struct TreeGroup {
    u32 tree, lanes;        /* trees [tree, tree + lanes) */
    u32 row, count;         /* in tree_rows */
    u32 side, side_count;   /* in tree_sides */
    u32 block;              /* in tree_blocks */
    u32 limit, limit_count; /* in tree_limits */
    u32 response;           /* in tree_responses */
    u32 slots, numbers;     /* limits solved together, numbers of their responses */
} TreeGroup;

/* A joint's contribution to the loads of its bodies. */
typedef struct JointPull {
    u32 slots[2]; /* JOINT_WORLD: none */
    f32 loads[2]; /* N m */
    bool swings[2];
    Symmetric3 stiffness[2]; /* N m/rad, for bodies that may swing */
} JointPull;

typedef struct JointStore {
    u32 capacity, slots, first_free; /* no free slot is below first_free */
    u32 live;
    Joint *joints;      /* [capacity] */
    JointPair *pairs;   /* [pair_capacity], a power of two ≥ 2 capacity */
    u32 pair_capacity;  /* 0 without joints */
    JointBreak *breaks; /* [capacity] of the last tick */
    u32 break_count;
    /* Assignment of joints to rows and their order: kept until joints or their activity change,
     * or bodies sleep or wake. */
    bool laid_out;
    JointRow *rows; /* [capacity] by colour */
    /* [wide_capacity] by colour */
    BallWide *balls;
    HingeWide *hinges;
    u32 row_count, ball_count, hinge_count, wide_capacity;
    u32 *row_order;                /* [capacity] joint of a row */
    u32 *ball_order, *hinge_order; /* [wide_capacity][SIMD_LANES], JOINT_NO_SLOT: empty lane */
    u8 *color_of;                  /* [capacity] */
    JointColor colors[JOINT_PGS + 1];
    u32 color_count;  /* without those of PGS bodies */
    DryRow *dry_rows; /* [dry_capacity] by colour, of their own colours */
    u32 *dry_order;   /* [dry_order_capacity] joint of a row */
    DryColor dry_colors[JOINT_PGS + 1];
    u32 dry_count, dry_capacity, dry_order_capacity, dry_color_count;
    TreeJoint *tree_joints; /* [2 capacity] tree by tree */
    JointTree *trees;       /* [capacity] */
    TreeGroup *tree_groups; /* [capacity] */
    u32 *tree_bodies;       /* [body_capacity + capacity] tree by tree */
    u32 *ring_ends;         /* likewise, for movable bodies of rings: the ends of their blocks */
    u32 tree_joint_count, tree_count, tree_group_count, tree_body_count;
    bool limited;           /* a tree has limits */
    TreeRow *tree_rows;     /* [tree_row_capacity] group by group */
    TreeSides *tree_sides;  /* [tree_side_capacity] */
    TreeBlock *tree_blocks; /* [tree_block_capacity] couplings */
    TreeKeep *tree_keeps;   /* [tree_keep_capacity] of each group */
    TreeLimit *tree_limits; /* [tree_limit_capacity] of joints, group by group */
    struct Vec3x8
        *tree_responses; /* [tree_response_capacity] responses of the trees to their limits */
    u32 tree_row_count, tree_row_capacity, tree_side_count, tree_side_capacity;
    u32 tree_block_count, tree_block_capacity, tree_keep_capacity;
    u32 tree_limit_count, tree_limit_capacity, tree_response_count, tree_response_capacity;
    u32 *tree_places; /* [capacity] index of a joint's first entry in tree_joints, JOINT_NO_SLOT:
                         in none */
    u32 *links;       /* [capacity][2] next joint in the lists of its bodies */
    u32 *sides;       /* [capacity][2] bodies of joints, JOINT_WORLD: the world */
    /* [body_capacity] first joint of a body, the joint by which a traversal reached it, its
     * index in the traversal, and a visited flag. */
    u32 *body_heads, *body_parents, *body_places;
    u8 *body_seen;
    Symmetric3 *stiffness; /* [body_capacity] N m/rad, of the loads on a body */
    f32 *loads;            /* [body_capacity] N m, forces times arms */
    JointPull *pulls;      /* [capacity] of this tick */
    u32 *ring_places;      /* [body_capacity + 1] of solve_joint_ring_blow.c: zero between calls */
    RingBlow *blow;        /* its numbers */
    u64 memory;
} JointStore;

/* joint.c */
bool joint_store_init(JointStore *store, u32 capacity, u32 body_capacity);
void joint_store_finish(JointStore *store);
void joint_clear(Rigid *rigid);
/* Removes the joints of a removed body, and wakes the other bodies. */
void joint_remove_body(Rigid *rigid, u32 slot);
/* Counts, hashes, saves or loads; a failed load sets state->failed. Call after the bodies. */
void joint_serialize(Rigid *rigid, State *state);
/* Its loads are within STATE_VALUE_MAX; false for NaN. */
bool joint_is_bounded(const Joint *joint);
/* Whether a joint without JOINT_COLLIDES connects the two. */
bool joint_connects(const Rigid *rigid, u32 a, u32 b);
/* The bodies of the enabled joint in a slot below rigid_joint_slots(); false: none. The world is
 * JOINT_WORLD. */
bool joint_bodies(const Rigid *rigid, u32 slot, u32 *a, u32 *b);
/* Current world poses of the frames: frames[2], anchors[2]. */
void joint_frames(const Rigid *rigid, const JointDef *def, Vec3 anchors[2], Quat frames[2]);
/* Of one of them only the rotation. */
Quat joint_frame(const Rigid *rigid, BodyId side, Quat frame);
/* Angle about x from frame a to frame b, in (−π, π]. */
f32 joint_twist(Quat a, Quat b);
/* Frees the slot; the caller has saved what it needs. */
void joint_free(Rigid *rigid, u32 slot);

/* joint_validate.c: part of rigid_validate. */
void joints_validate(Rigid *rigid);

/* solve_joint.c */
/* Once per tick: builds rows from the joints of awake bodies. h: seconds of a substep. */
void joint_prepare(Rigid *rigid, Jobs *jobs, f32 h);
/* Each substep: warm start, then solve with bias; after integration solve again without. */
void joint_warm_start(Rigid *rigid, Jobs *jobs);
void joint_solve(Rigid *rigid, Jobs *jobs, bool use_bias, f32 h);
/* solve_joint_ring_blow.c */
bool ring_blow_init(JointStore *store); /* false: no memory */
void ring_blow_destroy(RingBlow *blow);
/* After the contact solve of a substep: solves rings opened by contacts again, together with
 * their contacts. */
void joint_ring_blows(Rigid *rigid, f32 h);
/* After them: closes trees with limits that contacts have opened, before the bodies move. */
void joint_close(Rigid *rigid, Jobs *jobs, f32 h);
/* For the joints of PGS bodies: once per tick; then once per iteration; and at the end. */
void joint_pgs_warm_start(Rigid *rigid);
void joint_pgs_solve(Rigid *rigid, f32 tick_s);
void joint_pgs_count(Rigid *rigid);
/* Stores loads for the next tick, and force, torque and error of this one; breaks joints. */
void joint_finish(Rigid *rigid, f32 tick_s);

#endif
