/*
 * couple.h: what different kinds of matter need to touch each other: distances from points to rigid
 * shapes, and impulses that pass both ways.
 * Layer: server/physics.
 */
#ifndef PLENUM_SERVER_PHYSICS_COUPLE_H
#define PLENUM_SERVER_PHYSICS_COUPLE_H

#include "server/physics/rigid/narrow/manifold.h"
#include "server/physics/rigid/rigid.h"

/* Signed distance (m, negative inside) from a world point to a shape at a pose, and the outward
 * unit normal at the nearest surface point. Meshes have two sides and no inside; terrains are solid
 * below. What is farther than `reach` (m, ≥ 0) may be said to be anything farther. */
f32 couple_distance(const ShapePose *pose, Vec3 point, f32 reach, Vec3 *normal);

/* How a body moves beyond what its velocity says: given, and what contacts add to it. */
typedef struct CoupleMotion {
    Vec3 bias, bias_angular; /* m/s, rad/s */
    Vec3 shift, rotation;    /* m, rad, by which contacts push it off; added to */
} CoupleMotion;

/* A particle in contact with a body during a step of h seconds. */
typedef struct CoupleParticle {
    Vec3 position;    /* m, at the start of the step; moved by what is pushed apart */
    Vec3 velocity;    /* m/s, of the step; corrected */
    f32 inverse_mass; /* 1/kg */
    f32 radius;       /* m, distance kept */
    bool swept;       /* stops at what it would pass through within the step, however thin */
    f32 friction;
    f32 static_friction; /* used where it is more than friction */
    f32 stiffness;       /* N/m of the contact's spring; 0: hard */
    f32 pressed;         /* N s, found: the normal impulse, along: */
    Vec3 normal;         /* from the body */
} CoupleParticle;

/* The body is where it is at the start of the step. Stops what would come in within the step, off
 * a mesh on the side that it came from, rubs, and gives the body the opposite impulse, so that
 * momentum is exchanged exactly. What is inside already is moved apart and gains no speed by it.
 * motion: NULL for a body that nothing moves. Returns true if they touched. */
bool couple_particle(Rigid *rigid, u32 slot, CoupleMotion *motion, CoupleParticle *particle, f32 h);

/* What a contact does along its normal, from its geometry. */
typedef struct CoupleNormal {
    f32 gap;      /* m, at the start of the step, less the distance kept */
    f32 approach; /* m/s, of the velocities */
    f32 bias;     /* m/s, by which the gap closes beyond that */
} CoupleNormal;

/* m/s that the contact takes from the approach, and m by which it moves the two apart at once. */
void couple_normal(const CoupleNormal *of, f32 h, f32 *push, f32 *apart);

/* Moves the body of a pair that is pushed apart, from the place at `arm`: impulse_m is the share's
 * mass times distance along `direction` (kg m, of the body). `against` is the velocity of the other
 * part there less that of the body's centre: moving the two apart at these velocities would change
 * the angular momentum, and the body's angular velocity takes the difference. */
void couple_push_body(Rigid *rigid, u32 slot, CoupleMotion *motion, Vec3 arm, Vec3 impulse_m,
                      Vec3 against);

#endif
