/*
 * rigid_internal.h: internals of the rigid world, shared by the files of this folder only. Hot
 * state (used by the solver in each substep) is separate from cold data; everything is indexed by
 * slot. Saved and hashed are the bodies, their velocities, the impulses of touching contacts and
 * the relative poses of reused manifolds; manifolds, colours and rows are recomputed in each tick.
 * Pairs could be recomputed too and are saved only to save time.
 * Layer: server/physics/rigid, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_RIGID_INTERNAL_H
#define PLENUM_SERVER_PHYSICS_RIGID_RIGID_INTERNAL_H

#include "server/physics/rigid/joint/joint_internal.h"
#include "server/physics/rigid/narrow/manifold.h"
#include "server/physics/rigid/rigid.h"
#include "server/physics/tree.h"
#include "shared/base/limits.h"
#include "shared/math/simd.h"

/* Distance at which contacts are created before shapes touch. */
#define RIGID_MARGIN_M   0.02f
/* Enlargement of broad-phase bounds, so that small motions do not change the tree. */
#define RIGID_FAT_M      0.05f
/* Impacts slower than this do not bounce. */
#define RIGID_BOUNCE_M_S 0.25f
/* Maximal push-out speed of overlaps. */
#define RIGID_PUSH_M_S   3.0f

/* Of a contact not evaluated in this tick. */
#define NO_MANIFOLD  0xffffffffu
/* ContactWide.contact of an empty lane, ContactWide.extra of a row without one. */
#define ROW_EMPTY    0xffffffffu
#define ROW_NO_EXTRA 0xffffffffu

/* 64 bytes: two vectors of eight numbers that solvers gather. A static or free slot has inverse
 * mass 0 and zero velocity. */
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

/* Rounding remainders of long sums: without them projectiles would leave their parabola. */
typedef struct BodyRest {
    Vec3 velocity; /* m/s */
    f32 unused;
    Vec3 position; /* m */
    f32 unused_too;
} BodyRest;

/* For eight bodies, from the forces of a step to their motion. */
typedef struct FreeFlight {
    Vec3x8 before, after; /* m/s: velocity without and with the forces of the step */
} FreeFlight;

enum {
    RIGID_GUESTS_MAX = 4 /* kinds that sleep with bodies */
};

enum {
    BODY_LIVE = 1,
    BODY_ASLEEP = 2,
    BODY_MOVED = 4,   /* its fat bounds or filters changed: search for new pairs */
    BODY_OFFSET = 8,  /* its centre of mass is not its shape's origin */
    BODY_ROUND = 16,  /* its inertia is equal about all axes: no gyroscopic term */
    BODY_PGS = 32,    /* dynamic, and solved by PGS */
    BODY_LEFT = 64,   /* its fat bounds are newer than those in the tree */
    BODY_FLIES = 128, /* its points move farther in this tick than half of the contact margin */
    BODY_AFLOAT = 256 /* something other than a contact supports it in this tick */
};

typedef struct Body {
    Vec3 position; /* of the centre of mass, m */
    Quat orientation;
    Vec3 centre; /* of mass, in the shape's frame, m */
    u32 flags;
    u32 motion;         /* BodyMotion */
    f32 sleep_s;        /* time at rest */
    Vec3 rest_position; /* position at the start of that, or CONTACT_REST_S ago */
    Quat rest_orientation;
    Bounds fat; /* in the tree */
    Shape shape;
    f32 inner; /* m, shape_inner_radius */
    f32 reach; /* m, maximal distance from the shape's origin; infinite for ground */
    Symmetric3 inertia, inverse_inertia; /* about the centre of mass, in the shape's axes */
    f32 mass, friction, restitution, rolling;
    Vec3 surface_velocity;   /* m/s, in its own frame */
    u32 group, mask, family; /* group and mask are not 0 */
    u32 sensor;              /* 1: no contact response */
    u32 generation;
} Body;

