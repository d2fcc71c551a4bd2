/*
 * debug_overlay.h: additions to the picture: rods, springs and sensors, always; and, on request,
 * the debug view of the simulation: contacts, joints, islands, broad-phase bounds, sleep.
 * Layer: client/hand.
 */
#ifndef PLENUM_CLIENT_HAND_DEBUG_OVERLAY_H
#define PLENUM_CLIENT_HAND_DEBUG_OVERLAY_H

#include "client/hand/rods.h"
#include "client/link/connection.h"
#include "client/view/view.h"

enum { /* in addition to the DEBUG_ bits of the server: known locally */
    OVERLAY_SLEEP = DEBUG_ALL + 1,
    OVERLAY_ALL = DEBUG_ALL + OVERLAY_SLEEP,
    OVERLAY_POINTS = 2 * OVERLAY_SLEEP, /* liquids as points; not a part of all */
};

typedef struct DebugOverlay {
    Connection *connection; /* borrowed */
    u32 show;               /* DEBUG_ and OVERLAY_ bits */
    MarkList marks;         /* of this frame */
    Rods rods;
    u32 *tints; /* [tint_count] by index of the entity, owned; see Picture */
    u32 tint_count, tint_capacity;
} DebugOverlay;

/* Subscribes to nothing yet; the connection is borrowed. */
void debug_overlay_init(DebugOverlay *overlay, Connection *connection);
void debug_overlay_finish(DebugOverlay *overlay);
/* Subscribes to exactly these bits. */
void debug_overlay_show(DebugOverlay *overlay, u32 show);
/* The bits of "contacts,joints,islands,boxes,sleep,points" (any of them, or "all" except points);
 * false: unknown word. */
bool debug_overlay_parse(const char *words, u32 *show);
/* "contacts", ... of one bit. */
const char *debug_overlay_name(u32 bit);
/* Collects marks and tints of this frame; includes the given `marks`. If out of memory there are
 * none. */
void debug_overlay_collect(DebugOverlay *overlay, const Mark *marks, u32 mark_count);

#endif
