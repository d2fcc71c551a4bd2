/*
 * ccd_sweep.h: motions of bodies through one tick, and the times at which parts of two of them
 * meet. Time runs from 0 to 1 within the tick.
 * Layer: server/physics/rigid/ccd, private to ccd*.c.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_CCD_CCD_SWEEP_H
#define PLENUM_SERVER_PHYSICS_RIGID_CCD_CCD_SWEEP_H

#include "server/physics/rigid/rigid_internal.h"

/* The thinner shape: the shape reduced all around by this fraction of the inner radius. */
#define THIN_SHARE 0.5f
/* Distance (m) at which bodies are stopped: within the margin of contacts. */
#define STOP_M     0.005f

/* A frame in uniform motion from a given time of the tick. */
typedef struct Mover {
    Vec3 centre; /* at `from` */
    Quat orientation;
    Vec3 shift, rotation; /* m, rad per tick */
    f32 from;
} Mover;

/* A body with a fixed pose in a moving frame. */
typedef struct Placed {
    u32 slot;
    Vec3 position; /* of its centre of mass, in the mover's frame */
    Quat orientation;
    Mover mover;
} Placed;

/* The motion of a body in the solved tick. */
Mover mover_of(const Rigid *rigid, u32 slot);
/* A body with its own motion. */
Placed placed_of(const Rigid *rigid, u32 slot);
/* Pose of the frame at time t. */
void mover_at(const Mover *mover, f32 t, Vec3 *centre, Quat *orientation);
/* Pose of the body's centre of mass at time t. */
void placed_at(const Placed *placed, f32 t, Vec3 *centre, Quat *orientation);
/* Bounds of the body's motion from time t on, with `reach` the distance of its points from its
 * centre of mass. */
Bounds placed_bounds(const Placed *placed, f32 t, f32 reach);

/* The first time after `begin` at which the motion must be stopped because one body would
 * penetrate the other deeper than half of the thinner one's thickness; rolling along a surface
 * or grazing an edge does not count. `strict`: near bodies that would penetrate by a tenth of
 * that count, too. INFINITY: none. */
f32 placed_meet(const Rigid *rigid, const Placed *a, const Placed *b, f32 begin, bool strict);
/* The first time after the start at which the two touch. INFINITY: none, or they touch from the
 * start. */
f32 placed_touch(const Rigid *rigid, const Placed *a, const Placed *b);
/* Whether the two overlap at the start, in between, at the end of the tick. Results are or-ed. */
typedef struct Passing {
    bool before, between, after;
} Passing;
void placed_pass(const Rigid *rigid, const Placed *a, const Placed *b, Passing *passing);

#endif
