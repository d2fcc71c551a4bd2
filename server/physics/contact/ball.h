/*
 * ball.h: a particle as a collider: a ball that does not rotate, so that impulses act through both
 * centres. The operations (contact.h) of all colliders made of particles, for one particle.
 * Layer: server/physics/contact.
 */
#ifndef PLENUM_SERVER_PHYSICS_CONTACT_BALL_H
#define PLENUM_SERVER_PHYSICS_CONTACT_BALL_H

#include "server/physics/contact/distance.h"

typedef struct ContactBall {
    Vec3 place;    /* m, at the time of the other party's step */
    Vec3 velocity; /* m/s */
    f32 radius;    /* m */
} ContactBall;

/* Signed distance (m) and outward normal of the ball's surface at a point. */
static inline f32 contact_ball_distance(const ContactBall *ball, Vec3 point, Vec3 *normal)
{
    Vec3 off = vec3_sub(point, ball->place);
    *normal = vec3_normalize_or(off, vec3(0.0f, 1.0f, 0.0f));
    return vec3_length(off) - ball->radius;
}

/* Whether the ball overlaps a shape. */
static inline bool contact_ball_touches(const ContactBall *ball, const ShapePose *shape)
{
    Vec3 normal;
    return contact_distance(shape, ball->place, ball->radius, &normal) < ball->radius;
}

/* A ray with a ball of this radius (m) around the particle. */
static inline bool contact_ball_ray(const ContactBall *ball, f32 radius, Ray ray, f32 max,
                                    f32 *distance, Vec3 *normal)
{
    Shape shape = {.kind = SHAPE_SPHERE, .radius = radius};
    return shape_ray(&shape, ball->place, quat_identity(), ray, max, distance, normal);
}

/* Whether the ball and the particle can touch within h seconds at their present velocities. */
static inline bool contact_ball_may_meet(const ContactBall *ball, const ContactParticle *particle,
                                         f32 h)
{
    Vec3 normal;
    f32 speed = vec3_distance(ball->velocity, particle->velocity);
    return contact_ball_distance(ball, particle->position, &normal) <
           particle->radius + (speed + CONTACT_MARGIN_M_S) * h;
}

/* The place where they touch within h seconds, on the ball's surface; false: they do not. */
static inline bool contact_ball_meet(const ContactBall *ball, u32 thing,
                                     const ContactParticle *particle, f32 h, ContactPlace *place)
{
    f32 gap = contact_ball_distance(ball, particle->position, &place->normal);
    place->thing = thing;
    place->velocity = place->moving = ball->velocity;
    place->free = vec3_zero();
    place->keeps = true;
    Vec3 against = vec3_sub(particle->velocity, place->velocity);
    place->distance = gap + h * vec3_dot(against, place->normal);
    return place->distance < particle->radius;
}

#endif
