/*
 * body_clock.h: the tick at which a body of many points is shown.
 *
 * The chunks of one body come in different packets: on a narrow link in turn, in the first second
 * one after the other. If each were shown at the newest possible tick, they would belong to
 * different pictures. So a body has one tick for all its chunks: the shown tick, but not beyond the
 * newest one known for all of them. Soft bodies are never extrapolated: the client does not know
 * the constraints between points, so they would drift apart. When states are missing the body
 * stops, and then catches up with the shown tick at the timeline's rate (PLAYOUT_CATCH_UP), or,
 * where that jumped, shows the missed motion within some tenths of a second. If its chunks are
 * always late it keeps a constant lag, so that it moves evenly. Pure: time is an argument.
 * Layer: client/link.
 */
#ifndef PLENUM_CLIENT_LINK_BODY_CLOCK_H
#define PLENUM_CLIENT_LINK_BODY_CLOCK_H

#include "client/link/curve.h"

/* Over all chunks of a body: the range of ticks at which all are known; `to` may be infinite (at
 * rest). */
typedef struct BodyKnown {
    bool complete; /* each chunk has a state */
    bool is_new;   /* each has only its first state: no motion is known */
    f64 from, to;
} BodyKnown;

typedef struct BodyClock {
    bool showing; /* it was complete at a tick already reached */
    f64 tick;     /* shown */
    f64 lag;      /* ticks behind the timeline's, in addition to missing states */
} BodyClock;

/* State of the timeline's own tick. */
typedef struct BodyPace {
    f64 shown;     /* ticks */
    f64 moved;     /* since the last step, without jumps */
    f64 newest;    /* of the stream */
    f64 rate;      /* ticks per second */
    f64 elapsed_s; /* since the last step */
} BodyPace;

/* Adds one chunk's states. A chunk that is silent while others are received is at rest. */
void body_known_add(BodyKnown *known, const ChunkState *states, u32 count,
                    const CurveStream *stream);
/* Advances the clock, never backwards; true if it jumped because the states at its former tick
 * are gone. */
bool body_clock_step(BodyClock *clock, BodyKnown known, const BodyPace *pace);

#endif
