/*
 * hand.h: one user's hand: what it hovers, holds and does, on top of a connection. Used by the
 * mouse tools and by scripts and bots alike. Layer: client/hand (no SDL).
 */
#ifndef PLENUM_CLIENT_HAND_HAND_H
#define PLENUM_CLIENT_HAND_HAND_H

#include "client/link/connection.h"

typedef struct Pick {
    u32 entity;   /* 0: nothing */
    u32 element;  /* of the entity (nearest point of a cloth) */
    f32 distance; /* m along the ray */
    Vec3 point;   /* m, world */
    Vec3 local;   /* m, in the body's frame */
    Vec3 normal;  /* unit */
} Pick;

/* Nearest hit of the ray with what is shown now (shapes exactly; soft bodies by triangle and
 * stick). */
bool pick_ray(Connection *connection, Ray ray, f32 max_m, Pick *pick);

typedef struct Hand {
    Connection *connection; /* borrowed */
    u32 holds;              /* entity id, 0 none */
    u32 element;
    Vec3 local;   /* m, held point in the body's frame */
    Vec3 target;  /* m, where the held point shall be */
    f32 distance; /* m from the eye along the view ray, changed by the wheel */
} Hand;

void hand_init(Hand *hand, Connection *connection);
/* Grabs what the ray hits; false if nothing movable. */
bool hand_grab_ray(Hand *hand, Ray ray);
/* Grabs an entity by id at its centre (element 0 for points). */
bool hand_grab_entity(Hand *hand, u32 entity);
/* Sends the target (at most once a tick; the newest wins). */
void hand_move(Hand *hand, Vec3 target);
void hand_release(Hand *hand);
void hand_push(Hand *hand, const Pick *pick, Vec3 impulse);
/* Where the held point is drawn now; false when nothing is held. */
bool hand_point(const Hand *hand, Vec3 *point);

#endif
