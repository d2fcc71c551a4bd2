/*
 * joint_row.h: the constraint rows of one tick: one joint of any kind, or eight ball joints or
 * hinges.
 * Layer: server/physics/rigid/joint, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_JOINT_JOINT_ROW_H
#define PLENUM_SERVER_PHYSICS_RIGID_JOINT_JOINT_ROW_H

#include "server/physics/rigid/body_wide.h"

/* Maximal speed of error correction. */
#define JOINT_PUSH_M_S   50.0f
#define JOINT_PUSH_RAD_S 50.0f
/* Stiffness of single joints, Hz times the substep, and damping ratio: they may not oscillate
 * faster than the passes over them can resolve. */
#define JOINT_STIFFNESS  0.25f
#define JOINT_DAMPING    2.0f
/* Springs slower than this (ω h) are integrated exactly; faster ones implicitly, for stability. */
#define SPRING_EXACT_WH  1.0f

/* The current pose of a joint. */
typedef struct JointPose {
    Vec3 arm_a, arm_b; /* m, world, from the centres of mass */
    Vec3 gap;          /* m, from a's anchor to b's */
    Quat frame_a, frame_b;
    Vec3 rotation; /* of b relative to a since the tick began */
    f32 value;     /* angle of the free motion */
} JointPose;

/* The arms of a joint from its bodies' centres to its anchors. */
typedef struct JointArms {
    Vec3 local_a, local_b;            /* m, in the frames of the bodies */
    Vec3 start_a, start_b, start_gap; /* m, world axes, at the start of the tick */
} JointArms;

struct JointRow {
    u32 a, b, joint;
    JointKind kind;
    u32 flags;
    JointArms arms;
    Quat local_frame_a, local_frame_b;
    JointPose pose;         /* after the last integration */
    f32 lower, upper, rest; /* rad or m */
    f32 cos_swing, sin_swing;
    f32 speed, impulse_max;       /* of the motor */
    f32 stiffness, damping, mass; /* N/m, kg: see SpringStep; and the effective mass of the free
                                     motion */
    Vec3 motor_velocity, motor_angular_velocity;
    f32 torque_impulse_max;
    Softness soft;              /* of the spring of JOINT_MOTOR */
    JointLoad impulse;          /* N s, N m s */
    Vec3 sum_force, sum_moment; /* sums over the substeps so far, on b at the anchor */
};

/* Eight ball joints that share no moving body. Pose-dependent data (inertias, arms, gap and
 * mass) is from after the last integration. */
struct BallWide {
    u32 a[SIMD_LANES], b[SIMD_LANES];   /* slots; the world and empty lanes: the spare slot */
    u32 joint[SIMD_LANES];              /* slot, JOINT_NO_SLOT: empty lane */
    Vec3x8 local_a, local_b;            /* arms in the frames of the bodies */
    Vec3x8 start_a, start_b, start_gap; /* at the start of the tick */
    Symmetric3x8 inertia_a, inertia_b;
    Vec3x8 arm_a, arm_b, gap;
    Symmetric3x8 mass;
    Vec3x8 drift; /* m/s: see point_drift */
    Vec3x8 impulse, sum;
};

enum {
    TREE_JOINTS_MIN = 1,
    TREE_EXACT_BLOCKS = 2, /* memory of a tree solved in doubles for each of its couplings */
    TREE_EXACT_ROWS = 3    /* and for each of its rows, in TreeBlock */
};
/* Hz times the substep, of the joints of a tree: of points, of those that shake or are taut, of
 * a single hanging body, and of rotation. */
#define TREE_STIFFNESS          8.0f
#define TREE_SHAKE_STIFFNESS    1.6f
#define TREE_LONE_STIFFNESS     64.0f
#define TREE_ROTATION_STIFFNESS 32.0f
/* rad, squared: rotation per step above which loaded joints are softened. */
#define SHAKE_ROTATION          2.5e-3f

/* Kinds of three rows of a tree joint. */
typedef enum TreeKind {
    TREE_POINT,         /* locks its points together */
    TREE_TRACK,         /* except along a's x (slider): the third row is empty */
    TREE_ROD,           /* keeps its points at a distance: two are empty */
    TREE_ROTATION,      /* locks all rotation (fixed) */
    TREE_ROTATION_AXIS, /* except about a's x (hinge): the third row is empty */
    TREE_ROTATION_CROSS /* only about the normal of a's x and b's y (universal): two are empty */
} TreeKind;

