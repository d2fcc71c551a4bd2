/*
 * body.h: the inside of the rigid world, shared by the files of this folder only.
 * Hot state (what the solver touches each substep) is apart from cold data; everything is indexed
 * by slot. What is saved and hashed is the bodies, their velocities, the impulses of touching
 * contacts and the relative poses at which kept manifolds were made; manifolds, colours and rows
 * are made anew from them in each tick. Pairs follow from them too and are saved to save time.
 * Layer: server/physics/rigid, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_BODY_H
#define PLENUM_SERVER_PHYSICS_RIGID_BODY_H

#include "server/physics/rigid/joint/joint_state.h"
#include "server/physics/rigid/narrow/manifold.h"
#include "server/physics/rigid/rigid.h"
#include "server/physics/tree.h"
#include "shared/base/limits.h"
#include "shared/math/simd.h"

/* Distance at which contacts are made before shapes touch. */
#define RIGID_MARGIN_M   0.02f
/* Slack of broad-phase bounds, so that small motions leave the tree alone. */
#define RIGID_FAT_M      0.05f
/* Slower impacts do not bounce. */
#define RIGID_BOUNCE_M_S 0.25f
/* Overlap is pushed out no faster than this. */
#define RIGID_PUSH_M_S   3.0f

/* Of a contact that was not looked at in this tick. */
#define NO_MANIFOLD  0xffffffffu
/* ContactWide.contact of an empty lane, ContactWide.extra of a row without. */
#define ROW_EMPTY    0xffffffffu
#define ROW_NO_EXTRA 0xffffffffu

/*
 * 64 bytes: two vectors of eight numbers that solvers gather. A slot of a static or free body has
 * inverse mass 0 and stays at rest.
 */
typedef struct BodyState {
    Vec3 velocity; /* m/s, of the centre of mass */
    f32 inverse_mass;
    Vec3 angular_velocity; /* rad/s, world */
    f32 gravity_scale;
    Vec3 shift; /* m, motion of the centre since the tick began */
    f32 linear_damping;
    Vec3 rotation; /* rad, integral of the angular velocity since the tick began */
    f32 angular_damping;
} BodyState;
PL_STATIC_ASSERT(sizeof(BodyState) == 64, "solvers gather it as two vectors");

/* What rounding has taken from sums of many steps: a projectile would leave its parabola by it. */
typedef struct BodyRest {
    Vec3 velocity; /* m/s */
    f32 unused;
    Vec3 position; /* m */
    f32 unused_too;
} BodyRest;

/* Of eight bodies, from the forces of a step to their motion. */
typedef struct FreeFlight {
    Vec3x8 before, after; /* m/s: velocity without and with the forces of the step */
} FreeFlight;

enum {
    BODY_LIVE = 1,
    BODY_ASLEEP = 2,
    BODY_MOVED = 4,  /* its fat bounds or filters changed: look for new pairs */
    BODY_OFFSET = 8, /* its centre of mass is not the origin of its shape */
    BODY_ROUND = 16, /* its inertia is the same about all axes: no gyroscopic term */
    BODY_PGS = 32,   /* dynamic, and solved as RIGID_IMPULSES says */
    BODY_LEFT = 64,  /* its fat bounds are not yet those in the tree */
    BODY_FLIES = 128 /* its points go farther in this tick than half of what contacts look ahead */
};

typedef struct Body {
    Vec3 position; /* of the centre of mass, m */
    Quat orientation;
    Vec3 centre; /* of mass, in the shape's frame, m */
    u32 flags;
    u32 motion;         /* BodyMotion */
    f32 sleep_s;        /* how long it has been at rest */
    Vec3 rest_position; /* where it was at the start of that, or RIGID_REST_S ago */
    Quat rest_orientation;
    Bounds fat; /* in the tree */
    Shape shape;
    f32 inner; /* m, shape_inner_radius */
    f32 reach; /* m, farthest point from the shape's origin; infinite for ground */
    Symmetric3 inertia, inverse_inertia; /* about the centre, in the shape's axes */
    f32 mass, friction, restitution, rolling;
    Vec3 surface_velocity;   /* m/s, in its own frame */
    u32 group, mask, family; /* group and mask are not 0 */
    u32 sensor;              /* 1: pushes nothing */
    u32 generation;
} Body;

