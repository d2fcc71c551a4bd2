/*
 * contact.h: the common contact interface of all kinds of matter. A kind offers its collidable
 * parts as a Collider: things within bounds, signed distance and normal, the velocity at a place,
 * its effective inverse mass, and how it takes an impulse there. Its counterpart needs nothing
 * else: so n kinds collide with n kinds without code for each pair, and one function,
 * contact_particle, exchanges momentum.
 *
 * A kind collides with those before it in the world's list. In a substep it takes its own steps and
 * carries the others along (carry): colliders in possible contact return to the start of the
 * substep and move with it, so that both are evaluated at the same time.
 * Units SI, world axes.
 * Layer: server/physics/contact.
 */
#ifndef PLENUM_SERVER_PHYSICS_CONTACT_CONTACT_H
#define PLENUM_SERVER_PHYSICS_CONTACT_CONTACT_H

#include "shared/base/jobs.h"
#include "shared/geometry/shape.h"
#include "shared/math/symmetric.h"

typedef struct ContactBodyOps ContactBodyOps; /* bodies.h */

enum {
    CONTACT_POINTS_MAX = 4 /* of a soft body that share an impulse */
};
#define CONTACT_ANY UINT32_MAX

/* A particle during a step. */
typedef struct ContactParticle {
    Vec3 position;    /* m, at the start of the step; changed by positional correction */
    Vec3 velocity;    /* m/s, in the step; corrected */
    f32 inverse_mass; /* 1/kg */
    f32 radius;       /* m, distance kept */
    bool swept;       /* stops at anything it would pass through within the step, however thin */
    bool yields;      /* only its own position is corrected, not that of what it touches */
    f32 friction;
    f32 static_friction; /* used if larger than friction */
    f32 stiffness;       /* N/m of the contact's spring; 0: hard */
    f32 pressed;         /* N s, output: the normal impulse, along: */
    Vec3 normal;         /* from the collider */
} ContactParticle;

/* A place of contact between a particle and a thing. The collider fills it in and receives it
 * back: members after `keeps` are its own. */
typedef struct ContactPlace {
    u32 thing;
    f32 distance;  /* m, of the particle's centre at the end of the step, negative inside */
    Vec3 normal;   /* unit, outward */
    Vec3 velocity; /* m/s of the thing there, by its momentum, */
    Vec3 moving;   /* and its actual motion: with other displacement (lead) */
    Vec3 free;     /* unit direction without impulses (around a string); or 0 */
    bool keeps;    /* no positional correction: nothing could take up its moment */
    Vec3 arm;      /* m, from a body's centre to the particle */
    u32 mover;
    /* Of a soft body: the points that share an impulse, with weights for the normal part and the
     * rest, and (couple · rest) along `lever`, which balances the moment. */
    u32 count, point[CONTACT_POINTS_MAX];
    f32 along[CONTACT_POINTS_MAX], across[CONTACT_POINTS_MAX];
    Vec3 couple[CONTACT_POINTS_MAX], lever;
} ContactPlace;

/* A particle near a place, as a load of a thing that is solved together with what it supports. */
typedef struct ContactLoad {
    f32 mass;      /* kg */
    f32 radius;    /* m, distance that it keeps */
    Vec3 velocity; /* m/s, of its surface there */
    f32 friction;  /* of the two */
    void *of;      /* its kind, and its number there */
    u32 particle;
    /* Applies an impulse (N s) of the thing on the particle, there; returns its velocity then. */
    Vec3 (*give)(void *of, u32 particle, Vec3 normal, Vec3 impulse);
} ContactLoad;

/* Number of points whose distances to a thing are computed at once. */
typedef struct ContactPoints {
    const Vec3 *points; /* [count] m */
    const f32 *reach;   /* [count] m */
    u32 count;
    f32 *distances; /* [count] m, output */
    Vec3 *normals;  /* [count] output; NULL: not needed */
} ContactPoints;

/* Interface of a kind of matter. `of` is its own data; a thing is its own number: a slot, a
 * body. All functions are required unless marked NULL. */
