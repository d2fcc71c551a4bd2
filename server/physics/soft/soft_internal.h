/*
 * soft_internal.h: internals of the particle store. `make map ROOM=server/physics/soft` lists the
 * files.
 * Layer: server/physics/soft, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_SOFT_INTERNAL_H
#define PLENUM_SERVER_PHYSICS_SOFT_SOFT_INTERNAL_H

#include "server/physics/soft/soft.h"
#include "shared/base/memory.h"

#define SOFT_NONE UINT32_MAX

/* Two vectors of four, as constraints gather them. Within a step `velocity` is that of the step,
 * and the particle is at position + h velocity. So momentum is conserved exactly, and never
 * recovered from positions, whose last bit exceeds the motion that gravity adds in a step some
 * 100 m from the origin. */
typedef struct SoftPoint {
    Vec3 position; /* m */
    f32 inverse_mass;
    Vec3 velocity; /* m/s */
    f32 spare;     /* 0; for a sleeping body: its inverse mass when awake */
} __attribute__((aligned(32))) SoftPoint;

/* Constant per particle. */
typedef struct SoftMatter {
    f32 radius; /* m, distance kept from others */
    f32 friction, static_friction;
    f32 damping; /* 1/s */
    u32 body;
    bool inner; /* in no triangle and no segment: inside of tetrahedra */
} SoftMatter;

typedef enum ConstraintKind {
    CONSTRAINT_DISTANCE = 0,    /* 2 points; low, high: m */
    CONSTRAINT_DIHEDRAL = 1,    /* 4: the edge first, then the wings; low: rest angle, rad */
    CONSTRAINT_ISOMETRIC = 2,   /* 4: likewise; shape: the four weights of the quadratic form */
    CONSTRAINT_AREA = 3,        /* 3; low: m² */
    CONSTRAINT_VOLUME = 4,      /* 4; low: m³ */
    CONSTRAINT_NEO_HOOKEAN = 5, /* 4; shape: inverse of the rest edges; low: m³ */
    CONSTRAINT_KINDS
} ConstraintKind;

/* Purpose: selects the factor of soft_set_compliance, and the edges that soft_strain measures. */
typedef enum ConstraintRole {
    ROLE_STRETCH = 0,
    ROLE_SHEAR = 1,
    ROLE_BEND = 2,
    ROLE_VOLUME = 3,
    ROLE_LIMIT = 4, /* stretch limits and tethers: never scaled */
    ROLE_COUNT
} ConstraintRole;

/* In order of creation, those of a body together. */
typedef struct SoftConstraint {
    u32 point[4];  /* SOFT_NONE where the kind has fewer */
    f32 low, high; /* a hinge's high: constraint.h */
    f32 compliance;
    u32 shape; /* index in shapes, or SOFT_NONE */
    u8 kind, role;
    u16 spare;
} SoftConstraint;

typedef struct SoftShape {
    f32 value[10];
} SoftShape;

typedef struct SoftTriangle {
    u32 point[3];
} SoftTriangle;

/* A stick of fixed length: a piece of a rope, a limb. */
typedef struct SoftSegment {
    u32 point[2];
} SoftSegment;

typedef struct SoftBody {
    SoftDef def; /* its pointers are cleared */
    u32 first, count;
    u32 first_constraint, constraint_count;
    u32 first_triangle, triangle_count;
    u32 first_segment, segment_count;
    bool closed;
    bool inner;  /* some particles are in no triangle and no segment */
    u32 columns; /* of a grid; else 0 */
    f32 cell;    /* m, size of its triangles, or length of its segments */
    f32 mass_kg;
    u32 ring;        /* its first segments, around the gas of a ball in two dimensions; else 0 */
    f32 rest_volume; /* m³ inside, by soft_volume_by; of a ring m² */
    u32 first_pin, pin_count;               /* in pinned */
    u32 first_attachment, attachment_count; /* the last of its pins, in this order */
    bool fixed;                             /* in this step: something immovable holds some of it */
    bool spare;                             /* it may be absent */
    bool supports;                          /* in this tick: load.c carries what rests on it */
    bool rotates;                           /* in this step: no point is pinned; then: */
    Vec3 momentum;                          /* kg m²/s about its centre, before its constraints */
} SoftBody;

