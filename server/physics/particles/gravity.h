/*
 * gravity.h: accelerations of particles that attract each other: by direct summation for few, by
 * the tree code of Barnes and Hut (1986) with quadrupole moments for many. Groups of neighbours
 * share one traversal of the tree (Barnes 1990), eight particles at a time. A cell of the radius b
 * about its centre of mass acts as one where b < opening × distance (Salmon, Warren 1994). The sum
 * of all forces is made exactly zero, so total momentum is conserved.
 * Layer: server/physics/particles.
 */
#ifndef PLENUM_SERVER_PHYSICS_PARTICLES_GRAVITY_H
#define PLENUM_SERVER_PHYSICS_PARTICLES_GRAVITY_H

#include "shared/base/jobs.h"
#include "shared/math/vec.h"

enum {
    GRAVITY_DIRECT_MAX = 1000 /* up to so many particles are summed directly */
};

typedef struct GravityOptions {
    f32 constant;  /* m³/(kg s²) */
    f32 softening; /* m, Plummer */
    f32 opening;   /* 0: always direct */
} GravityOptions;

/* A node in depth-first order. */
typedef struct GravityNode {
    Vec3 centre;       /* m, of mass */
    f32 mass;          /* kg */
    f32 reach;         /* m, radius about the centre */
    f32 quadrupole[6]; /* kg m², traceless: xx yy zz xy xz yz */
    u32 first, count;  /* particles, sorted */
    u32 skip;          /* next node if this one is not opened */
    bool leaf;
} GravityNode;

/* Scratch memory. Zeroed it is valid. */
typedef struct Gravity {
    f32 *x, *y, *z, *mass; /* [capacity + 8] sorted particles */
    u64 *keys[2];
    u32 *order[2], *histogram;
    Vec3 *pulls; /* [capacity] sorted */
    GravityNode *nodes;
    u32 node_count, node_capacity;
    u32 *groups; /* nodes */
    u32 group_count;
    u32 count, capacity;
} Gravity;

/* Writes the acceleration (m/s²) of each of `count` particles. False: out of memory, and all are
 * zero. Massless particles are attracted, too. jobs may be NULL. */
bool gravity_accelerate(Gravity *gravity, const Vec3 *positions, const f32 *masses, u32 count,
                        const GravityOptions *options, Vec3 *out, Jobs *jobs);
void gravity_finish(Gravity *gravity);
u64 gravity_bytes(const Gravity *gravity);

#endif
