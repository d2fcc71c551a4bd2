/*
 * input.h: user actions on the world, as one small struct, coded to bits; and the input packet that
 * carries all unacknowledged inputs with the client's acks, clock, camera and cursor.
 * Layer: protocol/session.
 */
#ifndef PLENUM_PROTOCOL_SESSION_INPUT_H
#define PLENUM_PROTOCOL_SESSION_INPUT_H

#include "protocol/codec/bits.h"
#include "protocol/stream/snapshot.h"
#include "shared/geometry/shape.h"

PL_BEGIN_C

typedef enum InputKind {
    INPUT_NONE = 0,
    INPUT_GRAB = 1, /* entity, element, local, seen_tick, ray: grabs that point with a damped
                       spring */
    INPUT_MOVE = 2, /* target: world point to which the grabbed point is dragged */
    INPUT_RELEASE = 3,
    INPUT_PUSH = 4,   /* entity, element, local, vector (impulse N s), seen_tick */
    INPUT_SPAWN = 5,  /* index (prefab), target (position), rotation, vector (velocity) */
    INPUT_REMOVE = 6, /* entity */
    INPUT_SET = 7,    /* index (parameter), values[4] */
    INPUT_RESET = 8,  /* rebuild the world from its scene */
    INPUT_DYE = 9,    /* index (0xRRGGBB, square roots of linear light): colour of what the user's
                         hand adds to dyed smoke that it holds */
    INPUT_KIND_COUNT
} InputKind;

typedef struct Input {
    u32 kind;      /* InputKind */
    u32 user;      /* stamped by the server; 0 on the wire from a client */
    u32 sequence;  /* per client, from 1 */
    u32 index;     /* prefab, parameter or colour */
    u32 entity;    /* id */
    u32 element;   /* of the entity */
    f32 seen_tick; /* interpolated tick on screen, low part; only differences below 2^20 matter */
    u32 seen_base; /* seen tick = seen_base + seen_tick */
    Vec3 local;    /* m, in the body's frame (points: ignored) */
    Vec3 target;   /* m, world */
    Vec3 vector;   /* impulse N s, or velocity m/s */
    Quat rotation;
    Ray ray; /* of the pick */
    f32 values[4];
} Input;

/* Maximal component of a push's impulse on the wire; scenes and roles set lower limits. */
#define INPUT_IMPULSE_MAX_N_S 1e6f

/* Checks that the kind is known and that the members it uses are finite and inside the world's
 * limits, rotation and ray normalized within 1e-3. Returns 0 or a negative Error. */
int input_check(const Input *input);
/* Codes user, sequence and the members used by the kind. */
void input_encode(BitWriter *writer, const Input *input);
/* 0 or a negative Error; the result satisfies input_check. */
int input_decode(BitReader *reader, Input *input);

typedef struct InputPacket {
    u16 send_ms; /* client clock, wraps */
    u16 echo_ms; /* newest server send_ms plus the time since it arrived */
    SnapshotAck ack;
    SnapshotView view; /* pixels_per_radian 0: no camera, all zero */
    Ray cursor;        /* ray under the mouse; all zero if the cursor is not visible */
    u8 cursor_visible;
    u8 event_ack;                     /* reserved, 0 */
    u16 count;                        /* ≤ INPUTS_UNACKED_MAX */
    Input inputs[INPUTS_UNACKED_MAX]; /* ascending sequence */
} InputPacket;

/* Returns the bytes written (≤ STATE_PAYLOAD_BYTES_MAX); inputs that do not fit wait for the
 * next packet. */
u32 input_packet_encode(const InputPacket *packet, u8 out[STATE_PAYLOAD_BYTES_MAX]);
/* 0 or a negative Error, then `count` is 0. Inputs satisfy input_check, their sequences ascend. */
int input_packet_decode(InputPacket *packet, const u8 *data, u32 bytes);

PL_END_C

#endif