enum {
    CONTACT_TOUCHING = 1,   /* nearer than RIGID_MARGIN_M */
    CONTACT_BEGAN = 2,      /* there since this tick */
    CONTACT_SENSOR = 4,     /* an overlap that pushes nothing */
    CONTACT_HEAVY = 8,      /* carries far more than its bodies weigh (heavy.h) */
    CONTACT_COUNT_SHIFT = 8 /* number of points above it */
};

/*
 * What a manifold hands on from tick to tick, sorted by (a, b) with a < b; a pair with a mesh or a
 * compound may have several in a row. 72 bytes.
 */
typedef struct Contact {
    u32 a, b;
    u32 flags;
    u32 features[MANIFOLD_POINTS];
    f32 impulses[MANIFOLD_POINTS]; /* N s of the last substep */
    Vec3 friction_impulse;         /* N s, world, on b */
    f32 twist_impulse;             /* N m s about the normal */
    Vec3 rolling_impulse;          /* N m s, world, on b */
} Contact;

enum {
    PAIR_MANY = 1,     /* may have several manifolds */
    PAIR_SENSOR = 2,   /* one of the two is a sensor */
    PAIR_ENDLESS = 4,  /* one of the two is a plane */
    PAIR_RECYCLED = 8, /* its manifolds go on while it is still (recycle.c) */
    PAIR_GONE = 0xfe,  /* of Pair.fresh */
    PAIR_STALE = 0xff
};

/* Two bodies whose fat bounds overlap and that may collide, a < b. 24 bytes. */
typedef struct Pair {
    u32 a, b;
    u32 first;    /* its contacts: [first, first + count) */
    u32 output;   /* its manifolds of this tick: [output, output + fresh) */
    u32 recycled; /* PAIR_RECYCLED: its RecycledPose, or RECYCLED_NONE */
    u8 count;
    u8 new_count; /* PAIR_STALE: both sleep, the contacts stay as they are */
    u8 kind;
    u8 unused;
} Pair;

/* Where a pair was when its manifolds were made: the pose of one in the frame of the other (the
 * root), which is b if b is static, else a. Saved, 56 bytes. */
typedef struct RecycledPose {
    u32 a, b;
    Vec3 position; /* m */
    Quat orientation;
    Quat root_orientation; /* world */
    f32 margin;            /* m, within which contacts were made */
} RecycledPose;

/* What a tick knows of a RecycledPose. */
typedef struct Recycling {
    u32 before; /* the one of the last tick */
    u32 first;  /* of its manifolds */
    u8 count;   /* RECYCLED_UNKNOWN: to be made again at the pose */
    bool kept;  /* there is a pose */
} Recycling;

enum {
    RECYCLED_UNKNOWN = 0xff
};
#define RECYCLED_NONE 0xffffffffu

/* Of the pairs that one thread takes at a time: how many of each thing they have, and then where
 * theirs begin. */
typedef struct PairSpan {
    u32 found, merged;                           /* new pairs, and all with them */
    u32 manifolds, recycled, recycled_manifolds; /* room for this tick's */
    u32 contacts, kept;
    bool events; /* something entered or left a sensor */
} PairSpan;

enum {
    PAIRS_OF_SPAN = 256
};

typedef struct PairKey {
    u32 a, b;
} PairKey;

/* Of deep_overlap.c: where a body is, and how many others are in its place. */
typedef struct DeepOverlap {
    Vec3 centre;
    f32 inner; /* m, share of its inner radius; 0: it cannot crowd */
    _Atomic u32 count;
} DeepOverlap;

