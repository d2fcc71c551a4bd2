/*
 * frame.h: one tick, quantized, immutable, reference-counted: exactly what a client can ever know
 * of that tick; with the events of the tick. Written by the simulation thread, read by all.
 * Layer: protocol/field.
 */
#ifndef PLENUM_PROTOCOL_FIELD_FRAME_H
#define PLENUM_PROTOCOL_FIELD_FRAME_H

#include "protocol/field/entity.h"

PL_BEGIN_C

typedef enum EventKind {
    EVENT_NONE = 0,
    EVENT_SPAWN = 1,   /* entity (complete) appears */
    EVENT_DESPAWN = 2, /* entity.id disappears */
    EVENT_IMPACT = 3,  /* a, b, position, impulse, speed: for sound and marks */
    EVENT_GRAB = 4,    /* the user now holds a (element, local), or nothing if a = 0 */
    EVENT_REFUSED = 5, /* user's input `sequence` was refused: code */
    EVENT_RESET = 6,   /* the world was rebuilt from its scene, rewound (code EVENT_RESET_BACK) or
                        * loaded (EVENT_RESET_LOAD): entities follow as EVENT_SPAWN */
    EVENT_BREAK = 7,   /* a joint between a and b (0: the world) broke at position: impulse is
                          the force (N), speed the torque (N m) at that time */
    EVENT_ENTER = 8,   /* b now overlaps sensor a */
    EVENT_LEAVE = 9,   /* b no longer overlaps sensor a */
    EVENT_KIND_COUNT
} EventKind;

enum {
    EVENT_RESET_BACK = 1,
    EVENT_RESET_LOAD = 2
};

typedef struct Event {
    u32 kind;      /* EventKind */
    u32 user;      /* session user id, 0 none */
    u32 sequence;  /* of the input that caused it */
    i32 code;      /* Error of EVENT_REFUSED; 0 or EVENT_RESET_ of EVENT_RESET */
    u32 a, b;      /* entity ids */
    u32 element;   /* of a */
    Vec3 position; /* m, world (IMPACT) or in a's frame (GRAB) */
    f32 impulse;   /* N s */
    f32 speed;     /* m/s */
    Entity entity; /* EVENT_SPAWN; DESPAWN sets only id */
} Event;

enum {
    FRAME_SYSTEMS_MAX = 17 /* the world itself and its kinds of matter */
};

typedef struct Frame {
    u32 references; /* changed by __atomic builtins only */
    u32 event_count, event_capacity;
    u64 tick;       /* world tick, starts at 1 after the first tick; 0 is the scene as built */
    u64 world_hash; /* hash of the full-precision state after this tick; 0 if unknown (a client) */
    /* [system_count] low words of that hash after each system in order: the first that differs is
     * the system in which a difference begins. 0: unknown. */
    u32 systems[FRAME_SYSTEMS_MAX];
    u32 system_count;
    bool between;     /* of a recording: points and grids are not the world's, but interpolated */
    f64 world_time_s; /* tick / tick rate */
    FieldSet *fields; /* owned reference */
    Event *events;    /* [event_capacity], owned */
    u8 *data;         /* fields->frame_bytes, 16-byte aligned */
} Frame;

/* A zeroed frame with `event_count` events; references = 1. NULL: out of memory. */
Frame *frame_create(FieldSet *fields, u64 tick, u32 event_count);
/* Gives a frame that only the caller holds more events, of undefined content; it may move. NULL:
 * out of memory, and the frame is as it was. */
Frame *frame_add_events(Frame *frame, u32 count);
Frame *frame_acquire(Frame *frame);
void frame_release(Frame *frame); /* NULL is fine */
/* Of its tick and all fields' elements, so that two ends can verify that they have the same. Not 0.
 * `data` [fields->frame_bytes] as in a frame, with zeros between the fields. */
u64 frame_hash_data(const FieldSet *fields, u64 tick, const u8 *data);
u64 frame_hash(const Frame *frame);

/* Elements of field f: [capacity] of the kind's type. */
static inline void *frame_field(const Frame *frame, u32 field)
{
    return frame->data + frame->fields->offset[field];
}
static inline QPose *frame_poses(const Frame *frame, u32 field)
{
    return (QPose *)frame_field(frame, field);
}
static inline QPoint *frame_points(const Frame *frame, u32 field)
{
    return (QPoint *)frame_field(frame, field);
}

PL_END_C

#endif
