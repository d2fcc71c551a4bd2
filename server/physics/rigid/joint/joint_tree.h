/*
 * joint_tree.h: the rows of trees of joints, up to eight trees of one shape side by side, and where
 * their bodies are and will be.
 * Layer: server/physics/rigid/joint, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_JOINT_JOINT_TREE_H
#define PLENUM_SERVER_PHYSICS_RIGID_JOINT_JOINT_TREE_H

#include "server/physics/rigid/joint/joint_wide.h"

/* A 3×3 matrix of each tree: of what couples two joints. */
struct TreeBlock {
    Vec3x8 x, y, z; /* columns */
};

/* A body of each tree. */
struct TreeSides {
    u32 slots[SIMD_LANES]; /* the world and empty lanes: the spare slot */
    i32x8 moves;           /* all ones: of the tree, else it holds it */
    i32x8 laden;           /* all ones: it turns as if it were heavier, see solve_joint_load.c */
    i32x8 uneven;          /* all ones: its inertia is not the same about all axes */
    Symmetric3x8 inertia;  /* in the frame of the body */
    Vec3x8 velocity, angular_velocity;
    f32x8 mass;     /* inverse */
    f32x8 rest;     /* what else the gathered words hold */
    SidePose place; /* of what holds it, no inertia */
    SidePose next;  /* where the step will take it; no inertia */
};

/* Of points: TREE_POINT, TREE_TRACK, TREE_ROD. */
typedef struct TreePoint {
    Vec3x8 local_a, local_b;            /* arms in the frames of the bodies */
    Vec3x8 start_a, start_b, start_gap; /* as the tick begins */
    /* After the last move: where the two forces act, which is one place, so that angular momentum
     * is kept: one of the anchors. */
    Vec3x8 arm_a, arm_b;
    Vec3x8 local_axis; /* TREE_TRACK: a's x in the frame of a */
    f32x8 length;      /* TREE_ROD; TREE_TRACK: from a's anchor to b's along the axis */
} TreePoint;

/* On the free motion of a hinge or a slider: see SpringStep. */
typedef struct TreeSpring {
    f32x8 stiffness, damping, rest;
    f32x8 angle;        /* of a hinge, after the last move */
    f32x8 cosine, sine; /* of its half */
    f32x8 impulse;      /* of this step */
} TreeSpring;

/* The others: turning. */
typedef struct TreeRotation {
    Quatx8 frame_a, frame_b; /* in the frames of the bodies */
    Vec3x8 x, y;             /* TREE_ROTATION_CROSS: a's x and b's y */
    TreeSpring spring;       /* where links.sprung */
} TreeRotation;

/* Three rows of a joint of each tree. */
struct TreeRow {
    union {
        TreePoint point;
        TreeRotation rotation;
    };
    Vec3x8 axis; /* TREE_TRACK, TREE_ROTATION_AXIS: free; TREE_ROD, TREE_ROTATION_CROSS: locked */
    Vec3x8 gap;  /* m, rad: of b against a, of what is locked */
    Vec3x8 bend; /* m/s, rad/s: what the next step opens by turning */
    Vec3x8 impulse, sum, change;
    Vec3x8 below;      /* of the right-hand side: what the joints below take */
    Symmetric3x8 give; /* softness: speed for each unit of impulse */
    f32x8 rate;        /* 1/s: with which errors are taken back */
    Symmetric3x8 mass; /* D⁻¹ of LDLᵀ */
};

/* Of a group of trees that nothing holds, from the warm start of a substep on. */
struct TreeKeep {
    f32x8 energy; /* J, as seen from the centres of the trees */
    i32x8 alone;  /* all ones: nothing but joints has acted since, and gravity on all alike */
    i32x8 fits;   /* all ones: nor had anything but that before */
};

