/*
 * body_clock.h: which tick a body of many points is shown at.
 *
 * The chunks of one body come in different packets: on a narrow line in turn, in the first second
 * one after the other. Shown each for the newest tick that it can be, they would be pieces of
 * different pictures. So a body has one tick for all its chunks: the shown tick, but none of which
 * one of them is not known yet. Nothing of it is ever extrapolated: its points would each go on
 * their own way, and what holds them together is not known here. Where nothing comes it stands,
 * and then hurries after the shown tick as that does (PLAYOUT_HURRY), or, where that jumped,
 * through all that was missed within some tenths of a second. Where its chunks always come late it
 * stays as far behind, so that it moves evenly. Pure: time is an argument.
 * Layer: client/link.
 */
#ifndef PLENUM_CLIENT_LINK_BODY_CLOCK_H
#define PLENUM_CLIENT_LINK_BODY_CLOCK_H

#include "client/link/curve.h"

/* Of all chunks of a body: the ticks at which all are known; to may be infinite (it rests). */
typedef struct BodyKnown {
    bool complete; /* something of each chunk is */
    bool fresh;    /* of each just the first state: nothing is known to move */
    f64 from, to;
} BodyKnown;

typedef struct BodyClock {
    bool showing; /* it was complete at a tick already reached */
    f64 tick;     /* shown */
    f64 lag;      /* ticks behind the timeline's, besides what is not known */
} BodyClock;

/* The timeline's own tick. */
typedef struct BodyPace {
    f64 shown;     /* ticks */
    f64 moved;     /* since the last step, without jumps */
    f64 newest;    /* of the stream */
    f64 rate;      /* ticks a second */
    f64 elapsed_s; /* since the last step */
} BodyPace;

/* Adds what is known of one chunk. One that others were heard of for long since rests. */
void body_known_add(BodyKnown *known, const ChunkState *states, u32 count,
                    const CurveStream *stream);
/* Moves the clock on, never back; true if it jumped because the states of where it was are gone. */
bool body_clock_step(BodyClock *clock, BodyKnown known, const BodyPace *pace);

#endif
