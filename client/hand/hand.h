/*
 * hand.h: one user's hand: what it hovers, holds and does, on top of a connection. Used by the
 * mouse tools and by scripts and bots alike.
 * Layer: client/hand (no SDL).
 */
#ifndef PLENUM_CLIENT_HAND_HAND_H
#define PLENUM_CLIENT_HAND_HAND_H

#include "client/hand/drag.h"
#include "client/hand/drag_joints.h"
#include "client/link/connection.h"
#include "client/link/timeline.h"

typedef struct Pick {
    u32 entity;   /* 0: nothing */
    u32 element;  /* of the entity (nearest point of a cloth, nearest cell of a surface) */
    f32 distance; /* m along the ray */
    Vec3 point;   /* m, world */
    Vec3 local;  /* m: in the body's frame; of a grid away from the cell's centre; of points none */
    Vec3 normal; /* unit */
} Pick;

/* World point of an entity's element as shown now, m; false if nothing of it arrived. */
bool entity_point(Connection *connection, const Entity *entity, u32 element, Vec3 local,
                  Vec3 *point);
/* Nearest hit of the ray with what is shown now: shapes exactly; soft bodies by triangle and stick;
 * other points as balls; heights by the two triangles between four cells; voxels by the first that
 * is denser than a quarter of what the field can hold. */
bool pick_ray(Connection *connection, Ray ray, f32 max_m, Pick *pick);

/* How drags felt, over all of a hand's life. */
typedef struct HandStats {
    f64 held_s;         /* time that something was held */
    f64 shown_m_s;      /* distance of the held point as shown from the target, over that time */
    f64 server_m_s;     /* of the held point as the server answered */
    f64 lag_s;          /* newest: how late the server's answer is shown */
    u32 drags;          /* whose target moved */
    f64 shown_first_s;  /* sum over drags: from the first target away to 1 cm of motion shown */
    f64 server_first_s; /* the same of the server's answer */
} HandStats;

typedef struct Hand {
    Connection *connection; /* borrowed */
    u32 grabbed;            /* entity id, 0 none */
    u32 element;
    Vec3 local;   /* m, held point in the body's frame */
    Vec3 target;  /* m, where the held point shall be */
    f32 distance; /* m from the eye along the view ray, changed by the wheel */

    /* The local answer, also of what was just let go. */
    DragPrediction drag;
    u32 answers; /* entity id, 0 none */
    u32 answers_element;
    Vec3 answers_local;
    DragJoints joints; /* what hangs on it */
    Vec3 drawn;        /* m: the held point as drawn less as the server answers */
    bool confirmed;    /* the server said that it is held */
    f64 grabbed_s;
    Vec3 grabbed_at; /* as the server showed it then, m */
    f64 away_s;      /* when the target first left there, 0: not yet */
    bool shown_first, server_first;
    HandStats stats;
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
/* Brings the local answer of what is held up to date; call after each poll of the connection. */
void hand_step(Hand *hand, u64 now_ns);
/* Puts the local answer into the fetched states of a field, [capacity]. */
void hand_show_poses(Hand *hand, u32 field, ShownPose *poses);
void hand_show_points(const Hand *hand, u32 field, ShownPoint *points);
/* Where the held point is drawn now; false when nothing is held. */
bool hand_point(const Hand *hand, Vec3 *point);

#endif