/* ---- solver rows: eight contacts that share no body side by side ---- */

typedef struct PointWide {
    Vec3x8 angular_a, angular_b; /* arms crossed with the normal */
    f32x8 separation, mass, impulse;
    f32x8 impulse_max; /* N s, largest of the tick */
    f32x8 approach;    /* m/s, normal velocity just before the first impulse of the tick */
    f32x8 lever;       /* m, from the patch centre, for twisting friction */
} PointWide;

/* Friction of one kind of body is rare: rolling resistance and moving surfaces. */
typedef struct ExtraWide {
    f32x8 rolling; /* m */
    Vec3x8 rolling_impulse;
    Symmetric3x8 rolling_mass;
    Vec3x8 drive; /* m/s, of b's surface against a's: along the tangents (z unused) */
} ExtraWide;

typedef struct ContactWide {
    u32 a[SIMD_LANES], b[SIMD_LANES];           /* slots; an empty lane has the spare slot twice */
    u32 contact[SIMD_LANES];                    /* index, ROW_EMPTY: empty lane */
    u32 points;                                 /* largest count of the lanes */
    u32 first;                                  /* of its PointWide */
    u32 extra;                                  /* of its ExtraWide, ROW_NO_EXTRA: none */
    u32 bounces;                                /* a lane has restitution, or comes */
    u32 strikes;                                /* bit by lane: two free bodies that strike */
    u32 turns;                                  /* made again in each substep (body_turns) */
    f32x8 bias_rate, mass_scale, impulse_scale; /* Softness of each lane */
    Vec3x8 normal, tangent;
    f32x8 friction, restitution;
    f32x8 held;          /* N s, of all normals: what the substep began with */
    Vec3x8 arm_a, arm_b; /* to the patch centre */
    Symmetric3x8 inertia_a, inertia_b;
    f32x8 friction_mass[3]; /* inverse of the 2×2 patch matrix: 11, 22, 12 */
    f32x8 friction_impulse[2];
    f32x8 share;      /* 1 / number of points, 0 where there is only one */
    f32x8 patch_mass; /* impulse at each point for one speed of all */
    f32x8 twist_mass, twist_impulse;
    f32x8
        coupling[6]; /* between points 01, 02 12, 03 13 23: speed at one per impulse at the other */
} ContactWide;

/* What a row is made of, as colouring lays it out. */
typedef struct RowPlan {
    u32 order; /* its first contact, in color_order */
    u32 first; /* of its PointWide */
    u8 lanes, points, turns;
    u8 began;   /* bit by lane: CONTACT_BEGAN */
    u8 bounces; /* the row may strike within the tick */
} RowPlan;

typedef struct Softness {
    f32 bias_rate, mass_scale, impulse_scale;
} Softness;

enum {
    /* Bits of a body's mask of used colours; what finds none goes to the last, serial batch. */
    COLORS_DYNAMIC = 48,
    COLORS_MAX = 64
};

typedef struct ImpulsePoint ImpulsePoint;
struct Flyer;
struct HeavyStore;
struct Meeting;

typedef struct ColorRange {
    u32 first, count;             /* in rows */
    u32 turning;                  /* the first of these, which are made again in each substep */
    u32 first_bouncing, bouncing; /* in the list of rows that may strike */
} ColorRange;

struct Rigid {
    RigidDef def;
    Vec3 gravity;
    f32 friction_scale, restitution_min;
    u32 substeps;
    u32 slots;  /* high-water mark */
    Jobs *jobs; /* of the tick that runs */

