/*
 * shown_element.h: elements of fields as shown: produced by curves, adjusted by timelines.
 * Layer: client/link.
 */
#ifndef PLENUM_CLIENT_LINK_SHOWN_ELEMENT_H
#define PLENUM_CLIENT_LINK_SHOWN_ELEMENT_H

#include "protocol/field/quantize.h"
#include "protocol/stream/snapshot.h"
#include "shared/geometry/grid.h"

typedef struct ShownPose {
    Vec3 position; /* m */
    Quat orientation;
    u16 flags; /* POSE_* */
    u16 generation;
} ShownPose;

typedef struct ShownPoint {
    Vec3 position;
    f32 scalar;     /* [0, 1] of the code's range */
    u32 generation; /* 0: free */
    Vec3 velocity;  /* m per world second, of the shown motion */
} ShownPoint;

/* A GRID2 or GRID3 field. */
typedef struct ShownGrid {
    Grid grid;     /* of channel 0, in the field's unit: m above the origin for heights */
    u32 channels;  /* channel 1: grid.values + capacity, [0, 1] */
    f32 low, high; /* what channel 0 can hold */
} ShownGrid;

/* Points of one body: its chunks are shown at one tick (body_clock.h), not extrapolated, and not
 * shown before all of it is known. */
typedef struct TimelineBody {
    u32 field, first, count; /* of a POINTS field; count ≥ 1, within the capacity */
} TimelineBody;

#endif