enum {
    CONTACT_TOUCHING = 1,   /* its gap is less than RIGID_MARGIN_M */
    CONTACT_BEGAN = 2,      /* began in this tick */
    CONTACT_SENSOR = 4,     /* an overlap without response */
    CONTACT_HEAVY = 8,      /* carries far more than the weight of its bodies (heavy.h) */
    CONTACT_COUNT_SHIFT = 8 /* number of points in the bits above */
};

/* Persistent data of a manifold, sorted by (a, b) with a < b; a pair with a mesh or a compound
 * may have several in a row. 72 bytes. */
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
    PAIR_RECYCLED = 8, /* its manifolds are reused while it is at rest (recycle.c) */
    PAIR_GONE = 0xfe,  /* value of Pair.new_count */
    PAIR_STALE = 0xff
};

/* Two bodies with overlapping fat bounds that may collide, a < b. 24 bytes. */
typedef struct Pair {
    u32 a, b;
    u32 first;    /* its contacts: [first, first + count) */
    u32 output;   /* its manifolds of this tick: [output, output + new_count) */
    u32 recycled; /* PAIR_RECYCLED: its RecycledPose, or RECYCLED_NONE */
    u8 count;
    u8 new_count; /* PAIR_STALE: both sleep, contacts are unchanged */
    u8 kind;
    u8 unused;
} Pair;

/* Relative pose of a pair when its manifolds were made: the pose of one in the frame of the
 * other (the root), which is b if b is static, else a. Saved, 56 bytes. */
typedef struct RecycledPose {
    u32 a, b;
    Vec3 position; /* m */
    Quat orientation;
    Quat root_orientation; /* world */
    f32 margin;            /* m, margin within which contacts were created */
} RecycledPose;

/* A tick's data for a RecycledPose. */
typedef struct Recycling {
    u32 before; /* the one of the previous tick */
    u32 first;  /* first of its manifolds */
    u8 count;   /* RECYCLED_UNKNOWN: to be recomputed at the pose */
    bool kept;  /* a pose is kept */
} Recycling;

enum {
    RECYCLED_UNKNOWN = 0xff
};
#define RECYCLED_NONE 0xffffffffu

/* Of the pairs processed by one thread at a time: counts, and then the start indices. */
typedef struct PairSpan {
    u32 found, merged;                           /* new pairs, and all including them */
    u32 manifolds, recycled, recycled_manifolds; /* reserved for this tick */
    u32 contacts, kept;
    bool events; /* a sensor event occurred */
} PairSpan;

enum {
    PAIRS_OF_SPAN = 256
};

typedef struct PairKey {
    u32 a, b;
} PairKey;

/* deep_overlap.c: position of a body, and the number of others in its place. */
typedef struct DeepOverlap {
    Vec3 centre;
    f32 inner; /* m, fraction of its inner radius; 0: ignored */
    _Atomic u32 count;
} DeepOverlap;

/* ---- solver rows: eight contacts that share no body side by side ---- */

typedef struct PointWide {
    Vec3x8 angular_a, angular_b; /* arms × normal */
    f32x8 separation, mass, impulse;
    f32x8 impulse_max; /* N s, maximum in the tick */
    f32x8 approach;    /* m/s, normal velocity just before the first impulse of the tick */
    f32x8 lever;       /* m, from the patch centre, for twisting friction */
} PointWide;

/* Rare friction types: rolling resistance and moving surfaces. */
typedef struct ExtraWide {
    f32x8 rolling; /* m */
    Vec3x8 rolling_impulse;
    Symmetric3x8 rolling_mass;
    Vec3x8 drive; /* m/s, of b's surface relative to a's: along the tangents (z unused) */
} ExtraWide;