/* Connections of the rows of a joint in their tree: identical in all trees of a shape. Indices
 * are relative to the tree's first body and row. */
typedef struct TreeLinks {
    u32 kind;                 /* TreeKind */
    u32 body_a, body_b;       /* indices */
    u32 sprung;               /* rotation of a joint with a spring on its free motion */
    u32 upper;                /* of the body shared with the rows coupled to these */
    u32 filled;               /* elimination of lower rows adds to its coupling blocks */
    u32 coupled, block;       /* block: first of its coupling blocks, each D⁻¹ B */
    u32 others[TREE_COUPLED]; /* their indices, ascending; first those of the same joint, if any */
} TreeLinks;

/* In elimination order: of a joint its point, then its rotation. */
struct TreeJoint {
    u32 joint; /* slot */
    TreeLinks links;
};

static const Softness rigid_softness = {0.0f, 1.0f, 0.0f};

/* In a tree the point of such a joint is one of its rows, and each active limit is solved with the
 * response of the whole tree. */
static inline bool joint_limits_apart(const JointDef *def)
{
    return (def->kind == JOINT_CONE_TWIST || def->kind == JOINT_HINGE) &&
           (def->flags & JOINT_LIMITS);
}

/* Whether PGS solves a joint of the two. */
static inline bool joint_is_pgs(const Rigid *rigid, u32 a, u32 b)
{
    return (a != JOINT_WORLD && body_is_pgs(rigid, a)) ||
           (b != JOINT_WORLD && body_is_pgs(rigid, b));
}

/* A spring's impulse in a step, per unit mass: −(stiffness x / h + damping v). */
typedef struct SpringStep {
    f32 stiffness, damping;
} SpringStep;

/* solve_joint_spring.c */
SpringStep spring_step(f32 frequency_hz, f32 damping_ratio, f32 h);

/* The dry friction of one joint: solved after all joints, each with a share of the point's impulse
 * that leaves the point's velocity unchanged. Pose-dependent data is from after the last
 * integration. */
struct DryRow {
    u32 a, b, joint;
    JointKind kind;
    JointArms arms;
    Vec3 local_x, local_y;      /* hinge, universal: axes, in the frames of a and b */
    Vec3 arm_a, arm_b;          /* m, to b's anchor, at which both forces act */
    Vec3 share[3];              /* impulse at the point per unit moment */
    Symmetric3 response;        /* of the rotation of b relative to a, the point held */
    Vec3 axes[2];               /* universal: moments that do not affect its locked rotation; hinge:
                                 * such a moment, and its axis */
    f32 most;                   /* N m s in a step */
    Vec3 impulse;               /* N m s: see JointLoad */
    Vec3 sum_force, sum_moment; /* of the substeps so far, on b at the anchor */
};

/* solve_joint_friction.c */
/* The moment (N m s) of dry friction about a point that removes the most energy from two bodies
 * with the relative angular velocity `speed` (rad/s): it stops them, or has the size `most` against
 * the remaining velocity. k: the response of the velocity to moments, positive semidefinite. */
Vec3 friction_moment(const Symmetric3 *k, Vec3 speed, f32 most);
void joint_dry_prepare(const Rigid *rigid, DryRow *row, u32 slot, f32 h);
void joint_dry_warm_start(Rigid *rigid, const DryRow *row);
/* relax: updates the pose first, and the impulse counts. */
void joint_dry_solve(Rigid *rigid, DryRow *row, bool relax);
/* After the joint has stored its load, force and torque: adds its own. */
void joint_dry_store(Rigid *rigid, const DryRow *row, f32 tick_s);

/* solve_joint_load.c: increases inertias for this tick where loads would make a body unstable. */
void joint_take_load(Rigid *rigid, f32 h);

/* solve_joint_tree.c: finds this tick's trees, their rows in elimination order, and the groups
 * in which they are solved; store->tree_places tells which joints belong to them. */
void joint_trees_find(Rigid *rigid);

/* solve_joint_ring.c: whether a cluster with loops, with a known row end for each body, is
 * narrow enough for a direct solve; and the number of TreeBlocks for eight of a shape. */
bool joint_ring_fits(const u32 *ends, u32 count);
u32 joint_ring_blocks(const JointTree *tree);

