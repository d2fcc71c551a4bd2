/*
 * joint_tree.h: the rows of trees of joints, up to eight trees of one shape at a time, and the
 * current and predicted poses of their bodies.
 * Layer: server/physics/rigid/joint, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_JOINT_JOINT_TREE_H
#define PLENUM_SERVER_PHYSICS_RIGID_JOINT_JOINT_TREE_H

#include "server/physics/rigid/joint/joint_wide.h"

/* A 3×3 matrix of each tree: the coupling of two joints. */
struct TreeBlock {
    Vec3x8 x, y, z; /* columns */
};

/* A body of each tree. */
struct TreeSides {
    u32 slots[SIMD_LANES]; /* the world and empty lanes: the spare slot */
    i32x8 moves;           /* all ones: movable body of the tree, otherwise it holds the tree */
    i32x8 laden;           /* all ones: it has an increased inertia, see solve_joint_load.c */
    i32x8 uneven;          /* all ones: its moments of inertia are unequal */
    Symmetric3x8 inertia;  /* in the frame of the body */
    Vec3x8 velocity, angular_velocity;
    f32x8 mass;     /* inverse */
    f32x8 rest;     /* other gathered words */
    SidePose place; /* of a holding body, without inertia */
    SidePose next;  /* predicted after the step, without inertia */
};

/* For points: TREE_POINT, TREE_TRACK, TREE_ROD. */
typedef struct TreePoint {
    Vec3x8 local_a, local_b;            /* arms in the frames of the bodies */
    Vec3x8 start_a, start_b, start_gap; /* at the start of the tick */
    /* After the last integration: the common point where the two forces act, one of the anchors,
     * so that angular momentum is conserved. */
    Vec3x8 arm_a, arm_b;
    Vec3x8 local_axis; /* TREE_TRACK: a's x in the frame of a */
    f32x8 length;      /* TREE_ROD; TREE_TRACK: from a's anchor to b's along the axis */
} TreePoint;

/* Spring on the free motion of a hinge or a slider: see SpringStep. */
typedef struct TreeSpring {
    f32x8 stiffness, damping, rest;
    f32x8 angle;        /* of a hinge, after the last integration */
    f32x8 cosine, sine; /* of half of it */
    f32x8 impulse;      /* of this step */
} TreeSpring;

/* For the others: rotation. */
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
    Vec3x8 axis;  /* TREE_TRACK, TREE_ROTATION_AXIS: free; TREE_ROD, TREE_ROTATION_CROSS: locked */
    Vec3x8 gap;   /* m, rad: of b relative to a, locked part */
    Vec3x8 drift; /* m/s, rad/s: error opened by rotation in the next step */
    Vec3x8 impulse, sum, change;
    Vec3x8 below;      /* of the right-hand side: contributions of the joints below */
    Symmetric3x8 give; /* softness: velocity per unit of impulse */
    f32x8 rate;        /* 1/s: rate of error correction */
    Symmetric3x8 mass; /* D⁻¹ of LDLᵀ */
};

/* Of a group of free trees, from the warm start of a substep on. */
struct TreeKeep {
    f32x8 energy;    /* J, relative to the centres of the trees */
    Vec3x8 velocity; /* m/s, of these */
    i32x8 alone;     /* all ones: since then only joints, and equal gravity, have acted */
    i32x8 fits;      /* all ones: neither had anything else before */
    i32x8 struck;    /* all ones: since then a limit has acted, which may have taken energy */
    /* For the current factors: limits with a slot (negative: not yet), and slots whose response is
     * known. */
    i32x8 slots;
    i32x8 room; /* slots of each tree, by its own limits: at most Trees.slots */
    u32 response_count;
};

enum {
    LIMIT_SWING,
    LIMIT_LOWER,
    LIMIT_UPPER,
    LIMITS_OF_JOINT,
    /* Limits of a tree that are solved together, by how many may act in it; and the numbers of
     * their responses. */
    LIMIT_SLOTS_MIN = 8,
    LIMIT_SLOTS = 64,
    LIMIT_ANSWERS = 1 << 15
};