    BodyState *states; /* [capacity + 1]; the last one belongs to empty lanes */
    Body *bodies;      /* [capacity + 1]; of the last one only the pose: the world's */
    Symmetric3
        *inertias;   /* [capacity + 2] inverse, world, of this substep; gathers read past one */
    BodyRest *rests; /* [capacity] */
    FreeFlight *free_flights; /* [capacity / SIMD_LANES + 1] of a stage */
    u32 *leaves;              /* [capacity] tree nodes */
    Bounds *ways;             /* [capacity] of the shape on its way through this tick */
    Tree moving, fixed;
    u32 *planes; /* [capacity] slots, ascending */
    u32 plane_count;
    u32 *active; /* [capacity] slots of awake bodies of this tick, ascending, the PGS ones last */
    u32 active_count, pgs_count;
    /* [capacity] for a list of slots, or a mark for each, of whoever runs: nobody reads it after
     * the function that began it has returned. */
    u32 *slot_scratch;
    u32 substep;  /* substeps done in this tick */
    bool stirred; /* something woke, came or went since the last tick listed who is awake */
    bool idle;    /* nothing is awake: the tick has nothing to do */
    u32 asleep_count;
    u32 extra_bodies; /* live bodies with rolling friction or a moving surface */

    Pair *pairs, *pairs_merged; /* [pair_capacity], sorted by (a, b) */
    u32 pair_count, pair_capacity, pair_merged_capacity;
    PairSpan *spans; /* [span_capacity] */
    u32 span_capacity;
    bool unlinked;  /* pairs do not know which contacts and kept poses are theirs */
    PairKey *found; /* [found_capacity] new pairs of this tick */
    u32 found_count, found_capacity;
    bool overlaps_deeply; /* many bodies are in one place: pairs are made anew, and thinned, in
                              each tick */
    DeepOverlap *deep_overlaps; /* [deep_overlap_capacity] */
    u32 deep_overlap_capacity;

    Contact *contacts, *contacts_before; /* [contact_capacity] */
    u32 contact_count, contact_capacity;
    u32 *contact_manifolds; /* [contact_capacity] index in manifolds, or NO_MANIFOLD */
    Manifold *manifolds;    /* [manifold_capacity] */
    u32 manifold_capacity;

    /* Sorted by (a, b): those that are kept, and within a tick those of all pairs. Manifolds are in
     * the frame of the pose. */
    RecycledPose *recycled, *recycled_now;     /* [recycled_capacity] */
    Recycling *recyclings, *recyclings_before; /* of `recycled_now` and of `recycled` */
    u32 recycled_count, recycled_capacity;
    Manifold *recycled_manifolds, *recycled_manifolds_before; /* [recycled_manifold_capacity] */
    u32 recycled_manifold_capacity;

    ContactWide *rows; /* [row_capacity] */
    PointWide *points; /* [point_capacity] */
    ExtraWide *extras; /* [extra_capacity] */
    u32 row_count, row_capacity, point_count, point_capacity, extra_count, extra_capacity;
    RowPlan *plans;     /* [row_capacity] */
    u32 *bouncing;      /* [row_capacity] rows that may strike, ascending */
    u64 *colors_used;   /* [capacity] */
    u8 *color_bodies;   /* [capacity] what colours need of a body */
    u8 *contact_colors; /* [contact_capacity] */
    u8 *contact_classes;
    u32 *color_order; /* [contact_capacity] contacts by (color, points) */
    ColorRange colors[COLORS_MAX + 1];
    u32 color_count;
    bool bounces; /* some row has restitution */
    bool turns;   /* some row is made again in each substep */
    struct HeavyStore *heavy;

    /* Of ccd*.c: the number of a body's flight, 0 outside the end of a tick; flights, and when they
     * meet; rings of bodies that fixed joints hold together. */
    u32 *flights; /* [capacity] */
    struct Flyer *flyers;
    struct Meeting *meetings;
    u32 flyer_count, flyer_capacity, meeting_count, meeting_capacity;
    u32 *mates; /* [capacity] */
    bool has_mates;
    u32 *stuck; /* [capacity] slots of bodies that are stuck deep in several others (stuck.c) */
    _Atomic u32 *deep; /* [capacity] how many others each is deep in */
    u32 stuck_count;
    /* Of PGS bodies. */
    struct ImpulsePoint *impulse_points; /* [impulse_point_capacity] */
    u32 impulse_point_count, impulse_point_capacity;
    /* Normals of the sides of the friction pyramid, and their distance for a circle of 1. */
    f32 side_sin[16], side_cos[16], side_distance;