typedef struct ContactWide {
    u32 a[SIMD_LANES], b[SIMD_LANES];           /* slots; an empty lane has the spare slot twice */
    u32 contact[SIMD_LANES];                    /* index, ROW_EMPTY: empty lane */
    u32 points;                                 /* maximal point count of the lanes */
    u32 first;                                  /* of its PointWide */
    u32 extra;                                  /* its ExtraWide, ROW_NO_EXTRA: none */
    u32 bounces;                                /* a lane has restitution, or approaches */
    u32 strikes;                                /* bit per lane: two free bodies that collide */
    u32 rotates;                                /* recomputed in each substep (body_rotates) */
    f32x8 bias_rate, mass_scale, impulse_scale; /* soft constraint coefficients of each lane */
    Vec3x8 normal, tangent;
    f32x8 friction, restitution;
    f32x8 held;          /* N s, sum over normals at the start of the substep */
    Vec3x8 arm_a, arm_b; /* to the patch centre */
    Symmetric3x8 inertia_a, inertia_b;
    f32x8 friction_mass[3]; /* inverse of the 2×2 patch matrix: 11, 22, 12 */
    f32x8 friction_impulse[2];
    f32x8 share;      /* 1 / number of points, 0 for a single one */
    f32x8 patch_mass; /* impulse at each point per unit velocity of all */
    f32x8 twist_mass, twist_impulse;
    f32x8 coupling[6]; /* between points 01, 02 12, 03 13 23: velocity at one per impulse at the
                    other */
} ContactWide;

/* Layout of a row, from colouring. */
typedef struct RowPlan {
    u32 order; /* its first contact, in color_order */
    u32 first; /* of its PointWide */
    u8 lanes, points, rotates;
    u8 began;   /* bit per lane: CONTACT_BEGAN */
    u8 bounces; /* the row may collide within the tick */
} RowPlan;

typedef struct Softness {
    f32 bias_rate, mass_scale, impulse_scale;
} Softness;

enum {
    /* Bits of a body's mask of used colours; contacts without a free colour go to the last,
     * serial batch. */
    COLORS_DYNAMIC = 48,
    COLORS_MAX = 64
};

typedef struct ImpulsePoint ImpulsePoint;
struct Flyer;
struct HeavyStore;
struct Meeting;

typedef struct ColorRange {
    u32 first, count;             /* in rows */
    u32 turning;                  /* the first of these, which are recomputed in each substep */
    u32 first_bouncing, bouncing; /* in the list of rows that may collide */
} ColorRange;

struct Rigid {
    RigidDef def;
    Vec3 gravity;
    f32 friction_scale, restitution_min;
    u32 substeps;
    u32 slots;  /* high-water mark */
    Jobs *jobs; /* of the running tick */

    BodyState *states; /* [capacity + 1]; the last one belongs to empty lanes */
    Body *bodies;      /* [capacity + 1]; the last one has only a pose: the world's */
    Symmetric3
        *inertias;   /* [capacity + 2] inverse, world, of this substep; gathers read one past the
                        end */
    BodyRest *rests; /* [capacity] */
    FreeFlight *free_flights; /* [capacity / SIMD_LANES + 1] of a stage */
    u32 *leaves;              /* [capacity] tree nodes */
    Bounds *ways;             /* [capacity] bounds of the shape's motion through this tick */
    Tree moving, fixed;
    u32 *planes; /* [capacity] slots, ascending */
    u32 plane_count;
    u32 *active; /* [capacity] slots of awake bodies of this tick, ascending, PGS bodies last */
    u32 active_count, pgs_count;
    /* [capacity] for a list or marks of slots, of the running function: not used after the
     * function that filled it returned. */
    u32 *slot_scratch;
    u32 substep;  /* substeps done in this tick */
    bool stirred; /* a body woke, was added or removed since the awake list was built */
    bool idle;    /* all bodies sleep: nothing to do */
    u32 asleep_count;
    u32 extra_bodies; /* live bodies with rolling friction or a moving surface */

