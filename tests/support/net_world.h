/*
 * net_world.h: a generated world for tests of the stream: rows of bodies that are kicked, and a
 * sheet of points in gusts of wind. The quantized frames of all ticks are generated once and shared
 * by all runs. Deterministic.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_NET_WORLD_H
#define PLENUM_TESTS_SUPPORT_NET_WORLD_H

#include "protocol/field/frame.h"

enum {
    NET_WORLD_HZ = 60,
    NET_FIELD_BODIES = 0, /* poses, 1/512 m */
    NET_FIELD_POINTS = 1, /* points, 1/1024 m */
};

typedef struct NetWorld {
    FieldSet *fields;
    Frame **frames; /* [count], of ticks 1 .. count; owned */
    u32 count;
    u32 bodies, points;
} NetWorld;

/* `bodies` boxes 0.8 m apart and a sheet of side × side points (side a multiple of 8, in tiles of
 * 8 × 8 so that a chunk is a patch), for `ticks` ticks at 60 Hz. Every half second all bodies
 * within 3 m of some place are kicked; the wind blows about half of the time. NULL: out of
 * memory. */
NetWorld *net_world_create(u32 bodies, u32 side, u32 ticks, u64 seed);
void net_world_destroy(NetWorld *world); /* NULL is fine */

#endif