typedef struct ColliderOps {
    const char *name;
    /* Its things displace fluids and float in them; things that do not are fluids or drops
     * themselves. */
    bool displaces;
    /* ---- search ---- */
    /* Before the search of a tick: builds tables from current positions. */
    void (*begin)(void *of, Jobs *jobs, f32 tick_s);
    /* Lists things that `bounds` (m) overlaps within the tick and that collide with this group
     * and mask (0: 1 and all), in a repeatable order; returns the number written. */
    u32 (*overlaps)(void *of, Bounds bounds, u32 group, u32 mask, u32 *things, u32 capacity);
    /* Announces that a thing may be touched in this tick. Returns whether it may move: else it
     * takes no impulses, and contacts of different particles with it may be solved in parallel. */
    bool (*take)(void *of, u32 thing);
    /* ---- carry ---- */
    void (*substep_begin)(void *of, f32 h); /* returns to the start of a substep of h s */
    /* Before a step of h s of the other kind; NULL: nothing to do. */
    void (*step_begin)(void *of, f32 h);
    void (*step_end)(void *of, f32 h); /* and after it: moves */
    void (*substep_end)(void *of);
    /* ---- queries; may be called from several threads ---- */
    /* m, signed distance from a point to a thing at its current position, and the outward
     * normal; beyond `reach` (m) only a lower bound. */
    f32 (*distance)(const void *of, u32 thing, Vec3 point, f32 reach, Vec3 *normal);
    /* The same for several points, with the same bits. NULL: they are queried one by one. */
    void (*distances)(const void *of, u32 thing, const ContactPoints *points);
    /* Is the thing certain not to move in this tick, whatever touches it? NULL: unknown. */
    bool (*still)(const void *of, u32 thing);
    /* m/s of the actual motion of the thing at its point nearest to `point`. */
    Vec3 (*velocity)(const void *of, u32 thing, Vec3 point);
    f32 (*friction)(const void *of, u32 thing);
    /* Does the thing, at its current position, overlap a shape? NULL: sensors do not detect it. */
    bool (*touches)(const void *of, u32 thing, const ShapePose *shape);
    /* Does a ray hit the thing, at its current position, within max m? Writes the distance (0 from
     * inside a solid) and the normal against the ray. NULL: rays pass. */
    bool (*ray)(const void *of, u32 thing, Ray ray, f32 max, f32 *distance, Vec3 *normal);
    /* ---- contact ---- */
    /* May the particle touch the thing within h s, whatever other forces act on the two?
     * Thread-safe, like the next. */
    bool (*may_meet)(const void *of, u32 thing, const ContactParticle *particle, f32 h);
    /* Will the particle come nearer than its radius in a step of h s? If so, fills in the contact
     * place. */
    bool (*meet)(const void *of, u32 thing, const ContactParticle *particle, f32 h,
                 ContactPlace *place);
    /* Updates `velocity` and `moving` of a place from `meet` after impulses on the thing; as long
     * as nothing was displaced, its geometry is still that of `meet`. */
    void (*refresh)(const void *of, ContactPlace *place);
    /* 1/kg of the place along a unit direction; 0: immovable. */
    f32 (*inverse_mass)(const void *of, const ContactPlace *place, Vec3 direction);
    /* Applies an impulse (N s) at the particle's position: equal and opposite moments about any
     * point. */
    void (*impulse)(void *of, const ContactPlace *place, Vec3 impulse);
    /* Positional correction: impulse_m (kg m) is mass times distance. Displacing the two at
     * different velocities changes their angular momentum, which the thing takes up; the place may
     * move to the particle's current position. NULL: places are never corrected. */
    void (*push)(void *of, ContactPlace *place, Vec3 impulse_m, const ContactParticle *particle);
    /* Supported loads. Does the thing carry what presses on it better if it knows of it
     * (CONTACT_ANY: does any)? NULL: no. If so, what may press on it in its next substep is named
     * by `load`, with a place of now; before that, in each tick, each kind says by expect_loads how
     * many there may be. */
    bool (*supports)(const void *of, u32 thing);
    void (*expect_loads)(void *of, u32 particles);
    void (*load)(void *of, const ContactPlace *place, const ContactLoad *load);
    /* An impact on the thing. NULL: nothing sleeps. */
    void (*wake)(void *of, u32 thing);
    /* For things that cannot wake within a tick: others check them before it, and call wake.
     * CONTACT_ANY: is any asleep? NULL: none. */
    bool (*asleep)(const void *of, u32 thing);
    /* Does a medium (medium.h) act on its surface by drag instead of being stopped there? NULL:
     * no. */
    bool (*blown)(const void *of, u32 thing);
    /* Number of points of all its things: places name lower ones. NULL: places name none. */
    u32 (*points)(const void *of);
    /* ---- things that are rigid bodies; NULL: none ---- */
    const ContactBodyOps *bodies;
} ColliderOps;

