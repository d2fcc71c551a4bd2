/*
 * debug_picture.h: how a world is simulated, to look at: contacts, joints, bounds as lines, islands
 * as numbers. Made only while some client asks for it, sent only to those that ask.
 * Layer: protocol/session.
 */
#ifndef PLENUM_PROTOCOL_SESSION_DEBUG_PICTURE_H
#define PLENUM_PROTOCOL_SESSION_DEBUG_PICTURE_H

#include "shared/math/vec.h"

enum { /* what a client may ask for, as bits */
    DEBUG_CONTACTS = 1,
    DEBUG_JOINTS = 2,
    DEBUG_ISLANDS = 4,
    DEBUG_BOXES = 8,
    DEBUG_ALL = 15
};

enum {
    DEBUG_INTERVAL_MS = 100,
    /* Of one message: 28 kB, ten times a second. Nearer lines go first. */
    DEBUG_LINES_MAX = 1024,
    DEBUG_ISLANDS_MAX = 4096,
    /* Of one world. */
    DEBUG_LINES_ALL_MAX = 16384
};

typedef enum DebugLineKind {
    DEBUG_LINE_CONTACT = 0, /* a point of contact, and along its normal */
    DEBUG_LINE_AXIS_X = 1,  /* axes of a joint's frame */
    DEBUG_LINE_AXIS_Y = 2,
    DEBUG_LINE_AXIS_Z = 3,
    DEBUG_LINE_APART = 4, /* between the anchors of a joint */
    DEBUG_LINE_BOX = 5,   /* least and greatest corner of bounds in the broad phase */
    DEBUG_LINE_KIND_COUNT
} DebugLineKind;

typedef struct DebugLine {
    Vec3 from, to; /* m */
    u32 kind;
} DebugLine;

/* Bodies with the same number, which is not 0, touch or are joined through others. */
typedef struct DebugIsland {
    u32 entity, island;
} DebugIsland;

typedef struct DebugPicture {
    u64 tick;
    u32 mask;      /* what is in it */
    u32 lines_all; /* how many lines there are, of which `line_count` are here */
    const DebugLine *lines;
    u32 line_count;
    const DebugIsland *islands;
    u32 island_count;
} DebugPicture;

#endif
