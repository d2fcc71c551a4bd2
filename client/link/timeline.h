/*
 * timeline.h: chunk states over time, and the state to show now: the tick from playout.h, the
 * curves between states from curve.h.
 *
 * New information never causes a jump: where the curve through the newest states differs from the
 * one that was shown (a late state, a wrong extrapolation, the end of an outage), the difference in
 * position and velocity becomes an offset that a critically damped spring takes to zero
 * (TIMELINE_BLEND). An offset o with speed v adds at most TIMELINE_BLEND² · o + 2 · TIMELINE_BLEND
 * · v of acceleration. Resting elements have no offset and are shown bit for bit. A new generation
 * in a slot is a new object and is not blended. The points of a soft body are shown at one tick and
 * never extrapolated (timeline_bodies), as are jointed bodies (couplings.h).
 * Layer: client/link.
 */
#ifndef PLENUM_CLIENT_LINK_TIMELINE_H
#define PLENUM_CLIENT_LINK_TIMELINE_H

#include "client/link/shown_element.h"

#define TIMELINE_BLEND 12.0f /* 1/s */

typedef struct Timeline Timeline;
struct StaticColliders; /* static_colliders.h */
struct Couplings;       /* couplings.h */

/* For one stream epoch: a seek, a reset or another world gets a new one. `receiver` is borrowed.
 * NULL: out of memory. */
Timeline *timeline_create(const SnapshotReceiver *receiver, u32 tick_rate, u32 snapshot_rate);
void timeline_destroy(Timeline *timeline);
/* The complete shown state, for a successor: after a seek or a reset elements without a new
 * state (the ground, values) are shown as before. NULL: out of memory. */
typedef struct TimelineShown TimelineShown;
TimelineShown *timeline_shown(const Timeline *timeline); /* shown.c */
void timeline_shown_free(TimelineShown *shown);
/* Takes ownership; the fields must be the same. NULL: nothing to inherit. */
void timeline_inherit(Timeline *timeline, TimelineShown *shown);
/* Sets the static shapes that extrapolated elements must not enter; borrowed, NULL: none. */
void timeline_set_static(Timeline *timeline, const struct StaticColliders *colliders);
/* Sets the couplings; borrowed, and advanced with the timeline. NULL: none. */
void timeline_couple(Timeline *timeline, struct Couplings *couplings);
/* Sets the complete list of bodies, sorted by field and first point, without overlaps. False: out
 * of memory, the former list is unchanged. */
bool timeline_bodies(Timeline *timeline, const TimelineBody *bodies, u32 count);
/* Reports that a state packet with this header arrived at now_ns (any order) and was passed to the
 * receiver. */
void timeline_arrival(Timeline *timeline, const SnapshotHeader *header, u64 now_ns);
/* Advances the shown tick to now_ns; never backwards. Call after passing all received packets to
 * the receiver and before any query. */
void timeline_advance(Timeline *timeline, u64 now_ns);
/* The interpolated tick now shown. */
f64 timeline_tick(const Timeline *timeline);
/* The tick of an element (to which a pick refers); elements of bodies may be shown at an earlier
 * one. */
f64 timeline_tick_of(const Timeline *timeline, u32 field, u32 element);
/* Lag of the shown tick behind the newest that could be known without jitter (s), and the
 * fraction of advances that extrapolated. */
f64 timeline_delay_s(const Timeline *timeline);
f64 timeline_starved(const Timeline *timeline);
/* True while the picture is frozen because no packet arrived for longer than the extrapolation
 * limit. */
bool timeline_holding(const Timeline *timeline);
f64 timeline_jitter_s(const Timeline *timeline);

/* Writes the state shown at the tick of the last advance: arrays of field capacity. */
void timeline_poses(const Timeline *timeline, u32 field, ShownPose *poses);
void timeline_points(const Timeline *timeline, u32 field, ShownPoint *points);
/* Leaves unknown values unchanged. False if some are not of this stream yet. */
bool timeline_scalars(const Timeline *timeline, u32 field, f32 *scalars);
/* A channel of a GRID2 or GRID3 field, values[capacity] with x fastest, linear in time; beyond
 * the newest state that state. Channel 0 in the field's unit (value_min + code · quantum),
 * others as [0, 1] of the code's range. Unknown values are those of the previous stream, or
 * value_min (channel 0) or 0 if there was none, and false is returned. */
bool timeline_grid(const Timeline *timeline, u32 field, u32 channel, f32 *values);
/* One cell or voxel. False if no state arrived yet. */
bool timeline_cell(const Timeline *timeline, u32 field, u32 channel, u32 element, f32 *value);
/* One pose or point only (for picking by name, --report). False if no state arrived yet. */
bool timeline_pose(const Timeline *timeline, u32 field, u32 element, ShownPose *pose);
bool timeline_point(const Timeline *timeline, u32 field, u32 element, ShownPoint *point);
/* Points of one field with equal phase are shown between states of the same ticks; 0: not shown. */
u64 timeline_phase(const Timeline *timeline, u32 field, u32 element);
/* Points [first, first + count) of a field, for example one row of a cloth. */
void timeline_point_range(const Timeline *timeline, u32 field, u32 first, u32 count,
                          ShownPoint *points);

#endif