    /* Of [node_capacity], at least the capacity: bodies by slot, behind them the guests. */
    u32 *parents;  /* union-find of islands */
    u32 *supports; /* union-find of what holds each other up */
    u8 *island_awake, *island_restless, *island_held;
    u32 node_capacity;
    const IslandMembers *members; /* of this tick, NULL: none */
    u32 touching;
    f32 penetration_max;

    JointStore joints;
    RigidGrab grabs[RIGID_GRABS_MAX];
    u32 grab_count;
    RigidImpact impacts[RIGID_IMPACTS_MAX];
    u32 impact_count;
    f64 *energies; /* [energy_capacity] of energy.c, in debug builds */
    u32 energy_capacity;
    bool energy_known;
    RigidOverlap overlaps[RIGID_OVERLAPS_MAX];
    u32 overlap_count;
    u64 memory;
};

/* Pose of the shape's own frame. */
static inline Vec3 body_origin(const Body *body)
{
    return body->flags & BODY_OFFSET
               ? vec3_sub(body->position, quat_rotate(body->orientation, body->centre))
               : body->position;
}
static inline ShapePose body_pose(const Body *body)
{
    ShapePose pose = {&body->shape, body_origin(body), body->orientation};
    return pose;
}
static inline bool body_is_active(const Body *body)
{
    return (body->flags & (BODY_LIVE | BODY_ASLEEP)) == BODY_LIVE && body->motion != BODY_STATIC;
}
static inline bool kinematic_moves(const Rigid *rigid, u32 slot)
{
    const BodyState *state = &rigid->states[slot];
    return rigid->bodies[slot].motion == BODY_KINEMATIC &&
           (vec3_dot(state->velocity, state->velocity) > 0.0f ||
            vec3_dot(state->angular_velocity, state->angular_velocity) > 0.0f);
}
/* Can its contacts be other than they were? What sleeps upon a kinematic body at rest sleeps on. */
static inline bool body_stirs(const Rigid *rigid, u32 slot)
{
    const Body *body = &rigid->bodies[slot];
    return body_is_active(body) && (body->motion == BODY_DYNAMIC || kinematic_moves(rigid, slot));
}
static inline bool body_is_pgs(const Rigid *rigid, u32 slot)
{
    return (rigid->bodies[slot].flags & BODY_PGS) != 0;
}
static inline u32 span_count(const Rigid *rigid)
{
    return (rigid->pair_count + PAIRS_OF_SPAN - 1) / PAIRS_OF_SPAN;
}
static inline u32 span_begin(u32 span)
{
    return span * PAIRS_OF_SPAN;
}
static inline u32 span_end(const Rigid *rigid, u32 span)
{
    return u32_min(rigid->pair_count, (span + 1) * PAIRS_OF_SPAN);
}
/* Where a number of things that each span has begins in it, from how many there are. */
static inline void span_place(u32 *number, u32 *sum)
{
    u32 count = *number;
    *number = *sum;
    *sum += count;
}
/* May the two collide (or, for a sensor, overlap) at all? */
bool body_filter(const Rigid *rigid, u32 a, u32 b);

/* Room for `count` items of `bytes` each in *array, keeping what is there, counted in
 * rigid->memory; false: no memory, nothing changed. */
bool rigid_reserve(Rigid *rigid, void *array, u32 *capacity, u32 count, size_t bytes);

/* Soft constraint coefficients of a mass-independent spring over a step h (Catto 2011). */
static inline Softness softness(f32 frequency_hz, f32 damping_ratio, f32 h)
{
    f32 omega = 6.2831853f * frequency_hz;
    f32 a1 = 2.0f * damping_ratio + h * omega;
    f32 a2 = h * omega * a1;
    f32 a3 = 1.0f / (1.0f + a2);
    return (Softness){omega / a1, a2 * a3, a3};
}

