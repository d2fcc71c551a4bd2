/*
 * store.h: the particle store from inside: soft.c moves it, cloth.c fills it.
 * Layer: server/physics/soft (private).
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_STORE_H
#define PLENUM_SERVER_PHYSICS_SOFT_STORE_H

#include "server/physics/soft/soft.h"

typedef enum EdgeKind {
    EDGE_STRETCH,
    EDGE_SHEAR,
    EDGE_BEND,
    EDGE_KINDS
} EdgeKind;

/* Distance constraint; those of one batch share no particle. */
typedef struct SoftEdge {
    u32 a, b;
    f32 rest;       /* m, > 0 */
    f32 compliance; /* m/N */
    u16 kind;       /* EdgeKind */
    u16 color;
} SoftEdge;

typedef struct SoftTriangle {
    u32 point[3];
} SoftTriangle;

typedef struct SoftAttachment {
    u32 particle;
    BodyId body;
    Vec3 local;   /* m, in the body's frame */
    Vec3 carried; /* m/s, of that point of the body in this substep */
} SoftAttachment;

typedef struct SoftTouch {
    u32 particle, slot;
    Vec3 carried; /* m/s, of the body's point there in this substep */
} SoftTouch;

struct Soft {
    /* [room] each, [count] used */
    Vec3 *position, *velocity;
    Vec3 *wind_velocity; /* m/s that the wind adds over the tick */
    f32 *inverse_mass;   /* 1/kg */
    f32 *radius;         /* m */
    f32 *friction;
    f32 *damping;   /* 1/s */
    f32 *wind_area; /* m² of the triangles at rest, a third of each */
    u32 count, room;
    SoftEdge *edges; /* sorted by colour */
    u32 edge_count, edge_room;
    SoftTriangle *triangles;
    u32 triangle_count, triangle_room;
    SoftAttachment *attachments;
    u32 attachment_count, attachment_room;
    SoftTouch *touches; /* of this tick */
    SoftTouch *near;    /* of this substep, with the same room */
    u32 touch_count, touch_room, near_count;
    SoftGrip grips[SOFT_GRIPS_MAX];
    u32 grip_end;
    Vec3 gravity, wind;
    f32 air_density;
    f32 stretch_scale, bend_scale;
    f32 tick_s;
};

/* Room for so many touches in all; false without memory. */
bool soft_reserve_touches(Soft *soft, u32 count);

#endif