typedef struct SoftAttachment {
    u32 particle;
    BodyId body;
    Vec3 local;   /* m, in the body's frame */
    Vec3 carried; /* m/s, of that point of the body in this substep */
    f32 coupled;  /* 1/kg, of the particle together with the body; its own once the body is gone */
    Vec3 pull;    /* N, of the particle on the body, mean of the last steps awake */
} SoftAttachment;

/* What is met in this tick, and data of its bodies that may move. */
typedef struct SoftOther {
    Collider collider;
    struct SoftSupport *supports; /* [support_count] by mover: see load.c */
    u32 support_count, support_capacity;
} SoftOther;

typedef struct SoftSupport {
    f32 loaded; /* in this step: Σ of the weights of what stretches over the body */
    u32 held;   /* particles attached to it */
} SoftSupport;

typedef struct SoftContact {
    u32 particle, thing;
    u32 mover;    /* SOFT_NONE: the thing is static and gets no impulses */
    u8 other;     /* index of the thing's collider */
    u8 rooted;    /* so near a root in the thing that it may grow out here: it is not pushed out */
    u8 near;      /* in this substep */
    u8 pinched;   /* in this substep: another thing near holds the particle from the other side */
    f32 pressed;  /* N s, impulse in this step along: */
    Vec3 normal;  /* from the thing */
    f32 distance; /* m, at the start of this substep */
    f32 keep;     /* m, distance kept in this substep */
} SoftContact;

/* A triangle (or a segment: two equal corners) against a body that particles might miss. */
typedef struct SoftFace {
    u32 point[3];
    u32 other, thing; /* with the collider's ContactBodyOps */
    u32 part;         /* convex */
    u32 mover;        /* or SOFT_NONE */
    u32 body;         /* soft */
    f32 thin;         /* m, half the thickness of the thing */
    Vec3 apart;       /* from the body: a direction along which they were too far apart in an
                        earlier substep; or 0 */
    f32 side;         /* of the triangle, where the body was at the start of the tick; 0: none */
    u16 pinched;      /* in this substep: another body near holds a corner from the other side */
    u8 rooted;        /* as of a contact, of one of its corners */
    u8 near;          /* in this substep; then: */
    f32 weight[3];    /* of the corners */
    Vec3 normal;      /* from the body */
    Vec3 local;       /* m, the body's nearest point, in its centre-of-mass frame */
    f32 keep[3];      /* m, distance of the corners from the plane there */
    f32 clearance;    /* m, kept between the corners */
    f32 driven[3];    /* m/s, approach of the corners when this step began */
    f32 pressed;      /* N s, total impulse in this step */
    Vec3 pressed_at;  /* point of action, times that */
} SoftFace;

enum {
    REST_AWAKE = 0,
    REST_ASLEEP = 1,
    REST_ABSENT = 2 /* spare.c */
};

/* Serialized part of a SoftRest. */
typedef struct SoftRestState {
    u32 asleep;   /* REST_ */
    f32 rest_s;   /* time at rest */
    f32 credit_j; /* energy that it has taken from bodies that press on it, see load.c */
} SoftRestState;

/* Rest data of a body: see rest.c. */
typedef struct SoftRest {
    SoftRestState state;
    u32 first_mark;
    bool pinned;   /* some point, to the world */
    bool near;     /* something is near in this tick */
    bool measured; /* self-collision has its sleeping position */
    Bounds bounds; /* m, of the points of a sleeping body */
} SoftRest;

typedef struct ConstraintBatches ConstraintBatches; /* batches.c */
typedef struct CoupledMass CoupledMass;             /* coupled_mass.c */
typedef struct Loads Loads;                         /* load.c */
typedef struct Methods Methods;                     /* method.c */
typedef struct Stiffs Stiffs;                       /* stiff.c */
typedef struct SoftSurface SoftSurface;             /* surface.c */
typedef struct SelfCollision SelfCollision;         /* self_collision.c */
typedef struct BodyConstraints BodyConstraints;     /* body_constraint.c: pressure and matching */