/* motion.c */
/* Motions below it stay within the bounds of ways, which are so much larger (m). */
#define MOTION_STILL_M (RIGID_MARGIN_M * 0.5f)
/* A body whose points move farther than this share of its inner radius is fast. */
#define FAST_SHARE     0.5f
/* Farthest that a point of a shape is from the origin of its frame, m. */
f32 shape_outer_radius(const Shape *shape);
/* Origin of a body's shape from its centre of mass, in its own axes. */
Vec3 body_local_origin(const Body *body);
/* Farthest that a point of a body is from its centre of mass, m. */
f32 body_reach(const Body *body);
/* Distance (m) within which a pair's contacts are made: a tick ahead, but no more than bodies are
 * thick. */
f32 motion_margin(const Rigid *rigid, u32 a, u32 b);
/* Bounds of a body that frees its corners to turn for a tick. */
Bounds motion_rotated(const Rigid *rigid, u32 slot, Bounds now);
/* How far (m) the points of a kinematic body go in a tick by its turning, at most; 0 for others. */
f32 motion_rotating(const Rigid *rigid, u32 slot);
/* Does the body turn so fast that arms and normals of its contacts change within the tick? */
bool body_turns(const Rigid *rigid, u32 slot);

/* broad.c */
/* Fat bounds for a body with these bounds: what flies gets room ahead, so that it stays within
 * for a few ticks. */
Bounds broad_speculative(const Rigid *rigid, u32 slot, const Bounds *now);
/* Moves the leaves of these moving bodies to their fat bounds. */
void broad_follow(Rigid *rigid, const u32 *slots, u32 count);
/* Bounds of a body that rests. */
void broad_rest(Rigid *rigid, u32 slot);
void broad_insert(Rigid *rigid, u32 slot);
void broad_remove(Rigid *rigid, u32 slot);
/* Follows what moved, and brings pairs up to date. */
void broad_update(Rigid *rigid);
/* Trees and bounds of all bodies anew: after a load. */
void broad_rebuild(Rigid *rigid);
void broad_remove_pairs(Rigid *rigid, u32 slot);
/* What a body gives its pairs: kinds of them, and what an image is asked for. */
enum {
    TRAIT_LIVE = 64,
    TRAIT_DYNAMIC = 128
};
u8 body_traits(const Body *body);
/* A new pair of two bodies with these traits. */
void pair_set(Pair *pair, PairKey key, u8 a, u8 b);
/* Room for the spans of the pairs of now. */
bool spans_reserve(Rigid *rigid);

/* deep_overlap.c: begin, then count each pair of near bodies (any thread), then ask. */
bool deep_overlap_begin(Rigid *rigid); /* false: no memory */
void deep_overlap_count(Rigid *rigid, u32 a, u32 b);
bool deep_overlap_is_there(const Rigid *rigid);
/* Is the body in a crowd? */
bool deep_overlap_has(const Rigid *rigid, u32 slot);
/* Is the pair one of those that are not left out? */
bool deep_overlap_keeps(const Rigid *rigid, u32 a, u32 b);
/* From a's origin to b's: as given, or, where they lie in one point, along a way drawn by lot. Else
 * all would be pushed along the one axis that a shape falls back to. */
Vec3 deep_overlap_apart(const Rigid *rigid, u32 a, u32 b, Vec3 apart);