    Pair *pairs, *pairs_merged; /* [pair_capacity], sorted by (a, b) */
    u32 pair_count, pair_capacity, pair_merged_capacity;
    PairSpan *spans; /* [span_capacity] */
    u32 span_capacity;
    bool unlinked;  /* pairs are not linked to their contacts and kept poses */
    PairKey *found; /* [found_capacity] new pairs of this tick */
    u32 found_count, found_capacity;
    bool overlaps_deeply; /* many bodies are in one place: pairs are rebuilt and limited in each
                             tick */
    DeepOverlap *deep_overlaps; /* [deep_overlap_capacity] */
    u32 deep_overlap_capacity;

    Contact *contacts, *contacts_before; /* [contact_capacity] */
    u32 contact_count, contact_capacity;
    u32 *contact_manifolds; /* [contact_capacity] index in manifolds, or NO_MANIFOLD */
    Manifold *manifolds;    /* [manifold_capacity] */
    u32 manifold_capacity;

    /* Sorted by (a, b): the kept ones, and within a tick those of all pairs. Manifolds are in
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
    u32 *bouncing;      /* [row_capacity] rows that may collide, ascending */
    u64 *colors_used;   /* [capacity] */
    u8 *color_bodies;   /* [capacity] body data for colouring */
    u8 *contact_colors; /* [contact_capacity] */
    u8 *contact_classes;
    u32 *color_order; /* [contact_capacity] contacts by (color, points) */
    ColorRange colors[COLORS_MAX + 1];
    u32 color_count;
    bool bounces; /* some row has restitution */
    bool rotates; /* some row is recomputed in each substep */
    struct HeavyStore *heavy;

    /* For ccd*.c: the number of a body's flight, 0 outside the end of a tick; flights and their
     * meetings; rings of bodies connected by fixed joints. */
    u32 *flights; /* [capacity] */
    struct Flyer *flyers;
    struct Meeting *meetings;
    u32 flyer_count, flyer_capacity, meeting_count, meeting_capacity;
    u32 *mates; /* [capacity] */
    bool has_mates;
    u32 *stuck;        /* [capacity] slots of bodies stuck deep in several others (stuck.c) */
    _Atomic u32 *deep; /* [capacity] number of others that each deeply overlaps */
    u32 stuck_count;
    bool measures_work;
    f64 work; /* J, done by moving bodies and surfaces since it is measured: no state */
    /* Of PGS bodies. */
    struct ImpulsePoint *impulse_points; /* [impulse_point_capacity] */
    u32 impulse_point_count, impulse_point_capacity;
    /* Normals of the sides of the friction pyramid, and their distance from the centre for a unit
     * circle. */
    f32 side_sin[16], side_cos[16], side_distance;

