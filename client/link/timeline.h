/*
 * timeline.h: chunk states over time, and the state to show now: the tick from playout.h, the
 * curves between states from curve.h.
 *
 * Nothing that is learnt makes a thing jump: where the curve through the newest states is not the
 * one that was shown (a state came late, an extrapolation was wrong, the picture stood still and
 * the stream is back), the difference in position and speed becomes an offset that a critically
 * damped spring takes to zero (TIMELINE_BLEND). An offset o with speed v adds at most
 * TIMELINE_BLEND² · o + 2 · TIMELINE_BLEND · v of acceleration. What rests has no offset and is
 * shown bit for bit. Another generation in a slot is another thing and is not blended. The points
 * of a soft body are shown for one tick and never ahead of what is known (timeline_bodies), and so
 * are bodies that joints hold together (couplings.h).
 * Layer: client/link.
 */
#ifndef PLENUM_CLIENT_LINK_TIMELINE_H
#define PLENUM_CLIENT_LINK_TIMELINE_H

#include "client/link/shown_element.h"

#define TIMELINE_BLEND 12.0f /* 1/s */

typedef struct Timeline Timeline;
struct StaticColliders; /* static_colliders.h */
struct Couplings;       /* couplings.h */

/* Of one stream epoch: a seek, a reset or another world gets a new one. `receiver` is borrowed.
 * NULL without memory. */
Timeline *timeline_create(const SnapshotReceiver *receiver, u32 tick_rate, u32 snapshot_rate);
void timeline_destroy(Timeline *timeline);
/* All that a timeline shows, for the one that follows it: after a seek or a reset what nothing came
 * of yet (the ground, values) is shown as it was. NULL without memory. */
typedef struct TimelineShown TimelineShown;
TimelineShown *timeline_shown(const Timeline *timeline); /* shown.c */
void timeline_shown_free(TimelineShown *shown);
/* Takes it over; of the same fields. NULL: nothing. */
void timeline_inherit(Timeline *timeline, TimelineShown *shown);
/* What is shown ahead of what is known does not sink into it; borrowed, NULL: nothing stands. */
void timeline_stand(Timeline *timeline, const struct StaticColliders *colliders);
/* What does not move on its own; borrowed, and moved on with the timeline. NULL: all do. */
void timeline_couple(Timeline *timeline, struct Couplings *couplings);
/* All bodies there are from now on, by field and first point, none overlapping. False without
 * memory: then the former ones stay. */
bool timeline_bodies(Timeline *timeline, const TimelineBody *bodies, u32 count);
/* A state packet with this header arrived at now_ns (any order) and was given to the receiver. */
void timeline_arrival(Timeline *timeline, const SnapshotHeader *header, u64 now_ns);
/* Moves the shown tick to what it must be at now_ns; never backwards. Call after the
 * packets of now were given to the receiver and before anything is asked. */
void timeline_advance(Timeline *timeline, u64 now_ns);
/* The interpolated tick now shown. */
f64 timeline_tick(const Timeline *timeline);
/* That of an element of a field (what a pick refers to), which may be of a body that is shown for
 * an earlier one. */
f64 timeline_tick_of(const Timeline *timeline, u32 field, u32 element);
/* How far the shown tick lies behind the newest that could be known without jitter (s), and the
 * share of advances that had to extrapolate. */
f64 timeline_delay_s(const Timeline *timeline);
f64 timeline_starved(const Timeline *timeline);
/* True while the picture stands because nothing came for longer than is extrapolated. */
bool timeline_holding(const Timeline *timeline);
f64 timeline_jitter_s(const Timeline *timeline);

/* Fills the state shown at the tick of the last advance: arrays of field capacity. */
void timeline_poses(const Timeline *timeline, u32 field, ShownPose *poses);
void timeline_points(const Timeline *timeline, u32 field, ShownPoint *points);
/* Leaves what nothing is known of as it is. False if anything is not of this stream yet. */
bool timeline_scalars(const Timeline *timeline, u32 field, f32 *scalars);
/* A channel of a GRID2 or GRID3 field, values[capacity] with x fastest, linear in time; beyond the
 * newest state that state. Channel 0 in the field's unit (value_min + code · quantum), others as
 * [0, 1] of the code's range. What nothing came of is as the stream before showed it; where there
 * was none it is value_min (channel 0) or 0, and false is returned. */
bool timeline_grid(const Timeline *timeline, u32 field, u32 channel, f32 *values);
/* One cell or voxel. False if nothing arrived yet. */
bool timeline_cell(const Timeline *timeline, u32 field, u32 channel, u32 element, f32 *value);
/* One pose or point only (for picking by name, --report). False if nothing arrived yet. */
bool timeline_pose(const Timeline *timeline, u32 field, u32 element, ShownPose *pose);
bool timeline_point(const Timeline *timeline, u32 field, u32 element, ShownPoint *point);
/* Points of one field for which this is the same are shown between states of the same ticks; 0: not
 * shown. */
u64 timeline_phase(const Timeline *timeline, u32 field, u32 element);
/* Points [first, first + count) of a field, for those who need a row of a cloth at a time. */
void timeline_point_range(const Timeline *timeline, u32 field, u32 first, u32 count,
                          ShownPoint *points);

#endif
