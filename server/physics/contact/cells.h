/*
 * cells.h: neighbour search: a uniform grid of cells, hashed into buckets, and the particles sorted
 * by bucket (counting sort, Ihmsen et al. 2011, "A parallel SPH implementation on multi-core
 * CPUs"). Rebuilt from positions whenever they have changed; shared by all particle solvers.
 * Independent of the number of threads; memory depends only on the number of particles, not on
 * their positions.
 * Layer: server/physics/contact.
 */
#ifndef PLENUM_SERVER_PHYSICS_CONTACT_CELLS_H
#define PLENUM_SERVER_PHYSICS_CONTACT_CELLS_H

#include "shared/base/jobs.h"
#include "shared/math/vec.h"

typedef struct Cells {
    f32 size; /* m, of a cell */
    u32 count, capacity;
    u32 bits;     /* of a bucket number */
    u32 *order;   /* [count] particles, by bucket, stable within a bucket */
    u64 *keys;    /* [count] cell of order[i] */
    Vec3 *places; /* [count] m, of order[i] */
    u32 *starts;  /* [2^bits + 1] first index of a bucket in order */
    u64 *own;     /* [count] scratch: cell of a particle, */
    u32 *bucket[2], *item[2], *histogram;
} Cells;

/* Reserves memory for `capacity` particles (< 2^24): no allocation up to that number. False: out of
 * memory, nothing changed. A zeroed struct is empty. */
bool cells_reserve(Cells *cells, u32 capacity);
void cells_finish(Cells *cells);

/* Sorts `count` (at most the reserved number) particles into cells of `size` (m, > 0); positions
 * lie `stride` bytes apart. Positions beyond 2^20 cells from the origin are found slowly,
 * non-finite ones never. jobs may be NULL. */
void cells_build(Cells *cells, const Vec3 *positions, size_t stride, u32 count, f32 size,
                 Jobs *jobs);

/* Writes the particles within `radius` (m) of a point, by cell and then in their order, up to
 * `capacity`, and returns their total number. Fast if radius is near the cell size; thread-safe. */
u32 cells_near(const Cells *cells, Vec3 point, f32 radius, u32 *near, u32 capacity);
/* The same for a box: the particles in it or within `radius` of it. */
u32 cells_around(const Cells *cells, Vec3 low, Vec3 high, f32 radius, u32 *near, u32 capacity);

#endif
