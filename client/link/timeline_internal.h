/*
 * timeline_internal.h: internals of a timeline, shared by timeline.c (advances it), timeline_show.c
 * (its shown elements) and shown.c (its storage).
 * Layer: client/link, private.
 */
#ifndef PLENUM_CLIENT_LINK_TIMELINE_INTERNAL_H
#define PLENUM_CLIENT_LINK_TIMELINE_INTERNAL_H

#include "client/link/body_clock.h"
#include "client/link/couplings.h"
#include "client/link/curve.h"
#include "client/link/playout.h"
#include "client/link/static_colliders.h"
#include "client/link/timeline.h"

/* Remaining offset from an earlier shown state; rotation vectors in radians. */
typedef struct Offset {
    Vec3 position, velocity, rotation, angular_velocity;
} Offset;

/* Elements of a chunk of poses or points as last shown: all of them, or those of one body or of
 * none. */
typedef struct ChunkPiece {
    u32 chunk, begin, count; /* elements of the chunk */
    u32 body;                /* index + 1 of the body with one tick for all its pieces; 0: none */
    Curve curve;
    Offset *offsets; /* [count], NULL until the first are needed */
    bool offset;     /* some are not zero */
} ChunkPiece;

typedef struct BodyTrack {
    TimelineBody range;
    BodyClock clock;
    f64 before; /* its tick at the previous advance */
    bool jumped;
} BodyTrack;

/* Shown state of a field of poses or points. */
typedef struct Pieces {
    ChunkPiece *items; /* [count], in order, without gaps */
    u32 count;
    u32 *of_chunk; /* [chunks + 1] the first piece of each */
} Pieces;

struct TimelineShown {
    u32 count;                /* fields */
    void *fields[FIELDS_MAX]; /* result of ShownOps.fill for each; NULL: out of memory */
};

struct Timeline {
    const SnapshotReceiver *receiver; /* borrowed */
    const FieldSet *fields;           /* borrowed from the receiver */
    const StaticColliders *colliders; /* borrowed; NULL: none */
    Couplings *couplings;             /* borrowed; NULL: all bodies move independently */
    Playout playout;
    Pieces pieces[FIELDS_MAX]; /* for poses and points, otherwise empty */
    BodyTrack *bodies;         /* [body_count], by field and first element */
    u32 body_count;
    TimelineShown *former; /* of the previous stream, or NULL */
    bool news;             /* packets arrived since the last advance */

    bool counted; /* a packet was counted */
    u16 sequence; /* of the newest packet */
    u64 newest;   /* its tick */
    u64 silent_from, silent_sure;
    u64 outage_from, outage_to; /* the last outage */
};

/* The rates of the stream, as curves need them; the tick shown for a piece. */
CurveStream timeline_stream(const Timeline *timeline);
f64 timeline_piece_tick(const Timeline *timeline, const ChunkPiece *piece);
/* The piece that element i of a chunk belongs to. */
const ChunkPiece *timeline_piece(const Timeline *timeline, u32 field, u32 chunk, u32 i);
/* The curve of a piece at a tick. Bodies are not extrapolated. */
void timeline_curve_at(const ChunkPiece *piece, const ChunkState *states, u32 count,
                       const CurveStream *stream, f64 tick, Curve *curve);
/* The curve now shown; false if the piece cannot be shown. */
bool timeline_curve(const Timeline *timeline, const CurveStream *stream, u32 field,
                    const ChunkPiece *piece, Curve *curve);
/* True if the pose is shown at its own tick. */
bool timeline_pose_apart(const Timeline *timeline, u32 field, u32 element, f64 *tick);
/* An element of the field on its curve; beyond the newest state it stays outside static shapes. */
ShownPose timeline_pose_on(const Timeline *timeline, const CurveStream *stream, u32 field,
                           u32 element, const Curve *curve, f64 tick, CurveSpeed *speed);

#endif
