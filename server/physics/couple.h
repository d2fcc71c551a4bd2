/*
 * couple.h: what different kinds of matter need to touch each other: distances from points to rigid
 * shapes, and impulses that pass both ways.
 * Layer: server/physics.
 */
#ifndef PLENUM_SERVER_PHYSICS_COUPLE_H
#define PLENUM_SERVER_PHYSICS_COUPLE_H

#include "server/physics/rigid/manifold.h"
#include "server/physics/rigid/rigid.h"

/* Signed distance (m, negative inside) from a world point to a shape at a pose, and the outward
 * unit normal at the nearest surface point. Meshes have two sides and no inside; terrains are solid
 * below. What is farther than `reach` (m, ≥ 0) may be said to be anything farther. */
f32 couple_distance(const ShapePose *pose, Vec3 point, f32 reach, Vec3 *normal);

/* A particle in contact with a body during a step of h seconds. */
typedef struct CoupleParticle {
    Vec3 position;    /* m, at the start of the step */
    Vec3 velocity;    /* m/s, of the step; corrected */
    Vec3 carried;     /* m, how far the body's pose is ahead of the end of the step */
    f32 inverse_mass; /* 1/kg */
    f32 radius;       /* m, distance kept */
    f32 friction;
    f32 static_friction; /* used where it is more than friction */
    f32 stiffness;       /* N/m of the contact's spring; 0: hard */
} CoupleParticle;

/* Pushes the particle out of the body, off a mesh to the side that it came from, and rubs, and
 * gives the body the opposite impulse, so that momentum is exchanged exactly. Returns true if they
 * touched. */
bool couple_particle(Rigid *rigid, u32 slot, CoupleParticle *particle, f32 h);

#endif
