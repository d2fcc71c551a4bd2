/*
 * ccd_flight.h: the ways of fast bodies through a tick, and where these end so that nothing is
 * passed.
 * Layer: server/physics/rigid/ccd, private to ccd*.c.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_CCD_CCD_FLIGHT_H
#define PLENUM_SERVER_PHYSICS_RIGID_CCD_CCD_FLIGHT_H

#include "server/physics/rigid/body.h"

/* Room for the first that fly; false: no memory. */
bool flight_init(Rigid *rigid);
/* Adds a body that is fast; false: no memory. */
bool flight_add(Rigid *rigid, u32 slot);
/* Adds two bodies of which one is pressed deep into the other, as slow as they may be. */
void flight_press(Rigid *rigid, u32 a, u32 b);
/* After all are added: where all of them, and what they meet, end. */
void flight_solve(Rigid *rigid);

typedef struct FlightEnd {
    u32 slot;
    bool fast;
    f32 held; /* since when in the tick (0..1) it goes with what has a given motion; 1: never */
    Vec3 position; /* of the centre of mass */
    Quat orientation;
} FlightEnd;

/* Flights are numbered from 1 on. */
u32 flight_count(const Rigid *rigid);
/* How one ends; false: as it was solved (position and orientation are not written). */
bool flight_end(Rigid *rigid, u32 index, FlightEnd *end);
/* Two free bodies that go on as one, and with nothing else: the number of the second, of the flight
 * that leads; else 0. */
u32 flight_partner(const Rigid *rigid, u32 index);
/* Forgets all. */
void flight_clear(Rigid *rigid);

#endif