/* Whether two groups collide: each mask has a bit of the other's group (0: 1 and all). */
static inline bool contact_groups_meet(u32 group, u32 mask, u32 other_group, u32 other_mask)
{
    return ((group != 0 ? group : 1u) & (other_mask != 0 ? other_mask : ~0u)) != 0 &&
           ((other_group != 0 ? other_group : 1u) & (mask != 0 ? mask : ~0u)) != 0;
}

typedef struct Collider {
    const ColliderOps *ops;
    void *of;
} Collider;

/* Steps are optional for colliders: ColliderOps.step_begin and those below it. */
static inline void collider_step_begin(const Collider *collider, f32 h)
{
    if (collider->ops->step_begin != NULL) {
        collider->ops->step_begin(collider->of, h);
    }
}

/* Asks a collider for the distances of several points to a thing. */
static inline void collider_distances(const Collider *collider, u32 thing,
                                      const ContactPoints *points)
{
    if (collider->ops->distances != NULL) {
        collider->ops->distances(collider->of, thing, points);
        return;
    }
    for (u32 i = 0; i < points->count; i++) {
        Vec3 unused = vec3_zero();
        Vec3 *normal = points->normals != NULL ? &points->normals[i] : &unused;
        points->distances[i] = collider->ops->distance(collider->of, thing, points->points[i],
                                                       points->reach[i], normal);
    }
}

/* Carry of particles, whose substep is complete before others collide with them: others see each
 * where it was at the start of their own step, at position − left × velocity, and a velocity
 * change by an impulse moves it for the rest of the substep. The data `of` of a collider that
 * uses these functions begins with it. */
typedef struct ContactLag {
    f32 left; /* s of the substep by which the particles are ahead of the other kind */
} ContactLag;

void contact_lag_begin(void *of, f32 h); /* substep_begin */
void contact_lag_step(void *of, f32 h);  /* step_end */
void contact_lag_end(void *of);          /* substep_end */

/* Solves contact in a step of h s: stops approach, applies friction, and gives the thing the
 * opposite impulse, so that momentum is exchanged exactly. Penetration is corrected by
 * displacement and adds no velocity. Returns true if they touched. */
bool contact_particle(const Collider *collider, u32 thing, ContactParticle *particle, f32 h);

/* Nearest hit of a ray with the things that a collider offers to this group and mask, within max m,
 * after its begin; at equal distances the first in its order. */
typedef struct ContactHit {
    u32 thing;
    f32 distance; /* m */
    Vec3 normal;
} ContactHit;
bool contact_ray(const Collider *collider, Ray ray, f32 max, u32 group, u32 mask, ContactHit *hit);

/* Input of a contact along its normal, from its geometry. */
typedef struct ContactNormal {
    f32 gap;      /* m, at the start of the step, minus the distance kept */
    f32 approach; /* m/s, of the velocities */
    f32 bias;     /* m/s, closing speed beyond that */
} ContactNormal;

/* Computes the speed (m/s) that the contact removes from the approach, and the immediate
 * positional correction (m). */
void contact_normal(const ContactNormal *of, f32 h, f32 *push, f32 *apart);

/* Contacts of particles, to be solved in a step: items of `bytes` that begin with the particle
 * (u32). The first `fixed` are with things that do not move, by particle: those of different
 * particles are independent. */
typedef struct ContactList {
    void *items; /* [count] */
    size_t bytes;
    u32 count, fixed;
    void (*solve)(void *context, void *item);
    void *context;
} ContactList;

/* Solves the contacts with immovable things in parallel, then the others in order. jobs may be
 * NULL. */
void contact_solve_list(ContactList *list, Jobs *jobs);

/* ---- speeds of contacts, m/s ---- */

/* An impact of this approach speed wakes a sleeping thing. */
#define CONTACT_WAKE_M_S   0.4f
/* Speed that gravity and solvers may add to a particle within a tick. */
#define CONTACT_MARGIN_M_S 2.0f
/* Largest speed of positional correction: faster correction would act on the particle's
 * constraints like an impact. */
#define CONTACT_APART_M_S  1.0f

#endif
