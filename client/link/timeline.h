/*
 * timeline.h: chunk states over time, and the state to show now: adaptive playout delay, clock,
 * cubic Hermite positions and slerp orientations between bracketing states, extrapolation of at
 * most 250 ms when starved, then hold. Layer: client/link.
 */
#ifndef PLENUM_CLIENT_LINK_TIMELINE_H
#define PLENUM_CLIENT_LINK_TIMELINE_H

#include "protocol/quantize.h"
#include "protocol/snapshot.h"

typedef struct ShownPose {
    Vec3 position; /* m */
    Quat orientation;
    u16 flags; /* POSE_* */
    u16 generation;
} ShownPose;

typedef struct ShownPoint {
    Vec3 position;
    f32 scalar;     /* [0, 1] of the code's range */
    u32 generation; /* 0: free */
} ShownPoint;

typedef struct Timeline Timeline;

Timeline *timeline_create(const SnapshotReceiver *receiver, u32 tick_rate, u32 snapshot_rate);
void timeline_destroy(Timeline *timeline);
/* A new stream epoch (seek, reset, another world of the same fields): forgets clock and shown tick;
 * the delay and its statistics stay. The caller has made the receiver forget. */
void timeline_reset(Timeline *timeline);
/* A state packet of `tick` arrived at now_ns (any order); speed as in its header. */
void timeline_arrival(Timeline *timeline, u64 tick, f64 speed, u64 now_ns);
/* Moves the shown tick to what it must be at now_ns; never backwards except after a seek. */
void timeline_advance(Timeline *timeline, u64 now_ns);
/* The interpolated tick now shown (what a pick refers to). */
f64 timeline_tick(const Timeline *timeline);
/* Playout delay (s), and the share of advances that had to extrapolate. */
f64 timeline_delay_s(const Timeline *timeline);
f64 timeline_starved(const Timeline *timeline);
f64 timeline_jitter_s(const Timeline *timeline);

/* Fills the state shown at the tick of the last advance: arrays of field capacity. */
void timeline_poses(const Timeline *timeline, u32 field, ShownPose *poses);
void timeline_points(const Timeline *timeline, u32 field, ShownPoint *points);
void timeline_scalars(const Timeline *timeline, u32 field, f32 *scalars);
/* One pose or point only (for picking by name, --report). False if nothing arrived yet. */
bool timeline_pose(const Timeline *timeline, u32 field, u32 element, ShownPose *pose);
bool timeline_point(const Timeline *timeline, u32 field, u32 element, ShownPoint *point);
/* Points [first, first + count) of a field, for those who need a row of a cloth at a time. */
void timeline_point_range(const Timeline *timeline, u32 field, u32 first, u32 count,
                          ShownPoint *points);

#endif
