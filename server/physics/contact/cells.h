/*
 * cells.h: which particles are near a place: a uniform grid of cells, hashed into buckets, and the
 * particles sorted by bucket (counting sort, Ihmsen et al. 2011, "A parallel SPH implementation on
 * multi-core CPUs"). Made anew from positions whenever they have changed; every particle solver
 * shares it. The same for any number of threads; memory goes with the number of particles alone,
 * wherever they are.
 * Layer: server/physics/contact.
 */
#ifndef PLENUM_SERVER_PHYSICS_CONTACT_CELLS_H
#define PLENUM_SERVER_PHYSICS_CONTACT_CELLS_H

#include "shared/base/jobs.h"
#include "shared/math/vec.h"

typedef struct Cells {
    f32 size; /* m, of a cell */
    u32 count, capacity;
    u32 bits;     /* of the number of a bucket */
    u32 *order;   /* [count] particles, by bucket, those of a bucket in their order */
    u64 *keys;    /* [count] cell of order[i] */
    Vec3 *places; /* [count] m, of order[i] */
    u32 *starts;  /* [2^bits + 1] first of a bucket in order */
    u64 *own;     /* [count] scratch: cell of a particle, */
    u32 *bucket[2], *item[2], *histogram;
} Cells;

/* Room for `capacity` particles (< 2^24): no allocation until there are more. False: no memory;
 * nothing has changed. Zeroed cells are empty. */
bool cells_reserve(Cells *cells, u32 capacity);
void cells_finish(Cells *cells);

/* Sorts `count` (at most what was reserved) particles into cells of `size` (m, > 0); positions lie
 * `stride` bytes apart. What is not finite, or farther than 2^20 cells from the origin, is found
 * slowly (not finite: never). jobs may be NULL. */
void cells_build(Cells *cells, const Vec3 *positions, size_t stride, u32 count, f32 size,
                 Jobs *jobs);

/* Writes the particles within `radius` (m) of a point, by cell and then in their order, and returns
 * how many there are: the first `capacity` are written. Quick where radius is near the size of
 * cells; may be called from several threads. */
u32 cells_near(const Cells *cells, Vec3 point, f32 radius, u32 *near, u32 capacity);

#endif
