/*
 * debug.h: debug lines of a rigid world. Computed only on request, from public state and pure
 * functions; changes nothing.
 * Layer: server/physics/rigid.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_DEBUG_H
#define PLENUM_SERVER_PHYSICS_RIGID_DEBUG_H

#include "server/physics/rigid/rigid.h"

enum { /* parts to show */
    RIGID_SHOW_CONTACTS = 1,
    RIGID_SHOW_JOINTS = 2,
    RIGID_SHOW_BOXES = 4
};

typedef enum RigidLineKind {
    RIGID_LINE_CONTACT = 0, /* from a contact point along its normal, towards the body with the
                               higher slot */
    RIGID_LINE_AXIS_X = 1,  /* axes of a joint's frame on its first body */
    RIGID_LINE_AXIS_Y = 2,
    RIGID_LINE_AXIS_Z = 3,
    RIGID_LINE_APART = 4, /* between the anchors of a joint */
    RIGID_LINE_BOX = 5,   /* minimal and maximal corner of broad-phase bounds */
    RIGID_LINE_KIND_COUNT
} RigidLineKind;

typedef struct RigidLine {
    Vec3 from, to; /* m */
    u32 kind;      /* RigidLineKind */
} RigidLine;

/* Writes up to `capacity` lines and returns the total number (at least that many if contacts
 * alone fill it): contacts in the order of pairs, joints and boxes in the order of slots. */
u32 rigid_lines(const Rigid *rigid, u32 show, RigidLine *lines, u32 capacity);
/* Writes for each of rigid_slots() bodies the lowest slot of its island: bodies connected by
 * contacts or joints have the same. Non-dynamic bodies are separate. */
void rigid_islands(const Rigid *rigid, u32 *islands);

#endif
