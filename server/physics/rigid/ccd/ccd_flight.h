/*
 * ccd_flight.h: the motions of fast bodies through a tick, and where they end so that nothing
 * tunnels.
 * Layer: server/physics/rigid/ccd, private to ccd*.c.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_CCD_CCD_FLIGHT_H
#define PLENUM_SERVER_PHYSICS_RIGID_CCD_CCD_FLIGHT_H

#include "server/physics/rigid/rigid_internal.h"

/* Allocates for the first flights; false: out of memory. */
bool flight_init(Rigid *rigid);
/* Adds a fast body; false: out of memory. */
bool flight_add(Rigid *rigid, u32 slot);
/* Adds two bodies of which one is pressed deep into the other, however slow. */
void flight_press(Rigid *rigid, u32 a, u32 b);
/* Call after all are added: computes where they, and the bodies they meet, end. */
void flight_solve(Rigid *rigid);

typedef struct FlightEnd {
    u32 slot;
    bool fast;
    f32 held; /* time in the tick (0..1) from which it moves with a prescribed motion; 1: never */
    Vec3 position; /* of the centre of mass */
    Quat orientation;
} FlightEnd;

/* Flights are numbered from 1 on. */
u32 flight_count(const Rigid *rigid);
/* The end of a flight; false: as solved (position and orientation are not written). */
bool flight_end(const Rigid *rigid, u32 index, FlightEnd *end);
/* For two free bodies that move on as one, and with nothing else, in the leading flight: the
 * number of the second; else 0. */
u32 flight_partner(const Rigid *rigid, u32 index);
/* For three or more free bodies that move on as one, and with nothing else, in the leading flight:
 * their number; else 0. */
u32 flight_group(const Rigid *rigid, u32 index);
/* The next flight of a group that begins with the leading one; 0 after the last. */
u32 flight_next(const Rigid *rigid, u32 index);
/* Clears all flights. */
void flight_clear(Rigid *rigid);

#endif