/* A limit of a joint of each tree. */
typedef struct TreeStop {
    u32 place;          /* of the joint's point */
    bool used;          /* in some tree */
    Vec3x8 about;       /* a positive impulse pushes b about it; 0: it does not act */
    f32x8 low, high;    /* N m s: bounds of its impulse */
    f32x8 clearance;    /* remaining angle, rad; negative: beyond the limit */
    f32x8 bias;         /* rad/s: it asks for the opposite of this speed */
    f32x8 impulse;      /* N m s */
    f32x8 speed;        /* rad/s, before this round */
    f32x8 own, least;   /* rad/s per N m s: with the response of the tree; the smallest that
                         * counts */
    i32x8 slot, begins; /* index among the active limits of its tree, -1: inactive; new in this
                         * round */
    f32x8 *response;    /* [slots] rad/s per N m s of the limit in that slot */
} TreeStop;

/* The limits of a cone-twist joint or a hinge of each tree. */
struct TreeLimit {
    u32 place;                 /* of its point */
    bool hinge;                /* has no swing */
    i32x8 some;                /* all ones: the tree has limits here */
    i32x8 locked;              /* lower and upper are one */
    Quatx8 frame_a, frame_b;   /* in the frames of the bodies */
    Vec3x8 x_a, x_b, y_a;      /* axes of its frames, in the frames of the bodies */
    Vec3x8 axis, rotation;     /* after the last integration: of the angle; of b relative to a */
    f32x8 value, lower, upper; /* rad */
    f32x8 sine, cosine;        /* of the swing */
    Vec3x8 sum;                /* N m s: of the substeps so far, on b */
    TreeStop stops[LIMITS_OF_JOINT];
};

/* A group and its data. */
typedef struct Trees {
    Rigid *rigid;
    TreeKeep *keep;
    const TreeJoint *joints; /* [count] of the first tree: all have the same links */
    TreeRow *rows;           /* [count] */
    TreeSides *sides;        /* [side_count] */
    TreeBlock *blocks;       /* D⁻¹ B, starting at each joint's links.block */
    TreeLimit *limits;       /* [limit_count] */
    Vec3x8 *unit_responses;  /* [slots][2 side_count + count]: see solve_joint_tree_limit.c */
    f32x8 *responses; /* [limit_count][LIMITS_OF_JOINT][slots]; then scratch: [slots][slots] */
    u32 count, side_count, block_count, limit_count, slots, lanes;
    bool lone, taut; /* see JointTree */
    bool exact;      /* solved in doubles: blocks contains other numbers */
    bool ring;       /* with loops: blocks contains those of solve_joint_ring.c */
    bool dry;        /* a joint has dry friction */
    bool limited;    /* a joint has limits */
    bool flies;      /* not held, and without springs */
    u32 own_count;   /* movable sides come first */
    u32 fill;        /* see JointTree */
    const u32 *ends; /* [own_count] of a ring: see JointStore */
} Trees;

/* v in the lanes of the mask, 0 in the others. */
SIMD_INLINE Vec3x8 vec3x8_where(i32x8 mask, Vec3x8 v)
{
    return (Vec3x8){f32x8_and(mask, v.x), f32x8_and(mask, v.y), f32x8_and(mask, v.z)};
}

/* What a row of this kind (TREE_...) locks: a point; all but an axis; an axis alone. */
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

/* The locked part of a motion. */
SIMD_INLINE Vec3x8 locked_part(u32 kind, const TreeRow *row, Vec3x8 v)
{
    Vec3x8 along = vec3x8_scale(row->axis, vec3x8_dot(row->axis, v));
    return leaves_axis(kind) ? vec3x8_sub(v, along) : (locks_axis(kind) ? along : v);
}

/* solve_joint_tree_pose.c */
/* Once per tick, when the lanes of a row are set: stores the initial pose of the row. The impulse
 * of a hinge's rotation is in a's frame until then. */
