/*
 * debug.h: what a rigid world does, as lines to look at. Worked out only when somebody asks, from
 * public state and pure functions; changes nothing.
 * Layer: server/physics/rigid.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_DEBUG_H
#define PLENUM_SERVER_PHYSICS_RIGID_DEBUG_H

#include "server/physics/rigid/rigid.h"

enum { /* what to show */
    RIGID_SHOW_CONTACTS = 1,
    RIGID_SHOW_JOINTS = 2,
    RIGID_SHOW_BOXES = 4
};

typedef enum RigidLineKind {
    RIGID_LINE_CONTACT = 0, /* from a point of contact along its normal, towards the upper slot */
    RIGID_LINE_AXIS_X = 1,  /* axes of a joint's frame on its first body */
    RIGID_LINE_AXIS_Y = 2,
    RIGID_LINE_AXIS_Z = 3,
    RIGID_LINE_APART = 4, /* between the anchors of a joint */
    RIGID_LINE_BOX = 5,   /* corners of bounds in the broad phase: the least and the greatest */
    RIGID_LINE_KIND_COUNT
} RigidLineKind;

typedef struct RigidLine {
    Vec3 from, to; /* m */
    u32 kind;      /* RigidLineKind */
} RigidLine;

/* Writes up to `capacity` lines and returns how many there would be (at least so many where
 * contacts alone fill it): contacts in the order of pairs, joints and boxes in the order of slots.
 */
u32 rigid_lines(const Rigid *rigid, u32 show, RigidLine *lines, u32 capacity);
/* Writes for each of rigid_slots() bodies the lowest slot of its island: bodies that touch or are
 * joined, through any number of others, have the same. A body that is not dynamic is alone. */
void rigid_islands(const Rigid *rigid, u32 *islands);

#endif