struct Soft {
    SoftPoint *points;  /* [count] of [room], 32-byte aligned */
    Vec3 *rest;         /* m, initial positions, in the body's frame */
    SoftMatter *matter; /* [count] */
    Symmetric3 *drag;   /* [count] 1/s, where soft_has_drag: of the tick, see soft_wind */
    Vec3 *gust;         /* [count] m/s² in this tick, by media; unused without */
    u32 count, capacity;
    SoftBody *bodies; /* [body_count] */
    u32 body_count, body_capacity;
    SoftConstraint *constraints;
    u32 constraint_count, constraint_capacity;
    SoftShape *shapes;
    u32 shape_count, shape_capacity;
    SoftTriangle *triangles;
    u32 triangle_count, triangle_capacity;
    SoftSegment *segments;
    u32 segment_count, segment_capacity;
    SoftAttachment *attachments;
    u32 attachment_count, attachment_capacity;
    u32 *pinned; /* [pin_count] particles held by the world or a body, by body */
    u32 pin_count;
    SoftContact *contacts; /* of this tick */
    SoftContact *near;     /* of this substep, same capacity: those with static bodies first */
    u32 contact_count, contact_capacity, near_count, near_fixed;
    u32 pinched_count; /* of this substep: contacts */
    SoftOther others[SOFT_COLLIDERS_MAX];
    u32 other_count;
    u32 holder;      /* the other whose bodies hold pins and share islands; SOFT_NONE: none */
    SoftFace *faces; /* of this tick */
    u32 face_count, face_capacity;
    SoftGrab grabs[SOFT_GRABS_MAX];
    u32 grab_end;
    SoftRest *rests; /* [rest_count], one per body after soft_build */
    Vec3 *marks;     /* [mark_count] m, recorded positions of some points, by body */
    IslandMember *members;
    IslandMembers company; /* of this tick */
    u32 rest_count, mark_count;
    u32 asleep_count, absent_count; /* those absent are asleep too */
    ConstraintBatches *batches; /* created by soft_build, like the next four; NULL: not needed */
    CoupledMass *held;          /* [attachment_count] by group */
    Loads *loads;
    Methods *methods;
    Stiffs *stiffs;
    SelfCollision *collision;
    BodyConstraints *body_constraints;
    SoftSurface *surface;    /* created at its first use */
    bool surface_stale;      /* things may have moved since it was built */
    Medium media[MEDIA_MAX]; /* of this tick */
    u32 medium_count;
    Vec3 gravity, wind;
    f32 air_density;
    f32 stretch_scale, bend_scale, pressure_scale;
    f32 tick_s, substep_s;
    u32 steps;  /* of a substep, at least */
    u32 taken;  /* of each substep of this tick */
    u32 step;   /* of this tick so far */
    Jobs *jobs; /* of this tick */
};

/* Factor on the compliance of a constraint's role. */
static inline f32 soft_role_scale(const Soft *soft, u32 role)
{
    return role == ROLE_BEND ? soft->bend_scale : role == ROLE_LIMIT ? 1.0f : soft->stretch_scale;
}

/* Whether a particle belongs to a body that is solved once a tick, including its grabs. */
static inline bool soft_solves_ticks(const Soft *soft, u32 particle)
{
    SoftMethod method = soft->bodies[soft->matter[particle].body].def.method;
    return method == SOFT_XPBD_ITERATIONS || method == SOFT_PBD || method == SOFT_RELAX;
}

/* Of a positional correction by `apart`, for which the corner that moves farthest moves by
 * `most`: the part that is done. Where the others are pinned or heavy, a light corner with next
 * to no weight would be displaced without bound, and come back from there with energy that
 * nobody gave. Corners of one mass move at most 1.4 times as far. */
static inline f32 soft_lever_part(f32 most, f32 apart)
{
    return most > 2.0f * apart ? 2.0f * apart / most : 1.0f;
}

/* Whether the point is within the bounds, enlarged by margin (m). */
static inline bool soft_point_in(Bounds bounds, Vec3 p, f32 margin)
{
    return p.x >= bounds.min.x - margin && p.x <= bounds.max.x + margin &&
           p.y >= bounds.min.y - margin && p.y <= bounds.max.y + margin &&
           p.z >= bounds.min.z - margin && p.z <= bounds.max.z + margin;
}

