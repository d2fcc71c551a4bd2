/*
 * hand.h: one user's interaction state: picking, grab and actions, on top of a connection. Used by
 * the mouse tools, scripts and bots.
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
    Vec3 local;   /* m: in the body's frame; relative to a grid cell's centre; unused for points */
    Vec3 normal;  /* unit */
} Pick;

/* World point of an entity's element as shown now, m; false if no state arrived. */
bool entity_point(Connection *connection, const Entity *entity, u32 element, Vec3 local,
                  Vec3 *point);
/* Nearest hit of the ray with the shown state: shapes exactly; soft bodies by triangle and
 * stick; other points as balls; heights by the two triangles between four cells; voxels by the
 * first one denser than a quarter of the field's maximum. */
bool pick_ray(Connection *connection, Ray ray, f32 max_m, Pick *pick);

/* Quality of drags, over the lifetime of a hand. */
typedef struct HandStats {
    f64 held_s;         /* total time of grabs */
    f64 shown_m_s;      /* integral of the distance of the grabbed point, as shown, from the
                           target */
    f64 server_m_s;     /* the same for the server's state */
    f64 lag_s;          /* newest delay of the server's answer */
    u32 drags;          /* with a moved target */
    f64 shown_first_s;  /* sum over drags: from the first moved target to 1 cm of shown motion */
    f64 server_first_s; /* the same for the server's answer */
} HandStats;

typedef struct Hand {
    Connection *connection; /* borrowed */
    u32 grabbed;            /* entity id, 0 none */
    u32 element;
    Vec3 local;   /* m, grabbed point in the body's frame */
    Vec3 target;  /* m, drag target */
    f32 distance; /* m from the eye along the view ray, changed by the wheel */
    bool dyes;    /* the user chose a colour: */
    u32 dye;      /* 0xRRGGBB, sRGB, of what the hand adds to dyed smoke (Entity.dye) */

    /* Drag prediction, also while it fades after release. */
    DragPrediction drag;
    u32 answers; /* predicted entity id, 0 none */
    u32 answers_element;
    Vec3 answers_local;
    DragJoints joints; /* bodies jointed to it */
    Vec3 drawn;        /* m: drawn minus server position of the grabbed point */
    bool confirmed;    /* the server confirmed the grab */
    f64 grabbed_s;
    Vec3 grabbed_at; /* m, server position at that time */
    f64 away_s;      /* when the target first moved away, 0: not yet */
    bool shown_first, server_first;
    HandStats stats;
} Hand;

/* Holds nothing; the connection is borrowed and receives the inputs. */
void hand_init(Hand *hand, Connection *connection);
/* Grabs what the ray hits; false if not movable. */
bool hand_grab_ray(Hand *hand, Ray ray);
/* Grabs an entity by id at its centre (element 0 for points). */
bool hand_grab_entity(Hand *hand, u32 entity);
/* Sets the drag target (sent at most once per tick; the newest wins). */
void hand_move(Hand *hand, Vec3 target);
void hand_release(Hand *hand);
/* Sets the colour of what it adds to dyed smoke, now and in later grabs: 0xRRGGBB, sRGB. */
void hand_dye(Hand *hand, u32 color);
void hand_push(Hand *hand, const Pick *pick, Vec3 impulse);
/* Updates the drag prediction; call after each poll of the connection. */
void hand_step(Hand *hand, u64 now_ns);
/* Applies the drag prediction to the fetched states of a field, [capacity]. */
void hand_show_poses(Hand *hand, u32 field, ShownPose *poses);
void hand_show_points(const Hand *hand, u32 field, ShownPoint *points);
/* Drawn position of the grabbed point; false if there is no grab. */
bool hand_point(const Hand *hand, Vec3 *point);

#endif