/* contact.c */
bool contact_reserve(Rigid *rigid, u32 count);
/* Its impulses are within STATE_VALUE_MAX; false for NaN. */
bool contact_is_bounded(const Contact *contact);
/* Something entered a sensor, or left it. */
void contact_overlap_event(Rigid *rigid, u32 a, u32 b, bool began);
/* The same of what a contact or a pair that is there no more remembers of a sensor. */
void contact_lost(Rigid *rigid, u32 index);
void contact_pair_lost(Rigid *rigid, const Pair *pair);
/* Drops the contacts of a body that goes, and wakes what leaned on it. */
void contact_remove_body(Rigid *rigid, u32 slot);
/* Keeps the impulses for the next tick, and reports impacts. */
void contact_store(Rigid *rigid);
/* The impulses of a lane, to its contact. */
void contact_store_lane(Rigid *rigid, const ContactWide *row, u32 lane);
/* Keeps the strongest in a full list. */
void impact_add(Rigid *rigid, const RigidImpact *impact);

/* collide.c */
/* The contacts of a tick, of all pairs. */
void collide_pairs(Rigid *rigid);
/* The contact of a lane at the poses of now, with the impulses of its row. */
void contact_renew(Rigid *rigid, const ContactWide *row, u32 lane);
/* That which it will have when its bodies touch within time_s; false: they do not, or the row has
 * no room for its points, and nothing is changed. */
bool contact_predict(Rigid *rigid, const ContactWide *row, u32 lane, f32 time_s);

/* recycle.c */
/* Is it costly enough that manifolds with it are kept? */
static inline bool shape_is_recycled(const Shape *shape)
{
    return shape->kind != SHAPE_SPHERE;
}
/* Room for `count` kept poses. */
bool recycle_reserve(Rigid *rigid, u32 count);
/* Room for `count` pairs with PAIR_RECYCLED and at most `room` manifolds of them. */
bool recycle_begin(Rigid *rigid, u32 count, u32 capacity);
/* Number `index` in this tick is the pair's, manifolds from `first` on: what is kept goes on. */
void recycle_link(Rigid *rigid, Pair *pair, u32 index, u32 first);
/* manifold_collide for a pair that is kept. */
u32 recycle_collide(Rigid *rigid, const Pair *pair, f32 margin, u32 capacity, Manifold *manifolds);
/* Is there something to keep of the pair after this tick? Then it gets number `index`. */
static inline bool recycle_has(const Rigid *rigid, const Pair *pair)
{
    return (pair->kind & PAIR_RECYCLED) && rigid->recyclings[pair->recycled].kept;
}
void recycle_keep(Rigid *rigid, Pair *pair, u32 index);
/* Each pair finds by the slots of its bodies what is kept of it. */
void recycle_find(Rigid *rigid);
void recycle_remove_body(Rigid *rigid, u32 slot);

/* serialize_pairs.c */
/* Pairs, their contacts and kept poses; bodies come before them. A hash leaves out the pairs: they
 * follow from the bodies. */
void pairs_serialize(Rigid *rigid, State *state);

/* ccd_speculative.c */
/* Contacts beyond the margin: of two that as they fly now touch within time_s, those that they will
 * have there. Returns how many. */
u32 ccd_speculative(const Rigid *rigid, u32 a, u32 b, f32 time_s, u32 capacity,
                    Manifold *manifolds);
/* The same within the margin, too; none of two that touch already. */
u32 ccd_touching(const Rigid *rigid, u32 a, u32 b, f32 time_s, u32 capacity, Manifold *manifolds);

/* ccd.c */
/* At the end of a tick: trees follow what moved, and fast bodies are stopped where they first
 * touched. */
void ccd_finish(Rigid *rigid);

/* stuck.c */
/* Contacts of a tick are counted from here on: two bodies overlap by so much (m; any thread). */
void stuck_begin(Rigid *rigid);
void stuck_count(Rigid *rigid, u32 a, u32 b, f32 depth);
/* Who is stuck in a crowd in this tick, and what the solver gave them more than they may have. */
void stuck_find(Rigid *rigid);
void stuck_slow(Rigid *rigid);

/* island.c */
/* Wakes islands that something awake touches, by the contacts of the last tick and the manifolds of
 * this one; true: some body woke. */
