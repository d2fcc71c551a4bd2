/*
 * curve.h: the motion of a chunk's elements through the states around a tick, with velocities.
 *
 * Between two states positions follow a cubic Hermite whose tangents are the mean of the chords on
 * both sides (Catmull and Rom 1974, for uneven times). Where the acceleration exceeds
 * CURVE_FREE_M_S2 (a contact, an impact) the cubics on both sides have separate tangents along
 * their chords: the corner stays sharp, and a box that lands never sinks into the ground. Below
 * that a cubic overshoots by at most 0.074 · a · h² (1.2 mm at 15 m/s² and 30 states a second).
 * Orientations are interpolated likewise with the rotation vector from the first state, which is
 * slerp for constant angular velocity. Points of one body (`whole`) are interpolated with cubics
 * only between states that are close in time: an overshoot of each point would stretch the edges
 * between them; linear interpolation never does. Beyond the newest state positions are extrapolated
 * with its velocity and, where the last states agree on one, its acceleration; orientations with
 * their angular velocity.
 * Layer: client/link.
 */
#ifndef PLENUM_CLIENT_LINK_CURVE_H
#define PLENUM_CLIENT_LINK_CURVE_H

#include "client/link/shown_element.h"

#define CURVE_FREE_M_S2   15.0f
#define CURVE_FREE_RAD_S2 60.0f
#define CURVE_WHOLE_HZ    30.0f /* states at least this close use cubics without restriction */

typedef enum CurveMode {
    CURVE_NONE, /* no state of the chunk arrived yet */
    CURVE_HOLD, /* constant at `from` */
    CURVE_BETWEEN,
    CURVE_EXTRAPOLATED, /* beyond `to`, extrapolated with the motion from `from` */
} CurveMode;

/* A curve and the states that it passes through; pointers are borrowed from the receiver. A
 * missing state has tick 0 and NULL. */
typedef struct Curve {
    CurveMode mode;
    bool rest_before, rest_after; /* at rest on that side */
    u64 from_tick, to_tick, before_tick, after_tick, far_tick;
    const u8 *from, *to, *before, *after;
    u32 shift;     /* low position bits omitted by the coarsest of the states */
    const u8 *far; /* an earlier state, for accelerations */
    f64 departure; /* tick at which the elements leave `from`'s state, ≥ from_tick */
    f32 gap;       /* ticks from there to `to` */
    f32 gap_before, gap_after, gap_far;
    bool whole; /* its elements belong to one body: none may overshoot relative to its neighbours */
} Curve;

/* Properties of the stream around the states. */
typedef struct CurveStream {
    u64 newest; /* tick of the newest packet */
    /* A chunk whose newest state lies in [silent_from, silent_to) was not in later packets: it
     * is at rest. All packets before silent_sure have arrived, those before silent_to perhaps
     * not. */
    u64 silent_from, silent_to, silent_sure;
    f64 tick_rate;              /* ticks per world second */
    f64 rest_gap;               /* ticks: the chunk rested between states farther apart, ... */
    u64 outage_from, outage_to; /* ... unless no packet of these ticks arrived; 0, 0: no outage */
    f64 interval;               /* ticks between snapshots */
    f64 ahead_max;              /* maximal ticks of extrapolation */
    bool running;               /* not paused */
} CurveStream;

/* Whether elements of such a field move, so that curves interpolate and timelines blend them. */
bool curve_has_motion(u32 kind);
/* The curve at a tick through states sorted newest first. */
void curve_find(const ChunkState *states, u32 count, const CurveStream *stream, f64 tick,
                Curve *curve);
/* True if both pass through the same states in the same mode. */
bool curve_same(const Curve *a, const Curve *b);
/* Points an older curve's states into `states`; false if one is no longer there. */
bool curve_resolve(Curve *curve, const ChunkState *states, u32 count);

/* Metres and radians per tick. */
typedef struct CurveSpeed {
    Vec3 velocity, angular_velocity;
} CurveSpeed;

/* Pose of element i at a tick of the curve (mode not CURVE_NONE); speed may be NULL. */
ShownPose curve_pose(const Curve *curve, const CurveStream *stream, const FieldDesc *field, u32 i,
                     f64 tick, CurveSpeed *speed);
ShownPoint curve_point(const Curve *curve, const CurveStream *stream, const FieldDesc *field, u32 i,
                       f64 tick, CurveSpeed *speed);
/* Interpolation weight of the tick between `from` and `to`, [0, 1]: for values without velocity. */
f32 curve_share(const Curve *curve, f64 tick);

/* exp and log of rotations: radians along the axis. */
Quat quat_from_vector(Vec3 rotation);
Vec3 quat_to_vector(Quat q);

#endif
