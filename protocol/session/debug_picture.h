/*
 * debug_picture.h: the debug picture of a world: contacts, joints, bounds as lines, islands as
 * numbers. Computed only while some client subscribes, sent only to subscribers.
 * Layer: protocol/session.
 */
#ifndef PLENUM_PROTOCOL_SESSION_DEBUG_PICTURE_H
#define PLENUM_PROTOCOL_SESSION_DEBUG_PICTURE_H

#include "shared/math/vec.h"

enum { /* parts of the picture, as bits */
    DEBUG_CONTACTS = 1,
    DEBUG_JOINTS = 2,
    DEBUG_ISLANDS = 4,
    DEBUG_BOXES = 8,
    DEBUG_ALL = 15
};

enum {
    DEBUG_INTERVAL_MS = 100,
    /* Per message: 28 kB, ten times a second. Nearer lines first. */
    DEBUG_LINES_MAX = 1024,
    DEBUG_ISLANDS_MAX = 4096,
    /* Per world. */
    DEBUG_LINES_ALL_MAX = 16384
};

typedef enum DebugLineKind {
    DEBUG_LINE_CONTACT = 0, /* a contact point, and along its normal */
    DEBUG_LINE_AXIS_X = 1,  /* axes of a joint's frame */
    DEBUG_LINE_AXIS_Y = 2,
    DEBUG_LINE_AXIS_Z = 3,
    DEBUG_LINE_APART = 4, /* between the anchors of a joint */
    DEBUG_LINE_BOX = 5,   /* minimal and maximal corner of broad-phase bounds */
    DEBUG_LINE_KIND_COUNT
} DebugLineKind;

typedef struct DebugLine {
    Vec3 from, to; /* m */
    u32 kind;
} DebugLine;

/* Bodies with the same non-zero number are connected by contacts or joints. */
typedef struct DebugIsland {
    u32 entity, island;
} DebugIsland;

typedef struct DebugPicture {
    u64 tick;
    u32 mask;      /* parts contained */
    u32 lines_all; /* total number of lines; `line_count` are here */
    const DebugLine *lines;
    u32 line_count;
    const DebugIsland *islands;
    u32 island_count;
} DebugPicture;

#endif