/* The collider of another kind of matter. */
static inline const Collider *soft_collider_of(const Soft *soft, u32 other)
{
    return &soft->others[other].collider;
}
static inline const ContactBodyOps *soft_bodies_of(const Soft *soft, u32 other)
{
    return contact_bodies(&soft->others[other].collider);
}
/* Motion of a thing of a collider that offers bodies. */
static inline ContactMotion soft_motion_of(const Soft *soft, u32 other, u32 thing)
{
    ContactMotion motion;
    soft_bodies_of(soft, other)->motion(soft->others[other].collider.of, thing, &motion);
    return motion;
}

/* Whether a body sleeps. */
static inline bool soft_sleeps(const Soft *soft, u32 body)
{
    return soft->asleep_count != 0 && soft->rests[body].state.asleep != 0;
}

/* rest.c */
int rest_create(Soft *soft);
void rest_destroy(Soft *soft);
void rest_serialize(Soft *soft, State *state);
/* An awake body. */
void rest_fall_asleep(Soft *soft, u32 body);

/* predict.c: applies gravity, damping and wind: to a body, where nothing else does, or to some of
 * its particles. */
void soft_predict(Soft *soft, const SoftBody *body, f32 h);
void soft_predict_span(Soft *soft, const SoftBody *body, const u32 *order, u32 count, f32 h);

/* batches_build.c: batches the constraints of bodies of SOFT_XPBD, and partitions them for
 * parallel steps. */
int batches_create(Soft *soft);
void batches_destroy(ConstraintBatches *batches);
u64 batches_memory(const ConstraintBatches *batches);
/* groups.c: a step of all bodies without contact: moves them by the previous step of this
 * substep, if any, predicts, applies grabs, solves constraints (batches, methods), then whole
 * bodies. */
void groups_step(Soft *soft, f32 h, bool moves);
/* Moves the particles by h and limits their speed. */
void groups_move(Soft *soft, f32 h);

/* coupled_mass.c: while constraints are solved, a particle attached to a rigid body has the mass
 * of both and the velocity of its anchor, so that a chain feels its load and not only a light
 * end that follows it. Afterwards the particle gets their impulse, and contact.c passes it on. */
int coupled_mass_create(Soft *soft);
/* Before a step of h s; moves: the previous step has not yet moved the particles. */
void coupled_mass_begin(Soft *soft, f32 h, bool moves);
/* Before and after the constraints of a group. */
void coupled_mass_increase(Soft *soft, u32 group);
void coupled_mass_restore(Soft *soft, u32 group);

/* load.c: particles stretched by a rigid body are solved together with it, as coupled_mass.c
 * does for attached ones. */
int loads_create(Soft *soft);
void loads_destroy(Loads *loads);
u64 loads_memory(const Soft *soft);
/* At the start of a tick: which bodies support particles of kinds that are solved later; whether
 * one (CONTACT_ANY: any) does. */
void loads_tick(Soft *soft);
bool loads_support(const Soft *soft, u32 body);
/* In each tick, of each such kind: room for its particles. One of them, for the next substep; after
 * it. Before a tick, all of that. */
void loads_expect(Soft *soft, u32 particles);
void loads_add(Soft *soft, const ContactPlace *place, const ContactLoad *by);
void loads_forget(Soft *soft);
void loads_forget_tick(Soft *soft);
/* Before a step of h s, like coupled_mass_begin. */
void loads_begin(Soft *soft, f32 h, bool moves);
/* Before and after the constraints of a group. */
void loads_take(Soft *soft, u32 group);
void loads_give(Soft *soft, u32 group);
/* Stores the velocities of some particles before the constraints. */
void loads_store(Soft *soft, const u32 *order, u32 count);
/* After the constraints of all of a body: limits the impulses meant for what presses on it to what
 * it has taken. */
void loads_count(Soft *soft, u32 body, f32 h);
/* After all groups: applies the impulses meant for what presses on soft bodies. */
void loads_pass(Soft *soft);

/* method.c: a step of a body: for methods other than SOFT_XPBD from prediction to projection,
 * after which velocities are those of the step; and smoothing for all. soft->step is 0 in the
 * first step of a tick. Bodies run in parallel: write only data of this body. */
int methods_create(Soft *soft);
void methods_destroy(Methods *methods);
/* Steps of a substep of h s: those of the scene, or as many as explicit methods need. */
u32 methods_steps(const Soft *soft, f32 h);
/* Before the bodies, in the first step of a tick. */
void methods_begin(Soft *soft);
void methods_body(Soft *soft, u32 body, f32 h);
/* After the particles of the body moved: explicit methods correct positions that do not follow
 * from velocity, where nothing else has changed it. */