bool island_wake(Rigid *rigid);
void island_sleep(Rigid *rigid);
/* The islands of now; the root of a body's island is its lowest slot. */
void island_build(Rigid *rigid);
u32 island_root(Rigid *rigid, u32 slot);

/* body.c */
/* A dynamic body does not sleep any more, nor does its island in the next tick. */
void body_wake(Rigid *rigid, u32 slot);
/* What follows from a body's shape, mass and motion, and from the world's method: centre, inertia,
 * flags. */
void body_derive(const Rigid *rigid, Body *body);
bool body_has_extra(const Body *body);
/* What was worked out in a tick no longer holds. */
void body_forget_tick(Rigid *rigid);

/* color.c */
/* Room for so many rows. */
bool color_reserve(Rigid *rigid, u32 rows);
void color_contacts(Rigid *rigid);
/* Does a joint hold the body? As the contacts of this tick were coloured. */
bool body_hangs(const Rigid *rigid, u32 slot);
/* Writes the contacts of a row from its plan. */
void color_row(Rigid *rigid, u32 index);

/* solve_body.c: of all awake bodies. What follows from their poses, for a tick that begins. */
void bodies_begin(Rigid *rigid);
/* Of those that are plain, or of the others: forces, damping and the gyroscopic term of h seconds.
 */
void bodies_accelerate(Rigid *rigid, bool pgs, f32 h);
/* Of the same: along their velocities for h seconds. */
void bodies_move(Rigid *rigid, bool pgs, f32 h);
/* Of all: no faster than the limits, no NaN. */
void bodies_limit(Rigid *rigid);

/* energy.c: debug builds stop where bodies that only touch gain energy in a tick. */
void energy_begin(Rigid *rigid);
void energy_check(Rigid *rigid);
/* A body whose velocity was `before` has passed on energy to another, or got it, and no contact of
 * theirs tells: the check of this tick does not take it for a gain. */
void energy_pass(Rigid *rigid, u32 slot, Vec3 before);
/* Others change bodies within the tick, from any thread: it is not looked at. */
static inline void energy_forget(Rigid *rigid)
{
#ifdef PL_VALIDATE
    __atomic_store_n(&rigid->energy_known, false, __ATOMIC_RELAXED);
#else
    PL_UNUSED(rigid);
#endif
}

/* solve_prepare.c, solve_contact.c */
void contact_prepare(Rigid *rigid);
/* Of rows that are about to be made again: takes back the push out of overlap as it was given. */
void contact_release(Rigid *rigid);
/* Rows of what turns fast, at the poses of now. */
void contact_follow(Rigid *rigid);
/* Lanes (bit by bit) of a row that touch within h as they will be then; returns which were. */
u32 contact_meet(Rigid *rigid, ContactWide *row, u32 lanes, f32 h);
/* Moves the two bodies of a lane by this (kg m) over their masses, b the other way. */
void contact_place(Rigid *rigid, const ContactWide *row, u32 lane, Vec3 moment);
void contact_warm_start(Rigid *rigid);
void contact_solve(Rigid *rigid, bool use_bias);
/* Is the contact part of this tick's solve (not asleep, not a sensor)? */
static inline bool contact_is_solved(const Rigid *rigid, u32 contact)
{
    return rigid->contact_manifolds[contact] != NO_MANIFOLD &&
           !(rigid->contacts[contact].flags & CONTACT_SENSOR);
}
/* By which method: plain where one of the two is. */
static inline bool contact_is_pgs(const Rigid *rigid, u32 contact)
{
    const Contact *c = &rigid->contacts[contact];
    return body_is_pgs(rigid, c->a) || body_is_pgs(rigid, c->b);
}

/* solve_impulses.c: the PGS method, for contacts of PGS bodies. */
void impulses_prepare(Rigid *rigid);
void impulses_warm_start(Rigid *rigid);
void impulses_solve(Rigid *rigid);
void impulses_store(Rigid *rigid);

/* Collisions with restitution, before the contacts of a substep. */
void contact_bounce(Rigid *rigid);

#endif
