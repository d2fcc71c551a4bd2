/*
 * joint_state.h: the inside of the joints, shared by the files of this folder only. A joint is kept
 * with what its solver learned (forces, for warm starting); rows live for one tick.
 * Layer: server/physics/rigid/joint, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_JOINT_JOINT_STATE_H
#define PLENUM_SERVER_PHYSICS_RIGID_JOINT_JOINT_STATE_H

#include "server/physics/rigid/joint/joint.h"

/* Slot of the world where a body is asked for. */
#define JOINT_WORLD   0xffffffffu
#define JOINT_NO_SLOT 0xffffffffu

enum {
    JOINT_COLORS = 64,            /* what finds none of them is solved one after the other */
    JOINT_PGS = JOINT_COLORS + 1, /* joints of PGS bodies: by the PGS method, in slot order */
    TREE_COUPLED = 11             /* blocks of rows at one body but one: more make no tree */
};

/* What a joint gives, each over one substep as force (N, N m): independent of the substep. Shares
 * of linear that come with angular (a slider: of angular with linear) are not counted. */
typedef struct JointLoad {
    Vec3 linear;  /* on b at the anchor: world axes; slider: along a's (x unused), y, z */
    Vec3 angular; /* on b: fixed, slider, motor: world; hinge: about a's y, z; universal, x */
    f32 spring, motor, lower, upper; /* of the free motion: angle, shift or distance */
    f32 swing;
} JointLoad;

/* Saved and hashed: no padding. */
typedef struct Joint {
    JointDef def;
    u32 live, generation;
    JointLoad load;
    Vec3 force, torque; /* N, N m: on b, mean of the last tick */
    f32 error;          /* m, largest distance of what should be together, end of the last tick */
} Joint;

typedef struct JointRow JointRow;
typedef struct BallWide BallWide;
typedef struct HingeWide HingeWide;
typedef struct TreeJoint TreeJoint;
typedef struct TreeRow TreeRow;
typedef struct TreeSides TreeSides;
typedef struct TreeBlock TreeBlock;
typedef struct TreeKeep TreeKeep;

/* Rows that share no moving body. */
typedef struct JointColor {
    u32 ball, ball_count, hinge, hinge_count, row, row_count;
} JointColor;

/* Pairs that joints keep from touching: open addressing, linear probing. */
typedef struct JointPair {
    u32 a, b; /* a < b; b = 0: empty */
    u32 count;
} JointPair;

typedef struct RingBlow RingBlow;

/* A tree of joints, or a small cluster of them with loops, that is solved at once. */
typedef struct JointTree {
    u32 first, count;     /* in tree_joints: one or two of each joint */
    u32 body, body_count; /* in tree_bodies: its own, then what holds it */
    u32 own_count;        /* bodies that move */
    u32 block_count;
    bool lone;  /* one body moves, held by one joint */
    bool taut;  /* held by more than one joint */
    bool exact; /* its bodies differ so much that it is solved in doubles */
    bool flies; /* nothing holds it, and no spring acts in it */
    bool ring;  /* it has loops: see solve_joint_ring.c; exact as well */
    u32 fill;   /* of a ring: blocks of its matrix */
} JointTree;

/* Up to eight trees of one shape, one a lane. */
typedef struct TreeGroup {
    u32 tree, lanes;      /* trees [tree, tree + lanes) */
    u32 row, count;       /* in tree_rows */
    u32 side, side_count; /* in tree_sides */
    u32 block;            /* in tree_blocks */
} TreeGroup;

/* What a joint adds to the loads of its bodies. */
typedef struct JointPull {
    u32 slots[2]; /* JOINT_WORLD: nothing */
    f32 loads[2]; /* N m */
    bool swings[2];
    Symmetric3 stiffness[2]; /* N m/rad, of those that swing */
} JointPull;