/* A group and what is its own. */
typedef struct Trees {
    Rigid *rigid;
    TreeKeep *keep;
    const TreeJoint *joints; /* [count] of the first tree: their links are those of all */
    TreeRow *rows;           /* [count] */
    TreeSides *sides;        /* [side_count] */
    TreeBlock *blocks;       /* D⁻¹ B, from each joint's links.block on */
    u32 count, side_count, block_count, lanes;
    bool lone, taut; /* see JointTree */
    bool exact;      /* solved in doubles: blocks holds other numbers */
    bool ring;       /* and they have loops: blocks holds those of solve_joint_ring.c */
    bool flies;      /* nothing holds them, and no spring acts in them */
    u32 own_count;   /* sides that move come first */
    u32 fill;        /* see JointTree */
    const u32 *ends; /* [own_count] of a ring: see JointStore */
} Trees;

SIMD_INLINE Vec3x8 vec3x8_zero(void)
{
    f32x8 zero = f32x8_set(0.0f);
    return (Vec3x8){zero, zero, zero};
}
SIMD_INLINE bool is_point(u32 kind)
{
    return kind <= TREE_ROD;
}
SIMD_INLINE bool leaves_axis(u32 kind)
{
    return kind == TREE_TRACK || kind == TREE_ROTATION_AXIS;
}
SIMD_INLINE bool locks_axis(u32 kind)
{
    return kind == TREE_ROD || kind == TREE_ROTATION_CROSS;
}

/* What of a motion is locked. */
SIMD_INLINE Vec3x8 locked_part(u32 kind, const TreeRow *row, Vec3x8 v)
{
    Vec3x8 along = vec3x8_scale(row->axis, vec3x8_dot(row->axis, v));
    return leaves_axis(kind) ? vec3x8_sub(v, along) : (locks_axis(kind) ? along : v);
}

/* solve_joint_tree_pose.c */
/* Once a tick, when the lanes of a row have what its joints hold: where the row stands. */
void tree_row_start(const Trees *t, u32 place);
/* After the places of the bodies were gathered. */
void tree_row_follow(const Trees *t, u32 place);
/* What the step opens by turning, as a speed, by the velocities of now: to second order, see
 * point_bend; zero for tracks and rods. */
Vec3x8 tree_row_bend(const Trees *t, u32 place, f32x8 half_h);
/* Where the step will take the bodies by the velocities of now. */
void trees_predict(const Trees *t, f32 h);
/* The speed with which what is locked of a row opens on the way there. */
Vec3x8 tree_row_opens(const Trees *t, u32 place, f32 h);

/* solve_joint_tree_exact.c, for trees that are solved in doubles */
/* Of the rows as they stand, when they have begun. */
void trees_exact_eliminate(const Trees *t);
/* row->change: from what it should be to the impulse for it. */
void trees_exact_solve(const Trees *t);

/* solve_joint_ring.c: the same for rings. */
void rings_eliminate(const Trees *t);
void rings_solve(const Trees *t);
/* [own_count][6]: how a ring answers a unit impulse (axis 0 to 2) or moment (3 to 5) at one of its
 * bodies, as it is eliminated; until the next call. */
const f64 *ring_answer(const Trees *t, u32 lane, u32 body, u32 axis);

/* solve_joint_trees.c */
Trees joint_trees_of(Rigid *rigid, const TreeGroup *group);
/* Lanes (bit by bit) of a group of rings that contacts have torn at since the joints were solved,
 * so that a step of h opens them. */
u32 joint_rings_torn(Rigid *rigid, const TreeGroup *group, f32 h);
/* These lanes once more, as joint_trees_solve, from the velocities of now. */
void joint_rings_solve(Rigid *rigid, const TreeGroup *group, u32 lanes, f32 h);

/* solve_joint_tree_energy.c, once a substep. Before the joints act; fits: where all is locked that
 * should be. */
void trees_energy_begin(const Trees *t, i32x8 fits);
/* When they have acted. */
void trees_energy_keep(const Trees *t);

#endif
