/*
 * curve.h: the motion of a chunk's elements through the states around a tick, with velocities.
 *
 * Between two states positions follow a cubic Hermite whose tangents are the mean of the chords on
 * both sides (Catmull and Rom 1974, for uneven times). Where the speed changes by more than
 * CURVE_FREE_M_S2 (a contact, a hit) the cubics on both sides have tangents of their own, along
 * their chords: the turn is as sharp as it was, and a box that lands never sinks into the ground.
 * Below that a cubic overshoots by at most 0.074 · a · h² (1.2 mm at 15 m/s² and 30 states a
 * second). Orientations do the same with the rotation vector from the first state on, which is
 * slerp where the angular velocity is even.
 * Points that hang together (`whole`) bend so only between states that are near to each other: an
 * overshoot of each would stretch what lies between them, straight ways never do.
 * Beyond the newest state positions go on with its velocity and, where the last states agree on
 * one, its acceleration; orientations with their angular velocity.
 * Layer: client/link.
 */
#ifndef PLENUM_CLIENT_LINK_CURVE_H
#define PLENUM_CLIENT_LINK_CURVE_H

#include "client/link/shown_element.h"

#define CURVE_FREE_M_S2   15.0f
#define CURVE_FREE_RAD_S2 60.0f
#define CURVE_WHOLE_HZ    30.0f /* states as near to each other as this bend as freely as all do */

typedef enum CurveMode {
    CURVE_NONE, /* nothing of the chunk arrived yet */
    CURVE_HOLD, /* `from` for ever */
    CURVE_BETWEEN,
    CURVE_EXTRAPOLATED, /* beyond `to`, with the motion from `from` */
} CurveMode;

/* A curve and the states that it goes through; pointers are borrowed from the receiver. A missing
 * state has tick 0 and NULL. */
typedef struct Curve {
    CurveMode mode;
    bool rest_before, rest_after; /* it stands still on that side */
    u64 from_tick, to_tick, before_tick, after_tick, far_tick;
    const u8 *from, *to, *before, *after;
    u32 shift;     /* low bits of positions that the coarsest of them leaves out */
    const u8 *far; /* some states before `from`: for accelerations */
    f64 departure; /* tick at which the elements leave `from`'s state, ≥ from_tick */
    f32 gap;       /* ticks from there to `to` */
    f32 gap_before, gap_after, gap_far;
    bool whole; /* its elements hang together: none may swing out of the way of its neighbours */
} Curve;

/* What is known of the stream around the states. */
typedef struct CurveStream {
    u64 newest; /* tick of the newest packet */
    /* A chunk whose newest state lies in [silent_from, silent_to) was not in the packets since: it
     * rests. Before silent_sure all packets have come, before silent_to perhaps not yet all. */
    u64 silent_from, silent_to, silent_sure;
    f64 tick_rate; /* ticks a world second */
    f64 rest_gap;  /* ticks: states farther apart of which nothing is known: it rested, ... */
    u64 outage_from, outage_to; /* ... unless no packet of these ticks came; 0, 0: always some */
    f64 interval;               /* ticks between snapshots */
    f64 ahead_max;              /* ticks that anything is extrapolated */
    bool running;               /* not paused */
} CurveStream;

/* Have the elements of such a field a motion, which curves bend and timelines blend? */
bool curve_has_motion(u32 kind);
/* The curve at a tick through the newest first states. */
void curve_find(const ChunkState *states, u32 count, const CurveStream *stream, f64 tick,
                Curve *curve);
/* True if both go through the same states in the same way. */
bool curve_same(const Curve *a, const Curve *b);
/* Points an older curve's states into `states`; false if one is no longer there. */
bool curve_resolve(Curve *curve, const ChunkState *states, u32 count);

/* Metres and radians a tick. */
typedef struct CurveSpeed {
    Vec3 velocity, angular_velocity;
} CurveSpeed;

/* Element i at a tick of the curve (mode not CURVE_NONE); speed may be NULL. */
ShownPose curve_pose(const Curve *curve, const CurveStream *stream, const FieldDesc *field, u32 i,
                     f64 tick, CurveSpeed *speed);
ShownPoint curve_point(const Curve *curve, const CurveStream *stream, const FieldDesc *field, u32 i,
                       f64 tick, CurveSpeed *speed);
/* Where the tick lies between `from` and `to`, [0, 1]: for what has no velocity. */
f32 curve_share(const Curve *curve, f64 tick);

/* exp and log of rotations: radians along the axis. */
Quat quat_from_vector(Vec3 rotation);
Vec3 quat_to_vector(Quat q);

#endif