    /* [node_capacity], at least the capacity: bodies by slot, followed by island members of
     * other matter. */
    u32 *parents;  /* union-find of islands */
    u32 *supports; /* union-find of support */
    u8 *island_awake, *island_restless, *island_held;
    u8 *island_carried; /* one of its members has reported that it rests */
    u32 node_capacity;
    const IslandMembers *guests[RIGID_GUESTS_MAX]; /* of this tick */
    u32 guest_first[RIGID_GUESTS_MAX], guest_count, linking;
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
/* True if its contacts may change. Bodies sleeping on a resting kinematic body stay asleep. */
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
/* Converts a count per span to its start index. */
static inline void span_place(u32 *number, u32 *sum)
{
    u32 count = *number;
    *number = *sum;
    *sum += count;
}
/* Whether the two may collide (or, for a sensor, overlap). */
bool body_filter(const Rigid *rigid, u32 a, u32 b);

/* Reserves `count` items of `bytes` each in *array, keeping its contents, counted in
 * rigid->memory; false: out of memory, nothing changed. */
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
/* Smaller motions stay within the bounds of motions, which are enlarged by as much (m). */
#define MOTION_STILL_M (RIGID_MARGIN_M * 0.5f)
/* A body whose points move farther than this fraction of its inner radius is fast. */
#define FAST_SHARE     0.5f
/* Maximal distance of a shape's points from the origin of its frame, m. */
f32 shape_outer_radius(const Shape *shape);
/* Origin of a body's shape relative to its centre of mass, in its own axes. */
Vec3 body_local_origin(const Body *body);
/* Maximal distance of a body's points from its centre of mass, m. */
f32 body_reach(const Body *body);
/* Distance (m) within which a pair's contacts are created: one tick ahead, limited by the
 * bodies' thickness. */
f32 motion_margin(const Rigid *rigid, u32 a, u32 b);
/* Bounds of a body enlarged for a tick of rotation. */
Bounds motion_rotated(const Rigid *rigid, u32 slot, Bounds now);
/* Maximal distance (m) that the points of a kinematic body move in a tick by its rotation; 0 for
 * others. */
f32 motion_rotating(const Rigid *rigid, u32 slot);
/* Whether the body rotates so fast that arms and normals of its contacts change within the tick. */
bool body_rotates(const Rigid *rigid, u32 slot);

/* broad.c */
/* Fat bounds for a body with these bounds: fast bodies get more space ahead, so that they stay
 * within for a few ticks. */
Bounds broad_speculative(const Rigid *rigid, u32 slot, const Bounds *now);
/* Moves the leaves of these bodies to their fat bounds. */
void broad_follow(Rigid *rigid, const u32 *slots, u32 count);
/* Sets the bounds of a body at rest. */
void broad_rest(Rigid *rigid, u32 slot);
void broad_insert(Rigid *rigid, u32 slot);
void broad_remove(Rigid *rigid, u32 slot);
/* Updates trees and pairs after motion. */
void broad_update(Rigid *rigid);
/* Rebuilds trees and bounds of all bodies: after a load. */
void broad_rebuild(Rigid *rigid);
void broad_remove_pairs(Rigid *rigid, u32 slot);
/* Properties of a body for its pairs: their kinds, and checks of an image. */
enum {
    TRAIT_LIVE = 64,
    TRAIT_DYNAMIC = 128
};
u8 body_traits(const Body *body);
/* Initializes a pair of two bodies with these properties. */
void pair_set(Pair *pair, PairKey key, u8 a, u8 b);
/* Reserves spans for the current pairs. */
bool spans_reserve(Rigid *rigid);

/* deep_overlap.c: begin, then count each pair of near bodies (any thread), then query. */
bool deep_overlap_begin(Rigid *rigid); /* false: no memory */
void deep_overlap_count(Rigid *rigid, u32 a, u32 b);
bool deep_overlap_exists(const Rigid *rigid);
/* Whether the body is in a deep overlap of many. */
bool deep_overlap_has(const Rigid *rigid, u32 slot);
/* Whether the pair is kept when pairs are limited. */
bool deep_overlap_keeps(const Rigid *rigid, u32 a, u32 b);
/* Vector from a's origin to b's: as given, or, if they coincide, in a random direction.
 * Otherwise all would be pushed along the shape's fallback axis. */
Vec3 deep_overlap_apart(const Rigid *rigid, u32 a, u32 b, Vec3 apart);

/* contact.c */
bool contact_reserve(Rigid *rigid, u32 count);
/* Whether its impulses are within STATE_VALUE_MAX; false for NaN. */
bool contact_is_bounded(const Contact *contact);
/* Records that a body entered or left a sensor. */
void contact_overlap_event(Rigid *rigid, u32 a, u32 b, bool began);
/* The same for an ended contact or pair with a sensor. */
void contact_lost(Rigid *rigid, u32 index);
void contact_pair_lost(Rigid *rigid, const Pair *pair);
/* Removes the contacts of a removed body, and wakes bodies that it supported. */
void contact_remove_body(Rigid *rigid, u32 slot);
/* solve/work.c: adds the work of a substep's contacts. */
void contact_work(Rigid *rigid);
/* Stores the impulses for the next tick, and reports impacts. */
void contact_store(Rigid *rigid);
/* Stores the impulses of a lane in its contact. */
void contact_store_lane(Rigid *rigid, const ContactWide *row, u32 lane);
/* Adds an impact; a full list keeps the strongest. */
void impact_add(Rigid *rigid, const RigidImpact *impact);

/* collide.c */
/* Computes the contacts of all pairs in a tick. */
void collide_pairs(Rigid *rigid);
/* Recomputes the contact of a lane at the current poses, with the impulses of its row. */
void contact_renew(Rigid *rigid, const ContactWide *row, u32 lane);
/* Predicts the contact at the time of touch within time_s; false: they do not touch, or the row
 * has no space for its points, and nothing is changed. */
bool contact_predict(Rigid *rigid, const ContactWide *row, u32 lane, f32 time_s);

/* recycle.c */
/* Whether the shape is expensive enough to reuse its manifolds. */
static inline bool shape_is_recycled(const Shape *shape)
{
    return shape->kind != SHAPE_SPHERE;
}
/* Reserves `count` kept poses. */
bool recycle_reserve(Rigid *rigid, u32 count);
/* Reserves for `count` pairs with PAIR_RECYCLED and at most `capacity` manifolds of them. */
bool recycle_begin(Rigid *rigid, u32 count, u32 capacity);
/* Assigns number `index` of this tick to the pair, with manifolds from `first` on; kept data
 * continues. */
void recycle_link(Rigid *rigid, Pair *pair, u32 index, u32 first);
/* manifold_collide for a pair with reused manifolds. */
u32 recycle_collide(Rigid *rigid, const Pair *pair, f32 margin, u32 capacity, Manifold *manifolds);
/* Whether something is kept of the pair after this tick; it then gets number `index`. */
static inline bool recycle_has(const Rigid *rigid, const Pair *pair)
{
    return (pair->kind & PAIR_RECYCLED) && rigid->recyclings[pair->recycled].kept;
}
void recycle_keep(Rigid *rigid, Pair *pair, u32 index);
/* Links each pair to its kept data by the slots of its bodies. */
void recycle_find(Rigid *rigid);
void recycle_remove_body(Rigid *rigid, u32 slot);

/* serialize_pairs.c */
/* Serializes pairs, their contacts and kept poses, after the bodies. A hash omits the pairs:
 * they follow from the bodies. */
void pairs_serialize(Rigid *rigid, State *state);

/* ccd_speculative.c */
/* Speculative contacts beyond the margin: those at the time of touch of two bodies that meet
 * within time_s. Returns their number. */
u32 ccd_speculative(const Rigid *rigid, u32 a, u32 b, f32 time_s, u32 capacity,
                    Manifold *manifolds);
/* The same, also within the margin; none for bodies that touch already. */
u32 ccd_touching(const Rigid *rigid, u32 a, u32 b, f32 time_s, u32 capacity, Manifold *manifolds);

/* ccd.c */
/* At the end of a tick: updates trees, and stops fast bodies at their first touch. */
void ccd_finish(Rigid *rigid);

/* stuck.c */
/* Starts counting deep contacts of a tick; stuck_add reports overlaps (m; any thread). */
void stuck_begin(Rigid *rigid);
void stuck_count(Rigid *rigid, u32 a, u32 b, f32 depth);
/* Finds bodies stuck among many, and limits the velocity given by the solver. */
void stuck_find(Rigid *rigid);
void stuck_slow(Rigid *rigid);

/* island.c */
/* Wakes islands touched by something awake, by the last tick's contacts and this tick's
 * manifolds; true: some body woke. */
bool island_wake(Rigid *rigid);
void island_sleep(Rigid *rigid);
/* Builds the current islands; the root of a body's island is its lowest slot. */
void island_build(Rigid *rigid);
u32 island_root(Rigid *rigid, u32 slot);
/* Union-find: the root of a member's set; halves the path to it. */
static inline u32 set_root(u32 *parents, u32 member)
{
    while (parents[member] != member) {
        parents[member] = parents[parents[member]];
        member = parents[member];
    }
    return member;
}

/* body.c */
/* Wakes a dynamic body, and its island in the next tick. */
void body_wake(Rigid *rigid, u32 slot);
/* Derives centre, inertia and flags from a body's shape, mass and motion, and the world's
 * method. */
void body_derive(const Rigid *rigid, Body *body);
bool body_has_extra(const Body *body);
/* Invalidates data cached for a tick. */
void body_forget_tick(Rigid *rigid);

/* color.c */
/* Reserves this number of rows. */
bool color_reserve(Rigid *rigid, u32 rows);
void color_contacts(Rigid *rigid);
/* Whether a joint holds the body, as of this tick's colouring. */
bool body_hangs(const Rigid *rigid, u32 slot);
/* Fills the contacts of a row from its plan. */
void color_row(Rigid *rigid, u32 index);

/* solve_body.c, for all awake bodies. Pose-dependent data at the start of a tick. */
void bodies_begin(Rigid *rigid);
/* For PGS bodies, or the others: forces, damping and the gyroscopic term over h seconds. */
void bodies_accelerate(Rigid *rigid, bool pgs, f32 h);
/* For the same: integrates positions over h seconds. */
void bodies_move(Rigid *rigid, bool pgs, f32 h);
/* For all: limits velocities and removes NaN. */
void bodies_limit(Rigid *rigid);

/* energy.c: debug builds abort if bodies in contact gain energy in a tick. */
void energy_begin(Rigid *rigid);
void energy_check(Rigid *rigid);
/* Reports energy passed between bodies without a contact, from `before`: excludes them from this
 * tick's check. */
void energy_pass(Rigid *rigid, u32 slot, Vec3 before);
/* Disables the check of this tick because others changed bodies (from any thread). */
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
/* Before rows are recomputed: takes back their push-out velocity as it was given. */
void contact_release(Rigid *rigid);
/* Recomputes the rows of fast-rotating bodies at the current poses. */
void contact_follow(Rigid *rigid);
/* Recomputes the lanes (bit mask) of a row that touch within h at that time; returns which. Of
 * those in *missed the others get the contact of later in the tick, or none; out: these. */
u32 contact_meet(Rigid *rigid, ContactWide *row, u32 lanes, f32 h, u32 *missed);
/* Displaces the two bodies of a lane by this (kg m) divided by their masses, b in the opposite
 * direction. */
void contact_place(Rigid *rigid, const ContactWide *row, u32 lane, Vec3 moment);
void contact_warm_start(Rigid *rigid);
void contact_solve(Rigid *rigid, bool use_bias);
/* Whether the contact is solved in this tick (not asleep, not a sensor). */
static inline bool contact_is_solved(const Rigid *rigid, u32 contact)
{
    return rigid->contact_manifolds[contact] != NO_MANIFOLD &&
           !(rigid->contacts[contact].flags & CONTACT_SENSOR);
}
/* Whether PGS solves the contact: if one of the two is a PGS body. */
static inline bool contact_is_pgs(const Rigid *rigid, u32 contact)
{
    const Contact *c = &rigid->contacts[contact];
    return body_is_pgs(rigid, c->a) || body_is_pgs(rigid, c->b);
}

/* solve_impulses.c: PGS, for contacts of PGS bodies. */
void impulses_prepare(Rigid *rigid);
void impulses_warm_start(Rigid *rigid);
void impulses_solve(Rigid *rigid);
void impulses_store(Rigid *rigid);

/* Collisions with restitution, before the contacts of a substep. */
void contact_bounce(Rigid *rigid);

#endif
