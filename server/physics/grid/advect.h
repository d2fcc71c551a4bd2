/*
 * advect.h: transport on a staggered grid of air. Component a of the velocity lives on the low face
 * of its cells along axis a (face n of the high side in the first ghost), in cells per step.
 * Semi-Lagrangian steps trace characteristics back and interpolate linearly (Stam 1999); MacCormack
 * steps add half of the error that tracing forth again shows, if the result stays within the values
 * around the origin (Selle, Fedkiw, Kim, Liu & Rossignac 2008: elsewhere they fall back to the
 * semi-Lagrangian result; clamped to those values instead, eddies in a closed box gain energy).
 * Flux steps conserve what they carry: one axis after the other, of second order with van Leer's
 * limiter.
 * Layer: server/physics/grid, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_GRID_ADVECT_H
#define PLENUM_SERVER_PHYSICS_GRID_ADVECT_H

#include "server/physics/grid/air_grid.h"

enum {
    ADVECT_CELLS = 3,  /* a place: 0..2 faces of an axis, 3 cells */
    ADVECT_FIELDS = 3, /* carried at once, at most */
};

typedef struct Advect {
    const AirGrid *grid;
    const f32 *velocity[3];         /* m/s */
    f32 scale;                      /* cells per m/s: dt / spacing */
    u32 place;                      /* of what is carried */
    bool limited;                   /* MacCormack: only within the values around the origin */
    bool midpoint;                  /* traces through the velocity at the midpoint (Runge-Kutta
                                     * 2) */
    u32 count;                      /* of the carried fields, all at that place */
    const u8 *full;                 /* bricks that anything may reach (air_span_marked), or NULL */
    const f32 *from[ADVECT_FIELDS]; /* with their ghosts */
    f32 *to[ADVECT_FIELDS];
    /* Of a MacCormack step that is limited: the values around the origins, kept by the first half
     * for the second. NULL: not wanted. */
    f32 *least[ADVECT_FIELDS], *most[ADVECT_FIELDS];
    /* The same for displacements along axes other than that of a face. */
    f32 *traced[3];
    /* For the second half of a MacCormack step: the semi-Lagrangian results, with their ghosts. */
    const f32 *ahead[ADVECT_FIELDS];
} Advect;

/* to = from, traced back; faces of closed sides are left to the caller. */
void advect_back(const Advect *advect, Jobs *jobs);
/* to = ahead corrected. */
void advect_correct(const Advect *advect, Jobs *jobs);

/* advect_flux.c */
typedef struct Flux {
    const AirGrid *grid;
    const f32 *velocity[3];
    f32 scale;       /* as above; faces are limited to one cell per step */
    f32 least, most; /* amounts; in extreme flows they are cut off there */
    u32 axis;
    f32 *cells;     /* carried; ghosts hold the inflow, two along the axis */
    f32 *fluxes;    /* scratch */
    const u8 *full; /* as above */
} Flux;
/* One step along one axis; axes in the order 0, 1, 2. */
void advect_flux(const Flux *flux, Jobs *jobs);

#endif