void methods_move(Soft *soft, u32 body);

/* body_constraint.c: pressure and shape matching of a body; called for every body, of any
 * method. Bodies run in parallel: write only data of this body. */
int body_constraints_create(Soft *soft);
void body_constraints_destroy(BodyConstraints *body_constraints);
/* Applies the gas pressure of a body of SOFT_XPBD, before its constraints: the skin responds
 * within the step. */
void body_constraints_press(Soft *soft, u32 body, f32 h);
/* Pressure for other methods, and matching, after the constraints. */
void body_constraints_body(Soft *soft, u32 body, f32 h);
/* As built, at an orientation. */
void body_constraints_reset(Soft *soft, u32 body, Quat orientation);
void body_constraints_serialize(Soft *soft, State *state);
/* Is it still being inflated? */
bool whole_grows(const Soft *soft, u32 body);

/* self_collision.c: finds pairs that may touch within the tick, and solves contact in a step. */
int self_collision_create(Soft *soft);
void self_collision_destroy(SelfCollision *collision);
void self_collision_begin(Soft *soft, f32 tick_s);
/* Before the steps of a substep of h s: searches again if something moved farther than expected. */
void self_collision_substep(Soft *soft, f32 h);
void self_collision_solve(Soft *soft, f32 h);
void self_collision_serialize(Soft *soft, State *state);
u64 self_collision_memory(const SelfCollision *collision);

/* stiff.c: solves as a whole material too stiff for one pass over its tetrahedra per step. */
int stiffs_create(Soft *soft);
void stiffs_destroy(Stiffs *stiffs);
u64 stiffs_memory(const Soft *soft);
/* Near rest both rows of Neo-Hookean material respond to volume only: their effect on shear is
 * explicit, and gains energy from about here on. Material is solved as a whole in steps of h s
 * where its weight over its compliance (stiff_limit, 1/s²) is this part of 1 / h², times the
 * scene's factor. */
#define STIFF_FROM 0.25f
f32 stiff_limit(const Soft *soft, u32 body);
/* Always true for balloons: their edges and gas are in no batch. */
bool stiff_skin(const Soft *soft, u32 body);
/* Is this constraint solved by stiff.c? */
bool stiff_has(const Soft *soft, u32 body, const SoftConstraint *constraint);
bool stiff_is(const Soft *soft, u32 body, f32 h);
/* Stores a particle's velocity at the start of this step, for such bodies. */
void stiff_start(Soft *soft, u32 particle);
/* After all other forces, in place of the constraints. */
void stiff_body(Soft *soft, u32 body, f32 h);

/* rotation.c: around the constraints of a body in a step: preserves its rotation. Bodies run in
 * parallel. */
void rotation_begin(Soft *soft, SoftBody *body);
void rotation_end(Soft *soft, SoftBody *body);

/* wind.c: drag of the triangles at the start of a tick. */
void wind_begin(Soft *soft);
/* Is a body in a medium that moves? */
bool wind_stirs(const Soft *soft, u32 body);

/* Whether the wind acts on the body. */
static inline bool soft_has_drag(const Soft *soft, const SoftBody *body)
{
    return body->triangle_count > 0 && soft->air_density > 0.0f;
}

/* Velocity change by drag in h s, by the force at the current velocity: terminal speed, or
 * hanging at rest, is correct for any h. At most the whole difference is removed, which limits
 * the lightest cloth. */
static inline Vec3 soft_wind(const Soft *soft, u32 particle, Vec3 velocity, f32 h)
{
    const Symmetric3 *drag = &soft->drag[particle];
    f32 share = h * (drag->xx + drag->yy + drag->zz);
    Vec3 change = symmetric_mul(drag, vec3_sub(soft->wind, velocity));
    change = vec3_scale(change, share > 1.0f ? h / share : h);
    return soft->medium_count > 0 ? vec3_add_scaled(change, h, soft->gust[particle]) : change;
}

/* contact_other.c: what is met in a tick. */
void soft_others_set(Soft *soft, SoftOthers others);
void soft_others_finish(Soft *soft);
/* Announces that a thing may be touched; returns its mover (0 for what is no body), or SOFT_NONE if
 * it does not move. */
