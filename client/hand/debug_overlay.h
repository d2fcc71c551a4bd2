/*
 * debug_overlay.h: what a picture shows besides the things themselves: rods and springs between
 * bodies and sensors, always; and, where the user asks, how the world is simulated: contacts,
 * joints, islands, bounds of the broad phase, who sleeps.
 * Layer: client/hand.
 */
#ifndef PLENUM_CLIENT_HAND_DEBUG_OVERLAY_H
#define PLENUM_CLIENT_HAND_DEBUG_OVERLAY_H

#include "client/link/connection.h"
#include "client/view/view.h"

enum { /* beside the DEBUG_ bits, which the server answers: known here already */
    OVERLAY_SLEEP = DEBUG_ALL + 1,
    OVERLAY_ALL = DEBUG_ALL + OVERLAY_SLEEP
};

typedef struct DebugOverlay {
    Connection *connection; /* borrowed */
    u32 show;               /* DEBUG_ bits and OVERLAY_SLEEP */
    Mark *marks;            /* [mark_count] of this frame, owned */
    u32 mark_count, mark_capacity;
    u32 *tints; /* [tint_count] by index of the entity, owned; see Picture */
    u32 tint_count, tint_capacity;
    u32 (*ends)[2]; /* [end_count] ids of the entities that a joint of the scene joins; owned */
    f32 *whole;     /* [end_count] 1 where it holds, 0 where it broke; owned */
    u32 end_count;
    u64 ends_version;
    u32 ends_world;
} DebugOverlay;

void debug_overlay_init(DebugOverlay *overlay, Connection *connection);
void debug_overlay_finish(DebugOverlay *overlay);
/* Asks for what the bits say, and for nothing else. */
void debug_overlay_show(DebugOverlay *overlay, u32 show);
/* The bits of "contacts,joints,islands,boxes,sleep" (any of them, or "all"); false: another word.
 */
bool debug_overlay_parse(const char *words, u32 *show);
/* "contacts", ... of one bit. */
const char *debug_overlay_name(u32 bit);
/* Marks and tints of this frame; `marks` of others come along. Without memory there are none. */
void debug_overlay_collect(DebugOverlay *overlay, const Mark *marks, u32 mark_count);

#endif