typedef struct JointStore {
    u32 capacity, slots, first_free; /* no free slot is below first_free */
    u32 live;
    Joint *joints;      /* [capacity] */
    JointPair *pairs;   /* [pair_capacity], a power of two ≥ 2 capacity */
    u32 pair_capacity;  /* 0 without joints */
    JointBreak *breaks; /* [capacity] of the last tick */
    u32 break_count;
    /* Which joints are solved, by what rows and in which order: kept until joints come, go or
     * change or bodies do or sleep or wake. */
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
    u32 color_count;        /* those of PGS bodies apart */
    TreeJoint *tree_joints; /* [2 capacity] tree by tree */
    JointTree *trees;       /* [capacity] */
    TreeGroup *tree_groups; /* [capacity] */
    u32 *tree_bodies;       /* [body_capacity + capacity] tree by tree */
    u32 *ring_ends;         /* likewise, of the bodies of rings that move: where their blocks end */
    u32 tree_joint_count, tree_count, tree_group_count, tree_body_count;
    TreeRow *tree_rows;     /* [tree_row_capacity] group by group */
    TreeSides *tree_sides;  /* [tree_side_capacity] */
    TreeBlock *tree_blocks; /* [tree_block_capacity] couplings */
    TreeKeep *tree_keeps;   /* [tree_keep_capacity] of each group */
    u32 tree_row_count, tree_row_capacity, tree_side_count, tree_side_capacity;
    u32 tree_block_count, tree_block_capacity, tree_keep_capacity;
    u32 *tree_places; /* [capacity] of a joint's first in tree_joints, JOINT_NO_SLOT: in none */
    u32 *links;       /* [capacity][2] next joint in the lists of its bodies */
    u32 *sides;       /* [capacity][2] bodies of joints, JOINT_WORLD: the world */
    /* [body_capacity] first joint of a body, joint by which a walk reached it, its place in the
     * walk, and whether a walk was there. */
    u32 *body_heads, *body_parents, *body_places;
    u8 *body_seen;
    Symmetric3 *stiffness; /* [body_capacity] N m/rad, of the loads on a body */
    f32 *loads;            /* [body_capacity] N m, pulls times arms */
    JointPull *pulls;      /* [capacity] of this tick */
    u32 *ring_places;      /* [body_capacity + 1] of solve_joint_ring_blow.c: zero between calls */
    RingBlow *blow;        /* its numbers */
    u64 memory;
} JointStore;

/* joint.c */
bool joint_store_init(JointStore *store, u32 capacity, u32 body_capacity);
void joint_store_finish(JointStore *store);
void joint_clear(Rigid *rigid);
/* Removes and wakes what hangs on a body that goes. */
void joint_remove_body(Rigid *rigid, u32 slot);
/* Counts, hashes, saves or loads; a load that fails leaves state->failed set. Bodies come first. */
void joint_serialize(Rigid *rigid, State *state);
/* Its loads are within STATE_VALUE_MAX; false for NaN. */
bool joint_is_bounded(const Joint *joint);
/* Does a joint without JOINT_COLLIDES join the two? */
bool joint_connects(const Rigid *rigid, u32 a, u32 b);
/* The bodies of the enabled joint in a slot below rigid_joint_slots(); false: nothing to link. The
 * world is JOINT_WORLD. */
bool joint_bodies(const Rigid *rigid, u32 slot, u32 *a, u32 *b);
/* Pose of the frames in the world now: frames[2], anchors[2]. */
void joint_frames(const Rigid *rigid, const JointDef *def, Vec3 anchors[2], Quat frames[2]);
/* Angle about x from frame a to frame b, in (−π, π]. */
f32 joint_twist(Quat a, Quat b);
/* Frees the slot; the caller has noted what it needs. */
void joint_free(Rigid *rigid, u32 slot);

/* joint_validate.c: part of rigid_validate. */
void joints_validate(Rigid *rigid);

/* solve_joint.c */
/* Once a tick: rows from the joints of awake bodies. h: seconds of a substep. */
void joint_prepare(Rigid *rigid, Jobs *jobs, f32 h);
/* Each substep: the forces of the last one, then solve with bias; after the positions have moved
 * solve again without. */
void joint_warm_start(Rigid *rigid, Jobs *jobs);
void joint_solve(Rigid *rigid, Jobs *jobs, bool use_bias, f32 h);
/* solve_joint_ring_blow.c */
bool ring_blow_init(JointStore *store); /* false: no memory */
void ring_blow_destroy(RingBlow *blow);
/* After the contacts of a substep were solved: rings that these have torn at, together with their
 * contacts. */
void joint_ring_blows(Rigid *rigid, f32 h);
/* For the joints of PGS bodies: once a tick; then once an iteration; and when they are done. */
void joint_pgs_warm_start(Rigid *rigid);
void joint_pgs_solve(Rigid *rigid, f32 tick_s);
void joint_pgs_count(Rigid *rigid);
/* Loads for the next tick, force, torque and error of this one; joints that break end. */
void joint_finish(Rigid *rigid, f32 tick_s);

#endif