u32 soft_others_take(Soft *soft, u32 other, u32 thing);
/* What soft bodies do for the body, NULL if it does not move or does not live. */
SoftSupport *soft_support(const Soft *soft, u32 other, u32 thing);
/* Is the attachment's body there? Its thing is in holder. */
bool soft_holds(const Soft *soft, const SoftAttachment *held);
/* m, including the motion of a tick; everywhere for what is no body. */
Bounds soft_other_bounds(const Soft *soft, u32 other, u32 thing);

/* A thing of one of the others. */
typedef struct OtherThing {
    u32 other, thing;
} OtherThing;
static inline bool soft_thing_is(OtherThing a, u32 other, u32 thing)
{
    return a.thing == thing && a.other == other;
}

/* contact.c: contact of particles with others, and attachments. */
int soft_contact_create(Soft *soft);
void soft_contact_begin(Soft *soft);
/* Before the steps of a substep of h s. */
void soft_contact_substep(Soft *soft, f32 h);
/* A step, after the particles' own solve: contact with others; then these move. */
void soft_contact_solve(Soft *soft, f32 h);
/* m/s, that moves a particle from `position` to its anchor at the end of the step. */
Vec3 soft_contact_hold_speed(const Soft *soft, const SoftAttachment *held, Vec3 position, f32 h);

/* A pinned particle inside a body is a root from which the rest grows out: inside, only pins
 * determine its position, and contact would work against them for ever. Of a particle attached to
 * the body its anchor counts: one that was torn off it by a blow must get back. */
typedef struct ContactRoots {
    u32 count;
    OtherThing of[32];
    u32 root[32];
} ContactRoots;
/* A pinned particle of the soft body inside the thing, or SOFT_NONE; caches the result for one soft
 * body and tick. */
u32 soft_contact_root(const Soft *soft, const SoftBody *body, OtherThing thing,
                      ContactRoots *roots);
/* Is the particle attached to the thing? Or inside of it, and by the rest shape near enough to the
 * root (if any) to grow out of it, or too near to a pin inside to get a thickness away? */
bool soft_contact_is_rooted(const Soft *soft, OtherThing thing, u32 root, u32 particle);
/* Is it by the rest shape near enough to the root, if there is one, to grow out of the thing? Where
 * a taut rope comes out along the normal, contact that pushed it a thickness away would stretch it,
 * and gain energy again and again: it only may not come nearer. */
bool soft_contact_near_root(const Soft *soft, OtherThing thing, u32 root, u32 particle);

/* Limits the distances kept by particles that two things near in this substep pinch. */
void soft_contact_find_clearance(Soft *soft);
/* m, limit of the distance kept from either thing by a particle that is at `distance` from one
 * with this normal, and is held from the other side by another. pinched: set if there is one. */
f32 soft_contact_capacity(Soft *soft, u32 particle, Vec3 normal, f32 distance, u16 *pinched);

/* contact_face.c: triangles and segments against bodies that particles might miss: is this one? */
bool soft_contact_by_faces(const Soft *soft, const SoftBody *body, u32 other, u32 thing);
/* Is a triangle or segment of the soft body within reach (m) of the thing? */
bool soft_contact_face_meets(const Soft *soft, const SoftBody *body, u32 other, u32 thing,
                             f32 reach);
/* Does this one touch? */
bool soft_contact_face_touches(const Soft *soft, const SoftFace *face, f32 reach);
void soft_contact_face_begin(Soft *soft);
void soft_contact_face_substep(Soft *soft, f32 h);
void soft_contact_face_solve(Soft *soft, f32 h);
/* Solves again triangles that another body near holds from the other side. */
void soft_contact_face_solve_pinched(Soft *soft, f32 h);

/* roll.c: rolling resistance on bodies, after contact. */
void roll_solve(Soft *soft);

/* grab.c: all grabs except those on bodies solved once a tick, which handle them. */
void grab_solve(Soft *soft, SoftGrab *grab, f32 h);
/* Of the particles of a group (batches.h). */
void grabs_warm(Soft *soft, u32 group, f32 h);
void grabs_solve(Soft *soft, f32 h);

#endif