/* solve_joint_trees.c: up to eight trees at a time. Reserves what joint_trees_find counted. */
bool joint_trees_reserve(Rigid *rigid);
void joint_trees_prepare(Rigid *rigid, const TreeGroup *group, f32 h);
void joint_trees_warm_start(Rigid *rigid, const TreeGroup *group);
void joint_trees_solve(Rigid *rigid, const TreeGroup *group, f32 h);
/* Solves again those that have limits and lie on something: see the function. */
void joint_trees_close(Rigid *rigid, const TreeGroup *group, f32 h);
/* Updates the poses, then solves without bias. */
void joint_trees_relax(Rigid *rigid, const TreeGroup *group, f32 h);
/* solve_joint_tree_store.c */
void joint_trees_store(Rigid *rigid, const TreeGroup *group, f32 tick_s);

/* A row about an axis of eight hinges that leaves the velocity of their points unchanged (block
 * elimination): a unit impulse about the axis comes with the impulse `base` at the point. */
typedef struct RotationWide {
    Vec3x8 axis, base, rotation_a, rotation_b; /* rotation: changes of the angular velocities */
} RotationWide;

/* Eight hinges that share no moving body. Pose-dependent data is from after the last
 * integration. */
struct HingeWide {
    u32 a[SIMD_LANES], b[SIMD_LANES]; /* slots; the world and empty lanes: the spare slot */
    u32 joint[SIMD_LANES];            /* slot, JOINT_NO_SLOT: empty lane */
    u32 free;                         /* a lane has limits, a motor or a spring */
    i32x8 limited, locked, driven, sprung;
    Vec3x8 local_a, local_b;              /* arms in the frames of the bodies */
    Vec3x8 local_x, local_y, local_other; /* axes of a's frame, x axis of b's: likewise */
    Vec3x8 start_a, start_b, start_gap;   /* at the start of the tick */
    Vec3x8 rotation;                      /* of b relative to a since the tick began */
    Symmetric3x8 inertia_a, inertia_b;
    Vec3x8 arm_a, arm_b, gap;
    Symmetric3x8 mass;                           /* of the points */
    RotationWide x, y, z;                        /* the free axis and the locked ones */
    f32x8 response_x, mass_yy, mass_zz, mass_yz; /* the locked ones: inverse of their 2×2 block */
    f32x8 error_y, error_z, angle;
    Vec3x8 drift; /* m/s, rad/s: error opened by rotation in the next step */
    f32x8 drift_y, drift_z;
    f32x8 lower, upper, rest, speed, motor_max; /* rad, rad/s, N m s */
    f32x8 stiffness, damping, free_mass;
    Vec3x8 linear;
    f32x8 spring, motor, below, above, about_y, about_z;
    Vec3x8 sum_force, sum_moment;
};

/* solve_joint_hinge.c: as for balls. */
void joint_hinge_prepare(const Rigid *rigid, HingeWide *row, const u32 slots[SIMD_LANES], f32 h);
void joint_hinge_warm_start(Rigid *rigid, const HingeWide *row);
void joint_hinge_solve(Rigid *rigid, HingeWide *row, const Softness *soft, f32 h);
void joint_hinge_relax(Rigid *rigid, HingeWide *row, f32 h);
void joint_hinge_store(Rigid *rigid, const HingeWide *row, f32 tick_s);

/* solve_joint_row.c */
void joint_row_prepare(const Rigid *rigid, JointRow *row, u32 slot, f32 h);
void joint_row_warm_start(Rigid *rigid, const JointRow *row);
/* soft NULL: relax, after which the impulse counts. */
void joint_row_solve(Rigid *rigid, JointRow *row, const Softness *soft, f32 h);
/* Adds its impulse to the force of the tick. */
void joint_row_count(Rigid *rigid, JointRow *row);
/* Stores load, force, torque and error of the tick in its joint. */
void joint_row_store(Rigid *rigid, const JointRow *row, f32 tick_s);

/* solve_joint_ball.c */
/* A row of these joints (JOINT_NO_SLOT: an empty lane). */
void joint_ball_prepare(const Rigid *rigid, BallWide *row, const u32 slots[SIMD_LANES], f32 h);
void joint_ball_warm_start(Rigid *rigid, BallWide *row);
/* over: over-relaxation factor, 0 < over < 2 (successive over-relaxation); h: in the last
 * iteration the duration of the following step, for which the rotation of arms is predicted, 0
 * before. */
void joint_ball_solve(Rigid *rigid, BallWide *row, const Softness *soft, f32 over, f32 h);
/* Updates the poses, then solves without bias. */
void joint_ball_relax(Rigid *rigid, BallWide *row);
void joint_ball_relax_more(Rigid *rigid, BallWide *row);
void joint_ball_store(Rigid *rigid, const BallWide *row, f32 tick_s);

#endif
