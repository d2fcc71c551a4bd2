/*
 * bodies.h: further operations of colliders whose things are rigid bodies: frame and motion,
 * response to impulses anywhere, convex parts for exact contact with triangles, and islands for
 * others that rest on them and sleep with them. Other solids can hang on such things, roll on them,
 * and meet them with faces; other colliders are met by points only.
 * Layer: server/physics/contact.
 */
#ifndef PLENUM_SERVER_PHYSICS_CONTACT_BODIES_H
#define PLENUM_SERVER_PHYSICS_CONTACT_BODIES_H

#include "server/physics/body_id.h"
#include "server/physics/contact/contact.h"

/* For the search of a tick. */
typedef struct ContactBody {
    bool moves;    /* it is not static */
    bool stirs;    /* it is awake and dynamic, or moves by itself: bodies that sleep near it wake */
    u32 parts;     /* convex parts; 0: planes, meshes, terrains */
    f32 thickness; /* m, half of its least thickness; INFINITY without convex parts */
    f32 moved;     /* m, by its centre in a substep */
    f32 speed;     /* m/s, of its fastest point at most */
} ContactBody;

/* World axes. */
typedef struct ContactMotion {
    Vec3 centre; /* m, of mass */
    Quat orientation;
    Vec3 velocity, angular_velocity; /* m/s, rad/s, by its momentum; */
    Vec3 bias, bias_angular;         /* its actual motion is faster by this */
} ContactMotion;

/* m/s at the end of an arm (m) from the centre, by momentum. */
static inline Vec3 contact_motion_at(const ContactMotion *motion, Vec3 arm)
{
    return vec3_add(motion->velocity, vec3_cross(motion->angular_velocity, arm));
}

/* ---- islands: bodies that rest together sleep together ---- */

/* A thing that stays within contact_rest_way for two consecutive periods of this length (s) is at
 * rest. */
#define CONTACT_REST_S       0.35f
#define CONTACT_REST_LEAST_M 2e-6f /* minimum of contact_rest_way */
/* m, for any of its points; held: in contact, otherwise hanging. gravity in m/s². */
f32 contact_rest_way(f32 gravity, bool held);

typedef struct IslandMember {
    bool awake;  /* others are ignored */
    bool rests;  /* at rest long enough to sleep */
    bool held;   /* supported by the world, or needs no support */
    bool sleeps; /* written at the end of the tick: falls asleep now */
} IslandMember;

typedef struct IslandMembers {
    IslandMember *members; /* [count] */
    u32 count;
    /* Called if something may sleep: reports all connections with link_thing and link_members. */
    void (*link)(void *context);
    void *context;
} IslandMembers;

/* Interface of rigid bodies; all functions are required. Arms in m from the centre of mass.
 * ColliderOps.inverse_mass, impulse and push use only `thing`, `arm` and `mover` of a place. */
struct ContactBodyOps {
    bool (*alive)(const void *of, BodyId body); /* slot: the thing */
    void (*describe)(const void *of, u32 thing, ContactBody *body);
    Bounds (*bounds)(const void *of, u32 thing); /* m, including the motion of the next tick */
    void (*part)(const void *of, u32 thing, u32 part, ShapePose *pose);
    /* Number of a thing among those taken in this tick; CONTACT_ANY: static or not taken. */
    u32 (*mover)(const void *of, u32 thing);
    void (*motion)(const void *of, u32 thing, ContactMotion *motion);
    f32 (*mass)(const void *of, u32 thing); /* kg, 0: takes no impulses */
    bool (*awake)(const void *of, u32 thing);
    /* Velocity change at an arm per unit impulse along each axis (1/kg); 0 of what takes none. */
    Symmetric3 (*response)(const void *of, u32 thing, Vec3 arm);
    /* Change of angular velocity (rad/s) by an angular impulse (N m s), and its application. */
    Vec3 (*angular_response)(const void *of, u32 thing, Vec3 moment);
    void (*angular_impulse)(void *of, u32 thing, Vec3 moment);
    /* It is held up in this tick by what is no contact, such as water: it may fall asleep. */
    void (*hold_up)(void *of, u32 thing);
    /* At the end of a tick, for this tick, by several kinds; borrowed until its end. */
    void (*join_islands)(void *of, const IslandMembers *members);
    void (*link_thing)(void *of, u32 member, u32 thing);
    /* The same, where the member knows that the thing rests: a liquid at rest still sways what
     * floats in it, by more than counts as rest elsewhere. */
    void (*carry_thing)(void *of, u32 member, u32 thing);
    void (*link_members)(void *of, u32 member, u32 other);
};

/* NULL: the things are no rigid bodies. */
static inline const ContactBodyOps *contact_bodies(const Collider *collider)
{
    return collider->ops->bodies;
}

#endif
