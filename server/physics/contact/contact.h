/*
 * contact.h: the one way in which different kinds of matter touch each other. A kind offers what
 * can be touched as a Collider: things within bounds, signed distance and normal, the velocity of a
 * place, its effective inverse mass, and how it takes an impulse there. Who meets it knows no more:
 * so n kinds meet n kinds without a line for each pair, and momentum passes both ways in one
 * function, contact_particle.
 *
 * A kind meets those before it in the world's list. In a substep it takes its own steps, and brings
 * the others along (carry): what it is about to touch goes back to the start of the substep, and
 * moves on with it, so that both are looked at in one moment.
 * Units SI, world axes.
 * Layer: server/physics/contact.
 */
#ifndef PLENUM_SERVER_PHYSICS_CONTACT_CONTACT_H
#define PLENUM_SERVER_PHYSICS_CONTACT_CONTACT_H

#include "shared/base/jobs.h"
#include "shared/geometry/shape.h"
#include "shared/math/symmetric.h"

enum {
    CONTACT_POINTS_MAX = 4 /* that a place of a soft body hangs on */
};
#define CONTACT_ANY UINT32_MAX

/* A particle during a step. */
typedef struct ContactParticle {
    Vec3 position;    /* m, at the start of the step; moved by what is pushed apart */
    Vec3 velocity;    /* m/s, of the step; corrected */
    f32 inverse_mass; /* 1/kg */
    f32 radius;       /* m, distance kept */
    bool swept;       /* stops at what it would pass through within the step, however thin */
    f32 friction;
    f32 static_friction; /* used where it is more than friction */
    f32 stiffness;       /* N/m of the contact's spring; 0: hard */
    f32 pressed;         /* N s, found: the normal impulse, along: */
    Vec3 normal;         /* from the collider */
} ContactParticle;

/* Where a particle meets a thing. The collider fills it in and is handed it back: what follows
 * `keeps` is its own. */
typedef struct ContactPlace {
    u32 thing;
    f32 distance;  /* m, of the particle's centre at the end of the step, negative inside */
    Vec3 normal;   /* unit, out of the thing */
    Vec3 velocity; /* m/s of the thing there, as its momentum says, */
    Vec3 moving;   /* and as it goes: with what moves it beyond that (lead) */
    Vec3 free;     /* unit direction in which nothing can be passed on (round a string); or 0 */
    bool keeps;    /* the two are not pushed apart: nothing could take up the moment of it */
    Vec3 arm;      /* m, from a body's centre to the particle */
    u32 mover;
    /* Of a soft body: the points that share an impulse, and how: what goes along the normal, the
     * rest, and (couple · rest) along `lever`, which makes up for the moment. */
    u32 count, point[CONTACT_POINTS_MAX];
    f32 along[CONTACT_POINTS_MAX], across[CONTACT_POINTS_MAX];
    Vec3 couple[CONTACT_POINTS_MAX], lever;
} ContactPlace;

/* What a kind of matter offers. `of` is its own; a thing is a number of its own: a slot, a body.
 * All must be there unless they say NULL. */
typedef struct ColliderOps {
    const char *name;
    /* ---- search ---- */
    /* Before the search of a tick: tables that follow from where everything is. */
    void (*begin)(void *of, Jobs *jobs, f32 tick_s);
    /* Things that `bounds` (m) overlaps within the tick and that push other matter of this group
     * and mask (0: 1 and all), in an order that repeats; how many were written. */
    u32 (*overlaps)(void *of, Bounds bounds, u32 group, u32 mask, u32 *things, u32 capacity);
    /* A thing may be touched in this tick. Whether it may move: else nothing passes on to it, and
     * contacts of different particles with it may be solved side by side. */
    bool (*take)(void *of, u32 thing);
    /* ---- carry ---- */
    void (*substep_begin)(void *of, f32 h); /* back to the start of a substep of h s */
    void (*step_begin)(void *of, f32 h);    /* before a step of h s of who meets it, */
    void (*step_end)(void *of, f32 h);      /* and after it: moves on */
    void (*substep_end)(void *of);
    /* ---- questions; may be asked from several threads ---- */
    /* m, signed, from a point to a thing as it now is, and the way out; what is farther than
     * `reach` (m) is anything farther. */
    f32 (*distance)(const void *of, u32 thing, Vec3 point, f32 reach, Vec3 *normal);
    /* m/s of the place of a thing that is nearest to a point, as it moves. */
    Vec3 (*velocity)(const void *of, u32 thing, Vec3 point);
    f32 (*friction)(const void *of, u32 thing);
    /* ---- contact ---- */
    /* May the particle meet the thing within h s, whatever else pulls at the two? From several
     * threads, as the next. */
    bool (*may_meet)(const void *of, u32 thing, const ContactParticle *particle, f32 h);
    /* Will the particle come nearer than its radius in a step of h s? Where, then. */
    bool (*meet)(const void *of, u32 thing, const ContactParticle *particle, f32 h,
                 ContactPlace *place);
    /* 1/kg of the place along a unit direction; 0: nothing moves it. */
    f32 (*inverse_mass)(const void *of, const ContactPlace *place, Vec3 direction);
    /* N s, as if at the particle: the moment about any point is the same for both. */
    void (*impulse)(void *of, const ContactPlace *place, Vec3 impulse);
    /* The two are pushed apart: impulse_m (kg m) is mass times distance. Moving the two at
     * different velocities changes their angular momentum, and the thing takes that up; the place
     * may become that of the particle where it now is. NULL: all places keep. */
    void (*push)(void *of, ContactPlace *place, Vec3 impulse_m, const ContactParticle *particle);
    /* Something hits the thing. NULL: nothing sleeps. */
    void (*wake)(void *of, u32 thing);
    /* Of things that cannot wake within a tick: who meets them looks for them before it, and calls
     * wake. CONTACT_ANY: is any asleep? NULL: there are none. */
    bool (*asleep)(const void *of, u32 thing);
} ColliderOps;

typedef struct Collider {
    const ColliderOps *ops;
    void *of;
} Collider;

/* Stops what would come in within the step of h s, rubs, and gives the thing the opposite impulse,
 * so that momentum is exchanged exactly. What is inside already is moved apart and gains no speed
 * by it. Returns true if they touched. */
bool contact_particle(const Collider *collider, u32 thing, ContactParticle *particle, f32 h);

/* What a contact does along its normal, from its geometry. */
typedef struct ContactNormal {
    f32 gap;      /* m, at the start of the step, less the distance kept */
    f32 approach; /* m/s, of the velocities */
    f32 bias;     /* m/s, by which the gap closes beyond that */
} ContactNormal;

/* m/s that the contact takes from the approach, and m by which it moves the two apart at once. */
void contact_normal(const ContactNormal *of, f32 h, f32 *push, f32 *apart);

/* ---- speeds of contacts, m/s ---- */

/* A blow at this approach speed wakes what sleeps. */
#define CONTACT_WAKE_M_S   0.4f
/* What gravity and solvers may add to the speed of a particle within a tick. */
#define CONTACT_MARGIN_M_S 2.0f
/* What is inside goes apart no faster than this: what pulls at the particle would take it for a
 * blow. */
#define CONTACT_APART_M_S  1.0f

#endif