void tree_row_start(const Trees *t, u32 place);
/* That impulse in a's frame. */
Vec3x8 tree_hinge_load(const Trees *t, u32 place);
/* The rotation from a frame of a to one of b, in the frame of a. */
Quatx8 tree_relative(const Trees *t, u32 place, Quatx8 frame_a, Quatx8 frame_b);
/* After gathering the poses of the bodies. */
void tree_row_follow(const Trees *t, u32 place);
/* Error opened by rotation in the step, as a velocity, from current velocities: to second order,
 * see point_drift; zero for tracks and rods. */
Vec3x8 tree_row_drift(const Trees *t, u32 place, f32x8 half_h);
/* Predicts the poses after the step from current velocities. */
void trees_predict(const Trees *t, f32 h);
/* Velocity at which the locked part of a row opens until then. */
Vec3x8 tree_row_opens(const Trees *t, u32 place, f32 h);
/* Normal of a's x and b's y: about it a universal joint does not rotate. */
Vec3 tree_cross(const Rigid *rigid, const JointDef *def);

/* solve_joint_tree_exact.c, for trees that are solved in doubles */
/* From the rows when they have begun. */
void trees_exact_eliminate(const Trees *t);
/* row->change: from the required velocity to its impulse. */
void trees_exact_solve(const Trees *t);

/* solve_joint_ring.c: the same for rings. */
void rings_eliminate(const Trees *t);
void rings_solve(const Trees *t);
/* [own_count][6]: the response of an eliminated ring to a unit impulse (axis 0 to 2) or moment
 * (3 to 5) at one of its bodies; valid until the next call. */
const f64 *ring_response(const Trees *t, u32 lane, u32 body, u32 axis);

/* solve_joint_trees.c */
Trees joint_trees_of(Rigid *rigid, const TreeGroup *group);
/* Lanes (bit mask) of a group of rings that contacts have disturbed since the joints were
 * solved, so that a step of h opens them. */
u32 joint_rings_torn(Rigid *rigid, const TreeGroup *group, f32 h);
/* Solves these lanes again, like joint_trees_solve, from current velocities. */
void joint_rings_solve(Rigid *rigid, const TreeGroup *group, u32 lanes, f32 h);

/* Closes what opens at the velocities of the bodies, in these lanes: changes these by the rows'
 * `change`, which their impulses get if it counts. */
typedef void TreeSolve(const Trees *t, i32x8 lanes, bool counts);

/* solve_joint_tree_limit.c, for trees that have limits; group: of the tree */
/* Once a tick, when the rows have started. */
void trees_limits_prepare(const Trees *t, const TreeGroup *group, f32 h);
void trees_limits_warm_start(const Trees *t);
/* After the joints, in these lanes. relax: updates the poses first, without bias, and the impulses
 * count. */
void trees_limits_solve(const Trees *t, TreeSolve *solve, i32x8 lanes, bool relax, f32 h);
/* Adds to the loads and torques that the joints of the trees have stored. */
void trees_limits_store(const Trees *t, const TreeGroup *group, f32 tick_s);

/* What acts in a round. */
typedef struct LimitRun {
    const Trees *t;
    TreeSolve *solve;
    i32x8 open;                /* lanes in which limits may act */
    i32x8 busy;                /* those that are being solved */
    i32x8 from, end;           /* limits that may act now: of a tree at which many act, not all */
    i32x8 full;                /* all ones: there are others that should */
    f32x8 amount[LIMIT_SLOTS]; /* N m s, in this round */
    u32 count;
    TreeStop *acting[LIMIT_SLOTS * SIMD_LANES]; /* [count] those that have a slot in some tree */
} LimitRun;

/* Slower changes (rad/s) of a limit are none. */
#define LIMIT_ENOUGH 1e-4f

/* solve_joint_tree_balance.c: the impulses of what acts in these lanes; run->amount: their changes,
 * by slot. */
void limits_balance(LimitRun *run, i32x8 lanes);

/* solve_joint_tree_energy.c, once per substep, before the joints act; fits: lanes with no
 * velocity in locked directions. */
void trees_energy_begin(const Trees *t, i32x8 fits);
/* After the joints have acted. */
void trees_energy_keep(const Trees *t);

#endif
