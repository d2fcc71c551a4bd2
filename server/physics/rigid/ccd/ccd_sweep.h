/*
 * ccd_sweep.h: ways of things through one tick, and when the parts of two of them meet on the way.
 * Time runs from 0 to 1 within the tick.
 * Layer: server/physics/rigid/ccd, private to ccd*.c.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_CCD_CCD_SWEEP_H
#define PLENUM_SERVER_PHYSICS_RIGID_CCD_CCD_SWEEP_H

#include "server/physics/rigid/body.h"

/* The thinner shape: what is left when this share of the inner radius is taken off all around. */
#define THIN_SHARE 0.5f
/* Distance (m) at which bodies are stopped: within the margin of contacts. */
#define STOP_M     0.005f

/* A frame that moves evenly from a time of the tick on. */
typedef struct Mover {
    Vec3 centre; /* at `from` */
    Quat orientation;
    Vec3 shift, rotation; /* m, rad in a whole tick */
    f32 from;
} Mover;

/* A body at its place in a frame that moves. */
typedef struct Placed {
    u32 slot;
    Vec3 position; /* of its centre of mass, in the mover's frame */
    Quat orientation;
    Mover mover;
} Placed;

/* The way of a body in the tick that was solved. */
Mover mover_of(const Rigid *rigid, u32 slot);
/* A body on its own way. */
Placed placed_of(const Rigid *rigid, u32 slot);
/* Pose of the frame at time t. */
void mover_at(const Mover *mover, f32 t, Vec3 *centre, Quat *orientation);
/* Pose of the body's centre of mass at time t. */
void placed_at(const Placed *placed, f32 t, Vec3 *centre, Quat *orientation);
/* Bounds of the body's way from time t on, as far as its points are from its centre of mass. */
Bounds placed_bounds(const Placed *placed, f32 t, f32 reach);

/*
 * The first time from `begin` on at which one must not go on as it does, since it would enter the
 * other deeper than half of what the thinner of the two is thick; what merely rolls along a surface
 * or brushes an edge does not count. `strict`: what is near and would go in by a tenth of that
 * counts, too. INFINITY: none.
 */
f32 placed_meet(const Rigid *rigid, const Placed *a, const Placed *b, f32 begin, bool strict);
/* The first time after the start at which the two touch. INFINITY: none, or they do from the start.
 */
f32 placed_touch(const Rigid *rigid, const Placed *a, const Placed *b);
/* Is one in the other at the start, in between, at the end of the tick? Results are or-ed. */
typedef struct Passing {
    bool before, between, after;
} Passing;
void placed_pass(const Rigid *rigid, const Placed *a, const Placed *b, Passing *passing);

#endif
